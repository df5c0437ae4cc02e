"""One training run: a learner and its actors, a run directory, and what is seen of them from outside."""
import json
import os
import pathlib
import random
import signal
import socket
import time

import checks
from outcome import Missed
from programs import BIN, Program, wait_until

ACTORS = 3
ACTOR_TIMEOUT_S = 1
BASE = ["training.max_minutes=0", "evaluation.patience=0", f"learner.actor_timeout_s={ACTOR_TIMEOUT_S}", "actor.heartbeat_s=0.2",
        "learner.progress_s=1", "checkpoint.every=5"]
ASYNC = ["training.sync=async", "training.iterations=1000000", "evaluation.every=0"]
LOCKSTEP_UPDATES = 120
LOCKSTEP = ["training.sync=lockstep", f"training.iterations={LOCKSTEP_UPDATES}", "evaluation.every=20"]
SOON = 30  # Seconds within which what is to happen happens, also on a machine that does much else.


def free_ports() -> int:
    """The first of two free ports in a row, below those that the kernel gives away by itself."""
    while True:
        first = random.SystemRandom().randrange(20000, 30000)
        sockets = []
        try:
            for port in range(first, first + 2):
                sockets.append(socket.socket())
                sockets[-1].bind(("0.0.0.0", port))
            return first
        except OSError:
            continue
        finally:
            for bound in sockets:
                bound.close()


class Training:
    extra_sets: list[str] = []  # For every run of the drill, after all others: "policy.kind=sgdp".

    def __init__(self, folder: pathlib.Path, lockstep=False, sets=(), host="127.0.0.1", learner_prefix=(), actor_prefix=(),
                 actor_environment=None):
        """`folder`: for everything of it; the run directory is folder/run. The prefixes go before the programs' commands."""
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.run_dir = folder / "run"
        self.lockstep = lockstep
        self.port = free_ports()
        self.host = host  # Where actors look for the learner.
        self.learner_prefix = learner_prefix
        self.actor_prefix = actor_prefix
        self.actor_environment = actor_environment
        self.sets = [*BASE, *(LOCKSTEP if lockstep else ASYNC), f"network.port={self.port}", *sets, *self.extra_sets]
        self.learner: Program | None = None
        self.actors: dict[str, Program] = {}

    # --- Starting ---

    def launch_learner(self, resume=False, sets=()) -> Program:
        """Without waiting for it."""
        (self.run_dir / "learner.json").unlink(missing_ok=True)
        arguments = [BIN / "emplace-learner", "--config", "configs/smoke.yaml", "--dir", self.run_dir]
        arguments += ["--resume"] if resume else []
        for value in [*self.sets, *sets]:
            arguments += ["--set", value]
        self.learner = Program("learner", arguments, self.folder, self.learner_prefix)
        return self.learner

    def start_learner(self, resume=False, sets=()):
        learner = self.launch_learner(resume, sets)

        def listening():
            if not learner.alive():
                raise Missed("the learner to start", " / ".join(learner.complaints()) or f"exit code {learner.process.returncode}")
            return (self.run_dir / "learner.json").exists()
        wait_until(listening, SOON, "the learner to listen")

    def start_actor(self, name: str):
        self.actors[name] = Program(name, [BIN / "emplace-actor", "--learner", f"tcp://{self.host}:{self.port}", "--name", name],
                                    self.folder, self.actor_prefix, self.actor_environment)

    def start(self, actors=ACTORS):
        self.start_learner()
        for number in range(actors):
            self.start_actor(f"actor-{number}")

    # --- What is seen ---

    def version(self) -> int:
        """Of the newest update in metrics.jsonl; 0 before the first."""
        return int((self.newest_metrics() or {"update": 0})["update"])

    def newest_metrics(self) -> dict | None:
        """Of the newest update; None before the first."""
        path = self.run_dir / "metrics.jsonl"
        if not path.exists():
            return None
        with open(path, "rb") as lines:
            lines.seek(0, os.SEEK_END)
            lines.seek(max(0, lines.tell() - 8192))
            for line in reversed(lines.read().splitlines()):
                try:
                    entry = json.loads(line)
                except ValueError:  # It is just being written.
                    continue
                if entry["kind"] == "update":
                    return entry
        return None

    def log(self) -> str:
        path = self.run_dir / "logs" / "learner.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for_log(self, text: str, since: int, what: str):
        wait_until(lambda: text in self.log()[since:], SOON, what)

    def wait_for_version(self, version: int):
        def reached():
            if self.version() >= version:
                return True
            if self.learner.alive():
                return False
            if self.learner.process.returncode == 0:  # In lockstep: all done.
                return True
            raise Missed("the learner to go on", f"exit code {self.learner.process.returncode}: {' / '.join(self.learner.complaints())}")
        wait_until(reached, SOON, f"version {version} (it is {self.version()})")

    def expect_progress(self, updates=5) -> float:
        """Training goes on. Returns the seconds until it did."""
        before = time.monotonic()
        self.wait_for_version(self.version() + updates)
        return time.monotonic() - before

    def expect_actors_alive(self):
        for name, actor in self.actors.items():
            if not actor.alive() and not (self.lockstep and self.learner.process.poll() == 0):
                raise Missed(f"{name} to stay alive", f"exit code {actor.process.returncode}: {' / '.join(actor.complaints())}")

    # --- Faults ---

    def freeze(self, program: Program, seconds: float):
        program.send(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            program.send(signal.SIGCONT)

    # --- The end ---

    def expect_actors_back(self):
        """Whoever is not there when a run ends is not told to stop, and waits for the learner's return."""
        wait_until(lambda: (self.newest_metrics() or {}).get("actors_alive") == len(self.actors), SOON, "every actor to be there")

    def finish(self) -> dict:
        """Ends the run as a user does (in lockstep it ends by itself), and checks everything that has to hold then. Returns
        the totals of the ledger."""
        if not self.lockstep:
            self.expect_actors_back()
            self.learner.send(signal.SIGTERM)
        self.learner.expect_exit(0, 2 * SOON)
        for actor in self.actors.values():
            if self.lockstep:  # As the launcher does, for one that was started or cut off just before the end.
                actor.end_if_left(after=5)
            actor.expect_exit(0, SOON)
        checks.expect_whole_files(self.run_dir)
        checks.expect_whole_lines(self.run_dir)
        return checks.expect_balance(self.run_dir)
