"""emplace.place, plans and emplace.evaluate"""
import json
import math
import signal
import subprocess
import sys
import threading
import xml.dom.minidom

import emplace
import numpy as np
import pytest
from conftest import ROOT
from emplace.progress import SearchBar


@pytest.fixture(scope="module")
def plan(ptb, machine):
    return emplace.place(ptb, machine, budget=300)


def test_figures_are_the_simulators(plan, ptb, machine):
    again = emplace.simulate(ptb, machine, plan.placement, order=plan.order)
    assert plan.makespan_us == again.makespan_us and plan.feasible is True
    np.testing.assert_array_equal(plan.peak_bytes, again.peak_bytes)
    assert plan.lower_bound_us <= plan.makespan_us <= plan.single_device_us
    assert plan.method == "auto" and plan.found_by and 270 <= plan.evaluations <= 300  # What is kept for the end may not be needed.
    single = min(emplace.simulate(ptb, machine, np.full(len(ptb), device)).makespan_us for device in range(2))
    assert plan.single_device_us == single
    assert plan.devices == [machine.devices[device].name for device in plan.placement]


@pytest.mark.parametrize("method", ["auto", "multilevel", "local-search", "annealing", "scotch"])
def test_a_budget_gives_the_same_again(ptb, machine, method):
    placements = [emplace.place(ptb, machine, budget=100, method=method).placement for _ in range(2)]
    np.testing.assert_array_equal(*placements)


@pytest.mark.parametrize("method", [m for m in emplace.methods() if m not in ("policy", "optimal", "cpu")])
def test_every_method(ptb, machine, method):
    found = emplace.place(ptb, machine, budget=20, method=method)
    assert found.makespan_us <= found.single_device_us and found.method == method


@pytest.mark.parametrize("order", [None, "depth-first"])
def test_saved_plans_read_back(ptb, machine, tmp_path, order):
    plan = emplace.place(ptb, machine, budget=20, order=order)
    plan.save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["format"] == "emplace.placement/1"
    again = emplace.Plan.load(tmp_path / "p.json", ptb, machine)
    np.testing.assert_array_equal(again.placement, plan.placement)
    assert (again.makespan_us, again.order) == (plan.makespan_us, plan.order)
    assert (again.single_device_us, again.lower_bound_us) == (plan.single_device_us, plan.lower_bound_us)
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_a_plan_for_another_graph_is_refused(plan, diamond, pair, tmp_path):
    plan.save(tmp_path / "p.json")
    with pytest.raises(emplace.BadInput, match="p.json"):
        emplace.Plan.load(tmp_path / "p.json", diamond, pair)
    with pytest.raises(emplace.BadInput, match="no.json"):
        emplace.Plan.load(tmp_path / "no.json", diamond, pair)
    with pytest.raises(emplace.RunFailed, match="cannot be written"):
        plan.save(tmp_path / "no" / "p.json")


def test_pictures(plan, tmp_path):
    svg = plan.timeline_svg()
    drawn = xml.dom.minidom.parseString(svg)
    assert len(drawn.getElementsByTagName("rect")) > 10
    assert {"gpu:0", "gpu:1"} <= {text.firstChild.data.strip() for text in drawn.getElementsByTagName("text")}
    assert "<table>" in plan._repr_html_() and svg in plan._repr_html_()
    assert sum(row["ops"] for row in plan.table()) == len(plan.graph) and "gpu:1" in str(plan)
    plan.save_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


