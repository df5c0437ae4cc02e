"""What PyTorch calls on the devices on which a captured graph will run.

Models are traced on fake tensors of the CPU, for which PyTorch picks kernels that only CPUs have. While `kernels_of("cuda")` is
open, functions that are one kernel on a GPU call that kernel instead: autograd then calls its backward kernel, and PyTorch's shape
rules for both need no GPU. `kernels_of` works at PyTorch's Python dispatcher, so that it also holds for calls from C++.
"""
import contextlib
import math
import threading
from collections.abc import Callable

import torch
from torch._C import DispatchKey
from torch._dispatch.python import enable_python_dispatcher

from emplace._core import BadInput

aten = torch.ops.aten
TARGETS = ("cpu", "cuda")
# A process has one table of kernels: one capture at a time.
_lock = threading.RLock()
# Functions that are one kernel on CPUs and GPUs, but that PyTorch's Python dispatcher takes apart.
_WHOLE_IN_BOTH = ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
                  "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
                  "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
# Flash attention has no kernel for wider heads; fused kernels read the numbers of a head in pieces of 16 bytes.
_WIDEST_FLASH_HEAD = 256
_PIECE_BYTES = 16
# Kernels of masked attention read a mask by rows that begin at multiples of this many numbers.
_MASK_ALIGNMENT = 8


def target_of(tensors: list[torch.Tensor], target: str | None) -> str:
    """The target that was asked for, or for None the one on which the first of these tensors is. Raises BadInput."""
    if target is None:
        return "cuda" if tensors and tensors[0].device.type == "cuda" else "cpu"
    if target not in TARGETS:
        raise BadInput(f"target is '{target}', expected one of {', '.join(TARGETS)}")
    return target


def check_runs_on(op: torch._ops.OpOverload, device: torch.device, place: str) -> None:
    """Raises BadInput where PyTorch has no kernel of the op for this kind of device."""
    if not runs_on(op, device.type):
        raise BadInput(f"{place}: {op} cannot be run on {device}; place it elsewhere, or capture the model with target='{device.type}'")


def runs_on(op: torch._ops.OpOverload, target: str) -> bool:
    """Whether PyTorch has a kernel of the op for devices of this kind; kernels for GPUs only where it is built with CUDA."""
    return torch._C._dispatch_has_computed_kernel_for_dispatch_key(op.name(), target.upper())


@contextlib.contextmanager
def kernels_of(target: str):
    """Meanwhile, what is traced calls kernels of the target."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_lock)
        for name in _WHOLE_IN_BOTH:
            packet = getattr(aten, name)
            for overload in packet.overloads():
                stack.enter_context(_python_kernel(getattr(packet, overload), None))
        if target == "cuda":
            stack.enter_context(_python_kernel(aten.scaled_dot_product_attention.default, _attention))
            stack.enter_context(enable_python_dispatcher())
            # oneDNN's recurrent layers are kernels of CPUs.
            stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
            torch._C._set_mkldnn_enabled(False)
        yield


@contextlib.contextmanager
def _python_kernel(op: torch._ops.OpOverload, kernel: Callable | None):
    """Meanwhile the Python dispatcher takes the op apart by `kernel`, or for None as C++ does."""
    before = dict(op.py_kernels)
    for key in (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd):
        op.py_kernels.pop(key, None)
    if kernel is not None:
        op.py_kernels[DispatchKey.CompositeImplicitAutograd] = kernel
    op._dispatch_cache.clear()
    try:
        yield
    finally:
        op.py_kernels.clear()
        op.py_kernels.update(before)
        op._dispatch_cache.clear()


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
               dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False):
    """scaled_dot_product_attention as GPUs run it; the kernel is chosen by the rules of PyTorch 2.11 for GPUs since Ampere."""
    if attn_mask is not None and is_causal:
        raise RuntimeError("scaled_dot_product_attention: attn_mask is given together with is_causal=True")
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), -math.inf)
    if _fused_can(query, key, value, enable_gqa):
        exact_scale = 1 / math.sqrt(query.size(3)) if scale is None else scale
        if _flash_can(query, key, value, attn_mask, is_causal):
            return _flash_attention(query, key, value, dropout_p, is_causal, exact_scale)[..., :value.size(3)]
        if _efficient_can(query, key):
            return _efficient_attention(query, key, value, attn_mask, dropout_p, is_causal, exact_scale)[..., :value.size(3)]
    return aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale,
                                                   enable_gqa=enable_gqa)[0]


def _fused_can(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool) -> bool:
    """What all fused kernels ask for: [batch, heads, length, width] of one type, without a dimension of size 0."""
    tensors = (query, key, value)
    if any(t.dim() != 4 or t.dtype != query.dtype or t.size(0) != query.size(0) or 0 in t.size() for t in tensors):
        return False
    heads = key.size(1)
    return value.size(1) == heads and (query.size(1) == heads or (enable_gqa and query.size(1) % heads == 0))


def _flash_can(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, is_causal: bool) -> bool:
    return (torch.backends.cuda.flash_sdp_enabled() and mask is None and query.dtype in (torch.float16, torch.bfloat16)
            and query.size(3) == key.size(3) == value.size(3) <= _WIDEST_FLASH_HEAD
            and (not is_causal or query.size(2) == key.size(2)))


def _flash_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float, is_causal: bool,
                     scale: float) -> torch.Tensor:
    padded = [_in_pieces(tensor) for tensor in (query, key, value)]
    return aten._scaled_dot_product_flash_attention(*padded, dropout_p, is_causal, False, scale=scale)[0]


def _efficient_can(query: torch.Tensor, key: torch.Tensor) -> bool:
    return (torch.backends.cuda.mem_efficient_sdp_enabled() and query.dtype in (torch.float32, torch.float16, torch.bfloat16)
            and query.size(3) == key.size(3))


def _efficient_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, dropout_p: float,
                         is_causal: bool, scale: float) -> torch.Tensor:
    repeats = query.size(1) // key.size(1)
    if repeats > 1:  # The kernel has no groups of heads.
        key, value = (tensor.repeat_interleave(repeats, dim=1) for tensor in (key, value))
    if mask is not None:
        mask = _aligned(mask.to(query.dtype)).expand(query.size(0), query.size(1), query.size(2), key.size(2))
    padded = [_in_pieces(tensor) for tensor in (query, key, value)]
    for_backward = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in padded)
    return aten._scaled_dot_product_efficient_attention(*padded, mask, for_backward, dropout_p, is_causal, scale=scale)[0]


def _in_pieces(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with each head padded to whole pieces, which lie in memory as they follow each other."""
    missing = -tensor.size(3) % (_PIECE_BYTES // tensor.element_size())
    if missing:
        return torch.nn.functional.pad(tensor, (0, missing))
    return tensor if tensor.stride(3) == 1 else tensor.contiguous()


def _aligned(mask: torch.Tensor) -> torch.Tensor:
    """The mask, in memory with padded rows if need be."""
    if mask.stride(-1) == 1 and all(stride % _MASK_ALIGNMENT == 0 for stride in mask.stride()[:-1]):
        return mask
    length = mask.size(-1)
    return torch.nn.functional.pad(mask, (0, _MASK_ALIGNMENT - length % _MASK_ALIGNMENT))[..., :length]
