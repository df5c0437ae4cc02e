"""Small ONNX models for the tests."""
import pathlib

import emplace
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Well-known networks without their weights, which come with onnx.
LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


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


def random_model(folder, nodes: int, seed: int):
    """Nodes of one or two inputs, some of two outputs, one with bodies that read around them; weights that several nodes share,
    one of them in a node Constant."""
    rng = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(rng.standard_normal((4, 4)).astype(np.float32), f"w{index}") for index in range(3)]
    tensors, made = ["x"], [helper.make_node("Constant", [], ["w2"], value=weights.pop())]
    for index in range(nodes):
        read = rng.choice(tensors, 2)
        kind = rng.integers(4)
        if kind == 0:
            made.append(helper.make_node("MatMul", [read[0], f"w{rng.integers(3)}"], [f"t{index}"]))
        elif kind == 1:
            made.append(helper.make_node("Add", list(read), [f"t{index}"], name=f"add {index}"))
        elif kind == 2:
            made.append(helper.make_node("Split", [read[0], "halves"], [f"a{index}", f"b{index}"], axis=0))
            made.append(helper.make_node("Concat", [f"b{index}", f"a{index}"], [f"t{index}"], axis=0))
        else:
            value = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])
            then = helper.make_graph([helper.make_node("Tanh", [read[0]], ["y"])], "then", [], [value])
            other = helper.make_graph([helper.make_node("Mul", [read[1], "w0"], ["y"])], "else", [], [value])
            made.append(helper.make_node("If", ["yes"], [f"t{index}"], then_branch=then, else_branch=other))
        tensors.append(f"t{index}")
    graph = helper.make_graph(
        made, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in dict.fromkeys([tensors[-1], tensors[len(tensors) // 2 + 1]])],
        [*weights, numpy_helper.from_array(np.array([2, 2]), "halves"), numpy_helper.from_array(np.array(True), "yes")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def random_plan(path, machine, seed):
    graph = emplace.onnx.load(path)
    return emplace.Plan.of(graph, machine, np.random.default_rng(seed).integers(0, len(machine), len(graph)))
