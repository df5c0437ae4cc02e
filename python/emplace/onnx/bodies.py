"""The bodies of ONNX nodes such as If, Loop and Scan: what they hold, and what their nodes compute."""
import dataclasses
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from emplace.onnx.costs import Work, attribute, known, lacks_rule, work_of
from emplace.onnx.model import bodies, constant_element, infer_shapes, is_constant, is_operator, names_read, outer_names
from emplace.onnx.shapes import Tensor, constant_tensor, found_by_running, inferred_tensors, of_unknown_elements, unknown_tensors
from emplace.roofline import Roofline

_MOST_NUMBERS = 64  # In a constant whose numbers are looked at, such as a shape.
_NO_LIMIT = 2**31 - 1  # Exporters write `while` as a Loop that ends after so many rounds, or more.


def held_weights(graph: GraphProto) -> int:
    """Bytes of the weights inside of a body, and of the bodies in it."""
    weights = [Tensor(list(weight.dims), weight.data_type).bytes for weight in graph.initializer]
    weights.extend(Tensor(list(weight.dims), weight.values.data_type).bytes for weight in graph.sparse_initializer)
    for node in graph.node:
        weights.extend(held_weights(body) for body in bodies(node))
        if is_constant(node):
            weights.append(constant_tensor(node).bytes)
    return sum(weights)


def _peak_bytes(body: GraphProto, tensors: Mapping[str, Tensor], temp_bytes: Sequence[int], outputs_too: bool) -> int:
    """The most that what a body's nodes make takes at once, if each tensor goes after its last reader. temp_bytes: of each node.

    outputs_too: whether the body's outputs are tensors beside those of the node that has the body.
    """
    outputs = {value.name for value in body.output}
    size = {name: tensors[name].bytes for node in body.node if not is_constant(node) for name in node.output
            if name in tensors and (outputs_too or name not in outputs)}
    last: dict[str, int] = {}
    for index, node in enumerate(body.node):
        last.update((name, index) for name in (*node.output, *names_read(node)))
    held = peak = 0
    for index, node in enumerate(body.node):
        held += sum(size.get(name, 0) for name in node.output)
        peak = max(peak, held + temp_bytes[index])
        held -= sum(size.get(name, 0) for name in {*node.output, *names_read(node)} if last[name] == index and name not in outputs)
    return peak


def _numbers(node: NodeProto) -> TensorProto | None:
    """What a node Constant holds, unless this is sparse or a text."""
    for one in node.attribute:
        value = onnx.helper.get_attribute_value(one)
        if one.name == "value":
            return value
        element = constant_element(one.name)
        if element is not None:
            listed = list(value) if one.name.endswith("s") else [value]
            return onnx.helper.make_tensor("", element, [len(listed)] if one.name.endswith("s") else [], listed)
    return None


def _small_constants(graph: GraphProto) -> dict[str, TensorProto]:
    """The initializers and constants of a few numbers that the file itself holds, by name."""
    made = {node.output[0]: _numbers(node) for node in graph.node if is_constant(node)}
    held = {weight.name: weight for weight in graph.initializer} | {name: value for name, value in made.items() if value is not None}
    return {name: value for name, value in held.items() if Tensor(list(value.dims), value.data_type).numel <= _MOST_NUMBERS
            and value.data_location != TensorProto.EXTERNAL}


def _named(constant: TensorProto, name: str) -> TensorProto:
    copy = TensorProto()
    copy.CopyFrom(constant)
    copy.name = name
    return copy


class Scope:
    """The tensors and the small constants of a graph and of those around it, by name."""

    def __init__(self, graph: GraphProto, tensors: dict[str, Tensor], around: "Scope | None" = None):
        self.tensors = ChainMap(tensors, *(around.tensors.maps if around else ()))
        self.constants = ChainMap(_small_constants(graph), *(around.constants.maps if around else ()))

    def number(self, name: str) -> int | None:
        """The value of a constant of one number."""
        constant = self.constants.get(name)
        numbers = onnx.numpy_helper.to_array(constant).flatten() if constant is not None else ()
        return int(numbers[0]) if len(numbers) == 1 else None


def _as_input(name: str, tensor: Tensor) -> ValueInfoProto:
    if not tensor.element:
        return ValueInfoProto(name=name)
    return onnx.helper.make_tensor_value_info(name, tensor.element, tensor.shape)


def _row(tensor: Tensor, axis: int) -> Tensor:
    """What a round of Scan gets of an input."""
    if tensor.shape is None or not -len(tensor.shape) <= axis < len(tensor.shape):
        return Tensor(None, tensor.element)
    kept = list(tensor.shape)
    del kept[axis]
    return Tensor(kept, tensor.element)


