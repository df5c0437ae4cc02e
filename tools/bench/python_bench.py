#!/usr/bin/env python3
"""What the Python package costs on top of C++ and of PyTorch, in processor time, which other programs on the machine change little.

    python tools/bench/python_bench.py [--hardware build/bin/emplace-hardware] [--json]

in an environment with emplace, gymnasium and torch. gym_step_us: a step of emplace.gym.PlacementEnv (ptb, 128 groups, two K80),
observation and all; gym_vector_step_us: the same in PlacementVectorEnv with 16 environments, for one of them. Then the training step
of a model (12 transformer layers of width 512; 8 residual blocks of 64 channels) with 4 micro-batches, in seconds: _s of processor
time of all threads, _wall_s by the clock. plain: gradient accumulation on one thread; two_threads: on two; compiled: with
torch.compile on one; planned: by emplace.torch.apply on two devices of one core each; hardware: the same plan by emplace-hardware.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

import emplace
import numpy as np
import torch
from torch import nn


def median_of(runs: int, call) -> float:
    """Seconds of processor time."""
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def measure_gym() -> dict[str, float]:
    graph = emplace.generate("ptb")[0]
    machine = emplace.Machine([emplace.Device(f"gpu:{i}", "k80", 11e9) for i in range(2)], bandwidth_bytes_per_us=7600,
                              transfer_overhead_us=25, op_overhead_us=5.7)
    env = emplace.gym.PlacementEnv(graph, machine)
    vector = emplace.gym.PlacementVectorEnv(graph, machine, 16)
    groups = env.observation_space.shape[0]
    rng = np.random.default_rng(0)

    def play(environment, actions) -> None:
        environment.reset(seed=1)
        for action in actions:
            environment.step(action)

    single = median_of(5, lambda: play(env, rng.integers(0, 2, groups)))
    many = median_of(5, lambda: play(vector, rng.integers(0, 2, (groups, 16))))
    return {"gym_step_us": single / groups * 1e6, "gym_vector_step_us": many / groups / 16 * 1e6}


class Layers(nn.Module):
    """Encoder layers with a loss."""

    def __init__(self, count: int, width: int):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True) for _ in range(count)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


class Blocks(nn.Module):
    """Residual blocks of convolutions with BatchNorm, and a loss."""

    def __init__(self, count: int, channels: int):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, channels, 3, padding=1), nn.Linear(channels, 10)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)) for _ in range(count)])

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return nn.functional.cross_entropy(self.head(x.mean((2, 3))), y)


MODELS = {
    "transformer": lambda: (Layers(12, 512), (torch.randn(8, 64, 512),)),
    "convolutions": lambda: (Blocks(8, 64), (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,)))),
}
DEVICES = """devices:
  - {name: "cpu:0", kind: cpu, memory_bytes: 8.0e9, cores: [0]}
  - {name: "cpu:1", kind: cpu, memory_bytes: 8.0e9, cores: [1]}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 5000, overhead_us: 0}
"""


def accumulation(model: nn.Module, args: tuple, parts: int, threads: int) -> Callable[[], None]:
    """A step by gradient accumulation."""
    def step() -> None:
        torch.set_num_threads(threads)
        for part in zip(*(arg.chunk(parts) for arg in args), strict=True):
            (model(*part) / parts).backward()
    return step


def seconds_of_hardware(program: str, folder: pathlib.Path, steps: int) -> tuple[float, float]:
    """Time by the clock of a step that emplace-hardware runs, and processor time of all steps."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "run", "--graph", folder / "g.graph.json", "--devices", folder / "m.yaml", "--placement",
                           folder / "p.json", "--steps", str(steps), "--json"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout)["measured_us"] * 1e-6, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_step(name: str, rounds: int, hardware: str | None) -> dict[str, float]:
    """All ways to run a step, in turn, so that what else runs on the machine disturbs all alike."""
    torch.manual_seed(0)
    model, args = MODELS[name]()
    parts = 4
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        (folder / "m.yaml").write_text(DEVICES)
        graph = emplace.torch.capture(model, args, train=True, microbatches=parts)
        plan = emplace.place(graph, emplace.Machine.load(folder / "m.yaml"), seconds=3)
        graph.save(folder / "g.graph.json")
        plan.save(folder / "p.json")
        placed = emplace.torch.apply(model, args, plan, cores={"cpu:0": [0], "cpu:1": [1]})
        ways = {"plain": accumulation(model, args, parts, 1), "two_threads": accumulation(model, args, parts, 2),
                "compiled": accumulation(torch.compile(model), args, parts, 1), "planned": lambda: placed(*args)}
        for way in ways.values():
            way()
        wall: dict[str, list[float]] = {}
        processor: dict[str, list[float]] = {}
        for _ in range(rounds):
            for key, way in ways.items():
                begin = time.perf_counter(), time.process_time()
                way()
                wall.setdefault(key, []).append(time.perf_counter() - begin[0])
                processor.setdefault(key, []).append(time.process_time() - begin[1])
            if hardware:
                few, many = (seconds_of_hardware(hardware, folder, steps) for steps in (1, 4))
                wall.setdefault("hardware", []).append(many[0])
                processor.setdefault("hardware", []).append((many[1] - few[1]) / 3)
        placed.close()
    return ({f"{name}_ops": graph.num_ops} | {f"{name}_{key}_wall_s": statistics.median(times) for key, times in wall.items()}
            | {f"{name}_{key}_s": statistics.median(times) for key, times in processor.items()})


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--json", action="store_true", help="print one JSON document")
parser.add_argument("--hardware", metavar="PROGRAM", help="emplace-hardware, to run the same plans with")
parser.add_argument("--rounds", type=int, default=5, help="rounds in which each way to run a step has its turn (default: 5)")
options = parser.parse_args()
results = measure_gym()
for model_name in MODELS:
    results |= measure_step(model_name, options.rounds, options.hardware)
print(json.dumps(results) if options.json else "\n".join(f"{key:34} {value:10.3f}" for key, value in results.items()))
