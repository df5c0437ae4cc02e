#!/usr/bin/env python3
"""One learner under many actors. tests/cluster/load.sh builds the programs and calls this."""
import argparse
import bisect
import csv
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import sampling

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the time. A ZeroMQ queue takes its second block of memory, 16 KB, with its 256th frame, and no third; each actor has four
# queues that are used. With 1,000 actors memory grows for some 450 s, most of it in the first 300, and is flat then: load.md.
WARM_UP = 0.5
FLAT = 0.05
FILES_PER_ACTOR = 2  # Control, trajectories.
OTHER_FILES = 100
ACTORS_A_PROCESS = 250
JOIN_S = 120
# What an actor may wait for weights: so long that a notice is lost and a heartbeat's reply, a second later, has to tell of
# the version, and the request after it is lost too and repeated after a second; and a second for a busy machine.
WEIGHTS_BOUND_S = 3


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs one learner with many actors, and checks that no episode is lost and that memory does not grow.")
    parser.add_argument("--actors", type=int, default=1000, help="number of actors")
    parser.add_argument("--minutes", type=float, default=10, help="minutes that the actors send episodes")
    parser.add_argument("--rate", type=float, default=500, help="episodes per second that all actors send together")
    parser.add_argument("--update-s", type=float, default=1, help="seconds between updates, as far as the learner keeps up")
    parser.add_argument("--config", type=pathlib.Path, default=ROOT / "configs/smoke.yaml", help="configuration of the run")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="sets",
                        help="replaces a value of the configuration; may be repeated")
    parser.add_argument("--keys", action="store_true", help="encrypt all connections, as a run on several machines does")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the built programs")
    parser.add_argument("--dir", type=pathlib.Path, help="folder that keeps the run, the samples and the records (default: a temporary one)")
    return parser.parse_args()


def learner_command(arguments, run):
    sets = ["training.iterations=1000000000", "training.max_minutes=0", "evaluation.patience=0", "evaluation.every=100",
            "checkpoint.every=50", "training.max_states_per_update=512", "learner.progress_s=10",
            *([f"network.keys={run.parent}/keys/learner.keys"] if arguments.keys else []),
            f"training.episodes_per_update={min(4096, max(1, round(arguments.rate * arguments.update_s)))}", *arguments.sets]
    command = [arguments.bin / "emplace-learner", "--config", arguments.config, "--dir", run]
    for item in sets:
        command += ["--set", item]
    return command