def _scanned(node: NodeProto) -> dict[int, int]:
    """Axis by index of a Scan's scanned inputs. Empty for onnx before version 9, whose Scan has batches."""
    count = attribute(node, "num_scan_inputs", 0)
    body = next(bodies(node))
    if len(body.input) != len(node.input):
        return {}
    axes = attribute(node, "scan_input_axes", None) or [0] * count
    return dict(zip(range(len(node.input) - count, len(node.input)), axes, strict=False))


class BodyCosts:
    """The work of nodes with their bodies, and what it is not sure of."""

    def __init__(self, model: ModelProto, path: str | os.PathLike, roofline: Roofline):
        self._model, self._path, self._roofline = model, path, roofline
        self.of_unknown_count: list[str] = []  # Nodes whose bodies count once.
        self.without_rule: list[str] = []  # Nodes that count as elementwise and are not.
        self.of_shape_by_run: list[str] = []  # Tensors in bodies.
        self.of_unknown_shape: list[str] = []  # Tensors in bodies.
        self.of_unknown_elements: list[str] = []  # Tensors in bodies.

    def work(self, node: NodeProto, name: str, scope: Scope) -> Work:
        """name: under which a node is told."""
        found = list(bodies(node))
        if not found:
            if lacks_rule(node):
                self.without_rule.append(f"{name} ({node.op_type})")
            return work_of(node, scope.tensors, self._roofline)
        given = self._given(node, scope)
        one_of = is_operator(node, "If")
        works = [self._work_of_body(body, given, name, scope, outputs_too=not one_of) for body in found]
        if one_of:
            return works[0].or_more(works[-1])
        rounds = self._rounds(node, scope)
        if rounds is None:
            self.of_unknown_count.append(name)
        return sum(works, Work()) * (1 if rounds is None else rounds)

    def _rounds(self, node: NodeProto, scope: Scope) -> int | None:
        """How often a body runs; None: it is not known."""
        if is_operator(node, "Loop"):
            count = scope.number(node.input[0] if node.input else "")
            return max(count, 0) if count is not None and count < _NO_LIMIT else None
        if is_operator(node, "Scan"):
            for index, axis in _scanned(node).items():
                shape = known(scope.tensors, node.input)[index].shape
                if shape is not None and -len(shape) <= axis < len(shape):
                    return shape[axis]
        return None

    def _given(self, node: NodeProto, scope: Scope) -> list[Tensor]:
        """What the inputs of a node's bodies get in the first round, as far as it is known."""
        operands = known(scope.tensors, node.input)
        if is_operator(node, "Loop"):
            return [Tensor([], TensorProto.INT64), Tensor([], TensorProto.BOOL), *operands[2:]]
        if is_operator(node, "Scan") and (scanned := _scanned(node)):
            return [_row(tensor, scanned[index]) if index in scanned else tensor for index, tensor in enumerate(operands)]
        return []

    def _work_of_body(self, body: GraphProto, given: Iterable[Tensor], name: str, scope: Scope, outputs_too: bool) -> Work:
        inner = Scope(body, {}, scope)
        inner.tensors.update(self._tensors(body, given, inner))
        self.of_unknown_shape.extend(unknown_tensors(body, inner.tensors))
        self.of_unknown_elements.extend(of_unknown_elements(inner.tensors.maps[0]))
        works = [Work() if is_constant(node) else self.work(node, f"{name}/{node.name or f'{node.op_type}_{index}'}", inner)
                 for index, node in enumerate(body.node)]
        peak = _peak_bytes(body, inner.tensors, [work.temp_bytes for work in works], outputs_too)
        return dataclasses.replace(sum(works, Work()), temp_bytes=peak)

    def _tensors(self, body: GraphProto, given: Iterable[Tensor], scope: Scope) -> dict[str, Tensor]:
        """The tensors of a body: by shape inference from what it reads, else as the body has them, else by a run. scope: the body's."""
        declared = inferred_tensors(body)
        read = {name: scope.tensors[name] for name in sorted(outer_names(body)) if name in scope.tensors}
        read |= {value.name: declared[value.name] for value in body.input if value.name in declared}
        read |= {value.name: tensor for value, tensor in zip(body.input, given, strict=False) if tensor.shape is not None}
        read |= {weight.name: declared[weight.name] for weight in body.initializer}
        alone = ModelProto(ir_version=max(self._model.ir_version, 4), opset_import=self._model.opset_import)
        alone.graph.name = "body"
        alone.graph.node.extend(body.node)
        for name, tensor in read.items():
            if name in scope.constants:
                alone.graph.initializer.append(_named(scope.constants[name], name))
            else:
                alone.graph.input.append(_as_input(name, tensor))
        found = inferred_tensors(infer_shapes(alone, self._path).graph)
        tensors = declared | {name: tensor for name, tensor in found.items() if tensor.shape is not None}
        unknown = unknown_tensors(body, tensors)
        by_run, _ = found_by_running(alone, tensors, unknown, self._path, {}) if unknown else ({}, "")
        self.of_shape_by_run.extend(by_run)
        return tensors | by_run
