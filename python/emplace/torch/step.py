"""emplace.torch.apply: a model run as planned."""
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.plan import Plan
from emplace.torch.calls import dtype_named
from emplace.torch.captured_model import CapturedModel, check_tensor
from emplace.torch.capturing import argument_names, flatten_arguments
from emplace.torch.program import Instruction, Program, compile_plan


class _Stopped(Exception):
    """Another device has failed, or the caller has been interrupted."""


class _Run:
    """One step: the tensors that are there, and which ops have ended. Its methods may be called by all devices' threads."""

    def __init__(self, program: Program, seconds: dict[str, float] | None = None):
        """seconds: gets the time of each op by name, if it is given."""
        self._program = program
        self._seconds = seconds
        self._outputs: dict[int, Any] = {}
        self._left = list(program.readers)
        self._lock = threading.Lock()
        self._ended: set[int] = set()  # Of the ops for which another device waits.
        self._changed = threading.Condition()
        self._stop = False

    def give(self, op: int, tensor: torch.Tensor) -> None:
        self._outputs[op] = (tensor,)

    def stop(self) -> None:
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def result(self, op: int) -> torch.Tensor:
        return self._outputs[op][0]

    def execute(self, device: int, instructions: list[Instruction]) -> None:
        try:
            for instruction in instructions:
                self._wait(instruction.waits)
                self._execute(device, instruction)
        except BaseException:
            self.stop()
            raise

    def _wait(self, ops: list[int]) -> None:
        if self._stop:
            raise _Stopped
        if not ops:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._stop or self._ended.issuperset(ops))
            if self._stop:
                raise _Stopped

    def _execute(self, device: int, instruction: Instruction) -> None:
        where = self._program.devices[device]
        inputs = [self._outputs[op][output] for op, output in instruction.inputs]
        moved = [tensor if tensor.device == where else tensor.to(where) for tensor in inputs]
        begin = time.perf_counter()
        try:
            value = instruction.call(moved)
        except RuntimeError as error:
            raise RuntimeError(f"op '{instruction.name}' failed: {error}") from error
        if self._seconds is not None:
            if where.type == "cuda":
                torch.cuda.synchronize(where)
            self._seconds[instruction.name] = time.perf_counter() - begin
        self._outputs[instruction.op] = value if isinstance(value, (tuple, list)) else (value,)
        if instruction.awaited:
            with self._changed:
                self._ended.add(instruction.op)
                self._changed.notify_all()
        with self._lock:
            for op in {op for op, _ in instruction.inputs}:
                self._left[op] -= 1
                if self._left[op] == 0:
                    del self._outputs[op]


