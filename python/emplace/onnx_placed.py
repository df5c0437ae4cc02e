"""ONNX models as planned, for the runtimes that run them.

A plan here is one of a graph that `emplace.onnx.load` has read from the same file.
"""
import collections
import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from emplace._core import BadInput, write_file
from emplace.onnx_bodies import held_weights
from emplace.onnx_model import has_bodies, infer_shapes, is_constant, is_standard, names_read, read_model, weight_names, with_external_data
from emplace.onnx_order import sort_nodes
from emplace.onnx_shapes import type_of_output
from emplace.placements import gpu_index, split_device
from emplace.plan import Plan
from emplace.reading import read_json

_ANNOTATION = "layer_ann"  # The key of ONNX Runtime's annotations among a node's metadata.
_PARTS_FORMAT = "emplace.onnx_parts/1"
_RANDOM = {"RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}  # Operators that make other numbers each time.
_MOST_BYTES = 2**31 - 1  # Of a file of ONNX, as of every message of protocol buffers.


def _is_op_of(op: dict, node: NodeProto) -> bool:
    if is_constant(node):
        return op["type"] == "emplace.parameter"
    return op["type"].endswith(f".{node.op_type}")


def device_of_nodes(model: ModelProto, plan: Plan, path: str | os.PathLike) -> list[str]:
    """Name of the device of each node. Raises BadInput where the plan's graph is not one of this model."""
    if model.functions:
        raise BadInput(f"{path}: the model has functions of its own, expected one in which onnx.inliner has replaced them")
    devices: dict[int, str] = {}
    for op, device in zip(plan.graph.ops, plan.devices, strict=True):
        index = op.get("attrs", {}).get("node")
        if index is not None:
            devices[index] = device
            if index >= len(model.graph.node) or not _is_op_of(op, model.graph.node[index]):
                raise BadInput(f"{path}: node {index} is no {op['type']}, expected the model of which the plan's graph was read")
    if len(devices) != len(model.graph.node):
        raise BadInput(f"{path}: the model has {len(model.graph.node)} nodes and the plan's graph {len(devices)}, expected the model "
                       "of which the graph was read")
    return [devices[index] for index in range(len(devices))]


def _save(model: ModelProto, path: str | os.PathLike) -> None:
    write_file(path, model.SerializeToString())


def annotate(path: str | os.PathLike, plan: Plan, out: str | os.PathLike, devices: Mapping[str, str] | None = None) -> str:
    """Writes the model with each node's device as ONNX Runtime's layer annotation (metadata `layer_ann`), for one session.

    Returns the value of the session option session.layer_assignment_settings, such as "cpu(=cpu:0);gpu:1(=cuda:1)". devices: for
    devices of the machine, what ONNX Runtime calls them; else cuda:i and gpu:i are gpu:i, and all others what stands before the
    colon. A session uses one GPU at most; `split` is for more. External data of the model stay where they are, so write `out`
    beside them. Nodes for which the device has no kernel go elsewhere.
    """
    model = read_model(path)
    own = device_of_nodes(model, plan, path)
    for node, device in zip(model.graph.node, own, strict=True):
        kept = [entry for entry in node.metadata_props if entry.key != _ANNOTATION]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.metadata_props.add(key=_ANNOTATION, value=device)
    _save(model, out)
    by_designator: dict[str, list[str]] = {}
    for device in sorted(set(own)):
        gpu = gpu_index(device)
        designator = (devices or {}).get(device, split_device(device)[0] if gpu is None else f"gpu:{gpu}")
        by_designator.setdefault(designator, []).append(f"={device}")
    return ";".join(f"{designator}({','.join(names)})" for designator, names in by_designator.items())


def read_annotations(path: str | os.PathLike) -> list[str | None]:
    """The layer annotation of each node, as ONNX Runtime reads it; None: the node has none."""
    return [next((entry.value for entry in node.metadata_props if entry.key == _ANNOTATION), None)
            for node in read_model(path).graph.node]


def affinities(path: str | os.PathLike, plan: Plan, devices: Mapping[str, str] | None = None) -> dict[str, str]:
    """The device of each tensor that a node makes, by OpenVINO's names of devices: cuda:i and gpu:i are GPU.i, cpu:i is CPU.

    devices: for devices of the machine, what OpenVINO calls them. `set_affinities` puts them into a model of OpenVINO.
    """
    model = read_model(path)
    found = {}
    for node, device in zip(model.graph.node, device_of_nodes(model, plan, path), strict=True):
        gpu = gpu_index(device)
        name = (devices or {}).get(device, split_device(device)[0].upper() if gpu is None else f"GPU.{gpu}")
        found.update({output: name for output in node.output if output})
    return found


def set_affinities(model: Any, found: Mapping[str, str]) -> str:
    """Sets the affinity of each op of a model of OpenVINO (openvino.Core().read_model) to what `affinities` has found.

    OpenVINO makes several ops of one node: those without a tensor of the ONNX model go where the op goes that reads them. Returns
    the device to compile the model for, such as "HETERO:GPU.0,GPU.1,CPU".
    """
    own: dict[str, str] = {}
    used = dict.fromkeys(sorted(set(found.values()), key=lambda name: (name == "CPU", name)))
    for op in reversed(model.get_ordered_ops()):
        names = [name for output in op.outputs() for name in output.get_names() if name in found]
        readers = [reader.get_node().get_friendly_name() for output in op.outputs() for reader in output.get_target_inputs()]
        known = [found[name] for name in names] + [own[reader] for reader in readers if reader in own]
        inputs = [found[name] for value in op.input_values() for name in value.get_names() if name in found]
        # The model's results have neither a tensor of their own nor a reader.
        own[op.get_friendly_name()] = (known or inputs or list(used))[0]
        op.get_rt_info()["affinity"] = own[op.get_friendly_name()]
    return f"HETERO:{','.join(used)}"


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


def _with_constants(graph: GraphProto, indices: Iterable[int], constants: Mapping[str, int]) -> list[int]:
    """The nodes of a part, and those of the constants that it reads, in topological order."""
    found = set(indices)
    waiting = list(found)
    while waiting:
        makers = {constants[name] for name in names_read(graph.node[waiting.pop()]) if name in constants} - found
        found |= makers
        waiting.extend(makers)
    return sorted(found)


def _parts(graph: GraphProto, devices: Sequence[str], constants: Mapping[str, int]) -> list[tuple[str, list[int]]]:
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


def split(path: str | os.PathLike, plan: Plan, folder: str | os.PathLike) -> list[dict]:
    """Writes a model for each part of a plan that runs on one device without a break, for several GPUs of one kind.

    Run one after the other, each fed with what the ones before have made, they compute what the whole model does: `PartsSession`
    does so with ONNX Runtime. Returns what `parts.json` in the folder lists: file, device, inputs and outputs of each part. The
    weights of a part are in its file, so they are less than 2 GB, and so are the nodes that compute from weights alone what it
    reads. Raises BadInput for parts that are larger, and for a model with a tensor of unknown type between two parts.
    """
    model = read_model(path)  # Each part gets its weights when it is written, so that the memory has to hold those of one part.
    device_of = device_of_nodes(model, plan, path)
    places = sort_nodes(model.graph, path)
    devices = [device_of[index] for index in places]
    types = _types(model, places, plan, path)
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
    given = {value.name for value in graph.input} | weights.keys() | sparse.keys()
    outputs = [value.name for value in graph.output]
    for name in outputs:
        if name in given:
            raise BadInput(f"{path}: output '{name}' of the model is made by no node, expected one that is")
    constants = _constants(graph)
    divided = _parts(graph, devices, constants)
    held = [_with_constants(graph, indices, constants) for _, indices in divided]
    # Each part's, in the order of its nodes.
    made_by = [list(dict.fromkeys(name for index in indices for name in graph.node[index].output if name)) for _, indices in divided]
    read_by = [dict.fromkeys(name for index in indices for name in names_read(graph.node[index])) for indices in held]
    readers = collections.Counter(name for names in read_by for name in names)
    found = []
    for number, ((device, _), indices, made, reads) in enumerate(zip(divided, held, made_by, read_by, strict=True)):
        own = {name for index in indices for name in graph.node[index].output}
        read = [name for name in reads if name not in own]
        part_inputs = [name for name in read if name not in weights and name not in sparse]
        part_outputs = [name for name in made if readers[name] > (name in reads) or name in outputs]
        for name in (*part_inputs, *part_outputs):
            if name not in types or not types[name].type.WhichOneof("value"):
                raise BadInput(f"{path}: the type of tensor '{name}' is not known, expected one that onnx can infer, or that the "
                               "plan's graph has")
        if not part_outputs:
            continue  # Nobody reads what it makes.
        part = ModelProto()
        part.CopyFrom(ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, producer_name="emplace"))
        part.graph.name = f"{graph.name}_{number}"
        part.graph.node.extend(graph.node[index] for index in indices)
        part.graph.initializer.extend(weights[name] for name in read if name in weights)
        part.graph.sparse_initializer.extend(sparse[name] for name in read if name in sparse)
        part.graph.input.extend(types[name] for name in part_inputs)
        part.graph.output.extend(types[name] for name in part_outputs)
        if held_weights(part.graph) > _MOST_BYTES:
            raise BadInput(f"{path}: the weights of a part on {device} have more bytes than a file of ONNX may have, {_MOST_BYTES}; "
                           "expected a plan with smaller parts")
        found.append(({"file": f"part{number}.onnx", "device": device, "inputs": part_inputs, "outputs": part_outputs}, part))
    os.makedirs(folder, exist_ok=True)
    for about, part in found:
        _save(with_external_data(part, path), pathlib.Path(folder) / about["file"])
    parts = [about for about, _ in found]
    # Last: a folder with this file is whole.
    text = json.dumps({"format": _PARTS_FORMAT, "outputs": outputs, "parts": parts}, indent=1)
    write_file(pathlib.Path(folder) / "parts.json", text.encode())
    return parts


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
