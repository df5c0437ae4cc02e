#!/usr/bin/env python3
"""How tools/reproduce/complements.py takes candidates, on scores made by hand."""
import math
import unittest

import support  # noqa: F401  Finds the scripts.

import complements


class Complements(unittest.TestCase):
    def test_the_next_one_is_what_helps_the_best_so_far_most(self):
        # Candidate 1 is best by itself, but only where the planner is good already; 2 and 3 each mend another instance.
        ratios = [[0.0, -0.1, 0.5, 0.5], [-0.5, -0.6, 0.5, 0.5], [0.0, 0.0, -0.4, 0.5], [0.0, 0.0, 0.5, -0.3]]
        self.assertEqual(complements.taken_one_by_one(ratios, 3), [0, 2, 3, 1])

    def test_a_placement_that_does_not_fit_counts_no_more_than_the_clip(self):
        self.assertEqual(complements.over([1.0, math.inf, 0.5, -9.0], 1.0), [0.0, complements.CLIP, -0.5, -complements.CLIP])
        self.assertEqual(complements.over([math.inf, 2.0], math.inf), [0.0, -complements.CLIP])

    def test_the_mean_over_instances_is_geometric(self):
        self.assertAlmostEqual(complements.best_of([[0.0, math.log(0.25)], [0.0, math.log(4)]]), 0.5)


if __name__ == "__main__":
    unittest.main()
