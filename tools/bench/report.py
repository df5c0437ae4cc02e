#!/usr/bin/env python3
"""Joins what the benchmark programs printed: a table, or with --json one document.

Usage: tools/bench/report.py [--json] FIGURES.json...

The document has each figure's median under its name, and under "spread" the 10th and 90th percentile of its repetitions, how
many these were, and the unit.
"""
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return git.stdout.strip() if git.returncode == 0 else None


def rounded(value):
    return float(f"{value:.4g}")


def main():
    as_json = "--json" in sys.argv[1:]
    figures = []
    for path in sys.argv[1:]:
        if path != "--json":
            figures += json.loads(pathlib.Path(path).read_text())["figures"]
    if as_json:
        document = {"format": "emplace.bench/1", "commit": commit(), "processor": processor(), "cores": os.cpu_count()}
        document |= {figure["name"]: rounded(figure["median"]) for figure in figures}
        document["spread"] = {
            figure["name"]: {"p10": rounded(figure["low"]), "p90": rounded(figure["high"]), "repetitions": figure["repetitions"],
                             "unit": figure["unit"]} for figure in figures}
        print(json.dumps(document, indent=1))
        return
    print(f"{'figure':44} {'median':>10} {'p10':>10} {'p90':>10}  unit")
    for figure in figures:
        low, median, high = (f"{rounded(figure[key]):,g}" for key in ("low", "median", "high"))
        print(f"{figure['name']:44} {median:>10} {low:>10} {high:>10}  {figure['unit']}")


if __name__ == "__main__":
    main()
