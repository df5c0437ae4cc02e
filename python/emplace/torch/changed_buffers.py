"""Buffers that a model changes while it is captured, in other ways than by ops in place."""
import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from emplace._core import BadInput


def refuse_gradient_in(buffer: str) -> None:
    raise BadInput(f"the model leaves a value that requires a gradient in buffer '{buffer}', which would go on into the next step; expected "
                   "value.detach() there, and the loss computed from the value itself")


class DataSetInPlace(TorchFunctionMode):
    """Meanwhile `tensor.data = value` copies the value into the tensor, which is an op that PyTorch records, where the assignment is none."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func != torch.Tensor.data.__set__:
            return func(*args, **(kwargs or {}))
        tensor, value = args
        if value.shape != tensor.shape or value.dtype != tensor.dtype:
            raise BadInput(f"the model sets .data of a tensor of shape {list(tensor.shape)} and {tensor.dtype} to one of shape "
                           f"{list(value.shape)} and {value.dtype}, expected the same shape and type")
        with torch.no_grad():
            return tensor.copy_(value)


class AssignedBuffers:
    """The buffers that a model's forward pass replaces by other tensors (self.mean = ...), where ops in place would change them.

    Which ones these are shows only when the pass has run. From the next run on the pass is given copies of them, since it may still
    use the tensors that it replaces, and what it leaves there is copied into the buffers at its end.
    """

    def __init__(self, model: nn.Module):
        self._model = model
        self._names: set[tuple[str, str]] = set()  # Of modules and of buffers in them.
        self._found: set[tuple[str, str]] = set()

    def found_more(self) -> bool:
        """Whether the passes since the last call have replaced buffers that are not known yet; they are known now."""
        more = self._found - self._names
        self._names |= self._found
        return bool(more)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Afterwards the model has the buffers that it had, those with new contents whose replacing is known."""
        modules = dict(self._model.named_modules())
        before = {name: dict(module._buffers) for name, module in modules.items()}
        for name, key in self._names:
            modules[name]._buffers[key] = before[name][key].clone()
        try:
            yield
            for name, module in modules.items():
                for key, tensor in before[name].items():
                    self._note(name, key, tensor, module._buffers.get(key))
        finally:
            for name, module in modules.items():
                module._buffers.clear()
                module._buffers.update(before[name])

    def _note(self, module: str, key: str, tensor: torch.Tensor | None, left: torch.Tensor | None) -> None:
        if tensor is None or left is None or left is tensor:
            return
        self._found.add((module, key))
        buffer = f"{module}.{key}" if module else key
        if left.shape != tensor.shape or left.dtype != tensor.dtype:
            raise BadInput(f"the model replaces buffer '{buffer}' by {left.dtype} of shape {list(left.shape)}, expected {tensor.dtype} of "
                           f"shape {list(tensor.shape)}, as it was")
        if left.requires_grad:
            refuse_gradient_in(buffer)
        if (module, key) in self._names:
            tensor.copy_(left)


def _bytes_of_memory(tensor: torch.Tensor) -> tuple[int, range]:
    """Which storage a tensor is in, and where in it."""
    begin = tensor.storage_offset()
    end = begin + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return tensor.untyped_storage()._cdata, range(begin * tensor.itemsize, end * tensor.itemsize if tensor.numel() else begin)


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    (storage, mine), (other_storage, others) = _bytes_of_memory(one), _bytes_of_memory(other)
    return storage == other_storage and max(mine.start, others.start) < min(mine.stop, others.stop)


def refuse_shared_memory(model: nn.Module, changed: Iterable[str]) -> None:
    """Raises BadInput where a buffer that the model changes has memory in common with another parameter or buffer: a graph would
    change the one alone."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name in changed:
        for other, tensor in tensors.items():
            if tensor is not tensors[name] and _share_memory(tensor, tensors[name]):
                raise BadInput(f"buffer '{name}', which the model changes, has memory in common with '{other}'; expected memory of its own, "
                               "as tensor.clone() has it")
