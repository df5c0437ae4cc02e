#!/usr/bin/env python3
"""How much placement can gain: the best known step time of each graph against the best single device.

For each network (a graph, a folder of graphs, or the name of a family, which is generated first) and each number of
devices it runs `emplace evaluate --methods single,annealing` on some of the graphs with several seeds, and writes what it finds to
headroom.json (everything) and headroom.md (a table). A run that was stopped goes on where it was: finished runs are
kept in headroom.json.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import statistics
import tempfile

from networks import ROOT, Network, call, cluster_file, graph_name, write_aside_and_rename
from script import BadInput, run_script

HERE = pathlib.Path(__file__).resolve().parent
FORMAT = "emplace.headroom/1"
PROCESSES = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family to generate; PATH=KIND runs it on devices of "
                             "another kind than k80")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of devices (2 4 8)")
    parser.add_argument("--graphs", type=int, default=8, help="graphs of each network, evenly spaced (8)")
    parser.add_argument("--budget", type=int, default=20000, help="placements that one search may simulate (20000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random seeds of the search (1 2 3)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder for headroom.json and headroom.md")
    parser.add_argument("--emplace", type=pathlib.Path, default=ROOT / "build/bin/emplace", help="the command to run")
    parser.add_argument("--fresh", action="store_true", help="discard the runs in headroom.json")
    arguments = parser.parse_args()
    for name, numbers in (("--devices", arguments.devices), ("--seeds", arguments.seeds),
                          ("--graphs", [arguments.graphs]), ("--budget", [arguments.budget])):
        if min(numbers) < 1:
            parser.error(f"{name} is {min(numbers)}, expected at least 1")
    return arguments


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def search(arguments, run, graph, cluster):
    """Fills in what one search on one graph found."""
    printed = json.loads(call([arguments.emplace, "evaluate", "--graphs", graph, "--devices", cluster,
                               "--methods", "single,annealing", "--budget", run["budget"], "--seed", run["seed"], "--json"]))
    for result in printed["results"]:
        run[result["method"]] = {key: result[key] for key in ("makespan_us", "feasible", "evaluations", "seconds")}
    return run


def key_of(run):
    """What a search is of. The hash makes a graph that has changed since a new one."""
    return tuple(run[part] for part in ("network", "kind", "devices", "graph", "graph_sha256", "budget", "seed"))


def load_finished(path, fresh):
    if fresh or not path.exists():
        return {}
    document = json.loads(path.read_text())
    if document.get("format") != FORMAT:
        raise BadInput(f"{path}: is no {FORMAT}; --fresh overwrites it")
    return {key_of(run): run for run in document["runs"]}


def save(path, finished):
    runs = [finished[key] for key in sorted(finished)]
    write_aside_and_rename(path, json.dumps({"format": FORMAT, "runs": runs}, indent=1) + "\n")


def run_all(arguments, jobs, finished, path):
    """Searches for what is not finished yet, two at a time, saving after each."""
    waiting = [job for job in jobs if key_of(job[0]) not in finished]
    print(f"{len(jobs)} searches, {len(jobs) - len(waiting)} of them finished before", flush=True)
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        futures = [pool.submit(search, arguments, *job) for job in waiting]
        try:
            for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
                run = future.result()
                finished[key_of(run)] = run
                save(path, finished)
                print(f"{count}/{len(waiting)} {run['graph']} on {run['devices']}, seed {run['seed']}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)  # On an error or Ctrl-C, what has not begun never does.


def best_known(runs):
    """The fastest placement of a graph that fits, of all searches; None where none does."""
    times = [run["annealing"]["makespan_us"] for run in runs if run["annealing"]["feasible"]]
    return min(times, default=None)


def table_row(name, devices, runs_of_graph):
    """One line of the table. Graphs that no device may run whole, or that fit nowhere, have no ratio."""
    ratios = []
    single_does_not_fit = 0
    for runs in runs_of_graph.values():
        single = runs[0]["single"]
        best = best_known(runs)
        if not single["feasible"]:
            single_does_not_fit += 1
        if single["makespan_us"] is not None and best:
            ratios.append(single["makespan_us"] / best)
    shown = [f"{pick(ratios):.2f}" if ratios else "-" for pick in (statistics.median, min, max)]
    return [name, str(devices), str(len(runs_of_graph)), *shown, str(single_does_not_fit)]


def markdown(runs, arguments):
    by_row = {}
    for run in runs:
        row = by_row.setdefault((run["network"], run["kind"], run["devices"]), {})
        row.setdefault(run["graph"], []).append(run)
    seeds = ", ".join(str(seed) for seed in arguments.seeds)
    lines = [
        "# What placement can gain",
        "Simulated step time on the best single device / of the best placement known, which is the best that fits of "
        f"annealing with {arguments.budget:,} simulated placements (seeds {seeds}): 1.5 means that half as long again is "
        "spent on one device. Where a graph fits no single device's memory, the time on one counts as if it did.",
        "",
        "| network | devices | graphs | median | min | max | fit on no single device |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (name, _, devices), runs_of_graph in by_row.items():
        lines.append("| " + " | ".join(table_row(name, devices, runs_of_graph)) + " |")
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "headroom.json"
    finished = load_finished(path, arguments.fresh)
    with tempfile.TemporaryDirectory(prefix="emplace_headroom_") as folder:
        scratch = pathlib.Path(folder)
        jobs = []
        for network in [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]:
            for devices in arguments.devices:
                cluster = cluster_file(scratch, network.kind, devices)
                for graph in network.graphs:
                    for seed in arguments.seeds:
                        run = {"network": network.name, "kind": network.kind, "devices": devices,
                               "graph": graph_name(graph), "graph_sha256": sha256(graph),
                               "budget": arguments.budget, "seed": seed}
                        jobs.append((run, graph, cluster))
        run_all(arguments, jobs, finished, path)
    table = markdown([finished[key_of(run)] for run, _, _ in jobs], arguments)
    write_aside_and_rename(arguments.out / "headroom.md", table)
    print(f"written to {path} and {arguments.out / 'headroom.md'}")


if __name__ == "__main__":
    run_script(main)
