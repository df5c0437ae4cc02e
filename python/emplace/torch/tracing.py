"""A model's forward pass, or its loss with the gradients, as a flat FX graph of ATen ops without side effects.

Nothing is computed: parameters, buffers and arguments are fake tensors on the CPU, so that models may be on the meta device or
larger than the memory. What is recorded is what PyTorch runs, below autograd, so that a run of the same ops has the same bits.
"""
import contextlib
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from emplace._core import BadInput
from emplace.reading import Unmapped
from emplace.torch.captured_model import modes_of, module_text, refuse_hooks
from emplace.torch.changed_buffers import AssignedBuffers, DataSetInPlace, refuse_gradient_in, refuse_shared_memory
from emplace.torch.checkpoints import begins_after, keep_random_numbers, record_now, recorded_checkpoints
from emplace.torch.failures import describe_failure
from emplace.torch.exporting import exporting_flags, has_exporting_flags
from emplace.torch.layouts import copy_ambiguous_images
from emplace.torch.kernels import size_workspaces
from emplace.torch.logs import quiet
from emplace.torch.one_cpu import OneCpuMode, values_refused
from emplace.torch.output_structure import dump_structure
from emplace.torch.process_state import model_kept, process_kept, tables_kept
from emplace.torch.running import Running, modules_of


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
    gradients: dict[str, fx.Node] = field(default_factory=dict)  # By parameter; one that the loss does not depend on has none.
    new_buffers: dict[str, fx.Node] = field(default_factory=dict)  # By buffer that the model changes.
    frozen: set[str] = field(default_factory=set)  # Parameters for which no gradient was asked.
    modes: dict[str, bool] = field(default_factory=dict)  # As of modes_of.
    modules: dict[fx.Node, str] = field(default_factory=dict)  # As of modules_of.
    # By call of gradient checkpointing (region_of), the nodes after which it computes again.
    begins_after: dict[int, list[fx.Node]] = field(default_factory=dict)
    structure: str = ""  # JSON of how the outputs make up the model's output: pytree's spec, and leaves that are no tensors.


# What a module holds under a name, and where the model holds the same under an earlier name: holder, key, first holder, first key.
FurtherName = tuple[dict, str, dict, str]


def _further_names(model: nn.Module) -> list[FurtherName]:
    """The further names of modules, parameters and buffers that the model has under several."""
    first: dict[int, tuple[dict, str]] = {}
    further: list[FurtherName] = []

    def is_new(holder: dict, key: str) -> bool:
        value = holder[key]
        if value is None:
            return False
        if id(value) in first:
            further.append((holder, key, *first[id(value)]))
            return False
        first[id(value)] = holder, key
        return True

    def visit(module: nn.Module) -> None:
        for holder in (module._parameters, module._buffers):
            for key in holder:
                is_new(holder, key)
        for key, child in module._modules.items():
            if is_new(module._modules, key):
                visit(child)

    visit(model)
    return further


class _Inner(nn.Module):
    """The model as a function of the tensors among its arguments; the other arguments are constants."""

    def __init__(self, model: nn.Module, leaves: list[Any], spec: pytree.TreeSpec, microbatches: int | None):
        super().__init__()
        self.model = model
        self.further_names: list[FurtherName] = []
        self.assigned = AssignedBuffers(model)
        self._leaves, self._spec, self._microbatches = leaves, spec, microbatches

    def forward(self, *tensors: torch.Tensor):
        for holder, key, first_holder, first_key in self.further_names:
            holder[key] = first_holder[first_key]
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        if self._microbatches is None:
            return self._output(args, kwargs)
        record_now()
        with DataSetInPlace():
            loss = loss_of(self._output(args, kwargs))
        if self._microbatches > 1:
            return loss / self._microbatches
        # PyTorch records no gradient for an output that is a parameter, or a view of one.
        base = loss if loss._base is None else loss._base
        return loss.clone() if any(base is parameter for parameter in self.model.parameters()) else loss

    def _output(self, args: tuple, kwargs: dict) -> Any:
        # PyTorch may run the forward pass twice, and tensors of the first run are none of the second.
        with tables_kept(self.model), self.assigned.kept():
            return self.model(*args, **kwargs)


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
def _fake_tensors_of(inner: _Inner, mode: FakeTensorMode):
    """Meanwhile the model's parameters and buffers are fake ones on the CPU. Its forward pass alone finds what it has under further
    names, so that autograd sees one tensor and sums the gradients of all its uses up in the order of a plain backward pass."""
    real: list[tuple[dict, str, Any]] = []

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        with mode:
            empty = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
        return nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty

    inner.further_names = _further_names(inner.model)
    modules = list(inner.model.modules())
    try:
        for holder, name, *_ in inner.further_names:
            real.append((holder, name, holder[name]))
            holder[name] = None
        for module in modules:
            for holder in (module._parameters, module._buffers):
                for name, tensor in holder.items():
                    if tensor is not None:
                        real.append((holder, name, tensor))
                        holder[name] = fake(tensor)
        yield
    finally:
        for holder, name, value in real:
            holder[name] = value


