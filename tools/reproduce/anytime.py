#!/usr/bin/env python3
"""What each method finds in a given time: makespan over the best known, at 0.01, 0.1, 1 and 10 seconds.

Runs `emplace evaluate --seconds` on graphs (files, folders, or families by name, which are generated first) and machines:
2, 4 and 8 like devices with links of three speeds, and two sets of unlike devices. Every run has all cores. Writes
anytime.json (everything, which `emplace report` draws) and anytime.md (tables). A method's result that is in anytime.json
already is not made again, so a run that was stopped goes on where it was; --again makes those of some methods anew, as after a
change to them. Make it on a quiet machine: whatever else runs takes time from the searches.
"""
import argparse
import itertools
import json
import math
import pathlib
import tempfile

from networks import ROOT, Network, call, cluster_file, graph_name, write_aside_and_rename
from script import BadInput, run_script

HERE = pathlib.Path(__file__).resolve().parent
FORMAT = "emplace.anytime/1"
METHODS = ["auto", "multilevel", "annealing", "local-search", "random", "m-etf", "m-sct", "heft", "expert", "data-parallel",
           "scotch", "single"]
LINKS = [1900, 7600, 30400]  # bytes a microsecond; the middle one is that of configs/clusters/k80x2.yaml
UNLIKE = ["p100_k80", "k80x2_cpu"]  # in configs/clusters/
LATE = 1.5  # A method that took this many times the given time has no result for it.
NEAR = 1.005  # auto should be within this of every other method.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family or network to generate")
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.01, 0.1, 1, 10], help="times (0.01 0.1 1 10)")
    parser.add_argument("--devices", type=int, nargs="*", default=[2, 4, 8], metavar="N", help="numbers of like devices (2 4 8)")
    parser.add_argument("--kind", default="k80", help="device kind of these, as the graphs' costs name it (k80)")
    parser.add_argument("--links", type=int, nargs="+", default=LINKS, metavar="BYTES_PER_US", help="speeds of their links")
    parser.add_argument("--unlike", nargs="*", default=UNLIKE, metavar="CLUSTER", help="machines of configs/clusters/ besides")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="methods to compare")
    parser.add_argument("--graphs", type=int, default=4, help="graphs of each network, evenly spaced (4)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="random seeds of the searches; each pair is run with all (1)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder for anytime.json and anytime.md")
    parser.add_argument("--emplace", type=pathlib.Path, default=ROOT / "build/bin/emplace", help="the command to run")
    parser.add_argument("--fresh", action="store_true", help="discard the runs in anytime.json")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="methods whose results in anytime.json to discard")
    arguments = parser.parse_args()
    for name, numbers in (("--seconds", arguments.seconds), ("--graphs", [arguments.graphs]), ("--links", arguments.links)):
        if min(numbers) <= 0:
            parser.error(f"{name} is {min(numbers)}, expected more than 0")
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


def key_of(run):
    return run["graph"], run["machine"], run["seconds"], run["seed"]


def load_finished(path, arguments):
    if arguments.fresh or not path.exists():
        return {}
    document = json.loads(path.read_text())
    if document.get("format") != FORMAT:
        raise BadInput(f"{path}: is no {FORMAT}; --fresh overwrites it")
    for run in document["runs"]:
        run["methods"] = {method: result for method, result in run["methods"].items() if method not in arguments.again}
        for result in run["methods"].values():  # Older files do not say it.
            result.setdefault("in_time", result["seconds"] <= LATE * run["seconds"])
    return {key_of(run): run for run in document["runs"]}


def save(path, finished):
    runs = [finished[key] for key in sorted(finished)]
    write_aside_and_rename(path, json.dumps({"format": FORMAT, "runs": runs}, indent=1) + "\n")


def evaluate(emplace, run, methods, graph, cluster):
    """Adds what these methods find on one graph and machine in one time to the run."""
    printed = json.loads(call([emplace, "evaluate", "--graphs", graph, "--devices", cluster, "--methods", ",".join(methods),
                               "--seconds", run["seconds"], "--seed", run["seed"], "--json"]))
    for result in printed["results"]:
        run["methods"][result["method"]] = {**{key: result[key] for key in ("makespan_us", "feasible", "evaluations", "seconds")},
                                            "in_time": result["seconds"] <= LATE * run["seconds"]}


