"""Fake tensors: `cpu` and `cpu:0` are one device for them, as for PyTorch's real ones, and they have no values."""
import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode, is_fake

_CPU = torch.device("cpu")


class OneCpuMode(FakeTensorMode):
    """Also knows the op that was begun last, for errors."""

    op = ""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace != "prim":
            self.op = str(func)
        device = (kwargs or {}).get("device")
        if device is not None and torch.device(device).type == "cpu":
            kwargs = {**kwargs, "device": _CPU}
        return super().__torch_dispatch__(func, types, args, kwargs)


def _refused_for_fakes(name: str) -> Callable:
    method = getattr(torch.Tensor, name)

    def call(tensor: torch.Tensor, *args, **kwargs):
        if is_fake(tensor):
            raise DataDependentOutputException(f"torch.Tensor.{name}")
        return method(tensor, *args, **kwargs)
    return call


@contextlib.contextmanager
def values_refused() -> Iterator[None]:
    """Meanwhile fake tensors make no arrays and lists: PyTorch would make them of memory that nobody has written."""
    with mock.patch.multiple(torch.Tensor, **{name: _refused_for_fakes(name) for name in ("numpy", "tolist", "__array__")}):
        yield
