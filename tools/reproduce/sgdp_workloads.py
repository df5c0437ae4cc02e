#!/usr/bin/env python3
"""The workloads of the SGDP paper, each on its number of devices: expert, Scotch, annealing, `auto`, the hierarchical placer, and
SGDP in the four ways of that paper.

*alone* trains on one graph, *batch* on all workloads with this number of devices at once; both count the best placement that
training came through. *zero-shot* is one pass of a policy that was trained with this number of devices on the smaller workloads
that the paper has with other numbers; *fine-tuned* is the best placement that training goes through which starts from that
policy. Every method but `auto` places the same groups. Writes a table, and beside it a .md that shows it. Finished trainings are
kept, and a run that was stopped goes on where it was.
"""
import argparse
import functools
import json
import math
import statistics

from lib.networks import ROOT, call, cluster_file
from lib.results import EVALUATED, evaluate, found_row, renamed, samples_to_near, time_of
from lib.script import BadInput, at_least_one, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import Task, add_arguments, exactly, on_graphs, train_all

# samples_to_near: placements sampled until the best one was within 1% of the best of all, of trainings on one graph.
COLUMNS = {"workload": str, "devices": int, "ops": int, **EVALUATED, "samples_to_near": int}
# The paper's table 1: the number of devices of each workload.
WORKLOADS = {"rnnlm2": 2, "rnnlm4": 4, "rnnlm8": 8, "gnmt2": 2, "gnmt4": 4, "gnmt8": 8, "txl2": 2, "txl4": 4, "txl8": 8,
             "inception_v3": 2, "amoebanet": 4, "wavenet2": 2, "wavenet4": 4}
SMALLER = 40_000  # Ops of a workload that policies for others may learn from.
SEARCHES = ["annealing", "auto"]
BASELINES = ["expert", "scotch"]
ALONE, BATCH, TUNED, ZERO = "SGDP alone", "SGDP batch", "SGDP fine-tuned", "SGDP zero-shot"
HIERARCHICAL = "hierarchical"
TRAINED = [HIERARCHICAL, ALONE, BATCH, TUNED]
COLUMNS_SHOWN = ["single", *BASELINES, *SEARCHES, *TRAINED, ZERO]
DRAWN = [*SEARCHES, *TRAINED, ZERO]  # Columns in which seeds differ.
# Columns that are made together, by a short name. Searches simulate as many placements as training alone.
MADE_TOGETHER = {"baselines": ["single", *BASELINES], "hierarchical": [HIERARCHICAL], "alone": [ALONE], "searches": SEARCHES,
                 "batch": [BATCH], "others": [TUNED, ZERO]}
# What the paper says of its table: SGDP alone is faster than the human expert and than the hierarchical placer by so much, and
# converges so many times as fast as that.
PUBLISHED = {"expert": 0.20, HIERARCHICAL: 0.18, "convergence": 15}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD",
                        help="rows to make (default, all: " + ", ".join(WORKLOADS) + "); those of earlier calls stay in the table")
    parser.add_argument("--updates", type=at_least_one, default=150, metavar="N", help="number of updates of a training on one graph (150)")
    parser.add_argument("--batch-updates", type=at_least_one, default=300, metavar="N",
                        help="number of updates of a training on several graphs (300)")
    parser.add_argument("--tuning-updates", type=at_least_one, default=50, metavar="N", help="number of updates of fine-tuning (50)")
    parser.add_argument("--groups", type=at_least_one, default=64, metavar="N", help="number of groups of a graph (64)")
    parser.add_argument("--columns", nargs="+", choices=MADE_TOGETHER, default=list(MADE_TOGETHER),
                        help="columns to make, 'others' for those of policies that are first trained on other workloads (default: "
                             "all); the rest of a row stays as it is, and has to be there, and so do seeds of earlier calls")
    add_arguments(parser, "sgdp_workloads")
    arguments = parser.parse_args()
    for name in arguments.workloads:
        if name not in WORKLOADS:
            parser.error(f"WORKLOAD is '{name}', expected one of: " + ", ".join(WORKLOADS))
    arguments.workloads = arguments.workloads or list(WORKLOADS)
    return arguments


def graph_files(arguments):
    """{workload: its graph}, made where they are not there yet."""
    folder = arguments.runs / "sgdp_workloads/graphs"
    files = {name: folder / name / f"{name}.graph.json" for name in WORKLOADS}
    for name, path in files.items():
        if not path.exists():
            call([arguments.programs / "emplace", "generate", name, "--out", path.parent])
    return files


@functools.cache
def num_ops(graph):
    """Of a graph file; the large ones take a second to read."""
    return len(json.loads(graph.read_text())["ops"])


def config_of(kind):
    return ROOT / f"configs/{kind}_ptb.yaml"


