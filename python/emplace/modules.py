"""Plans for runtimes that place whole modules: which module each op of a captured graph belongs to, and what follows for modules.

A module is known by its name in the model, such as layers.3.linear1. An op belongs to the module that was running when it was
captured, a backward op to that of its forward op (`attrs.module`); what belongs to a parameter or buffer, to the module that holds
it. In graphs without attrs.module, any other op belongs to the module whose parameter it reads, or else to that of its first input.
Ops of the model's own code belong to "".
"""
import re
from collections.abc import Sequence

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.dataflow import producer
from emplace.simulation import missing_bytes, simulate


def module_of_op(graph: Graph) -> list[str]:
    """[n] name of each op's module. Raises BadInput for a graph without parameters of a model."""
    ops = graph.ops
    if ops and all("module" in op.get("attrs", {}) for op in ops):
        return [op["attrs"]["module"] for op in ops]
    index_of = {op["name"]: index for index, op in enumerate(ops)}
    owner = {index: op["attrs"]["name"].rpartition(".")[0] for index, op in enumerate(ops)
             if op["type"] == "emplace.parameter" and "name" in op.get("attrs", {})}
    if not owner:
        raise BadInput(f"graph '{graph.name}' has no parameters with names, expected one of emplace.torch.capture")
    producers = [[producer(text, index_of) for text in op["inputs"]] for op in ops]
    inputs = [[index for index, output in pairs if output is not None] for pairs in producers]
    module: dict[int, str] = dict(owner)
    for index, op in enumerate(ops):
        attrs = op.get("attrs", {})
        if op["type"] in ("emplace.gradient", "emplace.update", "emplace.refresh", "emplace.buffer"):
            module[index] = attrs["name"].rpartition(".")[0]
        elif "module" in attrs:
            module[index] = attrs["module"]
    is_marked = any("module" in op.get("attrs", {}) for op in ops)
    # The sums of a parameter's gradients over micro-batches are in its group, and so are the parameter and its update.
    of_group = {op["group"]: module[index] for index, op in enumerate(ops) if "group" in op and index in module}
    for index, op in enumerate(ops):
        if op.get("group") in of_group:
            module.setdefault(index, of_group[op["group"]])
            for source in inputs[index]:
                module.setdefault(source, module[index])
    for index in graph.topological_order:
        if index not in module:
            known = [owner[source] for source in inputs[index] if source in owner]
            module[index] = known[0] if known else module[inputs[index][0]] if inputs[index] and not is_marked else ""
    return [module[index] for index in range(len(ops))]


def is_inside(name: str, block: str) -> bool:
    """Whether a module is this block or in it."""
    return name == block or name.startswith(f"{block}.")


def blocks_of_op(graph: Graph, blocks: Sequence[str]) -> list[str]:
    """[n] the block that holds each op's module, or else the module. Raises BadInput for a block that there is not."""
    modules = module_of_op(graph)
    for index, block in enumerate(blocks):
        if any(is_inside(block, other) for other in [*blocks[:index], *blocks[index + 1:]]):
            raise BadInput(f"blocks: '{block}' is in another block or given twice, expected blocks that have nothing in common")
    block_of = {module: next((block for block in blocks if is_inside(module, block)), module) for module in set(modules)}
    missing = [block for block in blocks if block not in block_of.values()]
    if missing:
        raise BadInput(f"blocks: the model has no module '{missing[0]}'")
    return [block_of[module] for module in modules]


