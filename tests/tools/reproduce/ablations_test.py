#!/usr/bin/env python3
"""What tools/reproduce/ablations.py says of rows made by hand."""
import unittest

from support import CALL, cells

import ablations


class Ablations(unittest.TestCase):
    def test_difference_is_by_seed(self):
        # -0.1, -0.1, -0.1: no spread, whatever the seeds themselves differ by.
        interval = ablations.difference({"1": 0.7, "2": 0.8, "3": 0.9}, {"1": 0.8, "2": 0.9, "3": 1.0, "4": 9.0})
        self.assertAlmostEqual(interval.mean, -0.1)
        self.assertAlmostEqual(interval.low, -0.1)
        self.assertEqual(ablations.verdict(interval), "better")

    def test_verdicts(self):
        reference = {"1": 0.0, "2": 0.0, "3": 0.0}
        for ratios, said in (((0.1, 0.11, 0.12), "worse"), ((0.1, -0.1, 0.0), "no clear difference")):
            change = ablations.difference(dict(zip(reference, ratios)), reference)
            self.assertEqual(ablations.verdict(change), said)
        self.assertEqual(ablations.verdict(ablations.difference({"1": 0.5}, reference)), "one seed")

    def test_table(self):
        def rows(variant, ratios, reference, graphs=None):
            return [{"call": CALL, "family": "ptb", "updates": 9, "variant": variant, "seed": seed, "ratio": ratio, "reference": held_against,
                     "infeasible": 1, "graphs": graphs} for seed, (ratio, held_against) in enumerate(zip(ratios, reference), 1)]

        text = ablations.markdown([*rows("discount 1", (0.8, 0.8), (0.7, 0.7)), *rows("shipped", (0.7, 0.7), (0.7, 0.7)),
                                   *rows(ablations.PER_GRAPH, (0.6,), (0.65,), graphs=2)])
        lines = [cells(line) for line in text.splitlines() if line.startswith("| ")][2:]
        self.assertEqual(lines[0][:6], ["shipped", "2", "0.700 (0.700..0.700)", "2", "", ""])
        self.assertEqual(lines[1][:6], ["discount 1", "2", "0.800 (0.800..0.800)", "2", "+0.100 (+0.100..+0.100)", "worse"])
        self.assertEqual(lines[2][:6], [f"{ablations.PER_GRAPH}, on 2 of the validation graphs", "1", "0.600", "1", "-0.050", "one seed"])

    def test_folder_names(self):
        self.assertEqual(len({ablations.slug(variant) for variant in ablations.ROWS}), len(ablations.ROWS))


if __name__ == "__main__":
    unittest.main()
