"""Graphs of ONNX models. Weights in files beside a model are not read, so that models may be larger than the memory."""
import os
import warnings
from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto

from emplace._core import Graph
from emplace.dataflow import UniqueNames
from emplace.onnx.bodies import BodyCosts, Scope, held_weights
from emplace.onnx.costs import known
from emplace.onnx.model import (bodies, forget_made_sizes, forget_negative_sizes, given_inputs, has_bodies, infer_shapes, inline_functions,
                                is_constant, names_read, read_model, set_sizes)
from emplace.onnx.order import sort_nodes
from emplace.onnx.shapes import (Tensor, constant_tensor, found_by_running, inferred_tensors, of_unknown_elements, shown,
                                 take_sizes_of_bodies, take_weights, unknown_tensors)
from emplace.reading import Unmapped
from emplace.roofline import Roofline


class _Reader:
    """Makes the ops of a graph."""

    def __init__(self, graph: GraphProto, places: list[int], tensors: dict[str, Tensor], costs: BodyCosts):
        """places: the index of each node in the file."""
        self._graph, self._places, self._tensors, self._costs = graph, places, tensors, costs
        self._scope = Scope(graph, tensors)
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
        for index, node in zip(self._places, self._graph.node, strict=True):
            if is_constant(node):
                self._tensors.setdefault(node.output[0], constant_tensor(node))
                self._add_weight(node.output[0])["attrs"]["node"] = index
            else:
                self._add_node(node, index)

    def _add_given(self, name: str, op_type: str) -> dict:
        op = {"name": self._names.take(name), "type": op_type, "cost_us": 0, "outputs": [known(self._tensors, [name])[0].as_output()],
              "attrs": {"name": name}}
        self._producers[name] = f"{op['name']}:0"
        self.ops.append(op)
        return op

    def _add_weight(self, name: str) -> dict:
        op = self._add_given(name, "emplace.parameter")
        op["param_bytes"] = op["outputs"][0]["bytes"]
        op["outputs"][0]["resident"] = True
        return op

    def _add_node(self, node: NodeProto, index: int) -> None:
        made = [name for name in node.output if name]
        name = self._names.take(node.name or f"{node.op_type}_{index}")
        work = self._costs.work(node, name, self._scope)
        self.ops.append({"name": name, "type": f"{node.domain or 'onnx'}.{node.op_type}", "flops": work.flops, "cost_us": work.cost_us or 0,
                         "inputs": list(dict.fromkeys(self._producers[tensor] for tensor in names_read(node))),
                         "outputs": [tensor.as_output() for tensor in known(self._tensors, made)], "attrs": {"node": index},
                         "param_bytes": sum(held_weights(body) for body in bodies(node)), "temp_bytes": work.temp_bytes})
        for output, tensor in enumerate(made):
            self._producers[tensor] = f"{name}:{output}"


def _inferred(path: str | os.PathLike, dims: Mapping[str, int], written_sizes: bool) -> tuple[ModelProto, list[int], dict[str, np.ndarray]]:
    """The model with its nodes in topological order and their shapes, the index of each node in the file, and the weights that
    `take_weights` has taken out of the model.

    written_sizes: whether the file's sizes of what nodes make hold; they may be those of other inputs.
    """
    model, weights = take_weights(read_model(path))
    model = inline_functions(model, path)
    places = sort_nodes(model.graph, path)
    forget_negative_sizes(model.graph)
    set_sizes(model, dims, path)
    if not written_sizes:
        forget_made_sizes(model.graph)
    return infer_shapes(model, path), places, weights


def _warn(message: str) -> None:
    warnings.warn(message, Unmapped, stacklevel=4)


