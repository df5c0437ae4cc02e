#!/usr/bin/env python3
"""How much placement can gain: the best known step time of each graph against the best single device.

For each network (a graph, a folder of graphs, or the name of a family, which is generated first) and each number of
devices it runs `emplace evaluate --methods single,annealing` on some of the graphs with several seeds, and writes what it finds to
a table, and beside it to a .md that shows it. A run that was stopped goes on where it was: finished runs are kept in the table.
"""
import argparse
import concurrent.futures
import pathlib
import statistics
import tempfile

from lib.networks import Network, add_emplace, cluster_file, graph_name
from lib.results import evaluated
from lib.script import at_least_one, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines
from lib.training import sha256

# What a search is of. The hash, the first 16 digits of that of the file, makes a graph that has changed since a new one.
KEY = {"network": str, "kind": str, "devices": int, "graph": str, "graph_sha256": str, "budget": int, "seed": int}
COLUMNS = {**KEY, "method": str, "makespan_us": float, "feasible": bool, "evaluations": int, "seconds": float}
PROCESSES = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family to generate; PATH=KIND runs it on devices of "
                             "another kind than k80")
    parser.add_argument("--devices", type=at_least_one, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of devices (2 4 8)")
    parser.add_argument("--graphs", type=at_least_one, default=8, help="graphs of each network, evenly spaced (8)")
    parser.add_argument("--budget", type=at_least_one, default=20000, help="placements that one search may simulate (20000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random seeds of the search (1 2 3)")
    add_out(parser, "headroom")
    add_emplace(parser)
    add_fresh(parser)
    return parser.parse_args()


def search(arguments, run, graph, cluster):
    """The rows of one search on one graph, and of one device."""
    printed = evaluated(arguments.emplace, [graph], cluster, ["single", "annealing"], budget=run["budget"], seed=run["seed"])
    return [{**run, **{name: result[name] for name in ("method", "makespan_us", "feasible", "evaluations", "seconds")}}
            for result in printed["results"]]


def key_of(row):
    return tuple(row[name] for name in KEY)


def run_all(arguments, jobs, table):
    """Searches for what is not finished yet, two at a time, saving after each."""
    hashes = {(run["network"], run["kind"], run["graph"]): run["graph_sha256"] for run, _, _ in jobs}
    table.rows = [row for row in table.rows
                  if hashes.get((row["network"], row["kind"], row["graph"]), row["graph_sha256"]) == row["graph_sha256"]]
    finished = set(map(key_of, table.rows))
    waiting = [job for job in jobs if key_of(job[0]) not in finished]
    print(f"{len(jobs)} searches, {len(jobs) - len(waiting)} of them finished before", flush=True)
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        futures = [pool.submit(search, arguments, *job) for job in waiting]
        try:
            for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
                rows = future.result()
                table.add(rows)
                table.save()
                print(f"{count}/{len(waiting)} {rows[0]['graph']} on {rows[0]['devices']}, seed {rows[0]['seed']}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)  # On an error or Ctrl-C, what has not begun never does.


def best_known(rows):
    """The fastest placement of a graph that fits, of all searches; None where none does."""
    times = [row["makespan_us"] for row in rows if row["method"] == "annealing" and row["feasible"]]
    return min(times, default=None)


def table_row(name, devices, rows):
    """The cells of one row of the text's table. Graphs that no device may run whole, or that fit nowhere, have no ratio."""
    ratios = []
    single_does_not_fit = 0
    of_graphs = grouped(rows, "graph").values()
    for of_graph in of_graphs:
        single = next(row for row in of_graph if row["method"] == "single")
        best = best_known(of_graph)
        if not single["feasible"]:
            single_does_not_fit += 1
        if single["makespan_us"] is not None and best:
            ratios.append(single["makespan_us"] / best)
    shown = [f"{pick(ratios):.2f}" if ratios else "-" for pick in (statistics.median, min, max)]
    return [name, devices, len(of_graphs), *shown, single_does_not_fit]


def markdown(rows):
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    budgets = " or ".join(f"{budget:,}" for budget in sorted({row["budget"] for row in rows}))
    return "\n".join([
        "# What placement can gain",
        "Simulated step time on the best single device / of the best placement known, which is the best that fits of "
        f"annealing with {budgets} simulated placements (seeds {seeds}): 1.5 means that half as long again is "
        "spent on one device. Where a graph fits no single device's memory, the time on one counts as if it did.",
        "",
        made_by(rows),
        "",
        *table_lines(["network", "devices", "graphs", "median", "min", "max", "fit on no single device"], "lr",
                     [table_row(name, devices, of_row)
                      for (name, _, devices), of_row in grouped(rows, "network", "kind", "devices").items()]),
    ]) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, SEARCH, arguments.fresh)
    with tempfile.TemporaryDirectory(prefix="emplace_headroom_") as folder:
        scratch = pathlib.Path(folder)
        jobs = []
        for network in [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]:
            for devices in arguments.devices:
                cluster = cluster_file(scratch, network.kind, devices)
                for graph in network.graphs:
                    for seed in arguments.seeds:
                        run = {"network": network.name, "kind": network.kind, "devices": devices,
                               "graph": graph_name(graph), "graph_sha256": sha256(graph)[:16],
                               "budget": arguments.budget, "seed": seed}
                        jobs.append((run, graph, cluster))
        run_all(arguments, jobs, table)
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
