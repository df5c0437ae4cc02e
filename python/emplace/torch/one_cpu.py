"""Fake tensors for which `cpu` and `cpu:0` are one device, as for PyTorch's real ones."""
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

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
