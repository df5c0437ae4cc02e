"""Graphs and machines that tests share."""
import pathlib

import emplace
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def machine():
    """Two equal GPUs."""
    return emplace.Machine.load(ROOT / "configs/clusters/k80x2.yaml")


@pytest.fixture(scope="session")
def ptb():
    """A small graph of a training step."""
    return emplace.generate("ptb", size="small")[0]


@pytest.fixture
def diamond():
    """a -> b, c -> d; each output but d's is read."""
    return emplace.Graph.from_ops("diamond", [
        {"name": "a", "type": "aten.mm", "cost_us": 10, "outputs": [{"bytes": 100}]},
        {"name": "b", "cost_us": 20, "inputs": ["a:0"], "outputs": [{"bytes": 200}]},
        {"name": "c", "cost_us": {"x": 30}, "inputs": ["a:0"], "outputs": [{"bytes": 300}], "param_bytes": 7},
        {"name": "d", "cost_us": 5, "inputs": ["b:0", "c:0"], "outputs": [{"bytes": 1}], "flops": 9},
    ])


@pytest.fixture
def pair():
    """Two devices of kind x, links of 100 bytes/us, 5 us after each transfer."""
    devices = [emplace.Device("x:0", "x", 1e6), emplace.Device("x:1", "x", 1e6)]
    return emplace.Machine(devices, bandwidth_bytes_per_us=100, transfer_overhead_us=5)


def random_placements(graph, machine, count: int, seed: int) -> np.ndarray:
    """int32 [count, n]"""
    return np.random.default_rng(seed).integers(0, len(machine), (count, graph.num_ops), dtype=np.int32)


@pytest.fixture(scope="module")
def three():
    """Three devices, one of them slower."""
    kinds = ("v100", "v100", "k80")
    return emplace.Machine([emplace.Device(f"cuda:{i}", kind, 1e10) for i, kind in enumerate(kinds)], bandwidth_bytes_per_us=10_000)


@pytest.fixture(scope="module")
def cpus():
    """Two threads of the CPU."""
    return emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 1e10) for i in range(2)], bandwidth_bytes_per_us=10_000)


@pytest.fixture
def gpus():
    """Three equal GPUs."""
    return emplace.Machine([emplace.Device(f"gpu:{index}", "v100", 16e9) for index in range(3)], bandwidth_bytes_per_us=10_000)


@pytest.fixture
def llama(tmp_path):
    """The folder of a configuration of a dense language model."""
    from llm_models import LLAMA_8B, write_config
    return write_config(tmp_path / "llama", LLAMA_8B)


@pytest.fixture
def qwen(tmp_path):
    """The folder of a configuration of a language model with experts."""
    from llm_models import QWEN3_30B, write_config
    return write_config(tmp_path / "qwen", QWEN3_30B)
