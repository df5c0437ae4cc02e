"""Shapes of the tensors of an ONNX model: those that shape inference knows, and those that a run shows."""
import math
import os
from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from emplace._core import BadInput
from emplace.onnx.model import bodies, constant_element, given_inputs, names_read
from emplace.reading import first_line

# Name and bits of an element.
_ELEMENTS = {
    "FLOAT": ("f32", 32), "DOUBLE": ("f64", 64), "FLOAT16": ("f16", 16), "BFLOAT16": ("bf16", 16), "INT64": ("i64", 64),
    "INT32": ("i32", 32), "INT16": ("i16", 16), "INT8": ("i8", 8), "INT4": ("i4", 4), "UINT64": ("u64", 64), "UINT32": ("u32", 32),
    "UINT16": ("u16", 16), "UINT8": ("u8", 8), "UINT4": ("u4", 4), "BOOL": ("bool", 8), "COMPLEX64": ("c64", 64),
    "COMPLEX128": ("c128", 128), "FLOAT8E4M3FN": ("f8e4m3fn", 8), "FLOAT8E4M3FNUZ": ("f8e4m3fnuz", 8), "FLOAT8E5M2": ("f8e5m2", 8),
    "FLOAT8E5M2FNUZ": ("f8e5m2fnuz", 8), "FLOAT8E8M0": ("f8e8m0", 8), "FLOAT6E2M3": ("f6e2m3", 6), "FLOAT6E3M2": ("f6e3m2", 6),
    "FLOAT4E2M1": ("f4e2m1", 4), "INT2": ("i2", 2), "UINT2": ("u2", 2),
}
_ELEMENT_OF = {value: _ELEMENTS[name] for name, value in TensorProto.DataType.items() if name in _ELEMENTS}  # Older versions lack some.
# Types of weights that are taken out of a model, as numpy has them.
_NUMPY = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.FLOAT16: np.float16, TensorProto.INT64: np.int64,
          TensorProto.INT32: np.int32, TensorProto.INT8: np.int8, TensorProto.UINT8: np.uint8}
_SMALL_BYTES = 1024  # Of weights that stay, since shapes may depend on them.
_LONGEST_LIST = 5


class Tensor:
    """Shape and element type of a tensor; one whose shape or size of elements is not known has no bytes."""

    def __init__(self, shape: list[int] | None, element: int):
        self.shape, self.element = shape, element

    @property
    def numel(self) -> int:
        return math.prod(self.shape) if self.shape is not None else 0

    @property
    def bytes(self) -> int:
        return -(-self.numel * _ELEMENT_OF.get(self.element, ("", 0))[1] // 8)

    def as_output(self) -> dict:
        """An output of an op in the graph's file."""
        output: dict = {"bytes": self.bytes}
        if self.shape is not None:
            output["shape"] = self.shape
        if self.element in _ELEMENT_OF:
            output["dtype"] = _ELEMENT_OF[self.element][0]
        return output


def type_of_output(name: str, output: Mapping) -> ValueInfoProto | None:
    """The type of a tensor by what a graph's file has of it, with all sizes open, as the file has those of one input; None: the
    file has no type."""
    elements = [element for element, (dtype, _) in _ELEMENT_OF.items() if dtype == output.get("dtype")]
    shape = [None] * len(output["shape"]) if "shape" in output else None
    return onnx.helper.make_tensor_value_info(name, elements[0], shape) if elements else None


def _shape(value: TypeProto.Tensor) -> list[int] | None:
    """None where a size is not known."""
    if not value.HasField("shape") or not all(dim.HasField("dim_value") for dim in value.shape.dim):
        return None
    return [dim.dim_value for dim in value.shape.dim]


def inferred_tensors(graph: GraphProto) -> dict[str, Tensor]:
    """The tensors whose types the graph has, by name."""
    tensors = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.HasField("tensor_type") and not (value.name in tensors and tensors[value.name].shape is not None):
            tensors[value.name] = Tensor(_shape(value.type.tensor_type), value.type.tensor_type.elem_type)
    for weight in graph.initializer:
        tensors[weight.name] = Tensor(list(weight.dims), weight.data_type)
    for weight in graph.sparse_initializer:
        tensors[weight.values.name] = Tensor(list(weight.dims), weight.values.data_type)
    return tensors


def constant_tensor(node: NodeProto) -> Tensor:
    """What a node Constant holds."""
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return Tensor(list(value.dims), value.data_type)
        if attribute.name == "sparse_value":
            return Tensor(list(value.dims), value.values.data_type)
        return Tensor([len(value)] if attribute.name.endswith("s") else [], constant_element(attribute.name) or TensorProto.STRING)
    return Tensor(None, 0)


def take_sizes_of_bodies(graph: GraphProto, other: GraphProto) -> None:
    """Gives the tensors in bodies without a known shape the shape that they have in another version of the same graph."""
    for node, same in zip(graph.node, other.node, strict=True):
        for body, known in zip(bodies(node), bodies(same), strict=True):
            own = {value.name: value for value in (*body.input, *body.value_info, *body.output)}
            for value in (*known.input, *known.value_info, *known.output):
                if not value.type.HasField("tensor_type") or _shape(value.type.tensor_type) is None:
                    continue
                if value.name not in own:
                    own[value.name] = body.value_info.add(name=value.name)
                if _shape(own[value.name].type.tensor_type) is None:
                    own[value.name].type.CopyFrom(value.type)
            take_sizes_of_bodies(body, known)


def unknown_tensors(graph: GraphProto, tensors: Mapping[str, Tensor]) -> list[str]:
    """Tensors without a known shape that nodes make."""
    made = (name for node in graph.node for name in node.output if name)
    return [name for name in made if name not in tensors or tensors[name].shape is None]


def of_unknown_elements(tensors: Mapping[str, Tensor]) -> list[str]:
    """Names and element types of the tensors whose elements have no size that is known, such as texts."""
    names = {value: name for name, value in TensorProto.DataType.items()}
    return [f"{name} ({names.get(tensor.element, tensor.element)})" for name, tensor in tensors.items()
            if tensor.numel and tensor.element not in _ELEMENT_OF]


def shown(names: Iterable[str]) -> str:
    """The names for a message, cut after the first few."""
    listed = list(names)
    return ", ".join(listed[:_LONGEST_LIST]) + (", ..." if len(listed) > _LONGEST_LIST else "")


def take_weights(model: ModelProto) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """The model with the larger initializers as if their data were in another file, and these data by name.

    Each step that reads the model, such as shape inference, would copy them. Initializers that no node reads stay, since ONNX
    Runtime drops them and would not find where the data belong.
    """
    read = {name for node in model.graph.node for name in names_read(node)}
    weights = {}
    for tensor in model.graph.initializer:
        size = len(tensor.raw_data)
        if tensor.name in read and size > _SMALL_BYTES and size == Tensor(list(tensor.dims), tensor.data_type).bytes \
                and tensor.data_type in _NUMPY:
            weights[tensor.name] = np.frombuffer(tensor.raw_data, _NUMPY[tensor.data_type]).reshape(tensor.dims)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="taken")
    light = ModelProto()
    light.CopyFrom(model)  # The memory of what was cleared goes with the other one.
    return light, weights


