#!/usr/bin/env python3
"""Tests what tools/reproduce/reality.py makes of measurements, by hand-made ones."""
import random
import unittest

from support import CALL, cells

import reality
from lib.table import Table


class Ranks(unittest.TestCase):
    def test_equal_values_share_their_mean_rank(self):
        self.assertEqual(reality.ranks([3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0])

    def test_correlation_is_of_ranks_alone(self):
        self.assertAlmostEqual(reality.rank_correlation([1, 2, 3, 4], [10, 20, 1000, 1001]), 1)
        self.assertAlmostEqual(reality.rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # Ranks 0 1 2 and 0 2 1: 1 - 6 * (0 + 1 + 1) / (3 * 8) = 0.5.
        self.assertAlmostEqual(reality.rank_correlation([5, 6, 7], [1, 9, 8]), 0.5)
        self.assertEqual(reality.rank_correlation([1, 1], [1, 2]), 0)


class Placements(unittest.TestCase):
    def test_a_cut_keeps_groups_together(self):
        ops = [{"name": str(index)} | ({"group": f"g{index % 3}"} if index % 4 == 0 else {}) for index in range(60)]
        on_both = 0
        for seed in range(50):
            placement = reality.cut_placement(ops, random.Random(seed))
            self.assertEqual(len(placement), 60)
            on_both += set(placement) == {0, 1}
            for group in ("g0", "g1", "g2"):
                self.assertEqual(len({device for op, device in zip(ops, placement) if op.get("group") == group}), 1)
        self.assertGreater(on_both, 40)  # Cuts on both sides of one op of a group come to nothing.

    def test_the_two_chains_have_nothing_in_common(self):
        graph, split = reality.chains("aten.mm.default", [{"in": 0}, {"in": 1}], 8, 5)
        device = {op["name"]: of for op, of in zip(graph["ops"], split, strict=True)}
        self.assertEqual(sum(split), 6)
        for op in graph["ops"]:
            for text in op["inputs"]:
                self.assertEqual(device[text.partition(":")[0]], device[op["name"]])


class Summary(unittest.TestCase):
    def test_says_error_rank_and_gain(self):
        # The computer gets slower by a third from round to round; each round's predictions follow it.
        rows = [{"placement": "cpu:0 alone", "measured_us": [90, 120, 160], "predicted_us": [72, 96, 128], "undisturbed_steps": 7, "op_ratio": [1.0, 1.5, 1.1]},
                {"placement": "cpu:1 alone", "measured_us": [108, 144, 192], "predicted_us": [108, 144, 192], "undisturbed_steps": 0, "op_ratio": [1]},
                {"placement": "auto", "measured_us": [45, 60, 80], "predicted_us": [36, 48, 64], "undisturbed_steps": 9, "op_ratio": [1]}]
        found = reality.summary(rows)
        self.assertAlmostEqual(found["median_error"], 0.25)
        self.assertAlmostEqual(found["rank_correlation"], 1)
        self.assertAlmostEqual(found["gain"], 2)
        self.assertAlmostEqual(found["repeatability"], 1)
        table = Table("x.csv", reality.COLUMNS)
        table.rows = [{"call": CALL._replace(processor="p, 2 cores"), "graph": "g", **row} for row in rows]
        table.facts = {"load": [0, 1], "profiles": {"g": {"op_overhead_us": 0.5}},
                       "scaling": [{"op": "aten.mm.default", "side": 64, "op_us": 2, "gain": [1.5, 1.75, 2]}]}
        page = reality.markdown(table)
        self.assertIn("By `made` (2026-11-21, commit c3d3653 or before). On two cores of p. Load", page)
        tables = [cells(line) for line in page.splitlines() if line.startswith("|")]
        self.assertIn(["aten.mm.default", "64 x 64", "2.0", "1.75", "1.50", "2.00"], tables)
        self.assertIn(["cpu:0 alone", "0.12", "0.09 to 0.16", "7", "0.10", "1.250", "1.100"], tables)
        rows[0]["measured_us"] = [90, 120, 32]  # One round that something disturbs changes nothing.
        self.assertAlmostEqual(reality.summary(rows)["rank_correlation"], 1)
        self.assertIn("Median error of the prediction 25.0% (goal: under 10%), rank correlation 1.000", page)
        self.assertIn("Two rounds of measurements have a rank correlation of 1.000 with each other.", page)

    def test_rounds_are_compared_with_each_other(self):
        # Ranks 0 1 2, 0 2 1 and 2 1 0: 0.5, -1 and -0.5.
        rows = [{"measured_us": times} for times in ([5, 1, 30], [6, 9, 20], [7, 8, 10])]
        self.assertAlmostEqual(reality.repeatability(rows), -1 / 3)
        self.assertIsNone(reality.repeatability([{"measured_us": [1]}, {"measured_us": [2]}]))


if __name__ == "__main__":
    unittest.main()
