#!/usr/bin/env python3
"""What the trained planner is worth on graphs and machines that its training has never seen.

It makes instances of the part `test` (simulator/instances: generators that no training uses), places each of them with every
method, and with `list`, `policy` and `auto` as they are set by hand and as the trained planner plans, and writes what it finds to a
table, and beside it a .md that shows it. A method counts with the better of its two orders: as ops get ready, and by rank.
A run that was stopped goes on where it was.
"""
import argparse
import json
import math
import pathlib
import tempfile

from lib.networks import ROOT, add_emplace, call
from lib.results import better, evaluated, resampled_interval, rows_of, time_of
from lib.script import BadInput, at_least_one, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

COLUMNS = {"seed": int, "instance": str, "ops": int, "devices": int, "way": str, "budget": int,
           "makespan_us": float, "feasible": bool, "seconds": float, "single_device_us": float}
# One pass each, without a search.
METHODS = ["single", "expert", "scotch", "heft", "m-etf", "data-parallel", "list"]
BY_HAND, LEARNED, BEST_OF_8 = "list by hand, one pass", "planner, one pass", "planner, best of 8"
AUTO_BY_HAND, AUTO_LEARNED = "auto by hand", "auto, planner"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", choices=["validation", "test"], default="test", help="the instances' part (test)")
    parser.add_argument("--count", type=at_least_one, default=200, metavar="N", help="number of instances (200)")
    parser.add_argument("--seed", type=int, default=1, help="the instances' seed (1)")
    parser.add_argument("--budgets", type=at_least_one, nargs="+", default=[30, 100, 300, 1000], metavar="B",
                        help="placements that auto may simulate (30 100 300 1000)")
    parser.add_argument("--policy", type=pathlib.Path, default=ROOT / "models/planner.safetensors",
                        help="the trained planner (models/planner.safetensors)")
    add_out(parser, "planner")
    add_emplace(parser)
    parser.add_argument("--again", nargs="+", choices=[BY_HAND, LEARNED, BEST_OF_8, AUTO_BY_HAND, AUTO_LEARNED], default=[], metavar="WAY",
                        help=f"make the rows of these ways again, such as '{BEST_OF_8}'")
    add_fresh(parser)
    arguments = parser.parse_args()
    if not arguments.policy.is_file():
        raise BadInput(f"{arguments.policy}: does not exist, expected a trained planner")
    return arguments


def better_order(first, second):
    """Of two results of a method; seconds are those of the first."""
    return {**better(first, second), "seconds": first["seconds"]}


def found_on(arguments, graph, devices, finished):
    """What every way that is not finished yet finds on one instance: {"way", "budget", ...}. finished: {(way, budget)}"""
    rows = []

    def found(methods, policy, **options):
        evaluation = evaluated(arguments.emplace, [graph], devices, methods, policy=policy, jobs=1, **options)
        return [{name: row[name] for name in ("makespan_us", "feasible", "seconds", "single_device_us")} for row in rows_of(evaluation)]

    def add(way, budget, method, policy, **options):
        if (way, budget) not in finished:
            [row] = found([method], policy, **options)
            rows.append({**row, "way": way, "budget": budget})

    if not finished.issuperset((method, 0) for method in METHODS):
        as_ready = found(METHODS, "none")
        by_rank = found(METHODS, "none", order="rank")
        rows += [{**better_order(*pair), "way": method, "budget": 0} for method, *pair in zip(METHODS, as_ready, by_rank, strict=True)]
    add(BY_HAND, 0, "list", "none", passes=1)
    add(LEARNED, 0, "policy", arguments.policy)
    add(BEST_OF_8, 0, "policy", arguments.policy, samples=7)
    for budget in arguments.budgets:
        add(AUTO_BY_HAND, budget, "auto", "none", budget=budget)
        add(AUTO_LEARNED, budget, "auto", arguments.policy, budget=budget)
    return rows