def training_on(name, kind, graphs, devices, updates, seed, arguments, **further):
    """A training on these graphs. Its exploration ends after three fifths of it."""
    overrides = {"name": name, **on_graphs(graphs), "workload.devices": cluster_file(None, "k80", devices),
                 "grouping.max_groups": arguments.groups, **exactly(updates), "training.entropy_decay_updates": updates * 3 // 5,
                 **further}
    return Task(f"sgdp_workloads/{name}_seed{seed}", config_of(kind), overrides, seed)


def smaller_of_others(devices, files):
    """The graphs that a policy for workloads with this number of devices is trained on, none of them one of these workloads."""
    return [path for name, path in files.items()
            if WORKLOADS[name] != devices and num_ops(path) <= SMALLER]


def together(devices, files):
    return [path for name, path in files.items() if WORKLOADS[name] == devices]


def first_tasks(files, seed, arguments):
    """{(what, workload or number of devices): task} of all trainings that start from nothing."""
    tasks = {}
    for name in arguments.workloads:
        for kind, column, method in (("sgdp", "alone", ALONE), ("hierarchical", "hierarchical", HIERARCHICAL)):
            if column not in arguments.columns:
                continue
            tasks[method, name] = training_on(f"{name}_{kind}", kind, [files[name]], WORKLOADS[name], arguments.updates, seed,
                                              arguments)
    for devices in sorted({WORKLOADS[name] for name in arguments.workloads}):
        for column, method, graphs in (("batch", BATCH, together), ("others", ZERO, smaller_of_others)):
            if column in arguments.columns:
                tasks[method, devices] = training_on(f"{column}_{devices}", "sgdp", graphs(devices, files), devices,
                                                     arguments.batch_updates, seed, arguments)
    return tasks


def tuning_tasks(files, seed, pretrained, arguments):
    """{workload: task}; pretrained: {number of devices: result of the training on others}, empty if that column is not made."""
    return {name: training_on(f"{name}_tuned", "sgdp", [files[name]], WORKLOADS[name], arguments.tuning_updates, seed, arguments,
                              **{"policy.initial": pretrained[WORKLOADS[name]]["run_dir"] / "policy.safetensors",
                                 "training.entropy_start": 0.15})
            for name in arguments.workloads if pretrained}


def kept_rows(name, table, arguments):
    """The rows of a workload that stay. Fails where they lack what is not made now."""
    made = {method for column in arguments.columns for method in MADE_TOGETHER[column]}
    rows = [row for row in table.rows if row["workload"] == name and (row["method"] not in made or row["seed"] not in arguments.seeds)]
    missing = {*COLUMNS_SHOWN} - made - {row["method"] for row in rows}
    if missing:
        raise BadInput(f"{table.path}: {name} is without the columns {', '.join(sorted(missing))}, expected a row of an earlier call, or no "
                       "--columns")
    if "searches" in arguments.columns and "alone" not in arguments.columns:
        trained = {row["seed"] for row in rows if row["method"] == ALONE}
        for seed in arguments.seeds:
            if seed not in trained:
                raise BadInput(f"{table.path}: {name} has no training alone with the seed {seed}, expected one that says how much searches may "
                               "simulate")
    return rows


def measure(name, graph, results, kept, arguments):
    """The new rows of a workload. results: {seed: {method: result of the training that counts for it}}; kept: of kept_rows."""
    machine = cluster_file(None, "k80", WORKLOADS[name])
    groups = {"max_groups": arguments.groups}
    rows = []
    if "baselines" in arguments.columns:
        rows += evaluate(arguments, [graph], machine, ["single", *BASELINES], arguments.seeds, **groups)
    of_graph = (rows + kept)[0]
    for seed, runs in results.items():
        for method, run in runs.items():
            if method in TRAINED:
                rows.append(found_row(arguments, method, seed, of_graph, graph, machine, run))
            if method in (HIERARCHICAL, ALONE):
                rows[-1]["samples_to_near"] = samples_to_near(run["improvements"].get(of_graph["graph"]))
        if "searches" in arguments.columns:
            # They may simulate as many placements as training on the graph alone.
            budget = next(row["evaluations"] for row in kept + rows if (row["method"], row["seed"]) == (ALONE, seed))
            rows += evaluate(arguments, [graph], machine, SEARCHES, [seed], budget=budget, **groups)
        if ZERO in runs:
            rows += renamed(evaluate(arguments, [graph], machine, ["policy"], [seed],
                                     policy=runs[ZERO]["run_dir"] / "policy.safetensors", **groups), ZERO)
    return [{"workload": name, "devices": WORKLOADS[name], "ops": num_ops(graph), **row} for row in rows]


def times_by_seed(rows):
    """{method: [us, of each seed]}; infinite where a placement does not fit."""
    return {method: values for method in COLUMNS_SHOWN if (values := [time_of(row) for row in rows if row["method"] == method])}


def times_of(rows):
    """{method: median over seeds, us}; infinite where most do not fit."""
    return {method: statistics.median(values) for method, values in times_by_seed(rows).items()}


def cell(time, single):
    return "OOM" if not math.isfinite(time) else f"{time / 1e6:.3g}" + (f" ({time / single:.3f})" if math.isfinite(single) else "")


