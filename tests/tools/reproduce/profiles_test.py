#!/usr/bin/env python3
"""What tools/reproduce/profiles.py says of documents made by hand."""
import unittest

from support import cells, row

import profiles


class Profiles(unittest.TestCase):
    def documents(self):
        graphs = {"a": {"path": "a", "single_device_us": 100.0}, "b": {"path": "b", "single_device_us": 200.0}}
        times = {"a": {"policy": (80, 90), "policy best of 8": (70, 70), "scotch": (85, 85)},
                 "b": {"policy": (300, 100), "policy best of 8": (180, 100), "scotch": (160, 160)}}
        documents = []
        for graph, of_methods in times.items():
            rows = [row(graph, method, seed, float(time)) for method, both in of_methods.items()
                    for seed, time in enumerate(both, 1)]
            rows += [row(graph, method, 1, graphs[graph]["single_device_us"]) for method in profiles.BASELINES
                     if method != "scotch"]
            documents.append({"devices": 2, "results": rows, "graphs": {graph: graphs[graph]}, "command": "made"})
        return documents

    def test_a_line_is_the_mean_over_seeds(self):
        # 0.8 and 0.9: mean 0.85, -+ 12.706 * 0.05.
        self.assertEqual(cells(profiles.row_text(self.documents()[0]))[:6],
                         ["a", "2", "0.850 (0.215..1.485)", "0.700 (0.700..0.700)", "1.000", "1.000"])

    def test_goals_are_of_all_graphs_together(self):
        # Scotch: seed 1 wins on a alone, seed 2 on b alone. One device: seed 1 wins on a alone, seed 2 on both.
        goals = [cells(line) for line in profiles.markdown(self.documents()).splitlines()
                 if "at least" in line or "at most" in line]
        self.assertEqual([goal[1].split()[0] for goal in goals], ["50.0%", "75.0%", "50.0%", "50.0%", "0.5"])
        self.assertEqual([goal[3] for goal in goals], ["missed", "missed", "missed", "met", "met"])


if __name__ == "__main__":
    unittest.main()