def in_time(runs, method):
    """The makespan that a method found within the time of the runs, which differ by seed: the geometric mean; None if in one of
    them it found none that fits, or was late."""
    results = [run["methods"][method] for run in runs]
    if not all(result["feasible"] and result["in_time"] for result in results):
        return None
    return geometric_mean([result["makespan_us"] for result in results])


def by_pair(runs):
    """The runs of each graph and machine, with the best makespan that any of them found."""
    pairs = {}
    for run in runs:
        pairs.setdefault((run["graph"], run["machine"]), []).append(run)
    for pair in pairs.values():
        times = [result["makespan_us"] for run in pair for result in run["methods"].values() if result["feasible"]]
        yield pair, min(times, default=None)


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def table(runs, arguments):
    ratios = {}
    near = {}
    for pair, best_us in by_pair(runs):
        if not best_us:
            continue
        for seconds in arguments.seconds:
            of_seconds = [run for run in pair if run["seconds"] == seconds]
            found = {method: in_time(of_seconds, method) for method in arguments.methods}
            for method, us in found.items():
                ratios.setdefault((method, seconds), []).append(us / best_us if us else None)
            others = [us for method, us in found.items() if us and method != "auto"]
            if found.get("auto") and others:
                near.setdefault(seconds, []).append(found["auto"] <= NEAR * min(others))
    lines = ["| method | " + " | ".join(f"{seconds:g} s" for seconds in arguments.seconds) + " |",
             "| --- |" + " ---: |" * len(arguments.seconds)]
    for method in arguments.methods:
        cells = []
        for seconds in arguments.seconds:
            values = ratios.get((method, seconds), [])
            known = [value for value in values if value]
            cells.append(f"{geometric_mean(known):.3f}" + ("" if len(known) == len(values) else f" ({len(known)} of {len(values)})")
                         if known else "-")
        lines.append(f"| `{method}` | " + " | ".join(cells) + " |")
    if near:
        lines.append("| pairs on which `auto` is within 0.5% of every other method | "
                     + " | ".join(f"{sum(near[s])} of {len(near[s])}" if s in near else "-" for s in arguments.seconds) + " |")
    return lines


def markdown(runs, arguments, machine_names):
    lines = ["# What each method finds in a given time",
             f"Makespan over the best known one of the same graph and machine, geometric mean over {len(list(by_pair(runs)))} "
             f"pairs of a graph and a machine; seeds: {', '.join(map(str, arguments.seeds))}, of which a pair counts with the geometric "
             "mean. Best known is what any method found in any of these times, with any seed. "
             f"Where a method took more than {LATE:g} times the given time, or found nothing that fits the memory, it has no result; "
             "the number of pairs with a result is then in brackets.", "", *table(runs, arguments)]
    for machine in machine_names:
        lines += ["", f"## {machine}", *table([run for run in runs if run["machine"] == machine], arguments)]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "anytime.json"
    finished = load_finished(path, arguments)
    keys = []
    with tempfile.TemporaryDirectory(prefix="emplace_anytime_") as folder:
        scratch = pathlib.Path(folder)
        clusters = machines(arguments, scratch)
        networks = [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]
        for seconds in sorted(arguments.seconds):
            for network in networks:
                for graph in network.graphs:
                    for (machine, cluster), seed in itertools.product(clusters.items(), arguments.seeds):
                        run = {"graph": graph_name(graph), "machine": machine, "seconds": seconds, "seed": seed, "methods": {}}
                        keys.append(key_of(run))
                        run = finished.setdefault(key_of(run), run)
                        missing = [method for method in arguments.methods if method not in run["methods"]]
                        if not missing:
                            continue
                        evaluate(arguments.emplace, run, missing, graph, cluster)
                        save(path, finished)
                        print(f"{run['graph']} on {machine}, {seconds:g} s, seed {seed}", flush=True)
    runs = [finished[key] for key in keys]
    write_aside_and_rename(arguments.out / "anytime.md", markdown(runs, arguments, list(clusters)))
    print(f"written to {path} and {arguments.out / 'anytime.md'}")


if __name__ == "__main__":
    run_script(main)