def _add_unknown(model: ModelProto, tensors: dict[str, Tensor], weights: Mapping[str, np.ndarray], dims: Mapping[str, int],
                 path: str | os.PathLike) -> None:
    """Adds the tensors that shape inference does not know: as a run makes them, else as the file has them. Warns of these, and of
    those that stay unknown."""
    unknown = unknown_tensors(model.graph, tensors)
    by_run, reason = found_by_running(model, tensors, unknown, path, weights) if unknown else ({}, "")
    if by_run:
        tensors.update(by_run)
        _warn(f"{path}: the shape of {len(by_run)} of the tensors comes from a run of ONNX Runtime on generated inputs, since {reason}: "
              f"{shown(by_run)}")
    left = [name for name in unknown if name not in by_run]
    if dims and (left or any(map(has_bodies, model.graph.node))):
        written = _inferred(path, dims, written_sizes=True)[0].graph
        take_sizes_of_bodies(model.graph, written)
        by_file = {name: tensor for name, tensor in inferred_tensors(written).items() if name in left and tensor.shape is not None}
        tensors.update(by_file)
        left = [name for name in left if name not in by_file]
        if by_file:
            _warn(f"{path}: the shape of {len(by_file)} of the tensors is the one that the file has, also if it is for other dims: "
                  f"{shown(by_file)} ({reason})")
    if left:
        _warn(f"{path}: the shape of {len(left)} of the tensors is not known, and they count as empty: {shown(left)} ({reason})")


def _warn_of_costs(costs: BodyCosts, path: str | os.PathLike) -> None:
    once, by_run, unknown = costs.of_unknown_count, costs.of_shape_by_run, costs.of_unknown_shape
    if costs.without_rule:
        _warn(f"{path}: the operators of {len(costs.without_rule)} of the nodes have no rule for their products, and these nodes count as "
              f"elementwise: {shown(costs.without_rule)}")
    if once:
        _warn(f"{path}: how often the bodies of {len(once)} of the nodes run is not known, and they count once: {shown(once)}")
    if by_run:
        _warn(f"{path}: the shape of {len(by_run)} of the tensors in bodies comes from a run of ONNX Runtime on generated inputs, since "
              f"shape inference cannot tell it: {shown(by_run)}")
    if unknown:
        _warn(f"{path}: the shape of {len(unknown)} of the tensors in bodies is not known, and they count as empty: {shown(unknown)}")


def _warn_of_elements(names: list[str], path: str | os.PathLike) -> None:
    if names:
        _warn(f"{path}: the size of an element is not known for {len(names)} of the tensors, and they count as empty: {shown(names)}")


def load(path: str | os.PathLike, *, dims: Mapping[str, int] | None = None, kinds: str | os.PathLike | None = None,
         name: str | None = None) -> Graph:
    """Reads an ONNX file. Each node is an op, and each weight an op `emplace.parameter`; attrs.node is a node's index.

    Weights are the initializers and what the nodes Constant hold. dims: the sizes of the inputs that the model leaves open, by
    name such as {"batch": 8} or by place such as {"x[0]": 8}. kinds: device kinds on which ops get costs, by a roofline model: names,
    files or folders, with commas between them; None: those that come with the package. Shapes come from onnx's shape inference.
    Where it does not know all of them, a run of ONNX Runtime on generated inputs shows the others, if onnxruntime is installed; a
    warning names these tensors, and those that stay unknown and count as empty. Nodes with bodies cost what these do: of If the
    dearest branch, of Loop and Scan all rounds, or one, of which a warning tells, where their number is not known; the most that
    their tensors take at once is the node's temp_bytes. Raises BadInput for a file that is not valid, for a tensor that nothing
    makes or that is made twice, for a cycle, and where sizes are missing.
    """
    dims = dims or {}
    model, places, weights = _inferred(path, dims, written_sizes=not dims)
    tensors = inferred_tensors(model.graph)
    _add_unknown(model, tensors, weights, dims, path)
    costs = BodyCosts(model, path, Roofline(kinds))
    reader = _Reader(model.graph, places, tensors, costs)
    reader.run()
    _warn_of_costs(costs, path)
    _warn_of_elements(of_unknown_elements(tensors) + costs.of_unknown_elements, path)
    return Graph.from_ops(name or model.graph.name or os.path.basename(path), reader.ops)
