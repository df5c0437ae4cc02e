"""emplace.onnx"""
import sys

import emplace
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import LIGHT, by_name, saved, value

# Inference knows no shape of what Dropout makes besides in old models.
told_of_dropout = pytest.mark.filterwarnings("ignore:.*the shape of . of the tensors comes from a run")


def test_there_are_light_models():
    assert len(LIGHT) >= 9


@told_of_dropout
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
    with pytest.raises(emplace.BadInput, match=r"sizes of its inputs open: batch; expected dims=\{'batch': ...\}, .* --dim 'batch=...'"):
        emplace.onnx.load(tmp_path / "m.onnx")
    ops = {op["name"]: op for op in emplace.onnx.load(tmp_path / "m.onnx", dims={"batch": 4}).ops}
    assert ops["Gemm_0"]["inputs"] == ["x:0", "w:0", "b:0"] and ops["Gemm_0"]["flops"] == 2 * 4 * 5 * 3
    assert ops["Gemm_0"]["outputs"] == [{"bytes": 80, "shape": [4, 5], "dtype": "f32"}]
    assert ops["w"] | {"cost_us": 0} == ops["w"] and ops["w"]["param_bytes"] == 60
    assert ops["x"]["outputs"] == [{"bytes": 48, "shape": [4, 3], "dtype": "f32"}]
    assert ops["act"]["type"] == "onnx.Relu" and ops["act"]["cost_us"]["k80"] > 4
    assert ops["Reshape_2"]["cost_us"] == 0 and ops["x"]["outputs"][0]["shape"] == [4, 3]


def test_flops_of_products(tmp_path):
    shapes = {"x": [2, 6, 8, 8], "w": [10, 3, 3, 3], "a": [5, 7], "b": [7, 4], "e": [2, 5, 7], "f": [2, 7, 4], "q": [2, 3, 9, 4], "k": [2, 3, 11, 4]}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], group=2, pads=[1] * 4),
             helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"], ["i"], group=2, pads=[1] * 4),
             helper.make_node("QLinearMatMul", ["a", "s", "z", "b", "s", "z", "s", "z"], ["p"]),
             helper.make_node("Einsum", ["e", "f"], ["o"], equation="bij,bjk->ik"),
             helper.make_node("Einsum", ["e", "f"], ["m"], equation="...ij,...jk"),
             helper.make_node("Attention", ["q", "k", "k"], ["t"])]
    results = {"c": [2, 10, 8, 8], "i": [2, 10, 8, 8], "p": [5, 4], "o": [5, 4], "m": [2, 5, 4], "t": [2, 3, 9, 4]}
    scales = [helper.make_tensor("s", TensorProto.FLOAT, [], [1.0]), helper.make_tensor("z", TensorProto.FLOAT, [], [0.0])]
    graph = helper.make_graph(nodes, "g", [value(name, shape) for name, shape in shapes.items()],
                              [value(name, shape) for name, shape in results.items()], scales)
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    flops = [op["flops"] for op in emplace.onnx.load(tmp_path / "m.onnx").ops if op["type"].startswith("onnx.")]
    convolution = 2 * (2 * 10 * 8 * 8) * (3 * 3 * 3)
    assert flops == [convolution, convolution, 2 * 5 * 4 * 7, 2 * 5 * 4 * 2 * 7, 2 * 2 * 5 * 4 * 7, 2 * (2 * 2 * 3 * 9 * 4) * 11]


def test_what_reads_a_part_and_what_reads_all(tmp_path):
    nodes = [helper.make_node("Gather", ["x", "rows"], ["g"]), helper.make_node("Slice", ["x", "one", "four"], ["s"]),
             helper.make_node("TopK", ["x", "count"], ["v", "i"])]
    numbers = [helper.make_tensor(name, TensorProto.INT64, [len(held)], held) for name, held in
               {"rows": [1, 2, 3], "one": [1], "four": [4], "count": [3]}.items()]
    graph = helper.make_graph(nodes, "g", [value("x", [4096, 512])], [value("g", [3, 512]), value("s", [3, 512]), value("v", [4096, 3])], numbers)
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    cost_us = {op["type"]: op["cost_us"]["k80"] for op in emplace.onnx.load(tmp_path / "m.onnx").ops if op["type"].startswith("onnx.")}
    assert max(cost_us["onnx.Gather"], cost_us["onnx.Slice"]) < 10 < 30 < cost_us["onnx.TopK"]


