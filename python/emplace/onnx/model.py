"""ONNX files: reading them, who reads what, and the sizes of their inputs."""
import ast
import contextlib
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto

from emplace._core import BadInput
from emplace.reading import first_line


@contextlib.contextmanager
def _as_bad_input(path: str | os.PathLike):
    try:
        yield
    except Exception as error:  # Protobuf's and onnx's own kinds have no base in common.
        raise BadInput(f"{path}: is no valid ONNX model: {first_line(error)}") from error


def read_model(path: str | os.PathLike) -> ModelProto:
    """Reads a file without its external data. Raises BadInput for one that is no model."""
    with _as_bad_input(path):
        model = onnx.load(path, load_external_data=False)
    if not model.HasField("graph"):
        raise BadInput(f"{path}: is no valid ONNX model: it has no graph")
    return model


def with_external_data(model: ModelProto, path: str | os.PathLike) -> ModelProto:
    """A copy of a model, or of a part of one, that holds the external data beside `path`. Raises BadInput."""
    full = ModelProto()
    full.CopyFrom(model)
    with _as_bad_input(path):
        onnx.load_external_data_for_model(full, os.path.dirname(os.path.abspath(path)))
    return full


def inline_functions(model: ModelProto, path: str | os.PathLike) -> ModelProto:
    """The model without functions of its own. Raises BadInput."""
    if not model.functions:
        return model
    from onnx import inliner
    with _as_bad_input(path):
        return inliner.inline_local_functions(model)


def infer_shapes(model: ModelProto, path: str | os.PathLike) -> ModelProto:
    """The model with the types that onnx can infer. Raises BadInput."""
    made = list(_made_in_bodies(model.graph))
    # onnx takes the numbers of small tensors, such as shapes, for those of all tensors of the same name in any body.
    follow_numbers = len(made) == len(set(made))
    with _as_bad_input(path):
        return onnx.shape_inference.infer_shapes(model, data_prop=follow_numbers)


def is_standard(node: NodeProto) -> bool:
    """Whether the node's operator is one of onnx itself."""
    return node.domain in ("", "ai.onnx")


def is_operator(node: NodeProto, op_type: str) -> bool:
    """Whether the node's operator is this one of onnx itself."""
    return node.op_type == op_type and is_standard(node)


def is_constant(node: NodeProto) -> bool:
    """Whether the node holds a weight, as some exporters write them."""
    return is_operator(node, "Constant")


def constant_element(attribute: str) -> int | None:
    """The type of the numbers that this attribute of a node Constant holds, such as value_ints; None for another one."""
    return {"value_int": TensorProto.INT64, "value_float": TensorProto.FLOAT}.get(attribute.removesuffix("s"))


