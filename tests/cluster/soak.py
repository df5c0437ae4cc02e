#!/usr/bin/env python3
"""Trains for long and looks for what grows. tests/cluster/soak.sh builds the programs and calls this."""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import sampling

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARM_UP = 0.25  # Of the time: histories and caches fill, the allocator finds its size.
FLAT = 0.05
WEEK_S = 7 * 24 * 3600
LOG_MB_A_WEEK = 10
CURVES = ("metrics.jsonl", "tensorboard")
BYTES_AN_UPDATE = 8192  # Of metrics.jsonl and TensorBoard's file, which have a line for each update.
FLAT_FIELDS = ("files", "connections", "threads")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs one learner and its actors for long, and checks that memory, open files and threads do not grow.")
    parser.add_argument("config", nargs="?", default=ROOT / "configs/ptb.yaml", type=pathlib.Path, help="configuration of the run")
    parser.add_argument("--minutes", type=float, default=60, help="minutes of training")
    parser.add_argument("--actors", type=int, default=1, help="number of actors")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="sets",
                        help="replaces a value of the configuration; may be repeated")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the built programs")
    parser.add_argument("--dir", type=pathlib.Path, help="folder that keeps the run and the samples (default: a temporary one)")
    return parser.parse_args()


def file_sizes(run):
    """Bytes of what a run writes on and on: each file, and each folder in all."""
    grows = {"logs": run / "logs", "metrics.jsonl": run / "metrics.jsonl", "tensorboard": run / "tensorboard",
             "placements.jsonl": run / "placements.jsonl", "checkpoints": run / "checkpoints", "placements": run / "placements"}
    return {name: sum(path.stat().st_size for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file())
            for name, top in grows.items()}


def lines_of(updates):
    """How many of the updates of a run have lines in its curves: learner/report/metrics.h."""
    lines, most, every = 0, 100_000, 1
    while updates > most:
        lines, most, every = lines + (most - (most // 10 if every > 1 else 0)) // every, 10 * most, 10 * every
    return lines + (updates - (most // 10 if every > 1 else 0)) / every


def updates_of(run):
    return json.loads((run / "summary.json").read_text())["updates"]


def soak(arguments, folder):
    run = folder / "run"
    sets = ["training.iterations=1000000000", f"training.max_minutes={arguments.minutes}", "evaluation.patience=0", *arguments.sets]
    log = (folder / "log").open("w")
    watch = sampling.Watch()
    processes = {}
    try:
        command = [arguments.bin / "emplace-learner", "--config", arguments.config, "--dir", run]
        for item in sets:
            command += ["--set", item]
        processes["learner"] = subprocess.Popen(command, stdout=log, stderr=log)
        sampling.wait_for(run / "learner.json", processes["learner"])
        address = json.loads((run / "learner.json").read_text())["address"]
        for i in range(arguments.actors):
            name = f"actor-{i}"
            processes[name] = subprocess.Popen([arguments.bin / "emplace-actor", "--learner", address, "--name", name],
                                               stdout=log, stderr=log)
        begin = time.monotonic()
        for name, process in processes.items():
            watch.add(name, process.pid)
        seconds = 60 * arguments.minutes
        sizes = None  # After the warm-up.
        while time.monotonic() < begin + seconds - 1 and processes["learner"].poll() is None:
            time.sleep(1)
            if sizes is None and time.monotonic() >= begin + WARM_UP * seconds:
                sizes = file_sizes(run)
        stop = time.monotonic()
        growth = {name: (size - sizes[name]) / ((1 - WARM_UP) * seconds) for name, size in file_sizes(run).items()}
        codes = {name: process.wait(120 + seconds / 10) for name, process in processes.items()}
    finally:
        for process in processes.values():
            sampling.end(process)
        watch.stop()
    return watch, begin, stop, codes, growth, updates_of(run) / seconds, json.loads((run / "ledger.json").read_text())


def report(arguments, watch, begin, stop, codes, growth, updates_a_second, ledger):
    checks = sampling.Checks("soak")
    print(f"\n{arguments.config.name}, {arguments.minutes:g} minutes, {arguments.actors} actor(s)\n")
    print("| process | RSS MB at 25% | 50% | 75% | 100% | files | with connections | threads | cores |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    all_series = {name: sampling.Series(samples, begin, stop) for name, samples in watch.samples.items()}
    for name, series in all_series.items():
        rss = " | ".join(f"{series.at(quarter, 'rss_mb'):.1f}" for quarter in sampling.QUARTERS)
        spans = " | ".join("{:.0f}..{:.0f}".format(*series.range(field, WARM_UP)) for field in FLAT_FIELDS)
        print(f"| {name} | {rss} | {spans} | {series.cores():.2f} |")
    print(f"\n{updates_a_second:.1f} updates a second\n\n| on disk | bytes an update | MB a week at this rate |\n| --- | ---: | ---: |")
    lines = lines_of(updates_a_second * WEEK_S)
    for name, bytes_a_second in growth.items():
        bytes_an_update = bytes_a_second / updates_a_second
        week = bytes_an_update * lines if name in CURVES else bytes_a_second * WEEK_S
        print(f"| {name} | {bytes_an_update:.0f} | {week / 1e6:,.1f} |")
    print()
    log_mb = growth["logs"] * WEEK_S / 1e6
    checks.expect(log_mb <= LOG_MB_A_WEEK, f"the log grows by {log_mb:.1f} MB a week, at most {LOG_MB_A_WEEK}")
    update_bytes = sum(growth[name] for name in CURVES) / updates_a_second
    checks.expect(update_bytes <= BYTES_AN_UPDATE, f"curves grow by {update_bytes:.0f} bytes an update, at most {BYTES_AN_UPDATE}")
    for name, series in all_series.items():
        rss = series.growth("rss_mb", WARM_UP)
        checks.expect(rss <= FLAT, f"{name}: memory grows by {100 * rss:.1f} % after the first quarter, at most {100 * FLAT:.0f} %")
        for field in FLAT_FIELDS:
            least, most = series.range(field, WARM_UP)
            # A file that is written aside is open for a moment.
            checks.expect(most - least <= 2, f"{name}: {field} stay, {least:.0f} to {most:.0f}")
    total = sampling.ledger_totals(ledger)
    checks.expect(total["lost"] == 0 and total["missing"] == 0 and total["trained"] > 0, f"nothing is lost: {total}")
    checks.expect(not any(codes.values()), f"every process ends well: {codes}")
    return checks.failed


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.dir or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        watch, begin, *seen = soak(arguments, folder)
        with (folder / "samples.csv").open("w") as out:
            sampling.write_csv(out, watch.samples, begin)
        return 1 if report(arguments, watch, begin, *seen) else 0


if __name__ == "__main__":
    sampling.run_main("soak", main)
