#!/usr/bin/env python3
"""How do the critical-path heuristic and the learned policies of DOPPLER place its published graphs, beside `heft`, `list` and `auto`?

Takes a checkout of github.com/xinyuyao/Doppler (Yao et al., ICLR 2026) and reads the graphs of its folder compute_graph: four for four
GPUs, two for eight. Every placement is simulated twice: by the authors' cost model, written anew below, where links are never busy, and
by `emplace simulate`, where each pair of devices has a link of its own that sends one tensor at a time. Needs the programs of build/bin.
  python tools/reproduce/doppler.py DOPPLER_CHECKOUT
Policies are trained by the authors' code; --learned DOPPLER_CHECKOUT/heuristic_log/* adds the placements that it has logged.
Writes a table with a line for each graph and method, and beside it a .md that shows it. Takes a minute; the same command goes on.

This was checked against the authors' code with simpy 4.1 and dgl 1.1.3: on the six graphs, 40 placements each had the same cost, and 10
seeds gave the same placements by both rules of the critical path, where the authors' code drew its random numbers from ours.
"""
import argparse
import collections
import pathlib
import random
import re
import statistics
import struct
import tempfile
import typing

from lib.free_links import Emplace, last_end, longest_ways, machine_text
from lib.networks import add_emplace
from lib.script import BadInput, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

# In the authors' unit: theirs, the least cost by their model of as many placements as the row says; ours, the time of that placement by
# Emplace's simulator; one_device, the work of all nodes; bound, what no placement is below by either model.
COLUMNS = {"graph": str, "nodes": int, "devices": int, "method": str, "placements": int, "theirs": float, "theirs_mean": float,
           "ours": float, "one_device": float, "bound": float, "seconds": float}
DEPENDS = SEARCH
UNIT = 10**10  # Of the costs in the files in one of the unit that the authors print, and here a microsecond.
AS_RUN, AS_MEANT = "critical path, as run", "critical path, as meant"
LEARNED = ("learned, stage 1", "learned, stage 2")
OURS = ("heft", "list", "auto")
EQUAL = 1e-4  # Costs that differ by less, relatively, are the same: the smallest tensors make as much.


class Graph(typing.NamedTuple):
    compute: list  # Cost of each node, on any device.
    send: list     # Cost to send what a node makes to another device.
    inputs: list   # Nodes that each one reads.
    readers: list  # Nodes that read each one, in the order of the file.


def read_graph(path):
    """Its first line counts all nodes, the second names those without cost, which are no part of the graph; then come both ends of the
    edges, and a line COMPUTE,SEND for each node."""
    lines = [[int(number) for number in re.findall(r"\d+", line)] for line in path.read_text().splitlines()]
    try:
        (total,), free, sources, targets, *costs = lines
        count = total - len(free)
        compute, send = map(list, zip(*costs[:count], strict=True))
        inputs, readers = [[] for _ in range(count)], [[] for _ in range(count)]
        for source, target in zip(sources, targets, strict=True):
            inputs[target].append(source)
            readers[source].append(target)
    except (ValueError, IndexError):
        raise BadInput(f"{path}: is no graph of DOPPLER, expected a number, three lines of numbers, and two for each node") from None
    if len(compute) != count:
        raise BadInput(f"{path}: has costs of {len(compute)} nodes, expected {count}")
    return Graph(compute, send, inputs, readers)


def cost(graph, devices):
    """Time of the last end of a node, where the nodes are on these devices, by the authors' model."""
    return last_end(graph.readers, devices, graph.compute, lambda source, reader: graph.send[source])


def bound(graph, devices):
    """No placement has a lower cost: the longest way takes its time, and all devices together have all the work."""
    return max(max(longest_ways(graph.readers, graph.compute, lambda source, reader: 0)), sum(graph.compute) / devices)


