"""Small things that go with the graph's file format."""
import numpy as np

from emplace._core import Graph


def producer(text: str, index_of: dict[str, int]) -> tuple[int, int | None]:
    """Op and output of an input "producer:output"; None for the output of "^producer". index_of: ops by name."""
    if text.startswith("^"):
        return index_of[text[1:]], None
    name, _, output = text.rpartition(":")
    return index_of[name], int(output)


def topological_rank(graph: Graph) -> np.ndarray:
    """int64 [n] the place of each op in topological order."""
    rank = np.empty(len(graph), dtype=np.int64)
    rank[graph.topological_order] = np.arange(len(graph))
    return rank


class UniqueNames:
    """Gives out each name once: the second "a" is "a~2"."""

    def __init__(self):
        self._times: dict[str, int] = {}  # How often each name was asked for; 1: it was given out for another one.

    def take(self, name: str) -> str:
        unique, count = name, self._times.get(name, 0) + 1
        if count > 1:
            while (unique := f"{name}~{count}") in self._times:
                count += 1
        self._times[name] = count
        self._times.setdefault(unique, 1)
        return unique
