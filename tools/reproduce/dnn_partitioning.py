#!/usr/bin/env python3
"""How do `dp` and `auto` divide the workloads of dnn-partitioning for throughput, beside the code of its authors?

Takes a checkout of github.com/msr-fiddle/dnn-partitioning (Tarnawski et al., NeurIPS 2020), compiles its dp.cpp with g++, and runs all
that it offers on its own throughput inputs: the contiguous dynamic program, local search with ten restarts, PipeDream's division,
and human experts'. Needs an environment with the package `emplace` for the import, and the programs of build/bin.
  python tools/reproduce/dnn_partitioning.py DNN_PARTITIONING_CHECKOUT
Writes a table with a line for each workload and method, and beside it a .md that shows it. A run takes half an hour at most; the same
command goes on from where it was.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

from lib.networks import add_emplace, call, devices_text
from lib.script import BadInput, first_line, last_line, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, made_by, table_lines

COLUMNS = {"workload": str, "ops": int, "method": str, "load": float, "seconds": float, "why_not": str, "bound": float}
DEPENDS = (*SEARCH, "python/emplace/formats/partitioning.py")
# Bytes that a transfer's cost of one unit of time stands for, by the inputs' own sizes and costs.
BYTES_PER_UNIT = {"LayerGraphs": 2147483648.0, "OperatorGraphs": 2147483.648}
US_PER_UNIT = 1000
AUTHORS = {"authors' dp": [], "authors' local search": ["-localSearch", "10"], "PipeDream": ["-pipeDream"], "human expert": None}
OURS = {"dp": [], "auto": ["--seconds"]}


def compile_authors(checkout, folder):
    program = folder / "dp"
    source = checkout / "throughput-dp/dp.cpp"
    if not source.is_file():
        raise BadInput(f"{checkout}: has no throughput-dp/dp.cpp, expected a checkout of github.com/msr-fiddle/dnn-partitioning")
    done = subprocess.run(["g++", "-O3", "-std=c++17", source, "-o", program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInput(f"{source}: g++ does not compile it: {first_line(done.stderr)}")
    return program


def expert_of(checkout, workload):
    """The authors' file of a human's division, or None. That of an inference serves for its training, too, as their README says."""
    stem = workload.rpartition("/")[2]
    names = [stem, stem.replace("_training", "_inference")]
    found = [path for name in names if (path := checkout / f"human-experts/{name}_expert.json").is_file()]
    return found[0] if found and workload.startswith("LayerGraphs/") else None


def authors_load(program, checkout, workload, method, limit_s):
    """(greatest load, seconds, why there is none)"""
    words = AUTHORS[method]
    if words is None:
        expert = expert_of(checkout, workload)
        if expert is None:
            return None, None, "no such file"
        words = ["-expert", str(expert)]
    began = time.monotonic()
    try:
        with open(checkout / f"throughput-inputs/{workload}.json", encoding="utf-8") as text:
            done = subprocess.run([program, *words], stdin=text, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None, None, f"more than {limit_s:.0f} s"
    seconds = time.monotonic() - began
    said = re.search(r"maxLoad = ([\d.]+)|max-load of the split: ([\d.]+)", done.stderr)
    if said:
        return float(said[1] or said[2]), seconds, None
    try:
        split = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, None, last_line(done.stderr, "nothing printed")
    return max(device["load"] for kind in ("cpus", "fpgas") for device in split[kind]), seconds, None


def machine_text(workload):
    """The devices that the workload names. Its times are thousands of us here."""
    devices = [{"name": f"gpu:{index}", "kind": "gpu", "memory_bytes": workload["memory"]} for index in range(workload["gpus"])]
    devices += [{"name": f"cpu:{index}", "kind": "cpu", "memory_bytes": 1e15} for index in range(workload["cpus"])]
    return devices_text(devices, transfer={"bandwidth_bytes_per_us": BYTES_PER_UNIT[workload["folder"]] / US_PER_UNIT, "overhead_us": 0})


def our_rows(name, checkout, emplace, seconds, folder):
    from emplace import formats
    path = checkout / f"throughput-inputs/{name}.json"
    text = json.loads(path.read_text())
    kind = name.partition("/")[0]
    graph, devices = folder / "workload.graph.json", folder / "devices.yaml"
    formats.load_partitioning(path, bandwidth_bytes_per_us=BYTES_PER_UNIT[kind] / US_PER_UNIT).save(graph)
    devices.write_text(machine_text({"folder": kind, "memory": text["maxSizePerFPGA"], "gpus": text["maxFPGAs"], "cpus": text["maxCPUs"]}))
    rows = []
    for method, words in OURS.items():
        limits = [*words, str(seconds)] if words else []
        found = json.loads(call([emplace, "place", "--graph", graph, "--devices", devices, "--method", method, "--objective", "throughput",
                                 "--json", *limits]))
        rows.append({"method": method, "load": found["max_load_us"] / US_PER_UNIT if found["feasible"] else None,
                     "seconds": found["seconds"], "why_not": None if found["feasible"] else "does not fit the memory",
                     "bound": found["load_bound_us"] / US_PER_UNIT})
    return rows


def shown(row):
    return row["why_not"] if row["load"] is None else f"{row['load']:.2f} ({row['seconds']:.1f} s)"


def markdown(rows):
    methods = [*AUTHORS, *OURS]
    by_workload = {}
    for row in rows:
        by_workload.setdefault(row["workload"], {})[row["method"]] = row
    better, worse = [], []
    for name, found in by_workload.items():
        theirs = [row["load"] for method, row in found.items() if method in AUTHORS and row["load"] is not None]
        if not theirs or found["auto"]["load"] is None:
            continue
        (better if found["auto"]["load"] <= min(theirs) * (1 + 1e-6) else worse).append(name)
    lines = ["# Divisions for throughput, beside the authors' code",
             "The greatest load of a device on the throughput inputs of [dnn-partitioning](https://github.com/msr-fiddle/dnn-partitioning) "
             "(Tarnawski et al., NeurIPS 2020), in their unit of time, and the seconds to find it on one processor; lower is better. The "
             "authors' integer programs need Gurobi, and are not here. `dp` is contiguous, as theirs; local search and `auto` are not.", "",
             made_by(rows), ""]
    if worse:
        lines += [f"`auto` is behind on {', '.join(worse)}. In the authors' model a processor sends and receives for nothing; here it "
                  "counts what it sends and receives as GPUs do, so that divisions that give it work have a greater load.", ""]
    lines += [f"`auto` is the best on {len(better)} of {len(better) + len(worse)}.", "",
              *table_lines(["workload", "ops", *methods, "at least"], "lr",
                           [[name, found["dp"]["ops"], *(shown(found[method]) for method in methods), f"{found['auto']['bound']:.2f}"]
                            for name, found in by_workload.items()])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="DNN_PARTITIONING_CHECKOUT",
                        help="a checkout of github.com/msr-fiddle/dnn-partitioning")
    parser.add_argument("--seconds", type=float, default=10, help="time of `auto` for each workload (default: 10)")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which the authors' code is given up (default: 60)")
    add_emplace(parser)
    add_fresh(parser)
    add_out(parser, "dnn_partitioning")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    table = Table(options.out, COLUMNS, DEPENDS, options.fresh)
    done = {row["workload"] for row in table.rows}
    with tempfile.TemporaryDirectory(prefix="emplace_dnn_") as folder:
        folder = pathlib.Path(folder)
        program = compile_authors(checkout, folder)
        for path in sorted((checkout / "throughput-inputs").glob("*/*.json")):
            name = f"{path.parent.name}/{path.stem}"
            if name in done:
                continue
            ops = len(json.loads(path.read_text())["nodes"])
            rows = []
            for method in AUTHORS:
                load, seconds, why_not = authors_load(program, checkout, name, method, options.limit)
                rows.append({"method": method, "load": load, "seconds": seconds, "why_not": why_not})
            rows += our_rows(name, checkout, options.emplace, options.seconds, folder)
            table.add([{"workload": name, "ops": ops, **row} for row in rows])
            table.save()
            print(f"{name}: " + ", ".join(f"{row['method']} {shown(row)}" for row in rows), flush=True)
    table.rows.sort(key=lambda row: row["workload"])
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