@pytest.mark.parametrize("arguments, error", [
    ({"method": "magic"}, "unknown method 'magic', expected one of: auto"),
    ({"seconds": 0}, "seconds is 0"),
    ({"budget": -3}, "budget is -3"),
    ({"objective": "beauty"}, "unknown objective"),
    ({"order": "sideways"}, "sideways"),
    ({"method": "policy", "policy": "none"}, "method 'policy' has no policy"),
    ({"policy": "no.safetensors"}, "no.safetensors"),
    ({"seconds": float("inf")}, "seconds is inf, expected a number above 0"),
    ({"threads": 0}, "threads is 0, expected a whole number of at least 1"),
    ({"method": "policy", "samples": -1}, "samples is '-1', expected 0..1000000"),
    ({"method": "heft", "samples": 3}, "option 'samples' is given to method heft, expected method auto or multilevel or policy"),
    ({"sample": 3}, "unknown option 'sample' of a method, did you mean 'samples'"),
    ({"seed": -1}, "seed is -1, expected a whole number of at least 0"),
    ({"seed": 2**64}, r"seed is 18446744073709551616, expected a whole number of at least 0 and below 2\^64"),
    ({"threads": 2**31}, r"threads is 2147483648, expected a whole number of at least 1 and below 2\^31"),
    ({"threads": 5000}, "threads is 5000, expected at most 1024"),
    ({"budget": 5.5}, "budget is 5.5, expected a whole number of at least 1"),
    ({"seed": None}, "seed is None, expected a whole number of at least 0"),
    ({"budget": True}, "budget is True, expected a whole number of at least 1"),
])
def test_bad_arguments(ptb, machine, arguments, error):
    with pytest.raises(emplace.BadInput, match=error):
        emplace.place(ptb, machine, **{"budget": 5} | arguments)


def test_limits_may_be_numbers_of_numpy_and_as_large_as_they_like(ptb, machine):
    found = emplace.place(ptb, machine, budget=np.int64(5), seed=np.uint64(2**64 - 1))
    assert found.placement.tolist() == emplace.place(ptb, machine, budget=5, seed=2**64 - 1).placement.tolist()
    assert emplace.place(ptb, machine, budget=2**63 - 1, seconds=0.01).feasible


def test_the_planner_that_comes_with_the_package_is_the_policy(ptb, machine):
    plan = emplace.place(ptb, machine, method="policy")
    assert plan.feasible and plan.makespan_us <= plan.single_device_us


def test_throughput_is_for_the_method_that_knows_it(ptb, machine):
    found = emplace.place(ptb, machine, objective="throughput", budget=200)
    assert found.method == "auto"
    assert found.max_load_us <= emplace.place(ptb, machine, objective="throughput", method="dp").max_load_us
    assert emplace.place(ptb, machine, budget=5).method == "auto"
    with pytest.raises(emplace.BadInput, match="expected auto or dp"):
        emplace.place(ptb, machine, objective="throughput", method="heft")


def test_options_of_single_methods():
    samples = emplace.method_options()["samples"]
    assert (samples.methods, samples.default, samples.expected) == (["auto", "multilevel", "policy"], "0", "0..1000000")
    assert "episodes" in samples.help
    assert "policy" in repr(samples)


def test_evaluate_by_objective_and_order(ptb, machine):
    for objective in ("latency", "throughput"):
        row, = emplace.evaluate(ptb, machine, ["dp"], objective=objective).rows
        plan = emplace.place(ptb, machine, method="dp", objective=objective)
        assert (row.placed_us, row.method) == (plan.makespan_us if objective == "latency" else plan.max_load_us, "dp")
    other, = emplace.evaluate(ptb, machine, ["random"], objective="throughput", budget=5).rows
    assert other.placed_us == emplace.place(ptb, machine, method="random", budget=5).max_load_us
    ordered, = emplace.evaluate(ptb, machine, ["expert"], order="rank").rows
    assert ordered.placed_us == emplace.place(ptb, machine, method="expert", order="rank").makespan_us
    with pytest.raises(emplace.BadInput, match="option 'samples' is given to method single"):
        emplace.evaluate(ptb, machine, ["single"], samples=2)


def test_what_cannot_fit(diamond):
    small = emplace.Machine([emplace.Device("x:0", "x", 50)], bandwidth_bytes_per_us=1)
    with pytest.raises(emplace.BadInput, match="op 'a' needs 100 bytes, expected at most 50 bytes"):
        emplace.place(diamond, small)
    other = emplace.Machine([emplace.Device("x:0", "x", 1e6), emplace.Device("z:0", "z", 1e6)], bandwidth_bytes_per_us=1)
    emplace.place(diamond, other, budget=5)
    only_z = emplace.Machine([emplace.Device("z:0", "z", 1e6)], bandwidth_bytes_per_us=1)
    with pytest.raises(emplace.Error):
        emplace.place(diamond, only_z, budget=5)


def interrupt_soon():
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()


@pytest.mark.parametrize("method", ["auto", "random", "annealing"])
def test_ctrl_c_ends_a_search(ptb, machine, method):
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        emplace.place(ptb, machine, seconds=600, method=method)


