"""Runs of a learner with actors as processes of this computer, for the scripts of this folder that measure them."""
import argparse
import contextlib
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
QUIET = ["training.sync=lockstep", "training.max_minutes=0", "training.device=cpu", "evaluation.every=0",
         "checkpoint.every=1000000", "checkpoint.seconds=0"]


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


def quantile(samples, share):
    """The inclusive one: 0 is the least, 1 the greatest sample. At least one sample."""
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def add_run_options(parser):
    """The options of a script that say which programs run, and how they are configured."""
    parser.add_argument("--bin", type=pathlib.Path, default=BIN, help="folder of the built programs")
    parser.add_argument("--set", dest="sets", action="append", default=[], help="a value of the configuration, section.key=value")


class LearnerRun:
    """A learner and its actors, which `learner_run` starts and ends."""

    def __init__(self, folder):
        self.folder = folder / "run"  # The run directory.
        self.learner = None
        self.actors = []
        self._logs = {"actors": folder / "actors.log", "learner": folder / "learner.log"}

    def start_learner(self, binaries, config, settings):
        command = [binaries / "emplace-learner", "--config", config, "--dir", self.folder]
        for setting in settings:
            command += ["--set", setting]
        with open(self._logs["learner"], "wb") as log:
            self.learner = subprocess.Popen(command, stdout=log, stderr=log)

    def start_actors(self, binaries, count):
        address = self._address()
        with open(self._logs["actors"], "wb") as log:
            for i in range(count):
                command = [binaries / "emplace-actor", "--learner", address, "--name", f"actor-{i}"]
                self.actors.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _address(self):
        while self.learner.poll() is None:
            try:
                return json.loads((self.folder / "learner.json").read_text())["address"]
            except (FileNotFoundError, json.JSONDecodeError):
                time.sleep(0.05)
        self.fail("the learner ended before its run was over")

    def updates(self):
        """The lines of metrics.jsonl about updates, so far."""
        path = self.folder / "metrics.jsonl"
        lines = []
        for text in path.read_text().splitlines() if path.exists() else []:
            with contextlib.suppress(json.JSONDecodeError):  # The last line may be half written.
                lines.append(json.loads(text))
        return [line for line in lines if line["kind"] == "update"]

    def fail(self, why):
        """Ends the script. The learner's last line comes last, as it says what was wrong."""
        logs = [f"the log of the {who} ends:\n{path.read_text()[-2000:]}" for who, path in self._logs.items() if path.exists()]
        sys.exit("\n".join([f"{pathlib.Path(sys.argv[0]).name}: {why}", *logs]))

    def kill(self):
        """Ends what is still running. Outright: nobody needs the last evaluation and checkpoint of a learner here."""
        for process in [*self.actors, *([self.learner] if self.learner else [])]:
            if process.poll() is None:
                process.kill()
                process.wait()


@contextlib.contextmanager
def learner_run(binaries, config, settings, actors=1):
    """A LearnerRun with these settings, texts "section.key=value". It ends with the block, and its files with it."""
    with tempfile.TemporaryDirectory(prefix="emplace-bench-") as folder:
        run = LearnerRun(pathlib.Path(folder))
        try:
            run.start_learner(binaries, config, settings)
            run.start_actors(binaries, actors)
            yield run
        finally:
            run.kill()


def _wait(process):
    """What the process used. wait4 says it of one child; RUSAGE_CHILDREN only of all."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used


def run_lockstep(config, settings, binaries=BIN):
    """Trains this configuration with one actor and these settings to its end. A failure ends the script."""
    with learner_run(binaries, config, [*QUIET, *settings]) as run:
        of_learner = _wait(run.learner)
        if run.learner.returncode != 0:
            run.fail("the learner ended before its run was over")
        of_actor = _wait(run.actors[0])
        return Run(run.updates(), of_learner, of_actor)
