#!/usr/bin/env python3
"""What each method finds in a given time: makespan over the best known, at 0.01, 0.1, 1 and 10 seconds.

Runs `emplace evaluate --seconds` on graphs (files, folders, or families by name, which are generated first) and machines:
2, 4 and 8 like devices with links of three speeds, and two sets of unlike devices. Every run has all cores. Writes
a table with a line for each result, which report.py draws, and beside it a .md that shows it. A method's result that is in the
table already is not made again, so a run that was stopped goes on where it was; --again makes those of some methods anew, as
after a change to them. Make it on a quiet machine: whatever else runs takes time from the searches.

`auto-by-hand` is `auto` without the trained planner. Methods whose result depends neither on the time nor on the seed are run once.
"""
import argparse
import itertools
import math
import pathlib
import statistics
import tempfile

from lib.networks import ROOT, Network, add_emplace, cluster_file, graph_name
from lib.results import evaluated, resampled_interval
from lib.script import above_zero, at_least_one, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

# given_s: the time that the method was given, of which it took `seconds`.
COLUMNS = {"graph": str, "machine": str, "given_s": float, "seed": int, "method": str, "makespan_us": float, "feasible": bool,
           "evaluations": int, "seconds": float}
AUTO, BY_HAND = "auto", "auto-by-hand"
METHODS = [AUTO, BY_HAND, "multilevel", "annealing", "local-search", "random", "m-etf", "m-sct", "heft", "expert", "data-parallel",
           "scotch", "single"]
ONCE = {"m-topo", "m-etf", "m-sct", "heft", "expert", "data-parallel", "scotch", "single", "list"}
LINKS = [1900, 7600, 30400]  # bytes a microsecond; the middle one is that of configs/clusters/k80x2.yaml
UNLIKE = ["p100_k80", "k80x2_cpu"]  # in configs/clusters/
DEPENDS = (*SEARCH, "models/planner.safetensors")
KEY = ("graph", "machine", "given_s", "seed", "method")
LATE = 1.5  # A method that took this many times the given time has no result for it.
NEAR = 1.005  # auto should be within this of every other method.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family or network to generate")
    parser.add_argument("--seconds", type=above_zero, nargs="+", default=[0.01, 0.1, 1, 10], help="times (0.01 0.1 1 10)")
    parser.add_argument("--devices", type=int, nargs="*", default=[2, 4, 8], metavar="N", help="numbers of like devices (2 4 8)")
    parser.add_argument("--kind", default="k80", help="device kind of these, as the graphs' costs name it (k80)")
    parser.add_argument("--links", type=at_least_one, nargs="+", default=LINKS, metavar="BYTES_PER_US", help="speeds of their links")
    parser.add_argument("--unlike", nargs="*", default=UNLIKE, metavar="CLUSTER", help="machines of configs/clusters/ besides")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="methods to compare")
    parser.add_argument("--graphs", type=at_least_one, default=4, help="graphs of each network, evenly spaced (4)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="random seeds of the searches; each pair is run with all (1)")
    add_out(parser, "anytime")
    add_emplace(parser)
    add_fresh(parser)
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="methods whose results in the table to discard")
    arguments = parser.parse_args()
    for method in arguments.again:
        if method not in arguments.methods:
            parser.error(f"--again {method}: expected one of --methods: {', '.join(arguments.methods)}")
    return arguments


def machines(arguments, folder):
    """Name and devices file of each machine."""
    found = {}
    for devices in arguments.devices:
        for link in arguments.links:
            found[f"{devices} like, {link / 1000:g} GB/s"] = cluster_file(folder, arguments.kind, devices, link)
    for name in arguments.unlike:
        found[name] = ROOT / f"configs/clusters/{name}.yaml"
    return found


def load(path, arguments):
    """The table of what is finished."""
    results = Table(path, COLUMNS, DEPENDS, arguments.fresh)
    for method in arguments.again:
        results.remove(method=method)
    return results


def evaluate(emplace, of_run, methods, graph, cluster):
    """Rows of what these methods find in one run. of_run: its cells "graph", "machine", "given_s" and "seed"."""
    def found(called, **options):
        printed = evaluated(emplace, [graph], cluster, called, seconds=of_run["given_s"], seed=of_run["seed"], **options)
        return [{**of_run, **{name: result[name] for name in ("method", "makespan_us", "feasible", "evaluations", "seconds")}}
                for result in printed["results"]]

    rows = found(as_trained) if (as_trained := [method for method in methods if method != BY_HAND]) else []
    if BY_HAND in methods:
        rows += [{**row, "method": BY_HAND} for row in found([AUTO], policy="none")]
    return rows


def missing_methods(arguments, known, of_run):
    """The methods whose result of this run is not in the table yet."""
    first = {**of_run, "given_s": max(arguments.seconds), "seed": arguments.seeds[0]}  # Enough time for all of them.
    return [method for method in arguments.methods
            if (*of_run.values(), method) not in known and (method not in ONCE or of_run == first)]


def runs_of(rows):
    """(cells of KEY but the method: {method: row with "in_time"}) of each run, with the methods that were run once."""
    for (graph, machine), pair in grouped(rows, "graph", "machine").items():
        once = {row["method"]: row for row in pair if row["method"] in ONCE}
        for (given_s, seed), run in grouped(pair, "given_s", "seed").items():
            found = once | {row["method"]: row for row in run}
            yield (graph, machine, given_s, seed), {method: {**row, "in_time": row["seconds"] <= LATE * given_s}
                                                    for method, row in found.items()}


