#!/usr/bin/env python3
"""Single networks beside the published table: CPU only, one GPU, expert, Scotch, the best placements that searches find, and
those that training finds, with Placeto and with the RNN.

For each network, number of GPUs, kind of policy and seed it trains on configs/clusters/k80xN.yaml, and takes the best placement
that the training came through and how many it sampled until it was within 1% of that. Placeto trains with configs/NETWORK.yaml,
the RNN on the same groups with configs/rnn_ptb.yaml. Writes a table, and beside it a .md that shows it. Kinds that are not trained in
this call stay as they are. Finished trainings are kept, and a run that was stopped goes on where it was.
"""
import argparse
import math
import statistics

from lib.networks import ROOT, Network, cluster_file
from lib.results import EVALUATED, evaluate, found_row, mean_interval, samples_to_near, time_of
from lib.script import run_script
from lib.table import TRAINING, Table, grouped, made_by, table_lines
from lib.training import Task, add_arguments, exactly, overrides_of, settings_in, train_all

# Of trainings: episodes, and samples_to_near, those until the best placement was within 1% of the best of all.
COLUMNS = {"network": str, "gpus": int, **EVALUATED, "samples_to_near": int, "episodes": int}
NETWORKS = ["inception_v3", "nmt_single", "nasnet"]
KINDS = {"placeto": "Placeto", "rnn": "RNN"}
BASELINES = ["single", "expert", "scotch"]
SEARCHES = ["annealing", "auto"]
BUDGET = 20_000  # Placements that each of the searches simulates.
COLUMNS_SHOWN = ["cpu", *BASELINES, *SEARCHES, *KINDS]
OOM = math.inf
# Placeto (Addanki et al., 2019), table 1: seconds a step, and placements sampled until within a percent of the end.
PUBLISHED = {
    "inception_v3": {"cpu": 12.54, "single": 1.56,
                     2: {"expert": 1.28, "scotch": 1.54, "placeto": 1.18, "rnn": 1.17, "placeto_samples": 1600, "rnn_samples": 7800},
                     4: {"expert": 1.15, "scotch": 1.74, "placeto": 1.13, "rnn": 1.19, "placeto_samples": 5800, "rnn_samples": 35800}},
    "nmt_single": {"cpu": 33.5, "single": OOM,
                   2: {"expert": OOM, "scotch": OOM, "placeto": 2.32, "rnn": 2.35, "placeto_samples": 20400, "rnn_samples": 73000},
                   4: {"expert": OOM, "scotch": OOM, "placeto": 2.63, "rnn": 3.15, "placeto_samples": 94000, "rnn_samples": 51700}},
    "nasnet": {"cpu": 37.5, "single": 1.28,
               2: {"expert": 0.86, "scotch": 1.28, "placeto": 0.86, "rnn": 0.89, "placeto_samples": 3500, "rnn_samples": 16300},
               4: {"expert": 0.84, "scotch": 1.22, "placeto": 0.74, "rnn": 0.76, "placeto_samples": 29000, "rnn_samples": 37000}},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", choices=NETWORKS, metavar="NETWORK", help="network to train on, one of: " + ", ".join(NETWORKS))
    parser.add_argument("--gpus", type=int, nargs="+", choices=[2, 4], default=[2, 4], help="numbers of GPUs, one row for each (2 4)")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS),
                        help="kinds of policy to train (placeto rnn); none measures only what is not trained again")
    parser.add_argument("--updates", type=int, metavar="N", help="number of updates of each training (default: as its configuration says)")
    add_arguments(parser, "single_networks")
    return parser.parse_args()


def config_of(network):
    return ROOT / f"configs/{network}.yaml"


def rnn_on(network):
    """What makes the configuration of the RNN on a family one on this network, with the groups and penalties that Placeto has."""
    own = settings_in(config_of(network).read_text())
    shared = {key: own[key] for key in own if key.startswith("grouping.") or key.startswith("environment.memory_penalty")}
    return {"workload.family": network, "workload.count": 1, "workload.train": 1, "workload.validation": 0,
            "training.episodes_per_update": own["training.episodes_per_update"], **shared}


def task_of(network, gpus, kind, seed, arguments):
    overrides = {"workload.devices": cluster_file(None, "k80", gpus), "name": f"{network} on {gpus} GPUs"}
    if arguments.updates:
        overrides.update(exactly(arguments.updates))
    if kind == "placeto":
        return Task(f"single_networks/{network}_{gpus}_seed{seed}", config_of(network), overrides, seed)
    return Task(f"single_networks/{network}_{gpus}_{kind}_seed{seed}", ROOT / "configs/rnn_ptb.yaml",
                {**rnn_on(network), **overrides}, seed)


def measure(network, gpus, runs, arguments):
    """The new rows of a network on so many GPUs. runs: {kind: {seed: result of its training}}."""
    graphs = Network(network, arguments.programs / "emplace", 1, arguments.runs / "single_networks/graphs").graphs
    settings = {**settings_in(config_of(network).read_text()), **overrides_of(arguments.settings)}
    options = {"max_groups": settings["grouping.max_groups"]}
    devices = cluster_file(None, "k80", gpus)
    rows = evaluate(arguments, graphs, ROOT / "configs/clusters/k80x2_cpu.yaml", ["cpu"], [1], **options)
    rows += evaluate(arguments, graphs, devices, [*BASELINES, *SEARCHES], arguments.seeds, budget=BUDGET, **options)
    of_graph = rows[-1]
    for kind, by_seed in runs.items():
        for seed, run in by_seed.items():
            rows.append({**found_row(arguments, kind, seed, of_graph, graphs[0], devices, run), "episodes": run["episodes"],
                         "samples_to_near": samples_to_near(run["improvements"].get(of_graph["graph"]))})
    return [{"network": network, "gpus": gpus, **row} for row in rows]


