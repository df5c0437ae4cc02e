#!/usr/bin/env python3
"""How long `emplace place` takes beyond its time, and goes on after Ctrl-C, on large graphs. Prints a table.

    tools/bench/limits.py [--program build/bin/emplace] [--devices 4] [--seconds 1] [--ops 100000]

`time` is what the command says that placing took, without loading; `after Ctrl-C` runs from a SIGINT, sent half a second
after the graph was loaded, to the end of the process.
"""
import argparse
import json
import pathlib
import random
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def op(name, inputs, cost_us=1):
    return {"name": name, "cost_us": cost_us, "inputs": inputs, "outputs": [{"bytes": 1000}]}


def fan_out(n):
    return [op("source", [])] + [op(f"reader{i}", ["source:0"]) for i in range(n)]


def fan_in(n):
    return [op(f"source{i}", []) for i in range(n)] + [op("join", [f"source{i}:0" for i in range(n)])]


def chain(n):
    return [op(f"link{i}", [f"link{i - 1}:0"] if i else []) for i in range(n)]


def wide(n):
    """Layers of 100 ops, each of which reads two of the last 300."""
    rng = random.Random(1)
    ops = []
    for i in range(2 * n):
        producers = sorted({rng.randrange(max(0, i - 300), i) for _ in range(2)}) if i >= 100 else []
        ops.append(op(f"op{i}", [f"op{p}:0" for p in producers], rng.uniform(1, 50)))
    return ops


GRAPHS = {"fan-out": fan_out, "fan-in": fan_in, "chain": chain, "wide": wide}
DEVICE = '  - {{name: "gpu:{}", kind: gpu, memory_bytes: 11.0e9}}\n'


def write_inputs(folder, ops, devices):
    graph = {"format": "emplace.graph/1", "name": "graph", "ops": ops}
    (folder / "g.graph.json").write_text(json.dumps(graph))
    machine = "devices:\n" + "".join(DEVICE.format(i) for i in range(devices))
    machine += "op_overhead_us: 5.7\ntransfer: {bandwidth_bytes_per_us: 7600, overhead_us: 25}\n"
    (folder / "d.yaml").write_text(machine)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/bin/emplace"))
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--ops", type=int, default=100000)
    arguments = parser.parse_args()
    print("| graph | ops | time | found by | after Ctrl-C |\n| --- | ---: | ---: | --- | ---: |")
    for name, make in GRAPHS.items():
        ops = make(arguments.ops)
        with tempfile.TemporaryDirectory(prefix="emplace-limits-") as folder:
            folder = pathlib.Path(folder)
            write_inputs(folder, ops, arguments.devices)
            command = [arguments.program, "place", "--graph", folder / "g.graph.json", "--devices", folder / "d.yaml"]
            command += ["--json", "--seconds"]
            begin = time.monotonic()
            done = subprocess.run([*command, str(arguments.seconds)], capture_output=True, check=True, text=True)
            placed = json.loads(done.stdout)
            load_s = time.monotonic() - begin - placed["seconds"]
            endless = subprocess.Popen([*command, "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(load_s + 0.5)
            begin = time.monotonic()
            endless.send_signal(signal.SIGINT)
            endless.wait()
            after_s = time.monotonic() - begin
        print(f"| {name} | {len(ops):,} | {placed['seconds']:.2f} s | `{placed['found_by']}` | {after_s:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
