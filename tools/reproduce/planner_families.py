#!/usr/bin/env python3
"""What a planner learns in minutes from the training graphs of a family, on the family's test graphs.

A family is one that `emplace generate` has, or a folder of graphs with the folders train, validation and test.
Trains configs/ptb_planner.yaml on each family and machine with several seeds, then places the test graphs with what was learned, and
with every method as it is set by hand. Writes a table, and beside it a .md that shows it. Finished trainings are kept, and a run that
was stopped goes on where it was.
"""
import argparse
import pathlib
import re
import statistics
import tempfile

from lib.networks import ROOT
from lib.results import better, evaluate, mean_interval, time_of
from lib.script import BadInput, at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import Task, add_arguments, exactly, graphs_of, train_all

CONFIG = ROOT / "configs/ptb_planner.yaml"
CARRIED_TO = ROOT / "configs/clusters/k80x8.yaml"
# updates, training_s: of what was trained alone.
COLUMNS = {"family": str, "devices": str, "updates": int, "training_s": float, "way": str, "budget": int, "seed": int, "graph": str,
           "makespan_us": float, "feasible": bool, "seconds": float, "single_device_us": float}
HEURISTICS = ["expert", "scotch", "heft", "m-etf"]
ELSEWHERE = ["expert"]  # On further machines the best of them on ptb alone, so that the table stays small.
FOR_MICROBATCHES = "data-parallel"  # Of the graphs of a folder; those of a family have none.
ONE_PASS_BY_HAND, LIST_BY_HAND, AUTO_BY_HAND = "list by hand, one pass", "list by hand", "auto by hand"
LEARNED, BEST_OF_8, AUTO_LEARNED = "planner, one pass", "planner, best of 8", "auto, planner"
LEARNED_WAYS = {LEARNED, BEST_OF_8, AUTO_LEARNED}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("families", nargs="+", metavar="FAMILY=MACHINE", type=family_and_machine,
                        help="family or folder, and machine of configs/clusters to train and judge on, such as ptb=k80x2")
    parser.add_argument("--updates", type=at_least_one, default=60, metavar="N", help="number of generations of each training (60)")
    parser.add_argument("--budgets", type=at_least_one, nargs="+", default=[100, 1000], metavar="B",
                        help="placements that auto may simulate (100 1000)")
    parser.add_argument("--on", type=int, choices=range(2, 9), nargs="+", default=[], metavar="D",
                        help=f"judge what was trained also on the first D devices of configs/clusters/{CARRIED_TO.name}, for each D")
    add_arguments(parser, "planner_families")
    parser.set_defaults(runs=ROOT / "runs/planner_families")
    return parser.parse_args()


def family_and_machine(text):
    family, equals, machine = text.partition("=")
    if not equals or not (ROOT / f"configs/clusters/{machine}.yaml").is_file():
        raise argparse.ArgumentTypeError(f"is '{text}', expected a family and a machine of configs/clusters, such as ptb=k80x2")
    return family, machine


def name_of(family):
    """What a family is called in tables and runs: a folder by its own name."""
    return pathlib.Path(family).name


def workload_of(family):
    """Overrides that say which graphs a family has."""
    folder = pathlib.Path(family)
    if not folder.is_dir():
        return {"workload.family": family}
    graphs = {part: sorted((folder / part).glob("*.graph.json*")) for part in ("train", "validation", "test")}
    for part, files in graphs.items():
        if not files:
            raise BadInput(f"{folder / part}: has no graphs, expected files *.graph.json or *.graph.json.zst")
    return {"workload.family": "", **{f"workload.{part}_graphs": files for part, files in graphs.items()}}


def tasks_of(arguments):
    """{(family, machine, seed): task}"""
    return {(family, machine, seed): Task(f"{name_of(family)}_{machine}_seed{seed}", CONFIG,
                                          {"name": f"{name_of(family)} planner", **workload_of(family),
                                           "workload.devices": ROOT / f"configs/clusters/{machine}.yaml", **exactly(arguments.updates)}, seed)
            for family, machine in arguments.families for seed in arguments.seeds}


def test_graphs_of(family, run):
    """The files of the graphs on which what a run has learned is judged."""
    overrides = workload_of(family)
    return overrides["workload.test_graphs"] if "workload.test_graphs" in overrides else graphs_of(run["run_dir"], "test")


def machines_of(arguments, machine, folder):
    """{name in the table: devices file} of the machines on which a training on one is judged. folder: for files of these."""
    machines = {machine: ROOT / f"configs/clusters/{machine}.yaml"}
    for count in arguments.on:
        file = folder / f"{count}.yaml"
        file.write_text("".join(line for line in CARRIED_TO.read_text().splitlines(keepends=True)
                                if not (device := re.match(r' *- {name: "gpu:(\d+)"', line)) or int(device[1]) < count))
        machines[f"{machine} to {count}"] = file
    return machines


