"""Plans for runtimes that place whole modules: which module each op of a captured graph belongs to, and what follows for modules.

A module is known by its name in the model, such as layers.3.linear1. An op belongs to the module that was running when it was
captured, a backward op to that of its forward op (`attrs.module`); what belongs to a parameter or buffer, to the module that holds
it. In graphs without attrs.module, any other op belongs to the module whose parameter it reads, or else to that of its first input.
Ops of the model's own code belong to "".
"""
from collections.abc import Sequence

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.dataflow import producer


def module_of_op(graph: Graph) -> list[str]:
    """[n] name of each op's module. Raises BadInput for a graph without parameters of a model."""
    ops = graph.ops
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
        if op["type"] in ("emplace.gradient", "emplace.update", "emplace.buffer"):
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
    """Index of the device for each module with parameters, by where most of its computing time is; a block's modules together."""
    names = blocks_of_op(graph, blocks)
    cost_us = {device.kind: graph.cost_us(device.kind) for device in machine.devices}
    parameter_bytes = graph.param_bytes
    votes: dict[str, np.ndarray] = {}
    for op, name in enumerate(names):
        device = placement[op]
        vote = votes.setdefault(name, np.zeros((len(machine), 2)))
        vote[device] += (cost_us[machine.devices[device].kind][op], parameter_bytes[op])
    # Modules that compute nothing go where most of their bytes are.
    return {name: int(vote[:, 0].argmax() if vote[:, 0].any() else vote[:, 1].argmax()) for name, vote in votes.items()}


def collapse(devices: dict[str, object]) -> dict[str, object]:
    """Replaces modules whose parents are on one device as a whole by these parents; "" is the model."""
    collapsed: dict[str, object] = {}

    def visit(prefix: str, names: list[str]) -> None:
        if len({devices[name] for name in names}) == 1:
            collapsed[prefix] = devices[names[0]]
            return
        children: dict[str, list[str]] = {}
        for name in names:
            rest = name[len(prefix) + 1:] if prefix else name
            child = rest.partition(".")[0]
            if name == prefix or not child:
                collapsed[name] = devices[name]  # The module's own parameters.
            else:
                children.setdefault(f"{prefix}.{child}" if prefix else child, []).append(name)
        for child, inside in children.items():
            visit(child, inside)

    visit("", list(devices))
    return collapsed
