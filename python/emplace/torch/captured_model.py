"""Whether a model is still the one whose graph was captured: its layers, their modes and hooks, its parameters and buffers."""
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from emplace._core import BadInput
from emplace.torch.calls import dtype_named

_HOOKS = {"_forward_pre_hooks": "forward-pre", "_forward_hooks": "forward", "_backward_pre_hooks": "backward-pre",
          "_backward_hooks": "backward"}


def check_tensor(name: str, value: Any, dtype: torch.dtype, shape: Sequence[int], source: str) -> None:
    """Raises BadInput unless the value is a tensor of this type and shape, which it is as `source` says: "captured"."""
    is_tensor = isinstance(value, torch.Tensor)
    if is_tensor and (value.is_nested or value.layout != torch.strided):
        raise BadInput(f"{name} is a {'nested' if value.is_nested else value.layout} tensor, expected a dense one")
    if is_tensor and value.dtype == dtype and list(value.shape) == list(shape):
        return
    what = f"{value.dtype} of shape {list(value.shape)}" if is_tensor else repr(value)
    raise BadInput(f"{name} is {what}, expected {dtype} of shape {list(shape)}, as {source}")


def check_has_numbers(name: str, tensor: torch.Tensor) -> None:
    """Raises BadInput for a tensor of the device meta, with which nothing can be computed."""
    if tensor.is_meta:
        raise BadInput(f"{name} is on the device meta, expected one with a memory, as cpu or cuda")


def module_text(module: str) -> str:
    """A module in an error, by its name; "" is the model."""
    return f"module '{module}'" if module else "the model"


def _is_recorded(hook: Any) -> bool:
    """Whether a hook only computes what the forward pass needs, so that a graph has all that it does: weight_norm's and such, and the
    one with which transformers lets embeddings require gradients."""
    return (getattr(hook, "__module__", "").startswith("torch.nn.utils.")
            or getattr(hook, "__qualname__", "").endswith(".make_inputs_require_grads"))


def _refuse_hooks_of(holder: Any, prefix: str, where: str) -> None:
    for field, kind in _HOOKS.items():
        for hook in getattr(holder, prefix + field).values():
            if not _is_recorded(hook):
                name = getattr(hook, "__qualname__", type(hook).__qualname__)
                raise BadInput(f"{where} has the {kind} hook '{name}', which a graph's step would not call; expected it removed, or its "
                               "work in a module's forward()")


def refuse_hooks(model: nn.Module) -> None:
    """Raises BadInput, which names module and hook, for a module with hooks that would not be called."""
    _refuse_hooks_of(torch_module, "_global", "torch.nn.modules.module")
    for name, module in model.named_modules():
        _refuse_hooks_of(module, "", module_text(name))


def modes_of(model: nn.Module) -> dict[str, bool]:
    """By name, `training` of the model (its name is "") and of each module where it differs from the one around it."""
    modes: dict[str, bool] = {}

    def visit(name: str, module: nn.Module, around: bool | None) -> None:
        if module.training != around:
            modes[name] = module.training
        for key, child in module.named_children():
            visit(f"{name}.{key}" if name else key, child, module.training)

    visit("", model, None)
    return modes


def _mode_in(modes: dict[str, bool], name: str) -> bool:
    while name and name not in modes:
        name = name.rpartition(".")[0]
    return modes[name]


def _check_mode(name: str, module: nn.Module, expected: bool) -> None:
    if module.training != expected:
        now, then = ("train()", "eval()") if module.training else ("eval()", "train()")
        raise BadInput(f"{module_text(name)} is in the mode of {now}, expected {then} as when its graph was captured; set the mode back, "
                       "or capture the model again")


def _structure_of(module: nn.Module) -> tuple:
    """What is the same as long as a module is as it was: its mode, the modules in it, hooks, and how many tensors it holds."""
    own = module.__dict__
    return (module.training, len(own["_parameters"]), len(own["_buffers"]), *own["_modules"].values(), *own["_forward_hooks"].values(),
            *own["_forward_pre_hooks"].values(), *own["_backward_hooks"].values(), *own["_backward_pre_hooks"].values())


