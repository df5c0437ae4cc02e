#!/usr/bin/env python3
"""Profiled graphs: each placed by a policy that was trained on the others, against all baselines.

Leave one out: for each graph, number of devices and seed it trains a policy on all other graphs; those serve for validation
too, and the one left out decides nothing. Then that graph is placed in one pass, by the best of 8 samples, and by each
baseline. Writes a table, and beside it a .md that shows it. Finished trainings are kept, and a run that was stopped goes on where
it was.
"""
import argparse
import pathlib
import shutil

from lib.networks import ROOT, cluster_file, graph_name
from lib.results import EVALUATED, Results, evaluate, goal_table, goals_on_unseen, renamed
from lib.script import BadInput, run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import Task, add_arguments, exactly, on_graphs, resolved, train_all

COLUMNS = {"devices": int, "kind": str, **EVALUATED}  # The graph is the one that was left out.
SAMPLES = 8
ZERO_SHOT = "policy"
SAMPLED = f"policy best of {SAMPLES}"
BASELINES = ["single", "expert", "scotch", "heft", "m-topo", "m-etf", "m-sct", "random", "local-search", "annealing"]
HEURISTICS = ["expert", "scotch", "heft", "m-etf", "single"]  # Without a search.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("graphs", nargs="+", type=pathlib.Path, metavar="GRAPH|FOLDER",
                        help="graphs, or folders of graphs; at least two graphs in all")
    parser.add_argument("--held-out", nargs="+", metavar="NAME", help="graphs to leave out of the training, one for each row (default: each in turn)")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4], metavar="N", help="numbers of devices (2 4)")
    parser.add_argument("--kind", default="gpu", help="device kind for which the graphs have costs (gpu)")
    parser.add_argument("--config", type=pathlib.Path, default=ROOT / "configs/profiled.yaml",
                        help="configuration of the trainings, apart from graphs and devices (configs/profiled.yaml)")
    parser.add_argument("--updates", type=int, metavar="N", help="number of updates of each training (default: as the configuration says)")
    parser.add_argument("--budget", type=int, default=2000, help="placements that each search method may simulate (2000)")
    add_arguments(parser, "profiles")
    return parser.parse_args()


def copied_graphs(places, folder):
    """{name: path} of copies below the project: results shall name no place of this machine."""
    files = []
    for place in places:
        files += sorted([*place.glob("*.graph.json"), *place.glob("*.graph.json.zst")]) if place.is_dir() else [place]
    graphs = {}
    for file in files:
        if graph_name(file) in graphs:
            raise BadInput(f"{file}: a second graph of this name")
        graphs[graph_name(file)] = folder / file.name
        shutil.copyfile(file, folder / file.name)
    if len(graphs) < 2:
        raise BadInput(f"{len(graphs)} graphs given, expected two at least: one to leave out, and others to train on")
    return graphs


def task_of(graphs, held_out, devices, cluster, seed, arguments):
    others = [path for name, path in sorted(graphs.items()) if name != held_out]
    overrides = {**on_graphs(others, [graphs[held_out]]), "workload.devices": cluster,
                 "name": f"all but {held_out} on {devices}"}
    if arguments.updates:
        overrides.update(exactly(arguments.updates))
    return Task(f"profiles/{held_out}_{devices}_seed{seed}", arguments.config, overrides, seed)


def measure(graph, devices, cluster, runs, arguments):
    """The rows of a graph. runs: {seed: result of a training on the other graphs}."""
    max_groups = resolved(runs[arguments.seeds[0]]["run_dir"])["grouping.max_groups"]
    rows = []
    for method, samples in ((ZERO_SHOT, 0), (SAMPLED, SAMPLES)):
        for seed, run in runs.items():  # One job: the seconds shall be those of a quiet machine.
            rows += renamed(evaluate(arguments, [graph], cluster, ["policy"], [seed], policy=run["run_dir"] / "policy.safetensors",
                                     samples=samples, jobs=1), method)
    rows += evaluate(arguments, [graph], cluster, BASELINES, arguments.seeds, budget=arguments.budget, max_groups=max_groups)
    return [{"devices": devices, "kind": arguments.kind, **row} for row in rows]


def cells_of(graph, devices, rows):
    """Of a row of the text's table: ratios to the best single device, each the mean over seeds with its interval."""
    results = Results(rows)
    return [graph, devices, *(results.median_ratio(method).text() for method in (ZERO_SHOT, SAMPLED, *BASELINES))]


def markdown(rows):
    lines = [
        "# Profiled graphs, each left out of training",
        made_by(rows),
        "",
        "Simulated step time / best single device, mean over seeds with its 95% interval (Student's t); lower is better, OOM: "
        "does not fit. The policy was trained on all other graphs and has never seen this one: one greedy pass, and the best "
        f"of that and {SAMPLES} sampled ones. Searching methods, random among them, simulate as many placements as --budget says.",
        "",
        *table_lines(["left out", "devices", ZERO_SHOT, SAMPLED, *BASELINES], "lr",
                     [cells_of(*cells, of_graph) for cells, of_graph in grouped(rows, "graph", "devices").items()]),
        "",
    ]
    for (devices,), of_devices in grouped(rows, "devices").items():
        lines += [f"On {devices} devices:", "",
                  *goal_table(goals_on_unseen(Results(of_devices), ZERO_SHOT, SAMPLED, HEURISTICS, ["scotch", "single"])), ""]
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, TRAINING)
    scratch = ROOT / "build/reproduce/profiles"
    scratch.mkdir(parents=True, exist_ok=True)
    graphs = copied_graphs(arguments.graphs, scratch)
    held_out = arguments.held_out or sorted(graphs)
    for name in held_out:
        if name not in graphs:
            raise BadInput(f"--held-out {name}: is none of {', '.join(sorted(graphs))}")
    clusters = {devices: cluster_file(scratch, arguments.kind, devices) for devices in arguments.devices}
    tasks = {(name, devices, seed): task_of(graphs, name, devices, cluster, seed, arguments)
             for name in held_out for devices, cluster in clusters.items() for seed in arguments.seeds}
    results = train_all(tasks.values(), arguments)
    for devices, cluster in clusters.items():
        for name in held_out:
            runs = {seed: results[tasks[name, devices, seed].name] for seed in arguments.seeds}
            rows = measure(graphs[name], devices, cluster, runs, arguments)
            table.remove(graph=name, devices=devices)
            table.add(rows)
            table.rows.sort(key=lambda row: (row["devices"], row["graph"]))  # Stable.
            table.save()
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
