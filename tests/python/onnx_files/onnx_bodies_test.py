"""What ONNX nodes with bodies cost: If, Loop, Scan."""
import sys

import emplace
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import by_name, numbers, saved, value

PRODUCT = 2 * 64 * 256 * 256  # [64, 256] times [256, 256].
WEIGHTS = [("w", [256, 256])]


def node(op_type, reads, makes, **attributes):
    return helper.make_node(op_type, reads, makes, **attributes)


def loop_body(nodes=None, shape=(64, 256)):
    """A state s becomes its product with w."""
    return helper.make_graph([*(nodes or [node("MatMul", ["s", "w"], ["t"])]), node("Identity", ["going"], ["on"])], "body",
                             [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("s", shape)],
                             [value("on", [], TensorProto.BOOL), value("t", shape)])


def loop(body, count="n"):
    return node("Loop", [count, "", "x"], ["y"], body=body, name="op")


def loaded(folder, nodes, inputs=(), constants=(), dims=None, shape=(64, 256), result=(64, 256)):
    path = saved(folder, nodes, [value("x", shape), *inputs], [value("y", result)], WEIGHTS, constants=constants)
    return by_name(emplace.onnx.load(path, dims=dims))["op"]


@pytest.fixture
def product(tmp_path):
    """The op of one product."""
    return loaded(tmp_path, [node("MatMul", ["x", "w"], ["y"], name="op")])


def times(cost_us, count):
    return {kind: pytest.approx(count * cost) for kind, cost in cost_us.items()}


def test_if_costs_its_dearest_branch(tmp_path, product):
    for dear in ("then_branch", "else_branch"):
        cheap = helper.make_graph([node("Neg", ["x"], ["c"])], "cheap", [], [value("c", [64, 256])])
        dearest = helper.make_graph([node("MatMul", ["x", "w"], ["d"])], "dear", [], [value("d", [64, 256])])
        branches = {"then_branch": cheap, "else_branch": cheap} | {dear: dearest}
        op = loaded(tmp_path, [node("If", ["yes"], ["y"], name="op", **branches)], [value("yes", [], TensorProto.BOOL)])
        assert op["flops"] == PRODUCT == product["flops"] and op["cost_us"] == times(product["cost_us"], 1)


@pytest.mark.parametrize("held", ["initializer", "constant", "number"])
def test_loop_costs_all_rounds(held, tmp_path, product):
    before = {"constant": [node("Constant", [], ["n"], value=numbers("", 10))], "number": [node("Constant", [], ["n"], value_int=10)]}
    op = loaded(tmp_path, [*before.get(held, []), loop(loop_body())], constants=[numbers("n", 10)] if held == "initializer" else [])
    assert op["flops"] == 10 * PRODUCT and op["cost_us"] == times(product["cost_us"], 10)


def test_bodies_in_bodies(tmp_path):
    """10 rounds of 3 rounds of a product."""
    inner = loop_body()
    for name in (*inner.input, *inner.output):
        name.name += "2"
    inner.node[0].CopyFrom(node("MatMul", ["s2", "w"], ["t2"]))
    inner.node[1].CopyFrom(node("Identity", ["going2"], ["on2"]))
    body = loop_body([node("Loop", ["m", "", "s"], ["t"], body=inner)])
    op = loaded(tmp_path, [loop(body)], constants=[numbers("n", 10), numbers("m", 3)])
    assert op["flops"] == 30 * PRODUCT


@pytest.mark.parametrize("count, constants", [
    ("", []), ("given", []), ("n", [numbers("n", 2**63 - 1)]),  # The last as torch.onnx writes `while`.
])
def test_an_unknown_number_of_rounds_counts_as_one(count, constants, tmp_path):
    inputs = [value("given", [], TensorProto.INT64), value("yes", [], TensorProto.BOOL)]
    with pytest.warns(UserWarning, match="how often the bodies of 1 of the nodes run is not known, and they count once: op$") as told:
        op = loaded(tmp_path, [node("Loop", [count, "yes", "x"], ["y"], body=loop_body(), name="op")], inputs, constants)
    assert op["flops"] == PRODUCT and len(told) == 1


def test_no_round_costs_nothing(tmp_path):
    op = loaded(tmp_path, [loop(loop_body())], constants=[numbers("n", 0)])
    assert op.get("flops", 0) == 0 and not any(op["cost_us"].values())


