#!/usr/bin/env python3
"""Runs configs/ptb.yaml for some seconds, a learner and actors as processes over loopback, and prints end_to_end_steps_per_s.

Start-up is left out: counted are the steps that the learner took in from SETTLE_S seconds after its first update on, as its
metrics.jsonl tells them. A sample is a stretch of about a second.
Usage: tools/bench/end_to_end.py [--actors N] [--seconds S] [--bin DIR]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETTLE_S = 2.0    # The evaluation of the first policy runs beside it.
STRETCH_S = 1.0
GIVE_UP_S = 60.0  # Without the samples by then, something is wrong.


def quantile(samples, share):
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def rates(metrics, settle_s=SETTLE_S, stretch_s=STRETCH_S):
    """Steps per second of each whole stretch of the update lines of a metrics.jsonl."""
    points = []
    for line in metrics.splitlines():
        try:
            point = json.loads(line)
        except json.JSONDecodeError:
            continue  # The last line, half written.
        if point["kind"] == "update":
            points.append((point["seconds"], point["steps"]))
    points = [point for point in points if point[0] >= points[0][0] + settle_s]
    samples = []
    begin = points[0] if points else None
    for point in points:
        if point[0] - begin[0] >= stretch_s:
            samples.append((point[1] - begin[1]) / (point[0] - begin[0]))
            begin = point
    return samples


def stop(process):
    """Ends what is still running. Outright: nobody needs the last evaluation and checkpoint of a learner here."""
    process.kill()
    process.wait()


def measure(actors, seconds, binaries):
    with tempfile.TemporaryDirectory(prefix="emplace-bench-") as folder:
        run = pathlib.Path(folder) / "run"
        metrics = run / "metrics.jsonl"
        log = open(pathlib.Path(folder) / "log", "w+")
        wanted = max(1, round((seconds - SETTLE_S) / STRETCH_S))
        processes = []
        try:
            learner = subprocess.Popen(
                [binaries / "emplace-learner", "--config", ROOT / "configs/ptb.yaml", "--dir", run,
                 "--set", "training.iterations=1000000", "--set", "evaluation.every=0"], stdout=log, stderr=log)
            processes.append(learner)
            deadline = time.monotonic() + GIVE_UP_S
            samples = []
            while len(samples) < wanted:
                if learner.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    sys.exit(f"end_to_end.py: the run made {len(samples)} of {wanted} samples; its log:\n{log.read()}")
                address = run / "learner.json"
                if len(processes) == 1 and address.exists() and address.read_text():
                    target = json.loads(address.read_text())["address"]
                    for i in range(actors):
                        processes.append(subprocess.Popen(
                            [binaries / "emplace-actor", "--learner", target, "--name", f"actor-{i}"], stdout=log, stderr=log))
                if metrics.exists() and metrics.stat().st_size:
                    samples = rates(metrics.read_text())
                time.sleep(0.1)
        finally:
            for process in processes:
                stop(process)
            log.close()
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, default=1, help="number of actors (1)")
    parser.add_argument("--seconds", type=float, default=9, help="seconds to run after the first update (9)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the built programs")
    args = parser.parse_args()
    samples = measure(args.actors, args.seconds, args.bin)
    print(json.dumps({"figures": [{"name": "end_to_end_steps_per_s", "unit": "steps/s", "median": quantile(samples, 0.5),
                                   "low": quantile(samples, 0.1), "high": quantile(samples, 0.9),
                                   "repetitions": len(samples)}]}))


if __name__ == "__main__":
    main()
