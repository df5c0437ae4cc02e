#!/usr/bin/env python3
"""Holds the instruction counts of three hot paths against those in instructions.json: a guard against slow creep in CI.

    tools/bench/guard.py            fails when a count is more than 5 % off, either way
    tools/bench/guard.py --update   writes the counts of now: for a change that is meant, or when the compiler changes

A count says nothing about caches or about how instructions overlap (run.sh measures that), but it is the same on a busy
machine. It depends on the compiler, its flags (the dev preset) and the C library; not on the processor: the paths of the
kernel are named, and the C library is told to use nothing past what every x86-64 has. Counted is with Callgrind, inside
emplace_guard_measured of guard_main.cc alone; each path is counted twice, and the two must agree.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUNTS = pathlib.Path(__file__).resolve().parent / "instructions.json"
PATHS = ["simulator", "kernel_portable", "kernel_avx2", "trajectory"]
TOLERANCE = 0.05
NOT_HERE = 77  # The program's exit code where the processor does not run the path.
HOW = "tools/bench/guard.py --update writes this file; commit it with the change that moved a count, and say why"
ENVIRONMENT = {
    "LD_BIND_NOW": "1",  # Else the first call of each function counts its lookup.
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-FMA,-ERMS,-FSRM,-SSE4_1,-SSE4_2,-SSSE3",
}


def fail(message):
    sys.exit(f"guard.py: {message}")


def count(program, path):
    """Instructions of one run, or None where the processor does not run the path."""
    with tempfile.TemporaryDirectory(prefix="emplace-guard-") as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=emplace_guard_measured", program, path],
            capture_output=True, text=True, env=ENVIRONMENT | {"PATH": "/usr/local/bin:/usr/bin:/bin"})
        if run.returncode == NOT_HERE:
            return None
        if run.returncode != 0:
            fail(f"{path} failed under valgrind:\n{run.stderr}")
        counts = [int(line.split()[1]) for line in out.read_text().splitlines() if line.startswith("summary:")]
    if len(counts) != 1 or counts[0] == 0:
        fail(f"{path}: callgrind counted {counts}, expected one number above 0")
    return counts[0]


def compiler():
    for line in (ROOT / "build/CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_CXX_COMPILER:"):
            version = subprocess.run([line.split("=", 1)[1], "--version"], capture_output=True, text=True, check=True)
            return version.stdout.splitlines()[0]
    fail("build/CMakeCache.txt names no compiler")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the counts of now to instructions.json")
    parser.add_argument("--program", default=ROOT / "build/bin/emplace-bench-guard", help="program to count, as the preset dev builds it")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        fail("valgrind is not installed: run tools/setup.sh")

    counts = {}
    for path in PATHS:
        first, second = count(args.program, path), count(args.program, path)
        if first != second:
            fail(f"{path}: {first} instructions in one run, {second} in the next; something in it is not reproducible")
        if first is None:
            print(f"{path}: this processor does not run it")
        else:
            counts[path] = first

    committed = json.loads(COUNTS.read_text()) if COUNTS.exists() else {"instructions": {}}
    if args.update:
        instructions = {path: counts.get(path, committed["instructions"].get(path)) for path in PATHS}
        COUNTS.write_text(json.dumps({"how": HOW, "compiler": compiler(), "instructions": instructions}, indent=1) + "\n")
        print(f"wrote {COUNTS}")
        return
    problems = []
    for path, now in counts.items():
        before = committed["instructions"].get(path)
        if before is None:
            problems.append(f"{path}: {now:,} instructions, none committed")
            continue
        change = now / before - 1
        print(f"{path}: {now:,} instructions, committed {before:,} ({change:+.2%})")
        if change > TOLERANCE:
            problems.append(f"{path}: {change:.1%} more instructions than committed")
        elif change < -TOLERANCE:
            problems.append(f"{path}: {-change:.1%} fewer instructions than committed: good, so raise the bar")
    if problems:
        if compiler() != committed.get("compiler"):
            problems.append(f"the counts were taken with {committed.get('compiler')}, this is {compiler()}")
        fail("\n  ".join(["instruction counts are off", *problems, HOW]))


if __name__ == "__main__":
    main()
