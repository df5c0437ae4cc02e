"""Placing under a constraint: modules that stay whole, or pipeline stages of modules that follow each other."""
import re
from collections import defaultdict
from collections.abc import Sequence

from emplace import modules
from emplace._core import BadInput, Graph, Machine
from emplace.pipeline import BlockRow

STAGES = ("contiguous", "modules")


def default_blocks(graph: Graph) -> list[str]:
    """The model's row of numbered modules, such as layers.0, layers.1, ...: the longest one, of equals the outermost.

    Raises BadInput for a model that has none.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for name in set(modules.module_of_op(graph)):
        for match in re.finditer(r"(?:^|\.)(\d+)(?=\.|$)", name):
            rows[name[:match.start(1)]].add(int(match[1]))
    prefix = max(rows, key=lambda row: (len(rows[row]), -row.count(".")), default=None)
    if prefix is None:
        raise BadInput(f"graph '{graph.name}' has no row of numbered modules such as layers.0, layers.1; expected blocks=")
    return [f"{prefix}{number}" for number in sorted(rows[prefix])]


def _grouped(graph: Graph, labels: Sequence) -> Graph:
    """The graph with groups such that ops of one label go together, as do those that did before."""
    parent: dict = {}

    def root(key):
        while parent.setdefault(key, key) != key:
            parent[key] = key = parent[parent[key]]
        return key

    ops = graph.ops
    for op, label in zip(ops, labels, strict=True):
        if op.get("group"):
            parent[root(("group", op["group"]))] = root(("label", label))
    names: dict = {}
    for op, label in zip(ops, labels, strict=True):
        op["group"] = names.setdefault(root(("label", label)), f"together {len(names)}")
    return Graph.from_ops(graph.name, ops)


def constrained(graph: Graph, machine: Machine, stages: str, blocks: Sequence[str] | None) -> list[Graph]:
    """Graphs whose placements are those of this graph that the constraint allows, or the best of them; to be placed in turn.

    "modules": each module, or block with all that is in it, goes to one device as a whole. "contiguous": blocks are divided into
    stages that follow each other, with the least time of the busiest stage; a graph for each number of stages up to that of the
    devices. Raises BadInput for another name, and for a graph without modules.
    """
    if stages not in STAGES:
        raise BadInput(f"stages is '{stages}', expected one of {', '.join(STAGES)}")
    if stages == "modules":
        return [_grouped(graph, modules.blocks_of_op(graph, blocks or ()))]
    row = BlockRow(graph, blocks or default_blocks(graph))
    divisions = (row.divide(machine, count)[0] for count in range(1, min(len(machine), len(row.blocks)) + 1))
    return [_grouped(graph, row.stage_of_op(begins).tolist()) for begins in divisions]
