"""Plans for runtimes that place whole modules: which module each op of a captured graph belongs to, and what follows for modules.

A module is known by its name in the model, such as layers.3.linear1. An op belongs to the module whose parameter it reads, or
whose gradient it makes; any other op belongs where its first input comes from. Ops of the model's own code belong to "".
"""
import math
from collections.abc import Sequence

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.dataflow import producer, topological_rank


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
        if op["type"] in ("emplace.gradient", "emplace.update", "emplace.buffer"):
            module[index] = op["attrs"]["name"].rpartition(".")[0]
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
            module[index] = known[0] if known else module[inputs[index][0]] if inputs[index] else ""
    return [module[index] for index in range(len(ops))]


def _inside(name: str, block: str) -> bool:
    return name == block or name.startswith(f"{block}.")


def blocks_of_op(graph: Graph, blocks: Sequence[str]) -> list[str]:
    """[n] the block that holds each op's module, or else the module. Raises BadInput for a block that there is not."""
    modules = module_of_op(graph)
    for index, block in enumerate(blocks):
        if any(_inside(block, other) for other in [*blocks[:index], *blocks[index + 1:]]):
            raise BadInput(f"blocks: '{block}' is in another block or given twice, expected blocks that have nothing in common")
    missing = [block for block in blocks if not any(_inside(module, block) for module in modules)]
    if missing:
        raise BadInput(f"blocks: the model has no module '{missing[0]}'")
    return [next((block for block in blocks if _inside(module, block)), module) for module in modules]


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


def _block_index_of_op(graph: Graph, blocks: Sequence[str]) -> list[int]:
    """[n] index of the block that holds each op. What is in no block goes to the first or the last one."""
    found = blocks_of_op(graph, blocks)
    index_of = {block: index for index, block in enumerate(blocks)}
    rank = topological_rank(graph)
    begins: dict[str, int] = {}
    for op, name in enumerate(found):
        begins[name] = min(begins.get(name, len(graph)), rank[op])
    outside = {name: 0 if begin <= begins[blocks[0]] else len(blocks) - 1 for name, begin in begins.items()}
    return [index_of.get(name, outside[name]) for name in found]


def stage_of_op(graph: Graph, machine: Machine, blocks: Sequence[str], stages: int) -> list[int]:
    """[n] stage of each op in the division of stages_of_blocks."""
    begins, _ = stages_of_blocks(graph, machine, blocks, stages)
    return [sum(block >= begin for begin in begins) - 1 for block in _block_index_of_op(graph, blocks)]


def modules_of_stages(graph: Graph, machine: Machine, blocks: Sequence[str], stages: int) -> list[list[str]]:
    """Names of the blocks and of the modules outside of them in each stage of stages_of_blocks, in the order in which they run."""
    stage_of = stage_of_op(graph, machine, blocks, stages)
    rank = topological_rank(graph)
    first: dict[str, int] = {}
    for op, name in enumerate(blocks_of_op(graph, blocks)):
        if name and rank[op] < rank[first.setdefault(name, op)]:
            first[name] = op
    parts: list[list[str]] = [[] for _ in range(stages)]
    for name, op in sorted(first.items(), key=lambda item: rank[item[1]]):
        parts[stage_of[op]].append(name)
    return parts


def stages_of_blocks(graph: Graph, machine: Machine, blocks: Sequence[str], stages: int) -> tuple[list[int], list[float]]:
    """The contiguous division of blocks into stages on the machine's devices in turn with the least time of the busiest one.

    Returns for each stage its first block and its time in microseconds. Exact, by dynamic programming over (stage, block).
    """
    if not 1 <= stages <= min(len(blocks), len(machine)):
        raise BadInput(f"stages is {stages}, expected 1 to {min(len(blocks), len(machine))}: no more than blocks and devices")
    block_of = _block_index_of_op(graph, blocks)
    load = np.zeros((stages, len(blocks)))  # [s, b] microseconds of block b on the device of stage s
    for stage in range(stages):
        cost_us = graph.cost_us(machine.devices[stage].kind)
        for op, where in enumerate(block_of):
            load[stage, where] += cost_us[op] if math.isfinite(cost_us[op]) else math.inf
    sums = np.concatenate([np.zeros((stages, 1)), load.cumsum(axis=1)], axis=1)
    best = np.full((stages + 1, len(blocks) + 1), math.inf)
    cut = np.zeros((stages + 1, len(blocks) + 1), dtype=int)
    best[0, 0] = 0
    for stage in range(1, stages + 1):
        for end in range(stage, len(blocks) + 1):
            for begin in range(stage - 1, end):
                busiest = max(best[stage - 1, begin], sums[stage - 1, end] - sums[stage - 1, begin])
                if busiest < best[stage, end]:
                    best[stage, end], cut[stage, end] = busiest, begin
    ends = [len(blocks)]
    for stage in range(stages, 0, -1):
        ends.insert(0, int(cut[stage, ends[0]]))
    return ends[:-1], [float(sums[s, ends[s + 1]] - sums[s, ends[s]]) for s in range(stages)]
