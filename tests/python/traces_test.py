"""Execution traces of PyTorch."""
import gzip
import json
import warnings

import emplace
import numpy as np
import pytest
import torch
from command_test import emplace_command
from torch import nn
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A training step of two layers: the trace, and the times."""
    folder = tmp_path_factory.mktemp("trace")
    model, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)), torch.randn(4, 8)
    observer = ExecutionTraceObserver().register_callback(str(folder / "trace.json"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as run:
            loss = model(x).sum()
            loss.backward()
    run.export_chrome_trace(str(folder / "times.json"))
    return folder


def test_a_training_step(recorded):
    graph = emplace.formats.load_trace(recorded / "trace.json", recorded / "times.json", kind="cpu")
    ops = {op["name"]: op for op in graph.ops}
    types = [op["type"] for op in graph.ops if op["type"] != "emplace.input"]
    # What is called inside of another op is part of it.
    assert types[:4] == ["aten.linear", "aten.relu", "aten.linear", "aten.sum"]
    assert "aten.addmm" not in types and types.count("aten.mm") == 3
    linear, relu, second, total = [name for name, op in ops.items() if op["type"] in ("aten.linear", "aten.relu", "aten.sum")][:4]
    assert ops[linear]["outputs"] == [{"bytes": 4 * 16 * 4}] and f"{linear}:0" in ops[relu]["inputs"]
    assert f"{relu}:0" in ops[second]["inputs"] and f"{second}:0" in ops[total]["inputs"]
    # The weights and the batch were there before.
    assert sorted(op["outputs"][0]["bytes"] for op in ops.values() if op["type"] == "emplace.input") == [4, 64, 64, 128, 512]
    # The whole time is that of the outermost ops.
    events = json.loads((recorded / "times.json").read_text())["traceEvents"]
    by_record = {event["args"]["Record function id"]: event["dur"] for event in events if event.get("cat") == "cpu_op"}
    for op in ops.values():
        if op["type"] != "emplace.input":
            assert op["cost_us"]["cpu"] == by_record[op["attrs"]["record"]] > 0


def test_work_of_the_gpu_counts_where_there_is_some(recorded, tmp_path):
    times = json.loads((recorded / "times.json").read_text())
    inner = next(event for event in times["traceEvents"] if event["name"] == "aten::addmm")
    times["traceEvents"].append({"cat": "kernel", "name": "k", "dur": 7.5, "args": {"External id": inner["args"]["External id"]}})
    (tmp_path / "times.json").write_text(json.dumps(times))
    graph = emplace.formats.load_trace(recorded / "trace.json", tmp_path / "times.json", kind="v100")
    costs_us = {op["type"]: op["cost_us"] for op in graph.ops if op["cost_us"] == {"v100": 7.5}}
    assert list(costs_us) == ["aten.linear"]
    assert np.nansum(graph.cost_us("v100")) == 7.5


def test_an_op_in_place_is_read_by_those_after_it(tmp_path):
    def node(index, name, schema, read, made):
        tensors = [[100 * index + i, storage, 0, 5, 4, "cpu"] for i, storage in enumerate(read)]
        return {"id": index, "name": name, "ctrl_deps": 1, "inputs": {"values": tensors},
                "outputs": {"values": [[900 + index, storage, 0, 5, 4, "cpu"] for storage in made]},
                "attrs": [{"name": "rf_id", "value": index}, {"name": "op_schema", "value": schema}]}

    nodes = [node(2, "aten::add_", "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", [1, 2], [1]),
             node(3, "aten::t", "aten::t(Tensor(a) self) -> Tensor(a)", [1], [1]),
             node(4, "aten::mul", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", [1, 2], [3])]
    (tmp_path / "trace.json").write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes}))
    (tmp_path / "times.json").write_text('{"traceEvents": [{"cat": "cpu_op", "dur": 5, "args": {"Record function id": 3}}]}')
    with pytest.warns(UserWarning, match="no time for 2 of 3 ops"):
        ops = {op["name"]: op for op in emplace.formats.load_trace(tmp_path / "trace.json", tmp_path / "times.json").ops}
    assert ops["aten::add_ 2"]["inputs"] == ["storage 1:0", "storage 2:0"] and ops["aten::add_ 2"]["outputs"] == [{"bytes": 20}]
    assert ops["aten::t 3"]["inputs"] == ["aten::add_ 2:0"] and ops["aten::t 3"]["outputs"] == []
    assert ops["aten::mul 4"]["inputs"] == ["aten::add_ 2:0", "storage 2:0"]


def trace_with(**change):
    node = {"id": 2, "name": "aten::t", "ctrl_deps": 1, "inputs": {"values": []}, "outputs": {"values": []},
            "attrs": [{"name": "rf_id", "value": 1}], **change}
    return json.dumps({"schema": "1.1.1", "nodes": [node]})


@pytest.mark.parametrize("trace, times, error", [
    ("{", "{}", r"trace\.json:1:2: is no JSON"),
    ('{"schema": "0.9", "nodes": []}', "{}", "schema is '0.9', expected an execution trace"),
    ('{"schema": "1.1.1", "nodes": [{"id": 1}]}', "{}", "node 0: has no 'attrs'"),
    (trace_with(ctrl_deps=None), "{}", "node 0: null is no whole number, expected a node of an execution trace"),
    (trace_with(name=[1]), "{}", r"node 0: \[1\] is no text"),
    (trace_with(inputs={"values": 3}), "{}", "node 0: 3 is no list"),
    (trace_with(outputs=[]), "{}", "node 0: attrs, inputs or outputs are of another form"),
    ('{"schema": "1.1.1", "nodes": []}', "[]", r"times\.json: holds \[\], expected an object"),
    ('{"schema": "1.1.1", "nodes": []}', '{"traceEvents": [3]}', r"times\.json: 3 is no event"),
    ('{"schema": "1.1.1", "nodes": []}', '{"traceEvents": [{"cat": "cpu_op", "args": {"Record function id": 1}}]}', "is no event"),
])
def test_bad_files(trace, times, error, tmp_path):
    (tmp_path / "trace.json").write_text(trace)
    (tmp_path / "times.json").write_text(times)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_trace(tmp_path / "trace.json", tmp_path / "times.json")


def test_a_trace_without_any_times_is_an_error(recorded, tmp_path):
    (tmp_path / "times.json").write_text('{"traceEvents": []}')
    with pytest.raises(emplace.BadInput, match=r"times\.json: has no time for any op of"):
        emplace.formats.load_trace(recorded / "trace.json", tmp_path / "times.json")
    with pytest.raises(emplace.BadInput, match=r"trace\.json: has no times, expected those of the same run"):
        emplace.formats.load_trace(recorded / "trace.json")


def test_compressed_files(recorded, tmp_path):
    for name in ("trace.json", "times.json"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((recorded / name).read_bytes()))
    plain = emplace.formats.load_trace(recorded / "trace.json", recorded / "times.json")
    assert emplace.formats.load_trace(tmp_path / "trace.json.gz", tmp_path / "times.json.gz").ops == plain.ops
    (tmp_path / "cut.json.gz").write_bytes((tmp_path / "trace.json.gz").read_bytes()[:100])
    with pytest.raises(emplace.BadInput, match=r"cut\.json\.gz: cannot be read: "):
        emplace.formats.load_trace(tmp_path / "cut.json.gz", tmp_path / "times.json.gz")


CHAKRA = [{"id": "0", "name": "load", "type": "MEM_LOAD_NODE", "attr": [{"name": "tensor_size", "uint64Val": "64"}]},
          {"id": "1", "name": "mm", "type": "COMP_NODE", "dataDeps": ["0"], "durationMicros": "7",
           "outputs": {"values": "[[1]]", "shapes": "[[4, 2], []]", "types": "['Tensor(float)', 'Int']"}},
          {"id": "5", "name": "send", "type": "COMM_COLL_NODE", "data_deps": [1], "ctrl_deps": [0, 1], "duration_micros": 2.5}]


@pytest.mark.parametrize("text", [json.dumps({"nodes": CHAKRA}), "\n".join(json.dumps(part, indent=2) for part in [{"version": "0.0.4"}, *CHAKRA])])
def test_chakra(text, tmp_path):
    (tmp_path / "run.0.json").write_text(text)
    with pytest.warns(UserWarning, match="1 of 3 nodes have no duration_micros"):
        graph = emplace.formats.load_trace(tmp_path / "run.0.json", kind="h100")
    load, mm, send = graph.ops
    assert [op["name"] for op in graph.ops] == ["load 0", "mm 1", "send 5"] and graph.name == "run"
    assert [op["cost_us"] for op in graph.ops] == [{"h100": 0}, {"h100": 7}, {"h100": 2.5}]
    assert load["outputs"] == [{"bytes": 64}] and mm["outputs"] == [{"bytes": 4 * 2 * 4 + 4}] and send["type"] == "COMM_COLL_NODE"
    assert mm["inputs"] == ["load 0:0"] and send["inputs"] == ["mm 1:0", "^load 0"]


@pytest.mark.parametrize("kind, size", [
    ("Tensor(c10::Half)", 2), ("Tensor(c10::BFloat16)", 2), ("Tensor(long int)", 8), ("Tensor(unsigned char)", 1), ("Tensor(signed char)", 1),
    ("Tensor(bool)", 1), ("Tensor(double)", 8), ("Tensor(new)", 4),
])
def test_types_of_chakra(kind, size, tmp_path):
    node = {"id": 1, "name": "a", "duration_micros": 1, "outputs": {"shapes": "[[3, 5]]", "types": f"['{kind}']"}}
    (tmp_path / "t.json").write_text(json.dumps({"nodes": [node]}))
    assert emplace.formats.load_trace(tmp_path / "t.json").ops[0]["outputs"] == [{"bytes": 15 * size}]


def test_ids_of_chakra_are_whole_numbers_of_64_bits(tmp_path):
    first, second = 2**53, 2**53 + 1  # One number as floats.
    nodes = [{"id": str(first), "duration_micros": 1}, {"id": second, "duration_micros": 1, "data_deps": [str(first)]}]
    (tmp_path / "t.json").write_text(json.dumps({"nodes": nodes}))
    assert [op["inputs"] for op in emplace.formats.load_trace(tmp_path / "t.json").ops] == [[], [f"{first}:0"]]


@pytest.mark.parametrize("change, error", [
    ({"durationMicros": None, "duration_micros": None}, "no node has a duration_micros"),
    ({"durationMicros": "soon"}, 'node 0: duration_micros is "soon", expected a finite number'),
    ({"durationMicros": -1}, "node 0: duration_micros is -1"),
    ({"data_deps": [77]}, "node 0: data_deps: there is no node 77"),
    ({"data_deps": 3}, "node 0: data_deps is 3, expected a list of ids"),
    ({"data_deps": [1.5]}, "node 0: data_deps is 1.5, expected a whole number"),
    ({"id": True}, "node 0: id is true"),
    ({"id": "1.0"}, 'node 0: id is "1.0", expected a whole number'),
    ({"attr": [{"name": "comm_size", "int64_val": "x"}]}, 'node 0: comm_size is "x"'),
])
def test_bad_chakra(change, error, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps({"nodes": [{"id": 1, "name": "a", **change}]}))
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_trace(tmp_path / "t.json")


def test_the_command(recorded, tmp_path):
    done = emplace_command("import", "trace", recorded / "trace.json", "--times", recorded / "times.json", "--out", tmp_path / "g.graph.json")
    assert done.returncode == 0 and "GFLOP" in done.stdout and len(emplace.Graph.load(tmp_path / "g.graph.json")) > 10