def _generated(value: ValueInfoProto) -> np.ndarray:
    """Numbers of 0 to 1 for an input of floating point; all others are 1, which is in the range of nearly all indices."""
    if not value.type.HasField("tensor_type"):
        raise BadInput(f"input '{value.name}' is no tensor")
    tensor = value.type.tensor_type
    if tensor.elem_type == TensorProto.STRING:
        return np.full(_shape(tensor), "1", dtype=object)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.issubdtype(dtype, np.floating):
        return np.random.default_rng(0).random(_shape(tensor)).astype(dtype)
    return np.ones(_shape(tensor), dtype)


def _check_memory(tensors: Iterable[Tensor]) -> None:
    """Raises BadInput where a run that holds these tensors would not fit into the machine's free memory."""
    needed = sum(tensor.bytes for tensor in tensors)
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if needed > free:
        raise BadInput(f"it needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free")


def _tensors_by_running(model: ModelProto, known: dict[str, Tensor], names: list[str], path: str | os.PathLike,
                        weights: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The named tensors as a run of ONNX Runtime on generated inputs makes them; those that are no tensors are left out.

    Raises BadInput with the reason where the model cannot run, and ModuleNotFoundError where onnxruntime is not installed.
    """
    import onnxruntime
    _check_memory(known.values())
    running = ModelProto()
    running.CopyFrom(model)
    outputs = {value.name for value in running.graph.output}
    running.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in outputs)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # Errors are raised; they need not be printed, too.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # It would remove tensors.
    options.add_session_config_entry("session.disable_prepacking", "1")  # It copies weights.
    options.add_external_initializers(list(weights), [onnxruntime.OrtValue.ortvalue_from_numpy(held) for held in weights.values()])
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(os.path.abspath(path)))
    try:
        session = onnxruntime.InferenceSession(running.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feeds = {value.name: onnxruntime.OrtValue.ortvalue_from_numpy(_generated(value)) for value in given_inputs(running.graph)}
        made = session.run_with_ort_values(names, feeds)
    except Exception as error:  # ONNX Runtime's kinds of errors have no base of their own.
        raise BadInput(first_line(error)) from error
    return {name: Tensor(list(value.shape()), value.element_type()) for name, value in zip(names, made, strict=True)
            if value.has_value() and value.is_tensor()}


def found_by_running(model: ModelProto, known: dict[str, Tensor], names: list[str], path: str | os.PathLike,
                     weights: Mapping[str, np.ndarray]) -> tuple[dict[str, Tensor], str]:
    """What a run shows of the named tensors, whose shapes are not known, and why the others stay unknown.

    model: with known sizes of all inputs; its external data are beside `path`. known: the tensors whose shapes are known. weights:
    what `take_weights` has taken out of the model.
    """
    reason = "shape inference cannot tell it"
    try:
        return _tensors_by_running(model, known, names, path, weights), reason
    except ModuleNotFoundError:
        return {}, f"{reason}, and onnxruntime, which could show it, is not installed"
    except BadInput as error:
        return {}, f"{reason}, and ONNX Runtime cannot run the model: {error}"
