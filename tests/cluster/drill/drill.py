"""What a fault is given: a folder, a generator, and what runs have in common."""
import pathlib
import random

import programs
from outcome import Missed
from training import Training


class Drill:
    def __init__(self, work: pathlib.Path):
        self.work = work
        self.folder = work     # Of the fault under way.
        self.rng = random.Random()
        self._reference: bytes | None = None

    def begin(self, number: int, name: str, seed: int):
        self.folder = self.work / f"{number:04}-{name}"
        self.rng = random.Random(f"{seed} {number} {name}")
        self.folder.mkdir()

    def end_programs(self) -> list[str]:
        return programs.end_all()

    def reference_policy(self) -> bytes:
        """Of the lockstep run with one actor that nothing disturbs; it is made once."""
        if self._reference is None:
            training = Training(self.work / "reference", lockstep=True)
            training.start(actors=1)
            training.finish()
            self._reference = (training.run_dir / "policy.safetensors").read_bytes()
        return self._reference

    def expect_reference_policy(self, training: Training):
        if (training.run_dir / "policy.safetensors").read_bytes() != self.reference_policy():
            raise Missed("the policy of an undisturbed lockstep run with one actor, byte by byte", "another")