class Fleets:
    """The processes that play the actors."""

    def __init__(self, arguments, address, folder, processes):
        self._folder = folder
        self.names = []
        count = -(-arguments.actors // ACTORS_A_PROCESS)
        for i in range(count):
            actors = arguments.actors // count + (i < arguments.actors % count)
            name = f"load{i}"
            command = [arguments.bin / "emplace-load", "--learner", address, "--name", name, "--actors", str(actors),
                       "--rate", str(arguments.rate * actors / arguments.actors), "--records", folder / f"{name}.csv"]
            if arguments.keys:
                command += ["--keys", folder / "keys/actor-0.keys"]
            self.names.append(name)
            processes[name] = subprocess.Popen(command, stdout=(folder / f"{name}.json").open("w"), stderr=(folder / f"{name}.log").open("w"))

    def wait_until_joined(self, processes):
        deadline = time.monotonic() + JOIN_S
        while not all("actors are there" in (self._folder / f"{name}.log").read_text() for name in self.names):
            if time.monotonic() > deadline or any(process.poll() is not None for process in processes.values()):
                return False
            time.sleep(0.1)
        return True

    def totals(self):
        documents = [json.loads((self._folder / f"{name}.json").read_text() or "{}") for name in self.names]
        totals = {key: sum(document.get(key, 0) for document in documents) for key in ("joined", "produced", "held_back", "weights")}
        totals["join_s"] = max(document.get("join_s", 0) for document in documents)
        totals["weights_bytes"] = max(document.get("weights_bytes", 0) for document in documents)
        return totals


def run_load(arguments, folder):
    run = folder / "run"
    processes = {}
    watch = sampling.Watch()
    try:
        if arguments.keys:
            subprocess.run([arguments.bin / "emplace", "keygen", folder / "keys"], check=True, stdout=subprocess.DEVNULL)
        log = (folder / "learner.out").open("w")
        processes["learner"] = subprocess.Popen(learner_command(arguments, run), stdout=log, stderr=log)
        sampling.wait_for(run / "learner.json", processes["learner"])
        watch.add("learner", processes["learner"].pid)
        address = json.loads((run / "learner.json").read_text())["address"]
        fleets = Fleets(arguments, address, folder, processes)
        joined = fleets.wait_until_joined(processes)
        begin, threads = time.monotonic(), sampling.thread_seconds(processes["learner"].pid)
        while joined and time.monotonic() < begin + 60 * arguments.minutes and all(p.poll() is None for p in processes.values()):
            time.sleep(0.2)
        stop = time.monotonic()
        if processes["learner"].poll() is None:
            threads = {name: (seconds - threads.get(name, 0)) / (stop - begin)
                       for name, seconds in sampling.thread_seconds(processes["learner"].pid).items()}
        processes["learner"].send_signal(signal.SIGTERM)
        codes = {}
        for name, process in processes.items():
            try:
                codes[name] = process.wait(120)
            except subprocess.TimeoutExpired:
                codes[name] = "does not end"
    finally:
        for process in processes.values():
            sampling.end(process)
        watch.stop()
    return {"watch": watch, "threads": threads, "begin": begin, "stop": stop, "codes": codes, "totals": fleets.totals(), "names": fleets.names,
            "ledger": json.loads((run / "ledger.json").read_text())}


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def weights_latencies(folder, names, actors, begin, stop):
    """For each version announced in the time: seconds from its first notice anywhere until each actor had it or a newer one."""
    announced, got = {}, {}
    for name in names:
        with (folder / f"{name}.csv").open() as records:
            for event, version, actor, micros in csv.reader(records):
                version, seconds = int(version), int(micros) / 1e6
                if event == "notice":
                    announced[version] = min(seconds, announced.get(version, seconds))
                else:
                    got.setdefault(actor, []).append((version, seconds))
    latencies = {}
    for version, seconds in sorted(announced.items()):
        # What is announced shortly before the end may be overtaken by it.
        if not begin <= seconds <= stop - WEIGHTS_BOUND_S:
            continue
        waits = []
        for history in got.values():
            i = bisect.bisect_left(history, (version,))
            waits.append(max(0.0, history[i][1] - seconds) if i < len(history) else float("inf"))
        waits += [float("inf")] * (actors - len(got))
        latencies[version] = waits
    return latencies


def report(arguments, folder, result):
    checks = sampling.Checks("load")
    begin, stop, totals = result["begin"], result["stop"], result["totals"]
    series = sampling.Series(result["watch"].samples["learner"], begin, stop)
    ledger = sampling.ledger_totals(result["ledger"])
    latencies = weights_latencies(folder, result["names"], arguments.actors, begin, stop)
    p50 = [percentile(waits, 0.5) for waits in latencies.values()] or [float("nan")]
    p99 = [percentile(waits, 0.99) for waits in latencies.values()] or [float("nan")]
    last = [max(waits) for waits in latencies.values()] or [float("nan")]
    seconds = stop - begin
    files, connections = series.range("files"), series.range("connections")
    threads = series.range("threads", WARM_UP)
    rows = [
        ("actors, in processes", f"{totals['joined']}, {len(result['names'])}"),
        ("all there, with weights, after", f"{totals['join_s']:.1f} s"),
        ("time under load", f"{seconds:.0f} s"),
        ("episodes/s sustained", f"{totals['produced'] / seconds:.0f} of {arguments.rate:g} asked for"),
        ("produced, by the actors / by the ledger", f"{totals['produced']} / {ledger['produced']}"),
        ("trained, stale, rejected, lost", ", ".join(str(ledger[key]) for key in ("trained", "stale", "rejected", "lost"))),
        ("times an actor's queue was full", str(totals["held_back"])),
        ("versions announced, bytes each", f"{len(latencies)}, {totals['weights_bytes']}"),
        ("weights taken, by all actors", f"{totals['weights']}, {totals['weights'] * totals['weights_bytes'] / seconds / 1e6:.0f} MB/s"),
        ("weights at the median actor, median / most of all versions", f"{1000 * statistics.median(p50):.0f} / {1000 * max(p50):.0f} ms"),
        ("weights at the 99th percentile actor", f"{1000 * statistics.median(p99):.0f} / {1000 * max(p99):.0f} ms"),
        ("weights at the last actor", f"{1000 * statistics.median(last):.0f} / {1000 * max(last):.0f} ms"),
        ("learner RSS at 25% / 50% / 75% / 100%", " / ".join(f"{series.at(quarter, 'rss_mb'):.1f}" for quarter in sampling.QUARTERS) + " MB"),
        ("learner RSS, most", f"{series.range('rss_mb')[1]:.1f} MB"),
        ("learner files, with connections", "{:.0f}..{:.0f}, {:.0f}..{:.0f}".format(*files, *connections)),
        ("learner threads", "{:.0f}..{:.0f}".format(*threads)),
        ("learner processor", f"{series.cores():.2f} cores: " + ", ".join(
            f"{name} {cores:.3f}" for name, cores in sorted(result["threads"].items(), key=lambda item: -item[1]) if cores >= 0.001)),
    ]
    print("| what | measured |\n| --- | --- |")
    print("\n".join(f"| {name} | {value} |" for name, value in rows) + "\n")
    judge_growth = arguments.minutes * 60 * WARM_UP >= 256 * max(1, arguments.update_s)
    if not judge_growth:
        print("(too short to judge how memory grows: see WARM_UP in load.py)")
    for name in result["names"]:  # What went wrong there, if anything.
        print((folder / f"{name}.log").read_text().replace("emplace-load: ", f"{name}: ") if result["codes"].get(name) else "", end="")
    checks.expect(totals["joined"] == arguments.actors, f"{totals['joined']} of {arguments.actors} actors have joined")
    checks.expect(ledger["lost"] == 0 and ledger["missing"] == 0 and ledger["rejected"] == 0 and ledger["produced"] == totals["produced"] > 0,
                  f"nothing is lost or rejected, of {totals['produced']} episodes")
    checks.expect(totals["produced"] >= 0.95 * arguments.rate * seconds, "the rate is sustained")
    checks.expect(max(last) <= WEIGHTS_BOUND_S, f"every version is everywhere within {WEIGHTS_BOUND_S} s")
    if judge_growth:
        growth = series.growth("rss_mb", WARM_UP)
        checks.expect(growth <= FLAT, f"memory grows by {100 * growth:.1f} % in the second half, at most {100 * FLAT:.0f} %")
    bound = FILES_PER_ACTOR * arguments.actors + OTHER_FILES
    checks.expect(connections[1] <= bound, f"at most {FILES_PER_ACTOR} connections an actor and {OTHER_FILES} files: {connections[1]:.0f} of {bound}")
    checks.expect(threads[0] == threads[1], "the threads stay")
    checks.expect(not any(result["codes"].values()), f"every process ends well: {result['codes']}")
    return checks.failed


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.dir or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = run_load(arguments, folder)
        with (folder / "samples.csv").open("w") as out:
            sampling.write_csv(out, result["watch"].samples, result["begin"])
        return 1 if report(arguments, folder, result) else 0


if __name__ == "__main__":
    sampling.run_main("load", main)
