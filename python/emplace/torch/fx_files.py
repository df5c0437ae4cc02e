"""FX modules that stand in files of their own, as public collections of graphs have them.

    model, args = emplace.torch.read_fx("resnet18")
    graph = emplace.torch.capture(model, args)

Such a folder (those of PaddlePaddle's GraphNet, for example) has `model.py` with a class GraphModule, whose forward takes all
parameters, buffers and inputs as arguments, and `weight_meta.py` and `input_meta.py` with a class for each of them: name, shape,
dtype, and for some data, mean and std. `model.py` is run, the other two are only read.
"""
import ast
import inspect
import os
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.checks import check_whole
from emplace.reading import failed, import_file, read_text

_META_FILES = ("weight_meta.py", "input_meta.py")
_DEVICE = re.compile(r"(cuda|xpu|mps|hpu|npu|cpu)(:\d+)?")
_READS_NUMBER = {"item", "_local_scalar_dense", "_local_scalar_dense.default"}
_BUFFER = re.compile(r"_buffers_|^lifted_tensor")  # In names of arguments that the original model holds.
# Such as L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_.
_DYNAMO_NAME = re.compile(r"L_\w*?(?P<modules>(?:_modules_\w+)?)_(?:parameters|buffers)_(?P<leaf>\w+?)_?")


@dataclass
class _Meta:
    """What a file says about an argument of the module."""
    place: str  # For errors.
    shape: list[int]
    dtype: torch.dtype
    data: list | None
    mean: float
    std: float

    @property
    def known_number(self) -> bool | int | float | None:
        """The only one of its numbers, or for floating point, their mean; None: it is not known."""
        if self.data and len(self.data) == 1:
            return self.data[0]
        return self.mean if self.dtype.is_floating_point else None

    def number(self) -> bool | int | float:
        """The value of an argument that is no tensor."""
        if not isinstance(self.known_number, (bool, int, float)):
            raise BadInput(f"{self.place}: data is {str(self.data)[:60]}, expected the number that this argument is")
        return self.known_number

    def tensor(self, device: torch.device) -> torch.Tensor:
        """On the device meta without numbers, else with the data, or random numbers with this mean and deviation."""
        if device.type == "meta" or self.data is None and not self.dtype.is_floating_point:
            return torch.zeros(self.shape, dtype=self.dtype, device=device)
        if self.data is None:
            return (torch.randn(self.shape) * self.std + self.mean).to(device, self.dtype)
        try:
            return torch.tensor(self.data, dtype=self.dtype, device=device).reshape(self.shape)
        except (RuntimeError, TypeError, ValueError):
            raise BadInput(f"{self.place}: data is {str(self.data)[:60]}, expected the numbers of a tensor of shape {self.shape}") from None