def _name_in_model(target: str) -> str:
    """The model's name for a parameter or buffer of _Inner."""
    return target.removeprefix("model.")


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


def _training_trace(inner: _Inner, tensors: list[torch.Tensor], mode: FakeTensorMode, running: Running) -> Trace:
    from torch._functorch.aot_autograd import aot_export_joint_with_descriptors  # From 2.9 on, which training needs alone.
    with contextlib.ExitStack() as stack, mode, recorded_checkpoints(running) as drawn_anew:
        joint = aot_export_joint_with_descriptors(stack, inner, tuple(tensors))
        trace = Trace(joint.graph_module)
    keep_random_numbers(trace.module.graph, drawn_anew)
    trace.begins_after = begins_after(trace.module.graph)
    nodes = trace.module.graph.nodes
    for node in nodes:
        if node.op != "placeholder":
            continue
        # Which input it is, is told by the type and the fields of its descriptor.
        about = node.meta["desc"]
        kind = type(about).__name__
        if kind == "ParamAOTInput":
            trace.parameters[_name_in_model(about.target)] = node
        elif kind == "BufferAOTInput":
            trace.buffers[_name_in_model(about.target)] = node
        elif kind == "PlainAOTInput":
            trace.arguments[about.idx] = node
        elif kind == "TangentAOTInput":
            changed = getattr(about.output, "mutated_input", None)
            if type(changed).__name__ == "BufferAOTInput":
                refuse_gradient_in(_name_in_model(changed.target))
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
                trace.gradients[_name_in_model(about.grad_of.target)] = node
        elif kind == "InputMutationAOTOutput":
            changed = about.mutated_input
            if type(changed).__name__ != "BufferAOTInput":
                raise BadInput(f"the model changes {changed}, expected changes of buffers alone")
            trace.new_buffers[_name_in_model(changed.target)] = node
        else:
            raise BadInput(f"the model has an output of kind {kind}, which emplace does not know")
    return trace


def _in_place(graph: fx.Graph) -> list[fx.Node]:
    """Ops that change a tensor, but for the last copies into what the model is given."""
    return [node for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
            and not (node.target == torch.ops.aten.copy_.default and node.args[0].op == "placeholder")]


def _refuse_in_place(trace: Trace) -> None:
    for node in _in_place(trace.module.graph):
        raise BadInput(f"{module_text(trace.modules[node])}: {node.target} changes a tensor in place in a way that a graph does not have, "
                       "expected an op that returns a new tensor")


def _inference_trace(inner: _Inner, tensors: list[torch.Tensor], mode: FakeTensorMode, _: Running) -> Trace:
    from torch._decomp.decompositions import native_batch_norm_decomposition
    from torch.func import functional_call, functionalize
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta
    parameters = dict(inner.named_parameters())
    buffers = dict(inner.named_buffers())
    spec = None
    constants: dict[int, Any] = {}

    def run(parameters, buffers, tensors):
        nonlocal spec
        before = dict(buffers)
        held = dict(buffers)
        output, spec = pytree.tree_flatten(_with_plain_tuples(functional_call(inner, (parameters, held), tuple(tensors))))
        for index, leaf in enumerate(output):
            if isinstance(leaf, torch.Tensor):
                continue
            if type(leaf).__name__.endswith("Cache"):
                leaf = None  # What models of transformers keep for the next token: no part of a step.
            if leaf is not None and not isinstance(leaf, (bool, int, float, str)):
                raise BadInput(f"output {index} of the model is a {type(leaf).__name__}, expected tensors and plain values")
            constants[index] = leaf
        return [leaf for leaf in output if isinstance(leaf, torch.Tensor)], [held[name] for name in before]

    # It changes running statistics, and its schema does not say so: those of the ops that take its place do.
    replaced = {torch.ops.aten.native_batch_norm.default: native_batch_norm_decomposition}
    with torch.no_grad(), mode, preserve_node_meta():
        module = make_fx(functionalize(run), replaced, _allow_non_fake_inputs=True)(parameters, buffers, tensors)
        if _in_place(module.graph):
            # functionalize() passes on some ops (circular padding, nn.RNN, ...) whose parts then change tensors in place.
            again = fx.Interpreter(module).run
            module = make_fx(functionalize(lambda *args: again(*args)), _allow_non_fake_inputs=True)(parameters, buffers, tensors)
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    names = [*parameters, *buffers, *range(len(tensors))]
    trace = Trace(module)
    for node, name in zip(placeholders, names, strict=True):
        if name in parameters:
            trace.parameters[_name_in_model(name)] = node
        elif name in buffers:
            trace.buffers[_name_in_model(name)] = node
        else:
            trace.arguments[name] = node
    _warn_of_changed(module, trace)
    flat, _ = pytree.tree_flatten(next(node for node in module.graph.nodes if node.op == "output").args[0])
    count = len(flat) - len(buffers)
    if count == 0:
        raise BadInput("the model returns no tensor, expected at least one")
    trace.outputs = flat[:count]
    for name, node in zip(buffers, flat[count:], strict=True):
        if node is not trace.buffers[_name_in_model(name)]:
            trace.new_buffers[_name_in_model(name)] = node
    trace.structure = dump_structure(spec, constants)
    return trace


