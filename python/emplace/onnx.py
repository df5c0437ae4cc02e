"""Graphs of ONNX models.

    graph = emplace.onnx.load("m.onnx", dims={"batch": 8})

`emplace.onnx_placed` writes models as a plan has them, for ONNX Runtime and OpenVINO.
Needs the user's onnx. Weights are not read, so that models may be larger than the memory.
"""
import contextlib
import math
import os
import warnings
from collections.abc import Iterable, Mapping

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from emplace._core import BadInput, Graph, OpClass
from emplace.dataflow import UniqueNames
from emplace.roofline import Roofline

_DTYPES = {
    TensorProto.FLOAT: ("f32", 4), TensorProto.DOUBLE: ("f64", 8), TensorProto.FLOAT16: ("f16", 2), TensorProto.BFLOAT16: ("bf16", 2),
    TensorProto.INT64: ("i64", 8), TensorProto.INT32: ("i32", 4), TensorProto.INT16: ("i16", 2), TensorProto.INT8: ("i8", 1),
    TensorProto.UINT64: ("u64", 8), TensorProto.UINT32: ("u32", 4), TensorProto.UINT16: ("u16", 2), TensorProto.UINT8: ("u8", 1),
    TensorProto.BOOL: ("bool", 1),
}
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


class _Tensor:
    """Shape and type of a tensor; unknown ones have no shape."""

    def __init__(self, shape: list[int] | None, element: int):
        self.shape, self.element = shape, element

    @property
    def numel(self) -> int:
        return math.prod(self.shape) if self.shape is not None else 0

    @property
    def bytes(self) -> int:
        return self.numel * _DTYPES.get(self.element, ("", 4))[1]

    def as_output(self) -> dict:
        output: dict = {"bytes": self.bytes}
        if self.shape is not None:
            output["shape"] = self.shape
        if self.element in _DTYPES:
            output["dtype"] = _DTYPES[self.element][0]
        return output


def _shape(value: TypeProto.Tensor) -> list[int] | None:
    """None where a dimension is not known."""
    if not value.HasField("shape") or not all(dim.HasField("dim_value") for dim in value.shape.dim):
        return None
    return [dim.dim_value for dim in value.shape.dim]


def _set_dims(model: ModelProto, dims: Mapping[str, int], path: str) -> None:
    """Gives symbolic dimensions of the inputs their sizes, so that shape inference knows them."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initialized or not value.type.HasField("tensor_type"):
            continue
        for index, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            name = dim.dim_param or f"{value.name}[{index}]"
            if name not in dims:
                raise BadInput(f"{path}: dimension {index} of input '{value.name}' is '{name}', expected its size in "
                               f"dims={{'{name}': ...}}")
            dim.dim_value = dims[name]


def _attribute(node: NodeProto, name: str, default):
    for attribute in node.attribute:
        if attribute.name == name:
            return onnx.helper.get_attribute_value(attribute)
    return default


def _outer_names(graph: GraphProto) -> set[str]:
    """Tensors of the graph around it that a body (of If, Loop, Scan) reads."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    read = set()
    for node in graph.node:
        read.update(names_read(node))
        own.update(node.output)
    return (read | {value.name for value in graph.output}) - own


