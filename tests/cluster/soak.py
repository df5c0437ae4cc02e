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
        while time.monotonic() < begin + seconds - 1 and processes["learner"].poll() is None:
            time.sleep(1)
        stop = time.monotonic()
        codes = {name: process.wait(120 + seconds / 10) for name, process in processes.items()}
    finally:
        for process in processes.values():
            sampling.end(process)
        watch.stop()
    return watch, begin, stop, codes, json.loads((run / "ledger.json").read_text())


def report(arguments, watch, begin, stop, codes, ledger):
    checks = sampling.Checks("soak")
    print(f"\n{arguments.config.name}, {arguments.minutes:g} minutes, {arguments.actors} actor(s)\n")
    print("| process | RSS MB at 25% | 50% | 75% | 100% | files | with connections | threads | cores |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    all_series = {name: sampling.Series(samples, begin, stop) for name, samples in watch.samples.items()}
    for name, series in all_series.items():
        rss = " | ".join(f"{series.at(quarter, 'rss_mb'):.1f}" for quarter in sampling.QUARTERS)
        spans = " | ".join("{:.0f}..{:.0f}".format(*series.range(field, WARM_UP)) for field in FLAT_FIELDS)
        print(f"| {name} | {rss} | {spans} | {series.cores():.2f} |")
    print()
    for name, series in all_series.items():
        growth = series.growth("rss_mb", WARM_UP)
        checks.expect(growth <= FLAT, f"{name}: memory grows by {100 * growth:.1f} % after the first quarter, at most {100 * FLAT:.0f} %")
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
        watch, begin, stop, codes, ledger = soak(arguments, folder)
        with (folder / "samples.csv").open("w") as out:
            sampling.write_csv(out, watch.samples, begin)
        return 1 if report(arguments, watch, begin, stop, codes, ledger) else 0


if __name__ == "__main__":
    sampling.run_main("soak", main)
