#!/usr/bin/env python3
"""How well the simulator predicts step times on this computer's cores, and what two cores gain at all.

First it measures how two pinned cores scale on independent matrix products and element-wise ops, against one core. Then it
profiles each graph, puts the measured costs into it, makes placements (single devices, what methods find, and cuts at random
places), and runs each with `emplace-hardware run`, in turns. Each round has a profile of its own, for a computer's speed may drift
by more within minutes than the simulator is wrong. Writes a table, and beside it a .md that shows it.
Graphs need ops with calls, such as those of emplace.torch.capture.

Times of steps mean little while other programs use the cores. The medians of single ops, which mostly end before another program
has its turn, still show what the devices do to each other: their sum over the predicted sum is a column of its own. The steps
during which none took a core of a device count alone, where there are some; the tables say how many there were, and how busy the
computer was.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

from lib.networks import ROOT, call, devices_text, graph_name
from lib.script import at_least_one, run_script
from lib.table import SEARCH, Numbers, Table, add_out, grouped, made_by, table_lines

# A line for each placement, with a number for each round: see check(). The facts: "load", load averages at the begin and at the end;
# "scaling", see scaling(); "profiles", {graph: {"op_overhead_us", "links"} of its first profile}.
COLUMNS = {"graph": str, "placement": str, "measured_us": Numbers, "predicted_us": Numbers, "spread_us": Numbers, "undisturbed_steps": int,
           "op_ratio": Numbers}
DEPENDS = (*SEARCH, "actor/hardware")
BIN = ROOT / "build/bin"
GRAPHS = [ROOT / f"tools/reproduce/graphs/{name}.graph.json.zst" for name in ("transformer_small", "inception_small")]
METHODS = ("expert", "m-etf", "heft", "scotch", "auto")
GOAL_ERROR, GOAL_RANK = 0.10, 0.90


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("graphs", nargs="*", type=pathlib.Path, default=GRAPHS,
                        help="graphs whose ops have calls (a transformer and an Inception-like one, of graphs/)")
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1], help="the core of each device (0 1)")
    parser.add_argument("--placements", type=at_least_one, default=20, help="placements of each graph (20)")
    parser.add_argument("--rounds", type=at_least_one, default=3, help="turns, each with a profile and a run of each placement (3)")
    parser.add_argument("--steps", type=at_least_one, default=15, help="timed steps in one turn (15)")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the cuts (1)")
    add_out(parser, "reality")
    return parser.parse_args()


def machine(cores, bytes_per_us=8000, latency_us=0, op_overhead_us=1):
    """Text of a devices file with a device of one core each, and a link."""
    devices = [{"name": f"cpu:{index}", "kind": "cpu", "memory_bytes": 1e12, "cores": [core]} for index, core in enumerate(cores)]
    return devices_text(devices, op_overhead_us, transfer={"bandwidth_bytes_per_us": bytes_per_us, "latency_us": latency_us, "overhead_us": 0})


def chains(aten, args, side, ops):
    """A graph of two chains of the same op, which have nothing in common, and the placement of one on each device."""
    tensor = {"bytes": 4 * side * side, "shape": [side, side], "dtype": "f32"}
    made = []
    for chain in ("a", "b"):
        made.append({"name": chain, "type": "emplace.parameter", "cost_us": 0, "inputs": [], "outputs": [tensor], "attrs": {"name": chain}})
        last = chain
        for index in range(ops):
            name = f"{chain}{index}"
            made.append({"name": name, "type": aten, "cost_us": 1, "inputs": [f"{last}:0", f"{chain}:0"], "outputs": [tensor],
                         "call": {"op": aten, "args": args}})
            last = name
    return {"format": "emplace.graph/1", "name": "chains", "ops": made}, [0] * (ops + 1) + [1] * (ops + 1)


def timed_step(programs, graph, devices, placement, steps, *words):
    """What `emplace-hardware run` prints."""
    return json.loads(call([programs / "emplace-hardware", "run", "--graph", graph, "--devices", devices, "--placement", placement,
                            "--steps", steps, *words, "--json"]))


def run(graph, devices, placement, steps):
    """The same, with the times of ops, and with the step time that counts as `us`."""
    result = timed_step(BIN, graph, devices, placement, steps, "--by-op")
    return result | {"us": result["measured_us"] if result["undisturbed_us"] is None else result["undisturbed_us"]}


def scaling(arguments, folder, devices):
    """Time of both chains on one core over that on two, by kind and size of op; 2 where the cores do not disturb each other."""
    both = [{"in": 0}, {"in": 1}]
    rows = []
    for aten, side, ops in (("aten.mm.default", 64, 200), ("aten.mm.default", 256, 40), ("aten.mm.default", 1024, 4),
                            ("aten.add.Tensor", 64, 400), ("aten.add.Tensor", 256, 400), ("aten.add.Tensor", 1024, 40),
                            ("aten.add.Tensor", 4096, 4)):
        graph, split = chains(aten, both, side, ops)
        (folder / "chains.graph.json").write_text(json.dumps(graph))
        (folder / "one.json").write_text(json.dumps([0] * len(split)))
        (folder / "two.json").write_text(json.dumps(split))
        gains, op_us = [], []
        for _ in range(arguments.rounds):
            one, two = (run(folder / "chains.graph.json", devices, folder / f"{name}.json", arguments.steps)["us"]
                        for name in ("one", "two"))
            gains.append(one / two)
            op_us.append(one / (2 * ops))
        rows.append({"op": aten, "side": side, "op_us": statistics.median(op_us), "gain": sorted(gains)})
    return rows


def cut_placement(ops, rng):
    """Ops in turn on two devices, which change at random places; ops of one group stay together."""
    cuts = set(rng.sample(range(1, len(ops)), min(rng.choice([1, 2, 4, 8, 16, 32]), len(ops) - 1)))
    device, of_group, placement = 0, {}, []
    for index, op in enumerate(ops):
        device ^= index in cuts
        group = op.get("group")
        placement.append(of_group.setdefault(group, device) if group else device)
    return placement


def read_graph(path):
    if path.name.endswith(".zst"):
        return json.loads(subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout)
    return json.loads(path.read_text())


def placements(arguments, folder, graph, measured, devices):
    """(name, file) of each placement."""
    made = []
    ops = read_graph(graph)["ops"]
    for device in (0, 1):
        path = folder / f"single{device}.json"
        path.write_text(json.dumps([device] * len(ops)))
        made.append((f"cpu:{device} alone", path))
    for method in METHODS:
        path = folder / f"{method}.json"
        words = [BIN / "emplace", "place", "--graph", measured, "--devices", devices, "--method", method, "--out", path]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        # Not every graph says what the method needs: stages, for one.
        if done.returncode == 0:
            made.append((method, path))
    rng = random.Random(arguments.seed)
    while len(made) < arguments.placements:
        path = folder / f"cut{len(made)}.json"
        path.write_text(json.dumps(cut_placement(ops, rng)))
        made.append((f"cut {len(made)}", path))
    return made[:arguments.placements]


def ranks(values):
    """Ranks from 0; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for position in range(begin, end):
            found[order[position]] = (begin + end - 1) / 2
        begin = end
    return found


