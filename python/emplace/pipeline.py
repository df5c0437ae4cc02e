"""The blocks of a model, one after the other, and their division into the stages of a pipeline."""
import math
from collections.abc import Sequence

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.dataflow import topological_rank
from emplace.modules import blocks_of_op


class BlockRow:
    """Which block each of a captured graph's n ops goes with, found once for any number of divisions."""

    def __init__(self, graph: Graph, blocks: Sequence[str]):
        """blocks: names of modules in the order in which they run. Raises BadInput as modules.blocks_of_op does."""
        self.graph = graph
        self.blocks = list(blocks)
        if not self.blocks:
            raise BadInput("blocks: there are none, expected names of modules in the order in which they run")
        names = blocks_of_op(graph, self.blocks)
        rank = topological_rank(graph)
        self._first: dict[str, int] = {}  # The op of each block, or module outside of them, that runs first.
        for op in np.argsort(rank):
            self._first.setdefault(names[op], int(op))
        # What is in no block goes to the first or the last one.
        index_of = {name: 0 if rank[op] <= rank[self._first[self.blocks[0]]] else len(self.blocks) - 1
                    for name, op in self._first.items()}
        index_of |= {block: index for index, block in enumerate(self.blocks)}
        self.block_of_op = np.array([index_of[name] for name in names])  # [n] index into blocks

    def divide(self, machine: Machine, stages: int | None = None) -> tuple[list[int], list[float]]:
        """The contiguous division into stages on the machine's devices in turn with the least time of the busiest one.

        Returns for each stage its first block and its time in microseconds. stages: None is one for each device. Exact, by dynamic
        programming over (stage, block).
        """
        count, most = len(self.blocks), min(len(self.blocks), len(machine))
        stages = len(machine) if stages is None else stages
        if not 1 <= stages <= most:
            raise BadInput(f"stages is {stages}, expected 1 to {most}: no more than blocks and devices")
        load = np.zeros((stages, count))  # [s, b] microseconds of block b on the device of stage s
        for stage in range(stages):
            cost_us = np.asarray(self.graph.cost_us(machine.devices[stage].kind))
            np.add.at(load[stage], self.block_of_op, np.where(np.isfinite(cost_us), cost_us, math.inf))
        sums = np.concatenate([np.zeros((stages, 1)), load.cumsum(axis=1)], axis=1)
        best = np.full((stages + 1, count + 1), math.inf)
        cut = np.zeros((stages + 1, count + 1), dtype=int)
        best[0, 0] = 0
        for stage in range(1, stages + 1):
            for end in range(stage, count + 1):
                for begin in range(stage - 1, end):
                    busiest = max(best[stage - 1, begin], sums[stage - 1, end] - sums[stage - 1, begin])
                    if busiest < best[stage, end]:
                        best[stage, end], cut[stage, end] = busiest, begin
        ends = [count]
        for stage in range(stages, 0, -1):
            ends.insert(0, int(cut[stage, ends[0]]))
        return ends[:-1], [float(sums[s, ends[s + 1]] - sums[s, ends[s]]) for s in range(stages)]

    def stage_of_op(self, begins: Sequence[int]) -> np.ndarray:
        """[n] stage of each op, in the division whose stages begin with these blocks."""
        return np.searchsorted(begins, self.block_of_op, side="right") - 1

    def modules_of_stages(self, begins: Sequence[int]) -> list[list[str]]:
        """Names of the blocks, and of the modules outside of them, in each of these stages, in the order in which they run."""
        stage_of = self.stage_of_op(begins)
        parts: list[list[str]] = [[] for _ in begins]
        for name, op in self._first.items():
            if name:
                parts[stage_of[op]].append(name)
        return parts
