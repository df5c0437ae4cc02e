#!/usr/bin/env python3
"""Gives a trained planner complements: further parameters, each of which does well where those before it do not. `--samples` of the
method `policy` makes passes with them before it draws any.

Draws many candidates far around the planner, places instances of the part `train` with one pass of each, and takes candidates one by
one: the next is the one with which the best of all passes is fastest in the mean. Then it prints what the best of 2, 4, ... passes comes
to on instances of the part `validation`, beside as many passes drawn from the planner's distribution, and writes the planner with its
complements.

Runs in an environment with the package `emplace`, for a quarter of an hour on two cores:
  pip install . numpy safetensors
  python tools/reproduce/complements.py --out runs/planner.safetensors
"""
import argparse
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import statistics
import tempfile

from lib.networks import ROOT, add_emplace, call
from lib.script import BadInput, at_least_one, run_script

CLIP = 0.7  # ln(makespan / that of the planner) counts up to this much: a placement that does not fit must not outweigh all others.
SHRINK = (1, 1, 0.5)  # Candidates lie around the planner, or half of the way from it to the one set by hand.
WIDTHS = (0.3, 0.6, 1)  # Standard deviation of their parameters, in steps.
WIDER = 4  # Times as wide are parameters of `list`, of which a step changes less than of a weight of the scorer.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", type=pathlib.Path, default=ROOT / "models/planner.safetensors",
                        help="the trained planner (models/planner.safetensors); complements that it has are dropped")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where to write the planner with its complements, *.safetensors")
    parser.add_argument("--count", type=at_least_one, default=7, metavar="K", help="number of complements (7)")
    parser.add_argument("--instances", type=at_least_one, default=300, metavar="N", help="number of training instances (300)")
    parser.add_argument("--validation", type=at_least_one, default=200, metavar="N", help="number of validation instances (200)")
    parser.add_argument("--candidates", type=at_least_one, default=200, metavar="N", help="number of candidates (200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of instances and candidates (1)")
    parser.add_argument("--jobs", type=at_least_one, default=os.cpu_count(), help="instances placed at a time (one for each core)")
    add_emplace(parser)
    arguments = parser.parse_args()
    if arguments.count > arguments.candidates:
        parser.error("--candidates is at least --count")
    return arguments


class Planner:
    """A planner's file. mean [N] and spread [N, N] are in steps of its parameters."""

    def __init__(self, path, emplace):
        from safetensors import safe_open
        described = json.loads(call([emplace, "inspect", path, "--json"]))
        if described.get("kind") != "planner":
            raise BadInput(f"{path}: expected a trained planner")
        with safe_open(path, "numpy") as file:
            self.metadata, self.mean, self.spread = file.metadata(), file.get_tensor("mean"), file.get_tensor("spread")
        self.names = list(described["planner"])[:len(self.mean)]

    def write(self, path, mean, complements=()):
        """The planner with another mean, and with complements, each [N]."""
        import numpy
        from safetensors.numpy import save_file
        tensors = {"mean": mean, "spread": self.spread}
        if len(complements):
            tensors["complements"] = numpy.stack(complements)
        save_file(tensors, path, {**self.metadata, "shape.complements": str(len(complements))})

    def drawn(self, generator, around):
        """A candidate's mean."""
        import numpy
        wider = numpy.array([WIDER if name.startswith("list.") else 1 for name in self.names])
        return (around + generator.choice(WIDTHS) * wider * generator.standard_normal(len(around))).astype("float32")


def generate(arguments, part, count, folder):
    """Instances of a part, as graph files beside their devices files."""
    call([arguments.emplace, "generate", "instances", "--part", part, "--count", count, "--seed", arguments.seed, "--out", folder / part])
    return sorted((folder / part).glob("*.graph.json"))