def names_read(node: NodeProto) -> list[str]:
    """Tensors that a node reads, also those that its bodies read; none twice among the latter."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            names.extend(sorted(_outer_names(attribute.g) - set(names)))
    return names


def _flops(node: NodeProto, inputs: list[_Tensor], outputs: list[_Tensor]) -> float:
    """A multiply-add counts as two."""
    out = outputs[0].numel if outputs else 0
    shapes = [tensor.shape for tensor in inputs]
    if node.op_type == "Conv" and len(inputs) > 1 and shapes[1]:
        return 2.0 * out * math.prod(shapes[1][1:])
    if node.op_type == "ConvTranspose" and len(inputs) > 1 and shapes[1]:
        return 2.0 * inputs[0].numel * math.prod(shapes[1][1:])
    if node.op_type in ("MatMul", "MatMulInteger") and shapes[0]:
        return 2.0 * out * shapes[0][-1]
    if node.op_type == "Gemm" and shapes[0]:
        return 2.0 * out * shapes[0][0 if _attribute(node, "transA", 0) else -1]
    if node.op_type in ("LSTM", "GRU", "RNN") and len(inputs) > 2 and shapes[0]:
        # Every step multiplies with both weight matrices.
        return 2.0 * shapes[0][0] * shapes[0][1] * (inputs[1].numel + inputs[2].numel)
    return float(max(out, sum(tensor.numel for tensor in inputs), 0))


def _class(node: NodeProto, inputs: list[_Tensor]) -> OpClass:
    op_class = _CLASS_OF.get(node.op_type, OpClass.REDUCTION if node.op_type.startswith("Reduce") else OpClass.ELEMENTWISE)
    if op_class == OpClass.CONVOLUTION and _attribute(node, "group", 1) > 1 and len(inputs) > 1 and (inputs[1].shape or [0, 0])[1] == 1:
        return OpClass.DEPTHWISE
    return op_class


class _Reader:
    def __init__(self, model: ModelProto, roofline: Roofline):
        self._graph, self._roofline = model.graph, roofline
        self._tensors: dict[str, _Tensor] = {}
        self._producers: dict[str, str] = {}  # By tensor: "op:output"
        self._names = UniqueNames()
        self.ops: list[dict] = []
        # An output that nobody reads, such as Dropout's mask, often has no shape.
        self._read = {name for node in model.graph.node for name in names_read(node)} | {v.name for v in model.graph.output}
        self.unknown: list[str] = []  # Tensors without a known shape that somebody reads; they count as empty.

    def run(self) -> None:
        for value in (*self._graph.input, *self._graph.value_info, *self._graph.output):
            if value.type.HasField("tensor_type"):
                tensor = value.type.tensor_type
                self._tensors[value.name] = _Tensor(_shape(tensor), tensor.elem_type)
        for weight in self._graph.initializer:
            self._tensors[weight.name] = _Tensor(list(weight.dims), weight.data_type)
            self._add_given(weight.name, "emplace.parameter")
        for weight in self._graph.sparse_initializer:
            self._tensors[weight.values.name] = _Tensor(list(weight.dims), weight.values.data_type)
            self._add_given(weight.values.name, "emplace.parameter")
        for value in self._graph.input:
            if value.name not in self._producers:
                self._add_given(value.name, "emplace.input")
        for index, node in enumerate(self._graph.node):
            self._add_node(node, index)

    def _add_given(self, name: str, op_type: str) -> None:
        tensor = self._tensors[name]
        op = {"name": self._names.take(name), "type": op_type, "cost_us": 0, "outputs": [tensor.as_output()], "attrs": {"name": name}}
        if op_type == "emplace.parameter":
            op["param_bytes"] = tensor.bytes
        self._producers[name] = f"{op['name']}:0"
        self.ops.append(op)

    def _known(self, names: Iterable[str]) -> list[_Tensor]:
        return [self._tensors.get(name, _Tensor(None, 0)) for name in names]

    def _add_node(self, node: NodeProto, index: int) -> None:
        read = [name for name in names_read(node) if name in self._producers]
        inputs, outputs = self._known(read), self._known(name for name in node.output if name)
        self.unknown.extend(name for name, tensor in zip([n for n in node.output if n], outputs, strict=True)
                            if tensor.shape is None and name in self._read)
        op_class = _class(node, inputs)
        flops = 0.0 if op_class == OpClass.RESIDENT else _flops(node, inputs, outputs)
        written = sum(tensor.bytes for tensor in outputs)
        moved = written + sum(tensor.bytes for tensor in inputs)
        if op_class == OpClass.GATHER:
            moved = min(moved, 2 * written + sum(tensor.bytes for tensor in inputs[1:]))
        half = any(tensor.element in (TensorProto.FLOAT16, TensorProto.BFLOAT16) for tensor in outputs)
        name = self._names.take(node.name or f"{node.op_type}_{index}")
        domain = node.domain or "onnx"
        self.ops.append({"name": name, "type": f"{domain}.{node.op_type}", "flops": flops,
                         "cost_us": 0 if op_class == OpClass.RESIDENT else self._roofline.cost_us(op_class, half, flops, moved),
                         "inputs": list(dict.fromkeys(self._producers[tensor] for tensor in read)),
                         "outputs": [tensor.as_output() for tensor in outputs], "attrs": {"node": index}})
        for output, tensor in enumerate(name for name in node.output if name):
            self._producers[tensor] = f"{name}:{output}"


@contextlib.contextmanager
def _as_bad_input(path: str | os.PathLike):
    try:
        yield
    except Exception as error:  # Protobuf's and onnx's own kinds have no base in common.
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise BadInput(f"{path}: is no valid ONNX model: {reason}") from error


def read_model(path: str | os.PathLike, weights: bool = False) -> ModelProto:
    """Reads a file; weights: also its external data. Raises BadInput for one that is no model."""
    with _as_bad_input(path):
        model = onnx.load(path, load_external_data=weights)
    if not model.HasField("graph"):
        raise BadInput(f"{path}: is no valid ONNX model: it has no graph")
    return model


def infer_shapes(model: ModelProto, path: str | os.PathLike) -> ModelProto:
    """The model with the types that onnx can infer, and without functions of its own. Raises BadInput."""
    with _as_bad_input(path):
        if model.functions:
            from onnx import inliner
            model = inliner.inline_local_functions(model)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


def load(path: str | os.PathLike, *, dims: Mapping[str, int] | None = None, kinds: str | os.PathLike | None = None,
         name: str | None = None) -> Graph:
    """Reads an ONNX file. Each node is an op, and each initializer an op `emplace.parameter`; attrs.node is a node's index.

    dims: sizes of the inputs' symbolic dimensions by name, such as {"batch": 8}. kinds: folder of device kinds on which ops get
    costs, by a roofline model; None: those that come with the package. Shapes come from onnx's shape inference; a warning names
    the tensors of which it does not know the shape, and which count as empty. Raises BadInput for a file that is not valid.
    """
    model = read_model(path)
    _set_dims(model, dims or {}, str(path))
    # Sizes that the exporter has written may be those of other inputs.
    if dims:
        del model.graph.value_info[:]
    model = infer_shapes(model, path)
    reader = _Reader(model, Roofline(kinds))
    reader.run()
    if reader.unknown:
        shown = ", ".join(reader.unknown[:5]) + (", ..." if len(reader.unknown) > 5 else "")
        warnings.warn(f"{path}: the shape of {len(reader.unknown)} of the tensors is not known, and they count as empty: {shown}",
                      stacklevel=2)
    return Graph.from_ops(name or model.graph.name or os.path.basename(path), reader.ops)
