"""emplace.onnx.annotations"""
import emplace
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_models import random_model, random_plan


def test_a_gpu_has_a_number_of_ascii_digits(tmp_path):
    path = random_model(tmp_path, 10, 3)
    machine = emplace.Machine([emplace.Device("cuda:²", "v100", 1e10)], bandwidth_bytes_per_us=10)
    assert emplace.onnx.annotate(path, random_plan(path, machine, 3), tmp_path / "a.onnx") == "cuda(=cuda:²)"


def test_annotations_read_back(tmp_path):
    path = random_model(tmp_path, 10, 3)
    machine = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e10), emplace.Device("cuda:1", "v100", 1e10)], bandwidth_bytes_per_us=10)
    plan = random_plan(path, machine, 3)
    assert emplace.onnx.annotate(path, plan, tmp_path / "a.onnx") == "cpu(=cpu:0);gpu:1(=cuda:1)"
    assert emplace.onnx.annotate(tmp_path / "a.onnx", plan, tmp_path / "b.onnx", {"cuda:1": "cuda"}) == "cpu(=cpu:0);cuda(=cuda:1)"
    device_of = {op["attrs"]["node"]: device for op, device in zip(plan.graph.ops, plan.devices, strict=True) if "node" in op["attrs"]}
    for name in ("a.onnx", "b.onnx"):
        assert emplace.onnx.read_annotations(tmp_path / name) == [device_of[index] for index in range(len(device_of))]
    assert set(emplace.onnx.read_annotations(path)) == {None}
    # ONNX Runtime takes the model with its setting; what it computes stays the same.
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.layer_assignment_settings", "cpu(=cpu:0)")
    feeds = {"x": np.ones((4, 4), dtype=np.float32)}
    annotated = onnxruntime.InferenceSession(tmp_path / "a.onnx", options, providers=["CPUExecutionProvider"]).run(None, feeds)
    plain = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)
    np.testing.assert_allclose(annotated[0], plain[0], rtol=1e-6)


def test_affinities_name_the_device_of_each_tensor(tmp_path, gpus):
    path = random_model(tmp_path, 10, 4)
    plan = random_plan(path, gpus, 4)
    found = emplace.onnx.affinities(path, plan, {"gpu:2": "NPU"})
    names = {"gpu:0": "GPU.0", "gpu:1": "GPU.1", "gpu:2": "NPU"}
    model = onnx.load(path)
    for node, device in zip(model.graph.node, emplace.onnx.device_of_nodes(model, plan, path), strict=True):
        assert all(found[output] == names[device] for output in node.output)


def test_wrong_input_is_one_line(tmp_path, gpus):
    path = random_model(tmp_path, 6, 1)
    (tmp_path / "other").mkdir()
    with pytest.raises(emplace.BadInput, match="expected the model of which"):
        emplace.onnx.annotate(random_model(tmp_path / "other", 9, 2), random_plan(path, gpus, 1), tmp_path / "a.onnx")
    assert not (tmp_path / "a.onnx").exists()
