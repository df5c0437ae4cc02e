#!/usr/bin/env python3
"""What the Python package costs on top of C++ and of PyTorch, in processor time, which other programs on the machine change little.

    python tools/bench/python_bench.py [--json]     in an environment with emplace, gymnasium and torch

gym_step_us: a step of emplace.gym.PlacementEnv (ptb, 128 groups, two K80), observation and all; gym_vector_step_us: the same in
PlacementVectorEnv with 16 environments, for one of them. plain_step_s: a training step of 12 transformer layers of width 512, 4 micro-batches, by
gradient accumulation, on one thread; planned_step_s: the same by emplace.torch.apply on two devices, both threads together.
"""
import argparse
import json
import statistics
import time

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


def measure_step() -> dict[str, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, batch, parts = Layers(12, 512), torch.randn(8, 64, 512), 4
    graph = emplace.torch.capture(model, (batch,), train=True, microbatches=parts)
    machine = emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 8e9) for i in range(2)], bandwidth_bytes_per_us=10_000)

    def plain() -> None:
        for part in batch.chunk(parts):
            (model(part) / parts).backward()

    with emplace.torch.apply(model, (batch,), emplace.place(graph, machine, seconds=1)) as step:
        step(batch)
        return {"ops": graph.num_ops, "plain_step_s": median_of(5, plain), "planned_step_s": median_of(5, lambda: step(batch))}


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--json", action="store_true", help="print one JSON document")
as_json = parser.parse_args().json
results = measure_gym() | measure_step()
print(json.dumps(results) if as_json else "\n".join(f"{key:20} {value:10.3f}" for key, value in results.items()))
