"""Emplace itself on the same task: emplace-learner with configs/ptb.yaml and one emplace-actor for each worker."""
import json
import pathlib
import re
import signal
import subprocess
import time

from run import start, write_line, write_process

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "build/bin"
STEPS_PER_UPDATE = 16 * 32  # configs/ptb.yaml: episodes of an update, groups of an episode. Imitated episodes are not counted.
# It would end at a plateau, after 2,000 updates or ten minutes.
UNTIL_STOPPED = ["training.iterations=1000000", "evaluation.patience=0", "training.max_minutes=0"]
POLL_S = 0.2


class Log:
    """Turns new lines of metrics.jsonl into those of log.jsonl. A line's seconds are the run's, those of earlier sittings included.

    A learner that resumes leaves out what it wrote after its checkpoint, before it can be reached: the log of such a run begins then.
    """

    def __init__(self, run):
        self._folder, self._metrics = run.folder, run.folder / "run/metrics.jsonl"
        self._read = self._metrics.stat().st_size if run.resume else 0
        self._steps_before = None  # Of earlier sittings: "steps" are those of one.
        self._began = None         # Unix time of the run's second 0.

    def copy(self):
        if not self._metrics.exists():
            return
        with open(self._metrics, "rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[:new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in map(json.loads, whole.splitlines()):
            self._began = self._began or time.time() - line["seconds"]
            at = self._began + line["seconds"]
            if line["kind"] == "update":
                self._steps_before = (line["update"] - 1) * STEPS_PER_UPDATE if self._steps_before is None else self._steps_before
                write_line(self._folder, time=at, steps=self._steps_before + int(line["steps"]), trained=line["update"] * STEPS_PER_UPDATE,
                           updates=line["update"], lag=[line["min_lag"], line["mean_lag"], line["max_lag"]], weights=None)
            elif line["kind"] == "evaluation":
                write_line(self._folder, time=at, ratio=line["validation_ratio"])


def spawn(words, log):
    return subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=open(log, "a"), stderr=subprocess.STDOUT, cwd=ROOT)


def resumed_update(text):
    """The update that the last sitting in a learner's log has gone on from."""
    found = re.findall(r"resumed after update (\d+)", text)
    return int(found[-1]) if found else None


def main():
    run = start(__doc__)
    folder = run.folder / "run"
    (folder / "learner.json").unlink(missing_ok=True)
    words = [PROGRAMS / "emplace-learner", "--config", ROOT / "configs/ptb.yaml", "--dir", folder]
    for setting in [f"seed={run.seed}", *UNTIL_STOPPED]:
        words += ["--set", setting]
    learner = spawn(words + ["--resume"] * run.resume, run.folder / "learner.out")
    address = folder / "learner.json"
    while learner.poll() is None and not (address.exists() and address.read_text()):
        time.sleep(POLL_S / 10)
    log = Log(run)
    if run.resume:
        write_line(run.folder, resumed_steps=resumed_update((run.folder / "learner.out").read_text()) * STEPS_PER_UPDATE, weights=None)
    target = json.loads(address.read_text())["address"]
    actors = [spawn([PROGRAMS / "emplace-actor", "--learner", target, "--name", f"actor-{index}"], run.folder / f"actor-{index}.out")
              for index in range(run.workers)]
    write_process(run.folder, "learner", learner.pid)
    for actor in actors:
        write_process(run.folder, "worker", actor.pid)
    while learner.poll() is None and not run.over():
        log.copy()
        time.sleep(POLL_S)
    learner.send_signal(signal.SIGTERM)
    learner.wait()
    log.copy()
    for actor in actors:
        actor.terminate()  # All of them first: each goes on for some seconds to send what it has played.
    for actor in actors:
        actor.wait()


if __name__ == "__main__":
    main()