def test_ctrl_c_ends_an_evaluation(ptb, machine):
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):  # By itself it would take days.
        emplace.evaluate(ptb, machine, ["auto", "random", "annealing"], budget=10**9, jobs=2)


def test_a_plan_has_a_placement_of_its_own(ptb, machine):
    placement = np.zeros(len(ptb), dtype=np.int32)
    plan = emplace.Plan.of(ptb, machine, placement)
    placement[1] = 1
    assert not plan.placement.any()


def test_an_order_may_be_an_iterator_and_is_the_plans_own(diamond, pair):
    order = {"x:0": ["a", "c", "b", "d"]}
    plan = emplace.Plan.of(diamond, pair, [0] * 4, order)
    order["x:0"].append("nobody")
    assert plan.order == {"x:0": ["a", "c", "b", "d"]}
    assert emplace.Plan.of(diamond, pair, [0] * 4, {"x:0": iter(plan.order["x:0"])}).to_json() == plan.to_json()
    with pytest.raises(emplace.BadInput, match="cycle|before"):
        emplace.simulate(diamond, pair, [0] * 4, order={"x:0": iter(["d", "c", "b", "a"])})


@pytest.mark.parametrize("work", [
    "emplace.place(graph, machine, seconds=20)",
    "emplace.place(graph, machine, seconds=20, progress=True)",
    "emplace.simulate(graph, machine, np.zeros((10**6, len(graph)), np.int32))",
])
def test_a_program_may_end_while_a_thread_of_it_places(work):
    script = ("import emplace, threading, time\nimport numpy as np\n"
              f"graph, machine = emplace.generate('ptb')[0], emplace.Machine.load('{ROOT}/configs/clusters/k80x2.yaml')\n"
              f"threading.Thread(target=lambda: {work}, daemon=True).start()\ntime.sleep(0.5)\n")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr


def test_ctrl_c_ends_simulations(ptb, machine):
    interrupt_soon()
    placements = np.broadcast_to(np.zeros(len(ptb), dtype=np.int32), (1_000_000, len(ptb)))
    with pytest.raises(KeyboardInterrupt):
        while True:
            emplace.simulate(ptb, machine, placements[:20_000])


def test_other_threads_run_while_it_searches(ptb, machine):
    counted = []
    ended = threading.Event()

    def count():
        while not ended.wait(0.001):
            counted.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    emplace.place(ptb, machine, seconds=0.5)
    ended.set()
    thread.join()
    assert len(counted) > 3


def test_progress(ptb, machine, capsys):
    emplace.place(ptb, machine, seconds=1, progress=True)
    assert "placements, best" in capsys.readouterr().err
    emplace.place(ptb, machine, seconds=0.2)
    assert capsys.readouterr().err == ""
    with SearchBar(None, 1.0) as bar:
        assert bar.show is None


def test_evaluate(ptb, machine, diamond):
    graphs = [ptb, emplace.generate("ptb", size="small", seed=2)[0]]
    result = emplace.evaluate(graphs, machine, ["single", "m-etf", "random"], budget=20, seeds=[1, 2])
    assert [(row.graph, row.method, row.seed) for row in result.rows] == [
        (graph.name, method, seed) for graph in graphs for method in ("single", "m-etf", "random") for seed in (1, 2)]
    means = result.ratios()
    assert means["single"] == pytest.approx(1) and set(means) == {"single", "m-etf", "random"}
    rows = [row for row in result.rows if row.method == "m-etf"]
    of_seed = [math.prod(row.ratio for row in rows if row.seed == seed) ** (1 / 2) for seed in (1, 2)]
    assert means["m-etf"] == pytest.approx(sum(of_seed) / 2)
    for row in result.rows:
        assert row.placed_us <= min(row.makespan_us, row.single_device_us) or not row.feasible
    assert result._repr_html_().count("<tr>") == 13
    assert [row.makespan_us for row in emplace.evaluate(graphs, machine, ["random"], budget=20, jobs=1).rows] == [
        row.makespan_us for row in result.rows if row.method == "random" and row.seed == 1]
    with pytest.raises(emplace.BadInput, match="a list of names"):
        emplace.evaluate(ptb, machine, "single")
    with pytest.raises(emplace.BadInput, match="methods has 'single' twice, expected each once"):
        emplace.evaluate(ptb, machine, ["single", "heft", "single"])
    with pytest.raises(emplace.BadInput, match="seeds has 3 twice"):
        emplace.evaluate(ptb, machine, ["random"], seeds=[3, 3])
    with pytest.raises(emplace.BadInput, match="seeds is -1"):
        emplace.evaluate(ptb, machine, ["random"], seeds=[1, -1])