def bodies(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs inside of a node such as If, Loop or Scan."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def has_bodies(node: NodeProto) -> bool:
    return next(bodies(node), None) is not None


def _made_in_bodies(graph: GraphProto) -> Iterator[str]:
    """The names of the tensors that nodes in bodies make, one for each node."""
    for node in graph.node:
        for body in bodies(node):
            yield from (name for inner in body.node for name in inner.output if name)
            yield from _made_in_bodies(body)


def weight_names(graph: GraphProto) -> set[str]:
    """Names of the initializers."""
    return {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}


def outer_names(graph: GraphProto) -> set[str]:
    """Tensors of the graph around it that a body (of If, Loop, Scan) reads."""
    own = {value.name for value in graph.input} | weight_names(graph)
    read = set()
    for node in graph.node:
        read.update(names_read(node))
        own.update(node.output)
    return {name for name in read | {value.name for value in graph.output} if name} - own


def names_read(node: NodeProto) -> list[str]:
    """Tensors that a node reads, also those that its bodies read; none twice among the latter."""
    names = [name for name in node.input if name]
    for body in bodies(node):
        names.extend(sorted(outer_names(body) - set(names)))
    return names


def given_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """The inputs that a caller gives: older models list their weights among the inputs, too."""
    weights = weight_names(graph)
    return [value for value in graph.input if value.name not in weights]


def forget_negative_sizes(graph: GraphProto) -> None:
    """Clears sizes such as -1, by which some exporters mean that a size is not known."""
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.HasField("tensor_type"):
            for dim in value.type.tensor_type.shape.dim:
                if dim.HasField("dim_value") and dim.dim_value < 0:
                    dim.ClearField("dim_value")
    for node in graph.node:
        for body in bodies(node):
            forget_negative_sizes(body)


def _forget_sizes(values: Iterable[ValueInfoProto]) -> None:
    for value in values:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _forget_sizes_of_bodies(graph: GraphProto) -> None:
    for node in graph.node:
        # A Loop's counter and condition hold one number whatever the sizes, and ONNX Runtime wants them to have a shape.
        inputs, outputs = (2, 1) if is_operator(node, "Loop") else (0, 0)
        for body in bodies(node):
            del body.value_info[:]
            _forget_sizes((*body.input[inputs:], *body.output[outputs:]))
            _forget_sizes_of_bodies(body)


def forget_made_sizes(graph: GraphProto) -> None:
    """Clears the sizes of all tensors that nodes make, also in bodies, and those of what bodies are given."""
    made = {name for node in graph.node for name in node.output}
    del graph.value_info[:]
    _forget_sizes(value for value in graph.output if value.name in made)
    for value in graph.output:
        if value.name not in made:
            value.ClearField("type")  # That of an input or a weight holds, and this one would hide it.
    _forget_sizes_of_bodies(graph)


def _check_sizes(dims: Mapping[str, int]) -> None:
    for name, size in dims.items():
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or not 0 <= size < 2**63:
            raise BadInput(f"dims: the size of '{name}' is {size}, expected a whole number of at least 0")


class _OpenSizes:
    """Sizes of inputs that the model leaves open, each known by its place such as x[0], and many by a name such as batch."""

    def __init__(self, graph: GraphProto):
        self._shapeless: list[ValueInfoProto] = []
        self.places: dict[str, TensorShapeProto.Dimension] = {}
        self.fixed: dict[str, int] = {}  # By place.
        self.names: set[str] = set()
        # Names that inputs do not have may be given, too, and change nothing.
        self._other_names = {dim.dim_param for value in (*graph.value_info, *graph.output) for dim in value.type.tensor_type.shape.dim}
        for value in given_inputs(graph):
            if not value.type.HasField("tensor_type"):
                continue
            if not value.type.tensor_type.HasField("shape"):
                self._shapeless.append(value)
            for index, dim in enumerate(value.type.tensor_type.shape.dim):
                if dim.dim_value > 0:
                    self.fixed[f"{value.name}[{index}]"] = dim.dim_value
                else:
                    self.places[f"{value.name}[{index}]"] = dim
                    self.names.add(dim.dim_param)

    def add_dimensions(self, dims: Mapping[str, int]) -> None:
        """Gives inputs without a number of dimensions those whose places x[0], x[1], ... have a size."""
        for value in self._shapeless:
            while (place := f"{value.name}[{len(value.type.tensor_type.shape.dim)}]") in dims:
                self.places[place] = value.type.tensor_type.shape.dim.add()
            if not value.type.tensor_type.HasField("shape"):
                self.places[place] = TensorShapeProto.Dimension()  # To be asked for.

    def check_known(self, dims: Mapping[str, int], path: str | os.PathLike) -> None:
        """Raises BadInput for a size of something that the model does not have, or that it fixes otherwise."""
        for name, size in dims.items():
            if self.fixed.get(name, size) != size:
                raise BadInput(f"{path}: dims: the size of {name} is {size}, expected {self.fixed[name]}, as the model has it")
            if not any(name in known for known in (self.names, self._other_names, self.places, self.fixed)):
                known = ", ".join(sorted({_asked(place, dim) for place, dim in self.places.items()})) or "none"
                raise BadInput(f"{path}: dims: no input has a size '{name}', expected some of those that the model leaves open: {known}")


def _asked(place: str, dim: TensorShapeProto.Dimension) -> str:
    """By what to ask for a size: a name such as batch, or the place, where the name is none, such as a question mark."""
    return dim.dim_param if any(letter.isalpha() for letter in dim.dim_param) else place


def _expression(text: str) -> ast.expr | None:
    """A sum, difference or product such as "past + 1", as exporters write sizes that follow from others; None: it is none."""
    try:
        found = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return found if isinstance(found, ast.BinOp) else None


def _evaluated(found: ast.expr | None, sizes: Mapping[str, int]) -> int | None:
    """The value of an expression of named sizes; None where it has other parts, or names without a size."""
    if isinstance(found, ast.Constant) and type(found.value) is int:
        return found.value
    if isinstance(found, ast.Name):
        return sizes.get(found.id)
    if not isinstance(found, ast.BinOp):
        return None
    left, right = _evaluated(found.left, sizes), _evaluated(found.right, sizes)
    if left is None or right is None:
        return None
    if isinstance(found.op, ast.Add):
        return left + right
    if isinstance(found.op, ast.Sub):
        return left - right
    return left * right if isinstance(found.op, ast.Mult) else None


def set_sizes(model: ModelProto, dims: Mapping[str, int], path: str | os.PathLike) -> None:
    """Gives the open sizes of the inputs their numbers, so that shape inference knows them, and those of the same name in all other
    tensors of the graph.

    dims: by place such as {"x[0]": 8}, or by name such as {"batch": 8}, which is the size of all that have this name and whose
    place is not given. Sizes such as "past + 1" follow from these. Raises BadInput that names all sizes that are missing, or one
    that the model does not have.
    """
    _check_sizes(dims)
    sizes = _OpenSizes(model.graph)
    sizes.add_dimensions(dims)
    sizes.check_known(dims, path)
    by_name = {_asked(place, dim): dims[place] for place, dim in sizes.places.items() if place in dims} | dict(dims)
    missing: dict[str, None] = {}
    for place, dim in sizes.places.items():
        expression = _expression(dim.dim_param)
        size = dims.get(place, by_name.get(dim.dim_param, _evaluated(expression, by_name)))
        if size is not None and size < 0:
            raise BadInput(f"{path}: the size {place}, '{dim.dim_param}', is {size} with these dims, expected at least 0")
        if size is not None:
            dim.dim_value = size
        elif _evaluated(expression, dict.fromkeys(sizes.names, 1)) is None:  # Else, its names are asked for.
            missing[_asked(place, dim)] = None
    if missing:
        expected = ", ".join(f"'{name}': ..." for name in missing)
        options = " ".join(f"--dim '{name}=...'" for name in missing)
        raise BadInput(f"{path}: the model leaves sizes of its inputs open: {', '.join(missing)}; expected dims={{{expected}}}, on the "
                       f"command line {options}")
    for value in (*model.graph.value_info, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            size = by_name.get(dim.dim_param, _evaluated(_expression(dim.dim_param), by_name)) if dim.dim_param else None
            if size is not None and size >= 0:
                dim.dim_value = size
