"""Kernels that fuse many ops: FLOPs of attention and recurrent layers, and memory that these and convolutions take."""
from typing import Any

import torch
from torch import fx

from emplace.torch.calls import short_name

# Sizes of the blocks in which kernels of attention work.
_CPU_KEYS_BLOCK = 512
_FLASH_ROWS, _FLASH_COLUMNS = 128, 32
_EFFICIENT_WIDEST_IN_REGISTERS = 128
_FEW_CHANNELS = 4
# oneDNN's parts of a workspace begin at whole pages; rows in it are of whole cache lines, and not of multiples of 256 numbers.
_PAGE_BYTES, _LINE_BYTES, _CROWDED_ROW = 4096, 64, 256
_LSTM = torch.ops.aten.mkldnn_rnn_layer.default
# Outputs, by their index, that ops make for their backward pass, and only while PyTorch records gradients.
WORKSPACE_OF = {_LSTM: 3}


def bound_arguments(op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> dict[str, Any]:
    """The arguments of a call by their names in the op's schema, defaults too."""
    schema = op._schema.arguments
    given = dict(zip((argument.name for argument in schema), args, strict=False)) | kwargs
    return {argument.name: given.get(argument.name, argument.default_value) for argument in schema}


def fused_flops(op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> float | None:
    """FLOPs of the products in a fused kernel; None for other ops. A multiply-add counts as two."""
    name = short_name(op)
    if _is_attention(name):
        return _attention_flops(bound_arguments(op, args, kwargs), "backward" in name)
    if "_rnn" in name:
        return _recurrent_flops(bound_arguments(op, args, kwargs), "backward" in name)
    return None


def temporary_bytes(op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> int:
    """Bytes that a fused kernel of attention or a convolution allocates while it runs, on the CPU for one thread; 0 for other ops."""
    name = short_name(op)
    if name in ("convolution", "convolution_backward"):
        return _convolution_bytes(bound_arguments(op, args, kwargs), "backward" in name)
    if not _is_attention(name):
        return 0
    rule = next(rule for word, rule in _TEMPORARY_BYTES if word in name)
    return int(rule(bound_arguments(op, args, kwargs), "backward" in name))


def _is_attention(name: str) -> bool:
    return name.startswith("_scaled_dot_product_") and "_attention" in name and "math" not in name


def size_workspaces(graph: fx.Graph) -> None:
    """Gives what an LSTM keeps for its backward pass the size that it has on a CPU. PyTorch's shape rules say that it is empty."""
    for node in graph.find_nodes(op="call_function", target=_LSTM):
        for item in [user for user in node.users if user.args[1] == WORKSPACE_OF[_LSTM] and user.users]:
            call = bound_arguments(node.target, node.args, node.kwargs)
            size = _lstm_workspace_bytes(call["input"].meta["val"], call["hidden_size"])
            item.meta["val"] = item.meta["val"].new_empty(size)
            node.meta["val"] = (*node.meta["val"][:-1], item.meta["val"])


def _lstm_workspace_bytes(given: torch.Tensor, hidden: int) -> int:
    """Of oneDNN 3's LSTM layer in one direction, within a page (measured on a CPU with AVX-512). given: [steps, batch, width]"""
    steps, batch, width = given.size()
    size = given.element_size()

    def part(rows: int, row_bytes: int) -> int:
        return _round_up(batch * rows * row_bytes, _PAGE_BYTES)

    def row(numbers: int, number_bytes: int) -> int:
        aligned = _round_up(numbers, _LINE_BYTES // number_bytes)
        return aligned * number_bytes + (_LINE_BYTES if aligned % _CROWDED_ROW == 0 else 0)

    widest = max(width, hidden)
    # Each state is there before and after each step, and once more as what the layer is given.
    states = 2 * part(2 * (steps + 1), row(widest, size)) + part(2 * (steps + 1), row(widest, 4))
    gates = part(steps, row(4 * hidden, size)) + part(steps, 4 * 4 * hidden) + part(1, 4 * 4 * hidden)
    return states + gates + part(steps, row(hidden, size))


def _sizes(call: dict[str, Any]) -> tuple[int, int, int, int, int, int]:
    """Batch, heads, length of query and of key, width of query and of value."""
    batch, heads, length, width = call["query"].size()
    return batch, heads, length, call["key"].size(2), width, call["value"].size(3)


def _attention_flops(call: dict[str, Any], backward: bool) -> float:
    batch, heads, length, keys, width, value_width = _sizes(call)
    # Under a causal mask, query i sees i + 1 keys; kernels skip the others.
    seen = min(length, keys)
    pairs = seen * (seen + 1) // 2 + (length - seen) * keys if call["is_causal"] else length * keys
    # Forward, Q K' and P V; backward, Q K' again, and the gradients of Q, K, P and V.
    widths = 3 * width + 2 * value_width if backward else width + value_width
    return 2.0 * batch * heads * pairs * widths


def _recurrent_flops(call: dict[str, Any], backward: bool) -> float:
    weights = [value for name, value in call.items() if name.startswith("weight")]
    weights = [tensor for value in weights for tensor in (value if isinstance(value, (list, tuple)) else [value])]
    # Each matrix is multiplied with a vector for each step of each example; backward, there are the gradients of both.
    steps = call["input"].numel() // call["input"].size(-1)
    elements = sum(tensor.numel() for tensor in weights if isinstance(tensor, torch.Tensor) and tensor.dim() == 2)
    return 2.0 * steps * elements * (2 if backward else 1)


def _convolution_bytes(call: dict[str, Any], backward: bool) -> int:
    # The weights, or their gradient, once more in the library's own order. For images of few channels oneDNN pads the channels and
    # has three copies of the gradient (measured with convolutions of 3 channels, 7 to 32 wide).
    weight = call["weight"]
    few_channels = weight.size(0 if call["transposed"] else 1) < _FEW_CHANNELS
    return weight.nbytes * (4 if backward and call["output_mask"][1] and few_channels else 1)


def _cpu_attention_bytes(call: dict[str, Any], backward: bool) -> int:
    batch, heads, length, keys, _, value_width = _sizes(call)
    rows = min(length, 256 if length >= 768 else 64 if length >= 192 else 32)
    scores = rows * min(keys, _CPU_KEYS_BLOCK)
    if backward:  # Scores and their gradients, row sums, and a copy of the output's gradient that does not lie row by row.
        gradient = call["grad_out"]
        return 4 * (2 * scores + rows) + (0 if gradient.transpose(1, 2).is_contiguous() else gradient.nbytes)
    half = scores * call["query"].element_size() if call["query"].element_size() < 4 else 0
    return 4 * (scores + 2 * rows + rows * value_width) + half


def _flash_attention_bytes(call: dict[str, Any], backward: bool) -> int:
    if not backward:
        return 0
    batch, heads, length, keys, width, value_width = _sizes(call)
    rows = _round_up(length, _FLASH_ROWS)
    # In f32, the gradient of Q and the sums of each row; with groups of heads, gradients of K and V by head.
    grouped = batch * heads * keys * (width + value_width) * call["query"].element_size() if call["key"].size(1) < heads else 0
    return 4 * batch * heads * rows * (_round_up(width, _FLASH_COLUMNS) + 1) + grouped


def _efficient_attention_bytes(call: dict[str, Any], backward: bool) -> int:
    batch, heads, length, keys, width, value_width = _sizes(call)
    rows = batch * heads * length
    is_half = call["query"].element_size() < 4
    wide = max(width, value_width) > _EFFICIENT_WIDEST_IN_REGISTERS
    if not backward:
        return 4 * rows * value_width if is_half and value_width > _EFFICIENT_WIDEST_IN_REGISTERS else 0
    if not is_half:  # The product of output and gradient, and its sums by row in two layouts.
        return 4 * rows * (value_width + 2)
    # In f32, the sums by row and the gradient of Q, and of K and V where these do not fit the registers.
    return 4 * rows * (1 + width) + (4 * batch * heads * keys * (width + value_width) if wide else 0)


# By a word in the name of the op.
_TEMPORARY_BYTES = (("for_cpu", _cpu_attention_bytes), ("efficient", _efficient_attention_bytes), ("", _flash_attention_bytes))


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
