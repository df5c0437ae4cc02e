#!/usr/bin/env python3
"""All placement methods on all networks, by number of devices and bandwidth of the links between them.

For each network (a graph, a folder of graphs, or the name of a family or network, which is generated first), number of
devices and bandwidth it runs `emplace evaluate` with every method and several seeds. Writes each evaluation to a file
of baselines/, and one table, baselines.md. A run that was stopped goes on where it was.
"""
import argparse
import json
import pathlib

from networks import ROOT, Network, call, cluster_file, write_aside_and_rename
from script import run_script

HERE = pathlib.Path(__file__).resolve().parent
METHODS = ["single", "expert", "scotch", "heft", "m-topo", "m-etf", "m-sct", "random", "local-search", "annealing"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family to generate; PATH=KIND runs it on devices of "
                             "another kind than k80")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of devices (2 4 8)")
    parser.add_argument("--gb-per-s", type=float, nargs="+", default=[7.6, 100, 300], metavar="B",
                        help="bandwidths of each device's link (7.6 100 300)")
    parser.add_argument("--graphs", type=int, default=8, help="graphs of each network, evenly spaced (8)")
    parser.add_argument("--budget", type=int, default=2000, help="placements that each search method may simulate (2000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random seeds of the methods that draw (1 2 3)")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="methods, in the order of the table")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder for baselines/ and baselines.md")
    parser.add_argument("--emplace", type=pathlib.Path, default=ROOT / "build/bin/emplace", help="the command to run")
    parser.add_argument("--fresh", action="store_true", help="discard the results of earlier runs")
    return parser.parse_args()


def evaluate(arguments, network, cluster, path):
    """The document of one evaluation, kept at `path` while it comes."""
    command = [arguments.emplace, "evaluate", "--graphs", *network.graphs, "--devices", cluster,
               "--methods", ",".join(arguments.methods), "--budget", arguments.budget,
               "--seeds", ",".join(str(seed) for seed in arguments.seeds), "--out", path, "--json"]
    if path.exists() and not arguments.fresh:
        command.append("--resume")
    return json.loads(call(command))


def cell(summary):
    """Geometric mean of step time / one device; a star where some placement did not fit."""
    ratio = summary["geometric_mean_ratio_to_single"]
    if ratio is None:
        return "-"
    return f"{ratio:.3f}" + ("*" if summary["feasible"] < summary["runs"] else "")


def markdown(rows, arguments):
    seeds = ", ".join(str(seed) for seed in arguments.seeds)
    lines = [
        "# All methods, all networks",
        "Simulated step time / best single device, geometric mean over graphs and seeds; lower is better, the best of a row "
        f"that always fits is bold. Searching methods simulate {arguments.budget:,} placements (seeds {seeds}); the others draw nothing, or, "
        "as scotch, run once a seed. A star: not every placement fits the memory.",
        "",
        "| network | graphs | devices | GB/s | " + " | ".join(arguments.methods) + " |",
        "| --- | ---: | ---: | ---: |" + " ---: |" * len(arguments.methods),
    ]
    for name, graphs, devices, bandwidth, summary in rows:
        texts = [cell(summary[method]) for method in arguments.methods]
        best = min((text for text in texts if text[-1] not in "*-"), default=None)
        cells = [f"**{text}**" if text == best else text for text in texts]
        lines.append(f"| {name} | {graphs} | {devices} | {bandwidth:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    folder = arguments.out / "baselines"
    folder.mkdir(parents=True, exist_ok=True)
    scratch = ROOT / "build/reproduce"  # Stays: an evaluation goes on only with graphs at the same place.
    scratch.mkdir(parents=True, exist_ok=True)
    rows = []
    for network in [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]:
        for devices in arguments.devices:
            for bandwidth in arguments.gb_per_s:
                cluster = cluster_file(scratch, network.kind, devices, round(1000 * bandwidth))
                path = folder / f"{network.name}_{devices}_{bandwidth:g}.json"
                document = evaluate(arguments, network, cluster, path)
                rows.append((network.name, len(network.graphs), devices, bandwidth, document["summary"]))
                print(f"{network.name} on {devices} devices with {bandwidth:g} GB/s", flush=True)
    write_aside_and_rename(arguments.out / "baselines.md", markdown(rows, arguments))
    print(f"written to {folder}/ and {arguments.out / 'baselines.md'}")


if __name__ == "__main__":
    run_script(main)
