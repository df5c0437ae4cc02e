#!/usr/bin/env python3
"""Whether measuring helps: step times on this computer's two cores, of policies that were trained on with measured rewards and
without them, and of searches with measured costs and with those of the roofline model.

Trains configs/ptb_hardware.yaml for each seed with simulated rewards, and from there twice: with an actor that measures, and with
one that simulates. Test graphs, which no training has seen, are then placed by each policy and by `auto`,
and all placements of a graph run in turns. Writes measured_rewards/results.json and measured_rewards.md. Finished trainings are
kept, and a run that was stopped goes on where it was. Times need a quiet machine.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import tempfile

from networks import ROOT, call, graph_name, write_aside_and_rename
from reality import profile
from results import command_line, mean_interval, save_json
from training import add_arguments, at_least_one, overrides_of, run_script, train

CONFIG = ROOT / "configs/ptb_hardware.yaml"
# The numbers of actors that simulate and that measure, of what follows the first training. Beside an actor that simulates, a
# thousand times as fast, measured episodes would hardly count.
MEASURED, SIMULATED = "trained on, with measured rewards", "trained on, with simulated rewards"
ARMS = {MEASURED: (0, 1), SIMULATED: (1, 0)}
FIRST = "before that"
TRAIN = 4  # Training graphs.
# A trained policy goes on with the entropy that it ended with.
GOING_ON = {"training.entropy_start": 0.07, "training.entropy_end": 0.07}
# Many episodes of few steps each: an update takes the mean of noise as well. Nothing else needs the time between windows.
MEASURING = {"hardware.steps": 2, "hardware.share": 1}
ROOFLINE, PROFILED = "auto, roofline costs", "auto, measured costs"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--first-minutes", type=float, default=2, help="minutes of the first training (2)")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of each training from there (10)")
    parser.add_argument("--graphs", type=at_least_one, default=4, metavar="N", help="number of test graphs (4)")
    parser.add_argument("--rounds", type=at_least_one, default=3, help="turns in which each placement is run (3)")
    parser.add_argument("--steps", type=at_least_one, default=60, help="timed steps in one turn (60)")
    add_arguments(parser)
    parser.set_defaults(runs=ROOT / "runs/measured_rewards", jobs=1)
    return parser.parse_args()


def train_each(arguments):
    """{row: {seed: result of its training}}"""
    settings = {"workload.train": TRAIN, "workload.count": TRAIN + arguments.graphs, "training.iterations": 1000000,
                **overrides_of(arguments.settings)}
    runs = {row: {} for row in (FIRST, *ARMS)}

    def run(row, seed, folder, overrides, actors, hardware):
        runs[row][seed] = train(arguments.runs / f"seed{seed}" / folder, CONFIG, {**settings, **overrides}, seed, actors, hardware,
                                programs=arguments.programs, fresh=arguments.fresh)
        print(f"seed {seed}, {row}: {runs[row][seed]['updates']} updates", flush=True)

    for seed in arguments.seeds:
        run(FIRST, seed, "first", {"training.max_minutes": arguments.first_minutes}, 1, 0)
    for row, (actors, hardware) in ARMS.items():
        for seed in arguments.seeds:
            run(row, seed, "measured" if hardware else "simulated",
                {**GOING_ON, **(MEASURING if hardware else {}), "policy.initial": runs[FIRST][seed]["run_dir"] / "policy.safetensors",
                 "training.max_minutes": arguments.minutes}, actors, hardware)
    return runs


def last_policy(result):
    """The policy that a run came to in the end; the one that does best in simulations would be that of its start."""
    return max((result["run_dir"] / "checkpoints").glob("update_*")) / "policy.safetensors"


def placements_of(graph, devices, runs, arguments, folder):
    """{(row, seed): placement file}; the searches have no seed."""
    _, measured, profiled = profile(folder, graph, devices, arguments.programs)
    files = {}

    def place(row, seed, on, machine, *words):
        files[row, seed] = folder / f"placement{len(files)}.json"
        call([arguments.programs / "emplace", "place", "--graph", on, "--devices", machine, "--out", files[row, seed], *words])

    place(ROOFLINE, None, graph, devices)
    place(PROFILED, None, measured, profiled)
    for row, by_seed in runs.items():
        for seed, result in by_seed.items():
            policy = result["run_dir"] / "policy.safetensors" if row == FIRST else last_policy(result)
            place(row, seed, graph, devices, "--method", "policy", "--policy", policy)
    return files


def measure(graph, devices, files, arguments, folder):
    """{(row, seed): step time over that of one core}: the median of rounds, in each of which one core has a turn too."""
    alone = folder / "alone.json"
    alone.write_text(json.dumps([0] * len(json.loads(graph.read_text())["ops"])))
    ratios = {key: [] for key in files}
    for _ in range(arguments.rounds):
        times = {}
        for key, path in {None: alone, **files}.items():
            times[key] = json.loads(call([arguments.programs / "emplace-hardware", "run", "--graph", graph, "--devices", devices,
                                          "--placement", path, "--steps", arguments.steps, "--json"]))["measured_us"]
        for key in files:
            ratios[key].append(times[key] / times[None])
    return {key: statistics.median(values) for key, values in ratios.items()}


def main():
    arguments = parse_arguments()
    runs = train_each(arguments)
    first = runs[FIRST][arguments.seeds[0]]["run_dir"]
    split = json.loads((first / "graphs/split.json").read_text())
    devices = ROOT / "configs/clusters/cpux2.yaml"
    load = [os.getloadavg()[0]]
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="emplace_measured_") as scratch:
        for name in split["test"]:
            graph, folder = first / "graphs" / name, pathlib.Path(scratch) / graph_name(pathlib.Path(name))
            folder.mkdir()
            files = placements_of(graph, devices, runs, arguments, folder)
            for key, ratio in measure(graph, devices, files, arguments, folder).items():
                ratios.setdefault(key, {})[graph_name(graph)] = ratio
            print(f"{graph_name(graph)} measured", flush=True)
    load.append(os.getloadavg()[0])
    rows = {}
    for (row, seed), by_graph in ratios.items():
        rows.setdefault(row, []).append({"seed": seed, "ratios": by_graph})
    updates = {row: [result["updates"] for result in by_seed.values()] for row, by_seed in runs.items()}
    document = {"format": "emplace.measured_rewards/1", "command": command_line(), "load": load, "rows": rows, "updates": updates}
    save_json(arguments.out / "measured_rewards/results.json", document)
    write_aside_and_rename(arguments.out / "measured_rewards.md", markdown(document))
    print(f"written to {arguments.out / 'measured_rewards.md'}")


def markdown(document):
    lines = ["# Training and searching with measured times", "",
             f"Made by `{document['command']}`. Step time on two cores over that on one, measured: geometric mean over graphs that no "
             "training has seen, and over seeds the mean with its 95% interval. Load averages: "
             f"{document['load'][0]:.1f} before the measurement, {document['load'][1]:.1f} after it.", "",
             "| placement | measured / one core | updates |", "| --- | ---: | ---: |"]
    for row, results in document["rows"].items():
        means = [math.exp(statistics.fmean(map(math.log, result["ratios"].values()))) for result in results]
        updates = ", ".join(map(str, document["updates"].get(row, [])))
        lines.append(f"| {row} | {mean_interval(means).text()} | {updates} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_script(main, "measured_rewards.py")
