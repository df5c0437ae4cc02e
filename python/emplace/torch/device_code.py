"""The function that runs one device's part of a step: straight Python code, one line for each op, so that Python costs little.

    def run(given, slots, gates, stop):
        gates[4].get()                      # Another device has to come so far first.
        if stop: raise Stopped
        v7_0 = slots[2]; slots[2] = None    # It left a tensor there.
        v8_0 = slots[5] = c0(v7_0, c1(v3_0, 0, 1))
        del v7_0                            # Nothing reads it any more.
        gates[6].put(None)
"""
from collections.abc import Callable
from typing import Any

import torch

from emplace.torch.calls import CallWriter, op_named, returns_one_tensor
from emplace.torch.kernels import WORKSPACE_OF
from emplace.torch.program import Instruction, Program, Value

# After so many ops without a wait, a device looks whether another one has failed.
_OPS_BETWEEN_LOOKS = 64


class Stopped(Exception):
    """Another device has failed, or the caller has been interrupted."""


class DeviceCode:
    """Makes the function of one device, and tells which op a line of it runs."""

    def __init__(self, program: Program, device: int, timer: Callable[[str], Any] | None = None):
        """timer: is called with an op's name; what it returns is a context in which the op runs. Raises BadInput."""
        self._program, self._device, self._timer = program, device, timer
        self._writer = CallWriter(program.devices[device])
        self._lines = ["def run(given, slots, gates, stop):"]
        self._op_of_line: dict[int, str] = {}
        instructions = program.instructions[device]
        self._last_reader = {value: index for index, instruction in enumerate(instructions) for value in instruction.inputs}
        self._slots_of: dict[Value, list[int]] = {}  # Into which a value goes where it is made.
        for (value, _), slot in program.slots.items():
            self._slots_of.setdefault(value, []).append(slot)
        self._held: set[Value] = set()
        for index, instruction in enumerate(instructions):
            self._write(index, instruction)
        self._add("return")  # Where a device has no op.
        names = self._writer.names | {"Stopped": Stopped, "timer": timer, "enable_grad": torch.enable_grad}
        exec(compile("\n".join(self._lines), f"<emplace device {device}>", "exec"), names)
        self.run: Callable[[list, list, list, list], None] = names["run"]

    def op_of(self, error: BaseException) -> str | None:
        """The name of the op that has raised the error."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self.run.__code__:
            trace = trace.tb_next
        return self._op_of_line.get(trace.tb_lineno) if trace else None

    def _add(self, line: str) -> None:
        self._lines.append("    " + line)

    def _write(self, index: int, instruction: Instruction) -> None:
        for gate in instruction.waits:
            self._add(f"gates[{gate}].get()")
        if instruction.waits or index % _OPS_BETWEEN_LOOKS == 0:
            self._add("if stop: raise Stopped")
        for value in instruction.inputs:
            if value not in self._held:
                self._fetch(value)
        self._call(instruction)
        gone = [value for value in instruction.inputs if self._last_reader[value] == index]
        self._held.difference_update(gone)
        if gone:
            self._add("del " + ", ".join(dict.fromkeys(map(_variable, gone))))
        for gate in instruction.opens:
            self._add(f"gates[{gate}].put(None)")

    def _fetch(self, value: Value) -> None:
        """Takes a tensor from the caller or from another device."""
        op, _ = value
        program = self._program
        moved = "" if program.devices[program.device_of[op]] == program.devices[self._device] else ".to(device)"
        if op in program.given:
            self._add(f"{_variable(value)} = given[{op}]{moved}")
        else:
            slot = program.slots[value, self._device]
            self._add(f"{_variable(value)} = slots[{slot}]{moved}; slots[{slot}] = None")
        self._held.add(value)

    def _call(self, instruction: Instruction) -> None:
        """Runs an op, and keeps what somebody reads of its outputs."""
        place = f"op '{instruction.name}'"
        call = self._writer.call(instruction.call, [_variable(value) for value in instruction.inputs], place)
        kept = {output: targets for output in range(instruction.num_outputs) if (targets := self._targets((instruction.op, output)))}
        op = op_named(instruction.call["op"], place)
        one = returns_one_tensor(op)
        line = f"{kept.get(0, '')}{call}" if one else f"result = {call}"
        # No input requires a gradient, so that none is recorded.
        contexts = ["enable_grad()"] if WORKSPACE_OF.get(op) in kept else []
        contexts += [f"timer({instruction.name!r})"] if self._timer else []
        self._add(f"with {', '.join(contexts)}: {line}" if contexts else line)
        self._op_of_line[len(self._lines)] = instruction.name
        if not one:
            for output, targets in kept.items():
                self._add(f"{targets}result[{output}]")
            self._add("del result")

    def _targets(self, value: Value) -> str:
        """To what an output is assigned: v8_0 = slots[5] = ."""
        targets = [f"slots[{slot}]" for slot in self._slots_of.get(value, ())]
        if value in self._last_reader:
            targets.insert(0, _variable(value))
            self._held.add(value)
        return "".join(f"{target} = " for target in targets)


def _variable(value: Value) -> str:
    return f"v{value[0]}_{value[1]}"
