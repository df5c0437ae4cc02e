"""FLOPs of products that PyTorch's own counter does not count. A multiply-add counts as two."""
import math
from collections.abc import Callable
from typing import Any

import torch

from emplace.torch.calls import short_name
from emplace.torch.kernels import bound_arguments

Call = dict[str, Any]  # As of bound_arguments; tensors are fake.


def _row_of(argument: str) -> Callable[[Call], int]:
    return lambda call: call[argument].size(-1)


# By op, how many products are added up for each number of the result.
_SUMMED: dict[str, Callable[[Call], int]] = {
    "dot": _row_of("self"), "vdot": _row_of("self"), "mv": _row_of("self"), "addmv": _row_of("mat"), "_int_mm": _row_of("self"),
    "_addmm_activation": _row_of("mat1"), "_euclidean_dist": _row_of("x1"), "_weight_int8pack_mm": _row_of("self"),
    "_weight_int4pack_mm": _row_of("self"), "_weight_int4pack_mm_for_cpu": _row_of("self"), "_dyn_quant_matmul_4bit": _row_of("inp"),
    "addr": lambda call: 1,
    "addbmm": lambda call: call["batch1"].size(0) * call["batch1"].size(2),
    "deform_conv2d": lambda call: call["weight"][0].numel(),
    "conv_tbc": lambda call: call["weight"].size(0) * call["weight"].size(1),
}


def _grouped_flops(call: Call) -> float:
    """Where only one of two factors has a dimension of groups, each row or column of the other is of one group."""
    first, second = call["self"], call["mat2"]
    if first.dim() > second.dim():
        return 2.0 * first.size(1) * second.numel()
    return 2.0 * first.numel() * second.size(-1)


def _trilinear_flops(call: Call) -> float:
    shapes = []
    for number in (1, 2, 3):
        shape = list(call[f"i{number}"].size())
        for dim in sorted(call[f"expand{number}"]):
            shape.insert(dim, 1)
        shapes.append(shape)
    return 2.0 * math.prod(torch.broadcast_shapes(*shapes))


# Those that are told by the arguments alone.
_FLOPS: dict[str, Callable[[Call], float]] = {
    "_grouped_mm": _grouped_flops, "_trilinear": _trilinear_flops,
    # Of transformers: each row is of one expert.
    "grouped_mm_fallback": lambda call: 2.0 * call["input"].numel() * call["weight"].size(-1),
    "grouped_mm_fallback_backward": lambda call: 4.0 * call["input"].numel() * call["weight"].size(-1),
    # Of torchvision; its backward pass makes the gradients of what is given and of the weight.
    "_deform_conv2d_backward": lambda call: 4.0 * call["grad"].numel() * call["weight"][0].numel(),
    # Gradients of what is given and of the weight.
    "conv_tbc_backward": lambda call: 4.0 * call["self"].numel() * call["weight"].size(0) * call["weight"].size(1),
}


def product_flops(op: torch._ops.OpOverload, args: tuple, kwargs: dict, result: Any) -> float | None:
    """FLOPs of a call on fake tensors with this result; None for ops that are no such product."""
    name = short_name(op)
    if name in _SUMMED:
        return 2.0 * result.numel() * _SUMMED[name](bound_arguments(op, args, kwargs))
    return _FLOPS[name](bound_arguments(op, args, kwargs)) if name in _FLOPS else None
