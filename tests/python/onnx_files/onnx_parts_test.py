"""emplace.onnx.parts"""
import emplace
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import random_model, random_plan


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_compute_what_the_whole_does(tmp_path, gpus, seed):
    path = random_model(tmp_path, 4 + 5 * seed, seed)
    plan = random_plan(path, gpus, seed)
    parts = emplace.onnx.split(path, plan, tmp_path / "parts")
    for part in parts:
        onnx.checker.check_model(tmp_path / "parts" / part["file"], full_check=True)
    # Each node is in the part of its device, or nobody reads what it makes.
    model = onnx.load(path)
    device_of = dict(zip((tuple(node.output) for node in model.graph.node), emplace.onnx.device_of_nodes(model, plan, path), strict=True))
    in_parts = [(tuple(node.output), part["device"]) for part in parts for node in onnx.load(tmp_path / "parts" / part["file"]).graph.node
                if node.op_type != "Constant"]  # Each part that reads one has it.
    assert len(in_parts) == len(set(in_parts)) and all(device_of[output] == device for output, device in in_parts)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    feeds = {"x": np.random.default_rng(seed).standard_normal((4, 4)).astype(np.float32)}
    whole = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    cpu = {device.name: ["CPUExecutionProvider"] for device in gpus.devices}
    for expected, found in zip(whole, emplace.onnx.PartsSession(tmp_path / "parts", cpu, options).run(None, feeds), strict=True):
        np.testing.assert_array_equal(found, expected)


def constant(name, held):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(held), name))


def split_and_run(folder, machine, nodes, on_second, outputs, initializers=()):
    """Splits a model of x [1, 3, 8, 8] with outputs of these shapes; nodes with an output in on_second are on the second device.

    Compares what the parts compute with what the whole does, and returns the parts.
    """
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
                              initializers)
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    loaded = emplace.onnx.load(path)
    places = {index: int(not on_second.isdisjoint(node.output)) for index, node in enumerate(nodes)}
    plan = emplace.Plan.of(loaded, machine, [places.get(op["attrs"].get("node"), 0) for op in loaded.ops])
    parts = emplace.onnx.split(path, plan, folder / "parts")
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    whole = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    cpu = {device.name: ["CPUExecutionProvider"] for device in machine.devices}
    for expected, found in zip(whole, emplace.onnx.PartsSession(folder / "parts", cpu).run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, expected)
    return parts


def test_constants_are_in_the_parts_that_read_them(tmp_path, gpus):
    """Slice, Concat and Resize need their constants when they are loaded."""
    nodes = [constant("s0", [0]), constant("s2", [2]), constant("hw", [16, 16]), helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Shape", ["r"], ["sh"]), helper.make_node("Slice", ["sh", "s0", "s2"], ["nc"]),
             helper.make_node("Concat", ["nc", "hw"], ["sz"], axis=0),
             helper.make_node("Resize", ["r", "", "", "sz"], ["y"], mode="nearest")]
    parts = split_and_run(tmp_path, gpus, nodes, {"r", "sh", "nc", "sz", "y"}, {"y": [1, 3, 16, 16]})
    assert [(part["device"], part["inputs"], part["outputs"]) for part in parts] == [("gpu:1", ["x"], ["y"])]


def test_what_follows_from_weights_alone_is_in_the_parts_that_read_it(tmp_path, gpus):
    """A shape is an initializer that goes through Identity and Concat, and one of the constants is an output, too."""
    nodes = [helper.make_node("Identity", ["given"], ["same"]), constant("last", [64]),
             helper.make_node("Concat", ["same", "last"], ["shape"], axis=0),
             helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "shape"], ["y"]),
             helper.make_node("Cast", ["shape"], ["told"], to=TensorProto.FLOAT), helper.make_node("Reshape", ["y", "shape"], ["z"])]
    parts = split_and_run(tmp_path, gpus, nodes, {"y", "told"}, {"y": [3, 64], "told": [2], "z": [3, 64]},
                          [numpy_helper.from_array(np.array([3]), "given")])
    assert [(part["device"], part["inputs"], part["outputs"]) for part in parts] == [
        ("gpu:0", ["x"], ["r"]), ("gpu:1", [], ["told"]), ("gpu:1", ["r"], ["y"]), ("gpu:0", ["y"], ["z"])]


def test_random_numbers_are_drawn_once(tmp_path, gpus):
    """The numbers that both devices add are the same, so that the difference is 0."""
    nodes = [helper.make_node("RandomNormalLike", ["w"], ["n"]), helper.make_node("Add", ["x", "n"], ["a"]),
             helper.make_node("Add", ["x", "n"], ["b"]), helper.make_node("Sub", ["a", "b"], ["y"])]
    split_and_run(tmp_path, gpus, nodes, {"b"}, {"y": [1, 3, 8, 8]}, [numpy_helper.from_array(np.zeros((8,), np.float32), "w")])


