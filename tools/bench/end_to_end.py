#!/usr/bin/env python3
"""Runs configs/ptb.yaml for some seconds, a learner and actors as processes over loopback, and prints end_to_end_steps_per_s.

Start-up is left out: counted are the steps that the learner took in from SETTLE_S seconds after its first update on, as its
metrics.jsonl tells them. A sample is a stretch of about a second.
Usage: tools/bench/end_to_end.py [--actors N] [--seconds S] [--bin DIR] [--set section.key=value]...
"""
import argparse
import json
import time

from learner_run import ROOT, add_run_options, at_least_one, learner_run, quantile

SETTLE_S = 2.0    # The evaluation of the first policy runs beside it.
STRETCH_S = 1.0
GIVE_UP_S = 60.0  # From when the actors have been started: without the samples by then, something is wrong.
SETTINGS = ["training.iterations=1000000", "evaluation.every=0"]


def rates(updates, settle_s=SETTLE_S, stretch_s=STRETCH_S):
    """Steps per second of each whole stretch of the update lines of a metrics.jsonl."""
    points = [(line["seconds"], line["steps"]) for line in updates]
    points = [point for point in points if point[0] >= points[0][0] + settle_s]
    samples = []
    begin = points[0] if points else None
    for point in points:
        if point[0] - begin[0] >= stretch_s:
            samples.append((point[1] - begin[1]) / (point[0] - begin[0]))
            begin = point
    return samples


def measure(actors, seconds, binaries, sets):
    wanted = max(1, round((seconds - SETTLE_S) / STRETCH_S))
    samples = []
    with learner_run(binaries, ROOT / "configs/ptb.yaml", [*SETTINGS, *sets], actors) as run:
        deadline = time.monotonic() + GIVE_UP_S
        while len(samples) < wanted:
            if run.learner.poll() is not None or time.monotonic() > deadline:
                run.fail(f"the run made {len(samples)} of {wanted} samples")
            samples = rates(run.updates())
            time.sleep(0.1)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=at_least_one, default=1, help="number of actors (1)")
    parser.add_argument("--seconds", type=float, default=9, help="seconds to run after the first update (9)")
    add_run_options(parser)
    args = parser.parse_args()
    samples = measure(args.actors, args.seconds, args.bin, args.sets)
    print(json.dumps({"figures": [{"name": "end_to_end_steps_per_s", "unit": "steps/s", "median": quantile(samples, 0.5),
                                   "low": quantile(samples, 0.1), "high": quantile(samples, 0.9),
                                   "repetitions": len(samples)}]}))


if __name__ == "__main__":
    main()
