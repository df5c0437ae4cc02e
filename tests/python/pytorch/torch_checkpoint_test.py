"""Gradient checkpointing in captured graphs: what PyTorch computes again is in the graph, and is run again."""
import copy
import functools

import emplace
import emplace.torch
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts

PRODUCTS = ("mm", "addmm")
MACHINE = emplace.Machine([emplace.Device("cpu:0", "cpu", 8e9)], bandwidth_bytes_per_us=5000)
SAVE_PRODUCTS = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])


def _nested(layer, x):
    return checkpoint(lambda y: 2 * checkpoint(layer, y, use_reentrant=False), x, use_reentrant=False)


WAYS = {
    "none": lambda layer, x: layer(x),
    "not reentrant": functools.partial(checkpoint, use_reentrant=False),
    "reentrant": functools.partial(checkpoint, use_reentrant=True),
    "selective": functools.partial(checkpoint, use_reentrant=False, context_fn=SAVE_PRODUCTS),
    "nested": _nested,
    "sequential": lambda layer, x: checkpoint_sequential(layer, 2, x, use_reentrant=False),
}


class Net(nn.Module):
    def __init__(self, way, dropout=0.0, width=8, layers=3):
        super().__init__()
        self.way, self.first = way, nn.Linear(width, width)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(dropout),
                                                   nn.Linear(4 * width, width)) for _ in range(layers)])

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = x + WAYS[self.way](layer, x)
        return x.square().mean()


class Count(TorchDispatchMode):
    products = 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.products += op._schema.name.split("::")[-1] in PRODUCTS
        return op(*args, **(kwargs or {}))


def _products(graph):
    return sum(op["type"].removeprefix("aten.") in PRODUCTS for op in graph.ops)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("way", WAYS)
def test_as_many_products_and_the_same_bits_as_in_pytorch(way, dropout):
    torch.manual_seed(0)
    model, x = Net(way, dropout), torch.randn(5, 8)
    plain = copy.deepcopy(model)
    with Count() as count:
        copy.deepcopy(model)(x).backward()
    graph = emplace.torch.capture(model, (x,), train=True)
    assert _products(graph) == count.products
    with emplace.torch.apply(model, (x,), emplace.place(graph, MACHINE, method="single")) as step:
        torch.manual_seed(1)
        loss = step(x)
    torch.manual_seed(1)
    expected = plain(x)
    expected.backward()
    assert torch.equal(loss, expected)
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(parameter.grad, other.grad), name


def test_numbers_drawn_anew_are_drawn_anew():
    """With preserve_rng_state=False, the second run draws other numbers, in PyTorch and in the graph."""
    class Anew(Net):
        def forward(self, x):
            return checkpoint(self.layers[0], x, use_reentrant=False, preserve_rng_state=self.way == "kept").square().mean()
    drawn = {}
    for way in ("kept", "anew"):
        graph = emplace.torch.capture(Anew(way, 0.5), (torch.empty(5, 8),), train=True)
        drawn[way] = sum("dropout" in op["type"] and "backward" not in op["type"] or "bernoulli" in op["type"] for op in graph.ops)
    assert drawn["anew"] == 2 * drawn["kept"] == 2


@pytest.mark.parametrize("microbatches", [1, 4])
def test_the_peak_falls_by_what_is_not_kept(microbatches):
    peaks = {}
    machine = emplace.Machine([emplace.Device("gpu:0", "a100", 40e9)], bandwidth_bytes_per_us=12000)
    for way in ("none", "not reentrant"):
        graph = emplace.torch.capture(Net(way, width=64, layers=8), (torch.empty(2048, 64),), train=True, microbatches=microbatches)
        # One micro-batch after the other, each in the order of its capture.
        peaks[way] = emplace.simulate(graph, machine, np.zeros(len(graph), int), order={"gpu:0": graph.op_names}).peak_bytes[0]
    # Seven of eight layers keep two tensors of [2048 / microbatches, 256] less.
    assert peaks["none"] - peaks["not reentrant"] >= 6 * 2 * 2048 * 256 * 4 / microbatches


@pytest.mark.parametrize("way", ["not reentrant", "reentrant", "nested"])
def test_a_second_run_begins_after_a_gradient(way):
    graph = emplace.torch.capture(Net(way), (torch.empty(5, 8),), train=True)
    ops = graph.ops
    has_gradient: set[str] = set()  # Ops that come after the gradient of a square, with which the backward pass begins.
    for index in graph.topological_order:
        sources = [text[1:] if text.startswith("^") else text.rpartition(":")[0] for text in ops[index].get("inputs", [])]
        if ops[index]["type"] == "aten.ones" or has_gradient.intersection(sources):
            has_gradient.add(ops[index]["name"])
    again = [op["name"] for op in ops if op.get("attrs", {}).get("pass") == "backward" and op["type"] in ("aten.gelu", "aten.addmm")]
    assert len(again) >= 6 and has_gradient.issuperset(again)


def test_a_second_run_belongs_to_the_same_modules():
    from emplace import modules
    graph = emplace.torch.capture(Net("not reentrant"), (torch.empty(5, 8),), train=True)
    of_type = [(op["attrs"]["pass"], owner) for op, owner in zip(graph.ops, modules.module_of_op(graph), strict=True) if op["type"] == "aten.gelu"]
    names = [f"layers.{index}.1" for index in range(3)]
    assert of_type == [("forward", name) for name in names] + [("backward", name) for name in reversed(names)]