def found_in_time(results):
    """The makespan that a method found within the given time, of results that differ by seed: the geometric mean; None if with one
    of the seeds it found none that fits, or was late."""
    if not all(result["feasible"] and result["in_time"] for result in results):
        return None
    return statistics.geometric_mean(result["makespan_us"] for result in results)


def found_by_pair(rows):
    """{(graph, machine): {given_s: {method: makespan found in time, or None}}}"""
    results = {}
    for (graph, machine, given_s, _), run in runs_of(rows):
        of_time = results.setdefault((graph, machine), {}).setdefault(given_s, {})
        for method, row in run.items():
            of_time.setdefault(method, []).append(row)
    return {pair: {given_s: {method: found_in_time(of_method) for method, of_method in of_time.items()}
                   for given_s, of_time in times.items()} for pair, times in results.items()}


def table(rows):
    methods, times = dict.fromkeys(row["method"] for row in rows), sorted({row["given_s"] for row in rows})
    best_us = {pair: min((row["makespan_us"] for row in of_pair if row["feasible"]), default=None)
               for pair, of_pair in grouped(rows, "graph", "machine").items()}
    ratios = {}
    near = {}
    for pair, of_pair in found_by_pair(rows).items():
        if not best_us[pair]:
            continue
        for seconds, found in of_pair.items():
            for method, us in found.items():
                ratios.setdefault((method, seconds), []).append(us / best_us[pair] if us else None)
            others = [us for method, us in found.items() if us and method not in (AUTO, BY_HAND)]
            if found.get(AUTO) and others:
                near.setdefault(seconds, []).append(found[AUTO] <= NEAR * min(others))
    shown = []
    for method in methods:
        cells = []
        for seconds in times:
            values = ratios.get((method, seconds), [])
            known = [value for value in values if value]
            cells.append(f"{statistics.geometric_mean(known):.3f}" + ("" if len(known) == len(values) else f" ({len(known)} of {len(values)})")
                         if known else "-")
        shown.append([f"`{method}`", *cells])
    if near:
        shown.append(["pairs on which `auto` is within 0.5% of every other method",
                      *(f"{sum(near[s])} of {len(near[s])}" if s in near else "-" for s in times)])
    return table_lines(["method", *(f"{seconds:g} s" for seconds in times)], "lr", shown)


def learned_lines(rows):
    """`auto` as the trained planner plans over itself as set by hand; none where the two were not both run."""
    logs = {}  # {machine, or None for all: {given_s: {graph: [ln ratio]}}}
    for (graph, machine), of_pair in found_by_pair(rows).items():
        for seconds, found in of_pair.items():
            if found.get(AUTO) and found.get(BY_HAND):
                for group in (None, machine):
                    of_graphs = logs.setdefault(group, {}).setdefault(seconds, {})
                    of_graphs.setdefault(graph, []).append(math.log(found[AUTO] / found[BY_HAND]))
    if not logs:
        return []
    times = sorted(logs[None])
    shown = [[group or "all pairs", *(resampled_interval(list(of_group[seconds].values())).text() if seconds in of_group else "-"
                                      for seconds in times)] for group, of_group in logs.items()]
    return ["", "## What the trained planner gives", "Makespan of `auto` over that of `auto` as it is set by hand, in the same time: geometric mean, "
            "with the 95% interval by resampling graphs.", "",
            *table_lines([None, *(f"{seconds:g} s" for seconds in times)], "lr", shown)]


def markdown(rows):
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    lines = ["# What each method finds in a given time",
             f"Makespan over the best known one of the same graph and machine, geometric mean over {len(grouped(rows, 'graph', 'machine'))} "
             f"pairs of a graph and a machine; seeds: {seeds}, of which a pair counts with the geometric "
             "mean. Best known is what any method found in any of these times, with any seed. "
             f"Where a method took more than {LATE:g} times the given time, or found nothing that fits the memory, it has no result; "
             "the number of pairs with a result is then in brackets.", "", made_by(rows), "", *table(rows), *learned_lines(rows)]
    for (machine,), of_machine in grouped(rows, "machine").items():
        lines += ["", f"## {machine}", *table(of_machine)]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    results = load(arguments.out, arguments)
    known = {tuple(row[name] for name in KEY) for row in results.rows}
    with tempfile.TemporaryDirectory(prefix="emplace_anytime_") as folder:
        scratch = pathlib.Path(folder)
        clusters = machines(arguments, scratch)
        networks = [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]
        for seconds in sorted(arguments.seconds):
            for graph in itertools.chain.from_iterable(network.graphs for network in networks):
                for (machine, cluster), seed in itertools.product(clusters.items(), arguments.seeds):
                    of_run = {"graph": graph_name(graph), "machine": machine, "given_s": seconds, "seed": seed}
                    missing = missing_methods(arguments, known, of_run)
                    if not missing:
                        continue
                    results.add(evaluate(arguments.emplace, of_run, missing, graph, cluster))
                    results.save()
                    print(f"{of_run['graph']} on {machine}, {seconds:g} s, seed {seed}", flush=True)
    results.save(markdown(results.rows))


if __name__ == "__main__":
    run_script(main)
