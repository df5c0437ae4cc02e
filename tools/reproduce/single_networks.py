#!/usr/bin/env python3
"""Single networks beside the published table: CPU only, one GPU, expert, Scotch, and the best placement that training finds.

For each network, number of GPUs and seed it trains configs/NETWORK.yaml on configs/clusters/k80xN.yaml, and takes the best
placement that the training came through and how many it sampled until it was within 1% of that. Writes
single_networks/NETWORK_N.json for each row and a table, single_networks.md. Finished trainings are kept, and a run that was
stopped goes on where it was.
"""
import argparse
import math
import pathlib
import statistics

from networks import ROOT, cluster_file, write_aside_and_rename
from results import command_line, evaluate, found_row, load_all, mean_interval, save_json, time_of
from training import Task, add_arguments, exactly, resolved, run_script, train_all

FORMAT = "emplace.single_networks/1"
NETWORKS = ["inception_v3", "nmt_single", "nasnet"]
LEARNED = "policy"
BASELINES = ["single", "expert", "scotch"]
COLUMNS = ["cpu", *BASELINES, LEARNED]
NEAR = 1.01  # Within 1% of the best.
OOM = math.inf
# Placeto (Addanki et al., 2019), table 1: seconds a step, and placements sampled until within a percent of the end.
PUBLISHED = {
    "inception_v3": {"cpu": 12.54, "single": 1.56,
                     2: {"expert": 1.28, "scotch": 1.54, LEARNED: 1.18, "rnn": 1.17, "samples": 1600, "rnn_samples": 7800},
                     4: {"expert": 1.15, "scotch": 1.74, LEARNED: 1.13, "rnn": 1.19, "samples": 5800, "rnn_samples": 35800}},
    "nmt_single": {"cpu": 33.5, "single": OOM,
                   2: {"expert": OOM, "scotch": OOM, LEARNED: 2.32, "rnn": 2.35, "samples": 20400, "rnn_samples": 73000},
                   4: {"expert": OOM, "scotch": OOM, LEARNED: 2.63, "rnn": 3.15, "samples": 94000, "rnn_samples": 51700}},
    "nasnet": {"cpu": 37.5, "single": 1.28,
               2: {"expert": 0.86, "scotch": 1.28, LEARNED: 0.86, "rnn": 0.89, "samples": 3500, "rnn_samples": 16300},
               4: {"expert": 0.84, "scotch": 1.22, LEARNED: 0.74, "rnn": 0.76, "samples": 29000, "rnn_samples": 37000}},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", choices=NETWORKS, metavar="NETWORK", help="network to train on, one of: " + ", ".join(NETWORKS))
    parser.add_argument("--gpus", type=int, nargs="+", choices=[2, 4], default=[2, 4], help="numbers of GPUs, one row for each (2 4)")
    parser.add_argument("--updates", type=int, metavar="N", help="number of updates of each training (default: as its configuration says)")
    add_arguments(parser)
    return parser.parse_args()


def task_of(network, gpus, seed, arguments):
    overrides = {"workload.devices": cluster_file(None, "k80", gpus), "name": f"{network} on {gpus} GPUs"}
    if arguments.updates:
        overrides.update(exactly(arguments.updates))
    return Task(f"single_networks/{network}_{gpus}_seed{seed}", ROOT / f"configs/{network}.yaml", overrides, seed)


def samples_to_near(improvements):
    """Episodes until the best placement was within 1% of the last best one; None: none was found."""
    if not improvements:
        return None
    limit = improvements[-1]["makespan_us"] * NEAR
    return next(line["episodes"] for line in improvements if line["makespan_us"] <= limit)


def measure(network, gpus, runs, arguments):
    """The document of a row. runs: {seed: result of its training}."""
    run_dir = runs[arguments.seeds[0]]["run_dir"]  # The network depends on no seed, so it is that of all runs.
    settings = resolved(run_dir)
    graphs = [run_dir / f"graphs/{name}" for name in sorted(path.name for path in (run_dir / "graphs").glob("*.graph.json"))]
    options = {"max_groups": settings["grouping.max_groups"]}
    devices = pathlib.Path(settings["workload.devices"])
    placed = evaluate(arguments, graphs, devices, BASELINES, arguments.seeds, **options)
    on_cpu = evaluate(arguments, graphs, ROOT / "configs/clusters/k80x2_cpu.yaml", ["cpu"], [1], **options)
    rows = on_cpu["results"] + placed["results"]
    samples = {}
    for seed, run in runs.items():
        rows.append(found_row(arguments, LEARNED, seed, rows[0], devices, run))
        samples[str(seed)] = samples_to_near(run["improvements"].get(rows[0]["graph"]))
    return {"format": FORMAT, "network": network, "gpus": gpus, "results": rows, "graphs": placed["graphs"],
            "samples_to_near": samples, "episodes": {str(seed): run["episodes"] for seed, run in runs.items()},
            "command": command_line()}


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


def lines_of(document):
    """Two lines of the table: what is measured here, and what is published."""
    times = {method: [time_of(row) / 1e6 for row in document["results"] if row["method"] == method] for method in COLUMNS}
    seconds = {method: statistics.median(values) for method, values in times.items()}
    cells = [seconds_text(seconds[method], seconds["single"]) for method in COLUMNS]
    if len(times[LEARNED]) > 1:
        cells[-1] += f"; best {seconds_text(min(times[LEARNED]), None)}, mean {mean_interval(times[LEARNED]).text('{:.2f}')}"
    samples = [count for count in document["samples_to_near"].values() if count is not None]
    cells += ["-", count_text(statistics.median(samples) if samples else None), "-"]
    network, gpus = document["network"], document["gpus"]
    published = PUBLISHED[network] | PUBLISHED[network][gpus]
    printed = [seconds_text(published[method], published["single"]) for method in [*COLUMNS, "rnn"]]
    printed += [count_text(published["samples"]), count_text(published["rnn_samples"])]
    return ["| " + " | ".join([network, str(gpus), "here", *cells]) + " |",
            "| " + " | ".join(["", "", "published", *printed]) + " |"]


def goal_line(document):
    """Whether training found what is as fast as each baseline: by the median over seeds."""
    times = {method: statistics.median([time_of(row) for row in document["results"] if row["method"] == method])
             for method in [*BASELINES, LEARNED]}
    cells = ["met" if math.isfinite(times[LEARNED]) and times[LEARNED] <= times[method] else "missed" for method in BASELINES]
    return "| " + " | ".join([document["network"], str(document["gpus"]), *cells]) + " |"


def markdown(documents):
    commands = dict.fromkeys(document["command"] for document in documents)
    lines = [
        "# Single networks, beside the published table",
        "By " + " and ".join(f"`{command}`" for command in commands) + ".",
        "",
        "Simulated seconds a step, in brackets over one GPU (where it fits); OOM: the placement does not fit the memory. "
        "*Placeto* is the best placement that training came through: the median over seeds, the best, and the mean with its "
        "95% interval (Student's t). *samples* counts the episodes until the best was within 1% of the best "
        "of all: every episode simulates a placement after each of its steps, so it is no count of simulations. Published: "
        "Placeto (Addanki et al., NeurIPS 2019), measured on GPUs and graphs of its time; RNN is Mirhoseini et al., 2017, "
        "as given there.",
        "",
        "| network | GPUs | | CPU only | one GPU | expert | Scotch | Placeto | RNN | samples | RNN samples |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for document in documents:
        lines += lines_of(document)
    lines += ["", "Goal: what training finds is not slower than", "", "| network | GPUs | one GPU | expert | Scotch |",
              "| --- | ---: | --- | --- | --- |", *(goal_line(document) for document in documents)]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    folder = arguments.out / "single_networks"
    rows = [(network, gpus) for network in arguments.networks for gpus in arguments.gpus]
    tasks = {(network, gpus, seed): task_of(network, gpus, seed, arguments)
             for network, gpus in rows for seed in arguments.seeds}
    results = train_all(tasks.values(), arguments)
    for network, gpus in rows:
        runs = {seed: results[tasks[network, gpus, seed].name] for seed in arguments.seeds}
        save_json(folder / f"{network}_{gpus}.json", measure(network, gpus, runs, arguments))
    documents = sorted(load_all(folder), key=lambda document: (NETWORKS.index(document["network"]), document["gpus"]))
    write_aside_and_rename(arguments.out / "single_networks.md", markdown(documents))
    print(f"written to {folder}/ and {arguments.out / 'single_networks.md'}")


if __name__ == "__main__":
    run_script(main, "single_networks.py")