def test_loops_run_with_dims(tmp_path):
    """The body makes the 2 coordinates of each number that is not 0. Only a run shows how many these are: all of [3, 8]."""
    body = helper.make_graph([node("NonZero", ["s"], ["places"]), node("Identity", ["s"], ["t"]), node("Identity", ["going"], ["on"])],
                             "body", [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("s", [1, 8])],
                             [value("on", [], TensorProto.BOOL), value("t", [1, 8]), value("places", [2, 8], TensorProto.INT64)])
    nodes = [node("Loop", ["n", "", "x"], ["z", "y"], body=body, name="op")]
    path = saved(tmp_path, nodes, [value("x", ["b", 8])], [value("z", None), value("y", None, TensorProto.INT64)],
                 constants=[numbers("n", 5)])
    with pytest.warns(UserWarning) as told:
        op = by_name(emplace.onnx.load(path, dims={"b": 3}))["op"]
    assert [made["shape"] for made in op["outputs"]] == [[3, 8], [5, 2, 24]]
    assert [warning for warning in told if "comes from a run" in str(warning.message)]


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_scan_costs_the_length_of_the_scanned_axis(axis, tmp_path, product):
    """5 slices of [64, 256] are multiplied, each with w."""
    body = helper.make_graph([node("MatMul", ["row", "w"], ["t"]), node("Identity", ["s"], ["s2"])], "body",
                             [value("s", [1]), value("row", None)], [value("s2", [1]), value("t", None)])
    shape = [5, 64, 256] if axis == 0 else [64, 5, 256]
    scan = node("Scan", ["start", "x"], ["end", "y"], body=body, num_scan_inputs=1, scan_input_axes=[axis], name="op")
    op = loaded(tmp_path, [scan], [value("start", [1])], shape=shape, result=[5, 64, 256])
    assert op["flops"] == 5 * PRODUCT and op["cost_us"] == times(product["cost_us"], 5)


def test_bodies_may_hand_their_inputs_on(tmp_path):
    """The file says [1, 8] of the state that the body hands on, and dims that it is [4, 8]."""
    body = helper.make_graph([node("Neg", ["row"], ["t"])], "body", [value("s", [1, 8]), value("row", [1, 8])],
                             [value("s", [1, 8]), value("t", [1, 8])])
    scan = node("Scan", ["start", "x"], ["end", "y"], body=body, num_scan_inputs=1, name="op")
    op = loaded(tmp_path, [scan], [value("start", ["b", 8])], dims={"b": 4}, shape=[3, "b", 8], result=[3, 1, 8])
    assert [made["shape"] for made in op["outputs"]] == [[4, 8], [3, 4, 8]] and op["flops"] == 3 * 4 * 8


def test_other_bodies_count_once_each(tmp_path):
    body = helper.make_graph([node("MatMul", ["r", "w"], ["t"])], "body", [value("r", [64, 256])], [value("t", [64, 256])])
    with pytest.warns(UserWarning, match="count once: op"):
        op = loaded(tmp_path, [node("Search", ["x"], ["y"], domain="mine", name="op", encoder=body, decoder=body)])
    assert op["flops"] == 2 * PRODUCT


def test_weights_of_bodies_count_once_whatever_the_rounds(tmp_path):
    body = loop_body([node("MatMul", ["s", "own"], ["t"])])
    body.initializer.append(helper.make_tensor("own", TensorProto.FLOAT, [256, 256], bytes(256 * 256 * 4), raw=True))
    op = loaded(tmp_path, [loop(body)], constants=[numbers("n", 10)])
    assert op["param_bytes"] == 256 * 256 * 4 and op["flops"] == 10 * PRODUCT


SIZE = 64 * 256 * 4  # Bytes of x and of all that has its shape.


def test_a_branch_holds_what_it_still_needs(tmp_path):
    """Add has a, b and c at once; y is an output of the node, and the other branch has no tensor besides."""
    large = helper.make_graph([node("Neg", ["x"], ["a"]), node("Exp", ["a"], ["b"]), node("Add", ["a", "b"], ["c"]),
                               node("Abs", ["c"], ["d"])], "large", [], [value("d", [64, 256])])
    small = helper.make_graph([node("Neg", ["x"], ["e"])], "small", [], [value("e", [64, 256])])
    for branches in ((large, small), (small, large)):
        choice = node("If", ["yes"], ["y"], then_branch=branches[0], else_branch=branches[1], name="op")
        assert loaded(tmp_path, [choice], [value("yes", [], TensorProto.BOOL)])["temp_bytes"] == 3 * SIZE


def test_a_loop_holds_one_round(tmp_path):
    """The product, and beside it the state that follows; what the state was is an input or output of the node."""
    body = loop_body([node("Constant", [], ["c"], value=numbers("", [1.0] * 256, TensorProto.FLOAT)), node("MatMul", ["s", "w"], ["p"]),
                      node("Add", ["p", "c"], ["t"])])
    assert loaded(tmp_path, [loop(body)], constants=[numbers("n", 10)])["temp_bytes"] == 2 * SIZE


def test_a_loop_in_a_branch_holds_its_round_beside_the_branch(tmp_path):
    """The branch's a is read after the Loop, whose state b is the Loop's output: a, b, and the round's product t and 1 byte."""
    branch = helper.make_graph([node("Neg", ["x"], ["a"]), node("Loop", ["n", "", "x"], ["b"], body=loop_body()),
                                node("Add", ["a", "b"], ["d"])], "branch", [], [value("d", [64, 256])], value_info=[value("b", [64, 256])])
    choice = node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch, name="op")
    op = loaded(tmp_path, [choice], [value("yes", [], TensorProto.BOOL)], [numbers("n", 10)])
    assert op["temp_bytes"] == 3 * SIZE + 1


