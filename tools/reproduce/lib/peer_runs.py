"""Runs of the systems of peers/ as processes: their environments, what they take, and what is left of one that was killed."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid

from lib.networks import ROOT
from lib.script import BadInput, last_line
from lib.training import json_lines

PEERS = ROOT / "tools/reproduce/peers"
TAG = "EMPLACE_PEERS_RUN"  # Variable that all processes of a run have, also those that leave its tree.
SAMPLE_EVERY_S = 2
GRACE_S = 60  # For a run to end after its seconds.
MIB = 2**20


class NoEnvironment(Exception):
    """A system that cannot be installed, and why."""


def torch_packages():
    """Those of the torch that tools/setup.sh has installed, which the environments share: a copy for each would take 5 GB."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    named = os.environ.get("EMPLACE_TORCH_VENV")
    found = [*pathlib.Path(named or next(iter(sorted(cache.glob("emplace/torch-*/"))), cache)).glob("lib/python3*/site-packages")]
    if not found:
        raise BadInput("no torch of tools/setup.sh was found, expected EMPLACE_TORCH_VENV to name its environment")
    return found[0]


def make_environment(folder, name, package):
    """The interpreter of a system's environment, which is made where it is missing. package: a wheel of emplace, or its source."""
    requirements = PEERS / f"requirements/{name}.txt"
    wanted = requirements.read_text() + str(package)
    mark, environment = folder / f"{name}.installed", folder / name
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(environment, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        (next(environment.glob("lib/python3*/site-packages")) / "torch.pth").write_text(f"{torch_packages()}\n")
        # What has no wheel is built in this environment, else pip fetches another torch for the build.
        pip = [environment / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "setuptools", "wheel", "Cython"], check=True)
        done = subprocess.run([*pip, "--no-build-isolation", "-r", requirements], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoEnvironment(reason(done.stderr))
        # Without its dependencies, numpy: PufferLib wants an older one than the package asks for, which works as well.
        subprocess.run([*pip, "--no-deps", package], check=True)
        mark.write_text(wanted)
    return environment / "bin/python"


def reason(text):
    """The line of an output that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\b\w*(Error|Exception)\b", line)]
    return lines[-1] if lines else last_line(text, "it says nothing")


def processes(tag):
    """The ids of a run's living processes."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"{TAG}={tag}".encode() in (path / "environ").read_bytes() and "\nState:\tZ" not in (path / "status").read_text():
                found.append(int(path.name))
        except OSError:
            pass
    return found


def resident_mib(pids):
    """Of all of them; pages that several share count once."""
    total = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)[1])
        except (OSError, TypeError):
            pass
    return total * 1024 / MIB


def busy_cores(seconds=2.0):
    """How many cores worked in these seconds."""
    def times():
        fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(fields[:3]) + sum(fields[5:8])
    before = times()
    time.sleep(seconds)
    return (times() - before) / os.sysconf("SC_CLK_TCK") / seconds


class Run:
    """One process of a system, with all that it starts."""

    def __init__(self, script, interpreter, folder, graphs, seed, workers, seconds, resume=False):
        self.folder, self.seconds, self._tag = folder, seconds, uuid.uuid4().hex
        folder.mkdir(parents=True, exist_ok=True)
        self.before = len(json_lines(folder / "log.jsonl"))  # Lines of earlier sittings.
        words = [interpreter, PEERS / f"{script}.py", "--folder", folder, "--graphs", graphs, "--seed", seed, "--workers", workers,
                 "--seconds", seconds]
        environment = {**os.environ, TAG: self._tag, "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled", "WANDB_MODE": "disabled"}
        self.began = time.time()
        self._output = folder / "output.txt"
        self.process = subprocess.Popen([*map(str, words), *["--resume"] * resume], env=environment, cwd=folder, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=open(self._output, "a"), stderr=subprocess.STDOUT)
        self.resident_mib = 0.0

    def lines(self):
        """Of this sitting, by time."""
        return sorted(json_lines(self.folder / "log.jsonl")[self.before:], key=lambda line: line["time"])

    def steps(self):
        """Environment steps so far."""
        return max((line["steps"] for line in self.lines() if "steps" in line), default=0)

    def pids(self, kind):
        """Living "worker"s, "learner"s or "driver"s. A driver that also plays is no worker where others play."""
        alive = set(processes(self._tag))
        driver = {line["pid"] for line in self.lines() if line.get("process") == "driver"}
        found = [line["pid"] for line in self.lines() if line.get("process") == kind and line["pid"] in alive]
        return [pid for pid in found if kind != "worker" or pid not in driver]

    def alive(self):
        return self.process.poll() is None

    def watch(self, until, limit):
        """Samples memory until until() or for so many seconds; returns whether until() came."""
        end = time.time() + limit
        while not until():
            if time.time() >= end:
                return False
            self.resident_mib = max(self.resident_mib, resident_mib(processes(self._tag)))
            time.sleep(SAMPLE_EVERY_S)
        return True

    def leftover(self):
        return processes(self._tag)

    def end(self):
        """Ends what still runs."""
        for pid in self.leftover():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def failure(self):
        return reason(self._output.read_text(errors="replace"))


def judge(interpreter, folder, graphs):
    """{weights: ratio} of a run. Emplace judges itself."""
    if any("weights" in line and line["weights"] for line in json_lines(folder / "log.jsonl")):
        subprocess.run([interpreter, PEERS / "task.py", folder, "--graphs", graphs], check=True)
    return {line["weights"]: line["ratio"] for line in json_lines(folder / "judged.jsonl")}


def curve(lines, judged, began):
    """[(seconds, ratio)] of the policies that were judged."""
    return [(line["time"] - began, line["ratio"] if "ratio" in line else judged[line["weights"]]) for line in lines
            if "ratio" in line or line.get("weights") in judged]


def figures(lines, judged, began, goals):
    """What a run's lines come to, as columns of the table."""
    progress = [line for line in lines if "steps" in line]
    trained = [line for line in lines if "trained" in line]
    ratios = curve(lines, judged, began)

    def rate(of, name):
        return (of[-1][name] - of[0][name]) / (of[-1]["time"] - of[0]["time"]) if len(of) > 1 else None

    lags = [line["lag"] for line in progress if line["lag"]]
    return {"steps_per_s": rate(progress, "steps"), "trained_per_s": rate(trained, "trained"),
            **{name: next((seconds for seconds, ratio in ratios if ratio <= goal), None) for name, goal in goals.items()},
            "best": min((ratio for _, ratio in ratios), default=None),
            "lag_mean": sum(lag[1] for lag in lags) / len(lags) if lags else None,
            "lag_most": max((lag[2] for lag in lags), default=None),
            "start_s": progress[0]["time"] - began if progress else None}
