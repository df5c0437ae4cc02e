"""A model's forward pass, or its loss with the gradients, as a flat FX graph of ATen ops without side effects.

Nothing is computed: parameters, buffers and arguments are fake tensors on the CPU, so that models may be on the meta device or
larger than the memory. What is recorded is what PyTorch runs, below autograd, so that a run of the same ops has the same bits.
"""
import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.torch.logs import quiet


@dataclass
class Trace:
    """What was recorded. Names of parameters and buffers are the model's, the first one of a tensor that has several; arguments
    count the tensors among them."""
    module: fx.GraphModule
    parameters: dict[str, fx.Node] = field(default_factory=dict)
    buffers: dict[str, fx.Node] = field(default_factory=dict)
    arguments: dict[int, fx.Node] = field(default_factory=dict)
    tangent: fx.Node | None = None  # The gradient of the loss with respect to itself, 1.
    outputs: list[fx.Node] = field(default_factory=list)  # The loss alone, or the tensors of the model's output.
    # By parameter; one that the loss does not depend on has none. A parameter with several names has the sum of these.
    gradients: dict[str, list[fx.Node]] = field(default_factory=dict)
    aliases: dict[fx.Node, str] = field(default_factory=dict)  # Further inputs for a parameter or buffer, by its first name.
    new_buffers: dict[str, fx.Node] = field(default_factory=dict)  # By buffer that the model changes.
    structure: str = ""  # JSON of how the outputs make up the model's output: pytree's spec, and leaves that are no tensors.


class _Inner(nn.Module):
    """The model as a function of the tensors among its arguments; the other arguments are constants."""

    def __init__(self, model: nn.Module, leaves: list[Any], spec: pytree.TreeSpec, microbatches: int | None):
        super().__init__()
        self.model = model
        self._leaves, self._spec, self._microbatches = leaves, spec, microbatches

    def forward(self, *tensors: torch.Tensor):
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        output = self.model(*args, **kwargs)
        if self._microbatches is None:
            return output
        loss = loss_of(output)
        return loss / self._microbatches if self._microbatches > 1 else loss


def loss_of(output: Any) -> torch.Tensor:
    """The loss among a model's outputs. Raises BadInput where there is none."""
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if loss is None:
        loss = output[0] if isinstance(output, (tuple, list)) and output else output
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.dtype.is_floating_point:
        what = f"{loss.dtype} of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise BadInput(f"the model returns {what}, expected its loss for train=True: one floating point number, alone, first in "
                       "a tuple, or as .loss")
    return loss


@contextlib.contextmanager
def _fake_tensors_of(model: nn.Module, mode: FakeTensorMode):
    """Meanwhile the model's parameters and buffers are fake ones on the CPU; shared ones stay shared."""
    fakes: dict[int, torch.Tensor] = {}
    real: list[tuple[dict, str, torch.Tensor]] = []

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in fakes:
            with mode:
                empty = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
            fakes[id(tensor)] = nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
        return fakes[id(tensor)]

    for module in model.modules():
        for holder in (module._parameters, module._buffers):
            for name, tensor in holder.items():
                if tensor is not None:
                    real.append((holder, name, tensor))
    try:
        for holder, name, tensor in real:
            holder[name] = fake(tensor)
        yield
    finally:
        for holder, name, tensor in real:
            holder[name] = tensor


class _ModuleNames:
    """The module that runs now, by hooks; for errors."""

    def __init__(self, model: nn.Module):
        self.stack: list[str] = []
        self._handles = []
        for name, module in model.named_modules():
            self._handles.append(module.register_forward_pre_hook(lambda *_, name=name: self._enter(name)))
            self._handles.append(module.register_forward_hook(lambda *_: self._leave()))

    def _enter(self, name: str) -> None:
        self.stack.append(name)

    def _leave(self) -> None:
        # Without a result: what a hook returns replaces the module's output.
        self.stack.pop()

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __str__(self) -> str:
        return f"module '{self.stack[-1]}'" if self.stack and self.stack[-1] else "the model"


class _FirstNames:
    """The name by which the trace knows a parameter or buffer: of several, the first one."""

    def __init__(self, inner: _Inner):
        first: dict[int, str] = {}
        self._first = {}
        for name, tensor in [*inner.named_parameters(remove_duplicate=False), *inner.named_buffers(remove_duplicate=False)]:
            self._first[name] = first.setdefault(id(tensor), name.removeprefix("model."))

    def add(self, nodes: dict[str, fx.Node], trace: Trace, name: str, node: fx.Node) -> None:
        """Makes the node the input for this name, or one more of them."""
        first = self._first[name]
        if first in nodes:
            trace.aliases[node] = first
        else:
            nodes[first] = node

    def __getitem__(self, name: str) -> str:
        return self._first[name]


def _fake_arguments(leaves: list[Any], microbatches: int, mode: FakeTensorMode) -> list[torch.Tensor]:
    """The tensors among the arguments, each of the size of one micro-batch if it is split."""
    split = split_arguments(leaves, microbatches)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    fakes = []
    for tensor, is_split in zip(tensors, split, strict=True):
        size = list(tensor.size())
        if is_split:
            size[0] //= microbatches
        with mode:
            fakes.append(torch.empty(size, dtype=tensor.dtype, device="cpu"))
    return fakes


