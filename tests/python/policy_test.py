"""Trained policies in Python, and as ONNX models."""
import json
import pickle
import struct

import emplace
import emplace.gym
import numpy as np
import onnx
import onnxruntime
import pytest
from command_test import emplace_command
from conftest import ROOT

TINY = emplace.Graph.from_ops("one", [{"name": "a", "cost_us": 3, "outputs": [{"bytes": 4}]}])


def layers(devices: int, memory: int, width: int) -> list[tuple[str, int, int]]:
    """(name, in, out) of each layer, as the paper of Placeto and docs/training.md describe the network."""
    features = 4 + devices + memory
    width = width or features
    found = [("self.0", features, features), ("self.1", features, features), ("self.2", features, width)]
    found += [(f"{direction}.{mlp}.{i}", width, width) for direction in ("forward", "backward") for mlp in "fg" for i in (0, 1)]
    found += [(f"{group}.{mlp}.{i}", 2 * width, 2 * width) for group in ("ancestors", "descendants", "neither") for mlp in "FG" for i in (0, 1)]
    pooled = 8 * width
    return [*found, ("classifier.0", pooled, 2 * pooled), ("classifier.1", 2 * pooled, pooled), ("classifier.2", pooled, devices)]


def write_policy(path, devices=2, rounds=2, width=0, memory=0, pooling=1, seed=1):
    """A policy.safetensors with random weights."""
    rng = np.random.default_rng(seed)
    header: dict = {"__metadata__": {"format": "emplace.policy/1", "version": "7", "kind": "placeto", "shape.num_devices": str(devices),
                                     "shape.memory_feature": str(memory), "shape.message_rounds": str(rounds),
                                     "shape.message_width": str(width), "shape.pooling": str(pooling), "environment.start": "single"}}
    data = b""
    for name, inputs, outputs in layers(devices, memory, width):
        for part, shape in (("weight", [outputs, inputs]), ("bias", [outputs])):
            values = (rng.standard_normal(shape) / np.sqrt(inputs)).astype(np.float32).tobytes()
            header[f"{name}.{part}"] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
            data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path



