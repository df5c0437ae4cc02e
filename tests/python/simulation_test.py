"""emplace.simulate"""
import json
import subprocess

import emplace
import numpy as np
import pytest
from conftest import ROOT, random_placements
from emplace import shipped
from emplace.simulation import run


def test_by_hand(diamond, pair):
    # a 0-10 on x:0. b there 10-30. c on x:1: a's 100 bytes take 1 us, so c 11-41; its 300 bytes are on x:0 at 44, d 44-49.
    timeline = run(diamond, pair, [0, 0, 1, 0])
    np.testing.assert_array_equal(timeline.start_us, [0, 10, 11, 44])
    np.testing.assert_array_equal(timeline.finish_us, [10, 30, 41, 49])
    assert timeline.makespan_us == 49
    assert [(t.op, t.source, t.start_us, t.delivered_us, t.bytes) for t in timeline.transfers] == [(0, 0, 10, 11, 100), (2, 1, 41, 44, 300)]
    result = emplace.simulate(diamond, pair, [0, 0, 1, 0])
    assert result.makespan_us == 49 and result.feasible is True
    np.testing.assert_array_equal(result.peak_bytes, timeline.peak_bytes)


@pytest.mark.parametrize("threads", [1, 3, None])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_many_are_as_one_after_the_other(ptb, machine, threads, dtype):
    placements = random_placements(ptb, machine, 50, seed=1).astype(dtype)
    many = emplace.simulate(ptb, machine, placements, threads=threads)
    assert many.makespan_us.shape == (50,) and many.peak_bytes.shape == (50, 2)
    for index, placement in enumerate(placements):
        one = emplace.simulate(ptb, machine, placement)
        assert one.makespan_us == many.makespan_us[index] and one.feasible == many.feasible[index]
        np.testing.assert_array_equal(one.peak_bytes, many.peak_bytes[index])


def test_equals_the_command(ptb, machine, tmp_path):
    ptb.save(tmp_path / "g.graph.json")
    for seed in range(3):
        placement = random_placements(ptb, machine, 1, seed)[0]
        (tmp_path / "p.json").write_text(json.dumps(placement.tolist()))
        told = subprocess.run([shipped.program(), "simulate", "--graph", tmp_path / "g.graph.json", "--devices",
                               ROOT / "configs/clusters/k80x2.yaml", "--placement", tmp_path / "p.json", "--json"],
                              check=True, capture_output=True)
        told = json.loads(told.stdout)
        timeline = run(ptb, machine, placement)
        assert timeline.makespan_us == told["makespan_us"]
        np.testing.assert_array_equal(timeline.start_us, told["start_us"])
        np.testing.assert_array_equal(timeline.finish_us, told["finish_us"])
        np.testing.assert_array_equal(timeline.peak_bytes, told["peak_bytes"])


def test_orders(diamond, pair):
    # Without an order x:0 runs b (ready first), then c; with it c goes first and b ends at 60.
    np.testing.assert_array_equal(run(diamond, pair, [0, 0, 0, 0]).start_us, [0, 10, 30, 60])
    order = {"x:0": ["a", "c", "b", "d"]}
    np.testing.assert_array_equal(run(diamond, pair, [0, 0, 0, 0], order).start_us, [0, 40, 10, 60])
    assert emplace.simulate(diamond, pair, [0, 0, 0, 0], order=order).makespan_us == 65


@pytest.mark.parametrize("placement, order, error", [
    ([0, 0, 0], None, "3 ops, expected 4"),
    ([0, 0, 0, 2], None, "'d'"),
    ([0, 0, 0, -1], None, "'d'"),
    ([0, 0, 0, 0.5], None, "whole numbers"),
    ([[[0]]], None, "shape"),
    ([0, 0, 0, 2**40], None, "no device indices"),
    ([0, 0, 0, 0], {"x:9": []}, "no device 'x:9'"),
    ([0, 0, 0, 0], {"x:0": ["e"]}, "no op 'e'"),
    ([0, 0, 0, 0], {"x:0": ["b", "a", "c", "d"]}, "'[ab]'"),
    ([0, 0, 0, 0], {"x:0": ["a"]}, "'[bcd]'"),
])
def test_bad_placements(diamond, pair, placement, order, error):
    with pytest.raises(emplace.BadInput, match=error):
        emplace.simulate(diamond, pair, placement, order=order)


def test_one_bad_placement_of_many_is_told(ptb, machine):
    placements = random_placements(ptb, machine, 100, seed=1)
    placements[57, 3] = 9
    with pytest.raises(emplace.BadInput, match=ptb.op_names[3]):
        emplace.simulate(ptb, machine, placements)


def test_no_placements(ptb, machine):
    assert emplace.simulate(ptb, machine, np.zeros((0, ptb.num_ops), dtype=int)).makespan_us.shape == (0,)


def test_lists_of_unequal_lengths(ptb, machine):
    with pytest.raises(emplace.BadInput, match="lists of unequal lengths"):
        emplace.simulate(ptb, machine, [[0, 1], [0]])
