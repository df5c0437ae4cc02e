"""Runs of a learner with one actor in lockstep, for the scripts of this folder that measure the two."""
import argparse
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = ROOT / "build/bin"
# No evaluations and no checkpoints on the way, which are not what is measured.
QUIET = ["training.sync=lockstep", "training.max_minutes=0", "training.device=cpu", "evaluation.every=0", "checkpoint.every=1000000"]


@dataclasses.dataclass(frozen=True)
class Run:
    updates: list  # The lines of metrics.jsonl about updates.
    learner: resource.struct_rusage  # What the process used.
    actor: resource.struct_rusage


def at_least_one(text):
    """For argparse: a count."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"is {value}, expected at least 1")
    return value


def _fail(log):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: the learner ended before its run was over; its log ends:\n{log.read_text()[-2000:]}")


def _address(run, learner, log):
    while learner.poll() is None:
        try:
            return json.loads((run / "learner.json").read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.05)
    _fail(log)


def run_lockstep(config, settings):
    """Trains this configuration with these settings, texts "section.key=value", to its end. A failure ends the script."""
    with tempfile.TemporaryDirectory(prefix="emplace-bench-") as folder:
        run = pathlib.Path(folder) / "run"
        command = [BIN / "emplace-learner", "--config", config, "--dir", run]
        for setting in [*QUIET, *settings]:
            command += ["--set", setting]
        log_path = pathlib.Path(folder) / "log"
        with open(log_path, "wb") as log:
            learner = subprocess.Popen(command, stdout=log, stderr=log)
            actor = subprocess.Popen([BIN / "emplace-actor", "--learner", _address(run, learner, log_path)], stdout=log, stderr=log)
            # wait4 says what one child used; RUSAGE_CHILDREN only what all have used.
            _, status, of_learner = os.wait4(learner.pid, 0)
            _, _, of_actor = os.wait4(actor.pid, 0)
        if status != 0:
            _fail(log_path)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    return Run([line for line in lines if line["kind"] == "update"], of_learner, of_actor)
