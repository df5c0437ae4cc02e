#!/usr/bin/env python3
"""How do GiPH's policy, its HEFT and random placements compare with `heft`, `list` and `auto` on its own test cases?

Takes a checkout of github.com/uidmice/placement-rl (Hu et al., MLSys 2023), whose generator makes task graphs and networks of devices
from seeds, and the Python of an environment in which its code runs, with torch, dgl, networkx, simpy and matplotlib. That code makes
the first test cases of a file of parameters and places them; a policy is trained before by its main.py. Every placement is scored by
the authors' cost model, in which links are never busy (lib/free_links.py). Needs the programs of build/bin.
  cd CHECKOUT && VENV/bin/python main.py --train --disable_cuda --disable_eval -p parameters/single_network.txt
  python tools/reproduce/giph.py CHECKOUT --python VENV/bin/python --policy CHECKOUT/runs/..._giph
Writes a table with a line for each case and method, and beside it a .md that shows it. The same command goes on.

This was checked against the authors' code with simpy 4.1: 180 placements of three cases had the same makespan.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from lib.free_links import Emplace, last_end, longest_ways, machine_text
from lib.networks import add_emplace
from lib.results import EQUAL
from lib.script import BadInput, last_line, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

# In the authors' unit: makespan, the least by their model of as many placements as the row says, and mean, that of all of them; bound,
# the longest way where each node has its fastest device.
COLUMNS = {"parameters": str, "network": int, "program": int, "nodes": int, "devices": int, "method": str, "placements": int,
           "makespan": float, "mean": float, "bound": float, "seconds": float}
DEPENDS = SEARCH
OURS = ("heft", "list", "auto")
BYTES = 10**6  # Bytes of Emplace's, which are whole, in one of theirs, which are not.


def read_cases(python, checkout, parameters, count, policy, folder):
    """What lib/giph_cases.py writes: a list of cases with their placements."""
    out = folder / "cases.json"
    script = pathlib.Path(__file__).parent / "lib/giph_cases.py"
    words = [python, script, checkout, parameters, str(count), out, *([policy] if policy else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInput(f"{checkout}: its code fails: {last_line(done.stderr, 'nothing said')}")
    return json.loads(out.read_text())


def readers_of(case):
    """Of each node those that read it."""
    readers = [[] for _ in case["run"]]
    for source, reader, _ in case["edges"]:
        readers[source].append(reader)
    return readers


def makespan(case, placement):
    """By the authors' model, in their unit. A tensor takes the delay between two devices, and a time for each byte."""
    size = {(source, reader): count for source, reader, count in case["edges"]}

    def send_time(source, reader):
        there, here = placement[source], placement[reader]
        return case["delay"][there][here] + size[source, reader] * case["rate"][there][here]

    return last_end(readers_of(case), placement, [times[device] for times, device in zip(case["run"], placement)], send_time)


def bound(case):
    """No placement is faster: the longest way, with each node on its fastest device and nothing to be sent."""
    fastest = [min(time for time in times if time is not None) for times in case["run"]]
    return max(longest_ways(readers_of(case), fastest, lambda source, reader: 0))


def emplace_ops(case):
    """Each device is a kind, for a node's times are those of devices. Each edge has a tensor of its own, as it has its own bytes."""
    ops = [{"name": f"n{node}", "inputs": [], "outputs": [], "cost_us": {f"d{device}": time for device, time in enumerate(times)
                                                                       if time is not None}} for node, times in enumerate(case["run"])]
    for source, reader, count in case["edges"]:
        ops[reader]["inputs"].append(f"n{source}:{len(ops[source]['outputs'])}")
        ops[source]["outputs"].append({"bytes": round(count * BYTES)})
    return ops


def useful_devices(case):
    """Those that may run any node; Emplace takes no others."""
    return [device for device in range(len(case["delay"])) if any(times[device] is not None for times in case["run"])]


def emplace_machine(case):
    """The useful devices, with a link for each two. It is busy while a tensor is under way, which in the authors' model it is not."""
    useful = useful_devices(case)
    return machine_text([f"d{device}" for device in useful],
                        lambda a, b: (BYTES / case["rate"][useful[a]][useful[b]], case["delay"][useful[a]][useful[b]]))