def device_of_module(graph: Graph, machine: Machine, placement: np.ndarray, blocks: Sequence[str]) -> dict[str, int]:
    """Index of the device for each module, by where most of its computing time is; a block's modules together.

    Where modules as a whole need more memory there than a device has, some go elsewhere (_fitting). Raises BadInput where that is not
    enough.
    """
    names = blocks_of_op(graph, blocks)
    index_of = {name: index for index, name in enumerate(dict.fromkeys(names))}
    of_op = np.array([index_of[name] for name in names])
    cost_us = np.array([graph.cost_us(device.kind) for device in machine.devices])[placement, np.arange(len(placement))]
    votes = np.zeros((len(index_of), len(machine), 2))  # Of each module on each device: computing time, and bytes of parameters.
    np.add.at(votes, (of_op, placement), np.stack([cost_us, graph.param_bytes], axis=1))
    # Modules that compute nothing go where most of their bytes are.
    votes = np.where(votes[:, :, 0].any(axis=1, keepdims=True), votes[:, :, 0], votes[:, :, 1])
    devices = votes.argmax(axis=1)
    if not np.array_equal(devices[of_op], placement):
        devices = _fitting(graph, machine, of_op, votes)
    return {name: int(device) for name, device in zip(index_of, devices, strict=True)}


def _fitting(graph: Graph, machine: Machine, of_op: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """[m] the device of each module with the most votes [m, D], but for modules that leave a device whose memory is too small.

    Of a device's modules the one that has the smallest part of its votes there leaves first; it goes to the device with the most votes
    of those that have room. of_op: [n] index of each op's module.
    """
    memory = np.array([device.memory_bytes for device in machine.devices])
    param_bytes = np.bincount(of_op, weights=graph.param_bytes, minlength=len(votes))
    runs = np.ones(votes.shape, dtype=bool)  # [m, D] whether the device may run the module
    for index, device in enumerate(machine.devices):
        runs[of_op[np.isnan(graph.cost_us(device.kind))], index] = False
    devices = np.where(runs, votes, -1).argmax(axis=1)
    leaving = np.argsort(votes[np.arange(len(votes)), devices] / np.maximum(votes.sum(axis=1), 1e-300), kind="stable").tolist()
    while True:
        peak_bytes = simulate(graph, machine, devices[of_op]).peak_bytes
        room = memory - peak_bytes
        if (room >= 0).all():
            return devices
        moves = ((module, target) for module in leaving if room[devices[module]] < 0
                 for target in np.argsort(-votes[module], kind="stable") if runs[module, target] and room[target] >= param_bytes[module])
        module, target = next(moves, (None, None))
        if module is None:
            raise BadInput(f"graph '{graph.name}': its modules as a whole do not fit the memory of the devices: they lack "
                           f"{missing_bytes(machine, peak_bytes)}")
        leaving.remove(module)
        devices[module] = target


def tensors_of_module(graph: Graph, blocks: Sequence[str]) -> dict[str, list[str]]:
    """Names of the parameters and buffers of each module that has some itself; of a block, all that are in it."""
    tensors: dict[str, list[str]] = {}
    for op, name in zip(graph.ops, blocks_of_op(graph, blocks), strict=True):
        if op["type"] == "emplace.parameter" and op["attrs"]["name"] not in tensors.setdefault(name, []):
            tensors[name].append(op["attrs"]["name"])
    return tensors


def collapse(devices: dict[str, object], tensors: dict[str, list[str]]) -> dict[str, object]:
    """Replaces modules whose parents are on one device as a whole by these parents; "" is the model.

    tensors: as of `tensors_of_module`. accelerate moves all that is in a module to its device, so no module of the result is in
    another one. Of a module that is divided, the result names the tensors instead.
    """
    divided = {name[:end] for name in devices if name for end in (0, *(dot.start() for dot in re.finditer(r"\.", name)))}
    collapsed: dict[str, object] = {}

    def visit(prefix: str, names: list[str]) -> None:
        if len({devices[name] for name in names}) == 1:
            collapsed[prefix] = devices[names[0]]
            return
        children: dict[str, list[str]] = {}
        for name in names:
            if name == prefix:
                collapsed.update(dict.fromkeys(tensors[name], devices[name]))
                continue
            rest = name[len(prefix) + 1:] if prefix else name
            child = rest.partition(".")[0]
            children.setdefault(f"{prefix}.{child}" if prefix else child, []).append(name)
        for child, inside in children.items():
            visit(child, inside)

    visit("", [name for name in devices if name in tensors or name not in divided])
    return collapsed
