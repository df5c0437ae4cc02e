"""The command line: which faults, in which order, and a line for each. See drill.sh."""
import argparse
import collections
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

import faults_disk
import faults_files
import faults_load
import faults_network
import faults_output
import faults_peer
import faults_processes
from drill import Drill
from outcome import Missed, Skipped
from programs import BIN
from training import Training

FAULTS = {
    "actors-killed": faults_processes.actors_killed,
    "actors-killed-lockstep": faults_processes.actors_killed_lockstep,
    "learner-killed": faults_processes.learner_killed,
    "learner-killed-lockstep": faults_processes.learner_killed_lockstep,
    "learner-killed-at-its-end": faults_processes.learner_killed_at_its_end,
    "learner-killed-at-start": faults_processes.learner_killed_at_start,
    "actor-frozen": faults_processes.actor_frozen,
    "actor-frozen-lockstep": faults_processes.actor_frozen_lockstep,
    "learner-frozen": faults_processes.learner_frozen,
    "learner-frozen-lockstep": faults_processes.learner_frozen_lockstep,
    "actors-first": faults_processes.actors_first,
    "patience-ends": faults_processes.patience_ends,
    "relay": faults_network.relay_faults,
    "relay-lockstep": faults_network.relay_faults_lockstep,
    "hosts-cut": faults_network.hosts_cut,
    "disk-full": faults_disk.disk_full,
    "checkpoint-damaged": faults_disk.checkpoint_damaged,
    "idle-connections": faults_files.idle_connections,
    "nobody-reads": faults_output.nobody_reads,
    "queue-full": faults_load.queue_full,
    "slow-learner": faults_load.slow_learner,
    "hostile-peer": faults_peer.hostile_peer,
}


ALL_SKIPPED = 77  # The exit code by which ctest knows it.


def order(names: list[str], minutes: float, seed: int):
    """The faults to go through: once each as listed, or, for `minutes`, again and again in random order."""
    if not minutes:
        yield from names
        return
    rng = random.Random(seed)
    deadline = time.monotonic() + 60 * minutes
    while True:
        for name in rng.sample(names, len(names)):
            if time.monotonic() >= deadline:
                return
            yield name


def run_fault(drill: Drill, number: int, name: str, seed: int) -> str:
    """Prints its line; "ok", "skipped" or "FAILED"."""
    drill.begin(number, name, seed)
    began = time.monotonic()
    word, seen = "ok", ""
    try:
        seen = FAULTS[name](drill)
        if left := drill.end_programs():
            raise Missed("no process left", ", ".join(left))
    except Skipped as skipped:
        word, seen = "skipped", str(skipped)
    except Missed as missed:
        word, seen = "FAILED", f"{missed}; its files: {drill.folder}"
    except Exception as error:  # The drill's own: the line says so, and the others still run.
        traceback.print_exc()
        word, seen = "FAILED", f"the drill itself broke: {error}; its files: {drill.folder}"
    finally:
        drill.end_programs()
    print(f"{word:5} {name}: {seen} ({time.monotonic() - began:.1f} s)", flush=True)
    if word != "FAILED":
        shutil.rmtree(drill.folder, ignore_errors=True)
    return word


def main() -> int:
    parser = argparse.ArgumentParser(prog="drill.sh", description="Causes faults of a cluster, one after the other, and checks that training survives each.")
    parser.add_argument("faults", nargs="*", metavar="NAME", help="faults to cause (default: each once; see --list)")
    parser.add_argument("--minutes", type=float, default=0, help="cause faults in random order for so many minutes")
    parser.add_argument("--seed", type=int, help="random seed of the faults (default: another one in each call)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="sets",
                        help="a key of the configuration for every run, such as policy.kind=sgdp; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the names of all faults")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(FAULTS))
        return 0
    if unknown := [name for name in arguments.faults if name not in FAULTS]:
        parser.error(f"there is no fault '{unknown[0]}', expected one of {', '.join(FAULTS)}")
    if not (BIN / "emplace-learner").exists():
        parser.error(f"{BIN}/emplace-learner is not there: build it first (tests/run.sh, or launch/cluster.sh)")
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Cleaned up after like Ctrl-C.
    work = pathlib.Path(tempfile.mkdtemp(prefix="emplace-drill-"))
    Training.extra_sets = arguments.sets
    drill = Drill(work)
    words = collections.Counter()
    try:
        for number, name in enumerate(order(arguments.faults or list(FAULTS), arguments.minutes, seed), 1):
            words[run_fault(drill, number, name, seed)] += 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if not words["FAILED"]:
            shutil.rmtree(work, ignore_errors=True)
    return 1 if words["FAILED"] else 0 if words["ok"] else ALL_SKIPPED


if __name__ == "__main__":
    sys.exit(main())