def test_evaluate_for_throughput_compares_loads(ptb, machine):
    rows = emplace.evaluate(ptb, machine, ["auto", "heft"], budget=50, objective="throughput").rows
    plan = emplace.place(ptb, machine, budget=50, objective="throughput", progress=False)
    assert rows[0].max_load_us == plan.max_load_us == rows[0].placed_us < rows[0].makespan_us
    for row in rows:
        assert row.ratio == row.max_load_us / row.single_device_us


def test_evaluate_takes_any_iterables(ptb, machine):
    rows = emplace.evaluate((graph for graph in [ptb]), machine, (name for name in ["single", "random"]), budget=5,
                            seeds=(seed for seed in [1, 2])).rows
    assert [(row.method, row.seed) for row in rows] == [("single", 1), ("single", 2), ("random", 1), ("random", 2)]


def test_without_a_device_for_all_ops_there_is_no_ratio():
    graph = emplace.Graph.from_ops("halves", [{"name": name, "cost_us": {name: 5}} for name in "ab"])
    machine = emplace.Machine([emplace.Device(f"{kind}:0", kind, 1e6) for kind in "ab"], bandwidth_bytes_per_us=100)
    row, = emplace.evaluate(graph, machine, ["heft"]).rows
    assert row.makespan_us == 5 and math.isnan(row.ratio)
    result = emplace.Evaluation([row])
    assert math.isnan(result.ratios()["heft"]) and "<td>-</td>" in result._repr_html_()
    plan = emplace.place(graph, machine, budget=5, progress=False)
    assert str(plan).startswith("halves: 2 ops, 0.005 ms a step, no single device may run every op\n")


def test_auto_gives_an_order_only_where_it_may(ptb, machine):
    assert emplace.place(ptb, machine, budget=300, order="none").order is None
    free = emplace.place(ptb, machine, budget=300)
    assert free.makespan_us <= emplace.simulate(ptb, machine, free.placement).makespan_us


def test_ops_can_be_decided_each_by_itself(ptb, machine):
    assert emplace.place(ptb, machine, method="annealing", budget=5, max_groups=0).makespan_us > 0
    with pytest.raises(emplace.BadInput, match="max_groups is -1, expected 0..2147483647"):
        emplace.place(ptb, machine, budget=5, max_groups=-1)


def test_a_plan_says_what_single_devices_take(ptb):
    # Of three devices, the fast one lacks the memory, and one may not run everything.
    ops = [{"name": "a", "cost_us": {"fast": 1, "slow": 9, "some": 1}, "param_bytes": 100}, {"name": "b", "cost_us": {"fast": 1, "slow": 9}}]
    graph = emplace.Graph.from_ops("g", ops)
    devices = [emplace.Device("f", "fast", 10), emplace.Device("s", "slow", 1000), emplace.Device("o", "some", 1000)]
    for count in (1, 2, 3):
        machine = emplace.Machine(devices[:count], bandwidth_bytes_per_us=1)
        assert emplace.Plan.of(graph, machine, [0, 0]).single_device_us == (2 if count == 1 else 18)
    none = emplace.Machine([devices[2], emplace.Device("e", "other", 10)], bandwidth_bytes_per_us=1)
    split = emplace.Graph.from_ops("g", [ops[0], {"name": "b", "cost_us": {"other": 5}}])
    assert emplace.Plan.of(split, none, [0, 1]).single_device_us == math.inf


def test_a_plan_that_cannot_be_read(plan, tmp_path):
    with pytest.raises(emplace.BadInput) as error:
        emplace.Plan.load(tmp_path / "none.json", plan.graph, plan.machine)
    assert str(error.value) == f"{tmp_path / 'none.json'}: cannot be read: No such file or directory"
    (tmp_path / "latin.json").write_bytes(b"[0, \xe9]")
    with pytest.raises(emplace.BadInput, match="latin.json: cannot be read: byte 4 is no text in UTF-8"):
        emplace.Plan.load(tmp_path / "latin.json", plan.graph, plan.machine)
