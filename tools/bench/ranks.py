#!/usr/bin/env python3
"""Measures how an update's time changes with the learner's ranks on this machine, and prints it as JSON.

Each run is configs/ptb.yaml in lockstep with one actor, which waits while the learner computes, so that an update has the
cores for itself as far as other programs leave them. All runs have the same shards and so make the same updates. Runs with
different ranks take turns. An update's time is what metrics.jsonl says of the stage `update`, waiting for ranks included.

Usage: tools/bench/ranks.py [--ranks 1 2] [--states 512 2048] [--updates 30] [--rounds 3] [--bin DIR]
         [--set section.key=value]...
"""
import argparse
import json
import os

from learner_run import ROOT, add_run_options, at_least_one, quantile, run_lockstep

WARM_UP = 3  # Updates of each run that do not count.


def update_seconds(ranks, states, options):
    """Seconds of each update of one run."""
    run = run_lockstep(ROOT / "configs/ptb.yaml", [
        f"training.ranks={ranks}", f"training.shards={max(options.ranks)}", f"training.max_states_per_update={states}",
        f"training.iterations={WARM_UP + options.updates}", "workload.count=6", "workload.train=5", "workload.validation=1",
        *options.sets], options.bin)
    return [line["update_busy_s"] for line in run.updates][WARM_UP:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=at_least_one, nargs="+", default=[1, 2], help="numbers of ranks to compare")
    parser.add_argument("--states", type=int, nargs="+", default=[512, 2048], help="training.max_states_per_update")
    parser.add_argument("--updates", type=at_least_one, default=30, help="updates of each run")
    parser.add_argument("--rounds", type=at_least_one, default=3, help="runs of each kind")
    add_run_options(parser)
    options = parser.parse_args()
    figures = []
    for states in options.states:
        seconds = {ranks: [] for ranks in options.ranks}
        for _ in range(options.rounds):
            for ranks in options.ranks:
                seconds[ranks] += update_seconds(ranks, states, options)
        for ranks, of_ranks in seconds.items():
            low, median, high = (round(1e3 * quantile(of_ranks, share), 2) for share in (0.1, 0.5, 0.9))
            figures.append({"states": states, "ranks": ranks, "updates": len(of_ranks), "low_ms": low, "median_ms": median, "high_ms": high})
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({"cores": os.cpu_count(), "load_average": load, "shards": max(options.ranks), "sets": options.sets,
                      "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
