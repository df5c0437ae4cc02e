#!/usr/bin/env python3
"""What the parts of a configuration are worth: the same training without each of them, judged on the validation graphs.

For each variant and seed it trains configs/FAMILY.yaml with what the variant changes, for the same number of updates. Test
graphs decide nothing here. Writes a table, and beside it a .md that shows it. Finished trainings are kept, and a run that was stopped
goes on where it was.
"""
import argparse
import math
import statistics

from lib.networks import ROOT, graph_name
from lib.results import Results, evaluate, mean_interval
from lib.script import at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import Task, add_arguments, devices_of, exactly, graphs_of, on_graphs, train_all

# ratio: makespan / one device, geometric mean over graphs; reference: the same of what it is held against; infeasible: placements that
# do not fit; graphs: how many the ratio is of, if these are not all validation graphs.
COLUMNS = {"family": str, "updates": int, "variant": str, "seed": int, "ratio": float, "reference": float, "infeasible": int, "graphs": int}
SHIPPED = "shipped"
# Name -> what it changes, and why it is of interest. To add a variant, add a line.
VARIANTS = {
    SHIPPED: ({}, "The configuration as it is."),
    "no message passing": ({"policy.message_rounds": 0}, "A group knows its own features, and what is pooled."),
    "no pooling": ({"policy.pooling": False}, "A group knows what messages bring from k rounds around it."),
    "no message passing, no pooling": ({"policy.message_rounds": 0, "policy.pooling": False},
                                       "A group knows its own features, and nothing of the other groups."),
    "start times": ({"policy.start_times": True}, "A group knows when it starts in the simulated run of the placement so far."),
    "no imitation": ({"training.imitated_episodes": 0}, "An episode counts once, by its advantages."),
    "one step a batch": ({"training.epochs": 1}, "One optimizer step in place of three."),
    "advantages scaled by batch": ({"training.normalize_advantages": "batch"}, "One scale for the graphs of a batch, not one a graph."),
    "memory feature": ({"policy.memory_feature": True}, "A group also knows what it keeps in memory."),
    "no memory feature": ({"policy.memory_feature": False}, "A group knows its cost and what it sends."),
    "messages of 16": ({"policy.message_width": 16}, "Messages of 16 numbers, not of as many as a group has features."),
    "64 groups": ({"grouping.max_groups": 64}, "Episodes twice as long, of finer steps."),
    "random start": ({"environment.start": "random"}, "Episodes depart from random placements."),
    "discount 1": ({"training.discount": 1}, "A step answers for everything after it."),
    "fixed entropy schedule": ({"training.entropy": "weight", "training.entropy_start": 0.1, "training.entropy_end": 0.002},
                               "The weight of the bonus falls by a schedule, whatever the entropy is."),
    "constant entropy bonus": ({"training.entropy": "weight", "training.entropy_start": 0.01, "training.entropy_end": 0.01},
                               "One weight from the first update to the last."),
}
PER_GRAPH = "a policy for each graph"
ROWS = [*VARIANTS, PER_GRAPH]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--family", default="ptb", help="family to train on, with configs/FAMILY.yaml (ptb)")
    parser.add_argument("--variants", nargs="+", choices=ROWS, default=ROWS, metavar="VARIANT",
                        help="rows to make (default, all: " + ", ".join(ROWS) + "); those of earlier calls stay in the table")
    parser.add_argument("--updates", type=at_least_one, default=400, metavar="N", help="number of updates of each training (400)")
    parser.add_argument("--validation", type=at_least_one, default=12, metavar="N", help="number of validation graphs to judge on (12)")
    parser.add_argument("--per-graph", type=at_least_one, default=4, metavar="N",
                        help=f"number of validation graphs for the row '{PER_GRAPH}' (4)")
    add_arguments(parser, "ablations")
    return parser.parse_args()


def slug(variant):
    return variant.replace(" ", "_")


def config_of(arguments):
    return ROOT / f"configs/{arguments.family}.yaml"


def runs_of(arguments):
    return f"ablations/{arguments.family}_{arguments.updates}"


def tasks_of(variant, arguments):
    """{seed: task}"""
    overrides = {"name": f"{arguments.family}, {variant}", **exactly(arguments.updates),
                 "workload.validation": arguments.validation, **VARIANTS[variant][0]}
    return {seed: Task(f"{runs_of(arguments)}/{slug(variant)}_seed{seed}", config_of(arguments), overrides, seed)
            for seed in arguments.seeds}


def rows_of(variant, arguments, judged, reference, graphs=None):
    """judged: {seed: (geometric mean over graphs of makespan / one device, placements that do not fit)}; reference: {seed: such a mean}
    of what it is held against."""
    return [{"family": arguments.family, "updates": arguments.updates, "variant": variant, "seed": seed, "ratio": ratio,
             "reference": reference[seed], "infeasible": infeasible, "graphs": graphs} for seed, (ratio, infeasible) in judged.items()]