def _literals(body: ast.ClassDef) -> dict[str, Any]:
    """The values that a class gives names, those that are literals."""
    found = {}
    for line in body.body:
        if isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name):
            try:
                found[line.targets[0].id] = ast.literal_eval(line.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                found[line.targets[0].id] = None
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _meta(values: dict[str, Any], place: str) -> _Meta:
    shape, dtype, data = values.get("shape"), values.get("dtype"), values.get("data")
    if not isinstance(shape, (list, tuple)) or not all(type(size) is int and 0 <= size < 2**63 for size in shape):
        raise BadInput(f"{place}: shape is {str(shape)[:60]}, expected a list of whole numbers")
    found = getattr(torch, str(dtype).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise BadInput(f"{place}: dtype is {str(dtype)[:60]!r}, expected one of PyTorch's, such as 'torch.float32'")
    if data is not None and not isinstance(data, list):
        data = [data]
    mean, std = (values.get(key) if _is_number(values.get(key)) else default for key, default in (("mean", 0.0), ("std", 1.0)))
    return _Meta(place, list(shape), found, data, mean, std)


def _read_metas(folder: pathlib.Path) -> dict[str, _Meta]:
    """What the files beside the module say, by name of the argument."""
    metas = {}
    paths = [folder / name for name in _META_FILES if (folder / name).exists()]
    if not paths:
        raise BadInput(f"{folder}: has neither {' nor '.join(_META_FILES)}, expected them beside the module, with the shapes of its arguments")
    for path in paths:
        try:
            tree = ast.parse(read_text(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            raise BadInput(f"{path}:{line}: is no Python file: {getattr(error, 'msg', error)}") from None
        for entry in tree.body:
            if isinstance(entry, ast.ClassDef):
                values = _literals(entry)
                if not isinstance(values.get("name"), str):
                    raise BadInput(f"{path}:{entry.lineno}: class {entry.name} has no name, expected the argument that it describes")
                metas[values["name"]] = _meta(values, f"{path}:{entry.lineno}")
    return metas


def _model_name(argument: str) -> tuple[str, str]:
    """Module and name in it of an argument, as in the model that the graph was traced from; ("", argument) for other names."""
    found = _DYNAMO_NAME.fullmatch(argument)
    if not found:
        return "", argument
    return found["modules"].removeprefix("_modules_").replace("_modules_", "."), found["leaf"]


class _Part(nn.Module):
    """A module of the original model: it holds parameters, and runs the calls of the graph that belong to it."""

    def forward(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        return function(*args, **kwargs)

    def part(self, name: str) -> "_Part":
        """The module of this name inside of this one, made where it is missing."""
        found = self
        for step in name.split(".") if name else ():
            if step not in found._modules:
                found.add_module(step, _Part())
            found = found._modules[step]
        return found


def _on_cpu(value: Any) -> Any:
    """An argument of a call, with the CPU in place of the device on which the graph was traced."""
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and _DEVICE.fullmatch(value) else value


class _InParts(TorchFunctionMode):
    """Runs each call inside of the module to which it belongs, that of the weight that was read last, and on the CPU.

    A number that the graph takes out of an argument of the module (by item()) is the one that the files know.
    """

    def __init__(self, part_of: dict[int, _Part | None], known: dict[int, tuple[torch.Tensor, float]]):
        """part_of: by id of a weight's tensor; None: the model itself. known: arguments with their number, by id."""
        super().__init__()
        self._part_of, self._known = part_of, known
        self._part: _Part | None = None

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args = tuple(_on_cpu(value) for value in args)
        kwargs = {key: _on_cpu(value) for key, value in (kwargs or {}).items()}
        for value in (*args, *kwargs.values()):
            self._part = self._part_of.get(id(value), self._part)
        _, number = self._known.get(id(args[0]) if args else 0, (None, None))
        name = getattr(function, "__name__", "")
        if number is not None and name in _READS_NUMBER:
            return number
        result = self._part(function, args, kwargs) if self._part else function(*args, **kwargs)
        if number is not None and name == "__getitem__":
            self._known[id(result)] = result, number
        return result


def _loss(output: Any) -> torch.Tensor:
    """The output if it is a loss, or begins with one; else the sum of the means of all floating point numbers in it."""
    tensors = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    if tensors and tensors[0].numel() == 1:
        return tensors[0]
    return sum((tensor.float().mean() for tensor in tensors), torch.zeros(()))


class FxModule(_Part):
    """A file's module as a model that holds its parameters and buffers under their names in the original model.

    It is called with the other tensors, and returns what the file's module returns, or with `train` a loss.
    """

    def __init__(self, module: nn.Module, train: bool):
        super().__init__()
        self._run = module.forward  # Its own module would be one more name in all others.
        self._train = train
        self._given: list[tuple[_Part, str] | bool | int | float | None] = []  # By argument; None: one of the inputs.
        self._known: list[float | None] = []  # By argument, what `add_input` and `add_weight` are told.

    def add_input(self, known_number: float | None) -> None:
        """A tensor with which the model is called. known_number: what the graph reads where it takes a number out of it."""
        self._given.append(None)
        self._known.append(known_number)

    def add_number(self, number: bool | int | float) -> None:
        self._given.append(number)
        self._known.append(None)

    def add_weight(self, argument: str, weight: nn.Parameter | torch.Tensor, known_number: float | None) -> None:
        """A parameter or a buffer. known_number: as in `add_input`."""
        self._known.append(known_number)
        module, leaf = _model_name(argument)
        try:
            place = self.part(module), leaf
            self._register(*place, weight)
        except (KeyError, AttributeError):  # The name is that of a method, or of another weight.
            place = self, argument
            self._register(*place, weight)
        self._given.append(place)

    @staticmethod
    def _register(part: _Part, name: str, weight: nn.Parameter | torch.Tensor) -> None:
        if hasattr(part, name):
            raise KeyError(name)
        if isinstance(weight, nn.Parameter):
            part.register_parameter(name, weight)
        else:
            part.register_buffer(name, weight)

    def forward(self, *inputs: torch.Tensor) -> Any:
        rest = iter(inputs)
        arguments = [getattr(*given) if isinstance(given, tuple) else next(rest) if given is None else given for given in self._given]
        part_of = {id(value): None if given[0] is self else given[0]
                   for given, value in zip(self._given, arguments, strict=True) if isinstance(given, tuple)}
        known = {id(value): (value, number) for value, number in zip(arguments, self._known, strict=True) if number is not None}
        with _InParts(part_of, known):
            output = self._run(*arguments)
        return _loss(output) if self._train else output


def _module_of(path: pathlib.Path) -> nn.Module:
    """The module of a file: its class GraphModule, or the only one that it has."""
    file = import_file(path)
    classes = {name: value for name, value in vars(file).items()
               if isinstance(value, type) and issubclass(value, nn.Module) and value.__module__ == file.__name__}
    if "GraphModule" not in classes and len(classes) != 1:
        raise BadInput(f"{path}: has the modules {', '.join(classes) or 'none'}, expected a class GraphModule, or one torch.nn.Module")
    chosen = classes.get("GraphModule") or next(iter(classes.values()))
    try:
        return chosen()
    except Exception as error:
        raise failed(f"{path}: {chosen.__name__}()", error) from error


def _is_number_type(annotation: Any) -> bool:
    return annotation in (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)


def read_fx(path: str | os.PathLike, *, train: bool = False, microbatches: int = 1,
            device: str | torch.device = "meta") -> tuple[FxModule, tuple[torch.Tensor, ...]]:
    """(model, args) of an FX module in a file of its own, for `capture` and `apply`; the file is run.

    path: the file, or its folder with `model.py`. train: the model returns a loss: the module's first output where that is one
    number, else the sum of the means of all its floating point outputs. microbatches: args are as many times longer in dimension 0
    as the file says, those that are as long as the first one, since the file's shapes are those of one micro-batch. device: where
    parameters and arguments are; they have no numbers on the device meta, else the files' data, or random numbers with the mean
    and deviation that these say. Raises BadInput for files of another form.
    """
    path = pathlib.Path(path)
    path = path / "model.py" if path.is_dir() else path
    check_whole("microbatches", microbatches, 1)
    module = _module_of(path)
    metas = _read_metas(path.parent)
    model, inputs, device = FxModule(module, train), [], torch.device(device)
    for argument in inspect.signature(module.forward).parameters.values():
        if argument.name not in metas:
            raise BadInput(f"{path}: no class in {' or '.join(_META_FILES)} describes the argument '{argument.name}' of the module")
        meta = metas[argument.name]
        is_parameter = argument.annotation is nn.Parameter
        if _is_number_type(argument.annotation):
            model.add_number(meta.number())
        elif is_parameter or _BUFFER.search(argument.name):
            tensor = meta.tensor(device)
            model.add_weight(argument.name, nn.Parameter(tensor, tensor.is_floating_point()) if is_parameter else tensor,
                             meta.known_number)
        else:
            inputs.append(meta.tensor(device))
            model.add_input(meta.known_number)
    batch = next((tensor.size(0) for tensor in inputs if tensor.dim() > 0), None)
    return model, tuple(tensor.repeat(microbatches, *[1] * (tensor.dim() - 1)) if tensor.dim() > 0 and tensor.size(0) == batch else tensor
                        for tensor in inputs)
