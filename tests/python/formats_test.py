"""emplace.formats"""
import json

import emplace
import numpy as np
import pytest

PARTITIONING = {
    "maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1,
    "nodes": [{"id": 3, "supportedOnFpga": 1, "cpuLatency": 2.5, "fpgaLatency": 0.5, "isBackwardNode": 0, "size": 10, "colorClass": 7},
              {"id": 5, "supportedOnFpga": False, "cpuLatency": 1, "fpgaLatency": 9, "isBackwardNode": 1, "size": 0, "name": "relu"},
              {"id": 9, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": 0, "size": 1}],
    "edges": [{"sourceId": 3, "destId": 5, "cost": 0.25}, {"sourceId": 3, "destId": 9, "cost": 0.25}, {"sourceId": 3, "destId": 5, "cost": 0.25}],
}
PIPEDREAM = """\
node1 -- Input0 -- forward_compute_time=9.000, backward_compute_time=9.000, activation_size=77.0, parameter_size=0.000
node2 -- LSTM(2, 3) -- forward_compute_time=2.000, backward_compute_time=4.500, activation_size=[60.0; 20.0; 20.0], parameter_size=50.000
node3 -- Add -- forward_compute_time=1.000, backward_compute_time=0.500, activation_size=8.0, parameter_size=0.000
\tnode1 -- node2
\tnode2 -- node3
"""


def by_name(graph):
    return {op["name"]: op for op in graph.ops}


def test_partitioning(tmp_path):
    (tmp_path / "w.json").write_text(json.dumps(PARTITIONING))
    graph = emplace.formats.load_partitioning(tmp_path / "w.json", bandwidth_bytes_per_us=4, accelerator="k80")
    ops = by_name(graph)
    # 0.25 ms at 4 bytes/us are 1,000 bytes.
    assert ops["3"]["cost_us"] == {"cpu": 2500, "k80": 500} and ops["3"]["outputs"] == [{"bytes": 1000}]
    assert ops["3"]["param_bytes"] == 10 and ops["3"]["group"] == "color 7" and ops["5"]["attrs"] == {"name": "relu", "pass": "backward"}
    assert ops["5"]["cost_us"] == {"cpu": 1000} and ops["5"]["inputs"] == ["3:0"] and ops["9"]["inputs"] == ["3:0"]
    np.testing.assert_array_equal(graph.edges(), [[0, 1], [0, 2]])


@pytest.mark.parametrize("change, error", [
    ({"nodes": 3}, "no lists 'nodes' and 'edges'"),
    ({"nodes": [{"id": 1}]}, "node 0 has no 'cpuLatency'"),
    ({"nodes": PARTITIONING["nodes"] + PARTITIONING["nodes"][:1]}, "id 3 is used twice"),
    ({"nodes": [PARTITIONING["nodes"][0] | {"cpuLatency": -1}]}, "node 0: cpuLatency is -1"),
    ({"edges": [{"sourceId": 3, "destId": 4}]}, "edge 0: destId is 4, expected the id of a node"),
    ({"edges": [5]}, "edge 0: sourceId is 5"),
    ({"edges": [{"sourceId": [3], "destId": 5}]}, r"edge 0: sourceId is \[3\]"),
    ({"edges": [{"sourceId": 3, "destId": 5, "cost": 1.7e308}]}, "edge 0: cost in bytes is Infinity, expected a finite number"),
    ({"nodes": [PARTITIONING["nodes"][0] | {"id": [3]}]}, r"node 0: id is \[3\], expected a number or a text"),
])
def test_bad_partitioning(change, error, tmp_path):
    (tmp_path / "w.json").write_text(json.dumps(PARTITIONING | change))
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_partitioning(tmp_path / "w.json", bandwidth_bytes_per_us=10)


def test_text_that_is_no_json(tmp_path):
    (tmp_path / "w.json").write_text("{\n 3")
    with pytest.raises(emplace.BadInput, match=r"w\.json:2:2: is no JSON"):
        emplace.formats.load_partitioning(tmp_path / "w.json", bandwidth_bytes_per_us=1)


@pytest.mark.parametrize("text, place", [
    ('{"nodes": [], "edges": [],\n "nodes": []}', r'2:2: key "nodes"'),
    ('{"edges": [{"a\\"}{": 1, "b": {"b": "b"}, "a\\"}{" : 2}]}', r'1:42: key "a\"}{"'),
    ('{"\\u0061": 1, "a": 2}', '1:15: key "a"'),
])
def test_a_key_that_is_given_twice(text, place, tmp_path):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(emplace.BadInput) as raised:
        emplace.formats.load_partitioning(tmp_path / "w.json", bandwidth_bytes_per_us=1)
    assert str(raised.value).endswith(f"w.json:{place} is given twice, expected once")


@pytest.mark.parametrize("data, error", [
    (b"", "1:1: is no JSON"), (b"\xff{}", "byte 0 is no text in UTF-8"), (b"[" * 100_000, "nested too deeply"),
    (b"1" * 10_000, "a whole number of thousands of digits"), (b"{} {}", "holds 2 JSON values"), (b"\x1f\x8b\x08", "cannot be read"), (b"NaN", "holds NaN, expected an object"),
])
def test_damaged_json(data, error, tmp_path):
    (tmp_path / "w.json").write_bytes(data)
    with pytest.raises(emplace.BadInput, match=error) as raised:
        emplace.formats.load_partitioning(tmp_path / "w.json", bandwidth_bytes_per_us=1)
    assert "\n" not in str(raised.value)


def test_pipedream(tmp_path):
    (tmp_path / "graph.txt").write_text(PIPEDREAM)
    ops = by_name(emplace.formats.load_pipedream(tmp_path / "graph.txt"))
    assert set(ops) == {"node1", "node2", "node3", "node2/backward", "node3/backward"}
    assert ops["node1"]["cost_us"] == 0 and ops["node1"]["outputs"] == [{"bytes": 0}]
    assert ops["node2"]["cost_us"] == 2000 and ops["node2"]["outputs"] == [{"bytes": 100}] and ops["node2"]["param_bytes"] == 50
    assert ops["node2"]["type"] == "LSTM" and ops["node2"]["attrs"] == {"name": "LSTM(2, 3)"}
    # The gradient of node2's 100 bytes comes from node3's backward op; node2 has none to make for an input.
    assert ops["node3/backward"]["outputs"] == [{"bytes": 100}] and ops["node2/backward"]["outputs"] == [{"bytes": 0}]
    assert ops["node2/backward"]["inputs"] == ["node2:0", "node3/backward:0"] and ops["node2/backward"]["cost_us"] == 4500
    assert ops["node2"]["group"] == ops["node2/backward"]["group"]
    forward = emplace.formats.load_pipedream(tmp_path / "graph.txt", train=False, kind="v100")
    assert forward.op_names == ["node1", "node2", "node3"] and forward.ops[1]["cost_us"] == {"v100": 2000}


@pytest.mark.parametrize("text, error", [
    ("", "has no nodes"),
    ("what\n", "graph.txt:1: is 'what', expected a node"),
    (PIPEDREAM.splitlines()[1] + "\n" + PIPEDREAM, "graph.txt:3: node 'node2' is there twice, expected each once"),
    (PIPEDREAM + "\tnode1 -- node8\n", "no node 'node8'"),
    (PIPEDREAM.replace("time=2.000", "time=two"), 'graph.txt:2: forward is "two", expected a finite number'),
    (PIPEDREAM.replace("20.0; 20.0]", "x]"), "graph.txt:2: activation_size is"),
    (PIPEDREAM.replace("20.0; 20.0]", "1e308; 1e308]"), "graph.txt:2: activation_size is Infinity, expected a finite number"),
    (PIPEDREAM + "\tnode3 -- node2\n", "cycle"),
])
def test_bad_pipedream(text, error, tmp_path):
    (tmp_path / "graph.txt").write_text(text)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_pipedream(tmp_path / "graph.txt")