def test_shapes_in_bodies_follow_constants_around_them(tmp_path):
    """The body reshapes [64, 256] to [128, 128] by a constant of the graph, and multiplies that with itself."""
    body = helper.make_graph([node("Reshape", ["x", "shape"], ["r"]), node("MatMul", ["r", "r"], ["t"])], "body", [], [value("t", None)])
    op = loaded(tmp_path, [node("If", ["yes"], ["y"], then_branch=body, else_branch=body, name="op")], [value("yes", [], TensorProto.BOOL)],
                [numbers("shape", [128, 128])], result=[128, 128])
    assert op["flops"] == 2 * 128 * 128 * 128


def test_sizes_that_the_file_has_in_bodies_give_way_to_dims(tmp_path):
    def body(op_type, name):
        return helper.make_graph([node(op_type, ["q"], [name])], name, [], [value(name, [1, 8])], value_info=[value(name, [1, 8])])
    nodes = [node("Abs", ["x"], ["q"]), node("If", ["yes"], ["y"], then_branch=body("Relu", "t"), else_branch=body("Neg", "e"), name="op")]
    op = loaded(tmp_path, nodes, [value("yes", [], TensorProto.BOOL)], dims={"b": 4}, shape=["b", 8], result=[1, 8])
    assert op["outputs"][0]["shape"] == [4, 8] and op["flops"] == 4 * 8


def test_sizes_that_only_the_file_knows_in_bodies_stay(tmp_path):
    """The body's Mystery makes [3, 7], which it multiplies with [7, 5]."""
    body = helper.make_graph([node("Mystery", ["x"], ["m"], domain="mine"), node("MatMul", ["m", "v"], ["t"])], "body", [],
                             [value("t", [3, 5])], value_info=[value("m", [3, 7])])
    nodes = [node("If", ["yes"], ["y"], then_branch=body, else_branch=body, name="op")]
    path = saved(tmp_path, nodes, [value("x", ["b", 8]), value("yes", [], TensorProto.BOOL)], [value("y", [3, 5])], [("v", [7, 5])])
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    onnx.save(model, path)
    with pytest.warns(UserWarning, match="the one that the file has, .*: y"):
        op = by_name(emplace.onnx.load(path, dims={"b": 4}))["op"]
    assert op["outputs"][0]["shape"] == [3, 5] and op["flops"] == 2 * 3 * 5 * 7 + 4 * 8


def of_unknown_shape(folder):
    """A node with two bodies, in which the shapes of n and f depend on the numbers of x, and that of what it makes is told."""
    body = helper.make_graph([node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
                              node("MatMul", ["f", "w"], ["t"])], "body", [], [value("t", None)])
    nodes = [node("If", ["yes"], ["z"], then_branch=body, else_branch=body, name="op"), node("Shape", ["z"], ["y"])]
    path = saved(folder, nodes, [value("x", [4, 8]), value("yes", [], TensorProto.BOOL)], [value("y", [2], TensorProto.INT64)],
                 [("w", [32, 16])])
    model = onnx.load(path)
    model.graph.value_info.append(value("z", [2, 16]))
    onnx.save(model, path)
    return path


def test_unknown_shapes_in_bodies_come_from_a_run(tmp_path):
    """None of the 32 numbers that are generated is 0, and each has 2 coordinates."""
    with pytest.warns(UserWarning, match="4 of the tensors in bodies comes from a run of ONNX Runtime .*: n, f, n, f$"):
        op = by_name(emplace.onnx.load(of_unknown_shape(tmp_path)))["op"]
    assert op["flops"] == 2 * 2 * 16 * 32 + 2 * 32 + 2 * 32  # MatMul, Cast, NonZero.


def test_unknown_shapes_in_bodies_are_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.warns(UserWarning, match="4 of the tensors in bodies is not known, and they count as empty: n, f, n, f$"):
        emplace.onnx.load(of_unknown_shape(tmp_path))


def test_bodies_may_use_the_same_names(tmp_path):
    """Both branches call the shape of what they read s. Those that read [8, 4] and [4, 8] make the places of 32 numbers."""
    def body(read):
        return helper.make_graph([node("Shape", [read], ["s"]), node("ConstantOfShape", ["s"], ["o"]), node("Add", ["o", read], ["a"]),
                                  node("NonZero", ["a"], ["t"])], read, [], [value("t", None, TensorProto.INT64)])
    nodes = [node("If", ["yes"], ["y"], then_branch=body("x"), else_branch=body("tall"), name="op")]
    path = saved(tmp_path, nodes, [value("x", [4, 8]), value("tall", [8, 4]), value("yes", [], TensorProto.BOOL)],
                 [value("y", None, TensorProto.INT64)])
    with pytest.warns(UserWarning) as told:
        op = by_name(emplace.onnx.load(path))["op"]
    assert op["outputs"][0]["shape"] == [2, 32] and op["flops"] == 32 + 32 + 2 * 32  # ConstantOfShape is none, Add, NonZero.
    assert len(told) == 2 and all("comes from a run" in str(warning.message) for warning in told)
