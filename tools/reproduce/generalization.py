#!/usr/bin/env python3
"""What a policy makes of graphs of its family that it has never seen, against policies and searches for each graph alone.

For each family and seed it trains configs/FAMILY.yaml; the validation graphs choose the version. Then, on each test graph:
the policy in one pass and the best of 8 samples, fine-tuned for some updates, a policy trained on that graph alone, searches
and heuristics. Writes a table, which report.py draws, and beside it a .md that shows it. Finished trainings are kept, and a run
that was stopped goes on where it was.
"""
import argparse
import math

from lib.networks import ROOT, evenly_spaced, graph_name
from lib.results import EQUAL, EVALUATED, Results, better, evaluate, found_row, goal_table, goals_on_unseen, renamed, verdict
from lib.script import at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import (
    Task, add_arguments, devices_of, exactly, graphs_of, on_graphs, overrides_of, resolved, sha256, train_all)

# The facts of a family, by its name, are what its rows were made with: "set", "max_groups", and "policies", {seed: SHA-256}.
COLUMNS = {"family": str, **EVALUATED}
SAMPLES = 8
ZERO_SHOT = "policy"
SAMPLED = f"policy best of {SAMPLES}"
FINE_TUNED = "fine-tuned"
ALONE = "alone"
ANNEALING = "annealing"
ANNEALING_X10 = "annealing x10"
RANDOM = "random"
PLAIN = ["single", "expert", "scotch", "heft", "m-etf"]  # Without a budget.
HEURISTICS = [*PLAIN, RANDOM]
TRAINED = [ZERO_SHOT, SAMPLED, FINE_TUNED, ALONE]  # Their rows are worth nothing once the configuration is another.
METHODS = [*TRAINED, ANNEALING, ANNEALING_X10, *HEURISTICS]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("families", nargs="+", metavar="FAMILY", help="family to train on, with configs/FAMILY.yaml, such as ptb, cifar10 or nmt")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="METHOD",
                        help="rows to make (default, all: " + ", ".join(METHODS) + "); those of earlier calls stay in the table")
    parser.add_argument("--fine-tune-updates", type=at_least_one, default=30, metavar="N", help="number of updates when a policy is fine-tuned on one graph (30)")
    parser.add_argument("--fine-tune-set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                        help="replaces a value of the configuration in fine-tuning only; may be repeated")
    parser.add_argument("--alone-updates", type=at_least_one, default=150, metavar="N",
                        help="number of updates of a policy that is trained on one graph alone (150)")
    parser.add_argument("--alone-set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                        help="replaces a value of the configuration for policies trained on one graph alone; may be repeated")
    parser.add_argument("--alone-seeds", type=int, nargs="+", help="random seeds of the policies trained on one graph alone (default: the first of --seeds)")
    parser.add_argument("--alone-graphs", type=at_least_one, metavar="N",
                        help="number of test graphs, evenly spaced, on which a policy is trained alone (default: all)")
    add_arguments(parser, "generalization")
    arguments = parser.parse_args()
    arguments.alone_seeds = arguments.alone_seeds or arguments.seeds[:1]
    return arguments


class Family:
    """A family with its policies trained, one a seed, and its test graphs."""

    def __init__(self, name, arguments):
        self.name = name
        self.arguments = arguments
        self.config = ROOT / f"configs/{name}.yaml"
        tasks = {seed: Task(f"generalization/{name}/seed{seed}", self.config, {}, seed) for seed in arguments.seeds}
        fresh = arguments.fresh and (ZERO_SHOT in arguments.methods or SAMPLED in arguments.methods)
        results = train_all(tasks.values(), arguments, fresh)
        self.runs = {seed: results[task.name]["run_dir"] for seed, task in tasks.items()}
        run = self.runs[arguments.seeds[0]]  # The graphs depend on workload.seed alone, so they are those of all runs.
        self.graphs = {graph_name(path): path for path in sorted(graphs_of(run, "test"))}
        self.settings = resolved(run)
        self.devices = devices_of(run)
        self.max_groups = int(self.settings["grouping.max_groups"])

    def policy(self, seed):
        return self.runs[seed] / "policy.safetensors"

    def place(self, samples):
        """Rows of the policies of all seeds. One job: the seconds shall be those of a quiet machine."""
        return [row for seed in self.runs
                for row in evaluate(self.arguments, self.graphs.values(), self.devices, ["policy"], [seed],
                                    policy=self.policy(seed), samples=samples, jobs=1)]

    def search(self, method, budget):
        return evaluate(self.arguments, self.graphs.values(), self.devices, [method], self.runs, budget=budget,
                        max_groups=self.max_groups)

    def train_on_one(self, kind, names, seeds, overrides_for):
        """{(graph, seed): result of a training on this graph alone}."""
        tasks = {(name, seed): Task(f"generalization/{self.name}/{kind}/{name}_seed{seed}", self.config,
                                    {**on_graphs([self.graphs[name]]), **overrides_for(seed)}, seed)
                 for name in names for seed in seeds}
        results = train_all(tasks.values(), self.arguments)
        return {key: results[task.name] for key, task in tasks.items()}


def fine_tuned_rows(family, zero_shot):
    """Of the placements found on the way, at least as good as what fine-tuning starts from."""
    arguments = family.arguments

    def overrides(seed):
        return {**exactly(arguments.fine_tune_updates), "policy.initial": family.policy(seed),
                **overrides_of(arguments.fine_tune_set)}

    runs = family.train_on_one(FINE_TUNED, family.graphs, family.runs, overrides)
    rows = []
    for start in zero_shot:
        run = runs[start["graph"], start["seed"]]
        found = found_row(arguments, FINE_TUNED, start["seed"], start, family.graphs[start["graph"]], family.devices, run)
        best = better(start, found)
        rows.append({**best, "method": FINE_TUNED, "evaluations": found["evaluations"] + start["evaluations"],
                     "seconds": found["seconds"] + start["seconds"]})
    return rows


def alone_rows(family, zero_shot):
    arguments = family.arguments
    names = list(family.graphs)
    if arguments.alone_graphs:
        names = evenly_spaced(names, arguments.alone_graphs)
    overrides = {**exactly(arguments.alone_updates), **overrides_of(arguments.alone_set)}
    runs = family.train_on_one(ALONE, names, arguments.alone_seeds, lambda seed: overrides)
    rows_of = {row["graph"]: row for row in zero_shot}
    return [found_row(arguments, ALONE, seed, rows_of[name], family.graphs[name], family.devices, run)
            for (name, seed), run in runs.items()]


def measure(family, arguments):
    """Rows of the methods wanted, in the order of METHODS."""
    zero_shot = family.place(0)
    budget = arguments.fine_tune_updates * int(family.settings["training.episodes_per_update"])
    rows_of = {
        ZERO_SHOT: lambda: zero_shot,
        SAMPLED: lambda: family.place(SAMPLES),
        FINE_TUNED: lambda: fine_tuned_rows(family, zero_shot),
        ALONE: lambda: alone_rows(family, zero_shot),
        ANNEALING: lambda: family.search("annealing", budget),
        ANNEALING_X10: lambda: family.search("annealing", 10 * budget),
        RANDOM: lambda: family.search("random", SAMPLES + 1),
    }
    rows = []
    for method in METHODS:
        if method in arguments.methods:
            made = rows_of[method]() if method in rows_of else family.search(method, 1)
            rows += renamed(made, method)
            print(f"{family.name}: {method}", flush=True)
    return rows


def same_graphs(rows, others):
    """Whether no graph that both have takes another time on one device."""
    times = {row["graph"]: row["single_device_us"] for row in others}
    return all(math.isclose(row["single_device_us"], times[row["graph"]], rel_tol=EQUAL) for row in rows if row["graph"] in times)


def merge(table, family, rows, arguments, settings):
    """Puts the rows of a family into the table. Rows of methods that this call does not make stay: those of earlier policies, only
    of methods that need none."""
    before = table.facts.get(family)
    old = [row for row in table.rows if row["family"] == family]
    kept = []
    if before and {**before, "policies": None} == {**settings, "policies": None} and same_graphs(old, rows):
        kept = [row for row in old if row["method"] not in arguments.methods
                and (before["policies"] == settings["policies"] or row["method"] not in TRAINED)]
    table.remove(family=family)
    table.rows += kept
    table.add({"family": family, **row} for row in rows)
    table.rows.sort(key=lambda row: (row["family"], METHODS.index(row["method"])))  # Stable.
    table.facts[family] = settings


def cells_of(results, method, summary):
    ratio = summary["geometric_mean_ratio_to_single"]
    low, high = summary["ci95"]
    seeds = len(results.seeds(method))
    mean = "-" if ratio is None else f"{ratio:.3f}" + (f" ({low:.3f}..{high:.3f})" if seeds > 1 else "")
    return [method, summary["graphs"], seeds, results.median_ratio(method).text(), mean, summary["runs"] - summary["feasible"],
            summary["wins"], f"{summary['evaluations'] / summary['runs']:,.0f}", f"{summary['seconds'] / summary['runs']:.3g}"]


def goals(results):
    rows = [verdict("zero-shot slower than trained on the graph alone, median over graphs",
                    results.gap(ZERO_SHOT, [ALONE]), 0.05, True),
            verdict("zero-shot slower than the better of that and fine-tuned, median over graphs",
                    results.gap(ZERO_SHOT, [ALONE, FINE_TUNED]), 0.05, True)]
    return rows + goals_on_unseen(results, ZERO_SHOT, SAMPLED, HEURISTICS, ["scotch", "single", RANDOM])


def section(family, rows):
    results = Results(rows)
    summary = results.summary()
    return [
        f"## {family}",
        made_by(rows),
        "",
        *table_lines(["method", "graphs", "seeds", "median", "geometric mean", "do not fit", "fastest on", "simulated", "seconds"], "lr",
                     [cells_of(results, method, summary[method]) for method in results.methods()]),
        "",
        *goal_table(goals(results)),
        "",
    ]


def markdown(rows):
    lines = [
        "# Graphs that a policy has not seen",
        "Simulated step time / best single device on the test graphs: the median over graphs and the geometric mean, each as "
        "its mean over seeds with the 95% interval (Student's t). Lower is better. *policy* places in one greedy pass; "
        f"*policy best of {SAMPLES}* is the best of that and {SAMPLES} sampled passes. *fine-tuned* and *alone* are the best "
        "placement that a training on the graph alone came through, from the policy and from nothing. *annealing* may simulate "
        "as many placements as fine-tuning has episodes (updates x training.episodes_per_update), *annealing x10* ten times as "
        f"many; *random* is the best of {SAMPLES + 1}. *simulated* counts placements a graph, for trainings each one that an "
        "episode went through; *seconds* are those a graph, of a training with one actor, beside other trainings.",
        "",
    ]
    for (family,), of_family in grouped(rows, "family").items():
        lines += section(family, of_family)
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, TRAINING)
    for name in arguments.families:
        family = Family(name, arguments)
        rows = measure(family, arguments)
        settings = {"set": arguments.settings, "max_groups": family.max_groups,
                    "policies": {str(seed): sha256(family.policy(seed)) for seed in family.runs}}
        merge(table, name, rows, arguments, settings)
        table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