def single(value):
    """Rounded to a number of 32 bits, as the authors' estimates are: which of them are equal hangs on it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def critical_path(graph, devices, draw, as_run):
    """The placement of the authors' heuristic, their teacher of stage 1: takes the node with the longest way to the end, and puts it on
    the device on which it can start first. Ends are estimated without idle times: a node ends when its device has done all work that it
    has been given. draw(n), a random number from 0 to n - 1, decides ties.

    As run: of n ready nodes of k with the longest way the authors' code takes one of the first k that got ready, not one of the k."""
    rank = longest_ways(graph.readers, graph.compute, lambda source, reader: graph.send[source])
    missing = [len(of_node) for of_node in graph.inputs]
    ready = [node for node, count in enumerate(missing) if count == 0]
    placement, ends = [None] * len(rank), [None] * len(rank)
    work, free = [0] * devices, [0.0] * devices
    while ready:
        longest = max(rank[node] for node in ready)
        tied = [place for place, node in enumerate(ready) if rank[node] == longest]
        drawn = draw(len(tied))
        node = ready.pop(drawn if as_run else tied[drawn])
        starts = [max([free[device], *(ends[source] if placement[source] == device else single(ends[source] + single(graph.send[source]))
                                       for source in graph.inputs[node])]) for device in range(devices)]
        first = [device for device, start in enumerate(starts) if start == min(starts)]
        device = first[draw(len(first))]
        placement[node] = device
        ends[node] = free[device] = single(single(work[device]) + single(graph.compute[node]))
        work[device] += graph.compute[node]
        for reader in graph.readers[node]:
            missing[reader] -= 1
            if missing[reader] == 0:
                ready.append(reader)
    return placement


def emplace_ops(graph):
    """The nodes in Emplace's format. A microsecond is one of the authors' unit, a byte one of what their files count."""
    return [{"name": f"n{node}", "cost_us": graph.compute[node] / UNIT, "inputs": [f"n{source}:0" for source in graph.inputs[node]],
             "outputs": [{"bytes": graph.send[node]}]} for node in range(len(graph.compute))]


def read_log(folder):
    """(name of the graph, name of the method, placements of all episodes) of a folder that the authors' training has written."""
    try:
        said = dict(line.split(": ", 1) for line in (folder / "args.txt").read_text().splitlines())
        episodes = [line for line in (folder / "output.txt").read_text().splitlines() if line.startswith("Device Assignment: ")]
        method = LEARNED[said["run_il"] != "True"]
        name = pathlib.PurePath(said["compute_graph_path"]).stem
    except (OSError, ValueError, KeyError):
        raise BadInput(f"{folder}: is no log of DOPPLER, expected args.txt and output.txt") from None
    return name, method, [[int(number) for number in re.findall(r"\d+", line)] for line in episodes]


def markdown(rows):
    by_graph = {key[0]: {row["method"]: row for row in found} for key, found in grouped(rows, "graph").items()}
    methods = [method for method in (AS_RUN, AS_MEANT, *LEARNED, *OURS) if any(method in found for found in by_graph.values())]
    of_graphs = []
    for name, found in by_graph.items():
        one = next(iter(found.values()))
        of_graphs.append([name, one["nodes"], one["devices"], f"{one['one_device']:.1f}", *(shown(found.get(method)) for method in methods),
                          f"{one['bound']:.1f}"])
    return "\n".join([
        "# Published graphs of DOPPLER", "", behind(by_graph), "",
        "Time of a step on the graphs of [DOPPLER](https://github.com/xinyuyao/Doppler) (Yao et al., ICLR 2026), in the authors' "
        "unit; lower is better. In their cost model links are never busy; in Emplace's, in brackets, each pair of devices has a "
        "link that sends one tensor at a time. Of a method that draws, the best of its placements by the authors' model, and "
        "behind the slash their mean. *At least* is a bound for both: the longest way, or the work of all devices.", "",
        made_by(rows), "",
        *table_lines(["graph", "nodes", "devices", "one device", *(f"`{method}`" if method in OURS else method for method in methods), "at least"],
                     "lr", of_graphs)]) + "\n"


