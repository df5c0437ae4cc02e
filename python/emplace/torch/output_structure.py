"""How the tensors that a graph returns make up a model's output (attrs.structure of its op emplace.output), as a text.

A graph may be somebody else's, and PyTorch's own reader of such texts imports whatever module they name.
"""
import json
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from emplace._core import BadInput


def dump_structure(spec: pytree.TreeSpec, constants: dict[str, Any]) -> str:
    """spec: of the whole output. constants: its leaves that are no tensors, by their index. Raises BadInput."""
    try:
        dumped = pytree.treespec_dumps(spec)
    except NotImplementedError as error:
        raise BadInput(f"the model's output has a type that cannot be rebuilt: {error}") from None
    structure = json.dumps({"spec": dumped, "constants": constants})
    load_structure(structure, "the model's output")
    return structure


def _contexts(node: dict) -> Iterator[Any]:
    """What the nodes of a spec say beside their types, as far as it is JSON."""
    context = node["context"]
    try:
        yield json.loads(context) if isinstance(context, str) else context
    except ValueError:
        yield context
    for child in node["children_spec"]:
        yield from _contexts(child)


def _imports(value: Any) -> bool:
    """Whether PyTorch would import a module to read it: for an enum, or for what a defaultdict is filled with."""
    if isinstance(value, dict):
        return "__enum__" in value or value.get("default_factory_module", "builtins") != "builtins" or any(map(_imports, value.values()))
    return isinstance(value, list) and any(map(_imports, value))


def load_structure(structure: str, place: str) -> tuple[pytree.TreeSpec, dict[str, Any]]:
    """The reverse of dump_structure. Raises BadInput, which begins with `place`, for anything else, and where reading it would import
    a module."""
    try:
        about = json.loads(structure)
        spec, constants = about["spec"], about["constants"]
        if any(map(_imports, _contexts(json.loads(spec)[1]))):
            raise BadInput(f"{place} has keys of an enum, or a defaultdict of other than Python's own types, expected plain dicts")
        return pytree.treespec_loads(spec), dict(constants)
    except BadInput:
        raise
    except Exception as error:  # PyTorch does not say which ones.
        raise BadInput(f"{place} has a structure that cannot be read: {error}; expected that of emplace.torch.capture") from None


def rebuild(tensors: list[torch.Tensor], spec: pytree.TreeSpec, constants: dict[str, Any]) -> Any:
    """The model's output from its tensors."""
    given = iter(tensors)
    leaves = [constants[str(index)] if str(index) in constants else next(given) for index in range(spec.num_leaves)]
    return pytree.tree_unflatten(leaves, spec)
