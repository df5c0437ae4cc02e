"""A trace as the ops of one micro-batch: views folded into the calls that read them, costs and sizes from shapes."""
import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from emplace._core import BadInput
from emplace.torch.calls import VIEWS, encode_call, name_of_dtype, short_name
from emplace.torch.checkpoints import region_of
from emplace.torch.costs import CostModel, bytes_of
from emplace.torch.kernels import bound_arguments, temporary_bytes
from emplace.torch.running import is_backward
from emplace.torch.tracing import Trace

aten = torch.ops.aten

# Ops that make tensors of nothing, as gradient checkpointing does for itself.
_FACTORIES = {aten.empty.memory_format}
_NO_CHANGE = {aten.alias.default, aten.detach.default, aten.lift_fresh.default}
# Ops that return several views of their first argument.
_SPLITS = {aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int, aten.split_copy.Tensor,
           aten.split_with_sizes_copy.default, aten.unbind_copy.int, aten.unsafe_split.Tensor, aten.unsafe_split_with_sizes.default}
# Ops that make copies of views where nothing shows the difference, as functionalize() puts them in.
_VIEW_OF_COPY = {aten.view_copy.default: aten.view.default, aten.expand_copy.default: aten.expand.default,
                 aten.t_copy.default: aten.t.default, aten.transpose_copy.int: aten.transpose.int,
                 aten.permute_copy.default: aten.permute.default, aten.slice_copy.Tensor: aten.slice.Tensor,
                 aten.select_copy.int: aten.select.int, aten.unsqueeze_copy.default: aten.unsqueeze.default,
                 aten.squeeze_copy.dim: aten.squeeze.dim, aten.alias_copy.default: aten.alias.default,
                 aten.detach_copy.default: aten.detach.default, aten._unsafe_view.default: aten.view.default}
_MOST_CONSTANT_ELEMENTS = 4096


@dataclass(frozen=True)
class Source:
    """Where tensors come from that are no op of the micro-batch: a parameter, buffer, argument or constant."""
    kind: str  # "parameter", "buffer", "argument", "constant"
    name: str | int


@dataclass(frozen=True)
class Ref:
    """A tensor: an output of an op of the micro-batch (by index) or a source, seen through views."""
    producer: int | Source
    output: int = 0
    views: tuple = ()  # (name of the op, its arguments after the tensor), in turn

    @property
    def tensor(self) -> tuple:
        return self.producer, self.output


@dataclass
class MicroOp:
    """An op of one micro-batch."""
    name: str
    type: str
    cost_us: dict[str, float]
    flops: float
    outputs: list[dict]  # As in the graph's file.
    inputs: list[Ref]  # Distinct tensors, without views; `call` names them by their index.
    call: dict
    backward: bool
    module: str  # Name of the module that it is of; "" is the model.
    after: list[int]  # Ops that end before it begins, though it reads nothing of theirs.
    temp_bytes: int  # Memory that it takes while it runs, beside inputs and outputs.
    group: str = ""  # Ops of one group stay on one device.


@dataclass
class MicroBatch:
    """The ops of one micro-batch, in an order in which they can run."""
    ops: list[MicroOp] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    gradients: dict[str, Ref] = field(default_factory=dict)
    new_buffers: dict[str, Ref] = field(default_factory=dict)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)


def output_of(tensor: torch.Tensor) -> dict:
    """A tensor as an op's output in a graph's file."""
    return {"bytes": bytes_of(tensor), "shape": list(tensor.shape), "dtype": name_of_dtype(tensor.dtype)}


def read(ref: Ref, inputs: list[Ref]) -> dict:
    """The JSON of an argument that reads `ref`; adds the tensor to `inputs` if it is not there."""
    plain = Ref(ref.producer, ref.output)
    if plain not in inputs:
        inputs.append(plain)
    argument: dict[str, Any] = {"in": inputs.index(plain)}
    if ref.views:
        argument["views"] = [[name, list(args)] for name, args in ref.views]
    return argument