def shown(row):
    if row is None:
        return "-"
    mean = f" / {row['theirs_mean']:.1f}" if row["placements"] > 1 else ""
    return f"{row['theirs']:.1f}{mean} ({row['ours']:.1f})"


def slower_than_theirs(by_graph, method, column):
    """["graph (their best method, by how much it is faster)"] of the graphs on which a method of ours is behind."""
    slower = []
    for name, found in by_graph.items():
        best = min((row for theirs, row in found.items() if theirs not in OURS), key=lambda row: row[column])
        ratio = found[method][column] / best[column]
        if ratio > 1 + EQUAL:
            slower.append(f"{name} ({best['method']}, {100 * (ratio - 1):.1f}%)")
    return slower


def behind(by_graph):
    """A line that says where our methods take longer than the best of the authors' methods, by either model."""
    sentences = []
    for method in reversed(OURS):
        counts = [len(slower_than_theirs(by_graph, method, column)) for column in ("theirs", "ours")]
        where = slower_than_theirs(by_graph, method, "theirs")
        sentences.append(f"`{method}` is slower than the best placement of the authors' methods on {counts[0]} of {len(by_graph)} graphs "
                         f"by the authors' model{': ' if where else ''}{', '.join(where)}; and on {counts[1]} by Emplace's.")
    return "**Behind:** " + " ".join(sentences)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="DOPPLER_CHECKOUT", help="a checkout of github.com/xinyuyao/Doppler")
    parser.add_argument("--learned", type=pathlib.Path, nargs="+", default=[], metavar="FOLDER", help="logs of the authors' training")
    parser.add_argument("--seconds", type=float, default=1, help="time of `auto` for each graph (default: 1)")
    parser.add_argument("--runs", type=int, default=50, help="placements of the critical path, of which the best counts (default: 50)")
    add_emplace(parser)
    add_fresh(parser)
    add_out(parser, "doppler")
    options = parser.parse_args()
    files = [path for path in sorted((options.checkout / "compute_graph").glob("*.txt")) if not path.stem.startswith("gdp_")]
    if not files:
        raise BadInput(f"{options.checkout}: has no compute_graph/*.txt, expected a checkout of github.com/xinyuyao/Doppler")
    logs = collections.defaultdict(dict)
    for folder in options.learned:
        name, method, placements = read_log(folder)
        logs[name][method] = placements
    table = Table(options.out, COLUMNS, DEPENDS, options.fresh)
    done = {(row["graph"], row["method"]) for row in table.rows}
    with tempfile.TemporaryDirectory(prefix="emplace_doppler_") as folder:
        for path in files:
            graph, devices = read_graph(path), 8 if path.stem.startswith("8gpu_") else 4
            machine = machine_text(["gpu"] * devices, lambda a, b: (UNIT, 0))
            emplace = Emplace(options.emplace, emplace_ops(graph), machine, pathlib.Path(folder))
            drawn = {method: [critical_path(graph, devices, random.Random(run).randrange, method == AS_RUN) for run in range(options.runs)]
                     for method in (AS_RUN, AS_MEANT)}
            for method, placements in {**drawn, **logs[path.stem], **dict.fromkeys(OURS)}.items():
                if (path.stem, method) in done:
                    continue
                seconds = None
                if method in OURS:
                    placement, seconds = emplace.place(method, "--seconds", str(options.seconds))
                    placements = [placement]
                costs = [cost(graph, placement) / UNIT for placement in placements]
                best = placements[costs.index(min(costs))]
                table.add([{"graph": path.stem, "nodes": len(graph.compute), "devices": devices, "method": method,
                            "placements": len(placements), "theirs": min(costs), "theirs_mean": statistics.fmean(costs),
                            "ours": emplace.simulated_us(best), "one_device": sum(graph.compute) / UNIT,
                            "bound": bound(graph, devices) / UNIT, "seconds": seconds}])
                table.save()
                print(f"{path.stem}: {method} {shown(table.rows[-1])}", flush=True)
    table.rows.sort(key=lambda row: row["graph"])
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