def rank_correlation(a, b):
    """Spearman's; 0 where one side is all equal."""
    a, b = ranks(a), ranks(b)
    if len(set(a)) < 2 or len(set(b)) < 2:
        return 0.0
    return statistics.correlation(a, b)


def profile(folder, graph, devices, programs=BIN):
    """What profiling finds, the graph with the measured costs, and the devices file with the measured links."""
    costs, measured, profiled = folder / "costs.csv", folder / "measured.graph.json", folder / "measured.yaml"
    found = json.loads(call([programs / "emplace-hardware", "profile", "--graph", graph, "--devices", devices, "--out", costs,
                             "--devices-out", profiled, "--json"]))
    call([programs / "emplace", "costs", "--costs", costs, "--graph", graph, "--out", measured])
    return found, measured, profiled


def check(arguments, folder, graph, devices):
    """(rows of one graph's placements, with measured and predicted times; what its first profile says). The placements are those of the
    first profile."""
    found, measured, profiled = profile(folder, graph, devices)
    files = placements(arguments, folder, graph, measured, profiled)
    rows = [{"graph": graph_name(graph), "placement": name, "measured_us": [], "predicted_us": [], "spread_us": [], "undisturbed_steps": 0, "op_ratio": []}
            for name, _ in files]
    for turn in range(arguments.rounds):
        if turn > 0:
            _, measured, profiled = profile(folder, graph, devices)
        for row, (_, path) in zip(rows, files, strict=True):
            result = run(measured, profiled, path, arguments.steps)
            row["measured_us"].append(result["us"])
            row["predicted_us"].append(result["predicted_us"])
            row["undisturbed_steps"] += result["undisturbed_steps"]
            row["op_ratio"].append(sum(op["measured_us"] for op in result["ops"]) / sum(op["predicted_us"] for op in result["ops"]))
            row["spread_us"].append(result["spread_us"])
    return rows, {"op_overhead_us": found["op_overhead_us"], "links": found["links"]}


