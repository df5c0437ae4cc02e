#!/usr/bin/env python3
"""Measures on this computer's NVIDIA GPU what docs/speed.md says of one; gpu.sh beside this file says how to call it."""
import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import typing

import gpu_table
import report

ROOT = report.ROOT
PAGE = ROOT / "docs/speed.md"
FORMAT = "emplace.gpu/1"
NO_GPU = 77  # As of the programs.
ACTORS = 14

# Asks a Python for its torch wheel, without loading it.
FIND_WHEEL = """
import importlib.metadata, importlib.util, json, pathlib
site = pathlib.Path(importlib.util.find_spec("torch").origin).parent.parent
print(json.dumps({"version": importlib.metadata.version("torch").split("+")[0],
                  "folders": [str(site / "torch/lib"), *map(str, sorted(site.glob("nvidia/*/lib")))]}))
"""
DEVICES = """devices:
  - {name: "cuda:0", kind: cuda, memory_bytes: 16.0e9}
op_overhead_us: 5
transfer: {bandwidth_bytes_per_us: 20000, overhead_us: 10}
"""


class NotMeasured(Exception):
    """Why there is no result, in one line."""


def find_gpu():
    """{"gpu": name, "driver": version}"""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        raise NotMeasured("there is no nvidia-smi") from None
    lines = asked.stdout.strip().splitlines()
    if asked.returncode != 0 or not lines:
        raise NotMeasured(last_line(asked.stderr, asked.stdout) or "nvidia-smi names none")
    name, _, driver = lines[0].rpartition(", ")
    return {"gpu": name, "driver": driver}


def last_line(*texts):
    """The last line of the first of these texts that has one."""
    for text in texts:
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1].strip()
    return ""


def wanted_torch():
    return re.search(r"^torch_version=(\S+)", (ROOT / "tools/setup.sh").read_text(), re.MULTILINE).group(1)


