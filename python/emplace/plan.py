"""A placement with what is known about it."""
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from emplace import _core, modules, timeline_svg
from emplace.pipeline import BlockRow, Division
from emplace.placements import order_to_indices, order_to_names, split_device, to_array
from emplace.reading import read_text
from emplace.simulation import Timeline, missing_bytes, run

_WIDTH = 900  # Of a picture, in pixels.


@dataclass(frozen=True, eq=False)
class Plan:
    """Where the ops of a graph go on a machine; n ops, D devices. In a notebook it shows its timeline and a table."""
    graph: _core.Graph = field(repr=False)
    machine: _core.Machine
    placement: np.ndarray = field(repr=False)  # int32 [n] index of each op's device
    makespan_us: float  # Simulated time of one step.
    single_device_us: float  # That of the best single device; infinity where none may run every op.
    lower_bound_us: float  # No placement that fits the memory is faster; 0 where that is not known.
    peak_bytes: np.ndarray = field(repr=False)  # int64 [D] simulated peak memory
    feasible: bool  # Whether each device's peak fits its memory.
    method: str  # What was asked for; empty: the placement was given.
    found_by: str  # The part of the method that found it.
    evaluations: int = 0  # Simulated placements.
    seconds: float = 0.0  # Wall time of the method.
    order: dict[str, list[str]] | None = field(default=None, repr=False)  # Ops of each device, first to last; None: as they get ready.
    stages: str | None = None  # The constraint under which it was placed, as of place(stages=).
    objective: str = "latency"  # What the placement is to minimize: makespan_us, or for "throughput" max_load_us.
    free_makespan_us: float | None = None  # With a constraint (stages=): the time of a step placed without it; None: there was none.
    free_max_load_us: float | None = None  # The same for max_load_us.

    @classmethod
    def of(cls, graph: _core.Graph, machine: _core.Machine, placement, order=None) -> "Plan":
        """The plan of a placement [n] of one's own. Raises BadInput, which names the op, where it is not legal."""
        array = to_array(placement, (1,)).copy()  # Whoever gave it may go on with theirs.
        order = {device: list(ops) for device, ops in order.items()} if order else None
        found = _core.assess(graph, machine, array, order_to_indices(order, graph, machine))
        return cls(graph, machine, array, **found, method="", found_by="", order=order)

    @classmethod
    def load(cls, path: str | os.PathLike, graph: _core.Graph, machine: _core.Machine) -> "Plan":
        """Reads a placement file. Raises BadInput where it is not for this graph and machine."""
        placement, orders = _core.parse_placement(read_text(path), str(path), graph, machine)
        return cls.of(graph, machine, placement, order_to_names(orders, graph, machine))

    def to_json(self) -> str:
        """The text of the placement's file (emplace.placement/1)."""
        return _core.placement_to_json(self.graph, self.machine, self.placement, self._order_indices())

    def save(self, path: str | os.PathLike) -> None:
        """Writes the placement's file."""
        _core.write_file(path, self.to_json().encode())

    def save_trace(self, path: str | os.PathLike) -> None:
        """Writes the timeline for Perfetto or chrome://tracing."""
        _core.write_file(path, _core.trace(self.graph, self.machine, self.placement, self._order_indices()).encode())

    @cached_property
    def max_load_us(self) -> float:
        """Time from step to step in a pipeline of many steps: that of the busiest device, with all that it sends and receives."""
        return _core.max_load_us(self.graph, self.machine, self.placement)

    @cached_property
    def load_bound_us(self) -> float:
        """No placement that fits the memory has a smaller max_load_us."""
        return _core.load_bound_us(self.graph, self.machine)

    @cached_property
    def serving(self) -> dict | None:
        """Of a language model's step (`emplace.llm.load`): its speed in the units in which such models are served, else None.

        stream_tokens_per_s: of one stream, whose step runs alone. pipeline_tokens_per_s: of all streams, with so many steps at once
        that the busiest device never waits, or with one after the other where that is faster. first_token_s: time of the prompt.
        longest_context: tokens whose cache still fits the memory with this placement, at most what the model was made for.
        limited_by: the device that limits it. text: all of it.
        """
        return _core.serving(self.graph, self.machine, self.placement, self.peak_bytes, self.makespan_us, self.max_load_us,
                             self._order_indices())

    @property
    def devices(self) -> list[str]:
        """[n] name of each op's device."""
        names = [device.name for device in self.machine.devices]
        return [names[index] for index in self.placement]

    def timeline(self) -> Timeline:
        """Simulates the step with the time of every op and transfer."""
        return run(self.graph, self.machine, self.placement, self.order)

    def timeline_svg(self, width: int = _WIDTH) -> str:
        """The timeline as an SVG picture: a row for each device, and one for what it sends. width: in pixels."""
        return timeline_svg.draw(self.graph, self.machine, self.placement, self.timeline(), width)

    def table(self) -> list[dict]:
        """A row for each device: its name, number of ops, busy time, peak memory and memory."""
        return self._table(self.timeline())

    def _table(self, timeline: Timeline) -> list[dict]:
        busy_us = timeline.finish_us - timeline.start_us
        return [{"device": device.name, "kind": device.kind, "ops": int((self.placement == index).sum()),
                 "busy_us": float(busy_us[self.placement == index].sum()), "peak_bytes": int(timeline.peak_bytes[index]),
                 "memory_bytes": device.memory_bytes} for index, device in enumerate(self.machine.devices)]

    def device_map(self, blocks: Sequence[str] = (), devices: Mapping[str, str | int] | None = None) -> dict[str, str | int]:
        """The device of each module, as Hugging Face accelerate's `device_map`: cuda:1 is 1, and cpu:0 is "cpu".

        For a captured graph. A module goes as a whole to the device on which most of its computing time is planned; parents whose
        modules are on one device stand for them, and of a parent that is divided its own tensors are named. blocks: names of modules that must stay whole with what is in them, such as
        layers with residual connections. devices: names for devices of the machine that are not called so.
        """
        found = modules.device_of_module(self.graph, self.machine, self.placement, blocks)
        names = []
        for device in self.machine.devices:
            given = (devices or {}).get(device.name, device.name)
            kind, index = split_device(str(given))
            names.append("cpu" if kind == "cpu" else index if kind == "cuda" and index is not None else given)
        return modules.collapse({module: names[index] for module, index in found.items()}, modules.tensors_of_module(self.graph, blocks))

    def pipeline_split(self, blocks: Sequence[str] | None = None, stages: int | None = None) -> list[str]:
        """The blocks with which the second and later stages of a pipeline begin; none where there is one stage.

        For a captured graph and torch.distributed.pipelining: split_spec={name: SplitPoint.BEGINNING for name in the result}.
        blocks: names of modules in the order in which they run; None: the model's row of numbered modules, such as layers.0,
        layers.1, ... A stage is a contiguous part of them. Where the plan fits the memory and has such stages itself, on several
        devices or because it was placed with stages="contiguous", these are they. Else, or for another number of stages=, they are the
        best for the plan's objective that fit the memory, on devices in the machine's order: one for each device, or fewer where a
        device is too small for a block. Raises BadInput where no division fits, which says how many bytes are missing on which devices.
        """
        row, division = self._division(blocks, stages)
        return [row.blocks[begin] for begin in division.begins[1:]]

    def stage_devices(self, blocks: Sequence[str] | None = None, stages: int | None = None) -> list[str]:
        """The name of each stage's device, for the stages of pipeline_split."""
        _, division = self._division(blocks, stages)
        return [self.machine.devices[device].name for device in division.devices]

    def layer_partition(self, blocks: Sequence[str] | None = None, stages: int | None = None) -> list[int]:
        """The number of blocks in each stage of pipeline_split, for vLLM: VLLM_PP_LAYER_PARTITION="12,10,10".

        Without stages= there is a number for each device of the machine, 0 for one without blocks: in the machine's order, or, where
        the plan's stages use devices in another one (stage_devices), in the order of the stages. vLLM runs them with
        --pipeline-parallel-size=stages, and without devices that have no blocks.
        """
        _, division = self._division(blocks, stages)
        sizes = dict(zip(division.devices, division.sizes, strict=True))
        unused = [] if stages else [device for device in range(len(self.machine)) if device not in sizes]
        in_turn = [*sizes, *unused]
        return [sizes.get(device, 0) for device in (sorted(in_turn) if list(sizes) == sorted(sizes) else in_turn)]

    def module_parts(self, blocks: Sequence[str] | None = None, stages: int | None = None) -> list[list[str]]:
        """The names of the modules in each stage of pipeline_split, for torchtitan: module_fqns_per_model_part.

        Modules outside of the blocks go with the first or the last stage, as the graph has them.
        """
        row, division = self._division(blocks, stages)
        return row.modules_of_stages(division)

    def _division(self, blocks: Sequence[str] | None, stages: int | None) -> tuple[BlockRow, Division]:
        row = BlockRow(self.graph, blocks)
        own = row.division_of(self.machine, self.placement) if self.feasible else None
        if own:
            followed = self.stages == "contiguous" or len(own.begins) > 1 if stages is None else stages == len(own.begins)
            if followed:
                return row, own
        if stages is None:
            try:
                return row, row.divide(self.machine, min(len(row.blocks), len(self.machine)), self.objective)[0]
            except _core.BadInput:
                pass  # Some device may be too small for any block.
        return row, row.divide(self.machine, stages, self.objective)[0]

    def tensor_overrides(self, blocks: Sequence[str], devices: Mapping[str, str] | None = None) -> list[str]:
        """For each device, what llama.cpp's option -ot (--override-tensor) takes: "blk\\.(0|1|2)\\.=CUDA0".

        blocks: names of all hidden layers in the order in which they run; each goes as a whole to the device on which most of its
        computing time is planned. Tensors outside of them stay where llama.cpp puts them. devices: for devices of the machine,
        llama.cpp's buffer types; else by their kinds and names, as in `emplace flags llama.cpp` (cuda:1 is CUDA1).
        """
        from emplace.llm.llama_cpp import buffer_types, layers_pattern  # It imports plans.

        found = modules.device_of_module(self.graph, self.machine, self.placement, blocks)
        buffers = buffer_types(self.machine)
        layers: dict[str, list[int]] = {}
        for index, block in enumerate(blocks):
            device = found[block]
            layers.setdefault((devices or {}).get(self.machine.devices[device].name, buffers[device]), []).append(index)
        return [f"{layers_pattern(numbers)}={buffer}" for buffer, numbers in layers.items()]

    def _figure_us(self) -> float:
        return self.max_load_us if self.objective == "throughput" else self.makespan_us

    def _title(self) -> str:
        name = f"{self.graph.name}: {self.graph.num_ops} ops"
        figure_us = self._figure_us()
        throughput = self.objective == "throughput"
        compared = "no single device may run every op"
        if self.single_device_us < math.inf:
            faster = self.single_device_us / figure_us if figure_us > 0 else 1.0
            single = f"the best single device ({self.single_device_us / 1e3:.3f} ms)"
            compared = f"{faster:.3f} times as {'often' if throughput else 'fast'} as {single}"
        if throughput:
            return (f"{name}, a step every {figure_us / 1e3:.3f} ms in a pipeline, {compared}; "
                    f"one step alone takes {self.makespan_us / 1e3:.3f} ms")
        return f"{name}, {figure_us / 1e3:.3f} ms a step, {compared}"

    def __str__(self) -> str:
        lines = [self._title()]
        free_us = self.free_max_load_us if self.objective == "throughput" else self.free_makespan_us
        if free_us:
            lines.append(f"  {self._figure_us() / free_us:.3f} times as long as placed without the constraint ({free_us / 1e3:.3f} ms)")
        for row in self.table():
            lines.append(f"  {row['device']:12} {row['ops']:6} ops, busy {row['busy_us'] / 1e3:.3f} ms, "
                         f"peak memory {row['peak_bytes'] / 1e9:.3f} of {row['memory_bytes'] / 1e9:.3f} GB")
        if not self.feasible:
            lines.append(f"  it does not fit the devices' memory: it lacks {missing_bytes(self.machine, self.peak_bytes)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        timeline = self.timeline()
        picture = timeline_svg.draw(self.graph, self.machine, self.placement, timeline, _WIDTH)
        return timeline_svg.page(self._title(), self._table(timeline), picture)

    def _order_indices(self) -> list[list[int]]:
        return order_to_indices(self.order, self.graph, self.machine)
