#!/usr/bin/env python3
"""What carries Placeto: what a policy loses without parts of what it sees, and what rules without any network come to.

Trains configs/FAMILY.yaml in lockstep, as it is and with less or other input, and makes placements without a network by the rules
of carried_over.py, which see the training graphs alone, with the placements that the shipped training has found for them. All are
judged on the validation graphs, graph by graph beside the shipped configuration; test graphs decide nothing. Writes
a table, and beside it a .md that shows it. Finished trainings are kept, and a run that was stopped goes on where it was.

The rows without a network need the package `emplace` with gymnasium: `pip install . gymnasium` in a virtual environment.
"""
import argparse
import json
import math
import statistics

from ablations import SHIPPED, VARIANTS, tasks_of, verdict
from lib import carried_over
from lib.networks import ROOT, graph_name
from lib.results import evaluate, mean_interval
from lib.script import at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import add_arguments, devices_of, graphs_of, resolved, train_all

# ratio: makespan / one device. The rules of a row without a network are the facts of "FAMILY UPDATES ROW": {seed: device of each position}.
COLUMNS = {"family": str, "updates": int, "row": str, "seed": int, "graph": str, "ratio": float, "fits": bool}
TRAINED = [SHIPPED, "no message passing, no pooling", "start times"]
BY_RULE = {
    carried_over.RULE: "No network: a device for each position in the order of groups, the one that the best placement of most training graphs has there.",
    carried_over.SEARCHED_RULE: "No network: one rule of positions for all graphs, searched for on the training graphs as a whole.",
    carried_over.NEAREST: "No network: the best placement of the training graph that is nearest in size, position by position.",
}
ROWS = [*TRAINED, *BY_RULE]
# Rows that stay in the table, and that no later version than the one named can make.
KEPT = {
    "earlier decisions hidden": "A group does not know where earlier groups have been put. Made with version 0.1.0, `policy.earlier_decisions: false`.",
    "bytes in link time": "A group's bytes are on the scale of its cost. Made with version 0.1.0, `policy.link_time: true`.",
}
NOTES = {**BY_RULE, **KEPT, **{row: VARIANTS[row][1] for row in TRAINED}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--family", default="ptb", help="family to train on, with configs/FAMILY.yaml (ptb)")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS, metavar="ROW",
                        help="rows to make (default, all: " + ", ".join(ROWS) + "); those of earlier calls stay in the table")
    parser.add_argument("--updates", type=at_least_one, default=400, metavar="N", help="number of updates of each training (400)")
    parser.add_argument("--validation", type=at_least_one, default=24, metavar="N", help="number of validation graphs to judge on (24)")
    parser.add_argument("--rules", type=at_least_one, default=2000, metavar="N",
                        help=f"number of rules that the row '{carried_over.SEARCHED_RULE}' tries on all training graphs (2000)")
    add_arguments(parser, "carries")
    parser.set_defaults(runs=ROOT / "runs/carries")
    return parser.parse_args()


def judged_policy(run, seed, arguments):
    """{validation graph: (makespan / one device, whether it fits)} of the policy of a finished run."""
    run_dir = run["run_dir"]
    judged = evaluate(arguments, graphs_of(run_dir, "validation"), devices_of(run_dir), ["policy"], [seed],
                      policy=run_dir / "policy.safetensors")
    return {row["graph"]: (row["makespan_us"] / row["single_device_us"], row["feasible"]) for row in judged}


def rows_of(row, arguments, judged):
    """judged: {seed: {graph: (ratio, whether it fits)}}"""
    return [{"family": arguments.family, "updates": arguments.updates, "row": row, "seed": seed, "graph": graph, "ratio": ratio, "fits": fits}
            for seed, of_graphs in judged.items() for graph, (ratio, fits) in of_graphs.items()]