def split_arguments(leaves: list[Any], microbatches: int) -> list[bool]:
    """For each tensor among the arguments, whether micro-batches get a part of it: those as long as the first one is."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if microbatches == 1:
        return [False] * len(tensors)
    batch = next((tensor.size(0) for tensor in tensors if tensor.dim() > 0), 0)
    if batch == 0 or batch % microbatches != 0:
        raise BadInput(f"the batch (dimension 0 of the first tensor) has {batch} examples, expected a multiple of "
                       f"microbatches={microbatches}")
    return [tensor.dim() > 0 and tensor.size(0) == batch for tensor in tensors]


def _training_trace(inner: _Inner, tensors: list[torch.Tensor], mode: FakeTensorMode) -> Trace:
    try:
        from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
    except ImportError:
        raise BadInput(f"torch is {torch.__version__}, expected 2.9 or later for train=True") from None
    with contextlib.ExitStack() as stack, mode:
        joint = aot_export_joint_with_descriptors(stack, inner, tuple(tensors))
        trace = Trace(joint.graph_module)
    nodes = trace.module.graph.nodes
    names = _FirstNames(inner)
    for node in nodes:
        if node.op != "placeholder":
            continue
        # Which input it is, is told by the type and the fields of its descriptor.
        about = node.meta["desc"]
        kind = type(about).__name__
        if kind == "ParamAOTInput":
            names.add(trace.parameters, trace, about.target, node)
        elif kind == "BufferAOTInput":
            names.add(trace.buffers, trace, about.target, node)
        elif kind == "PlainAOTInput":
            trace.arguments[about.idx] = node
        elif kind == "TangentAOTInput":
            trace.tangent = node
        else:
            raise BadInput(f"the model has an input of kind {kind}, which emplace does not know")
    output = next(node for node in nodes if node.op == "output")
    for node, about in zip(output.args[0], output.meta["desc"], strict=True):
        kind = type(about).__name__
        if node is None:
            continue
        if kind == "PlainAOTOutput":
            trace.outputs.append(node)
        elif kind == "GradAOTOutput":
            if type(about.grad_of).__name__ == "ParamAOTInput":
                trace.gradients.setdefault(names[about.grad_of.target], []).append(node)
        elif kind == "InputMutationAOTOutput":
            changed = about.mutated_input
            if type(changed).__name__ != "BufferAOTInput":
                raise BadInput(f"the model changes {changed}, expected changes of buffers alone")
            trace.new_buffers[names[changed.target]] = node
        else:
            raise BadInput(f"the model has an output of kind {kind}, which emplace does not know")
    return trace


def _inference_trace(inner: _Inner, tensors: list[torch.Tensor], mode: FakeTensorMode) -> Trace:
    from torch.func import functional_call, functionalize
    from torch.fx.experimental.proxy_tensor import make_fx
    parameters = dict(inner.named_parameters())
    buffers = dict(inner.named_buffers())
    spec = None
    constants: dict[int, Any] = {}

    def run(parameters, buffers, tensors):
        nonlocal spec
        before = dict(buffers)
        held = dict(buffers)
        output, spec = pytree.tree_flatten(functional_call(inner, (parameters, held), tuple(tensors)))
        for index, leaf in enumerate(output):
            if isinstance(leaf, torch.Tensor):
                continue
            if leaf is not None and not isinstance(leaf, (bool, int, float, str)):
                raise BadInput(f"output {index} of the model is a {type(leaf).__name__}, expected tensors and plain values "
                               "(models of transformers: use_cache=False)")
            constants[index] = leaf
        return [leaf for leaf in output if isinstance(leaf, torch.Tensor)], [held[name] for name in before]

    with torch.no_grad(), mode:
        module = make_fx(functionalize(run), _allow_non_fake_inputs=True)(parameters, buffers, tensors)
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    names = [*parameters, *buffers, *range(len(tensors))]
    first_names = _FirstNames(inner)
    trace = Trace(module)
    for node, name in zip(placeholders, names, strict=True):
        if name in parameters:
            trace.parameters[first_names[name]] = node
        elif name in buffers:
            trace.buffers[first_names[name]] = node
        else:
            trace.arguments[name] = node
    flat, _ = pytree.tree_flatten(next(node for node in module.graph.nodes if node.op == "output").args[0])
    count = len(flat) - len(buffers)
    trace.outputs = flat[:count]
    for name, node in zip(buffers, flat[count:], strict=True):
        if node is not trace.buffers[first_names[name]]:
            trace.new_buffers[first_names[name]] = node
    try:
        trace.structure = json.dumps({"spec": pytree.treespec_dumps(spec), "constants": constants})
    except NotImplementedError as error:
        raise BadInput(f"the model's output has a type that cannot be rebuilt: {error}") from None
    return trace


def trace_model(model: nn.Module, leaves: list[Any], spec: pytree.TreeSpec, train: bool, microbatches: int) -> Trace:
    """Records one micro-batch. leaves, spec: the flattened (args, kwargs). Raises BadInput, which names module and op."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    tensors = _fake_arguments(leaves, microbatches, mode)
    inner = _Inner(model, leaves, spec, microbatches if train else None)
    inner.training = model.training
    names = _ModuleNames(model)
    try:
        with _fake_tensors_of(model, mode), quiet("torch._subclasses.fake_tensor"):  # The error that is raised says what is wrong.
            trace = (_training_trace if train else _inference_trace)(inner, tensors, mode)
    except BadInput:
        raise
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise BadInput(f"{names}: {error.func} needs the values of tensors, which a graph does not have; expected control flow "
                       "and shapes that depend on shapes alone") from error
    except Exception as error:  # Whatever the user's code raises; its first line says what.
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise BadInput(f"{names} cannot be captured: {type(error).__name__}: {reason}") from error
    finally:
        names.remove()
    return trace
