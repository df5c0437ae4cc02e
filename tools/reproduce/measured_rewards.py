#!/usr/bin/env python3
"""Whether measuring helps: step times on this computer's two cores, of policies that were trained on with measured rewards and
without them, and of searches with measured costs and with those of the roofline model.

Trains on the workload of configs/ptb_hardware.yaml for each seed with simulated rewards, and from there three times: with an actor
that measures, with one that simulates, and with one that simulates graphs with measured costs. Test graphs, which no training has
seen, are then placed by each policy and by `auto`, and all placements of a graph run in turns. Writes a table, and beside it a .md
that shows it. Finished trainings are kept, and a run that was stopped goes on where it was. Times need a quiet machine.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import tempfile

from lib.networks import ROOT, call, graph_name
from lib.results import mean_interval
from lib.script import at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import add_arguments, graphs_of, on_graphs, overrides_of, train
from reality import profile, timed_step

# ratio: measured step time over that of one core; updates: of the training. Searches have neither a seed nor updates. The fact "load"
# has the load averages before the measurement and after it.
COLUMNS = {"placement": str, "seed": int, "graph": str, "ratio": float, "updates": int}
DEPENDS = (*TRAINING, "actor/hardware")
CONFIG = ROOT / "configs/ptb_hardware.yaml"
DEVICES = ROOT / "configs/clusters/cpux2.yaml"
TRAIN = 4  # Training graphs.
# A policy that decides all groups at once is rewarded once an episode. Placeto needs a measurement after each decision, so its
# episodes would take some sixteen times as long.
ONE_SHOT = {"policy.kind": "sgdp", "policy.output_scale": 1, "policy.graph_norm": True, "environment.episodes_per_start": 16,
            "training.objective": "ppo", "training.baseline": "batch", "training.epochs": 4, "training.imitated_episodes": 0}
# A trained policy begins to draw other placements again.
GOING_ON = {"training.episodes_per_update": 32, "training.entropy_start": 0.2, "training.entropy_end": 0.02,
            "training.learning_rate": 5e-4, "training.learning_rate_end": 1e-4, "training.learning_rate_decay_updates": 300}
# Many episodes of few steps each: an update takes the mean of noise as well. Nothing else needs the time between windows.
MEASURING = {"hardware.steps": 2, "hardware.share": 1}
FIRST = "before that"


@dataclasses.dataclass(frozen=True)
class Arm:
    """How the first training goes on."""
    row: str
    folder: str
    actors: int    # Those that simulate. They make some hundred times as many episodes as one that measures.
    hardware: int  # Those that measure.
    profiled: bool = False


ARMS = [Arm("trained on, with measured rewards", "measured", 0, 1), Arm("trained on, with simulated rewards", "simulated", 1, 0),
        Arm("trained on, with simulated rewards of measured costs", "profiled", 1, 0, profiled=True)]
ROOFLINE, PROFILED = "auto, roofline costs", "auto, measured costs"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--first-minutes", type=float, default=2, help="minutes of the first training (2)")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of each training from there (10)")
    parser.add_argument("--graphs", type=at_least_one, default=4, metavar="N", help="number of test graphs (4)")
    parser.add_argument("--rounds", type=at_least_one, default=3, help="turns in which each placement is run (3)")
    parser.add_argument("--steps", type=at_least_one, default=60, help="timed steps in one turn (60)")
    add_arguments(parser, "measured_rewards")
    parser.set_defaults(runs=ROOT / "runs/measured_rewards", jobs=1)
    return parser.parse_args()


def profiled_workload(first, arguments):
    """Overrides for the training graphs of a run with measured costs, on the measured machine. Both are measured once and kept."""
    graphs, devices = [], None
    for path in graphs_of(first, "train"):
        folder = arguments.runs / "profiled" / graph_name(path)
        graph, machine = folder / "measured.graph.json", folder / "measured.yaml"
        if not graph.exists():
            folder.mkdir(parents=True, exist_ok=True)
            profile(folder, path, DEVICES, arguments.programs)
        graphs.append(graph)
        devices = devices or machine
    return {**on_graphs(graphs), "workload.devices": devices}


def train_each(arguments):
    """{row: {seed: result of its training}}"""
    settings = {"training.iterations": 1000000, "training.entropy_decay_updates": 200, **ONE_SHOT, **overrides_of(arguments.settings)}
    family = {"workload.train": TRAIN, "workload.count": TRAIN + arguments.graphs}
    runs = {row: {} for row in (FIRST, *(arm.row for arm in ARMS))}

    def run(row, seed, folder, overrides, actors, hardware):
        runs[row][seed] = train(arguments.runs / f"seed{seed}" / folder, CONFIG, {**settings, **overrides}, seed, actors, hardware,
                                programs=arguments.programs, fresh=arguments.fresh)
        print(f"seed {seed}, {row}: {runs[row][seed]['updates']} updates", flush=True)

    for seed in arguments.seeds:
        run(FIRST, seed, "first", {**family, "training.max_minutes": arguments.first_minutes}, 1, 0)
    # The graphs are the same for all seeds.
    profiled = profiled_workload(runs[FIRST][arguments.seeds[0]]["run_dir"], arguments)
    for arm in ARMS:
        for seed in arguments.seeds:
            overrides = {**(profiled if arm.profiled else family), **GOING_ON, **(MEASURING if arm.hardware else {}),
                         "policy.initial": runs[FIRST][seed]["run_dir"] / "policy.safetensors",
                         "training.max_minutes": arguments.minutes}
            run(arm.row, seed, arm.folder, overrides, arm.actors, arm.hardware)
    return runs


def last_policy(result):
    """The policy that a run came to in the end; the one that does best in simulations would be that of its start."""
    return max((result["run_dir"] / "checkpoints").glob("update_*")) / "policy.safetensors"


def placements_of(graph, runs, arguments, folder):
    """{(row, seed): placement file}; the searches have no seed. A policy sees costs as its training did."""
    _, measured, profiled = profile(folder, graph, DEVICES, arguments.programs)
    with_measured_costs = {arm.row for arm in ARMS if arm.profiled}
    files = {}

    def place(row, seed, on, machine, *words):
        files[row, seed] = folder / f"placement{len(files)}.json"
        call([arguments.programs / "emplace", "place", "--graph", on, "--devices", machine, "--out", files[row, seed], *words])

    place(ROOFLINE, None, graph, DEVICES)
    place(PROFILED, None, measured, profiled)
    for row, by_seed in runs.items():
        for seed, result in by_seed.items():
            policy = result["run_dir"] / "policy.safetensors" if row == FIRST else last_policy(result)
            on, machine = (measured, profiled) if row in with_measured_costs else (graph, DEVICES)
            place(row, seed, on, machine, "--method", "policy", "--policy", policy)
    return files


def measure(graph, files, arguments, folder):
    """{(row, seed): step time over that of one core}: the median of rounds, in each of which one core has a turn too."""
    alone = folder / "alone.json"
    alone.write_text(json.dumps([0] * len(json.loads(graph.read_text())["ops"])))
    ratios = {key: [] for key in files}
    for _ in range(arguments.rounds):
        times = {}
        for key, path in {None: alone, **files}.items():
            times[key] = timed_step(arguments.programs, graph, DEVICES, path, arguments.steps)["measured_us"]
        for key in files:
            ratios[key].append(times[key] / times[None])
    return {key: statistics.median(values) for key, values in ratios.items()}


def main():
    arguments = parse_arguments()
    runs = train_each(arguments)
    first = runs[FIRST][arguments.seeds[0]]["run_dir"]
    load = [os.getloadavg()[0]]
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="emplace_measured_") as scratch:
        for graph in graphs_of(first, "test"):
            folder = pathlib.Path(scratch) / graph_name(graph)
            folder.mkdir()
            files = placements_of(graph, runs, arguments, folder)
            for key, ratio in measure(graph, files, arguments, folder).items():
                ratios.setdefault(key, {})[graph_name(graph)] = ratio
            print(f"{graph_name(graph)} measured", flush=True)
    load.append(os.getloadavg()[0])
    table = Table(arguments.out, COLUMNS, DEPENDS, fresh=True)
    table.facts["load"] = load
    table.add({"placement": row, "seed": seed, "graph": graph, "ratio": ratio,
               "updates": runs[row][seed]["updates"] if row in runs else None}
              for (row, seed), by_graph in ratios.items() for graph, ratio in by_graph.items())
    table.save(markdown(table))


def markdown(table):
    load = table.facts["load"]
    shown = []
    for (placement,), rows in grouped(table.rows, "placement").items():
        by_seed = grouped(rows, "seed").values()
        means = [statistics.geometric_mean(row["ratio"] for row in of_seed) for of_seed in by_seed]
        updates = ", ".join(str(of_seed[0]["updates"]) for of_seed in by_seed if of_seed[0]["updates"] is not None)
        shown.append([placement, mean_interval(means).text(), updates])
    return "\n".join([
        "# Training and searching with measured times", "",
        f"{made_by(table.rows)} Step time on two cores over that on one, measured: geometric mean over graphs that no "
        "training has seen, and over seeds the mean with its 95% interval. Load averages: "
        f"{load[0]:.1f} before the measurement, {load[1]:.1f} after it.", "",
        *table_lines(["placement", "measured / one core", "updates"], "lr", shown)]) + "\n"


if __name__ == "__main__":
    run_script(main)
