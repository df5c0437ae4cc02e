"""The command `emplace apply`."""
import json

import emplace
import pytest
from command_test import emplace_command
from import_test import FACTORY


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(FACTORY)
    emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 1e10) for i in range(2)], bandwidth_bytes_per_us=10_000).save(tmp_path / "m.yaml")
    return tmp_path


def test_a_model_runs_as_placed(folder):
    done = emplace_command("import", "torch", "model.py:make", "--train", "--out", "g.graph.json", folder=folder)
    assert done.returncode == 0, done.stderr
    done = emplace_command("place", "--graph", "g.graph.json", "--devices", "m.yaml", "--method", "single", "--out", "p.json",
                           "--json", folder=folder)
    predicted_us = json.loads(done.stdout)["makespan_us"]
    done = emplace_command("apply", "model.py:make", "--devices", "m.yaml", "--placement", "p.json", "--train", "--steps", 3, "--json",
                           folder=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["predicted_us"] == pytest.approx(predicted_us) and told["steps"] == 3
    assert told["measured_us"] > 0 and told["plain_us"] > 0 and told["spread_us"] >= 0


def test_it_is_compared_with_the_map_of_accelerate(folder):
    # Stands for accelerate, which is large: the first layer on one device, the rest on the other.
    (folder / "accelerate.py").write_text(
        "def infer_auto_device_map(model, max_memory, no_split_module_classes):\n"
        "    assert max_memory == {0: 10_000_000_000, 1: 10_000_000_000}\n"
        "    first, *rest = [name for name, _ in model.named_children()]\n"
        "    return {first: 0, **{name: 1 for name in rest}}\n")
    done = emplace_command("apply", "model.py:make", "--devices", "m.yaml", "--train", "--steps", 2, "--json", folder=folder,
                           environment={"PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["auto_measured_us"] > 0 and told["auto_predicted_us"] > 0


def test_a_step_that_fails_is_one_line(folder):
    done = emplace_command("apply", "model.py:out_of_range", "--devices", "m.yaml", folder=folder)
    assert done.returncode == 1 and done.stderr.startswith("emplace: model.py:out_of_range: the step failed: IndexError: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("arguments, error", [
    (["--devices", "none.yaml"], "none.yaml"),
    (["--devices", "m.yaml", "--steps", "0"], "--steps is 0"),
    (["--devices", "m.yaml", "--placement", "none.json"], "none.json: cannot be read"),
    ([], "--devices"),
])
def test_an_error_is_one_line(folder, arguments, error):
    done = emplace_command("apply", "model.py:make", *arguments, folder=folder)
    assert done.returncode == 2 and error in done.stderr and done.stderr.count("\n") == 1, done.stderr