def ratio_of(row):
    """Measured over predicted, in the middle round."""
    return statistics.median(measured / predicted for measured, predicted in zip(row["measured_us"], row["predicted_us"], strict=True))


def over_first(rows, key):
    """Each placement's time over that of the first one in the same round: the median of rounds."""
    return [statistics.median(time / first for time, first in zip(row[key], rows[0][key], strict=True)) for row in rows]


def repeatability(rows):
    """The rank correlation of two rounds of measurements with each other, mean over all pairs; None for one round."""
    rounds = list(zip(*(row["measured_us"] for row in rows), strict=True))
    pairs = list(itertools.combinations(rounds, 2))
    return statistics.mean(rank_correlation(a, b) for a, b in pairs) if pairs else None


def summary(rows):
    measured = over_first(rows, "measured_us")
    return {"median_error": statistics.median(abs(ratio_of(row) - 1) for row in rows),
            "rank_correlation": rank_correlation(measured, over_first(rows, "predicted_us")), "repeatability": repeatability(rows),
            "gain": min(time for row, time in zip(rows, measured, strict=True) if row["placement"].endswith("alone")) / min(measured)}


def cells_of(row):
    """Of a placement's row of the text's table. Times are in ms, medians of rounds."""
    times = sorted(row["measured_us"])
    return [row["placement"], f"{statistics.median(times) / 1e3:.2f}", f"{times[0] / 1e3:.2f} to {times[-1] / 1e3:.2f}", row["undisturbed_steps"],
            f"{statistics.median(row['predicted_us']) / 1e3:.2f}", f"{ratio_of(row):.3f}", f"{statistics.median(row['op_ratio']):.3f}"]


def markdown(table):
    load = table.facts["load"]
    gains = [[row["op"], f"{row['side']} x {row['side']}", f"{row['op_us']:.1f}", f"{statistics.median(row['gain']):.2f}",
              f"{row['gain'][0]:.2f}", f"{row['gain'][-1]:.2f}"] for row in table.facts["scaling"]]
    lines = ["# The simulator against this computer", "",
             f"{made_by(table.rows)} On two cores of {table.rows[0]['call'].processor.partition(',')[0]}. Load averages of the computer, which the "
             f"measurement itself raises to 2 at most: {load[0]:.1f} at the begin, {load[1]:.1f} at the end.",
             "", "## What two cores gain on ops that have nothing in common",
             "Time of both chains on one core over that on two. 2 is the most; repetitions in turns.", "",
             *table_lines(["op", "matrix", "time of an op, us", "gain: median", "lowest", "highest"], "lr", gains)]
    for (name,), rows in grouped(table.rows, "graph").items():
        check_of = summary(rows)
        lines += ["", f"## {name}",
                  f"Median error of the prediction {100 * check_of['median_error']:.1f}% (goal: under {100 * GOAL_ERROR:.0f}%), rank "
                  f"correlation {check_of['rank_correlation']:.3f} (goal: over {GOAL_RANK}), best placement {check_of['gain']:.2f} "
                  f"times as fast as one core. Overhead of an op {table.facts['profiles'][name]['op_overhead_us']:.2f} us."
                  + (f" Two rounds of measurements have a rank correlation of {check_of['repeatability']:.3f} with each other."
                     if check_of["repeatability"] is not None else ""), "",
                  *table_lines(["placement", "measured, ms", "lowest and highest round", "undisturbed steps", "predicted, ms", "measured / predicted",
                                "the same of the ops alone"], "lr", map(cells_of, rows))]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, DEPENDS, fresh=True)
    load = [os.getloadavg()[0]]
    profiles = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        devices = folder / "devices.yaml"
        devices.write_text(machine(arguments.cores))
        table.facts["scaling"] = scaling(arguments, folder, devices)
        for graph in arguments.graphs:
            rows, profiles[graph_name(graph)] = check(arguments, folder, graph, devices)
            table.add(rows)
    table.facts["profiles"] = profiles
    table.facts["load"] = [*load, os.getloadavg()[0]]
    table.save(markdown(table))
    print(markdown(table))


if __name__ == "__main__":
    run_script(main, goes_on=False)