def markdown(rows):
    cases = [{row["method"]: row for row in found} for found in grouped(rows, "parameters", "network", "program").values()]
    methods = [method for method in ("random", "HEFT", "GiPH", *OURS) if any(method in case for case in cases)]
    by_method = []
    for method in methods:
        with_it = [case for case in cases if method in case]
        over_bound = statistics.geometric_mean(case[method]["makespan"] / case[method]["bound"] for case in with_it)
        over_auto = statistics.geometric_mean(ratio(case, method) for case in with_it)
        best = sum(all(case[method]["makespan"] <= row["makespan"] * (1 + EQUAL) for row in case.values()) for case in with_it)
        by_method.append([f"`{method}`" if method in OURS else method, len(with_it), f"{over_bound:.3f}", f"{over_auto:.3f}", best,
                          len(ahead(with_it, method))])
    by_case = []
    for case in cases:
        one = case["auto"]
        by_case.append([f"network {one['network']}, program {one['program']}", one["nodes"], one["devices"],
                        *(f"{case[method]['makespan']:.1f}" if method in case else "-" for method in methods)])
    return "\n".join([
        "# Test cases of GiPH", "", behind(cases, methods), "",
        "Task graphs and networks of [GiPH](https://github.com/uidmice/placement-rl) (Hu et al., MLSys 2023) as its generator makes "
        "them, by the authors' cost model, in which links are never busy. *Over the bound* is the makespan over the longest way where "
        "each node has its fastest device and nothing is sent: geometric mean over the cases. Of methods that draw, the best of "
        "two placements for each node. *Best* counts the cases on which no other method is faster.", "", made_by(rows), "",
        *table_lines(["method", "cases", "over the bound", "over `auto`", "best", "faster than `auto`"], "lr", by_method), "",
        *table_lines(["case", "nodes", "devices", *methods], "lr", by_case)]) + "\n"


def ratio(case, method):
    return case[method]["makespan"] / case["auto"]["makespan"]


def ahead(cases, method):
    """The ratios of the cases on which the method is faster than `auto`."""
    ratios = [ratio(case, method) for case in cases if method in case]
    return [one for one in ratios if one < 1 - EQUAL]


def behind(cases, methods):
    """A line that says on how many cases other methods are faster than `auto`."""
    parts = [f"{method} on {len(found)} of {len(cases)} cases, by {100 * (1 - min(found)):.1f}% at most"
             for method in methods if (found := ahead(cases, method))]
    return "**Behind:** faster than `auto` is " + ("; ".join(parts) or "no other method on any case") + "."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="CHECKOUT", help="a checkout of github.com/uidmice/placement-rl")
    parser.add_argument("--python", type=pathlib.Path, required=True, help="the Python of an environment in which its code runs")
    parser.add_argument("--parameters", default="single_network", help="a file of its folder parameters (default: single_network)")
    parser.add_argument("--policy", type=pathlib.Path, metavar="FOLDER", help="what a training has written")
    parser.add_argument("--count", type=int, default=50, help="number of test cases (default: 50)")
    parser.add_argument("--budget", type=int, default=20000, help="placements that `auto` may simulate for each case (default: 20000)")
    add_emplace(parser)
    add_fresh(parser)
    add_out(parser, "giph")
    options = parser.parse_args()
    table = Table(options.out, COLUMNS, DEPENDS, options.fresh)
    done = {(row["parameters"], row["network"], row["program"], row["method"]) for row in table.rows}
    with tempfile.TemporaryDirectory(prefix="emplace_giph_") as folder:
        folder = pathlib.Path(folder)
        parameters = options.checkout / f"parameters/{options.parameters}.txt"
        for case in read_cases(options.python, options.checkout, parameters, options.count, options.policy, folder):
            emplace = Emplace(options.emplace, emplace_ops(case), emplace_machine(case), folder)
            rows = []
            for method, placements in {**case["placements"], **dict.fromkeys(OURS)}.items():
                if (options.parameters, case["network"], case["program"], method) in done:
                    continue
                seconds = None
                if method in OURS:
                    placement, seconds = emplace.place(method, "--budget", str(options.budget))
                    placements = [[useful_devices(case)[index] for index in placement]]
                found = [makespan(case, placement) for placement in placements]
                rows.append({"parameters": options.parameters, "network": case["network"], "program": case["program"],
                             "nodes": len(case["run"]), "devices": len(case["delay"]), "method": method, "placements": len(found),
                             "makespan": min(found), "mean": statistics.fmean(found), "bound": bound(case), "seconds": seconds})
            if rows:
                table.add(rows)
                table.save()
                said = ", ".join(f"{row['method']} {row['makespan']:.1f}" for row in rows)
                print(f"network {case['network']}, program {case['program']}: {said}", flush=True)
    table.rows.sort(key=lambda row: (row["parameters"], row["network"], row["program"]))
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
