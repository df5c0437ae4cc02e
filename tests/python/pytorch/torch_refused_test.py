"""emplace.torch.apply: wrong input, graphs of somebody else, and what fails in a step."""
import copy
import enum
import json
import math
import re
import threading

import emplace
import numpy as np
import pytest
import torch
import torch_models as models
from torch import nn
from torch_models import Plain
from torch_steps import placed, random_plan


def test_a_plan_of_another_model_and_other_arguments(cpus):
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True)
    plan = random_plan(graph, cpus, 1)
    with pytest.raises(emplace.BadInput, match="no parameter or buffer 'first.weight'.*graph 'Mlp'"):
        emplace.torch.apply(models.cnn()[0], args, plan)
    with pytest.raises(emplace.BadInput, match=r"'first.weight' of the model is .*\[16, 8\], expected .*\[16, 8\]"):
        emplace.torch.apply(copy.deepcopy(model).double(), args, plan)
    with pytest.raises(emplace.BadInput, match=r"the tensors among the arguments are \['args\[0\]', 'args\[1\]', 'args\[2\]'\], expected"):
        emplace.torch.apply(model, (*args, args[0]), plan)
    with pytest.raises(emplace.BadInput, match=r"args\[0\] is torch.float32 of shape \[6, 8\], expected .*\[12, 8\]"):
        emplace.torch.apply(model, (args[0][:6], args[1]), plan)
    with pytest.raises(emplace.BadInput, match="kwargs is a list, expected a dict"):
        emplace.torch.apply(model, args, plan, kwargs=[1])
    with pytest.raises(emplace.BadInput, match=r"cores of 'cpu:0' are \[99999\], expected some of"):
        emplace.torch.apply(model, args, plan, cores={"cpu:0": [99999]})
    with emplace.torch.apply(model, args, plan) as step:
        with pytest.raises(emplace.BadInput, match=r"args\[0\] is torch.float32 of shape \[6, 8\], expected .*\[12, 8\]"):
            step(args[0][:6], args[1])
        with pytest.raises(emplace.BadInput, match="^the arguments are TreeSpec[^\n]*, expected TreeSpec[^\n]* as captured$"):
            step(args[0])
        with pytest.raises(emplace.BadInput, match=r"args\[0\] is a torch.sparse_coo tensor, expected a dense one"):
            step(args[0].to_sparse(), args[1])
        with pytest.raises(emplace.BadInput, match=r"args\[0\] is on the device meta"):
            step(args[0].to("meta"), args[1])
    with pytest.raises(emplace.BadInput, match="the step is closed"):
        step(*args)


@pytest.mark.parametrize("wrong, error", [
    ({"model": 1}, "model is a int, expected a torch.nn.Module"),
    ({"plan": "plan.json"}, "plan is a str, expected the emplace.Plan"),
    ({"devices": ["cpu:0"]}, "devices is a list, expected a dict"),
    ({"devices": {"cpu:0": 1}}, "devices: '1', for 'cpu:0', is no device of PyTorch"),
    ({"cores": {"cpu:0": 0}}, "cores of 'cpu:0' are 0, expected some of"),
])
def test_arguments_of_other_types(wrong, error, cpus):
    model, args = models.mlp()
    right = {"model": model, "args": args, "plan": random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)}
    with pytest.raises(emplace.BadInput, match=error):
        emplace.torch.apply(**right | wrong)


def test_a_graph_that_cannot_run(ptb, cpus):
    only_cpu = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e11)], bandwidth_bytes_per_us=1)
    with pytest.raises(emplace.BadInput, match="op 'embedding' has no attrs.name, expected a graph of emplace.torch.capture"):
        emplace.torch.apply(nn.Linear(1, 1), (), emplace.place(ptb, only_cpu, budget=2))
    ops = emplace.torch.capture(*models.mlp()).ops
    del next(op for op in ops if op["type"] == "aten.addmm")["call"]
    with pytest.raises(emplace.BadInput, match="op '.*addmm.*' has no call, expected a graph of emplace.torch.capture"):
        emplace.torch.apply(*models.mlp(), emplace.place(emplace.Graph.from_ops("bare", ops), only_cpu, budget=2))