class _Lowering:
    def __init__(self, trace: Trace, costs: CostModel):
        self._trace, self._costs = trace, costs
        self._refs: dict[fx.Node, Ref] = {}
        self._splits: dict[fx.Node, Ref] = {}
        self._regions: list[int | None] = []  # By op, the call of gradient checkpointing that computes it again.
        self.result = MicroBatch()

    def run(self) -> MicroBatch:
        trace = self._trace
        for kind, nodes in (("parameter", trace.parameters), ("buffer", trace.buffers), ("argument", trace.arguments)):
            for name, node in nodes.items():
                self._refs[node] = Ref(Source(kind, name))
        if trace.tangent is not None:
            shape = list(trace.tangent.meta["val"].shape)
            self._add_op(trace.tangent, aten.ones.default, (shape,), {"dtype": trace.tangent.meta["val"].dtype})
        needed = self._needed()
        for node in trace.module.graph.nodes:
            if node in needed and node.op in ("call_function", "get_attr"):
                self._lower(node)
        self.result.outputs = [self._refs[node] for node in trace.outputs]
        self.result.gradients = {name: self._refs[node] for name, node in trace.gradients.items()}
        self.result.new_buffers = {name: self._refs[node] for name, node in trace.new_buffers.items()}
        return self.result

    def _needed(self) -> set[fx.Node]:
        """What the results depend on, and all that gradient checkpointing computes again."""
        trace = self._trace
        left = [*trace.outputs, *trace.gradients.values(), *trace.new_buffers.values(),
                *(node for node in trace.module.graph.nodes if region_of(node) is not None and node.target not in VIEWS | _FACTORIES)]
        needed = set(left)
        while left:
            for node in left.pop().all_input_nodes:
                if node not in needed:
                    needed.add(node)
                    left.append(node)
        return needed

    def _lower(self, node: fx.Node) -> None:
        if node.op == "get_attr":
            self._refs[node] = self._constant(node)
            return
        target = _VIEW_OF_COPY.get(node.target, node.target)
        if target is operator.getitem:
            self._get_item(node)
        elif target in _SPLITS:
            self._splits[node] = self._refs[node.args[0]]
        elif target in VIEWS and not any(isinstance(arg, fx.Node) for arg in node.args[1:]):
            base = self._refs[node.args[0]]
            arguments = _positional(target, node.args[1:], node.kwargs)
            view = () if target in _NO_CHANGE else ((str(target), arguments),)
            self._refs[node] = Ref(base.producer, base.output, base.views + view)
        elif isinstance(target, torch._ops.OpOverload):
            self._add_op(node, target, node.args, dict(node.kwargs))
        else:
            raise BadInput(f"{target} is no op of PyTorch's dispatcher, so that it cannot be captured")

    def _get_item(self, node: fx.Node) -> None:
        source, index = node.args
        if source not in self._splits:
            base = self._refs[source]
            self._refs[node] = Ref(base.producer, index)
            return
        base = self._splits[source]
        whole = source.args[0].meta["val"]
        if source.target in (aten.unbind.int, aten.unbind_copy.int):
            dim = source.args[1] if len(source.args) > 1 else source.kwargs.get("dim", 0)
            view = (str(aten.select.int), (dim, index))
        else:
            dim = source.args[2] if len(source.args) > 2 else source.kwargs.get("dim", 0)
            sizes = [part.size(dim) for part in source.meta["val"]]
            begin = sum(sizes[:index])
            view = (str(aten.slice.Tensor), (dim % max(whole.dim(), 1), begin, begin + sizes[index], 1))
        self._refs[node] = Ref(base.producer, base.output, (*base.views, view))

    def _constant(self, node: fx.Node) -> Ref:
        value = getattr(self._trace.module, node.target)
        name = str(node.target)
        if not isinstance(value, torch.Tensor):
            raise BadInput(f"the model uses a {type(value).__name__} in its forward pass, expected tensors")
        if isinstance(value, torch.nn.Parameter) and value.requires_grad:
            raise BadInput(f"the model uses a parameter of shape {list(value.shape)} that is an attribute of no module of it, as in a list "
                           "or a functools.partial; expected it in an nn.ParameterList, an nn.ModuleList or an attribute")
        if isinstance(value, torch._subclasses.FakeTensor) or value.is_meta or value.numel() > _MOST_CONSTANT_ELEMENTS:
            raise BadInput(f"the model uses a tensor of shape {list(value.shape)} that is neither a parameter nor a buffer, expected "
                           f"at most {_MOST_CONSTANT_ELEMENTS} numbers; register it as a buffer of its module")
        self.result.constants[name] = value
        return Ref(Source("constant", name))

    def _value(self, node: fx.Node) -> Any:
        """The fake tensor, or tensors, of a node."""
        return node.meta["val"] if "val" in node.meta else getattr(self._trace.module, node.target)

    def _add_op(self, node: fx.Node, target: torch._ops.OpOverload, args: tuple, kwargs: dict) -> None:
        inputs: list[Ref] = []
        call = encode_call(target, args, kwargs, lambda arg: read(self._refs[arg], inputs) if isinstance(arg, fx.Node) else None)
        value = node.meta["val"]
        outputs = value if isinstance(value, (tuple, list)) else [value]
        fake_args, fake_kwargs = fx.node.map_arg((args, kwargs), self._value)
        cost_us, flops = self._costs.of_op(target, fake_args, fake_kwargs, value)
        self._refs[node] = Ref(len(self.result.ops))
        region = region_of(node)
        self._regions.append(region)
        group = self._group_of_random_state(target, args, kwargs)
        self.result.ops.append(MicroOp(
            name=node.name, type=f"{target.namespace}.{short_name(target)}", cost_us=cost_us, flops=flops,
            # An output that an op leaves out (a gradient that nobody wants) keeps its place.
            outputs=[output_of(tensor) if isinstance(tensor, torch.Tensor) else {"bytes": 0} for tensor in outputs],
            inputs=inputs, call=call, temp_bytes=temporary_bytes(target, fake_args, fake_kwargs, value), group=group,
            backward=node is self._trace.tangent or is_backward(node), module=self._trace.modules[node],
            after=self._after(region, inputs)))

    def _after(self, region: int | None, inputs: list[Ref]) -> list[int]:
        """What the first ops of a second run of gradient checkpointing wait for."""
        if region is None or any(self._regions[ref.producer] == region for ref in inputs if isinstance(ref.producer, int)):
            return []
        waits = {self._refs[node].producer for node in self._trace.begins_after.get(region, ())}
        return sorted(waits - {ref.producer for ref in inputs})

    def _group_of_random_state(self, target: torch._ops.OpOverload, args: tuple, kwargs: dict) -> str:
        """The group of an op that repeats the dropout of an earlier one, which joins it; "" for other ops.

        Kernels of GPUs leave the state of the random numbers on the CPU, so that no device has it but the one that drew them.
        """
        call = bound_arguments(target, args, kwargs)
        if not isinstance(call.get("philox_seed"), fx.Node) or not call["dropout_p"]:
            return ""
        drew = self.result.ops[self._refs[call["philox_seed"]].producer]
        drew.group = f"random state of {drew.name}"
        return drew.group


def _positional(op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> tuple:
    """All arguments after the first, up to the last one given, in the order of the op's schema."""
    values = list(args)
    for argument in op._schema.arguments[1 + len(args):]:
        if not kwargs.keys() - {a.name for a in op._schema.arguments[:1 + len(values)]}:
            break
        values.append(kwargs.get(argument.name, argument.default_value))
    return tuple(list(value) if isinstance(value, (tuple, list)) else value for value in values)


def lower(trace: Trace, costs: CostModel) -> MicroBatch:
    """The ops of one micro-batch. Raises BadInput, which names the op, for what a graph cannot hold."""
    return _Lowering(trace, costs).run()