class Comparison:
    """The ratios of one way to another over instances where both have a placement that fits."""

    def __init__(self, instances, way, other):
        """instances: [{(way, budget): row}]. way, other: such keys, or other a list of them, of which the best counts."""
        others = other if isinstance(other, list) else [other]
        self.logs = []  # ln ratio
        for rows in instances:
            mine, best = (min((time_of(rows[key]) for key in keys if key in rows), default=math.inf) for keys in ([way], others))
            if math.isfinite(mine) and math.isfinite(best):
                self.logs.append(math.log(mine / best))

    def cells(self):
        if not self.logs:
            return ["-"] * 4
        interval = resampled_interval([[log] for log in self.logs])  # Each instance has a graph and a machine of its own.
        near = sum(log <= math.log(1.01) for log in self.logs) / len(self.logs)
        return [f"{interval.mean:.3f}", f"{interval.low:.3f} to {interval.high:.3f}", f"{near:.0%}", f"{math.exp(max(self.logs)):.2f}"]


def instances_of(rows):
    return [{(row["way"], row["budget"]): row for row in of_one} for of_one in grouped(rows, "seed", "instance").values()]


def generator_of(instance):
    """Of a name such as test_000000_gnmt_cut, "gnmt"."""
    return instance.split("_")[2]


def markdown(rows):
    instances = instances_of(rows)
    best_not_learned = [(method, 0) for method in METHODS]
    sources = len({generator_of(row["instance"]) for row in rows})
    compared = ["ratio", "interval", "within 1%", "worst"]
    ways = [[way, *Comparison(instances, (way, 0), best_not_learned).cells()] for way in [*METHODS, BY_HAND, LEARNED, BEST_OF_8]]
    budgets = [[f"{budget:,}", *Comparison(instances, (AUTO_LEARNED, budget), (AUTO_BY_HAND, budget)).cells()]
               for budget in sorted({row["budget"] for row in rows} - {0})]
    return "\n".join([
        "# What the trained planner is worth",
        f"Makespans on {len(instances)} instances of {sources} generators that no training uses, as ratios, of which the geometric mean "
        "is shown with its 95% interval over resampled instances, the share of instances where it is at most 1.01, and the greatest. "
        "Every method counts with the better of its two orders.",
        "",
        made_by(rows),
        "",
        "## One pass, without a search",
        f"Against the best of {', '.join(METHODS)} on each instance.",
        "",
        *table_lines([None, *compared], "lr", ways),
        "",
        "## auto",
        "As the trained planner plans, against itself as set by hand, by the number of placements that it simulates.",
        "",
        *table_lines(["placements", *compared], "r", budgets),
    ]) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, (*SEARCH, "simulator/instances", "models/planner.safetensors"), arguments.fresh)
    for way in arguments.again:
        table.remove(way=way, seed=arguments.seed)
    finished = grouped(table.rows, "seed", "instance")
    with tempfile.TemporaryDirectory(prefix="emplace_planner_") as folder:
        scratch = pathlib.Path(folder)
        call([arguments.emplace, "generate", "instances", "--part", arguments.part, "--count", arguments.count, "--seed",
              arguments.seed, "--out", scratch])
        graphs = sorted(scratch.glob("*.graph.json"))
        for number, graph in enumerate(graphs, 1):
            name = graph.name.removesuffix(".graph.json")
            there = {(row["way"], row["budget"]) for row in finished.get((arguments.seed, name), [])}
            devices = graph.with_name(f"{name}.devices.yaml")
            document = json.loads(graph.read_text())
            machine = devices.read_text().count("kind:")
            common = {"seed": arguments.seed, "instance": name, "ops": len(document["ops"]), "devices": machine}
            if rows := found_on(arguments, graph, devices, there):
                table.add([{**common, **row} for row in rows])
                table.save()
                print(f"{number}/{len(graphs)} {name}", flush=True)
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