def test_bodies_read_tensors_around_them(tmp_path):
    body = helper.make_graph([helper.make_node("Neg", ["outer"], ["t"])], "then", [], [value("t", [2])])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [value("e", [2])])
    path = saved(tmp_path, [helper.make_node("Abs", ["x"], ["outer"]), helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)],
                 [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])])
    ops = {op["name"]: op for op in emplace.onnx.load(path).ops}
    assert set(ops["If_1"]["inputs"]) == {"c:0", "Abs_0:0", "x:0"}


@pytest.fixture
def of_unknown_shape(tmp_path):
    """The places of the numbers that are not 0: their count depends on the input."""
    return saved(tmp_path, [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)],
                 [value("x", [2, 3])], [value("y", None)])


def test_unknown_shapes_come_from_a_run(of_unknown_shape):
    with pytest.warns(UserWarning, match="the shape of 2 of the tensors comes from a run of ONNX Runtime on generated inputs.*: i, y"):
        ops = {op["name"]: op for op in emplace.onnx.load(of_unknown_shape).ops}
    # None of the 6 numbers that are generated is 0, and each has 2 coordinates.
    assert ops["NonZero_0"]["outputs"] == [{"bytes": 2 * 6 * 8, "shape": [2, 6], "dtype": "i64"}]
    assert ops["Cast_1"]["outputs"] == [{"bytes": 2 * 6 * 4, "shape": [2, 6], "dtype": "f32"}]


