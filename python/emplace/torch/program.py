"""A plan as what each device does in turn: its ops, where their inputs come from, and for which other devices it waits."""
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.dataflow import producer, topological_rank
from emplace.placements import split_device
from emplace.plan import Plan
from emplace.torch.calls import dtype_named
from emplace.torch.output_structure import load_structure

# Ops that compute nothing here: their tensors come from the model or from the caller.
GIVEN = ("emplace.parameter", "emplace.input", "emplace.constant")
# The caller's optimizer does these, where they have no call.
LEFT_OUT = ("emplace.update", "emplace.refresh")

# An op, by its index in the graph, and one of its outputs.
Value = tuple[int, int]


@dataclass
class Instruction:
    """An op on its device."""
    op: int
    name: str
    call: dict  # As in the graph's file.
    inputs: list[Value]
    num_outputs: int
    waits: list[int] = field(default_factory=list)  # Gates that have to open before it runs.
    opens: list[int] = field(default_factory=list)  # Gates that it opens once it has ended.


@dataclass
class Program:
    """What a plan's devices do. Tensors go between devices, and to the results, through numbered slots."""
    devices: list[torch.device]  # Of each device of the machine, in its order.
    instructions: list[list[Instruction]]  # Of each device, in its order.
    device_of: list[int]  # Of each op.
    given: dict[int, dict] = field(default_factory=dict)  # By op: type and attrs of what is given.
    num_gates: int = 0
    # Slots by type of op and then by attrs.name or attrs.index.
    results: dict[str, dict] = field(default_factory=lambda: {"emplace.output": {}, "emplace.gradient": {}, "emplace.buffer": {}})
    structure: tuple[pytree.TreeSpec, dict[str, Any]] | None = None  # Of emplace.output: as of load_structure; None: one tensor.
    slots: dict[tuple[Value, int | None], int] = field(default_factory=dict)  # By value, and the device that takes it; None: a result.


def torch_devices(plan: Plan, devices: Mapping[str, str] | None) -> list[torch.device]:
    """The device of PyTorch for each device of the machine: what `devices` says, else the one of this name."""
    unknown = set(devices or {}) - {device.name for device in plan.machine.devices}
    if unknown:
        raise BadInput(f"devices: the machine has no device '{min(unknown)}'")
    found = []
    for device in plan.machine.devices:
        name = str((devices or {}).get(device.name, device.name))  # Or a torch.device.
        kind, index = split_device(name)
        if kind not in ("cpu", "cuda") or index is None:
            where = f"device '{name}' of the machine" if name == device.name else f"devices: '{name}', for '{device.name}',"
            raise BadInput(f"{where} is no device of PyTorch, expected a name such as cuda:0 or cpu:0, or "
                           f"devices={{'{device.name}': 'cuda:0', ...}}")
        if kind == "cuda" and index >= torch.cuda.device_count():
            raise BadInput(f"there is no device '{name}' here, expected one of {torch.cuda.device_count()} GPUs or cpu:0")
        # Every device of the CPU has the same memory.
        found.append(torch.device("cpu") if kind == "cpu" else torch.device("cuda", index))
    return found


def _order(plan: Plan) -> list[list[int]]:
    """The ops of each device, in the plan's order; without one, as the simulated step starts them."""
    rank = topological_rank(plan.graph)
    start_us = plan.timeline().start_us
    index_of = {name: index for index, name in enumerate(plan.graph.op_names)}
    orders = []
    for index, device in enumerate(plan.machine.devices):
        given = (plan.order or {}).get(device.name)
        ops = np.flatnonzero(plan.placement == index)
        orders.append([index_of[name] for name in given] if given else ops[np.lexsort((rank[ops], start_us[ops]))].tolist())
    return orders


def _check_attrs(op: dict) -> None:
    """Raises BadInput where an op that is given, or a result, does not say which one it is, or of which shape and type."""
    attrs = op.get("attrs", {})
    needed = {"emplace.constant": ["value", "dtype"], "emplace.output": ["index"]}.get(op["type"], ["name"])
    missing = [f"attrs.{key}" for key in needed if key not in attrs]
    if op["type"] in GIVEN:
        output = op["outputs"][0] if op["outputs"] else {}
        missing += [f"outputs[0].{key}" for key in ("shape", "dtype") if key not in output]
    if missing:
        raise BadInput(f"op '{op['name']}' has no {missing[0]}, expected a graph of emplace.torch.capture")
    if op["type"] in GIVEN:
        try:
            dtype_named(output["dtype"])
            dtype_named(attrs.get("dtype", "f32"))
        except BadInput as error:
            raise BadInput(f"op '{op['name']}': {error}") from None


class _Compilation:
    """Makes the program of one plan."""

    def __init__(self, plan: Plan, devices: Mapping[str, str] | None):
        self._ops = plan.graph.ops
        self._index_of = {op["name"]: index for index, op in enumerate(self._ops)}
        self.program = Program(torch_devices(plan, devices), [], plan.placement.tolist())
        for index, op in enumerate(self._ops):
            self._add_op(index, op)
        runs = [[index for index in order if "call" in self._ops[index]] for order in _order(plan)]
        self._place = {op: place for order in runs for place, op in enumerate(order)}  # Of each op in its device's order.
        self._instruction_of: dict[int, Instruction] = {}
        for order in runs:
            self.program.instructions.append([self._instruction(index) for index in order])
        for device, instructions in enumerate(self.program.instructions):
            self._add_waits(device, instructions)

    def _add_op(self, index: int, op: dict) -> None:
        program = self.program
        if op["type"] in GIVEN or op["type"] in program.results:
            _check_attrs(op)
        if op["type"] in GIVEN:
            program.given[index] = {"type": op["type"], "attrs": op["attrs"]}
        elif op["type"] not in LEFT_OUT and "call" not in op:
            raise BadInput(f"op '{op['name']}' has no call, expected a graph of emplace.torch.capture")
        if op["type"] in program.results:
            attrs = op["attrs"]
            program.results[op["type"]][attrs.get("name", attrs.get("index"))] = self._slot((index, 0), None)
            if "structure" in attrs:
                program.structure = load_structure(attrs["structure"], f"op '{op['name']}'")

    def _slot(self, value: Value, device: int | None) -> int:
        return self.program.slots.setdefault((value, device), len(self.program.slots))

    def _instruction(self, index: int) -> Instruction:
        op = self._ops[index]
        inputs = [(source, output) for source, output in self._sources(index) if output is not None]
        self._instruction_of[index] = Instruction(index, op["name"], op["call"], inputs, len(op["outputs"]))
        return self._instruction_of[index]

    def _sources(self, index: int) -> list[tuple[int, int | None]]:
        return [producer(text, self._index_of) for text in self._ops[index]["inputs"]]

    def _add_waits(self, device: int, instructions: list[Instruction]) -> None:
        """A device that has waited for an op need not wait for earlier ones of the same device."""
        waited = [-1] * len(self.program.devices)
        for instruction in instructions:
            for source, output in self._sources(instruction.op):
                there = self.program.device_of[source]
                if there == device or source not in self._place:
                    continue
                if output is not None:
                    self._slot((source, output), device)
                if self._place[source] > waited[there]:
                    waited[there] = self._place[source]
                    instruction.waits.append(self.program.num_gates)
                    self._instruction_of[source].opens.append(self.program.num_gates)
                    self.program.num_gates += 1


def compile_plan(plan: Plan, devices: Mapping[str, str] | None) -> Program:
    """Raises BadInput, which names the op, for a graph that cannot be run and for devices that are not there."""
    return _Compilation(plan, devices).program
