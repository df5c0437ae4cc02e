"""The examples run as their first lines say."""
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT
from llm_models import write_gguf
from onnx_models import LIGHT

EXAMPLES = ROOT / "python/examples"


def run_example(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path: pathlib.Path):
    assert len(path.read_text().splitlines()) < 60


def test_train_on_two_devices():
    lines = run_example("train_on_two_devices.py", 3)
    losses = [float(line.split()[-1]) for line in lines if line.startswith("iteration")]
    assert len(losses) == 5 and losses[-1] < losses[0]


def test_place_onnx():
    lines = run_example("place_onnx.py", next(path for path in LIGHT if "squeezenet" in path.name))
    assert lines[-1].startswith("gpu:1: ")


def test_own_policy():
    lines = run_example("own_policy.py", 3)
    assert lines[0].startswith("update 0: mean makespan") and "of that" in lines[-1]


def test_measured_costs():
    lines = run_example("measured_costs.py")
    assert sum("modelled" in line for line in lines) == 4 and lines[-1].split()[0] == "cpu:1"


def test_llm_flags(tmp_path):
    lines = run_example("llm_flags.py", write_gguf(tmp_path / "m.gguf", layers=2), 512)
    assert lines[0].startswith("llama-server -m") and "-ngl" in lines[0]
    assert any("tokens/s" in line for line in lines) and lines[-1].startswith("cpu: ")
