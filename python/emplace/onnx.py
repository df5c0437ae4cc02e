"""Graphs of ONNX models.

    graph = emplace.onnx.load("m.onnx", dims={"batch": 8})

`emplace.onnx_placed` writes models as a plan has them, for ONNX Runtime and OpenVINO.
Needs the user's onnx. Weights are not read, so that models may be larger than the memory.
"""
import math
import os
import warnings
from collections.abc import Iterable, Mapping

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from emplace._core import BadInput, Graph, OpClass
from emplace.dataflow import UniqueNames
from emplace.onnx_model import bodies, forget_negative_sizes, given_inputs, infer_shapes, names_read, read_model, set_sizes
from emplace.onnx_shapes import Tensor, inferred_tensors, shown, tensors_by_running, unknown_tensors
from emplace.reading import Unmapped
from emplace.roofline import Roofline

_CLASSES = {
    OpClass.CONVOLUTION: {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv"},
    OpClass.MATMUL: {"MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum"},
    OpClass.GATHER: {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "TopK", "NonZero", "OneHot"},
    OpClass.REDUCTION: {"BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization",
                        "LpNormalization", "LRN", "Softmax", "LogSoftmax", "MaxPool", "AveragePool", "GlobalAveragePool",
                        "GlobalMaxPool", "LpPool", "ArgMax", "ArgMin", "CumSum"},
    # Known from shapes, or a new name for the same numbers.
    OpClass.RESIDENT: {"Constant", "ConstantOfShape", "Shape", "Size", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"},
}
_CLASS_OF = {name: op_class for op_class, names in _CLASSES.items() for name in names}


def _attribute(node: NodeProto, name: str, default):
    for attribute in node.attribute:
        if attribute.name == name:
            return onnx.helper.get_attribute_value(attribute)
    return default


# Which input of a convolution has its weights.
_WEIGHTS_AT = {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "DeformConv": 1, "QLinearConv": 3}
# Those that read only what is asked for of their first input.
_READ_PART = {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Slice"}


def _weights(node: NodeProto, operands: list[Tensor]) -> list[int] | None:
    """The shape of a convolution's weights; None: it is not known, or the node is none."""
    at = _WEIGHTS_AT.get(node.op_type, len(operands))
    return operands[at].shape if at < len(operands) else None


def _contracted(equation: str, operands: list[Tensor]) -> int:
    """The product of the dimensions of an Einsum over which it sums."""
    terms, _, result = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms.split(","), operands, strict=False):
        before, _, after = term.partition("...")
        shape = tensor.shape or []
        sizes |= dict(zip(before, shape, strict=False)) | dict(zip(reversed(after), reversed(shape), strict=False))
    if "->" not in equation:  # Then what stands there once is kept.
        result = "".join(letter for letter in sizes if terms.count(letter) == 1)
    return math.prod(size for letter, size in sizes.items() if letter not in result)


def _flops(node: NodeProto, operands: list[Tensor], inputs: list[Tensor], outputs: list[Tensor]) -> float:
    """A multiply-add counts as two. operands: by place, of inputs that are left out unknown ones; inputs: each that is read, once."""
    out = outputs[0].numel if outputs else 0
    shapes = [tensor.shape for tensor in operands]
    if weights := _weights(node, operands):
        return 2.0 * (operands[0].numel if node.op_type == "ConvTranspose" else out) * math.prod(weights[1:])
    if node.op_type in ("MatMul", "MatMulInteger", "QLinearMatMul") and shapes[0]:
        return 2.0 * out * shapes[0][-1]
    if node.op_type == "Gemm" and shapes[0]:
        return 2.0 * out * shapes[0][0 if _attribute(node, "transA", 0) else -1]
    if node.op_type == "Einsum" and len(operands) > 1:
        return 2.0 * out * _contracted(_attribute(node, "equation", b"").decode(), operands)
    if node.op_type == "Attention" and len(shapes) > 2 and shapes[1]:
        return 2.0 * (operands[0].numel + out) * shapes[1][-2]  # Queries with keys, and weights with values.
    if node.op_type in ("LSTM", "GRU", "RNN") and len(operands) > 2 and shapes[0]:
        # Every step multiplies with both weight matrices.
        return 2.0 * shapes[0][0] * shapes[0][1] * (operands[1].numel + operands[2].numel)
    return float(max(out, sum(tensor.numel for tensor in inputs), 0))


def _class(node: NodeProto, operands: list[Tensor]) -> OpClass:
    op_class = _CLASS_OF.get(node.op_type, OpClass.REDUCTION if node.op_type.startswith("Reduce") else OpClass.ELEMENTWISE)
    if op_class == OpClass.CONVOLUTION and _attribute(node, "group", 1) > 1 and (_weights(node, operands) or [0, 0])[1] == 1:
        return OpClass.DEPTHWISE
    return op_class


def _held_weights(graph: GraphProto) -> int:
    """Bytes of the weights inside of a body, and of the bodies in it."""
    weights = [Tensor(list(weight.dims), weight.data_type).bytes for weight in graph.initializer]
    for node in graph.node:
        weights.extend(_held_weights(body) for body in bodies(node))
        if is_constant(node):
            weights.append(_constant(node).bytes)
    return sum(weights)


def is_constant(node: NodeProto) -> bool:
    """Whether the node holds a weight, as some exporters write them."""
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def _constant(node: NodeProto) -> Tensor:
    """What a node Constant holds."""
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return Tensor(list(value.dims), value.data_type)
        if attribute.name == "sparse_value":
            return Tensor(list(value.dims), value.values.data_type)
        element = {"value_int": TensorProto.INT64, "value_float": TensorProto.FLOAT}.get(attribute.name.removesuffix("s"), TensorProto.STRING)
        return Tensor([len(value)] if attribute.name.endswith("s") else [], element)
    return Tensor(None, 0)


class _Reader:
    """Makes the ops of a graph."""

    def __init__(self, graph: GraphProto, tensors: dict[str, Tensor], roofline: Roofline):
        self._graph, self._tensors, self._roofline = graph, tensors, roofline
        self._producers: dict[str, str] = {}  # By tensor: "op:output"
        self._names = UniqueNames()
        self.ops: list[dict] = []

    def run(self) -> None:
        for weight in self._graph.initializer:
            self._add_weight(weight.name)
        for weight in self._graph.sparse_initializer:
            self._add_weight(weight.values.name)
        for value in given_inputs(self._graph):
            self._add_given(value.name, "emplace.input")
        for index, node in enumerate(self._graph.node):
            if is_constant(node):
                self._tensors.setdefault(node.output[0], _constant(node))
                self._add_weight(node.output[0])["attrs"]["node"] = index
            else:
                self._add_node(node, index)

    def _add_given(self, name: str, op_type: str) -> dict:
        op = {"name": self._names.take(name), "type": op_type, "cost_us": 0, "outputs": [self._known([name])[0].as_output()],
              "attrs": {"name": name}}
        self._producers[name] = f"{op['name']}:0"
        self.ops.append(op)
        return op

    def _add_weight(self, name: str) -> dict:
        op = self._add_given(name, "emplace.parameter")
        op["param_bytes"] = op["outputs"][0]["bytes"]
        op["outputs"][0]["resident"] = True
        return op

    def _known(self, names: Iterable[str]) -> list[Tensor]:
        return [self._tensors.get(name, Tensor(None, 0)) for name in names]

    def _add_node(self, node: NodeProto, index: int) -> None:
        read = [name for name in names_read(node) if name in self._producers]
        made = [name for name in node.output if name]
        inputs, outputs = self._known(read), self._known(made)
        operands = self._known(node.input)
        op_class = _class(node, operands)
        flops = 0.0 if op_class == OpClass.RESIDENT else _flops(node, operands, inputs, outputs)
        written = sum(tensor.bytes for tensor in outputs)
        moved = written + sum(tensor.bytes for tensor in inputs)
        if node.op_type in _READ_PART:
            moved = min(moved, 2 * written + sum(tensor.bytes for tensor in inputs[1:]))
        half = any(tensor.element in (TensorProto.FLOAT16, TensorProto.BFLOAT16) for tensor in outputs)
        name = self._names.take(node.name or f"{node.op_type}_{index}")
        domain = node.domain or "onnx"
        self.ops.append({"name": name, "type": f"{domain}.{node.op_type}", "flops": flops,
                         "cost_us": 0 if op_class == OpClass.RESIDENT else self._roofline.cost_us(op_class, half, flops, moved),
                         "inputs": list(dict.fromkeys(self._producers[tensor] for tensor in read)),
                         "outputs": [tensor.as_output() for tensor in outputs], "attrs": {"node": index},
                         "param_bytes": sum(_held_weights(body) for body in bodies(node))})
        for output, tensor in enumerate(made):
            self._producers[tensor] = f"{name}:{output}"


def _add_unknown(model: ModelProto, tensors: dict[str, Tensor], path: str | os.PathLike) -> None:
    """Adds the tensors that shape inference does not know, as a run makes them, and warns of it and of those that stay unknown."""
    unknown = unknown_tensors(model.graph, tensors)
    if not unknown:
        return
    reason = "shape inference cannot tell it"
    try:
        found = tensors_by_running(model, tensors, unknown, path)
    except ModuleNotFoundError:
        found, reason = {}, f"{reason}, and onnxruntime, which could show it, is not installed"
    except BadInput as error:
        found, reason = {}, f"{reason}, and ONNX Runtime cannot run the model: {error}"
    tensors.update(found)
    if found:
        warnings.warn(f"{path}: the shape of {len(found)} of the tensors comes from a run of ONNX Runtime on generated inputs, since "
                      f"{reason}: {shown(found)}", Unmapped, stacklevel=3)
    left = [name for name in unknown if name not in found]
    if left:
        warnings.warn(f"{path}: the shape of {len(left)} of the tensors is not known, and they count as empty: {shown(left)} ({reason})",
                      Unmapped, stacklevel=3)


def load(path: str | os.PathLike, *, dims: Mapping[str, int] | None = None, kinds: str | os.PathLike | None = None,
         name: str | None = None) -> Graph:
    """Reads an ONNX file. Each node is an op, and each weight an op `emplace.parameter`; attrs.node is a node's index.

    Weights are the initializers and what the nodes Constant hold. dims: the sizes of the inputs that the model leaves open, by
    name such as {"batch": 8} or by place such as {"x[0]": 8}. kinds: folder of device kinds on which ops get costs, by a roofline
    model; None: those that come with the package. Shapes come from onnx's shape inference. Where it does not know all of them, a
    run of ONNX Runtime on generated inputs shows the others, if onnxruntime is installed; a warning names these tensors, and those
    that stay unknown and count as empty. Raises BadInput for a file that is not valid, and where sizes are missing.
    """
    model = read_model(path)
    forget_negative_sizes(model.graph)
    set_sizes(model, dims or {}, path)
    # Sizes that the exporter has written may be those of other inputs.
    if dims:
        del model.graph.value_info[:]
    model = infer_shapes(model, path)
    tensors = inferred_tensors(model.graph)
    _add_unknown(model, tensors, path)
    reader = _Reader(model.graph, tensors, Roofline(kinds))
    reader.run()
    return Graph.from_ops(name or model.graph.name or os.path.basename(path), reader.ops)