def merge(table, network, gpus, rows):
    """Puts new rows into the table. What has been trained stays, unless that kind has been trained again."""
    trained_again = {row["method"] for row in rows}
    kept = [row for row in table.rows if (row["network"], row["gpus"]) == (network, gpus) and row["method"] in KINDS
            and row["method"] not in trained_again]
    table.remove(network=network, gpus=gpus)
    table.rows += kept
    table.add(rows)
    table.rows.sort(key=lambda row: (NETWORKS.index(row["network"]), row["gpus"], COLUMNS_SHOWN.index(row["method"])))  # Stable.


def seconds_text(seconds, single):
    """"1.18 (0.76)": with the ratio to one GPU, where that fits."""
    if seconds is None:
        return "-"
    if not math.isfinite(seconds):
        return "OOM"
    return f"{seconds:.2f}" + (f" ({seconds / single:.2f})" if single and math.isfinite(single) else "")


def count_text(count):
    if count is None:
        return "-"
    return f"{count:,.0f}" if count < 1000 else f"{count / 1000:,.1f}K"


def cells_of_both(network, gpus, rows):
    """Of two rows of the text's table: what is measured here, and what is published."""
    times = {method: [time_of(row) / 1e6 for row in rows if row["method"] == method] for method in COLUMNS_SHOWN}
    seconds = {method: statistics.median(values) if values else None for method, values in times.items()}
    cells = {method: seconds_text(seconds[method], seconds["single"]) for method in COLUMNS_SHOWN}
    for kind in KINDS:
        if len(times[kind]) > 1:
            cells[kind] += f"; best {seconds_text(min(times[kind]), None)}, mean {mean_interval(times[kind]).text('{:.2f}')}"
        known = [row["samples_to_near"] for row in rows if row["method"] == kind and row["samples_to_near"] is not None]
        cells[f"{kind}_samples"] = count_text(statistics.median(known) if known else None)
    published = PUBLISHED[network] | PUBLISHED[network][gpus]
    printed = [seconds_text(published.get(method), published["single"]) for method in COLUMNS_SHOWN]
    printed += [count_text(published[f"{kind}_samples"]) for kind in KINDS]
    return [network, gpus, "here", *cells.values()], ["", "", "published", *printed]


def goal_cells(network, gpus, rows, kind):
    """Whether training this kind found what is as fast as each other method: by the median over seeds. None: was not trained."""
    times = {}
    for row in rows:
        times.setdefault(row["method"], []).append(time_of(row))
    if kind not in times:
        return None
    own = statistics.median(times[kind])
    cells = ["-" if method not in times else "met" if math.isfinite(own) and own <= statistics.median(times[method]) else "missed"
             for method in [*BASELINES, *SEARCHES]]
    return [network, gpus, KINDS[kind], *cells]


def markdown(rows):
    by_row = grouped(rows, "network", "gpus")
    shown = [cells for key, of_row in by_row.items() for cells in cells_of_both(*key, of_row)]
    goals = [cells for key, of_row in by_row.items() for kind in KINDS if (cells := goal_cells(*key, of_row, kind)) is not None]
    return "\n".join([
        "# Single networks, beside the published table",
        made_by(rows),
        "",
        "Simulated seconds a step, in brackets over one GPU (where it fits); OOM: the placement does not fit the memory. "
        "*Placeto* and *RNN* are the best placement that training came through: the median over seeds, the best, and the mean "
        f"with its 95% interval (Student's t). *annealing* and *auto* simulate {BUDGET:,} placements, the median over seeds. "
        "*samples* counts the episodes until the best was within 1% of the best of all: every episode of Placeto simulates a "
        "placement after each of its steps, so it is no count of simulations; one of the RNN simulates one. Published: "
        "Placeto (Addanki et al., NeurIPS 2019), measured on GPUs and graphs of its time; RNN is Mirhoseini et al., 2017, "
        "as given there.",
        "",
        *table_lines(["network", "GPUs", None, "CPU only", "one GPU", "expert", "Scotch", "annealing", "auto", *KINDS.values(),
                      *(f"{name} samples" for name in KINDS.values())], "lrlr", shown),
        "",
        "Goal: what training finds is not slower than",
        "",
        *table_lines(["network", "GPUs", "kind", "one GPU", "expert", "Scotch", "annealing", "auto"], "lrl", goals),
    ]) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, TRAINING)
    rows = [(network, gpus) for network in arguments.networks for gpus in arguments.gpus]
    tasks = {(network, gpus, kind, seed): task_of(network, gpus, kind, seed, arguments)
             for network, gpus in rows for kind in arguments.kinds for seed in arguments.seeds}
    results = train_all(tasks.values(), arguments)
    for network, gpus in rows:
        runs = {kind: {seed: results[tasks[network, gpus, kind, seed].name] for seed in arguments.seeds}
                for kind in arguments.kinds}
        merge(table, network, gpus, measure(network, gpus, runs, arguments))
        table.save()
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