def cells_of(rows):
    """Of one workload."""
    times = times_of(rows)
    best = min(times.values())
    cells = [cell(times[method], times["single"]) if method in times else "-" for method in COLUMNS_SHOWN]
    cells = [f"**{text}**" if times.get(method) == best else text for method, text in zip(COLUMNS_SHOWN, cells)]
    return [rows[0]["workload"], f"{rows[0]['ops']:,}", rows[0]["devices"], *cells]


def range_cells(rows):
    """The least and the greatest of the seeds."""
    by_seed = times_by_seed(rows)
    cells = [f"{cell(min(by_seed[method]), math.inf)} to {cell(max(by_seed[method]), math.inf)}" if method in by_seed else "-"
             for method in DRAWN]
    return [rows[0]["workload"], len(by_seed[ALONE]), *cells]


def faster(workloads, method, other):
    """By how much the method is faster than the other, geometric mean over workloads, each a list of rows, where both fit: 0.2 is 20%.
    None: nowhere."""
    ratios = [times[other] / times[method] for rows in workloads
              if math.isfinite((times := times_of(rows))[method]) and math.isfinite(times[other])]
    return statistics.geometric_mean(ratios) - 1 if ratios else None


def convergence(rows):
    """How many times as many placements the hierarchical placer sampled as SGDP alone until within 1% of its own best, geometric
    mean over workloads and seeds. None: nothing to compare."""
    samples = {(row["method"], row["workload"], row["seed"]): row["samples_to_near"] for row in rows if row["samples_to_near"]}
    ratios = [samples[HIERARCHICAL, name, seed] / count for (method, name, seed), count in samples.items()
              if method == ALONE and (HIERARCHICAL, name, seed) in samples]
    return statistics.geometric_mean(ratios) if ratios else None


def percent(value):
    return "-" if value is None else f"{value:+.1%}"


def markdown(rows):
    workloads = list(grouped(rows, "workload").values())
    ratio = convergence(rows)
    against = ["expert", HIERARCHICAL, "scotch", "annealing", "auto"]
    lines = [
        "# The workloads of the SGDP paper",
        made_by(rows),
        "",
        "Simulated seconds a step on K80s with links of 7.6 GB/s, in brackets over one device (where the graph fits one); OOM: "
        "the placement does not fit the memory. The median over seeds; bold is the best of the row. *alone*, *batch*, "
        "*fine-tuned* and *hierarchical* are the best placement that training came through, *zero-shot* is one pass of a policy "
        "that has not seen the graph. *annealing* and *auto* simulate as many placements as *SGDP alone*.",
        "",
        *table_lines(["workload", "ops", "devices", "one device", *COLUMNS_SHOWN[1:]], "lr", map(cells_of, workloads)),
        "",
        "The least and the greatest of the seeds, of workloads with several trainings alone, in seconds:",
        "",
        *table_lines(["workload", "seeds", *DRAWN], "lr",
                     [range_cells(of_workload) for of_workload in workloads if len(times_by_seed(of_workload).get(ALONE, [])) > 1]),
        "",
        "How much faster than each of these methods, geometric mean over workloads where both fit:",
        "",
        *table_lines([None, *against], "lr", [
            *([method, *(percent(faster(workloads, method, other)) for other in against)] for method in (ALONE, BATCH, TUNED, ZERO)),
            ["published: SGDP alone", percent(PUBLISHED["expert"]), percent(PUBLISHED[HIERARCHICAL]), "-", "-", "-"]]),
        "",
        f"Until within 1% of its own best the hierarchical placer sampled {'-' if ratio is None else f'{ratio:.1f}'} times as many "
        f"placements as SGDP alone (geometric mean); published: {PUBLISHED['convergence']} times the search time.",
    ]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, TRAINING)
    kept = {name: kept_rows(name, table, arguments) for name in arguments.workloads}
    files = graph_files(arguments)
    first = {seed: first_tasks(files, seed, arguments) for seed in arguments.seeds}
    done = train_all([task for tasks in first.values() for task in tasks.values()], arguments)
    result = {seed: {key: done[task.name] for key, task in tasks.items()} for seed, tasks in first.items()}
    tuning = {}
    for seed in arguments.seeds:
        pretrained = {key: run for (method, key), run in result[seed].items() if method == ZERO}
        tuning[seed] = tuning_tasks(files, seed, pretrained, arguments)
    tuned = train_all([task for tasks in tuning.values() for task in tasks.values()], arguments)
    for name in arguments.workloads:
        runs = {seed: {method: run for (method, of), run in result[seed].items() if of in (name, WORKLOADS[name])}
                for seed in arguments.seeds}
        for seed, tasks in tuning.items():
            if name in tasks:
                runs[seed][TUNED] = tuned[tasks[name].name]
        made = measure(name, files[name], runs, kept[name], arguments)
        table.remove(workload=name)
        table.rows += kept[name]
        table.add(made)
        table.rows.sort(key=lambda row: list(WORKLOADS).index(row["workload"]))  # Stable.
        table.save()
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
