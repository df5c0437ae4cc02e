"""Calls of ATen ops as JSON, and back (the field `call` of an op).

    {"op": "aten.addmm.default", "args": [{"in": 0, "views": [["aten.slice.Tensor", [0, 0, 2, 1]]]},
                                          {"const": [2, 32], "as": "int[]"}, {"list": [{"in": 1}]}], "kwargs": {}}

`in` is an index into the op's inputs; `views` are applied to that tensor in turn, each with the arguments after the tensor.
"""
import math
from collections.abc import Callable
from typing import Any

import torch

from emplace._core import BadInput
from emplace.torch.targets import check_runs_on

aten = torch.ops.aten

_DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint64: "u64", torch.uint8: "u8", torch.bool: "bool",
    torch.complex64: "c64", torch.complex128: "c128",
}
_DTYPE_OF_NAME = {name: dtype for dtype, name in _DTYPES.items()}
_MEMORY_FORMATS = {format: str(format).removeprefix("torch.") for format in (
    torch.contiguous_format, torch.channels_last, torch.channels_last_3d, torch.preserve_format)}
_MEMORY_FORMAT_OF_NAME = {name: format for format, name in _MEMORY_FORMATS.items()}
# Ops that a graph, which may be somebody else's, may not call.
_OF_FILES = ("aten.from_file", "image.read_file", "image.write_file")
# Ops that return a view of their first argument.
VIEWS = {
    aten.alias.default, aten.detach.default, aten.view.default, aten.t.default, aten.transpose.int, aten.reshape.default,
    aten.permute.default, aten.expand.default, aten.slice.Tensor, aten.select.int, aten.unsqueeze.default, aten.squeeze.default,
    aten.squeeze.dim, aten.squeeze.dims, aten.diagonal.default, aten.as_strided.default, aten.lift_fresh.default,
}
# Arguments that belong to the device on which an op runs, which the placement decides.
_OF_THE_DEVICE = ("device", "pin_memory")


def short_name(op: torch._ops.OpOverload) -> str:
    """The addmm of aten.addmm.default."""
    return op._schema.name.split("::")[-1]


def name_of_dtype(dtype: torch.dtype) -> str:
    """"f32". Raises BadInput for a type without a name."""
    if dtype not in _DTYPES:
        raise BadInput(f"{dtype} is a type of numbers that emplace does not know, expected one of {', '.join(map(str, _DTYPES))}")
    return _DTYPES[dtype]


def dtype_named(name: str) -> torch.dtype:
    """The reverse of name_of_dtype. Raises BadInput for what is no such name."""
    if not isinstance(name, str) or name not in _DTYPE_OF_NAME:
        raise BadInput(f"dtype is {name!r}, expected one of {', '.join(_DTYPE_OF_NAME)}")
    return _DTYPE_OF_NAME[name]


