#!/usr/bin/env python3
"""Measures what each kind of policy costs on this machine, actor and learner apart, and prints it as JSON.

Each run is one of configs/{ptb,sgdp_ptb,rnn_ptb,hierarchical_ptb}.yaml in lockstep with one actor. Processor time is that of a
process in a long run less that in a short one, so that starting up does not count; other programs on the machine change it
little. An update's time is by the clock, the median of the long run: where a GPU computes it, the processor only waits. Memory
is the peak of each process, which the long run has. Runs of different kinds take turns.

Usage: tools/bench/kinds.py [--kinds placeto sgdp rnn hierarchical] [--updates 40] [--rounds 3] [--bin DIR]
         [--set section.key=value]...
"""
import argparse
import json
import os
import statistics

from learner_run import ROOT, add_run_options, at_least_one, run_lockstep

CONFIGS = {"placeto": "ptb", "sgdp": "sgdp_ptb", "rnn": "rnn_ptb", "hierarchical": "hierarchical_ptb"}
SHORT = 5  # Updates of the short run.


def processor_s(used):
    return used.ru_utime + used.ru_stime


def measure(kind, options):
    """{key: value} of one round."""
    config = ROOT / f"configs/{CONFIGS[kind]}.yaml"
    runs = [run_lockstep(config, [f"training.iterations={updates}", *options.sets], options.bin)
            for updates in (SHORT, SHORT + options.updates)]
    short, long = runs
    episodes = long.updates[-1]["episodes"] / len(long.updates)
    placements = long.updates[-1]["steps"] / long.updates[-1]["episodes"]
    actor_s = (processor_s(long.actor) - processor_s(short.actor)) / options.updates
    learner_s = (processor_s(long.learner) - processor_s(short.learner)) / options.updates
    update_s = statistics.median(line["update_busy_s"] for line in long.updates[SHORT:])
    return {"episodes_per_update": episodes, "decisions_per_episode": placements, "actor_episodes_per_s": episodes / actor_s,
            "learner_episodes_per_s": episodes / learner_s, "update_ms": 1e3 * update_s, "actor_MB": long.actor.ru_maxrss / 1e3,
            "learner_MB": long.learner.ru_maxrss / 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=CONFIGS, default=list(CONFIGS), help="kinds of policy to measure")
    parser.add_argument("--updates", type=at_least_one, default=40, help="updates by which the long run is longer than the short one")
    parser.add_argument("--rounds", type=at_least_one, default=3, help="pairs of runs of each kind")
    add_run_options(parser)
    options = parser.parse_args()
    rounds = {kind: [] for kind in options.kinds}
    for _ in range(options.rounds):
        for kind, figures in rounds.items():
            figures.append(measure(kind, options))
    medians = {kind: {key: round(statistics.median(figure[key] for figure in figures), 1) for key in figures[0]}
               for kind, figures in rounds.items()}
    print(json.dumps({"cores": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1), "rounds": options.rounds,
                      "sets": options.sets, "kinds": medians}, indent=1))


if __name__ == "__main__":
    main()
