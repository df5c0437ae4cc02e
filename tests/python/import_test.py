"""The command `emplace import`."""
import json

import emplace
import pytest
from command_test import emplace_command
from formats_test import PARTITIONING, PIPEDREAM
from onnx_models import LIGHT
from workflows_test import STG, WORKFLOW

FACTORY = """\
import torch
def make():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Flatten(0), torch.nn.Linear(24, 1), torch.nn.Flatten(0))
    return model, (torch.zeros(6, 4),)
class Counting(torch.nn.Module):
    def forward(self, x, count):
        count.add_(1)
        return x * count
def counting():
    return Counting(), (torch.zeros(6, 4), torch.zeros(4))
def wrong():
    return 3
def failing():
    raise ValueError("no weights here")
def silent():
    raise ValueError
def exiting():
    raise SystemExit(0)
def out_of_range():
    return torch.nn.Embedding(10, 4), (torch.tensor([1, 20]),)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(FACTORY)
    (tmp_path / "script.py").write_text("import sys\ndef make(): pass\nsys.exit(0)\n")
    (tmp_path / "w.json").write_text(json.dumps(PARTITIONING))
    (tmp_path / "graph.txt").write_text(PIPEDREAM)
    (tmp_path / "t.stg").write_text(STG)
    (tmp_path / "workflow.json").write_text(json.dumps(WORKFLOW))
    return tmp_path


@pytest.mark.parametrize("arguments, ops", [
    (["torch", "model.py:make", "--train", "--optimizer", "adam", "--name", "mine", "--target", "cuda"], None),
    (["onnx", str(LIGHT[0])], None),
    (["partitioning", "w.json", "--bandwidth", "4"], 3),
    (["pipedream", "graph.txt", "--inference"], 3),
    (["stg", "t.stg", "--time-unit-us", "10"], 4),
    (["wfcommons", "workflow.json"], 3),
])
def test_graphs_are_written(folder, arguments, ops):
    done = emplace_command("import", *arguments, "--out", "g.graph.json", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    told, graph = json.loads(done.stdout), emplace.Graph.load(folder / "g.graph.json")
    assert told["ops"] == len(graph) and (ops is None or len(graph) == ops) and told["graph"] == graph.name


def test_what_the_graph_does_not_say_is_told(folder):
    done = emplace_command("import", "torch", "model.py:counting", "--out", "g.graph.json", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert ["the model changes argument 1 in place" in note for note in json.loads(done.stdout)["unmapped"]] == [True]


@pytest.mark.parametrize("arguments, error", [
    (["torch", "model.py"], "'model.py' is no FILE.py:FACTORY"),
    (["torch", "none.py:make"], "none.py: there is no such file"),
    (["torch", "model.py:nobody"], "model.py: has no function 'nobody'"),
    (["torch", "model.py:wrong"], "returned a int, expected (model, args)"),
    (["torch", "model.py:failing"], "failed: ValueError: no weights here"),
    (["torch", "model.py:silent"], "model.py:silent: failed: ValueError\n"),
    (["torch", "model.py:exiting"], "model.py:exiting: failed: SystemExit: 0\n"),
    (["torch", "script.py:make"], "script.py: failed: SystemExit: 0\n"),
    (["onnx", "none.onnx", "--dim", "n"], "--dim is 'n', expected NAME=SIZE"),
    (["onnx", "none.onnx", "--dim", "n=²"], "--dim is 'n=²', expected NAME=SIZE"),
    (["pipedream"], "required"),
    (["partitioning", "w.json", "--bandwidth", "0"], "--bandwidth"),
    (["stg", "graph.txt"], "graph.txt: begins with no number of tasks"),
    (["stg", "t.stg", "--time-unit-us", "nan"], "--time-unit-us is nan, expected a number above 0"),
    (["wfcommons", "w.json"], "w.json: is no recorded workflow"),
])
def test_an_error_is_one_line(folder, arguments, error):
    done = emplace_command("import", *arguments, "--out", "g.graph.json", folder=folder)
    assert done.returncode == 2 and error in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (folder / "g.graph.json").exists()


@pytest.mark.parametrize("arguments, file", [
    (["torch", "model.py:make"], "model.py"),
    (["pipedream", "graph.txt"], "graph.txt"),
    (["trace", "w.json", "--times", "graph.txt"], "graph.txt"),
])
def test_what_is_read_is_not_written_over(folder, arguments, file):
    before = (folder / file).read_text()
    done = emplace_command("import", *arguments, "--out", f"./{file}", folder=folder)
    assert done.returncode == 2 and done.stderr.startswith(f"emplace: --out is './{file}', which belongs to "), done.stderr
    assert done.stderr.count("\n") == 1 and (folder / file).read_text() == before


@pytest.mark.parametrize("arguments, file", [
    (["llm", "tiny"], "tiny/config.json"),
    (["llm", "tiny/model.safetensors.index.json"], "tiny/config.json"),
    (["llm", "m-00001-of-00002.gguf"], "m-00002-of-00002.gguf"),
    (["llm", "tiny", "--kinds", "rtx4090,kinds"], "kinds/mine.yaml"),
    (["onnx", "none.onnx", "--kinds", "kinds/mine.yaml"], "kinds/mine.yaml"),
    (["fx", "fx/model.py"], "fx/weight_meta.py"),
])
def test_nothing_that_is_read_beside_the_input_is_written_over(folder, arguments, file):
    for name in ("tiny/config.json", "kinds/mine.yaml", "m-00002-of-00002.gguf", "fx/weight_meta.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("kept")
    done = emplace_command("import", *arguments, "--out", file, folder=folder)
    assert done.returncode == 2 and done.stderr.startswith(f"emplace: --out is '{file}', which belongs to "), done.stderr
    assert done.stderr.count("\n") == 1 and (folder / file).read_text() == "kept"


def test_help_names_the_sources():
    done = emplace_command("import", "--help")
    assert done.returncode == 0
    for source in ("torch", "onnx", "partitioning", "pipedream", "stg", "wfcommons"):
        assert source in done.stdout


def test_measured_costs_have_a_command_of_their_own(folder):
    done = emplace_command("costs", "--costs", "none.csv", "--graph", "g", "--out", "o", folder=folder)
    assert done.returncode == 2 and "none.csv" in done.stderr
    done = emplace_command("import", "--costs", "none.csv", "--graph", "g", "--out", "o", folder=folder)
    assert done.returncode == 2 and "import: " in done.stderr and done.stderr.count("\n") == 1
