"""Graphs of MLCommons Chakra execution traces in JSON: nodes with their dependencies and durations.

A file holds an object with the list `nodes`, or one object after the other, as Chakra's own converter to JSON writes them: what
the trace as a whole says, and then a node each. Names of keys are as in Chakra's et_def.proto, or as protobuf writes them in JSON.
"""
import json
import math
import os
import pathlib
import warnings
from typing import Any

from emplace._core import BadInput, Graph
from emplace.reading import Unmapped, finite_number

# As PyTorch calls them in traces, such as "Tensor(c10::Half)", without c10:: and in lower case.
_ELEMENT_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "long": 8, "long int": 8, "int": 4, "short": 2, "short int": 2, "char": 1, "signed char": 1,
    "byte": 1, "unsigned char": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "complex<float>": 8, "complex<double>": 16,
}
_SIZE_ATTRIBUTES = ("tensor_size", "comm_size")


def _value(node: dict, key: str, default: Any = None) -> Any:
    """A node's field, such as duration_micros or durationMicros."""
    first, *rest = key.split("_")
    return node.get(key, node.get(first + "".join(word.title() for word in rest), default))


def _number(value: Any, place: str) -> float:
    """A finite number of at least 0, also one in a text: so protobuf writes whole numbers of 64 bits."""
    return finite_number(value, place, in_text=True)


def _id(value: Any, place: str) -> int:
    """A whole number of 64 bits, also one in a text."""
    try:
        if type(value) in (int, str):
            return int(value)
    except ValueError:
        pass
    raise BadInput(f"{place} is {json.dumps(value)[:60]}, expected a whole number")


def _dependencies(node: dict, key: str, names: dict[int, str], place: str) -> list[str]:
    listed = _value(node, key, [])
    if not isinstance(listed, list):
        raise BadInput(f"{place}: {key} is {json.dumps(listed)[:60]}, expected a list of ids")
    found = []
    for entry in listed:
        index = _id(entry, f"{place}: {key}")
        if index not in names:
            raise BadInput(f"{place}: {key}: there is no node {entry}")
        found.append(names[index])
    return list(dict.fromkeys(found))


def _parsed(value: Any) -> Any:
    """Lists of shapes and types are texts in the trace."""
    try:
        return json.loads(value.replace("'", '"')) if isinstance(value, str) else value
    except (json.JSONDecodeError, RecursionError):
        return None


def _element_bytes(kind: str) -> int:
    """Of a type such as Tensor(float); 4 of one that is not known."""
    return _ELEMENT_BYTES.get(kind.partition("(")[2].rstrip(")").removeprefix("c10::").lower(), 4)


def _output_bytes(node: dict, place: str) -> int:
    """Bytes of the tensors that a node makes, or that it sends, loads or stores; 0 where the trace does not say it."""
    outputs = node.get("outputs")
    shapes, types = (_parsed(outputs.get(key)) for key in ("shapes", "types")) if isinstance(outputs, dict) else (None, None)
    if isinstance(shapes, list) and isinstance(types, list) and len(shapes) == len(types):
        sizes = [math.prod(shape) * _element_bytes(kind) for shape, kind in zip(shapes, types, strict=True)
                 if isinstance(kind, str) and isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)]
        if sum(sizes) > 0:
            return sum(sizes)
    attributes = node.get("attr", node.get("attrs"))
    for attribute in attributes if isinstance(attributes, list) else ():
        if isinstance(attribute, dict) and attribute.get("name") in _SIZE_ATTRIBUTES:
            for key, value in attribute.items():
                if key not in ("name", "docString", "doc_string"):
                    return round(_number(value, f"{place}: {attribute['name']}"))
    return 0


def is_chakra(documents: list) -> bool:
    """Whether these values of a file are a trace of this form, not one of PyTorch."""
    return bool(documents) and all(isinstance(entry, dict) and "schema" not in entry for entry in documents)


def chakra_graph(documents: list[dict], path: str | os.PathLike, kind: str | None) -> Graph:
    """Each node is an op of its duration; data dependencies are tensors, control dependencies are waits.

    kind: the device kind on which it ran; None: any. A warning says how many nodes have no duration, and cost nothing. Raises
    BadInput for a trace without any duration.
    """
    nodes = documents[0].get("nodes") if len(documents) == 1 else [entry for entry in documents if "id" in entry]
    if not isinstance(nodes, list) or not nodes:
        raise BadInput(f"{path}: has no nodes, expected an execution trace of PyTorch with schema 1.1, or one of Chakra")
    names: dict[int, str] = {}
    for index, node in enumerate(nodes):
        if not isinstance(node, dict) or "id" not in node:
            raise BadInput(f"{path}: node {index} has no id, expected a node of a Chakra trace")
        number = _id(node["id"], f"{path}: node {index}: id")
        if number in names:
            raise BadInput(f"{path}: node {index}: id {node['id']} is used twice")
        names[number] = f"{node.get('name', '')} {number}".strip()
    ops, without = [], 0
    for index, (node, name) in enumerate(zip(nodes, names.values(), strict=True)):
        place = f"{path}: node {index}"
        duration = _value(node, "duration_micros")
        without += duration is None
        cost_us = 0.0 if duration is None else _number(duration, f"{place}: duration_micros")
        tensors = _dependencies(node, "data_deps", names, place)
        waits = [f"^{before}" for before in _dependencies(node, "ctrl_deps", names, place) if before not in tensors]
        ops.append({"name": name, "type": str(node.get("type", "")), "cost_us": {kind: cost_us} if kind else cost_us,
                    "inputs": [f"{before}:0" for before in tensors] + waits, "outputs": [{"bytes": _output_bytes(node, place)}]})
    if without == len(nodes):
        raise BadInput(f"{path}: no node has a duration_micros, expected a trace with times")
    if without:
        warnings.warn(f"{path}: {without} of {len(nodes)} nodes have no duration_micros; they cost nothing", Unmapped, stacklevel=3)
    return Graph.from_ops(pathlib.Path(path).name.partition(".")[0], ops)