class Step:
    """A step of a model as planned: step(*args, **kwargs) returns what the model returns, for a training graph its loss, and
    leaves the gradients in the parameters' .grad, added to what is there, as loss.backward() does.

    Parameters are the model's own: an optimizer that changes them changes what the step computes with. One call at a time.
    """

    def __init__(self, model: nn.Module, plan: Plan, program: Program, leaves: list[Any], spec: pytree.TreeSpec,
                 cores: Mapping[str, Sequence[int]] | None):
        self.plan = plan
        self._program, self._leaves, self._spec = program, leaves, spec
        self._names = argument_names(leaves, spec)
        self._model = CapturedModel(model, plan.graph.ops, plan.graph.name)
        self._check_arguments()
        self._threads = []
        for index, device in enumerate(plan.machine.devices):
            own = (cores or {}).get(device.name)
            self._threads.append(ThreadPoolExecutor(1, f"emplace {device.name}", _prepare_thread, (program.devices[index], own)))

    def close(self) -> None:
        """Ends the devices' threads."""
        for thread in self._threads:
            thread.shutdown()

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __call__(self, *args, **kwargs) -> Any:
        return self._finish(self._run(args, kwargs, None))

    def profile(self, *args, **kwargs) -> dict[str, float]:
        """Runs a step, and returns the seconds that each op took by name, instead of the results; the model stays as it is."""
        seconds: dict[str, float] = {}
        self._run(args, kwargs, seconds)
        return seconds

    def _run(self, args: tuple, kwargs: dict, seconds: dict[str, float] | None) -> _Run:
        tensors = self._tensors(args, kwargs)
        self._model.refresh()
        run = _Run(self._program, seconds)
        for op, given in self._program.given.items():
            run.give(op, self._given(given, tensors))
        running = [thread.submit(run.execute, index, instructions) for index, (thread, instructions)
                   in enumerate(zip(self._threads, self._program.instructions, strict=True))]
        failed = None
        try:
            for future in running:
                try:
                    future.result()
                except _Stopped:
                    pass
                except Exception as error:
                    failed = failed or error
        except BaseException:
            run.stop()
            raise
        if failed is not None:
            raise failed
        self._synchronize()
        return run

    def _synchronize(self) -> None:
        for device in set(self._program.devices):
            if device.type == "cuda":
                torch.cuda.synchronize(device)

    def _check_arguments(self) -> None:
        """The graph has an input for each tensor among the arguments, or one for each micro-batch's part of it."""
        ops = self.plan.graph.ops
        tensors = dict(zip(self._names, (leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)), strict=True))
        inputs = {op: given["attrs"] for op, given in self._program.given.items() if given["type"] == "emplace.input"}
        names = {attrs["name"] for attrs in inputs.values()}
        if names != tensors.keys():
            raise BadInput(f"the tensors among the arguments are {sorted(tensors)}, expected {sorted(names)}, as in the plan's graph")
        for op, attrs in inputs.items():
            output = ops[op]["outputs"][0]
            expected = list(output["shape"])
            if "slice" in attrs:
                expected[0] *= attrs["slice"][1]
            check_tensor(attrs["name"], tensors[attrs["name"]], dtype_named(output["dtype"]), expected, "in the plan's graph")

    def _tensors(self, args: tuple, kwargs: dict) -> dict[str, torch.Tensor]:
        """The tensors among the arguments by name. Raises BadInput where they are not as those of the capture."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._spec:
            raise BadInput(f"the arguments are {spec}, expected {self._spec} as captured")
        tensors = {}
        names = iter(self._names)
        for leaf, known in zip(leaves, self._leaves, strict=True):
            if not isinstance(known, torch.Tensor):
                if isinstance(leaf, torch.Tensor) or leaf != known:
                    raise BadInput(f"an argument is {leaf!r}, expected {known!r} as captured")
                continue
            name = next(names)
            check_tensor(name, leaf, known.dtype, known.shape, "captured")
            if leaf.requires_grad and self._program.results["emplace.gradient"]:
                raise BadInput(f"{name} requires a gradient, which a step computes for parameters alone; expected {name}.detach()")
            tensors[name] = leaf
        return tensors

    def _given(self, given: dict, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        attrs = given["attrs"]
        if given["type"] == "emplace.parameter":
            tensor = self._model[attrs["name"]]
        elif given["type"] == "emplace.constant":
            tensor = torch.tensor(attrs["value"], dtype=dtype_named(attrs["dtype"]))
        else:
            tensor = tensors[attrs["name"]]
            if "slice" in attrs:
                part, parts = attrs["slice"]
                tensor = tensor.chunk(parts)[part]
        return tensor.detach().to(self._program.devices[given["device"]])

    @torch.no_grad()
    def _finish(self, run: _Run) -> Any:
        results = self._program.results
        for name, op in results["emplace.buffer"].items():
            self._model[name].copy_(run.result(op))
        seen: set[int] = set()
        for name, op in results["emplace.gradient"].items():
            _accumulate(self._model[name], run.result(op), seen)
        outputs = [run.result(results["emplace.output"][index]) for index in range(len(results["emplace.output"]))]
        return _rebuild(outputs, self._program.structure) if self._program.structure else outputs[0]


def _accumulate(parameter: nn.Parameter, gradient: torch.Tensor, seen: set[int]) -> None:
    """Adds to .grad, and calls the parameter's hooks, as a backward pass does. seen: addresses of the gradients so far."""
    gradient = gradient.to(parameter.device)
    # Hooks and optimizers change gradients in place: each has memory of its own, laid out as its parameter.
    storage = gradient.untyped_storage().data_ptr()
    if storage in seen or gradient.stride() != parameter.stride() or gradient._is_view():
        gradient = torch.empty_like(parameter).copy_(gradient)
    seen.add(storage)
    for hook in list((parameter._backward_hooks or {}).values()):
        replaced = hook(gradient)
        gradient = gradient if replaced is None else replaced
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad += gradient
    for hook in list((parameter._post_accumulate_grad_hooks or {}).values()):
        hook(parameter)


def _rebuild(tensors: list[torch.Tensor], structure: str) -> Any:
    """The model's output from its tensors; structure: as of Trace."""
    about = json.loads(structure)
    spec = pytree.treespec_loads(about["spec"])
    given = iter(tensors)
    leaves = [about["constants"][str(index)] if str(index) in about["constants"] else next(given) for index in range(spec.num_leaves)]
    return pytree.tree_unflatten(leaves, spec)


def _prepare_thread(device: torch.device, cores: Sequence[int] | None) -> None:
    torch.set_grad_enabled(False)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if cores is not None:
        os.sched_setaffinity(0, cores)
        torch.set_num_threads(len(cores))


def apply(model: nn.Module, args: tuple, plan: Plan, *, kwargs: Mapping[str, Any] | None = None,
          devices: Mapping[str, str] | None = None, cores: Mapping[str, Sequence[int]] | None = None) -> Step:
    """Makes a step that runs the model as planned, on real devices.

    model: the one whose graph `capture` made, with its parameters; on the CPU or anywhere. args, kwargs: as in `capture`, of the
    same shapes. devices: for devices of the machine that are not called cuda:i or cpu:i, which device of PyTorch each is. Each
    device is a thread that runs the ops in the plan's order. cores: for devices of the CPU by name, the cores to which their
    thread and PyTorch's threads under it are bound.

    On the CPU, without micro-batches and random ops, loss and gradients have the bits of the plain model. Raises BadInput for a
    plan of another model, other arguments, and devices that are not there.
    """
    unknown = set(cores or {}) - {device.name for device in plan.machine.devices}
    if unknown:
        raise BadInput(f"cores: the machine has no device '{min(unknown)}'")
    here = os.sched_getaffinity(0)
    for device, own in (cores or {}).items():
        if not own or not here.issuperset(own):
            raise BadInput(f"cores of '{device}' are {list(own)}, expected some of {sorted(here)}")
    leaves, spec = flatten_arguments(args, kwargs)
    return Step(model, plan, compile_plan(plan, devices), leaves, spec, cores)
