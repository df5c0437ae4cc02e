"""Kernels that fuse many ops: FLOPs of attention and recurrent layers, and memory that these, convolutions and products take."""
import math
from typing import Any

import torch
from torch import fx

from emplace.torch.calls import short_name

# Sizes of the blocks in which kernels of attention work.
_CPU_KEYS_BLOCK = 512
_FLASH_ROWS, _FLASH_COLUMNS = 128, 32
_EFFICIENT_WIDEST_IN_REGISTERS = 128
# Channels in the blocks of oneDNN's convolutions, and the number below which it reads images as they are.
_BLOCK, _SMALL_BLOCK, _FEW_CHANNELS = 16, 8, 4
_WIDEST_KERNEL = 14  # For which oneDNN does not multiply matrices of patches.
# Images and numbers from which on ATen has oneDNN compute convolutions that would be fast without it.
_ONEDNN_BATCH, _ONEDNN_NUMBERS = 16, 20480
# The matrices of products, by the names of the ops' arguments.
_MATRICES = {"mm": ("self", "mat2"), "addmm": ("mat1", "mat2"), "bmm": ("self", "mat2"), "baddbmm": ("batch1", "batch2"),
             "mv": ("self",), "addmv": ("mat",)}
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


def temporary_bytes(op: torch._ops.OpOverload, args: tuple, kwargs: dict, result: Any) -> int:
    """Bytes that a call with this result allocates while it runs, beside the result, on the CPU for one thread. Fused kernels of
    attention, convolutions, and products of matrices that lie neither row by row nor column by column have such; others count as 0.
    """
    name = short_name(op)
    if name in _MATRICES:
        call = bound_arguments(op, args, kwargs)
        return _product_bytes([call[argument] for argument in _MATRICES[name]])
    if name in ("convolution", "convolution_backward"):
        return _convolution_bytes(bound_arguments(op, args, kwargs), result, "backward" in name)
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


def _product_bytes(matrices: list[torch.Tensor]) -> int:
    """Copies of matrices that BLAS cannot read where they lie. ATen multiplies such a batch matrix by matrix."""
    def is_read(rows: int, columns: int, row_stride: int, column_stride: int) -> bool:
        return (column_stride == 1 and row_stride >= max(columns, 1)) or (row_stride == 1 and column_stride >= max(rows, 1))

    return sum(matrix.size(-2) * matrix.size(-1) * matrix.element_size() for matrix in matrices
               if not is_read(*matrix.size()[-2:], *matrix.stride()[-2:]))


def _convolution_bytes(call: dict[str, Any], result: Any, backward: bool) -> int:
    """Measured on a CPU with AVX-512: oneDNN copies tensors into blocks of channels, and its result from there."""
    given, weight = call["input"], call["weight"]
    images = [given, call["grad_output"]] if backward else [given]
    by_channels = _lies_by_channels(given) or _lies_by_channels(weight)
    copied = sum(image.nbytes for image in images
                 if not (_lies_by_channels(image) or image.size(1) == 1 if by_channels else image.is_contiguous()))
    if not _is_of_onednn(call):
        outer = given if call["transposed"] else images[1] if backward else result
        patches = outer.numel() // outer.size(1) * weight[0].numel() * weight.element_size()
        return copied + (patches if max(weight.size()[2:]) > 1 else 0)
    if by_channels:
        return copied + (3 if backward else 2) * weight.nbytes
    if not backward:
        return copied + _peak_of_forward(call, given, result, call["transposed"]) - result.nbytes
    gradient, wanted = images[1], call["output_mask"]
    peaks = []
    if wanted[0]:  # As a convolution of the other kind.
        peaks.append(_peak_of_forward(call, gradient, given, not call["transposed"]))
    if wanted[1]:
        peaks.append((given.nbytes if wanted[0] else 0) + weight.nbytes + _blocks_for_weights(call, given, gradient))
    outputs = sum(tensor.nbytes for tensor, is_wanted in zip((given, weight), wanted) if is_wanted)
    return copied + max(0, max(peaks, default=0) - outputs)


def _lies_by_channels(tensor: torch.Tensor) -> bool:
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    return layout is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=layout)


def _is_of_onednn(call: dict[str, Any]) -> bool:
    """As ATen decides on one thread."""
    given, kernel = call["input"], call["weight"].size()[2:]
    pays = max(*call["stride"], *call["dilation"], *kernel) > 1 or given.size(0) >= _ONEDNN_BATCH
    large = call["groups"] > 1 or given.size(0) > 1 or given.numel() > _ONEDNN_NUMBERS or (len(kernel) > 1 and min(kernel[-2:]) > 3)
    return given.dtype != torch.float64 and pays and large


def _blocks(tensor: torch.Tensor, channels: int) -> int:
    """Bytes of a tensor whose channels are filled up to a multiple."""
    return tensor.nbytes // tensor.size(1) * _round_up(tensor.size(1), channels)


def _peak_of_forward(call: dict[str, Any], given: torch.Tensor, result: torch.Tensor, transposed: bool) -> int:
    """Bytes of a result and of what else is held while it is made. The gradient of what a convolution is given is a transposed one."""
    weight = call["weight"]
    is_depthwise = call["groups"] > 1 and weight.size(1) == 1
    if transposed and max(call["stride"]) > 1 and not is_depthwise:
        return max(given.nbytes + weight.nbytes + result.nbytes, 3 * result.nbytes)
    is_copied = transposed or given.size(1) % _BLOCK == 0
    padded = _blocks(result, _BLOCK)
    # Bias of a transposed convolution is added in a further tensor.
    further = result.nbytes if transposed and call.get("bias") is not None else 0
    weights = weight.nbytes * (1 if is_depthwise else padded) // (1 if is_depthwise else result.nbytes)
    return max((_blocks(given, _BLOCK) if is_copied else 0) + weights + padded + further, padded + result.nbytes)


def _blocks_for_weights(call: dict[str, Any], given: torch.Tensor, gradient: torch.Tensor) -> int:
    weight, groups = call["weight"], call["groups"]
    if weight.size(-1) > _WIDEST_KERNEL:  # By patches of an image, or of a layer of one with three dimensions.
        return math.prod(gradient.size()[2:][-2:]) * weight[0].nbytes + 4 * weight.nbytes
    if groups > 1 and weight.size(1) > 1 and weight.size(1) % _SMALL_BLOCK != 0:
        return 0
    if groups == 1 and given.size(1) < _FEW_CHANNELS:
        return _blocks(gradient, _BLOCK)
    return _blocks(given, _SMALL_BLOCK) + _blocks(gradient, _SMALL_BLOCK)


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
