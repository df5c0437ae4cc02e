"""What all systems of this folder say of a run, and how they are called.

A run is a folder. While it trains, a system writes log.jsonl and, every few seconds, the weights of its policy. These are judged
after the run (task.py), so that judging takes no time from training.

log.jsonl has lines {"time": Unix time, "steps": environment steps so far, "trained": those of them that an update has learned from,
each counted once, "updates", "lag": policy versions between acting and learning as [least, mean, most] or null where the system
does not say, "weights": file or null}. Where a run was resumed, there is {"time", "resumed_steps", "weights"} before these. Emplace
judges its policy itself: {"time", "ratio"}. Processes are {"time", "process": "driver", "learner" or "worker", "pid"}.
"""
import argparse
import json
import os
import pathlib
import time

FOLDER = "EMPLACE_PEERS_FOLDER"  # Variable by which processes of workers know the run's folder.
WEIGHTS_EVERY_S = 5  # And a checkpoint with them, from which a run can be resumed.


def write_line(folder, **values):
    """Adds a line to a run's log, with the time unless it is given."""
    with open(folder / "log.jsonl", "a") as log:
        log.write(json.dumps({"time": time.time(), **values}) + "\n")


def write_weights(folder, layers):
    """Returns the name of the file."""
    name = f"weights_{time.time():.3f}.npz"
    import numpy
    numpy.savez(folder / name, *layers)
    return name


def write_process(folder, name, pid=None):
    """Says that a process, this one unless another is given, is a "driver", "learner" or "worker"."""
    write_line(folder, process=name, pid=pid or os.getpid())


class Run:
    """A run's folder, clock and log."""

    def __init__(self, options):
        self.folder, self.graphs, self.seed, self.workers = options.folder.resolve(), options.graphs.resolve(), options.seed, options.workers
        self.resume = options.resume
        os.environ[FOLDER] = str(self.folder)
        self.end = time.time() + options.seconds
        self._weights_at = 0.0
        self.folder.mkdir(parents=True, exist_ok=True)
        write_process(self.folder, "driver")

    def over(self):
        return time.time() >= self.end

    def resumed(self, steps, layers):
        """Before the first update of a resumed run. layers: those of the actor."""
        write_line(self.folder, resumed_steps=steps, weights=write_weights(self.folder, layers))

    def progress(self, steps, trained, updates, layers, lag=None):
        """After an update; layers: a function that gives those of the actor. Returns whether a checkpoint is due, which then has
        the weights that were written."""
        path = None
        if time.time() >= self._weights_at or self.over():
            path = write_weights(self.folder, layers())
            self._weights_at = time.time() + WEIGHTS_EVERY_S
        write_line(self.folder, steps=steps, trained=trained, updates=updates, lag=lag, weights=path)
        return path is not None


def arguments(description):
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="folder of the run")
    parser.add_argument("--graphs", type=pathlib.Path, required=True, help="folder of the graphs, with split.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="number of processes that play episodes")
    parser.add_argument("--seconds", type=float, default=600, help="seconds after which the run ends")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser.parse_args()


def start(description):
    """The run that the command line asks for."""
    return Run(arguments(description))


def write_checkpoint(path, write):
    """write(path) to a file aside, which then replaces the last one: a process may be killed meanwhile."""
    aside = path.with_name("new_" + path.name)
    write(aside)
    os.replace(aside, path)