def test_policies_can_be_pickled(tmp_path):
    write_policy(tmp_path / "p.safetensors")
    policy = emplace.Policy(tmp_path / "p.safetensors")
    again = pickle.loads(pickle.dumps(policy))
    assert (again.kind, again.version, again.metadata) == (policy.kind, policy.version, policy.metadata)
    again.save_onnx(tmp_path / "again.onnx")
    policy.save_onnx(tmp_path / "policy.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "policy.onnx").read_bytes()

def random_graph(ops: int, rng: np.random.Generator) -> emplace.Graph:
    """Each op reads up to three earlier ones; some ops run on kind x alone."""
    made = []
    for index in range(ops):
        inputs = [f"{producer}:0" for producer in np.unique(rng.integers(0, max(index, 1), rng.integers(0, 4))) if producer < index]
        cost = float(rng.integers(0, 50))
        made.append({"name": str(index), "cost_us": {"x": cost} if rng.random() < 0.2 else {"x": cost, "y": 2 * cost},
                     "inputs": inputs, "outputs": [{"bytes": int(rng.integers(0, 1000))}]})
    return emplace.Graph.from_ops("random", made)


def closure(edges: np.ndarray, groups: int) -> np.ndarray:
    """bool [n, n]: a path leads from i to j. Groups are in topological order."""
    reaches = np.zeros((groups, groups), dtype=bool)
    for parent, child in sorted(map(tuple, edges), reverse=True):
        reaches[parent, child] = True
        reaches[parent] |= reaches[child]
    return reaches


@pytest.mark.parametrize(("ops", "devices", "rounds", "width", "pooling"), [
    (1, 2, 2, 0, 1), (12, 2, 3, 0, 1), (30, 3, 8, 5, 1), (25, 2, 0, 4, 1), (20, 4, 2, 0, 0)])
def test_onnx_runtime_and_the_kernel_give_equal_logits(tmp_path, ops, devices, rounds, width, pooling):
    policy = emplace.Policy.load(write_policy(tmp_path / "p.safetensors", devices, rounds, width, pooling=pooling, seed=ops))
    policy.save_onnx(tmp_path / "p.onnx")
    onnx.checker.check_model(tmp_path / "p.onnx", full_check=True)
    assert {entry.key: entry.value for entry in onnx.load(tmp_path / "p.onnx").metadata_props}["version"] == "7"
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
    machine = emplace.Machine([emplace.Device(f"d{i}", "x" if i == 0 else "y", 1e9) for i in range(devices)], bandwidth_bytes_per_us=100)
    rng = np.random.default_rng(ops)
    # What the network reads is taken from the environment, which has it in another order.
    env = emplace.gym.PlacementEnv(random_graph(ops, rng), machine, max_groups=0)
    observation, info = env.reset(seed=3)
    groups = len(observation)
    reaches = closure(env.edges, groups)
    start, choices, found = observation[:, 4:].argmax(axis=1), [], []
    for step in range(groups):
        allowed = info["action_mask"].astype(bool)
        (logits,) = session.run(None, {
            "features": np.concatenate([observation[:, :2], observation[:, 4:], observation[:, 2:4]], axis=1),
            "edges": env.edges.astype(np.int64), "ancestors": reaches[:, step], "descendants": reaches[step], "allowed": allowed})
        found.append(logits)
        choices.append(rng.choice(np.flatnonzero(allowed)))
        observation, _, _, _, info = env.step(choices[-1])
    logits = policy.logits(env.graph, machine, start.astype(np.int32), np.array(choices, dtype=np.int32), max_groups=0)
    assert logits.shape == (groups, devices)
    np.testing.assert_allclose(np.stack(found), logits, atol=1e-5, rtol=1e-5)


def test_the_memory_feature_is_one_more(tmp_path):
    policy = emplace.Policy.load(write_policy(tmp_path / "p.safetensors", memory=1))
    policy.save_onnx(tmp_path / "p.onnx")
    machine = emplace.Machine.load(ROOT / "configs/clusters/k80x2.yaml")
    (logits,) = onnxruntime.InferenceSession(tmp_path / "p.onnx").run(None, {
        "features": np.array([[1, 1, 1, 0, 1, 0, 1]], dtype=np.float32), "edges": np.zeros((0, 2), dtype=np.int64),
        "ancestors": np.zeros(1, dtype=bool), "descendants": np.zeros(1, dtype=bool), "allowed": np.ones(2, dtype=bool)})
    expected = policy.logits(TINY, machine, np.array([1], dtype=np.int32), np.array([0], dtype=np.int32))
    np.testing.assert_allclose([logits], expected, atol=1e-5)


def test_a_policy_places(tmp_path, ptb, machine):
    path = write_policy(tmp_path / "p.safetensors")
    policy = emplace.Policy.load(path)
    assert (policy.kind, policy.num_devices, policy.version, policy.metadata["environment.start"]) == ("placeto", 2, 7, "single")
    plan = policy.place(ptb, machine, samples=5, seed=2)
    assert plan.makespan_us <= plan.single_device_us
    for given in (policy, path, str(path)):
        again = emplace.place(ptb, machine, method="policy", policy=given, samples=5, seed=2)
        np.testing.assert_array_equal(again.placement, plan.placement)
    row = emplace.evaluate(ptb, machine, ["policy"], policy=policy, samples=5, seeds=[2]).rows[0]
    assert row.placed_us == plan.makespan_us


def test_a_run_directory_is_its_best_policy(tmp_path, ptb, machine):
    run = tmp_path / "run"
    (run / "checkpoints/best").mkdir(parents=True)
    with pytest.raises(emplace.BadInput, match="run: holds no run"):
        emplace.Policy.load(run)
    (run / "config.yaml").write_text("name: x\n")
    with pytest.raises(emplace.BadInput, match="run: has no policy yet"):
        emplace.Policy.load(run)
    best = write_policy(run / "checkpoints/best/policy.safetensors", seed=5)
    np.testing.assert_array_equal(emplace.Policy.load(run).place(ptb, machine).placement,
                                  emplace.Policy.load(best).place(ptb, machine).placement)
    done = emplace_command("export", run, "--onnx", "p.onnx", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["policy"]["onnx"] == "p.onnx"
    emplace.Policy.load(best).save_onnx(tmp_path / "again.onnx")
    assert (tmp_path / "p.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()


def test_wrong_input_is_one_line(tmp_path, ptb, machine):
    with pytest.raises(emplace.BadInput, match=r"no.safetensors: cannot be read"):
        emplace.Policy.load(tmp_path / "no.safetensors")
    with pytest.raises(emplace.BadInput, match="path of the policy is empty"):
        emplace.Policy.load("")
    policy = emplace.Policy.load(write_policy(tmp_path / "p.safetensors", devices=3))
    with pytest.raises(emplace.BadInput, match="p.safetensors: the policy is for 3 devices, the machine has 2"):
        policy.place(ptb, machine)
    policy = emplace.Policy.load(write_policy(tmp_path / "p.safetensors"))
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(emplace.BadInput, match="start has 2 entries, expected 1 groups"):
        policy.logits(TINY, machine, np.zeros(2, dtype=np.int32), one)
    with pytest.raises(emplace.BadInput, match="choices puts group 0 on device 2"):
        policy.logits(TINY, machine, one, one + 2)
