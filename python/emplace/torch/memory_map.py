"""The placement that Hugging Face accelerate's `device_map="auto"` stands for, to compare plans with."""
import logging

import numpy as np
from torch import nn

from emplace._core import Graph, Machine
from emplace.modules import is_inside, module_of_op
from emplace.torch.logs import quiet


def placement_of_auto_map(model: nn.Module, graph: Graph, machine: Machine) -> np.ndarray | None:
    """[n] device of each op where the machine's devices are filled with the model's modules, one device after the other.

    None where accelerate is not installed, or the modules do not fit the memory of the devices.
    """
    try:
        from accelerate import infer_auto_device_map
    except ModuleNotFoundError:
        return None
    # It warns of numbers that are no GPUs of this computer; here they stand for the machine's devices.
    with quiet("accelerate", logging.ERROR):
        device_of = infer_auto_device_map(model, no_split_module_classes=getattr(model, "_no_split_modules", None), max_memory={
            index: int(device.memory_bytes) for index, device in enumerate(machine.devices)})
    if not all(isinstance(device, int) for device in device_of.values()):
        return None  # Some modules would be on the disk.

    def device(module: str) -> int:
        holders = [name for name in device_of if not name or is_inside(module, name)]
        return device_of[max(holders, key=len)] if holders else min(device_of.values())

    modules = module_of_op(graph)
    known = {module: device(module) for module in set(modules)}
    return np.array([known[module] for module in modules], dtype=np.int32)
