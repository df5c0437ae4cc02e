"""What a model's code may change while it is captured, put back: in the process (modes, settings, caches of functions) and in the
model's attributes."""
import contextlib
import functools
import gc
import types
from collections.abc import Collection, Iterable, Iterator

import torch
from torch import nn
from torch._C import _autograd, _functorch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx import traceback
from torch.overrides import _get_current_function_mode_stack
from torch.overrides import _pop_mode as _pop_function_mode
from torch.overrides import _push_mode as _push_function_mode
from torch.utils import _device
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._python_dispatch import _pop_mode as _pop_dispatch_mode

_DEVICE_TYPES = ("cpu", "cuda")
# What is no table of a model, and holds none.
_NO_HOLDERS = (nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)
# Kinds of dispatch modes that have a place of their own beside the stack.
_PLACES = tuple(getattr(torch._C._TorchDispatchModeKey, name) for name in ("PROXY", "FUNCTIONAL", "FAKE"))


@contextlib.contextmanager
def _levels_closed() -> Iterator[None]:
    """Closes levels of torch.func (vmap, grad, ...) that are left open."""
    depth = _functorch.get_dynamic_layer_stack_depth()
    try:
        yield
    finally:
        while _functorch.get_dynamic_layer_stack_depth() > depth:
            _functorch.pop_dynamic_layer_stack()


@contextlib.contextmanager
def _modes_left() -> Iterator[None]:
    """Leaves modes that are left entered; the default device is one of them."""
    in_place = {place: torch._C._get_dispatch_mode(place) for place in _PLACES}
    depth, function_modes = len(_get_current_dispatch_mode_stack()), _get_current_function_mode_stack()
    try:
        yield
    finally:
        for place, mode in in_place.items():
            if torch._C._get_dispatch_mode(place) is not mode:
                torch._C._unset_dispatch_mode(place)
                if mode is not None:
                    torch._C._set_dispatch_mode(mode)
        while len(_get_current_dispatch_mode_stack()) > depth:
            _pop_dispatch_mode()
        while _get_current_function_mode_stack():
            _pop_function_mode()
        for mode in function_modes:
            _push_function_mode(mode)


@contextlib.contextmanager
def _saved_tensors_hooks_popped() -> Iterator[None]:
    top = _autograd._top_saved_tensors_default_hooks(True)
    tracing = _autograd._saved_tensors_hooks_set_tracing(False)
    _autograd._saved_tensors_hooks_set_tracing(tracing)
    try:
        yield
    finally:
        while _autograd._top_saved_tensors_default_hooks(True) not in (None, top):
            _autograd._pop_saved_tensors_default_hooks()
        _autograd._saved_tensors_hooks_set_tracing(tracing)


@contextlib.contextmanager
def _settings_kept() -> Iterator[None]:
    autocast = {kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in _DEVICE_TYPES}
    cache, grad, dtype = torch.is_autocast_cache_enabled(), torch.is_grad_enabled(), torch.get_default_dtype()
    anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    device = _device.CURRENT_DEVICE, getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    meta, is_preserved = dict(traceback.current_meta), traceback.should_preserve_node_meta
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        traceback.current_meta, traceback.should_preserve_node_meta = meta, is_preserved
        _device.CURRENT_DEVICE, torch._GLOBAL_DEVICE_CONTEXT.device_context = device
        torch.autograd.set_detect_anomaly(*anomaly)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_autocast_cache_enabled(cache)
        for kind, (is_enabled, kept) in autocast.items():
            torch.set_autocast_enabled(kind, is_enabled)
            torch.set_autocast_dtype(kind, kept)


def _is_traced(value: object) -> bool:
    """Whether a value is a tensor of a capture, which has no numbers."""
    return isinstance(value, (FakeTensor, FunctionalTensor)) or isinstance(value, torch.Tensor) and torch._is_functional_tensor(value)


def _holds_traced(values: Iterable[object], depth: int = 3) -> bool:
    """Whether a tensor of a capture is among the values, or in lists, tuples and dicts among them."""
    return any(_is_traced(value) or depth > 0 and isinstance(value, (dict, list, tuple)) and
               _holds_traced(gc.get_referents(value), depth - 1) for value in values)


@contextlib.contextmanager
def _caches_without_traced() -> Iterator[None]:
    """Empties caches of functions (functools.lru_cache) that have kept tensors of a capture."""
    try:
        yield
    finally:
        for value in gc.get_referrers(functools._lru_cache_wrapper):
            if isinstance(value, functools._lru_cache_wrapper) and _holds_traced(gc.get_referents(value)):
                value.cache_clear()


@contextlib.contextmanager
def process_kept() -> Iterator[None]:
    """Afterwards the process is as before: no levels and modes open, and all settings of the thread as they were."""
    with _settings_kept(), _modes_left(), _saved_tensors_hooks_popped(), _levels_closed():
        yield


def _contents(value: object) -> object:
    return value.copy() if type(value).__name__ in ("dict", "OrderedDict", "list", "set") else value


def _put_back(value: object, contents: object) -> None:
    """Gives a dict, list or set the contents that it had."""
    if value is contents:
        return
    value.clear()
    if isinstance(value, list):
        value.extend(contents)
    else:
        value.update(contents)


def _containers_below(values: Iterable[object], depth: int = 4) -> list[dict | list]:
    """The dicts and lists that dicts, lists and plain objects among the values hold in turn, with the attributes of such objects."""
    found: dict[int, dict | list] = {}

    def look(value: object, depth: int) -> None:
        if isinstance(value, _NO_HOLDERS) or depth == 0 or id(value) in found:
            return
        holder = value if isinstance(value, (dict, list, tuple)) else getattr(value, "__dict__", None)
        if isinstance(holder, (dict, list)):
            found[id(value)] = holder
        for item in holder.values() if isinstance(holder, dict) else holder or ():
            look(item, depth - 1)

    for value in values:
        look(value, depth)
    return list(found.values())


@contextlib.contextmanager
def _attributes_kept(model: nn.Module, but: Collection[str] = ()) -> Iterator[None]:
    kept = [(module, {name: value for name, value in module.__dict__.items() if name not in but}) for module in model.modules()]
    contents = [(value, _contents(value)) for _, attributes in kept for value in attributes.values()]
    below = [(value, value.copy()) for value in _containers_below(value for _, attributes in kept for value in attributes.values())]
    try:
        yield
    finally:
        for module, attributes in kept:
            for name in module.__dict__.keys() - attributes.keys() - set(but):
                del module.__dict__[name]
            module.__dict__.update(attributes)
        for value, before in contents:
            _put_back(value, before)
        for value, before in below:
            if _holds_traced([value], depth=1):
                _put_back(value, before)


def model_kept(model: nn.Module) -> contextlib.AbstractContextManager[None]:
    """Afterwards the attributes of all modules are as before: parameters, buffers, hooks, `training`, and what the model's code keeps
    in them, such as tables that it makes when it is first called."""
    return _attributes_kept(model)


@contextlib.contextmanager
def tables_kept(model: nn.Module) -> Iterator[None]:
    """As model_kept, but for parameters, buffers and modules, and caches of functions that the model calls hold no tensors of the
    capture either."""
    with _caches_without_traced(), _attributes_kept(model, ("_parameters", "_buffers", "_modules")):
        yield