@pytest.mark.parametrize("element", ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT32", "INT64"])
def test_runs_have_the_weights_of_the_file(element, tmp_path, monkeypatch):
    """3 of the 2000 weights are not 0, so that the product of each row of x with them has 3 numbers that are not 0."""
    held = np.zeros((1, 2000), dtype=onnx.helper.tensor_dtype_to_np_dtype(getattr(TensorProto, element)))
    held[0, [5, 77, 999]] = 1
    weight = onnx.numpy_helper.from_array(held, "w")
    assert weight.data_type == getattr(TensorProto, element)
    nodes = [helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["x", "f"], ["p"]),
             helper.make_node("NonZero", ["p"], ["y"])]
    path = saved(tmp_path, nodes, [value("x", [4, 1])], [value("y", None, TensorProto.INT64)], constants=[weight])
    infer_shapes = onnx.shape_inference.infer_shapes

    def infer_shapes_of_little(given, **options):
        assert given.ByteSize() < 1000 or element == "BFLOAT16"
        return infer_shapes(given, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", infer_shapes_of_little)
    with pytest.warns(UserWarning, match="the shape of 1 of the tensors comes from a run"):
        ops = by_name(emplace.onnx.load(path))
    assert ops["NonZero_2"]["outputs"][0]["shape"] == [2, 4 * 3]
    assert ops["w"]["param_bytes"] == held.nbytes and ops["w"]["outputs"][0]["shape"] == [1, 2000]


def test_runs_know_which_weights_are_read(tmp_path):
    """One is read in a body alone, and one nowhere, which ONNX Runtime drops."""
    held = [onnx.numpy_helper.from_array(np.ones((64, 32), np.float32), name) for name in ("inside", "unread")]
    body = helper.make_graph([helper.make_node("MatMul", ["x", "inside"], ["t"])], "body", [], [value("t", None)])
    nodes = [helper.make_node("If", ["yes"], ["z"], then_branch=body, else_branch=body), helper.make_node("NonZero", ["z"], ["y"])]
    path = saved(tmp_path, nodes, [value("x", [4, 64]), value("yes", [], TensorProto.BOOL)], [value("y", None, TensorProto.INT64)],
                 constants=held)
    with pytest.warns(UserWarning, match="the shape of 1 of the tensors comes from a run"):
        ops = by_name(emplace.onnx.load(path))
    assert ops["NonZero_1"]["outputs"][0]["shape"] == [2, 4 * 32]


def test_shapes_that_nobody_reads_come_from_a_run(tmp_path):
    path = saved(tmp_path, [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Neg", ["x"], ["y"])],
                 [value("x", [2, 3])], [value("y", [2, 3])])
    with pytest.warns(UserWarning, match="the shape of 1 of the tensors comes from a run .*: i$"):
        ops = by_name(emplace.onnx.load(path))
    assert ops["NonZero_0"]["outputs"] == [{"bytes": 2 * 6 * 8, "shape": [2, 6], "dtype": "i64"}]


def test_unknown_shapes_are_told_where_nothing_can_run(of_unknown_shape, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.warns(UserWarning, match="the shape of 2 of the tensors is not known.*: i, y .*onnxruntime, .* is not installed"):
        emplace.onnx.load(of_unknown_shape)


def test_a_model_that_cannot_run_is_told(tmp_path):
    path = saved(tmp_path, [helper.make_node("Mystery", ["x"], ["h"], domain="mine"), helper.make_node("Neg", ["h"], ["y"])],
                 [value("x", [2])], [value("y", None)])
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    onnx.save(model, path)
    with pytest.warns(UserWarning, match="2 of the tensors is not known, and they count as empty: h, y .*cannot run the model: .*Mystery"):
        emplace.onnx.load(path)


@pytest.mark.parametrize("shape, dims, expected", [
    ([-1, 3], {"x[0]": 2}, [2, 3]),
    (["?", "?"], {"x[0]": 48, "x[1]": 192}, [48, 192]),
    (["?", "?"], {"?": 48}, [48, 48]),
    (["n", "n"], {"n": 4, "x[1]": 5}, [4, 5]),
    (["n", "n"], {"x[1]": 5}, [5, 5]),
    (["n", "2*n + 1"], {"n": 4}, [4, 9]),
    (["n", 3], {"n": 4, "x[1]": 3}, [4, 3]),
    (None, {"x[0]": 2, "x[1]": 3}, [2, 3]),
    ([None, "past length"], {"x[0]": 2, "past length": 7}, [2, 7]),
])
def test_open_sizes(shape, dims, expected, tmp_path):
    path = saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [value("x", shape)], [value("y", shape)])
    graph = emplace.onnx.load(path, dims=dims)
    assert [op["outputs"][0]["shape"] for op in graph.ops] == [expected, expected]


@pytest.mark.parametrize("shape, dims, error", [
    (["?", "batch", -1, None, "batch + 1"], {}, r"open: x\[0\], batch, x\[2\], x\[3\]; expected dims=\{'x\[0\]': ..., 'batch': ..., "),
    (["?", "batch", -1, None, "batch + 1"], {"batch": 1, "x[3]": 1}, r"open: x\[0\], x\[2\]; expected"),
    (None, {}, r"open: x\[0\]; expected"),
    (["n"], {"m": 3, "n": 3}, "no input has a size 'm', expected some of those that the model leaves open: n"),
    ([3], {"x[0]": 4}, r"the size of x\[0\] is 4, expected 3, as the model has it"),
    (["n"], {"n": -1}, "the size of 'n' is -1, expected a whole number of at least 0"),
    (["n"], {"n": True}, "the size of 'n' is True, expected"),
    (["n", "n - 3"], {"n": 2}, r"the size x\[1\], 'n - 3', is -1 with these dims"),
])
def test_sizes_that_are_wrong_or_missing(shape, dims, error, tmp_path):
    path = saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [value("x", shape)], [value("y", None)])
    with pytest.raises(emplace.BadInput, match=error):
        emplace.onnx.load(path, dims=dims)


def test_sizes_may_be_0(tmp_path):
    """Such as that of a cache before the first token."""
    path = saved(tmp_path, [helper.make_node("Concat", ["cache", "x"], ["all"], axis=0), helper.make_node("NonZero", ["all"], ["y"])],
                 [value("cache", ["past", 4]), value("x", [2, 4])], [value("all", ["past + 2", 4]), value("y", None, TensorProto.INT64)])
    with pytest.warns(UserWarning, match="the shape of 1 of the tensors comes from a run"):
        ops = by_name(emplace.onnx.load(path, dims={"past": 0}))
    assert ops["cache"]["outputs"] == [{"bytes": 0, "shape": [0, 4], "dtype": "f32"}]
    assert ops["Concat_0"]["outputs"][0]["shape"] == [2, 4] and ops["NonZero_1"]["outputs"][0]["shape"] == [2, 8]


def test_sizes_that_the_file_has_of_results_give_way_to_dims(tmp_path):
    path = saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [value("x", ["b", 8])], [value("y", [1, 8])])
    assert by_name(emplace.onnx.load(path, dims={"b": 4}))["Relu_0"]["outputs"] == [{"bytes": 4 * 8 * 4, "shape": [4, 8], "dtype": "f32"}]
    # An input may be an output, too.
    path = saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [value("x", ["b", 8])], [value("y", [1, 8]), value("x", [1, 8])])
    assert by_name(emplace.onnx.load(path, dims={"b": 4}))["x"]["outputs"][0]["shape"] == [4, 8]