@pytest.mark.parametrize("level", ["ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"])
def test_models_that_onnx_runtime_has_optimized(level, tmp_path, gpus):
    """onnx knows no type of what operators of com.microsoft make; the plan's graph does, and the parts take any batch."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (8, 3, 3, 3)), ("v", (8, 16)))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Transpose", ["v"], ["vt"], perm=[1, 0]), helper.make_node("Transpose", ["f"], ["ft"], perm=[1, 0]),
             helper.make_node("MatMul", ["vt", "ft"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, "batch"])], weights)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "plain.onnx")
    path = tmp_path / "m.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4  # It warns that the file may not suit other processors.
    session = onnxruntime.InferenceSession(tmp_path / "plain.onnx", options, providers=["CPUExecutionProvider"])
    assert any(node.domain.startswith("com.microsoft") for node in onnx.load(path).graph.node)
    with pytest.warns(UserWarning, match="comes from a run of ONNX Runtime"):
        loaded = emplace.onnx.load(path, dims={"batch": 2})
    plan = emplace.Plan.of(loaded, gpus, [index % 3 for index in range(len(loaded))])
    assert len(emplace.onnx.split(path, plan, tmp_path / "parts")) > 2
    cpu = {device.name: ["CPUExecutionProvider"] for device in gpus.devices}
    parts = emplace.onnx.PartsSession(tmp_path / "parts", cpu)
    for batch in (2, 5):
        x = rng.standard_normal((batch, 3, 8, 8)).astype(np.float32)
        np.testing.assert_allclose(parts.run(None, {"x": x})[0], session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_weights_are_read_part_by_part(tmp_path, gpus, monkeypatch):
    """Models of more than 2 GB have their weights in other files, and nothing may serialize all of them at once."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["h"]), helper.make_node("MatMul", ["h", "w1"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])],
                              [numpy_helper.from_array(weight, f"w{index}") for index, weight in enumerate(weights)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    loaded = emplace.onnx.load(tmp_path / "m.onnx")
    plan = emplace.Plan.of(loaded, gpus, [int(name in ("w1", "MatMul_1")) for name in loaded.op_names])
    infer_shapes = onnx.shape_inference.infer_shapes

    def infer_shapes_of_little(given, **options):
        assert given.ByteSize() < weights[0].nbytes
        return infer_shapes(given, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", infer_shapes_of_little)
    assert [part["device"] for part in emplace.onnx.split(tmp_path / "m.onnx", plan, tmp_path / "parts")] == ["gpu:0", "gpu:1"]
    x = rng.standard_normal((2, 64)).astype(np.float32)
    cpu = {device.name: ["CPUExecutionProvider"] for device in gpus.devices}
    found, = emplace.onnx.PartsSession(tmp_path / "parts", cpu).run(None, {"x": x})
    np.testing.assert_allclose(found, x @ weights[0] @ weights[1], rtol=1e-4, atol=1e-4)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(emplace.BadInput, match="m.onnx: .*weights.bin"):
        emplace.onnx.split(tmp_path / "m.onnx", plan, tmp_path / "again")


def test_a_chain_has_a_part_for_each_change_of_device(tmp_path, gpus):
    nodes = [helper.make_node("Relu", [f"t{index}" if index else "x"], [f"t{index + 1}"]) for index in range(6)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("t6", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    loaded = emplace.onnx.load(tmp_path / "m.onnx")
    device_of = {"x": 0} | {f"Relu_{index}": device for index, device in enumerate([0, 0, 2, 2, 2, 1])}
    plan = emplace.Plan.of(loaded, gpus, [device_of[name] for name in loaded.op_names])
    parts = emplace.onnx.split(tmp_path / "m.onnx", plan, tmp_path / "parts")
    assert [(part["device"], part["inputs"], part["outputs"]) for part in parts] == [
        ("gpu:0", ["x"], ["t2"]), ("gpu:2", ["t2"], ["t5"]), ("gpu:1", ["t5"], ["t6"])]


def test_wrong_input_is_one_line(tmp_path, gpus, ptb, machine, monkeypatch):
    path = random_model(tmp_path, 6, 1)
    plan = random_plan(path, gpus, 1)
    with pytest.raises(emplace.BadInput, match="expected the model of which"):
        emplace.onnx.split(path, emplace.Plan.of(ptb, machine, np.zeros(len(ptb), dtype=int)), tmp_path / "parts")
    with monkeypatch.context() as patch:
        patch.setattr(emplace.onnx.parts, "_MOST_BYTES", 10)
        with pytest.raises(emplace.BadInput, match="m.onnx: the weights of a part on gpu:. have more bytes"):
            emplace.onnx.split(path, plan, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(emplace.BadInput, match="empty.onnx: is no valid ONNX model: it has no graph"):
        emplace.onnx.load(tmp_path / "empty.onnx")
    with pytest.raises(emplace.BadInput, match=r"parts.json: cannot be read"):
        emplace.onnx.PartsSession(tmp_path)
