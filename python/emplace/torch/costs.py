"""FLOPs, bytes and microseconds of ATen ops, by shapes alone."""
import os
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from emplace._core import OpClass
from emplace.roofline import Roofline, host_kinds
from emplace.torch.calls import short_name
from emplace.torch.kernels import fused_flops
from emplace.torch.products import product_flops
from emplace.torch.targets import runs_on

# By the words in the names of ops; the first that fits. All else streams through memory.
_CLASSES = (
    (OpClass.CONVOLUTION, ("convolution", "deform_conv2d")),
    (OpClass.MATMUL, ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "linear", "trilinear", "matmul", "conv_tbc",
                      "euclidean_dist", "flash_attention", "efficient_attention", "scaled_dot_product", "lstm", "gru", "rnn")),
    (OpClass.GATHER, ("embedding", "index", "gather", "scatter", "nll_loss", "take", "put", "sort", "topk", "searchsorted")),
    (OpClass.REDUCTION, ("sum", "mean", "var", "std", "norm", "softmax", "max", "min", "amax", "amin", "argmax", "argmin", "pool",
                         "pool2d", "logsumexp", "cumsum", "prod", "any", "all", "loss")),
)
# Of the class GATHER, those that read all that they are given.
_READ_ALL = {"sort", "topk", "searchsorted", "nonzero"}


def _words(op: torch._ops.OpOverload) -> list[str]:
    return short_name(op).strip("_").split("_")


def _class_of(op: torch._ops.OpOverload, args: tuple) -> OpClass:
    words = _words(op)
    name = "_".join(words)
    for op_class, keys in _CLASSES:
        if any(key in words or ("_" in key and key in name) for key in keys):
            if op_class == OpClass.CONVOLUTION and _is_depthwise(name, args):
                return OpClass.DEPTHWISE
            return op_class
    return OpClass.ELEMENTWISE


def _is_depthwise(name: str, args: tuple) -> bool:
    weight = args[2] if "backward" in name else args[1]
    groups = next((arg for arg in reversed(args) if type(arg) is int), 1)
    return groups > 1 and weight.size(1) == 1


def _convolution_backward_flops(gradient: torch.Tensor, given: torch.Tensor, weight: torch.Tensor, *rest: Any) -> float:
    """As many as forwards for each of the gradients of what is given and of the weight, as far as they are asked for.

    PyTorch's own count takes the weight's gradient for one without groups.
    """
    *_, transposed, _, _, wanted = rest
    forward = 2.0 * (given if transposed else gradient).numel() * weight[0].numel()
    return forward * sum(wanted[:2])


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def bytes_of(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's elements; those that an expanded tensor repeats count once for each time."""
    return tensor.numel() * tensor.element_size()


def _held_bytes(tensor: torch.Tensor) -> int:
    """Bytes that are read from memory: an expanded tensor's elements are there once."""
    elements = tensor.element_size()
    for size, stride in zip(tensor.size(), tensor.stride(), strict=True):
        elements *= size if stride != 0 else min(size, 1)
    return elements


class CostModel(Roofline):
    """The roofline model for calls of ATen ops; one object for many ops."""

    def __init__(self, kinds: str | os.PathLike | None = None):
        """kinds: as of Roofline."""
        super().__init__(kinds)
        self._hosts = host_kinds()

    def of_op(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, result: Any) -> tuple[dict, float]:
        """Microseconds by kind, and FLOPs, of a call on (fake) tensors with this result. A multiply-add counts as two.

        An op that CPUs do not have has no time on them, so that it is not placed there.
        """
        outputs = list(_tensors(result))
        inputs = list(_tensors((args, tuple(kwargs.values()))))
        op_class = _class_of(op, args)
        count = flop_registry.get(op._overloadpacket)
        known = fused_flops(op, args, kwargs)
        if known is None:
            known = product_flops(op, args, kwargs, result)
        if known is not None:
            flops = known
        elif op._overloadpacket == torch.ops.aten.convolution_backward:
            flops = _convolution_backward_flops(*args)
        elif count is not None:
            flops = float(count(*args, **kwargs, out_val=tuple(result) if isinstance(result, list) else result))
        else:
            # One for each number read or written, whichever are more.
            flops = float(max(sum(t.numel() for t in inputs), sum(t.numel() for t in outputs), 0))
        moved = sum(map(_held_bytes, inputs)) + sum(map(bytes_of, outputs))
        if op_class == OpClass.GATHER and outputs and _READ_ALL.isdisjoint(_words(op)):
            # Only rows that are asked for are read.
            moved = min(moved, 2 * sum(map(bytes_of, outputs)) + sum(map(_held_bytes, inputs[1:])))
        half = any(t.dtype in (torch.float16, torch.bfloat16) for t in outputs)
        cost_us = self.cost_us(op_class, half, flops, moved)
        if not runs_on(op, "cpu"):
            cost_us = {kind: time_us for kind, time_us in cost_us.items() if kind not in self._hosts}
        return cost_us, flops
