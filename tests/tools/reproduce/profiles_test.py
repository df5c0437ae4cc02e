#!/usr/bin/env python3
"""What tools/reproduce/profiles.py says of rows made by hand."""
import unittest

from support import cells, row

import profiles


class Profiles(unittest.TestCase):
    def rows(self):
        single_us = {"a": 100.0, "b": 200.0}
        times = {"a": {"policy": (80, 90), "policy best of 8": (70, 70), "scotch": (85, 85)},
                 "b": {"policy": (300, 100), "policy best of 8": (180, 100), "scotch": (160, 160)}}
        rows = []
        for graph, of_methods in times.items():
            one_device = {method: (single_us[graph],) for method in profiles.BASELINES if method != "scotch"}
            rows += [row(graph, method, seed, float(time), single_device_us=single_us[graph], devices=2)
                     for method, both in {**of_methods, **one_device}.items() for seed, time in enumerate(both, 1)]
        return rows

    def test_a_line_is_the_mean_over_seeds(self):
        # 0.8 and 0.9: mean 0.85, -+ 12.706 * 0.05.
        self.assertEqual(profiles.cells_of("a", 2, [one for one in self.rows() if one["graph"] == "a"])[:6],
                         ["a", 2, "0.850 (0.215..1.485)", "0.700 (0.700..0.700)", "1.000", "1.000"])

    def test_goals_are_of_all_graphs_together(self):
        # Scotch: seed 1 wins on a alone, seed 2 on b alone. One device: seed 1 wins on a alone, seed 2 on both.
        goals = [cells(line) for line in profiles.markdown(self.rows()).splitlines()
                 if "at least" in line or "at most" in line]
        self.assertEqual([goal[1].split()[0] for goal in goals], ["50.0%", "75.0%", "50.0%", "50.0%", "0.5"])
        self.assertEqual([goal[3] for goal in goals], ["missed", "missed", "missed", "met", "met"])


if __name__ == "__main__":
    unittest.main()
