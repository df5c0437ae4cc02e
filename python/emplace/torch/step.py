"""emplace.torch.apply: a model run as planned."""
import contextlib
import os
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.plan import Plan
from emplace.torch.calls import dtype_named, tensor_of_json
from emplace.torch.captured_model import CapturedModel, check_has_numbers, check_tensor
from emplace.torch.capturing import argument_names, flatten_arguments
from emplace.torch.device_code import DeviceCode, Stopped
from emplace.torch.device_threads import keep_freed_memory, prepare_thread
from emplace.torch.output_structure import rebuild
from emplace.torch.program import Program, compile_plan
from emplace.torch.wrappers import unwrapped


class _Run:
    """One step: the tensors that are there, and how far the devices are. Its methods may be called by all devices' threads."""

    def __init__(self, program: Program, given: dict[int, torch.Tensor]):
        self.slots: list[torch.Tensor | None] = [None] * len(program.slots)
        self.given = given
        self.error: BaseException | None = None  # The first one.
        self._gates = [SimpleQueue() for _ in range(program.num_gates)]
        self._stop: list[bool] = []

    def stop(self) -> None:
        self._stop.append(True)
        for gate in self._gates:
            gate.put(None)

    def execute(self, code: DeviceCode) -> None:
        try:
            code.run(self.given, self.slots, self._gates, self._stop)
        except Stopped:
            pass
        except BaseException as error:
            if not self._stop:
                self.error = _with_op(error, code.op_of(error))
            self.stop()


def _with_op(error: BaseException, op: str | None) -> BaseException:
    if op is None or not isinstance(error, Exception):
        return error
    # Of the kinds that ops raise; others, of the driver for instance, may not be made of a text.
    kind = type(error) if type(error) in (IndexError, TypeError, ValueError) else RuntimeError
    named = kind(f"op '{op}' failed: {error}")
    named.__cause__ = error
    return named


def _is_same_constant(given: Any, captured: Any) -> bool:
    """Whether two arguments that are no tensors are of one type and equal; NaN is equal to itself."""
    if type(given) is not type(captured):
        return False
    if isinstance(given, np.ndarray):
        return given.dtype == captured.dtype and np.array_equal(given, captured, equal_nan=given.dtype.kind in "fc")
    return bool(given == captured or (given != given and captured != captured))