def json_numbers(value: Any) -> Any:
    """A number, or lists of numbers, for JSON, which has none for infinities and NaN: these become texts."""
    if isinstance(value, list):
        return [json_numbers(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def json_of_tensor(tensor: torch.Tensor) -> Any:
    """The numbers of a tensor, for JSON; of complex ones the real and the imaginary part."""
    return json_numbers((torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).tolist())


def tensor_of_json(value: Any, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    """The reverse of json_of_tensor. Lists do not say the shape of a tensor without numbers."""
    numbers = torch.tensor(_numbers_of_json(value), dtype=dtype.to_real())
    return torch.view_as_complex(numbers.reshape(*shape, 2)) if dtype.is_complex else numbers.reshape(shape)


def _numbers_of_json(value: Any) -> Any:
    """Of what `json_numbers` makes, the numbers."""
    if isinstance(value, list):
        return [_numbers_of_json(item) for item in value]
    return float(value) if isinstance(value, str) else value


def encode(value: Any, tensor: Callable[[Any], dict | None]) -> dict:
    """An argument as JSON. tensor: gives the JSON of what it knows as a tensor, None for all else."""
    known = tensor(value)
    if known is not None:
        return known
    if isinstance(value, (list, tuple)):
        if all(type(item) is bool for item in value) and value:
            return {"const": list(value), "as": "bool[]"}
        if all(type(item) is int for item in value):
            return {"const": list(value), "as": "int[]"}
        if all(type(item) in (int, float) and math.isfinite(item) for item in value):
            return {"const": [float(item) for item in value], "as": "float[]"}
        return {"list": [encode(item, tensor) for item in value]}
    if value is None:
        return {"const": None, "as": "none"}
    if isinstance(value, bool):
        return {"const": value, "as": "bool"}
    if isinstance(value, int):
        return {"const": value, "as": "int"}
    if isinstance(value, float):
        return {"const": json_numbers(value), "as": "float"}
    if isinstance(value, str):
        return {"const": value, "as": "str"}
    if isinstance(value, torch.dtype):
        return {"const": name_of_dtype(value), "as": "dtype"}
    if isinstance(value, torch.memory_format):
        return {"const": _MEMORY_FORMATS[value], "as": "memory_format"}
    if value is torch.strided:
        return {"const": "strided", "as": "layout"}
    raise BadInput(f"an argument is {value!r} ({type(value).__name__}), which a graph cannot hold")


def encode_call(op: torch._ops.OpOverload, args: tuple, kwargs: dict, tensor: Callable[[Any], dict | None]) -> dict:
    """The call of an op. Raises BadInput, which names the op, for an argument that JSON cannot hold."""
    try:
        return {"op": str(op), "args": [encode(arg, tensor) for arg in args],
                "kwargs": {name: encode(arg, tensor) for name, arg in kwargs.items() if name not in _OF_THE_DEVICE}}
    except BadInput as error:
        raise BadInput(f"{op}: {error}") from None


def _decode(value: dict, place: str) -> Any:
    """A constant; tensors are left to the caller."""
    kind, const = value.get("as"), value.get("const")
    if kind == "float":
        return float(const)
    if kind == "dtype" and const in _DTYPE_OF_NAME:
        return _DTYPE_OF_NAME[const]
    if kind == "memory_format" and const in _MEMORY_FORMAT_OF_NAME:
        return _MEMORY_FORMAT_OF_NAME[const]
    if kind == "layout":
        return torch.strided
    if kind in ("none", "bool", "int", "str", "bool[]", "int[]", "float[]"):
        return const
    raise BadInput(f"{place}: argument {value}, expected one with in, list, or const and as")


def op_named(name: str, place: str) -> torch._ops.OpOverload:
    """torch.ops' op of a name such as aten.add.Tensor. Raises BadInput for one that there is not, or that a graph may not call."""
    try:
        space, op, overload = name.split(".")
        found = getattr(getattr(getattr(torch.ops, space), op), overload)
    except (AttributeError, ValueError):
        found = None
    # Some are TorchScript's alone, such as aten.save.
    if not isinstance(found, torch._ops.OpOverload) or not torch._C._dispatch_has_kernel(found.name()):
        raise BadInput(f"{place}: there is no op '{name}' in torch {torch.__version__}")
    if f"{space}.{op}" in _OF_FILES:
        raise BadInput(f"{place}: '{name}' reads or writes a file, expected an op that computes tensors")
    return found


def returns_one_tensor(op: torch._ops.OpOverload) -> bool:
    """False for an op that returns several tensors, or a list of them."""
    returns = op._schema.returns
    return len(returns) == 1 and isinstance(returns[0].type, torch.TensorType)


class CallWriter:
    """Writes calls for one device as Python's source code; `names` has what the code needs by name."""

    def __init__(self, device: torch.device):
        self.names: dict[str, Any] = {"device": device}
        self._name_of: dict[Any, str] = {}

    def call(self, call: dict, inputs: list[str], place: str) -> str:
        """Calls the op with the variables that hold its inputs. Raises BadInput, which begins with `place`."""
        op = op_named(call["op"], place)
        check_runs_on(op, self.names["device"], place)
        args = [self._argument(arg, inputs, place) for arg in call.get("args", [])]
        kwargs = {name: self._argument(arg, inputs, place) for name, arg in call.get("kwargs", {}).items()}
        names = {argument.name for argument in op._schema.arguments}
        if unknown := sorted(kwargs.keys() - names):  # They become a part of the code.
            raise BadInput(f"{place}: '{call['op']}' has no argument {unknown[0]!r}")
        if "device" in names:
            kwargs["device"] = "device"
        return f"{self._named(op)}({', '.join([*args, *(f'{name}={arg}' for name, arg in kwargs.items())])})"

    def _named(self, value: Any) -> str:
        if value not in self._name_of:
            self._name_of[value] = f"c{len(self._name_of)}"
            self.names[self._name_of[value]] = value
        return self._name_of[value]

    def _argument(self, value: dict, inputs: list[str], place: str) -> str:
        if "in" in value:
            if value["in"] not in range(len(inputs)):
                raise BadInput(f"{place}: input {value['in']!r} is read, expected a whole number below {len(inputs)}")
            text = inputs[value["in"]]
            for name, args in value.get("views", []):
                view = op_named(name, place)
                if view not in VIEWS:
                    raise BadInput(f"{place}: '{name}' is no view, expected one of {', '.join(sorted(map(str, VIEWS)))}")
                if view == aten.view.default:  # A kernel may lay its result out otherwise than PyTorch's shape rules say.
                    view = aten.reshape.default
                text = f"{self._named(view)}({', '.join([text, *map(self._literal, args)])})"
            return text
        if "list" in value:
            return f"[{', '.join(self._argument(item, inputs, place) for item in value['list'])}]"
        return self._literal(_decode(value, place))

    def _literal(self, value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(self._literal, value))}]"
        if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value)
        return self._named(value)
