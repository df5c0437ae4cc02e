"""Placements and orders as users give them, for the C++ part."""
from collections.abc import Mapping, Sequence

import numpy as np

from emplace._core import BadInput, Graph, Machine

# Orders by the name of the device, first op to last; what `Plan.order` is.
Order = Mapping[str, Sequence[str]]


def to_array(placements, dimensions: tuple[int, ...]) -> np.ndarray:
    """int32 C-contiguous array of device indices. Raises BadInput for what holds no whole numbers of 32 bits."""
    try:
        array = np.asarray(placements)
    except ValueError:
        raise BadInput("the placements are lists of unequal lengths, expected one device index for each op") from None
    if array.dtype.kind not in "iu" or array.ndim not in dimensions:
        expected = " or ".join({1: "[num_ops]", 2: "[k, num_ops]"}[d] for d in dimensions)
        raise BadInput(f"the placement is an array of {array.dtype} with shape {list(array.shape)}, "
                       f"expected device indices (whole numbers) of shape {expected}")
    limits = np.iinfo(np.int32)
    if array.size and (array.max() > limits.max or array.min() < limits.min):
        raise BadInput("the placement holds numbers that are no device indices")
    return np.ascontiguousarray(array, dtype=np.int32)


def order_to_indices(order: Order | None, graph: Graph, machine: Machine) -> list[list[int]]:
    """[D] op indices of each device, empty without an order. Raises BadInput for a name that does not exist."""
    if not order:
        return []
    op_index = {name: index for index, name in enumerate(graph.op_names)}
    devices = [device.name for device in machine.devices]
    for device in order:
        if device not in devices:
            raise BadInput(f"order: there is no device '{device}', expected one of {', '.join(devices)}")
    indices = []
    for device in devices:
        names = list(order.get(device, ()))
        for name in names:
            if name not in op_index:
                raise BadInput(f"order: device '{device}': there is no op '{name}'")
        indices.append([op_index[name] for name in names])
    return indices


def order_to_names(orders: Sequence[Sequence[int]], graph: Graph, machine: Machine) -> dict[str, list[str]] | None:
    """The reverse of order_to_indices; None where no device has an order."""
    if not orders:
        return None
    names = graph.op_names
    return {device.name: [names[op] for op in ops] for device, ops in zip(machine.devices, orders, strict=True) if ops}


def split_device(name: str) -> tuple[str, int | None]:
    """The cuda and 1 of a device's name cuda:1. The index of a name without one is 0; None: it is no number, as in cuda:left."""
    kind, colon, index = name.partition(":")
    if not colon:
        return kind, 0
    return kind, int(index) if index.isascii() and index.isdigit() else None


def gpu_index(device: str) -> int | None:
    """The i of a device's name cuda:i or gpu:i; None for another device."""
    kind, index = split_device(device)
    return index if kind in ("cuda", "gpu") else None