def _with_plain_tuples(output: Any) -> Any:
    """A model's output with plain tuples for those whose items have names, as topk() returns one."""
    def plain(value: Any) -> Any:
        return tuple(map(_with_plain_tuples, value)) if isinstance(value, tuple) else value

    return pytree.tree_map(plain, output, is_leaf=lambda value: isinstance(value, tuple))


def _warn_of_changed(module: torch.fx.GraphModule, trace: Trace) -> None:
    """Warns of arguments and parameters that the model changes in place: a step leaves them as they are."""
    names = {node: f"argument {index}" for index, node in trace.arguments.items()} | {
        node: f"parameter {name}" for name, node in trace.parameters.items()}
    changed = [names[node.args[0]] for node in module.graph.nodes
               if node.target == torch.ops.aten.copy_.default and node.args[0] in names]
    if changed:
        warnings.warn(f"the model changes {', '.join(dict.fromkeys(changed))} in place, and a step leaves it as it is: have the model "
                      "return what it has changed", Unmapped, stacklevel=2)


def _compiled_code_left_out() -> contextlib.AbstractContextManager:
    """Meanwhile, what torch.compile has compiled runs as it was written. PyTorch 2.5 has no such switch."""
    return torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else contextlib.nullcontext()


def trace_model(model: nn.Module, leaves: list[Any], spec: pytree.TreeSpec, train: bool, microbatches: int) -> Trace:
    """Records one micro-batch. leaves, spec: the flattened (args, kwargs). Raises BadInput, which names module and op.

    The model's code runs as it is; where this fails, it runs once more as PyTorch's exporting has it run.
    """
    refuse_hooks(model)
    inner = _Inner(model, leaves, spec, microbatches if train else None)
    inner.training = model.training
    try:
        trace = _record_whole(inner, leaves, train, microbatches)
    except BadInput as plain:
        if not has_exporting_flags():
            raise
        try:
            with exporting_flags():
                trace = _record_whole(inner, leaves, train, microbatches)
        except BadInput as exported:
            more = f"; with the flags of torch.export, {exported}" if str(exported) != str(plain) else ""
            raise BadInput(f"{plain}{more}") from plain.__cause__
    copy_ambiguous_images(trace.module.graph)
    size_workspaces(trace.module.graph)
    trace.modes, trace.modules = modes_of(model), modules_of(trace.module.graph)
    _refuse_in_place(trace)
    refuse_shared_memory(model, trace.new_buffers)
    trace.frozen = {name for name, parameter in model.named_parameters() if train and not parameter.requires_grad}
    return trace


def _record_whole(inner: _Inner, leaves: list[Any], train: bool, microbatches: int) -> Trace:
    """Records anew where the model has turned out to assign buffers, which it is then given in another way."""
    trace = _record(inner, leaves, train, microbatches)
    return _record(inner, leaves, train, microbatches) if inner.assigned.found_more() else trace


def _record(inner: _Inner, leaves: list[Any], train: bool, microbatches: int) -> Trace:
    model = inner.model
    mode = OneCpuMode(allow_non_fake_inputs=True)
    with (process_kept(), model_kept(model), values_refused(), _compiled_code_left_out(),
          quiet("torch._subclasses.fake_tensor")):
        running = Running(model)
        try:
            with _fake_tensors_of(inner, mode):
                return (_training_trace if train else _inference_trace)(inner, _fake_arguments(leaves, microbatches, mode), mode, running)
        except BadInput:
            raise
        except Exception as error:  # Whatever the user's code raises.
            raise BadInput(describe_failure(error, running, mode.op)) from error
        finally:
            running.remove()