def test_sizes_that_only_the_file_knows_stay(tmp_path):
    nodes = [helper.make_node("Mystery", ["x"], ["h"], domain="mine"), helper.make_node("Mystery", ["h"], ["y"], domain="mine")]
    path = saved(tmp_path, nodes, [value("x", ["b", 8])], [value("y", ["b", 5])])
    model = onnx.load(path)
    model.graph.value_info.append(value("h", [1, 6]))
    onnx.save(model, path)
    with pytest.warns(UserWarning, match="the shape of 2 of the tensors is the one that the file has, .*: h, y .*cannot run the model"):
        ops = by_name(emplace.onnx.load(path, dims={"b": 4}))
    assert [ops[name]["outputs"][0]["shape"] for name in ("Mystery_0", "Mystery_1")] == [[1, 6], [4, 5]]


def with_constants(model):
    """The model with its initializers as nodes Constant."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.initializer[:], changed.graph.node[:], changed.graph.input[:]
    weights = {tensor.name for tensor in model.graph.initializer}
    changed.graph.input.extend(value for value in model.graph.input if value.name not in weights)
    changed.graph.node.extend(helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in model.graph.initializer)
    changed.graph.node.extend(model.graph.node)
    return changed


def of_compute(graph):
    return [{key: value for key, value in op.items() if key not in ("attrs", "name")} for op in graph.ops if op["type"].startswith("onnx.")]


def test_weights_are_counted_once_wherever_they_are(tmp_path):
    weights = [("w", [3, 5]), ("b", [5])]
    path = saved(tmp_path, [helper.make_node("Gemm", ["x", "w", "b"], ["y"])], [value("x", [4, 3])], [value("y", [4, 5])], weights)
    onnx.save(with_constants(onnx.load(path)), tmp_path / "constants.onnx")
    for file in ("m.onnx", "constants.onnx"):
        graph = emplace.onnx.load(tmp_path / file)
        ops = {op["name"]: op for op in graph.ops}
        assert graph.param_bytes.sum() == sum(4 * np.prod(shape) for _, shape in weights)
        for name, shape in weights:
            assert ops[name]["type"] == "emplace.parameter" and ops[name]["cost_us"] == 0
            assert ops[name]["outputs"] == [{"bytes": 4 * np.prod(shape), "shape": shape, "dtype": "f32", "resident": True}]
    assert of_compute(emplace.onnx.load(path)) == of_compute(emplace.onnx.load(tmp_path / "constants.onnx"))


@told_of_dropout
@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_weights_of_light_models_have_their_bytes(path):
    model = onnx.load(path)
    tensors = [*model.graph.initializer, *(node.attribute[0].t for node in model.graph.node if node.op_type == "Constant")]
    expected = sum(int(np.prod(tensor.dims)) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize for tensor in tensors)
    assert emplace.onnx.load(path).param_bytes.sum() == expected > 0


@pytest.mark.parametrize("attributes, held", [
    ({"value_int": 3}, 8), ({"value_ints": [3, 4]}, 16), ({"value_float": 1.0}, 4), ({"value_floats": [1.0, 2.0, 3.0]}, 12),
])
def test_constants_of_numbers(attributes, held, tmp_path):
    path = saved(tmp_path, [helper.make_node("Constant", [], ["c"], **attributes), helper.make_node("Identity", ["x"], ["y"])],
                 [value("x", [2])], [value("y", [2])])
    assert {op["name"]: op for op in emplace.onnx.load(path).ops}["c"]["param_bytes"] == held


def of_elements(folder, element):
    """A weight of 1001 elements of a type that no node reads."""
    weight = TensorProto(name="w", data_type=element, dims=[1001], data_location=TensorProto.EXTERNAL)
    return by_name(emplace.onnx.load(saved(folder, [helper.make_node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])],
                                           constants=[weight])))["w"]


@pytest.mark.parametrize("name, held", [
    ("DOUBLE", 8008), ("BFLOAT16", 2002), ("FLOAT8E8M0", 1001), ("FLOAT8E4M3FN", 1001), ("FLOAT6E2M3", 751), ("FLOAT6E3M2", 751),
    ("FLOAT4E2M1", 501), ("INT4", 501), ("UINT4", 501), ("INT2", 251), ("UINT2", 251),
])
def test_bytes_of_element_types(name, held, tmp_path):
    """Elements of less than a byte are packed, and the last byte may not be full."""
    if not hasattr(TensorProto, name):
        pytest.skip(f"this onnx has no {name}")
    assert of_elements(tmp_path, TensorProto.DataType.Value(name))["param_bytes"] == held


@pytest.mark.parametrize("element, told", [(TensorProto.STRING, "STRING"), (99, "99")])
def test_elements_of_unknown_size_are_told(element, told, tmp_path):
    with pytest.warns(UserWarning, match=rf"element is not known for 1 of the tensors, and they count as empty: w \({told}\)$"):
        assert of_elements(tmp_path, element).get("param_bytes", 0) == 0


def test_weights_of_bodies_are_their_nodes(tmp_path):
    def body(name):
        weight = helper.make_tensor(f"w_{name}", TensorProto.FLOAT, [6], [0.0] * 6)
        nodes = [helper.make_node("Constant", [], [f"c_{name}"], value=helper.make_tensor("c", TensorProto.FLOAT, [1], [0.0])),
                 helper.make_node("Add", [f"w_{name}", f"c_{name}"], [f"t_{name}"])]
        return helper.make_graph(nodes, name, [], [value(f"t_{name}", [6])], [weight])

    path = saved(tmp_path, [helper.make_node("If", ["c"], ["y"], then_branch=body("then"), else_branch=body("else"))],
                 [value("c", [], TensorProto.BOOL)], [value("y", [6])])
    assert {op["name"]: op for op in emplace.onnx.load(path).ops}["If_0"]["param_bytes"] == 2 * (6 + 1) * 4


def test_bad_files(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(emplace.BadInput, match="m.onnx: is no valid ONNX model"):
        emplace.onnx.load(tmp_path / "m.onnx")
    with pytest.raises(emplace.BadInput, match="no.onnx"):
        emplace.onnx.load(tmp_path / "no.onnx")
