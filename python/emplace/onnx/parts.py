"""An ONNX model in parts that run on one device each, as a plan has them."""
import collections
import dataclasses
import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, ValueInfoProto

from emplace._core import BadInput, write_file
from emplace.onnx.annotations import device_of_nodes
from emplace.onnx.bodies import held_weights
from emplace.onnx.model import has_bodies, infer_shapes, is_constant, is_standard, names_read, read_model, weight_names, with_external_data
from emplace.onnx.order import sort_nodes
from emplace.onnx.shapes import type_of_output
from emplace.placements import gpu_index
from emplace.plan import Plan
from emplace.reading import read_json

_PARTS_FORMAT = "emplace.onnx_parts/1"
_RANDOM = {"RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}  # Operators that make other numbers each time.
_MOST_BYTES = 2**31 - 1  # Of a file of ONNX, as of every message of protocol buffers.


def _constants(graph: GraphProto) -> dict[str, int]:
    """The index of the node that makes each constant: what nodes Constant hold, and what follows from weights alone.

    The nodes are in topological order. Runtimes compute constants when they load a model, and many operators need them then, such
    as the shape for Reshape.
    """
    weights = weight_names(graph)
    makers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        foldable = is_standard(node) and node.op_type not in _RANDOM and not has_bodies(node)
        read = names_read(node)
        if is_constant(node) or (foldable and read and all(name in weights or name in makers for name in read)):
            makers.update((name, index) for name in node.output if name)
    return makers


@dataclasses.dataclass(frozen=True)
class _Part:
    """Nodes that one device runs without a break."""
    device: str
    nodes: list[int]  # In topological order, with the constants that they read.
    weights: list[str]
    inputs: list[str]  # Of other parts, and of the model.
    outputs: list[str]  # What other parts read, and outputs of the model.


def _with_constants(graph: GraphProto, indices: Iterable[int], constants: Mapping[str, int]) -> list[int]:
    """The nodes of a part, and those of the constants that it reads, in topological order."""
    found = set(indices)
    waiting = list(found)
    while waiting:
        makers = {constants[name] for name in names_read(graph.node[waiting.pop()]) if name in constants} - found
        found |= makers
        waiting.extend(makers)
    return sorted(found)


def _divided(graph: GraphProto, devices: Sequence[str], constants: Mapping[str, int]) -> list[tuple[str, list[int]]]:
    """(device, nodes) of parts that can run one after the other, each as a whole, if each has the constants that it reads.

    A node's level counts the changes of device on the way to it; the nodes of one level and device are a part, since what they
    read comes from lower levels or from themselves.
    """
    outputs = {value.name for value in graph.output}
    level_of: dict[str, tuple[int, str]] = {}
    parts: dict[tuple[int, str], list[int]] = {}
    for index, (node, device) in enumerate(zip(graph.node, devices, strict=True)):
        if any(name in constants for name in node.output) and outputs.isdisjoint(node.output):
            continue
        level = 0
        for name in names_read(node):
            if name in level_of:
                before, where = level_of[name]
                level = max(level, before + (where != device))
        level_of.update({output: (level, device) for output in node.output if output and output not in constants})
        parts.setdefault((level, device), []).append(index)
    return [(device, parts[level, device]) for level, device in sorted(parts)]


def _outputs_of(graph: GraphProto, indices: Iterable[int]) -> list[str]:
    return list(dict.fromkeys(name for index in indices for name in graph.node[index].output if name))


def _parts(graph: GraphProto, devices: Sequence[str]) -> list[_Part]:
    """The parts of a graph, in an order in which they can run; without those of which nobody reads anything."""
    constants, weights = _constants(graph), weight_names(graph)
    divided = _divided(graph, devices, constants)
    held = [_with_constants(graph, indices, constants) for _, indices in divided]
    read_by = [dict.fromkeys(name for index in indices for name in names_read(graph.node[index])) for indices in held]
    readers = collections.Counter(name for names in read_by for name in names)
    outputs = {value.name for value in graph.output}
    found = []
    for (device, indices), nodes, read in zip(divided, held, read_by, strict=True):
        own = set(_outputs_of(graph, nodes))
        weights_read = [name for name in read if name in weights]
        inputs = [name for name in read if name not in own and name not in weights]
        makes = [name for name in _outputs_of(graph, indices) if readers[name] > (name in read) or name in outputs]
        found.append(_Part(device, nodes, weights_read, inputs, makes))
    return [part for part in found if part.outputs]


def _has_type(value: ValueInfoProto) -> bool:
    """Whether all but the sizes of a tensor is known."""
    kind, tensor = value.type.WhichOneof("value"), value.type.tensor_type
    return kind is not None and (kind != "tensor_type" or (tensor.elem_type != 0 and tensor.HasField("shape")))


def _types(model: ModelProto, places: Sequence[int], plan: Plan, path: str | os.PathLike) -> dict[str, ValueInfoProto]:
    """The types of the model's tensors: those that onnx infers, else those that the plan's graph has. places: the index of each
    node in the file."""
    outputs = {op["attrs"]["node"]: op.get("outputs", ()) for op in plan.graph.ops if "node" in op.get("attrs", {})}
    types: dict[str, ValueInfoProto] = {}
    for node, index in zip(model.graph.node, places, strict=True):
        found = (type_of_output(name, output) for name, output in zip(filter(None, node.output), outputs[index], strict=False))
        types.update((value.name, value) for value in found if value is not None)
    inferred = infer_shapes(model, path).graph
    known = (value for value in (*inferred.input, *inferred.value_info, *inferred.output) if value.name not in types or _has_type(value))
    return types | {value.name: value for value in known}


class _Model:
    """A model with its weights and the types of its tensors, of which parts are made."""

    def __init__(self, path: str | os.PathLike, plan: Plan):
        self.path, self.whole = path, read_model(path)
        device_of = device_of_nodes(self.whole, plan, path)
        places = sort_nodes(self.whole.graph, path)
        self.devices = [device_of[index] for index in places]
        self._types = _types(self.whole, places, plan, path)
        graph = self.whole.graph
        self._dense = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
        self.outputs = [value.name for value in graph.output]
        given = {value.name for value in graph.input} | weight_names(graph)
        for name in self.outputs:
            if name in given:
                raise BadInput(f"{path}: output '{name}' of the model is made by no node, expected one that is")

    def _type(self, name: str) -> ValueInfoProto:
        if name not in self._types or not self._types[name].type.WhichOneof("value"):
            raise BadInput(f"{self.path}: the type of tensor '{name}' is not known, expected one that onnx can infer, or that the "
                           "plan's graph has")
        return self._types[name]

    def of_part(self, part: _Part, number: int) -> ModelProto:
        """The part as a model; its weights are still in the files beside the whole model, if they are there."""
        graph = self.whole.graph
        made = ModelProto()
        made.CopyFrom(ModelProto(ir_version=self.whole.ir_version, opset_import=self.whole.opset_import, producer_name="emplace"))
        made.graph.name = f"{graph.name}_{number}"
        made.graph.node.extend(graph.node[index] for index in part.nodes)
        made.graph.initializer.extend(self._dense[name] for name in part.weights if name in self._dense)
        made.graph.sparse_initializer.extend(self._sparse[name] for name in part.weights if name in self._sparse)
        made.graph.input.extend(map(self._type, part.inputs))
        made.graph.output.extend(map(self._type, part.outputs))
        if held_weights(made.graph) > _MOST_BYTES:
            raise BadInput(f"{self.path}: the weights of a part on {part.device} have more bytes than a file of ONNX may have, "
                           f"{_MOST_BYTES}; expected a plan with smaller parts")
        return made


def split(path: str | os.PathLike, plan: Plan, folder: str | os.PathLike) -> list[dict]:
    """Writes a model for each part of a plan that runs on one device without a break, for several GPUs of one kind.

    Run one after the other, each fed with what the ones before have made, they compute what the whole model does: `PartsSession`
    does so with ONNX Runtime. Returns what `parts.json` in the folder lists: file, device, inputs and outputs of each part. The
    weights of a part are in its file, so they are less than 2 GB, and so are the nodes that compute from weights alone what it
    reads. Raises BadInput for parts that are larger, and for a model with a tensor of unknown type between two parts.
    """
    model = _Model(path, plan)  # Each part gets its weights when it is written, so that the memory has to hold those of one part.
    parts = _parts(model.whole.graph, model.devices)
    about = [{"file": f"part{number}.onnx", "device": part.device, "inputs": part.inputs, "outputs": part.outputs}
             for number, part in enumerate(parts)]
    made = [model.of_part(part, number) for number, part in enumerate(parts)]
    os.makedirs(folder, exist_ok=True)
    (pathlib.Path(folder) / "parts.json").unlink(missing_ok=True)
    for its, part in zip(about, made, strict=True):
        write_file(pathlib.Path(folder) / its["file"], with_external_data(part, path).SerializeToString())
    # Last: a folder with this file is whole.
    text = json.dumps({"format": _PARTS_FORMAT, "outputs": model.outputs, "parts": about}, indent=1)
    write_file(pathlib.Path(folder) / "parts.json", text.encode())
    return about


class PartsSession:
    """Runs the models that `split` has written by ONNX Runtime, one after the other."""

    def __init__(self, folder: str | os.PathLike, providers: Mapping[str, list] | None = None, options: Any = None):
        """providers: by device of the plan, what onnxruntime.InferenceSession takes; else cuda:i and gpu:i run on GPU i, and all
        others on the CPU. options: an onnxruntime.SessionOptions for all parts."""
        import onnxruntime
        path = pathlib.Path(folder) / "parts.json"
        about = read_json(path)
        if about.get("format") != _PARTS_FORMAT:
            raise BadInput(f"{path}: has no format {_PARTS_FORMAT}")
        self._outputs: list[str] = about["outputs"]
        self._parts = []
        for part in about["parts"]:
            gpu = gpu_index(part["device"])
            default = ["CPUExecutionProvider"] if gpu is None else [("CUDAExecutionProvider", {"device_id": gpu})]
            session = onnxruntime.InferenceSession(pathlib.Path(folder) / part["file"], options,
                                                   providers=(providers or {}).get(part["device"], default))
            self._parts.append((session, part["inputs"], part["outputs"]))

    def run(self, outputs: Sequence[str] | None, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """As onnxruntime.InferenceSession.run of the whole model."""
        tensors = dict(feeds)
        for session, inputs, made in self._parts:
            tensors.update(zip(made, session.run(made, {name: tensors[name] for name in inputs}), strict=True))
        return [tensors[name] for name in (self._outputs if outputs is None else outputs)]
