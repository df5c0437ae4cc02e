"""emplace.onnx"""
import pathlib

import emplace
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


def value(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def saved(folder, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [
        helper.make_tensor(name, TensorProto.FLOAT, shape, np.zeros(shape).flatten()) for name, shape in initializers])
    onnx.save(helper.make_model(graph), folder / "m.onnx")
    return folder / "m.onnx"


def test_there_are_light_models():
    assert len(LIGHT) >= 9


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models_import_and_place(path, machine, tmp_path):
    graph = emplace.onnx.load(path)
    model = onnx.load(path)
    assert len(graph) == len(model.graph.node) + len({v.name for v in (*model.graph.input, *model.graph.initializer)})
    assert graph.flops.sum() > 1e8
    plan = emplace.place(graph, machine, budget=10, method="m-etf")
    assert 0 < plan.makespan_us <= plan.single_device_us


def test_resnet50_has_the_flops_that_are_published():
    # He et al., "Deep Residual Learning for Image Recognition" (2016), table 1: 3.8e9 multiply-adds in 50 layers, without those
    # of shortcuts' projections and elementwise ops.
    graph = emplace.onnx.load(next(path for path in LIGHT if "resnet50" in path.name))
    convolutions = sum(op["flops"] for op in graph.ops if op["type"] in ("onnx.Conv", "onnx.Gemm")) / 2
    assert 3.8e9 <= convolutions <= 4.2e9


def test_by_hand(tmp_path):
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transA=0), helper.make_node("Relu", ["h"], ["y"], name="act"),
             helper.make_node("Reshape", ["y", "s"], ["z"])]
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [20])
    graph = helper.make_graph(nodes, "g", [value("x", ["batch", 3])], [value("z", [20])], [
        helper.make_tensor("w", TensorProto.FLOAT, [3, 5], [0.0] * 15), helper.make_tensor("b", TensorProto.FLOAT, [5], [0.0] * 5), shape])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    with pytest.raises(emplace.BadInput, match=r"dimension 0 of input 'x' is 'batch', expected its size in dims=\{'batch': ...\}"):
        emplace.onnx.load(tmp_path / "m.onnx")
    ops = {op["name"]: op for op in emplace.onnx.load(tmp_path / "m.onnx", dims={"batch": 4}).ops}
    assert ops["Gemm_0"]["inputs"] == ["x:0", "w:0", "b:0"] and ops["Gemm_0"]["flops"] == 2 * 4 * 5 * 3
    assert ops["Gemm_0"]["outputs"] == [{"bytes": 80, "shape": [4, 5], "dtype": "f32"}]
    assert ops["w"] | {"cost_us": 0} == ops["w"] and ops["w"]["param_bytes"] == 60
    assert ops["act"]["type"] == "onnx.Relu" and ops["act"]["cost_us"]["k80"] > 4
    assert ops["Reshape_2"]["cost_us"] == 0 and ops["x"]["outputs"][0]["shape"] == [4, 3]


def test_bodies_read_tensors_around_them(tmp_path):
    body = helper.make_graph([helper.make_node("Neg", ["outer"], ["t"])], "then", [], [value("t", [2])])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [value("e", [2])])
    path = saved(tmp_path, [helper.make_node("Abs", ["x"], ["outer"]), helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)],
                 [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])])
    ops = {op["name"]: op for op in emplace.onnx.load(path).ops}
    assert set(ops["If_1"]["inputs"]) == {"c:0", "Abs_0:0", "x:0"}


def test_unknown_shapes_are_told(tmp_path):
    path = saved(tmp_path, [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)],
                 [value("x", [2, 2])], [value("y", None)])
    with pytest.warns(UserWarning, match="the shape of 2 of the tensors is not known.*: i, y"):
        emplace.onnx.load(path)


def test_bad_files(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(emplace.BadInput, match="m.onnx: is no valid ONNX model"):
        emplace.onnx.load(tmp_path / "m.onnx")
    with pytest.raises(emplace.BadInput, match="no.onnx"):
        emplace.onnx.load(tmp_path / "no.onnx")