def find_wheel():
    """(folders of the libraries of a torch wheel, "") or (folders, why LibTorch cannot be used)."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    venv = pathlib.Path(os.environ.get("EMPLACE_TORCH_VENV") or cache / f"emplace/torch-{wanted_torch()}")
    for python in (venv / "bin/python", "python3"):
        with contextlib.suppress(OSError):
            asked = subprocess.run([python, "-c", FIND_WHEEL], capture_output=True, text=True)
            if asked.returncode == 0:
                wheel = json.loads(asked.stdout)
                why_not = "" if wheel["version"] == wanted_torch() else f"{python} has torch {wheel['version']}, expected {wanted_torch()}"
                return wheel["folders"], why_not
    return [], f"neither {venv} nor python3 has torch {wanted_torch()}"


class Place:
    """Where sections run: the programs, a folder for files, and what is left of a section's time."""

    def __init__(self, programs, work):
        self.programs = programs
        self.work = work
        folders, self.no_torch = find_wheel()
        libraries = [str(programs / "lib"), *folders, os.environ.get("LD_LIBRARY_PATH", "")]
        self._environment = os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "TMPDIR": str(work),
                                          "EMPLACE_CONFIG_DIR": str(ROOT / "configs")}

    def begin(self, section):
        self.commands = []
        self._limit_s = section.limit_s
        self._deadline = time.monotonic() + section.limit_s
        if section.torch and self.no_torch:
            raise NotMeasured(self.no_torch)
        for program in section.programs:
            if not (self.programs / program).exists():
                raise NotMeasured(f"there is no {program} in {self.programs.name}")

    def run(self, *command, accept=(0,)):
        """What the command prints. It runs in `work`."""
        command = [str(part) for part in command]
        self.commands.append(self._shown(" ".join(command)))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.work,
                              env=self._environment, start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=max(0, self._deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise NotMeasured(f"took longer than {self._limit_s} s") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # With all that it has started.
        if process.returncode not in accept:
            raise NotMeasured(self._shown(last_line(err, out)) or f"exit code {process.returncode}")
        return out

    def program(self, name, *arguments, **options):
        return self.run(self.programs / name, *arguments, **options)

    def script(self, name, *arguments):
        return json.loads(self.run(sys.executable, ROOT / "tools/bench" / name, "--bin", self.programs / "bin", *arguments))

    def _shown(self, text):
        """Without the folders of this computer."""
        for folder in (f" --bin {self.programs}/bin", f"{sys.executable} ", f"{self.work}/", f"{self.programs}/", f"{ROOT}/"):
            text = text.replace(folder, "")
        return text


def gtest(name):
    def measure(place):
        place.program(f"tests/{name}", f"--gtest_output=json:{place.work}/gtest.json", accept=(0, 1))
        document = json.loads((place.work / "gtest.json").read_text())
        tests = [(f"{suite['name']}.{test['name']}", test) for suite in document["testsuites"] for test in suite["testsuite"]]
        run = [(test, result) for test, result in tests if result["result"] == "COMPLETED"]
        failed = [test for test, result in run if result.get("failures")]
        if not run:
            raise NotMeasured("all of its tests were skipped")
        return {"passed": len(run) - len(failed), "failed": failed, "skipped": len(tests) - len(run)}
    return measure


def bench(name, *arguments):
    return lambda place: json.loads(place.program(f"bin/{name}", *arguments))


def end_to_end(device):
    return lambda place: place.script("end_to_end.py", "--actors", str(ACTORS), "--set", f"training.device={device}")["figures"][0]


def kind(name):
    def measure(place):
        return {device: place.script("kinds.py", "--kinds", name, "--updates", "10", "--rounds", "1", "--set",
                                     f"training.device={device}")["kinds"][name] for device in ("cuda", "cpu")}
    return measure


def executor(place):
    (place.work / "cuda.yaml").write_text(DEVICES)
    place.program("bin/emplace", "generate", "ptb", "--calls", "--count", "1", "--out", "graphs")
    graph = sorted((place.work / "graphs").glob("*.graph.json"))[0]
    place.program("bin/emplace-hardware", "profile", "--graph", graph, "--devices", "cuda.yaml", "--out", "costs.csv", "--devices-out",
                  "measured.yaml", "--seconds", "5", "--json")
    place.program("bin/emplace", "costs", "--costs", "costs.csv", "--graph", graph, "--out", "measured.graph.json")
    measured = ("--graph", "measured.graph.json", "--devices", "measured.yaml")
    place.program("bin/emplace", "place", *measured, "--method", "single", "--out", "placement.json")
    return json.loads(place.program("bin/emplace-hardware", "run", *measured, "--placement", "placement.json", "--steps", "20",
                                    "--warmup", "5", "--json"))


@dataclasses.dataclass(frozen=True)
class Section:
    limit_s: int
    measure: typing.Callable  # What it returns of a Place is the result.
    programs: tuple           # What must be there.
    torch: bool = False       # LibTorch must be there.


LEARNER = ("bin/emplace-learner", "bin/emplace-actor")
WIDE = ("--states", "8192", "--width", "16")
SECTIONS = {
    "tests_kernels": Section(30, gtest("placeto_cuda_gpu_test"), ("tests/placeto_cuda_gpu_test",), torch=True),
    "tests_learner": Section(30, gtest("gpu_engine_test"), ("tests/gpu_engine_test",)),
    "tests_torch": Section(30, gtest("torch_gpu_test"), ("tests/torch_gpu_test",), torch=True),
    "update_512": Section(40, bench("emplace-bench-cuda-libtorch", "--states", "512"), ("bin/emplace-bench-cuda-libtorch",), torch=True),
    "update_8192": Section(40, bench("emplace-bench-cuda-libtorch", *WIDE), ("bin/emplace-bench-cuda-libtorch",), torch=True),
    "kernels_512": Section(25, bench("emplace-bench-cuda", "--states", "512"), ("bin/emplace-bench-cuda",)),
    "kernels_8192": Section(25, bench("emplace-bench-cuda", *WIDE), ("bin/emplace-bench-cuda",)),
    "end_to_end_cuda": Section(40, end_to_end("cuda"), LEARNER),
    "end_to_end_cpu": Section(40, end_to_end("cpu"), LEARNER),
    "kind_placeto": Section(40, kind("placeto"), LEARNER),
    **{f"kind_{name}": Section(40, kind(name), (*LEARNER, "bin/libemplace_torch.so"), torch=True) for name in ("sgdp", "rnn", "hierarchical")},
    "executor": Section(80, executor, ("bin/emplace", "bin/emplace-hardware"), torch=True),
    "nccl": Section(25, bench("emplace-bench-nccl"), ("bin/emplace-bench-nccl",)),
}


def measure_sections(keys, place):
    sections = {}
    for key in keys:
        start = time.monotonic()
        outcome = {}
        try:
            place.begin(SECTIONS[key])
            outcome["result"] = SECTIONS[key].measure(place)
        except NotMeasured as why:
            outcome["not_measured"] = str(why)
        except (json.JSONDecodeError, OSError, LookupError) as error:
            outcome["not_measured"] = f"what it printed makes no sense: {error!r}"
        sections[key] = {"commands": place.commands, "seconds": round(time.monotonic() - start, 1), **outcome}
        print(f"{key}: {outcome.get('not_measured', 'measured')} ({sections[key]['seconds']} s)", file=sys.stderr, flush=True)
    return sections


def measure(keys, programs, gpu):
    """The document. programs: a build folder, or a pack."""
    with tempfile.TemporaryDirectory(prefix="emplace-gpu-") as folder:
        folder = pathlib.Path(folder)
        (folder / "work").mkdir()
        if programs.is_file():
            (folder / "pack").mkdir()
            subprocess.run(["tar", "-xzf", programs, "-C", folder / "pack"], check=True)
            programs = folder / "pack"
            commit = (programs / "commit").read_text().strip()
        else:
            commit = report.commit()
        return {"format": FORMAT, "date": datetime.date.today().isoformat(), **gpu, "processor": report.processor(),
                "cores": os.cpu_count(), "commit": commit, "sections": measure_sections(keys, Place(programs, folder / "work"))}


def read_document(path):
    try:
        document = json.loads(path.read_text())
        if document["format"] == FORMAT:
            return document
    except (OSError, ValueError, TypeError, KeyError):
        pass
    print(f"gpu.sh: {path}: expected a document that gpu.sh has printed, of the format {FORMAT}", file=sys.stderr)
    sys.exit(2)


def main():
    parser = argparse.ArgumentParser(prog="gpu.sh", description=__doc__)
    parser.add_argument("programs", metavar="PACK", nargs="?", type=pathlib.Path, help="what gpu.sh --pack has made, or a build folder of the preset cuda")
    parser.add_argument("--write", action="store_true", help="fill the table in docs/speed.md")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="KEY", help=f"measure these alone: {', '.join(SECTIONS)}")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE", help="take this document, and measure nothing")
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("--write fills the whole table, and does not go with --only")
    if options.source:
        document = read_document(options.source)
    else:
        try:
            gpu = find_gpu()
        except NotMeasured as why:
            print(f"gpu.sh: there is no NVIDIA GPU, nothing was measured: {why}", file=sys.stderr)
            return NO_GPU
        built = ROOT / "build-cuda"
        programs = (options.programs or (built / "gpu.tar.gz" if (built / "gpu.tar.gz").exists() else built)).resolve()
        if not (programs.is_file() or (programs / "bin").is_dir()):
            parser.error(f"there are no programs in {programs}: make them by tools/bench/gpu.sh --pack")
        document = measure(options.only or SECTIONS, programs, gpu)
        print(json.dumps(document, indent=1))
    if options.write:
        gpu_table.write(document, PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
