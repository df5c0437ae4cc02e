"""The order of an ONNX graph's nodes: each after those whose outputs it reads."""
import heapq
import os

from onnx import GraphProto, NodeProto

from emplace._core import BadInput
from emplace.onnx.model import bodies, names_read, weight_names


def _shown(graph: GraphProto, index: int) -> str:
    node = graph.node[index]
    return f"node {index} ({node.op_type}{f' {node.name!r}' if node.name else ''})"


def _makers(graph: GraphProto, path: str | os.PathLike) -> dict[str, int]:
    """Index of the node that makes each tensor. Raises BadInput where a tensor is made twice."""
    makers: dict[str, int] = {}
    given = {value.name for value in graph.input} | weight_names(graph)
    for index, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in makers or name in given:
                other = f"{_shown(graph, makers[name])} makes" if name in makers else "is an input or an initializer"
                raise BadInput(f"{path}: {_shown(graph, index)} makes '{name}', which {other}, too; expected one origin of each tensor")
            makers[name] = index
    return makers


def _check_made(graph: GraphProto, makers: dict[str, int], path: str | os.PathLike) -> None:
    """Raises BadInput for a tensor that is read, also by a body, and that nothing makes."""
    known = makers.keys() | {value.name for value in graph.input} | weight_names(graph)
    expected = "expected the name of an input, an initializer or an output of a node"
    for index, node in enumerate(graph.node):
        for name in names_read(node):
            if name not in known:
                raise BadInput(f"{path}: {_shown(graph, index)} reads '{name}', which nothing makes, {expected}")
    for value in graph.output:
        if value.name not in known:
            raise BadInput(f"{path}: nothing makes the output '{value.name}', {expected}")


def _cycle(waits: dict[int, set[int]]) -> list[int]:
    """A cycle of nodes, each before one that waits for it; waits: for each node of some that all wait, those it waits for."""
    at = min(waits)
    way = [at]
    while True:
        at = min(before for before in waits[at] if before in waits)
        if at in way:
            return [at, *reversed(way[way.index(at):])]
        way.append(at)


def _order(graph: GraphProto, makers: dict[str, int], path: str | os.PathLike) -> list[int]:
    """The nodes in topological order, of those that may come next always the first of the file. Raises BadInput for a cycle."""
    waits = {index: {makers[name] for name in names_read(node) if name in makers} for index, node in enumerate(graph.node)}
    readers: dict[int, list[int]] = {}
    for index, before in waits.items():
        for maker in before:
            readers.setdefault(maker, []).append(index)
    missing = {index: len(before) for index, before in waits.items()}
    ready = [index for index, count in missing.items() if not count]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(waits):
        for index in order:
            del waits[index]
        cycle = " -> ".join(_shown(graph, index) for index in _cycle(waits))
        raise BadInput(f"{path}: nodes wait for each other: {cycle}; expected a graph without cycles")
    return order


def _sort(graph: GraphProto, makers: dict[str, int], path: str | os.PathLike) -> list[int]:
    order = _order(graph, makers, path)
    if order != list(range(len(order))):
        nodes: list[NodeProto] = [graph.node[index] for index in order]
        del graph.node[:]
        graph.node.extend(nodes)
    for node in graph.node:
        for body in bodies(node):
            _sort(body, _makers(body, path), path)
    return order


def sort_nodes(graph: GraphProto, path: str | os.PathLike) -> list[int]:
    """Sorts the nodes of a graph, and of the bodies in it, topologically; nodes that are in such an order stay in it.

    Returns the former index of each node. Raises BadInput for a tensor that nothing makes or that is made twice, and for a cycle.
    """
    makers = _makers(graph, path)
    _check_made(graph, makers, path)
    return _sort(graph, makers, path)