def judge(run):
    """(ratio on the validation graphs, placements that do not fit) of a training."""
    part = run["summary"]["validation"]
    return part["policy"], part["infeasible"]


def per_graph(shipped, arguments):
    """Rows of a policy for each of the first validation graphs, held against the shared one on the same graphs."""
    run_dir = shipped[arguments.seeds[0]]["run_dir"]
    graphs = graphs_of(run_dir, "validation")[:arguments.per_graph]
    tasks = {(graph, seed): Task(f"{runs_of(arguments)}/alone/{graph_name(graph)}_seed{seed}",
                                 config_of(arguments), {**exactly(arguments.updates), **on_graphs([graph])}, seed)
             for graph in graphs for seed in arguments.seeds}
    results = train_all(tasks.values(), arguments)
    judged, reference = {}, {}
    for seed in arguments.seeds:
        ratios, infeasible = zip(*(judge(results[tasks[graph, seed].name]) for graph in graphs))
        judged[seed] = statistics.geometric_mean(ratios), sum(infeasible)
        shared = evaluate(arguments, graphs, devices_of(run_dir), ["policy"], [seed],
                          policy=shipped[seed]["run_dir"] / "policy.safetensors")
        reference[seed] = Results(shared).summary()["policy"]["geometric_mean_ratio_to_single"]
    return rows_of(PER_GRAPH, arguments, judged, reference, len(graphs))


def difference(ratios, reference):
    """Of the same seeds: an Interval of ratio - reference."""
    return mean_interval(ratio - reference[seed] for seed, ratio in ratios.items() if seed in reference)


def verdict(interval):
    """Whether the difference is one: its interval does not hold 0."""
    if interval.count < 2 or not math.isfinite(interval.low):
        return "one seed" if interval.count == 1 else ""
    return "worse" if interval.low > 0 else "better" if interval.high < 0 else "no clear difference"


def cells_of(variant, rows):
    ratios = {row["seed"]: row["ratio"] for row in rows}
    reference = {row["seed"]: row["reference"] for row in rows}
    if variant == PER_GRAPH:
        shown = f"{variant}, on {rows[0]['graphs']} of the validation graphs"
        note = f"The shipped policy on the same graphs: {mean_interval(reference.values()).text()}."
    else:
        shown, note = variant, VARIANTS[variant][1]
    change = difference(ratios, reference)
    judged = ["", ""] if variant == SHIPPED else [change.text("{:+.3f}"), verdict(change)]
    return [shown, len(ratios), mean_interval(ratios.values()).text(), sum(row["infeasible"] for row in rows), *judged, note]


def section(family, updates, rows):
    by_variant = grouped(rows, "variant")
    return [
        f"## {family}, {updates} updates",
        made_by(rows),
        "",
        *table_lines(["variant", "seeds", "ratio", "do not fit", "difference", None, None], "lrrrrll",
                     [cells_of(variant, by_variant[variant,]) for variant in ROWS if (variant,) in by_variant]),
        "",
    ]


def markdown(rows):
    lines = [
        "# What the parts are worth",
        "Makespan / one device on the validation graphs, geometric mean, greedy, of the best version of a training: mean over "
        "seeds with its 95% interval (Student's t); lower is better. *difference* is that to the shipped configuration with "
        "the same seeds. The validation graphs also choose the version, for all variants alike.",
        "",
    ]
    for cells, together in sorted(grouped(rows, "family", "updates").items()):
        lines += section(*cells, together)
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, TRAINING)
    wanted = list(dict.fromkeys([SHIPPED, *(variant for variant in arguments.variants if variant != PER_GRAPH)]))
    tasks = {variant: tasks_of(variant, arguments) for variant in wanted}  # All differences are to the shipped one.
    fresh = {SHIPPED: SHIPPED in arguments.variants and arguments.fresh}
    results = {}
    for freshly in (False, True):
        chosen = [task for variant in wanted for task in tasks[variant].values()
                  if fresh.get(variant, arguments.fresh) == freshly]
        results.update(train_all(chosen, arguments, freshly))
    runs = {variant: {seed: results[task.name] for seed, task in tasks[variant].items()} for variant in wanted}
    reference = {seed: judge(run)[0] for seed, run in runs[SHIPPED].items()}
    rows = {variant: rows_of(variant, arguments, {seed: judge(run) for seed, run in runs[variant].items()}, reference)
            for variant in wanted}
    if PER_GRAPH in arguments.variants:
        rows[PER_GRAPH] = per_graph(runs[SHIPPED], arguments)
    for variant, made in rows.items():
        table.remove(family=arguments.family, updates=arguments.updates, variant=variant)
        table.add(made)
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