@pytest.mark.parametrize("change, error", [
    ({"kwargs": {"beta=__import__('os').abort() or 1)#": {"const": 1, "as": "int"}}}, "'aten.addmm.default' has no argument \"beta="),
    ({"op": "aten.from_file.default", "args": [{"const": "made", "as": "str"}, {"const": True, "as": "bool"}, {"const": 4, "as": "int"}]},
     "'aten.from_file.default' reads or writes a file"),
    ({"args": [{"in": 0, "views": [["load_library.__func__.__call__", ["x"]]]}]}, "there is no op 'load_library.__func__.__call__'"),
    ({"op": "aten.save.default", "args": [{"in": 0}, {"const": "made", "as": "str"}]}, "there is no op 'aten.save.default'"),
    ({"args": [{"in": 0, "views": [["aten.save.default", ["made"]]]}]}, "there is no op 'aten.save.default'"),
    ({"args": [{"in": 0, "views": [["aten.relu.default", []]]}]}, "'aten.relu.default' is no view, expected one of aten.alias.default, "),
    ({"args": [{"in": 9}]}, "input 9 is read, expected a whole number below 3"),
    ({"args": [{"in": -1}]}, "input -1 is read"),
])
def test_a_graph_of_somebody_else_calls_ops_that_compute_and_no_more(change, error, cpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, args = models.mlp()
    ops = emplace.torch.capture(model, args, train=True).ops
    next(op for op in ops if op["type"] == "aten.addmm")["call"] |= change
    graph = emplace.Graph.from_ops("hostile", ops)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.torch.apply(model, args, emplace.Plan.of(graph, cpus, [0] * len(graph)))
    assert not list(tmp_path.iterdir())


class Wide(enum.Enum):
    NO = 0


@pytest.mark.parametrize("spec, error", [
    # What PyTorch itself would import.
    ([1, {"type": "builtins.dict", "context": json.dumps([{"__enum__": True, "fqn": "hostile:Any", "name": "x"}]),
          "children_spec": [{"type": None, "context": None, "children_spec": []}]}], "expected plain dicts"),
    ([1, {"type": "builtins.tuple", "context": "null", "children_spec": [
        {"type": "collections.defaultdict", "children_spec": [{"type": None, "context": None, "children_spec": []}],
         "context": {"default_factory_module": "hostile", "default_factory_name": "run", "dict_context": ["x"]}}]}], "expected plain dicts"),
    ([1, {"type": "no.Type", "context": "null", "children_spec": []}], "a structure that cannot be read: "),
    ([2, 3], "a structure that cannot be read: "),
    ("x", "a structure that cannot be read: "),
])
def test_a_graph_of_somebody_else_imports_nothing(spec, error, cpus, tmp_path, monkeypatch):
    (tmp_path / "hostile.py").write_text("open('made', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    model, args = Plain(lambda x: {"x": x + 1}), (torch.ones(3),)
    ops = emplace.torch.capture(model, args).ops
    op = next(op for op in ops if op["type"] == "emplace.output")
    assert "structure" in op["attrs"]
    op["attrs"]["structure"] = json.dumps({"spec": json.dumps(spec), "constants": {}})
    graph = emplace.Graph.from_ops("hostile", ops)
    with pytest.raises(emplace.BadInput, match=f"op '{op['name']}' has .*{error}"):
        emplace.torch.apply(model, args, emplace.Plan.of(graph, cpus, [0] * len(graph)))
    assert not (tmp_path / "made").exists()


def test_an_output_with_keys_of_an_enum_is_refused(cpus):
    with pytest.raises(emplace.BadInput, match="the model's output has keys of an enum"):
        emplace.torch.capture(Plain(lambda x: {Wide.NO: x + 1}), (torch.ones(3),))


@pytest.mark.parametrize("kind, change, error", [
    ("emplace.parameter", {"attrs": {}}, "has no attrs.name"),
    ("emplace.parameter", {"outputs": [{"bytes": 4}]}, r"has no outputs\[0\].shape"),
    ("emplace.input", {"outputs": [{"bytes": 4, "shape": [1], "dtype": "f99"}]}, "dtype is 'f99', expected one of f32, "),
    ("emplace.output", {"attrs": {}}, "has no attrs.index"),
])
def test_a_graph_that_does_not_say_what_its_tensors_are(kind, change, error, cpus):
    model, args = models.mlp()
    ops = emplace.torch.capture(model, args, train=True).ops
    op = next(op for op in ops if op["type"] == kind)
    op |= change
    graph = emplace.Graph.from_ops("changed", ops)
    with pytest.raises(emplace.BadInput, match=f"op '{re.escape(op['name'])}'.*{error}"):
        emplace.torch.apply(model, args, emplace.Plan.of(graph, cpus, [0] * len(graph)))


@pytest.mark.parametrize("captured, same, other", [(1, 1, 1.0), (1, 1, True), (2, 2, 3), (math.nan, float("nan"), 0.0),
                                                   (np.arange(3), np.arange(3), np.arange(3.0)), (np.ones(2), np.ones(2), np.zeros(2))])
def test_arguments_that_are_no_tensors_are_those_of_the_capture(captured, same, other, cpus):
    x = torch.ones(2)
    with placed(Plain(lambda x, factor: x * float(np.max(factor))), (x, captured), cpus) as step:
        step(x, same)
        with pytest.raises(emplace.BadInput, match="an argument is .* as captured"):
            step(x, other)


def test_an_op_that_fails_is_named(cpus):
    def ops_of(graph):
        ops = graph.ops
        mm = next(op for op in ops if op["type"] == "aten.addmm")
        mm["call"]["args"][1]["views"] = [["aten.view.default", [[-1, 3]]]]
        return mm["name"], ops

    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True)
    name, ops = ops_of(graph)
    with emplace.torch.apply(model, args, random_plan(emplace.Graph.from_ops("bad", ops), cpus, 1)) as step:
        for use in (step, step.profile):
            with pytest.raises(RuntimeError, match=f"op '{name}' failed: .*3"):
                use(*args)


def test_a_failure_on_one_device_ends_all(cpus):
    model, args = models.transformer()
    plan = random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)
    with emplace.torch.apply(model, args, plan) as step:
        bad = (args[0] + 100, args[1])  # Words that the embedding does not have.
        for _ in range(3):
            with pytest.raises(IndexError, match="op '.*embedding.*' failed: index out of range"):
                step(*bad)
            assert torch.isfinite(step(*args))
    assert not any(thread.name.startswith("emplace cpu") for thread in threading.enumerate())