class CapturedModel:
    """The tensors of a model by their names in its graph. What replaces one is used, where it is of the same shape and type."""

    def __init__(self, model: nn.Module, ops: list[dict], graph: str):
        """ops, graph: those of the captured graph, and its name. Raises BadInput where the model is another one."""
        self._graph = graph
        self._residents = {op["attrs"]["name"]: op for op in ops if op["type"] == "emplace.parameter"}
        self._expected = {name: (dtype_named(op["outputs"][0]["dtype"]), torch.Size(op["outputs"][0]["shape"]))
                          for name, op in self._residents.items()}
        self._trained = [op["attrs"]["name"] for op in ops if op["type"] == "emplace.gradient"]
        refuse_hooks(model)
        self._check_modes(model, ops)
        self._structures = [(name, module, _structure_of(module)) for name, module in model.named_modules()]
        self._places = {name: (holder, key) for name, holder, key in _places_of(model)}
        for name in self._residents:
            if name not in self._places:
                raise BadInput(f"the model has no parameter or buffer '{name}', expected the model of the plan's graph '{graph}'")
        self._further = self._further_names()
        self._tensors: dict[str, torch.Tensor] = {}
        self.refresh()

    def __getitem__(self, name: str) -> torch.Tensor:
        """A parameter or buffer as of the last refresh()."""
        return self._tensors[name]

    def refresh(self) -> None:
        """Takes the parameters and buffers that the model has now. Raises BadInput where its graph is no longer the model's."""
        for name, module, known in self._structures:
            if _structure_of(module) != known:
                self._refuse_change(name, module, known)
        for name in self._residents:
            holder, key = self._places[name]
            tensor = holder.get(key)
            # A tensor that stays may have got other data: model.double() does so.
            if self._tensors.get(name) is not tensor or (tensor.dtype, tensor.shape) != self._expected[name]:
                self._check(name, tensor)
                self._tensors[name] = tensor
        for name, first in self._further:
            holder, key = self._places[name]
            if holder.get(key) is not self._tensors[first]:
                raise BadInput(f"'{name}' and '{first}' are two tensors of the model, expected one as at its capture; tie them, "
                               "or capture the model again")
        self._check_frozen()

    def _check_modes(self, model: nn.Module, ops: list[dict]) -> None:
        modes = next((op["attrs"]["modes"] for op in ops if op["type"] == "emplace.output" and "modes" in op["attrs"]), None)
        for name, module in model.named_modules() if modes else ():
            _check_mode(name, module, _mode_in(modes, name))

    def _further_names(self) -> list[tuple[str, str]]:
        """The names that the graph does not have, each with one that it has of the same tensor."""
        in_graph = {id(self._places[name][0][self._places[name][1]]): name for name in self._residents}
        further = []
        for name, (holder, key) in self._places.items():
            if name in self._residents:
                continue
            if id(holder[key]) not in in_graph:
                raise BadInput(f"the model has '{name}', which its graph '{self._graph}' lacks; capture the model again")
            further.append((name, in_graph[id(holder[key])]))
        return further

    def _check(self, name: str, tensor: torch.Tensor | None) -> None:
        what, (dtype, shape) = f"'{name}' of the model", self._expected[name]
        check_tensor(what, tensor, dtype, shape, "in the plan's graph")
        check_has_numbers(what, tensor)

    def _check_frozen(self) -> None:
        for name in self._trained:
            if not self._tensors[name].requires_grad:
                raise BadInput(f"parameter '{name}' requires no gradient, expected one that does as when its graph was captured; capture "
                               "the model again after freezing")
        for name, op in self._residents.items():
            if op["attrs"].get("frozen") and self._tensors[name].requires_grad:
                raise BadInput(f"parameter '{name}' requires a gradient, expected a frozen one as when its graph was captured; capture the "
                               "model again")

    def _refuse_change(self, name: str, module: nn.Module, known: tuple) -> None:
        _refuse_hooks_of(module, "", module_text(name))
        _check_mode(name, module, known[0])
        raise BadInput(f"{module_text(name)} has other modules, parameters or buffers than when its step was made; capture the model again")


def _places_of(model: nn.Module) -> Iterator[tuple[str, dict, str]]:
    """By each of its names, where a parameter or buffer is held."""
    for name, module in model.named_modules(remove_duplicate=False):
        for holder in (module._parameters, module._buffers):
            for key, tensor in holder.items():
                if tensor is not None:
                    yield f"{name}.{key}" if name else key, holder, key
