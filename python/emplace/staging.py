"""Placing under a constraint: modules that stay whole, or pipeline stages of modules that follow each other."""
from collections.abc import Sequence

from emplace import modules
from emplace._core import BadInput, Graph

STAGES = ("contiguous", "modules")


def check_stages(stages: str | None, blocks: Sequence[str] | None) -> None:
    """Raises BadInput for a constraint that there is not, and for blocks without one."""
    if stages is None and blocks is not None:
        raise BadInput("blocks are given without stages, expected stages='modules' or 'contiguous'")
    if stages is not None and stages not in STAGES:
        raise BadInput(f"stages is '{stages}', expected one of {', '.join(STAGES)}")


def whole_modules(graph: Graph, blocks: Sequence[str] | None) -> Graph:
    """The graph with groups such that each module, or block with all that is in it, goes to one device as a whole.

    Raises BadInput for a graph without modules.
    """
    labels = modules.blocks_of_op(graph, blocks or ())
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
    return Graph.from_ops(graph.name, ops, graph.meta)
