"""emplace.Graph and the generators."""
import json
import pickle
import subprocess
import sys

import emplace
import numpy as np
import pytest
from emplace import shipped


def test_fields_of_ops_in_arrays(diamond):
    assert diamond.num_ops == len(diamond) == 4 and diamond.op_names == ["a", "b", "c", "d"]
    assert diamond.op_types == ["aten.mm", "", "", ""]
    np.testing.assert_array_equal(diamond.cost_us("x"), [10, 20, 30, 5])
    np.testing.assert_array_equal(diamond.cost_us("y"), [10, 20, np.nan, 5])
    np.testing.assert_array_equal(diamond.output_bytes, [100, 200, 300, 1])
    np.testing.assert_array_equal(diamond.param_bytes, [0, 0, 7, 0])
    assert diamond.parameter_bytes == 7
    np.testing.assert_array_equal(diamond.flops, [0, 0, 0, 9])
    np.testing.assert_array_equal(diamond.copy_of, [-1] * 4)
    np.testing.assert_array_equal(diamond.edges(), [[0, 1], [0, 2], [1, 3], [2, 3]])
    np.testing.assert_array_equal(diamond.topological_order, [0, 1, 2, 3])
    assert diamond.ops[2]["cost_us"] == {"x": 30}


def test_ops_may_hold_numbers_of_numpy_and_nothing_else(machine):
    graph = emplace.Graph.from_ops("g", [{"name": "a", "cost_us": np.float32(3), "outputs": [{"bytes": np.int64(8)}]}])
    assert graph.cost_us("x")[0] == 3 and graph.output_bytes[0] == 8
    with pytest.raises(emplace.BadInput, match="ops hold a set, expected"):
        emplace.Graph.from_ops("g", [{"name": "a", "cost_us": {3}}])
    circular, deep = {}, []
    circular["again"] = circular
    for _ in range(100000):
        deep = [deep]
    for attrs in (circular, {"a": deep}, {(1, 2): 3}):
        with pytest.raises(emplace.BadInput, match="op 0 is no JSON: "):
            emplace.Graph.from_ops("g", [{"name": "a", "cost_us": 1, "attrs": attrs}])


def test_a_graph_without_ops_takes_no_time(machine):
    plan = emplace.Plan.of(emplace.Graph.from_ops("none", []), machine, np.zeros(0, dtype=np.int32))
    assert plan.makespan_us == plan.lower_bound_us == 0


@pytest.mark.parametrize("name", ["g.graph.json", "g.graph.json.zst"])
def test_saved_graphs_read_back_equal(ptb, tmp_path, name):
    ptb.save(tmp_path / name)
    again = emplace.Graph.load(tmp_path / name)
    assert again == ptb and hash(again) == hash(ptb)
    assert pickle.loads(pickle.dumps(ptb)) == ptb
    assert emplace.Graph.from_json(ptb.to_json()) == ptb
    assert emplace.Graph.from_ops(ptb.name, ptb.ops) == ptb
    assert ptb != "ptb" and ptb != emplace.generate("ptb", size="small", seed=2)[0]


def test_an_array_outlives_its_graph():
    costs = emplace.Graph.from_ops("g", [{"name": "a", "cost_us": 3}]).cost_us("x")
    np.testing.assert_array_equal(costs, [3])


@pytest.mark.parametrize("ops, error", [
    ([{"name": "a", "cost_us": -1}], r"g: op 'a': cost_us is -1, expected"),
    ([{"name": "a", "cost_us": 1, "inputs": ["b:0"]}], r"g: op 'a': input 'b:0': there is no op 'b'"),
    ([{"name": "a", "cost_us": 1, "colour": 1}], r"unknown key 'colour'"),
    ([{"name": "a", "cost_us": 1, "call": 5}], r"call is 5, expected an object"),
    ([{"name": "a", "cost_us": 1}, {"name": "b", "cost_us": float("nan")}], r"op 1 is no JSON: Out of range float"),
    ([{"name": "a", "cost_us": 1, "attrs": {"x": float("inf")}}], r"op 0 is no JSON: Out of range float"),
    ([{"cost_us": 1}], r"name"),
])
def test_bad_ops_are_named(ops, error):
    with pytest.raises(emplace.BadInput, match=error) as raised:
        emplace.Graph.from_ops("g", ops)
    assert "\n" not in str(raised.value) and isinstance(raised.value, ValueError)


def test_a_missing_file_is_bad_input(tmp_path):
    with pytest.raises(emplace.BadInput, match="nothing.graph.json"):
        emplace.Graph.load(tmp_path / "nothing.graph.json")


def test_a_file_that_is_no_text_is_bad_input(tmp_path):
    (tmp_path / "g.graph.json").write_bytes(b"\xff\xfe\x00g")
    with pytest.raises(emplace.BadInput, match="g.graph.json"):
        emplace.Graph.load(tmp_path / "g.graph.json")


def test_families_generate_what_the_command_generates(tmp_path):
    import subprocess
    assert {"ptb", "cifar10", "nmt"} <= set(emplace.families())
    graphs = emplace.generate("ptb", 2, seed=5, size="small", microbatches=2, ranges={"steps": (3, 3)})
    subprocess.run([shipped.program(), "generate", "ptb", "--count", "2", "--seed", "5", "--size", "small", "--microbatches", "2",
                    "--range", "steps=3..3", "--out", tmp_path], check=True, capture_output=True)
    assert [emplace.Graph.load(tmp_path / f"{graph.name}.graph.json") for graph in graphs] == graphs
    assert (graphs[0].copy_of >= 0).any()


def test_generate_says_what_it_knows():
    with pytest.raises(emplace.BadInput, match="nobody.*ptb"):
        emplace.generate("nobody")


def test_call_survives(tmp_path):
    call = {"op": "aten.relu.default", "args": [{"in": 0}], "kwargs": {}}
    graph = emplace.Graph.from_ops("g", [{"name": "a", "cost_us": 1, "outputs": [{"bytes": 4}]},
                                         {"name": "b", "cost_us": 1, "inputs": ["a:0"], "call": call}])
    graph.save(tmp_path / "g.graph.json")
    assert json.loads((tmp_path / "g.graph.json").read_text())["ops"][1]["call"] == call


@pytest.mark.parametrize("ends", [3, "3", (1, 2, 3)])
def test_ranges_have_two_ends(ends):
    with pytest.raises(emplace.BadInput, match="ranges: 'steps' is .*, expected its two ends"):
        emplace.generate("ptb", ranges={"steps": ends})


@pytest.mark.parametrize("keep", [
    "threading.Thread(target=lambda graph: time.sleep(1000), args=(graph,), daemon=True).start()",  # Runs as the interpreter ends.
    "ctypes.pythonapi.Py_IncRef(ctypes.py_object(graph))",  # As libraries do that lose a reference.
])
def test_graphs_that_outlive_the_interpreter_print_nothing(keep):
    done = subprocess.run([sys.executable, "-c", f"import ctypes, emplace, threading, time\ngraph = emplace.generate('ptb')[0]\n{keep}"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
