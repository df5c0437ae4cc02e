#!/usr/bin/env python3
"""Whether a search by measured steps finds faster placements on two cores than one by measured costs.

In each round a graph is profiled. Three placements are made with the measured costs: by `auto`, as anybody would; by `auto` with as
many seconds as the simulated searches of the third one have together; and by `emplace-hardware place`. These and one core then run in
turns. Each round has a profile and a seed of its own, for a computer's speed drifts within minutes. Writes a table, and beside it a
.md that shows it. What is measured is kept, and a run that was stopped goes on where it was; graphs may also be measured by several
calls.

Other programs may use the cores. So a step time is what the step comes to without them, by the medians of its ops and copies
(actor/hardware/measuring/replayed_step.h), and counts as its ratio to that of one core in the same turn. The medians of whole steps
are beside it. Links that are profiled on a busy computer seem to have latencies of milliseconds; --link gives those of a quiet hour.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import tempfile

from lib.networks import ROOT, add_programs, call, graph_name
from lib.results import mean_interval
from lib.script import at_least_one, run_script
from lib.table import SEARCH, Numbers, Table, add_fresh, add_out, grouped, made_by, table_lines
from reality import machine, profile, timed_step

# A line for each graph, round and placement.
COLUMNS = {
    "graph": str, "links": str, "round": int, "placement": str,  # links: PROFILED, or GIVEN by --link.
    "ratio": Numbers,          # For each turn, the replayed step time over that of one core.
    "whole": Numbers,          # The same of the medians of whole steps.
    "undisturbed_steps": int,  # Over all turns.
    "simulated": float,        # The simulated step time over that of one core, with the profile's costs.
    "found": float,            # What `emplace-hardware place` says of its own result, measured.
    "trials": Numbers,         # What it measured before that, in order; steps that failed are left out.
    "seconds": float,          # That making the placement took, beside the profile.
    "load": float,             # Load average after the round, which the measurement itself raises to 2 at most.
}
DEPENDS = (*SEARCH, "actor/hardware", "api/place_graph.cc")
TRANSFORMER = ROOT / "tools/reproduce/graphs/transformer_small.graph.json.zst"
PTB = ("ptb", "--size", "small", "--calls", "--count", "1", "--range", "hidden=256..256", "--range", "vocabulary=2000..2000", "--range",
       "batch=20..20", "--range", "steps=5..5")  # The graph of docs/reality.md.
PROFILED, GIVEN = "links as profiled in each round", "links as given by --link"
ONE, LONG, MEASURED = "`auto`, measured costs", "the same, with as many seconds", "`emplace-hardware place`"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("graphs", nargs="*", type=pathlib.Path,
                        help="graphs whose ops have calls (a small ptb, and the transformer of graphs/)")
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1], help="the core of each device (0 1)")
    parser.add_argument("--rounds", type=at_least_one, default=5, help="rounds, each with a profile and a seed of its own (5)")
    parser.add_argument("--measurements", type=at_least_one, default=30, help="measurements of a search (30)")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds of each simulated search (0.5)")
    parser.add_argument("--turns", type=at_least_one, default=5, help="turns in which each placement is run in the end (5)")
    parser.add_argument("--steps", type=at_least_one, default=20, help="timed steps of a measurement, and in a turn (20)")
    parser.add_argument("--link", type=float, nargs=2, metavar=("BYTES_PER_US", "LATENCY_US"),
                        help="the link between the cores, in place of the one that is profiled in each round")
    add_fresh(parser)
    add_programs(parser)
    add_out(parser, "measured_search")
    return parser.parse_args()


def place(folder, graph, devices, seconds, seed, programs):
    """(placement file, seconds) of `auto`."""
    path = folder / f"auto{seconds:g}.json"
    made = json.loads(call([programs / "emplace", "place", "--graph", graph, "--devices", devices, "--seconds", f"{seconds:g}", "--seed", seed,
                            "--out", path, "--json"]))
    return path, made["seconds"]


def search(folder, graph, devices, seed, arguments):
    """(placement file, what `emplace-hardware place` prints)."""
    path = folder / "measured.json"
    return path, json.loads(call([arguments.programs / "emplace-hardware", "place", "--graph", graph, "--devices", devices, "--measurements",
                                  arguments.measurements, "--seconds", f"{arguments.seconds:g}", "--steps", arguments.steps, "--seed", seed,
                                  "--out", path, "--json"]))


def ratio(us, core_us):
    """With as many digits as say something."""
    return round(us / core_us, 5)


def links_of(arguments):
    return GIVEN if arguments.link else PROFILED


def measure_round(folder, graph, devices, number, arguments):
    """Rows of one round."""
    profile_of, measured, profiled = profile(folder, graph, devices, arguments.programs)
    if arguments.link:
        profiled.write_text(machine(arguments.cores, *arguments.link, profile_of["op_overhead_us"]))
    one, one_seconds = place(folder, measured, profiled, 1, number, arguments.programs)
    searched, found = search(folder, measured, profiled, number, arguments)
    long, long_seconds = place(folder, measured, profiled, arguments.seconds * max(1, len(found["trials"])), number, arguments.programs)
    alone = folder / "alone.json"
    alone.write_text(json.dumps([0] * len(json.loads(searched.read_text())["ops"])))
    rows = [{"graph": graph_name(graph), "round": number, "placement": ONE, "seconds": round(one_seconds, 2)},
            {"graph": graph_name(graph), "round": number, "placement": LONG, "seconds": round(long_seconds, 2)},
            {"graph": graph_name(graph), "round": number, "placement": MEASURED, "seconds": round(found["seconds"], 2), "found": ratio(found["ratio"], 1),
             "trials": [ratio(trial["ratio"], 1) for trial in found["trials"] if trial["ratio"] is not None]}]
    for row in rows:
        row |= {"links": links_of(arguments), "ratio": [], "whole": [], "undisturbed_steps": 0}
    for _ in range(arguments.turns):
        core = timed_step(arguments.programs, measured, profiled, alone, arguments.steps)
        for row, path in zip(rows, (one, long, searched), strict=True):
            result = timed_step(arguments.programs, measured, profiled, path, arguments.steps)
            row["ratio"].append(ratio(result["replayed_us"], core["replayed_us"]))
            row["whole"].append(ratio(result["measured_us"], core["measured_us"]))
            row["undisturbed_steps"] += result["undisturbed_steps"]
            row["simulated"] = ratio(result["predicted_us"], core["predicted_us"])
    for row in rows:
        row["load"] = round(os.getloadavg()[0], 2)
    return rows


def best_after(trials, measurements):
    """The best ratio of the first trials."""
    return min(trials[:measurements])


def geometric(values):
    """The geometric mean with its interval, as text."""
    interval = mean_interval([math.log(value) for value in values])
    text = f"{math.exp(interval.mean):.3f}"
    return text if interval.count < 2 else f"{text} ({math.exp(interval.low):.3f} to {math.exp(interval.high):.3f})"


def markdown(rows):
    lines = ["# A search by measured steps on two cores", "",
             f"{made_by(rows)} On two cores of {rows[0]['call'].processor.partition(',')[0]}. Step time over that of one core in the "
             "same turn: the median of turns, and over rounds the geometric mean with its 95% interval. *Measured* is what a step comes to "
             "without other programs, by the medians of its ops and copies; *whole steps* are those that other programs disturb. A simulated "
             "ratio goes by the costs that were profiled before the round."]
    for (graph, links), of_graph in grouped(rows, "graph", "links").items():
        load = [row["load"] for row in of_graph]
        by_round, shown = {}, []
        for (placement,), of_placement in grouped(of_graph, "placement").items():
            ratios = {row["round"]: statistics.median(row["ratio"]) for row in of_placement}
            by_round[placement] = ratios
            shown.append([placement, geometric(ratios.values()), ", ".join(f"{ratio:.3f}" for ratio in ratios.values()),
                          geometric(statistics.median(row["whole"]) for row in of_placement),
                          geometric(row["simulated"] for row in of_placement), sum(row["undisturbed_steps"] for row in of_placement),
                          f"{statistics.mean(row['seconds'] for row in of_placement):.0f}"])
        lines += ["", f"## {graph}, {links}", f"Load averages after the rounds: {min(load):.1f} to {max(load):.1f}.", "",
                  *table_lines(["placement", "measured / one core", "of each round", "whole steps / one core", "simulated / one core",
                                "undisturbed steps", "seconds"], "lr", shown)]
        for other in (ONE, LONG):
            over = [by_round[MEASURED][number] / by_round[other][number] for number in by_round[MEASURED] if number in by_round[other]]
            lines += ["", f"Step time by {MEASURED} over that by {other if other == ONE else ONE + ', with as many seconds'}: {geometric(over)}; "
                      f"shorter in {sum(ratio < 1 for ratio in over)} of {len(over)} rounds."]
        searches = [row for row in of_graph if row["trials"]]
        if not searches:  # There was nothing to measure.
            continue
        counts = [count for count in (1, 2, 5, 10, 15, 20, 24, 50, 80) if count <= max(len(row["trials"]) for row in searches)]
        lines += ["", "The best ratio that a search had measured so far, which is luck in part: it says what the measurement at the end must "
                  "take back.", "", *table_lines(["after", *counts, "result, measured again"], "lr", [
                      ["ratio", *(geometric(best_after(row["trials"], count) for row in searches) for count in counts),
                       geometric(row["found"] for row in searches)]])]
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    table = Table(arguments.out, COLUMNS, DEPENDS, fresh=arguments.fresh)
    with tempfile.TemporaryDirectory(prefix="emplace_search_") as name:
        folder = pathlib.Path(name)
        devices = folder / "devices.yaml"
        devices.write_text(machine(arguments.cores))
        graphs = arguments.graphs
        if not graphs:
            call([arguments.programs / "emplace", "generate", *PTB, "--out", folder])
            graphs = [folder / "ptb_00.graph.json", TRANSFORMER]
        # Graphs take turns, too, so that a busy hour does not fall on one of them alone.
        for number in range(1, arguments.rounds + 1):
            for graph in graphs:
                if any((row["graph"], row["links"], row["round"]) == (graph_name(graph), links_of(arguments), number) for row in table.rows):
                    continue
                table.add(measure_round(folder, graph, devices, number, arguments))
                table.rows.sort(key=lambda row: (row["graph"], row["links"], row["round"]))  # Stable: placements keep their order.
                table.save(markdown(table.rows))
                print(f"round {number} of {graph_name(graph)} measured", flush=True)
    print(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
