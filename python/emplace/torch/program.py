"""A plan as what each device does in turn: the calls of its ops, where their inputs come from, and when outputs can go."""
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from emplace._core import BadInput
from emplace.dataflow import producer, topological_rank
from emplace.plan import Plan
from emplace.torch.calls import decode_call

# Ops that compute nothing here: their tensors come from the model or from the caller.
GIVEN = ("emplace.parameter", "emplace.input", "emplace.constant")
# The caller's optimizer does these.
LEFT_OUT = ("emplace.update",)


@dataclass
class Instruction:
    """An op on its device."""
    op: int
    name: str
    inputs: list[tuple[int, int]]  # Op and output of each tensor that it reads.
    waits: list[int]  # Ops of other devices that have to end first.
    awaited: bool  # Whether another device waits for this op.
    call: Callable[[list[torch.Tensor]], object]


@dataclass
class Program:
    """What a plan's devices do."""
    devices: list[torch.device]  # Of each device of the machine, in its order.
    instructions: list[list[Instruction]]  # Of each device, in its order.
    given: dict[int, dict]  # By op: type, attrs and device of what is given.
    readers: list[int]  # [n] how many instructions read an op's outputs; results count as one more.
    results: dict[str, dict]  # By type of op (emplace.output, ...) and then by attrs.name or attrs.index: the op.
    structure: str  # As of emplace.output.


def torch_devices(plan: Plan, devices: Mapping[str, str] | None) -> list[torch.device]:
    """The device of PyTorch for each device of the machine: what `devices` says, else the one of this name."""
    unknown = set(devices or {}) - {device.name for device in plan.machine.devices}
    if unknown:
        raise BadInput(f"devices: the machine has no device '{min(unknown)}'")
    found = []
    for device in plan.machine.devices:
        name = (devices or {}).get(device.name, device.name)
        if not re.fullmatch(r"(cpu|cuda)(:\d+)?", name):
            raise BadInput(f"device '{name}' of the machine is no device of PyTorch, expected a name such as cuda:0 or cpu:0, or "
                           f"devices={{'{name}': 'cuda:0', ...}}")
        kind, _, index = name.partition(":")
        if kind == "cuda" and int(index or 0) >= torch.cuda.device_count():
            raise BadInput(f"there is no device '{name}' here, expected one of {torch.cuda.device_count()} GPUs or cpu:0")
        # Every device of the CPU has the same memory.
        found.append(torch.device("cpu") if kind == "cpu" else torch.device("cuda", int(index or 0)))
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


def compile_plan(plan: Plan, devices: Mapping[str, str] | None) -> Program:
    """Raises BadInput, which names the op, for a graph that cannot be run and for devices that are not there."""
    ops = plan.graph.ops
    index_of = {op["name"]: index for index, op in enumerate(ops)}
    where = torch_devices(plan, devices)
    given: dict[int, dict] = {}
    results: dict[str, dict] = {"emplace.output": {}, "emplace.gradient": {}, "emplace.buffer": {}}
    readers = [0] * len(ops)
    structure = ""
    left_out = {index for index, op in enumerate(ops) if op["type"] in LEFT_OUT}
    for index, op in enumerate(ops):
        if op["type"] in GIVEN:
            given[index] = {"type": op["type"], "attrs": op["attrs"], "device": int(plan.placement[index])}
        elif index not in left_out and "call" not in op:
            raise BadInput(f"op '{op['name']}' has no call, expected a graph of emplace.torch.capture")
        if op["type"] in results:
            attrs = op["attrs"]
            results[op["type"]][attrs.get("name", attrs.get("index"))] = index
            structure = attrs.get("structure", structure)
            readers[index] += 1
    instructions: list[list[Instruction]] = []
    awaited: set[int] = set()
    for device, order in enumerate(_order(plan)):
        instructions.append([])
        for index in order:
            if index in given or index in left_out:
                continue
            op = ops[index]
            sources = [producer(text, index_of) for text in op["inputs"]]
            inputs = [(source, output) for source, output in sources if output is not None]
            waits = sorted({source for source, _ in sources
                            if plan.placement[source] != device and source not in given and source not in left_out})
            for source in {source for source, _ in inputs}:
                readers[source] += 1
            call = decode_call(op["call"], where[device], f"op '{op['name']}'")
            awaited.update(waits)
            instructions[-1].append(Instruction(index, op["name"], inputs, waits, False, call))
    for instruction in itertools.chain.from_iterable(instructions):
        instruction.awaited = instruction.op in awaited
    return Program(where, instructions, given, readers, results, structure)
