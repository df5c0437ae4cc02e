#!/usr/bin/env python3
"""Measures how Emplace scales, in some three minutes, and prints it as Markdown tables; --write puts them into scaling.md.

Usage: tools/bench/scaling.py [--write] [--quick]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import report

ROOT = report.ROOT
BIN = ROOT / "build/bin"
OUT = pathlib.Path(__file__).resolve().parent / "scaling.md"

INTRODUCTION = """# How Emplace scales
{machine}, commit {commit}; `tools/bench/scaling.py --write`. Medians, with the 10th and 90th percentile of the repetitions.
"""
# Of each table: its title and what its rows count; then what needs more words.
TABLES = {
    "end to end": ("End to end: `emplace-learner` and actors over loopback, `configs/ptb.yaml`", "actors"),
    "front end, ptb": ("The learner's front end on ptb graphs", "actors"),
    "front end, one op a group": ("The learner's front end on graphs of 128 ops", "actors"),
    "groups": ("The policy kernel by groups: a ptb graph on two devices, 16 episodes step by step", "groups"),
    "devices": ("By devices: the kernel on a ptb graph of 128 groups; unrelated placements of a random graph of 2,000 ops", "devices"),
    "ops": ("The simulator by ops: unrelated placements of random graphs with three inputs an op, four devices", "ops"),
}
NOTES = {
    "front end, ptb": """Recorded episodes of 128 steps, replayed by one thread that plays many actors over their real sockets; nobody trains. The
ledger says of each run that every episode arrived, once, and none was lost. "Received" is by the clock, on cores that the
players share. The other columns are steps by the processor time of one thread of the front end: `front end` receives,
decodes, checks shapes and keeps the ledger; `checks` simulates the end of each episode; `ZMQbg/IO/0` is ZeroMQ's.
""",
    "front end, one op a group": """The same; a simulation costs next to nothing here, so that receiving shows.
""",
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"scaling.py: {command[0]} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def end_to_end(actors, seconds):
    figure = json.loads(run(sys.executable, ROOT / "tools/bench/end_to_end.py", "--actors", str(actors), "--seconds", str(seconds)))
    return {**figure["figures"][0], "name": f"end to end|{actors}|taken in"}


def cell(figure):
    low, median, high = (f"{report.rounded(figure[key]):,g}" for key in ("low", "median", "high"))
    return f"{median} ({low}..{high})"


def table(name, figures):
    title, count = TABLES[name]
    rows, columns = {}, []
    for figure in figures:
        _, row, column = figure["name"].split("|")
        column = f"{column}, {figure['unit']}"
        rows.setdefault(row, {})[column] = cell(figure)
        if column not in columns:
            columns.append(column)
    lines = [f"## {title}", NOTES.get(name, "")]
    lines.append("| " + " | ".join([count, *columns]) + " |")
    lines.append("| " + " | ".join(["---:"] * (1 + len(columns))) + " |")
    for row, cells in rows.items():
        lines.append("| " + " | ".join([f"{int(row):,}", *(cells.get(column, "-") for column in columns)]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables to tools/bench/scaling.md")
    parser.add_argument("--quick", action="store_true", help="run two repetitions of each measurement, only to see that it runs")
    args = parser.parse_args()
    run(ROOT / "tools/setup.sh")
    run("cmake", "-S", ROOT, "--preset", "dev")
    run("cmake", "--build", ROOT / "build", "-j", os.environ.get("EMPLACE_JOBS", str(os.cpu_count())), "--target", "emplace-bench-scaling", "emplace-learner", "emplace-actor")

    figures = [end_to_end(actors, 4 if args.quick else 14) for actors in (1, 2)]
    figures += json.loads(run(BIN / "emplace-bench-scaling", *(["--quick"] if args.quick else [])))["figures"]
    parts = [INTRODUCTION.format(machine=f"{report.processor()}, {os.cpu_count()} cores", commit=report.commit())]
    for name in TABLES:
        parts.append(table(name, [figure for figure in figures if figure["name"].split("|")[0] == name]))
    text = "\n".join(parts)
    if args.write:
        OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
