"""A plan's devices in an ONNX model, for runtimes that take them: layer annotations of ONNX Runtime, affinities of OpenVINO."""
import os
from collections.abc import Mapping
from typing import Any

from onnx import ModelProto, NodeProto

from emplace._core import BadInput, write_file
from emplace.onnx.model import is_constant, read_model
from emplace.placements import gpu_index, split_device
from emplace.plan import Plan

_ANNOTATION = "layer_ann"  # The key of ONNX Runtime's annotations among a node's metadata.


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
    write_file(out, model.SerializeToString())
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
