"""emplace.torch.capture"""
import os
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from emplace._core import BadInput, Graph
from emplace.checks import check_whole
from emplace.torch.assembly import Assembly
from emplace.torch.captured_model import module_text
from emplace.torch.costs import CostModel
from emplace.torch.lowering import lower
from emplace.torch.targets import kernels_of, target_of
from emplace.torch.tracing import split_arguments, trace_model
from emplace.torch.wrappers import unwrapped

# Numbers that an optimizer keeps for each number of a parameter.
OPTIMIZER_SLOTS = {"sgd": 0, "momentum": 1, "adagrad": 1, "rmsprop": 1, "adam": 2, "adamw": 2}


def _check_version(train: bool) -> None:
    found = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", torch.__version__).groups())
    needed = (2, 9) if train else (2, 5)
    if found < needed:
        raise BadInput(f"torch is {torch.__version__}, expected {needed[0]}.{needed[1]} or later for train={train}")


def flatten_arguments(args: tuple, kwargs: Mapping[str, Any] | None) -> tuple[list[Any], pytree.TreeSpec]:
    """The leaves of the arguments that a model is called with. Raises BadInput for others."""
    if not isinstance(args, tuple):
        raise BadInput(f"args is a {type(args).__name__}, expected a tuple with the model's arguments")
    if not isinstance(kwargs, Mapping | None):
        raise BadInput(f"kwargs is a {type(kwargs).__name__}, expected a dict with the model's arguments by name")
    return pytree.tree_flatten((args, dict(kwargs or {})))


def argument_names(leaves: list[Any], spec: pytree.TreeSpec) -> list[str]:
    """The place of each tensor among the arguments, such as args[0] or kwargs['mask']."""
    args_and_kwargs = pytree.tree_unflatten(leaves, spec)
    keyed, _ = pytree.tree_flatten_with_path(args_and_kwargs)
    names = []
    for path, leaf in keyed:
        if isinstance(leaf, torch.Tensor):
            names.append(("args", "kwargs")[path[0].idx] + pytree.keystr(path[1:]))
    return names


def _refuse_scripts(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise BadInput(f"{module_text(name)} is a {type(module).__name__} of torch.jit, which does not run as Python code; expected "
                           "the nn.Module that it was made of")


def _refuse_sparse(tensors: Mapping[str, torch.Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.layout != torch.strided:
            raise BadInput(f"'{name}' is a tensor of layout {tensor.layout}, expected {torch.strided}, as tensor.to_dense() has it")


def _holds_tensors(value: Any, depth: int = 4) -> bool:
    """Whether an object has a tensor in its attributes, or in lists and dicts in these."""
    if isinstance(value, torch.Tensor):
        return True
    if depth == 0 or isinstance(value, (str, type)):
        return False
    if isinstance(value, Mapping):
        parts = list(value.values())
    else:
        parts = list(value) if isinstance(value, (list, tuple)) else list(getattr(value, "__dict__", {}).values())
    return any(_holds_tensors(part, depth - 1) for part in parts)


def _refuse_holders(leaves: list[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor) and _holds_tensors(leaf):
            raise BadInput(f"an argument is a {type(leaf).__name__}, whose tensors a graph would keep as they are now; expected these "
                           "tensors as arguments, such as ((key, value), ...), of a module that makes the object from them")


def capture(model: nn.Module, args: tuple = (), kwargs: Mapping[str, Any] | None = None, *, train: bool = False,
            microbatches: int = 1, replicas: bool = False, optimizer: str | None = None, kinds: str | os.PathLike | None = None,
            name: str | None = None, target: str | None = None) -> Graph:
    """The graph of a model's forward pass, or with `train` of a training step, for `emplace.place` and `emplace.torch.apply`.

    args, kwargs: as the model is called. Only shapes and types of tensors count, so that model and arguments may be on the device
    `meta`; other arguments are constants of the graph. train: forward and backward pass, and the sum of the gradients; the model
    returns its loss, alone, first in a tuple, or as `.loss`. microbatches: the step processes the batch in so many parts, along
    dimension 0 of all tensors that are as long as the first one, as gradient accumulation does; the loss is the mean of theirs, and
    buffers are changed part by part. replicas: each part has parameters of its own, as in data-parallel training; the optimizer has
    a value that it updates beside them, and sends it to all of them, or without an optimizer the gradient. optimizer: sgd,
    momentum, adagrad, rmsprop, adam or adamw: parameters then occupy memory for its state, and each has an update. kinds: folder of
    the device kinds on which ops get costs, by a roofline model; None: those that come with the package. target: "cpu" or "cuda",
    the devices whose kernels the graph calls where these have their own, as for attention; None: "cuda" for a model whose first
    tensor is there, else "cpu".

    Views of tensors (transpose, slice, ...) are no ops, but part of the calls that read them. The group of a parameter has the
    sum of its gradient and its update. Raises BadInput, with the module or op, for what cannot be captured.
    """
    _check_version(train)
    if not isinstance(model, nn.Module):
        raise BadInput(f"model is a {type(model).__name__}, expected a torch.nn.Module")
    model = unwrapped(model)
    _refuse_scripts(model)
    leaves, spec = flatten_arguments(args, kwargs)
    _refuse_holders(leaves)
    check_whole("microbatches", microbatches, 1)
    if microbatches > 1 and not train:
        raise BadInput(f"microbatches is {microbatches}, expected 1 without train=True")
    if replicas and microbatches == 1:
        raise BadInput("replicas is True, expected False with microbatches=1")
    if optimizer is not None and (optimizer not in OPTIMIZER_SLOTS or not train):
        raise BadInput(f"optimizer is '{optimizer}', expected one of {', '.join(OPTIMIZER_SLOTS)}, and train=True")
    names = argument_names(leaves, spec)
    given = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    tensors = [*model.parameters(), *model.buffers(), *given]
    _refuse_sparse({**dict(model.named_parameters()), **dict(model.named_buffers()), **dict(zip(names, given, strict=True))})
    with kernels_of(target_of(tensors, target)):
        trace = trace_model(model, leaves, spec, train, microbatches)
    costs = CostModel(kinds)
    slots = OPTIMIZER_SLOTS[optimizer] if optimizer else None
    assembly = Assembly(trace, lower(trace, costs), costs, names, split_arguments(leaves, microbatches), slots, replicas)
    return Graph.from_ops(name or type(model).__name__, assembly.build(train, microbatches))