def judged(arguments, family, run, seed, devices):
    """{(way, budget): rows} of the test graphs of a training on these devices, by what it has learned."""
    graphs = test_graphs_of(family, run)
    policy = run["run_dir"] / "policy.safetensors"
    ways = {(LEARNED, 0): evaluate(arguments, graphs, devices, ["policy"], [seed], policy=policy, jobs=1),
            (BEST_OF_8, 0): evaluate(arguments, graphs, devices, ["policy"], [seed], policy=policy, samples=7, jobs=1)}
    for budget in arguments.budgets:
        ways[AUTO_LEARNED, budget] = evaluate(arguments, graphs, devices, ["auto"], [seed], policy=policy, budget=budget, jobs=1)
    return ways


def by_hand(arguments, family, run, devices, heuristics):
    """The same by methods as they are set by hand: heuristics count with the better of their two orders."""
    graphs = test_graphs_of(family, run)
    ways = {}
    for method in [*heuristics, FOR_MICROBATCHES] if pathlib.Path(family).is_dir() else heuristics:
        orders = [evaluate(arguments, graphs, devices, [method], [1], policy="none", jobs=1, **order) for order in ({}, {"order": "rank"})]
        ways[method, 0] = [better(*pair) for pair in zip(*orders)]
    ways[ONE_PASS_BY_HAND, 0] = evaluate(arguments, graphs, devices, ["list"], [1], policy="none", passes=1, jobs=1)
    ways[LIST_BY_HAND, 0] = evaluate(arguments, graphs, devices, ["list"], [1], policy="none", jobs=1)
    for budget in arguments.budgets:
        ways[AUTO_BY_HAND, budget] = evaluate(arguments, graphs, devices, ["auto"], arguments.seeds, policy="none", budget=budget, jobs=1)
    return ways


def table_rows(family, machine, ways, updates=None, training_s=None):
    """Seconds have two digits, and times of a step of many ms a tenth of a microsecond, so that the table stays small."""
    def of(row):
        return {"seed": row["seed"], "graph": row["graph"], "makespan_us": row["makespan_us"] and round(row["makespan_us"], 1),
                "feasible": row["feasible"], "seconds": float(f"{row['seconds']:.2g}"), "single_device_us": round(row["single_device_us"], 1)}
    return [{"family": name_of(family), "devices": machine, "updates": updates, "training_s": training_s and round(training_s, 0), "way": way,
             "budget": budget, **of(row)} for (way, budget), rows in ways.items() for row in rows]


def interval_of(rows):
    """An Interval over seeds of the geometric mean over graphs of makespan / one device; infinite where one does not fit."""
    return mean_interval(statistics.geometric_mean(time_of(row) / row["single_device_us"] for row in of_seed)
                         for of_seed in grouped(rows, "seed").values())


def markdown(rows):
    lines = [
        "# What a planner learns from a family",
        "Makespan / one device on the test graphs of a family, geometric mean, with the 95% interval over seeds where there are several, "
        "and seconds for each graph, of the method alone. Heuristics count with the better of their two orders. "
        f"Of *M to D* the planner was trained on the machine M and places on the first D devices of {CARRIED_TO.stem}.",
        "",
        made_by(rows),
    ]
    for (family, machine), of_family in grouped(rows, "family", "devices").items():
        trained = [row for row in of_family if row["way"] in LEARNED_WAYS]
        training_s = [row["training_s"] for row in trained]
        shown = []
        for (way, budget), of_way in grouped(of_family, "way", "budget").items():
            seconds = sum(row["seconds"] for row in of_way) / len(of_way)
            misfits = sum(not row["feasible"] for row in of_way)
            ratio = f"**{interval_of(of_way).text()}**" if way in LEARNED_WAYS else interval_of(of_way).text()
            shown.append([way, f"{budget:,}" if budget else "", ratio, f"{seconds:.3f}", misfits or ""])
        lines += ["", f"## {family} on {machine}",
                  f"Trained for {trained[0]['updates']} generations, {min(training_s):.0f} to {max(training_s):.0f} s.", "",
                  *table_lines([None, "placements", "makespan / one device", "seconds", "does not fit"], "lr", shown)]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, (*TRAINING, "policy", "simulator/families"))
    tasks = tasks_of(arguments)
    runs = train_all(list(tasks.values()), arguments)
    for family, machine in arguments.families:
        of_family = {seed: runs[task.name] for (name, place, seed), task in tasks.items() if (name, place) == (family, machine)}
        with tempfile.TemporaryDirectory() as folder:
            for place, devices in machines_of(arguments, machine, pathlib.Path(folder)).items():
                table.remove(family=name_of(family), devices=place)
                first = of_family[arguments.seeds[0]]
                table.add(table_rows(family, place, by_hand(arguments, family, first, devices, HEURISTICS if place == machine else ELSEWHERE)))
                for seed, run in of_family.items():
                    ways = judged(arguments, family, run, seed, devices)
                    table.add(table_rows(family, place, ways, arguments.updates, run["seconds"]))
        table.save()
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
