"""Which module each op of a captured graph belongs to, against hooks on a plain run."""
import collections

import emplace
import emplace.torch
import pytest
import torch
import torch_models as models
from emplace import modules
from emplace.torch import tracing
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class Block(nn.Module):
    def __init__(self, width, first):
        super().__init__()
        self.linear, self.norm, self.first = nn.Linear(width, width), nn.LayerNorm(width), first

    def forward(self, x):
        y = torch.relu(self.linear(self.norm(x)))
        return x + y if self.first else y + x


class Residual(nn.Module):
    """Blocks of `x + f(x)`, or of `f(x) + x`, with a loss."""

    def __init__(self, first, blocks=6, width=16):
        super().__init__()
        self.embedding = nn.Linear(width, width)
        self.blocks = nn.ModuleList([Block(width, first) for _ in range(blocks)])

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


class Twice(nn.Module):
    """Two modules that share a weight, and one that is called twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.shared = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        x = self.shared(torch.tanh(self.first(x)))
        return (x + self.shared(torch.tanh(self.second(x)))).square().mean()


MAKERS = [models.mlp, models.cnn, models.transformer, lambda: (Residual(True), (torch.randn(4, 16),)),
          lambda: (Residual(False), (torch.randn(4, 16),)), lambda: (Twice(), (torch.randn(4, 8),))]
# Ops that are the same under another name in a graph without side effects.
SAME = {"add_": "add", "mul_": "mul", "div_": "div", "relu_": "relu", "addmm": "addmm"}


class Plain(TorchDispatchMode):
    """Counts the ops of a plain forward pass by the module that runs, and by name."""

    def __init__(self, model):
        super().__init__()
        self.counts, self.stack = collections.Counter(), [""]
        for name, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, name=name: self.stack.append(name))
            module.register_forward_hook(lambda *_: self.stack.pop() and None)

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        name = op._schema.name.split("::")[-1]
        self.counts[self.stack[-1], SAME.get(name, name)] += 1
        return op(*args, **(kwargs or {}))


@pytest.mark.parametrize("make", MAKERS)
def test_forward_ops_belong_to_the_module_that_runs(make):
    torch.manual_seed(0)
    model, args = make()
    graph = emplace.torch.capture(model, args, train=True)
    counts = collections.Counter()
    for op, module in zip(graph.ops, modules.module_of_op(graph), strict=True):
        if op.get("attrs", {}).get("pass") == "forward":
            counts[module, op["type"].removeprefix("aten.")] += 1
    plain = Plain(model)
    with plain:
        model(*args)
    # Views are no ops of the graph, and a few ops have others' names there; dropout by 0 is a copy.
    both = {name for _, name in counts} & {name for _, name in plain.counts} - {"clone"}
    assert both >= {"addmm"} and len(both) >= 0.6 * len({name for _, name in counts})
    assert {key: count for key, count in counts.items() if key[1] in both} == {
        key: count for key, count in plain.counts.items() if key[1] in both}


@pytest.mark.parametrize("make", MAKERS)
def test_backward_ops_belong_to_the_module_of_their_forward_op(make, monkeypatch):
    traces = []
    record = tracing._training_trace
    monkeypatch.setattr(tracing, "_training_trace", lambda *given: traces.append(record(*given)) or traces[-1])
    emplace.torch.capture(*make(), train=True)
    trace, = traces
    # Each backward op of autograd's node of a number, against the forward op during which autograd has made that node.
    made = {}
    for node in trace.module.graph.nodes:
        if node.meta.get("partitioner_tag") == "is_forward" and "seq_nr" in node.meta:
            made.setdefault(node.meta["seq_nr"], node)
    compared = 0
    for node in trace.module.graph.nodes:
        if node.meta.get("partitioner_tag") == "is_backward" and not node.meta.get("is_gradient_acc"):
            forward = made.get(node.meta.get("seq_nr"))
            if forward is not None:
                compared += 1
                assert trace.modules[node] == trace.modules[forward], (node, forward)
    assert compared >= 10


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("microbatches", [1, 4])
def test_equal_blocks_have_equal_ops(first, microbatches):
    graph = emplace.torch.capture(Residual(first), (torch.empty(8, 16),), train=True, microbatches=microbatches, optimizer="adam")
    blocks = [f"blocks.{index}" for index in range(6)]
    owners = modules.blocks_of_op(graph, blocks)
    per_block = [collections.Counter() for _ in blocks]
    load_us = [0.0] * len(blocks)
    for op, owner, cost_us in zip(graph.ops, owners, graph.cost_us("a100"), strict=True):
        if owner in blocks:
            per_block[blocks.index(owner)][op["type"]] += 1
            load_us[blocks.index(owner)] += cost_us
    assert all(block == per_block[0] for block in per_block)
    assert load_us == pytest.approx([load_us[0]] * len(blocks))
    # Norm, product, relu and sum of each micro-batch are in the block.
    for kind in ("native_layer_norm", "addmm", "relu", "add"):
        assert per_block[0][f"aten.{kind}"] >= microbatches


def test_copies_and_results_have_a_module():
    graph = emplace.torch.capture(Residual(True), (torch.empty(8, 16),), train=True, microbatches=4, optimizer="adam")
    owners = dict(zip(graph.op_names, modules.module_of_op(graph), strict=True))
    for op in graph.ops:
        if "copy_of" in op:
            assert owners[op["name"]] == owners[op["copy_of"]]
        if op["type"] in ("emplace.gradient", "emplace.update"):
            assert owners[op["name"]] == op["attrs"]["name"].rpartition(".")[0]
        if op["type"] in ("emplace.output", "emplace.input"):
            assert owners[op["name"]] == ""


def test_without_attributes_ops_belong_to_their_parameters_module():
    graph = emplace.torch.capture(Residual(False), (torch.empty(8, 16),))
    ops = [op | {"attrs": {key: value for key, value in op.get("attrs", {}).items() if key != "module"}} for op in graph.ops]
    older = emplace.Graph.from_ops("older", ops)
    known = dict(zip(older.op_names, modules.module_of_op(older), strict=True))
    for op, owner in zip(graph.ops, modules.module_of_op(graph), strict=True):
        if op["type"] in ("aten.addmm", "emplace.parameter"):
            assert known[op["name"]] == owner


def test_the_file_keeps_the_modules(tmp_path):
    graph = emplace.torch.capture(Residual(True), (torch.empty(8, 16),), train=True)
    graph.save(tmp_path / "g.graph.json")
    assert modules.module_of_op(emplace.Graph.load(tmp_path / "g.graph.json")) == modules.module_of_op(graph)
