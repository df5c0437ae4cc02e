"""The order of the nodes of ONNX models, and tensors without an origin or with two."""
import emplace
import pytest
from onnx import TensorProto, helper
from onnx_models import by_name, numbers, saved, value


def node(op_type, reads, makes, **attributes):
    return helper.make_node(op_type, reads, makes, **attributes)


def test_nodes_wait_for_what_they_read_wherever_they_stand(tmp_path):
    nodes = [node("Relu", ["a"], ["y"]), node("Add", ["b", "x"], ["a"]), node("Neg", ["x"], ["b"])]
    path = saved(tmp_path, nodes, [value("x", [2])], [value("y", [2])])
    graph = emplace.onnx.load(path)
    # Each has the index that it has in the file.
    assert [(op["name"], op["inputs"], op["attrs"].get("node")) for op in graph.ops] == [
        ("x", [], None), ("Neg_2", ["x:0"], 2), ("Add_1", ["Neg_2:0", "x:0"], 1), ("Relu_0", ["Add_1:0"], 0)]


def test_nodes_in_order_stay_so(tmp_path):
    nodes = [node("Neg", ["x"], ["a"]), node("Abs", ["x"], ["b"]), node("Relu", ["b"], ["c"]), node("Exp", ["a"], ["d"]),
             node("Add", ["c", "d"], ["y"])]
    path = saved(tmp_path, nodes, [value("x", [2])], [value("y", [2])])
    assert [op["attrs"].get("node") for op in emplace.onnx.load(path).ops] == [None, 0, 1, 2, 3, 4]


def test_nodes_of_bodies_are_sorted(tmp_path):
    body = helper.make_graph([node("MatMul", ["a", "x"], ["t"]), node("Transpose", ["x"], ["a"])], "b", [], [value("t", None)])
    path = saved(tmp_path, [node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
                 [value("x", [3, 4]), value("c", [], TensorProto.BOOL)], [value("y", [4, 4])])
    # Products of [4, 3] and [3, 4], and 12 numbers to transpose.
    assert by_name(emplace.onnx.load(path))["If_0"]["flops"] == 2 * 4 * 4 * 3 + 12


def test_parts_of_a_model_out_of_order_compute_what_it_does(tmp_path):
    path = saved(tmp_path, [node("Exp", ["a"], ["y"]), node("Neg", ["x"], ["a"])], [value("x", [2])], [value("y", [2])], opset=17)
    machine = emplace.Machine([emplace.Device(f"gpu:{index}", "v100", 16e9) for index in range(2)], bandwidth_bytes_per_us=10_000)
    graph = emplace.onnx.load(path)
    plan = emplace.Plan.of(graph, machine, [{"x": 1, "Neg_1": 1, "Exp_0": 0}[name] for name in graph.op_names])
    parts = emplace.onnx.split(path, plan, tmp_path / "parts")
    assert [(part["device"], part["inputs"], part["outputs"]) for part in parts] == [("gpu:1", ["x"], ["a"]), ("gpu:0", ["a"], ["y"])]


def branches(nodes):
    """A node If with two branches of these nodes."""
    body = helper.make_graph(nodes, "body", [], [value("t", [2])])
    return node("If", ["c"], ["y"], then_branch=body, else_branch=body)


@pytest.mark.parametrize("nodes, error", [
    ([node("Add", ["x", "lost"], ["y"])], r"m.onnx: node 0 \(Add\) reads 'lost', which nothing makes, expected the name of an input, "),
    ([node("Neg", ["x"], ["a"], name="n")], r"m.onnx: nothing makes the output 'y', expected"),
    ([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"], name="second")],
     r"m.onnx: node 1 \(Abs 'second'\) makes 'y', which node 0 \(Relu\) makes, too; expected one origin of each tensor"),
    ([node("Relu", ["x"], ["x", "y"])], r"m.onnx: node 0 \(Relu\) makes 'x', which is an input or an initializer, too"),
    ([node("Neg", ["x"], ["y"]), node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])],
     r"m.onnx: nodes wait for each other: node 1 \(Add\) -> node 2 \(Relu\) -> node 1 \(Add\); expected a graph without cycles"),
    ([node("Add", ["x", "y"], ["y"])], r"m.onnx: nodes wait for each other: node 0 \(Add\) -> node 0 \(Add\)"),
    ([branches([node("Neg", ["lost"], ["t"])])], r"node 0 \(If\) reads 'lost'"),
    ([branches([node("Neg", ["x"], ["t"]), node("Abs", ["x"], ["t"])])], r"node 1 \(Abs\) makes 't', which node 0 \(Neg\)"),
])
def test_tensors_of_no_origin_or_of_two(nodes, error, tmp_path):
    path = saved(tmp_path, nodes, [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])])
    with pytest.raises(emplace.BadInput, match=error):
        emplace.onnx.load(path)


def test_inputs_that_are_left_out_need_no_origin(tmp_path):
    path = saved(tmp_path, [node("Clip", ["x", "", "most"], ["y"])], [value("x", [2])], [value("y", [2])], [("most", [])])
    assert by_name(emplace.onnx.load(path))["Clip_0"]["inputs"] == ["x:0", "most:0"]


def test_sparse_weights_of_bodies_are_their_own(tmp_path):
    held = helper.make_sparse_tensor(helper.make_tensor("s", TensorProto.FLOAT, [1], [1.0]), numbers("at", [1]), [2])
    body = helper.make_graph([node("Add", ["x", "s"], ["t"])], "b", [], [value("t", [2])], sparse_initializer=[held])
    path = saved(tmp_path, [node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
                 [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])])
    op = by_name(emplace.onnx.load(path))["If_0"]
    assert op["inputs"] == ["c:0", "x:0"] and op["param_bytes"] == 2 * 2 * 4
