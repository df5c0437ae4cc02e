"""Small ONNX models for the tests."""
import numpy as np
import onnx
from onnx import TensorProto, helper


def value(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def numbers(name, held, element=TensorProto.INT64):
    """An initializer of these numbers."""
    held = np.asarray(held)
    return helper.make_tensor(name, element, held.shape, held.flatten())


def saved(folder, nodes, inputs, outputs, initializers=(), *, constants=(), opset=None):
    """Writes a model. initializers: (name, shape) of weights; constants: initializers; opset: of onnx, the newest without one."""
    weights = [helper.make_tensor(name, TensorProto.FLOAT, shape, np.zeros(shape).flatten()) for name, shape in initializers]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [*weights, *constants])
    domains = sorted({node.domain for node in nodes} - {""})
    opsets = [helper.make_opsetid("", opset or onnx.defs.onnx_opset_version()), *(helper.make_opsetid(domain, 1) for domain in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), folder / "m.onnx")
    return folder / "m.onnx"


def by_name(graph):
    return {op["name"]: op for op in graph.ops}