def carried_over_rows(runs, arguments):
    """(rows of the rows without a network that are wanted, {row: {seed: its rule}}). runs: {seed: a finished run}, which have the same
    graphs."""
    import emplace
    run_dir = runs[arguments.seeds[0]]["run_dir"]
    machine = emplace.Machine.load(devices_of(run_dir))
    max_groups = int(resolved(run_dir)["grouping.max_groups"])
    train, judged = ({graph_name(path): carried_over.GroupedGraph(path, machine, max_groups) for path in graphs_of(run_dir, part)}
                     for part in ("train", "validation"))
    made, rules = {}, {}
    if carried_over.SEARCHED_RULE in arguments.rows:
        found = {seed: carried_over.search_rule(list(train.values()), max(carried_over.BINS), arguments.rules, seed)
                 for seed in arguments.seeds}
        rules[carried_over.SEARCHED_RULE] = found
        made[carried_over.SEARCHED_RULE] = {seed: carried_over.judged_by_rule(rule, judged) for seed, rule in found.items()}
    if carried_over.RULE in arguments.rows or carried_over.NEAREST in arguments.rows:
        found = {seed: carried_over.place_all(
            list(train.values()),
            [graph.placed(json.loads((run["run_dir"] / f"placements/{name}.placement.json").read_text())) for name, graph in train.items()],
            judged) for seed, run in runs.items()}
        rules[carried_over.RULE] = {seed: placed.rule for seed, placed in found.items()}
        made[carried_over.RULE] = {seed: placed.by_rule for seed, placed in found.items()}
        made[carried_over.NEAREST] = {seed: placed.by_nearest for seed, placed in found.items()}
    return ([row for name, by_seed in made.items() if name in arguments.rows for row in rows_of(name, arguments, by_seed)],
            {name: by_seed for name, by_seed in rules.items() if name in arguments.rows})


def paired(ratios, reference):
    """An Interval over graphs of how much longer a step takes than with the reference, as a fraction: of each graph the geometric
    mean over the seeds that both have."""
    seeds = [seed for seed in ratios if seed in reference]
    if not seeds:
        return mean_interval([])
    graphs = [graph for graph in reference[seeds[0]] if all(graph in ratios[seed] for seed in seeds)]
    logs = mean_interval(statistics.fmean(math.log(ratios[seed][graph] / reference[seed][graph]) for seed in seeds) for graph in graphs)
    return logs._replace(mean=math.expm1(logs.mean), low=math.expm1(logs.low), high=math.expm1(logs.high))


def ratios_of(rows):
    """{seed: {graph: ratio}}"""
    return {seed: {row["graph"]: row["ratio"] for row in of_seed} for (seed,), of_seed in grouped(rows, "seed").items()}


def cells_of(row, rows, shipped):
    ratios = ratios_of(rows)
    by_seed = ", ".join(f"{statistics.geometric_mean(ratios[seed].values()):.3f}" for seed in sorted(ratios))
    change = paired(ratios, ratios_of(shipped)) if shipped else mean_interval([])
    judged = ["", ""] if row == SHIPPED else [change.text("{:+.1%}"), verdict(change)]
    return [row, by_seed, sum(not one["fits"] for one in rows), *judged, NOTES[row]]


def section(family, updates, rows):
    by_row = grouped(rows, "row")
    return [f"## {family}, {updates} updates", made_by(rows), "",
            *table_lines(["row", "ratio, by seed", "do not fit", "longer than shipped, over graphs", None, None], "lrrrll",
                         [cells_of(row, by_row[row,], by_row.get((SHIPPED,))) for row in [*ROWS, *KEPT] if (row,) in by_row]), ""]


def markdown(rows):
    lines = [
        "# What carries Placeto",
        "Makespan / one device on validation graphs, geometric mean over graphs, greedy, of the best version of each training; lower "
        "is better. Trainings are in lockstep, so each is the same on every machine with one kind of processor. *Longer than shipped* "
        "is by how much a step takes longer than under the shipped configuration, graph by graph: of each graph the geometric mean "
        "over the seeds, then the mean over graphs with its 95% interval (Student's t). The interval tells about other graphs, not "
        "about other seeds; the ratios by seed do. The validation graphs also choose the version of a training, which the rows "
        "without a network do not have.",
        "",
    ]
    for cells, together in sorted(grouped(rows, "family", "updates").items()):
        lines += section(*cells, together)
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    arguments.settings = ["training.sync=lockstep", *arguments.settings]
    table = Table(arguments.out, COLUMNS, TRAINING)
    trained = [row for row in TRAINED if row in arguments.rows]
    # The rows without a network take graphs, and the placements that training has found, from the shipped configuration.
    needed = [SHIPPED, *trained] if any(row in BY_RULE for row in arguments.rows) else trained
    tasks = {row: tasks_of(row, arguments) for row in dict.fromkeys(needed)}
    runs = train_all([task for by_seed in tasks.values() for task in by_seed.values()], arguments)
    rows, rules = [], {}
    for row in trained:
        rows += rows_of(row, arguments, {seed: judged_policy(runs[tasks[row][seed].name], seed, arguments) for seed in arguments.seeds})
    if any(row in BY_RULE for row in arguments.rows):
        more, rules = carried_over_rows({seed: runs[task.name] for seed, task in tasks[SHIPPED].items()}, arguments)
        rows += more
    for row in arguments.rows:
        table.remove(family=arguments.family, updates=arguments.updates, row=row)
    table.add(rows)
    for row, by_seed in rules.items():
        table.facts[f"{arguments.family} {arguments.updates} {row}"] = by_seed
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
