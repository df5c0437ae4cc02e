"""The blocks of a model, one after the other, and their division into the stages of a pipeline."""
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emplace import _core, modules
from emplace._core import BadInput, Graph, Machine
from emplace.dataflow import topological_rank
from emplace.simulation import missing_bytes


@dataclass(frozen=True)
class Division:
    """Blocks in S stages, in the order in which they run; each stage has at least one block, and a device of its own."""
    begins: list[int]  # [S] index of the first block of each stage
    devices: list[int]  # [S] index of the device of each stage
    num_blocks: int

    @property
    def sizes(self) -> list[int]:
        """[S] number of blocks in each stage."""
        return [end - begin for begin, end in zip(self.begins, [*self.begins[1:], self.num_blocks], strict=True)]


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


def _with_neighbours(graph: Graph, block_of_op: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """[n] a block for each op; block_of_op has -1 for those that have none yet, and rank is their place in topological order.

    Such an op goes with the last block whose outputs it reads, or else with the first one that reads its own. Ops of one group stay
    together, with the first op of the group.
    """
    found, edges = block_of_op.copy(), graph.edges()
    free = found < 0
    for source, reader in edges[np.argsort(rank[edges[:, 1]], kind="stable")]:
        if free[reader]:
            found[reader] = max(found[reader], found[source])
    free = found < 0
    found[free] = unread = np.iinfo(found.dtype).max
    for source, reader in edges[np.argsort(-rank[edges[:, 0]], kind="stable")]:
        if free[source]:
            found[source] = min(found[source], found[reader])
    found[found == unread] = 0
    first_of_group: dict[str, int] = {}
    for index, op in enumerate(graph.ops):
        if "group" in op:
            found[index] = found[first_of_group.setdefault(op["group"], index)]
    return found


class BlockRow:
    """Which block each of a captured graph's n ops goes with, found once for any number of divisions."""

    def __init__(self, graph: Graph, blocks: Sequence[str] | None = None):
        """blocks: names of modules in the order in which they run; None: default_blocks. Raises BadInput as modules.blocks_of_op."""
        self.graph = graph
        self.blocks = default_blocks(graph) if blocks is None else list(blocks)
        if not self.blocks:
            raise BadInput("blocks: there are none, expected names of modules in the order in which they run")
        names = modules.blocks_of_op(graph, self.blocks)
        rank = topological_rank(graph)
        self._first: dict[str, int] = {}  # The op of each block, or module outside of them, that runs first.
        for op in np.argsort(rank):
            self._first.setdefault(names[op], int(op))
        index_of = {block: index for index, block in enumerate(self.blocks)}
        self._in_block = np.array([name in index_of for name in names])  # [n]
        # A module with parameters in no block goes with the first or the last one, and other ops where their inputs come from.
        start, last = rank[self._first[self.blocks[0]]], len(self.blocks) - 1
        whole = {names[op] for op in np.flatnonzero(graph.param_bytes)} - self._around_blocks()
        index_of |= {name: 0 if rank[self._first[name]] <= start else last for name in whole if name not in index_of}
        self.block_of_op = _with_neighbours(graph, np.array([index_of.get(name, -1) for name in names], dtype=np.int32), rank)  # [n]

    def _around_blocks(self) -> set[str]:
        """Modules that hold a block: the model, "", and others whose own code may run before, between and after the blocks."""
        return {""} | {block[:match.start()] for block in self.blocks for match in re.finditer(r"\.", block)}

    def divide(self, machine: Machine, stages: int | None = None, objective: str = "latency", *, any_order: bool = False,
               order: str | None = None, seconds: float = 0.0) -> tuple[Division, dict]:
        """The division into stages on the machine's devices that fits their memory and is best for the objective.

        stages: exactly so many; None: any number, where a device may get no block. objective: "latency", the time of one step, or
        "throughput", the time of the busiest device. Devices are used in the machine's order, or with any_order in the best one
        where they are of few kinds. order: as of emplace.place. seconds: after this time no more divisions are simulated; 0: any time.
        Also returns what is known of the placement, as a dict with fields of Plan. Raises BadInput where no division fits, which says
        how many bytes are missing on which devices.
        """
        most = min(len(self.blocks), len(machine))
        if stages is not None and not 1 <= stages <= most:
            raise BadInput(f"stages is {stages}, expected 1 to {most}: no more than blocks and devices")
        found = _core.divide(self.graph, machine, self.block_of_op, len(self.blocks), stages=stages or 0, objective=objective,
                             any_order=any_order, order=order or "", seconds=seconds)
        if not found["feasible"]:
            raise BadInput(f"graph '{self.graph.name}': no division of {len(self.blocks)} blocks into "
                           f"{stages or 'any number of'} stages fits the memory of the devices; the best one lacks "
                           f"{missing_bytes(machine, found['peak_bytes'])}")
        return Division(found.pop("stage_begins"), found.pop("stage_devices"), len(self.blocks)), found

    def division_of(self, machine: Machine, placement: np.ndarray) -> Division | None:
        """The stages that a placement [n] has made of the blocks; None where it divides a block, or a device's blocks have gaps.

        What computes nothing and holds no parameters does not count, nor do ops outside of the blocks.
        """
        cost_us = np.array([self.graph.cost_us(device.kind) for device in machine.devices])  # [D, n]
        counts = self._in_block & ((cost_us[placement, np.arange(len(placement))] > 0) | (self.graph.param_bytes > 0))
        pairs = np.unique(np.stack([self.block_of_op[counts], placement[counts]]), axis=1)  # [2, pairs] block and device, by block
        if list(pairs[0]) != list(range(len(self.blocks))):
            return None
        begins = [0, *(np.flatnonzero(np.diff(pairs[1])) + 1).tolist()]
        devices = [int(pairs[1, begin]) for begin in begins]
        return Division(begins, devices, len(self.blocks)) if len(set(devices)) == len(devices) else None

    def modules_of_stages(self, division: Division) -> list[list[str]]:
        """Names of the blocks, and of the modules outside of them, in each stage, in the order in which they run."""
        stage_of = np.searchsorted(division.begins, self.block_of_op, side="right") - 1
        parts: list[list[str]] = [[] for _ in division.begins]
        for name, op in self._first.items():
            if name:
                parts[stage_of[op]].append(name)
        return parts
