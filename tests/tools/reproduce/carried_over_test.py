#!/usr/bin/env python3
"""The rules of tools/reproduce/carried_over.py, on placements and graphs made by hand."""
import random
import unittest

import support  # noqa: F401  finds the scripts

from lib import carried_over
from lib.carried_over import Placed


class ByHand:
    """A graph of so many groups of which one placement is known to be good: each group elsewhere costs 1% of the time."""

    def __init__(self, good, num_ops=10, single_device_us=100.0):
        self.good, self.num_groups = good, len(good)
        self.graph, self.single_device_us = range(num_ops), single_device_us
        self.machine = type("Machine", (), {"devices": [type("Device", (), {"kind": "k80"})] * 2})

    def ratio(self, devices):
        return 0.5 * 1.01 ** sum(a != b for a, b in zip(devices, self.good, strict=True)), True


class CarriedOver(unittest.TestCase):
    def test_devices_of_a_kind_are_renamed_by_first_use(self):
        self.assertEqual(carried_over.renamed([1, 0, 1], ["k80", "k80"]), [0, 1, 0])
        self.assertEqual(carried_over.renamed([2, 2, 0], ["k80"] * 3), [0, 0, 1])
        # The processor is of another kind, so its name stays.
        self.assertEqual(carried_over.renamed([2, 1, 0], ["cpu", "k80", "k80"]), [1, 2, 0])

    def test_renaming_leaves_equal_what_was_equal(self):
        draw = random.Random(1)
        for _ in range(50):
            kinds = draw.choices(["k80", "cpu"], k=4)
            devices = draw.choices(range(4), k=12)
            after = carried_over.renamed(devices, kinds)
            self.assertEqual(len(set(zip(devices, after))), len(set(devices)))
            self.assertEqual(len(set(after)), len(set(devices)))
            self.assertEqual([kinds[device] for device in after], [kinds[device] for device in devices])

    def test_a_bin_is_where_the_middle_of_a_group_lies(self):
        # Middles at 1/6, 3/6 and 5/6: of two bins, the second begins at 1/2.
        self.assertEqual([carried_over.bin_of(group, 3, 2) for group in range(3)], [0, 1, 1])
        self.assertEqual([carried_over.bin_of(group, 4, 4) for group in range(4)], [0, 1, 2, 3])

    def test_a_rule_is_the_majority_of_each_position(self):
        self.assertEqual(carried_over.fitted([[0, 1, 1], [0, 0, 1], [0, 1, 0]], 3), [0, 1, 1])
        self.assertEqual(carried_over.fitted([[1, 0], [0, 1]], 2), [0, 0])  # Even: the first device.
        # The middles of two groups are at 1/4 and 3/4, where the second and the last of four bins begin; the others have none.
        self.assertEqual(carried_over.fitted([[1, 0]], 4), [0, 1, 1, 0])

    def test_positions_carry_over_to_other_numbers_of_groups(self):
        self.assertEqual(carried_over.at_positions([0, 1], 4), [0, 0, 1, 1])
        self.assertEqual(carried_over.at_positions([0, 0, 1, 1], 2), [0, 1])
        self.assertEqual(carried_over.at_positions([0, 1, 0], 3), [0, 1, 0])

    def test_nearest_counts_ratios_of_ops_and_time(self):
        small, large = Placed(100, 1000.0, [0]), Placed(400, 4000.0, [1])
        self.assertIs(carried_over.nearest(150, 1500.0, [small, large]), small)
        self.assertIs(carried_over.nearest(250, 2500.0, [small, large]), large)

    def test_the_number_of_bins_is_the_one_that_serves_the_other_graphs(self):
        halves = [ByHand([0] * 16 + [1] * 16) for _ in range(3)]
        self.assertEqual(carried_over.choose_bins(halves, [graph.good for graph in halves]), 4)  # More make no difference.
        turns = [ByHand([0, 1] * 16) for _ in range(3)]
        self.assertEqual(carried_over.choose_bins(turns, [graph.good for graph in turns]), 32)

    def test_a_searched_rule_is_one_for_all_graphs(self):
        # Two of three graphs want the same: the mean is least where they have it.
        graphs = [ByHand([0, 0, 1, 1]), ByHand([0, 0, 1, 1]), ByHand([1, 1, 0, 0])]
        for seed in range(5):
            self.assertEqual(carried_over.search_rule(graphs, 4, budget=400, seed=seed), [0, 0, 1, 1])
        self.assertEqual(carried_over.search_rule(graphs, 4, budget=1, seed=1), [0, 0, 0, 0])

    def test_place_all_judges_graphs_that_it_has_not_searched(self):
        train = [ByHand([1, 1, 0, 0]), ByHand([0, 0, 1, 0]), ByHand([0, 0, 1, 1])]
        placed = [Placed(ops, 10.0 * ops, graph.good) for ops, graph in zip((10, 1000, 2000), train, strict=True)]
        judged = {"small": ByHand([0, 0, 1, 1], 11, 110.0), "large": ByHand([0, 0, 1, 1], 900, 9e3)}
        found = carried_over.place_all(train, placed, judged)
        self.assertEqual(found.rule, [0, 0, 1, 1])
        self.assertEqual(found.by_rule, {"small": (0.5, True), "large": (0.5, True)})
        self.assertEqual(found.by_nearest, {"small": (0.5, True), "large": (0.5 * 1.01, True)})


if __name__ == "__main__":
    unittest.main()