def times_on(graph_file, policies, samples):
    """ln(makespan) by each policy, of the best of a pass and so many samples; infinite: no placement fits."""
    import emplace
    graph = emplace.Graph.load(graph_file)
    machine = emplace.Machine.load(graph_file.with_name(graph_file.name.replace(".graph.json", ".devices.yaml")))
    plans = [emplace.place(graph, machine, method="policy", policy=policy, samples=samples, progress=False) for policy in policies]
    return [math.log(plan.makespan_us) if plan.feasible else math.inf for plan in plans]


def times_by(arguments, planner, means, instances, samples=0):
    """[instances][means]: times_on of the planner with each of these means."""
    with tempfile.TemporaryDirectory(prefix="emplace_complements_") as folder, concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        policies = [pathlib.Path(folder) / f"{index}.safetensors" for index in range(len(means))]
        for policy, mean in zip(policies, means, strict=True):
            planner.write(policy, mean)
        return list(pool.map(functools.partial(times_on, policies=policies, samples=samples), instances))


def over(times, planner_time):
    """ln(ratio) of times on an instance to that of the planner there, clipped; 0 where neither fits."""
    return [0.0 if time == planner_time else max(-CLIP, min(CLIP, time - planner_time)) for time in times]


def best_of(ratios):
    """The geometric mean over instances of the best ratio. ratios: [instances][passes], logarithms."""
    return math.exp(statistics.fmean(min(row) for row in ratios))


def taken_one_by_one(ratios, count):
    """Indices of the planner, which is candidate 0, and of so many candidates. ratios: [instances][candidates]"""
    taken = [0]
    best = [row[0] for row in ratios]
    for _ in range(count):
        taken.append(min(range(len(ratios[0])), key=lambda one: math.fsum(map(min, best, (row[one] for row in ratios)))))
        best = [min(so_far, row[taken[-1]]) for so_far, row in zip(best, ratios, strict=True)]
    return taken


def find(arguments, planner, folder):
    """The complements, [count][N]."""
    import numpy
    instances = generate(arguments, "train", arguments.instances, folder)
    generator = numpy.random.default_rng(arguments.seed)
    around = [generator.choice(SHRINK) * planner.mean for _ in range(arguments.candidates)]
    means = [planner.mean, *(planner.drawn(generator, center) for center in around)]
    times = times_by(arguments, planner, means, instances)
    ratios = [over(row, row[0]) for row in times]
    taken = taken_one_by_one(ratios, arguments.count)
    together = best_of([[row[one] for one in taken] for row in ratios])
    print(f"the best of {len(taken)} passes comes to {together:.4f} of the planner's on {len(instances)} training instances", flush=True)
    return [means[one] for one in taken[1:]]


def judge(arguments, planner, complements, folder):
    """Prints what growing numbers of passes come to on validation instances."""
    instances = generate(arguments, "validation", arguments.validation, folder)
    times = times_by(arguments, planner, [planner.mean, *complements], instances)
    print(f"best of so many passes over one pass of the planner, on {len(instances)} validation instances:")
    passes = 2
    while passes <= len(complements) + 1:
        draws = times_by(arguments, planner, [planner.mean], instances, samples=passes - 1)
        by_complements = [over(row[:passes], row[0]) for row in times]
        by_draws = [over([row[0], drawn], row[0]) for row, [drawn] in zip(times, draws, strict=True)]
        print(f"{passes:3} {best_of(by_complements):.4f} with complements, {best_of(by_draws):.4f} with draws", flush=True)
        passes *= 2


def main():
    arguments = parse_arguments()
    planner = Planner(arguments.policy, arguments.emplace)
    with tempfile.TemporaryDirectory(prefix="emplace_complements_") as folder:
        complements = find(arguments, planner, pathlib.Path(folder))
        judge(arguments, planner, complements, pathlib.Path(folder))
    planner.write(arguments.out, planner.mean, complements)
    print(f"{arguments.out} written")


if __name__ == "__main__":
    run_script(main, goes_on=False)