class _Times:
    """The seconds that each op takes, by name."""

    def __init__(self, device: torch.device, seconds: dict[str, float]):
        self._device, self._seconds = device, seconds

    @contextlib.contextmanager
    def __call__(self, op: str):
        begin = time.perf_counter()
        yield
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self._seconds[op] = time.perf_counter() - begin


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
        self._kwargs = list(pytree.tree_unflatten(leaves, spec)[1])  # Names, in the order of the capture.
        self._model = CapturedModel(model, plan.graph.ops, plan.graph.name)
        self._check_arguments()
        self._codes = [DeviceCode(program, device) for device in range(len(program.devices))]
        self._constants = {op: self._constant(op, given["attrs"]) for op, given in program.given.items()
                           if given["type"] == "emplace.constant"}
        self._is_closed = False
        self._threads = []
        for index, device in enumerate(plan.machine.devices):
            own = (cores or {}).get(device.name)
            self._threads.append(ThreadPoolExecutor(1, f"emplace {device.name}", prepare_thread, (program.devices[index], own)))

    def _constant(self, op: int, attrs: dict) -> torch.Tensor:
        return tensor_of_json(attrs["value"], dtype_named(attrs["dtype"]), self.plan.graph.ops[op]["outputs"][0]["shape"])

    def close(self) -> None:
        """Ends the devices' threads. The step cannot be called afterwards."""
        self._is_closed = True
        for thread in self._threads:
            thread.shutdown()

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __call__(self, *args, **kwargs) -> Any:
        return self._finish(self._run(args, kwargs, self._codes))

    def profile(self, *args, **kwargs) -> dict[str, float]:
        """Runs a step, and returns the seconds that each op took by name, instead of the results; the model stays as it is."""
        seconds: dict[str, float] = {}
        self._run(args, kwargs, [DeviceCode(self._program, index, _Times(device, seconds))
                                 for index, device in enumerate(self._program.devices)])
        return seconds

    def _run(self, args: tuple, kwargs: dict, codes: list[DeviceCode]) -> _Run:
        """Runs a step by the devices' code."""
        if self._is_closed:
            raise BadInput("the step is closed, expected its calls before close() and within its `with`")
        tensors = self._tensors(args, kwargs)
        self._model.refresh()
        run = _Run(self._program, {op: self._given(op, given, tensors) for op, given in self._program.given.items()})
        running = []
        try:
            for thread, code in zip(self._threads, codes, strict=True):
                running.append(thread.submit(run.execute, code))
            for future in running:
                future.result()
        except BaseException:
            run.stop()
            raise
        if run.error is not None:
            raise run.error
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
        if kwargs.keys() == set(self._kwargs):  # They may come in any order.
            kwargs = {name: kwargs[name] for name in self._kwargs}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._spec:
            shown, expected = (" ".join(str(of).split()) for of in (spec, self._spec))
            raise BadInput(f"the arguments are {shown}, expected {expected} as captured")
        tensors = {}
        names = iter(self._names)
        for leaf, known in zip(leaves, self._leaves, strict=True):
            if not isinstance(known, torch.Tensor):
                if not _is_same_constant(leaf, known):
                    raise BadInput(f"an argument is {leaf!r}, expected {known!r} as captured")
                continue
            name = next(names)
            check_tensor(name, leaf, known.dtype, known.shape, "captured")
            check_has_numbers(name, leaf)
            if leaf.requires_grad and self._program.results["emplace.gradient"]:
                raise BadInput(f"{name} requires a gradient, which a step computes for parameters alone; expected {name}.detach()")
            tensors[name] = leaf
        return tensors

    def _given(self, op: int, given: dict, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        attrs = given["attrs"]
        if given["type"] == "emplace.parameter":
            tensor = self._model[attrs["name"]]
        elif given["type"] == "emplace.constant":
            tensor = self._constants[op]
        else:
            tensor = tensors[attrs["name"]]
            if "slice" in attrs:
                part, parts = attrs["slice"]
                tensor = tensor.chunk(parts)[part]
            tensor = tensor.resolve_conj().resolve_neg().contiguous()  # As they were when the model was captured.
        return tensor.detach().to(self._program.devices[self._program.device_of[op]])

    @torch.no_grad()
    def _finish(self, run: _Run) -> Any:
        results = {kind: {key: run.slots[slot] for key, slot in slots.items()} for kind, slots in self._program.results.items()}
        outputs = [results["emplace.output"][index] for index in range(len(results["emplace.output"]))]
        for name, tensor in results["emplace.buffer"].items():
            self._model[name].copy_(tensor)
        taken = {_address(tensor) for tensor in [*run.given.values(), *outputs]}
        for name, gradient in results["emplace.gradient"].items():
            _accumulate(self._model[name], gradient, taken)
        return rebuild(outputs, *self._program.structure) if self._program.structure else outputs[0]


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _accumulate(parameter: nn.Parameter, gradient: torch.Tensor, taken: set[int]) -> None:
    """Adds to .grad, and calls the parameter's hooks, as a backward pass does. taken: addresses of memory that others have."""
    gradient = gradient.to(parameter)  # Kernels of 16-bit numbers may give gradients in 32 bits.
    if parameter.grad is None or parameter._backward_hooks:
        # Hooks and optimizers change gradients in place: each has memory of its own, laid out as its parameter.
        whole = gradient.untyped_storage().nbytes() == gradient.nbytes
        if not whole or _address(gradient) in taken or gradient.stride() != parameter.stride():
            gradient = torch.empty_like(parameter).copy_(gradient)
        taken.add(_address(gradient))
    for hook in list((parameter._backward_hooks or {}).values()):
        replaced = hook(gradient)
        gradient = gradient if replaced is None else replaced
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad += gradient
    for hook in list((parameter._post_accumulate_grad_hooks or {}).values()):
        hook(parameter)


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
    if not isinstance(model, nn.Module):
        raise BadInput(f"model is a {type(model).__name__}, expected a torch.nn.Module")
    if not isinstance(plan, Plan):
        raise BadInput(f"plan is a {type(plan).__name__}, expected the emplace.Plan of the model's graph")
    for name, by_device in (("devices", devices), ("cores", cores)):
        if not isinstance(by_device, Mapping | None):
            raise BadInput(f"{name} is a {type(by_device).__name__}, expected a dict by the names of the machine's devices")
    unknown = set(cores or {}) - {device.name for device in plan.machine.devices}
    if unknown:
        raise BadInput(f"cores: the machine has no device '{min(unknown)}'")
    here = os.sched_getaffinity(0)
    for device, own in (cores or {}).items():
        if not isinstance(own, Collection) or not own or not here.issuperset(own):
            raise BadInput(f"cores of '{device}' are {own}, expected some of {sorted(here)}")
    leaves, spec = flatten_arguments(args, kwargs)
    keep_freed_memory()
    return Step(unwrapped(model), plan, compile_plan(plan, devices), leaves, spec, cores)
