#!/usr/bin/env python3
"""Tests what tools/reproduce/measured_rewards.py makes of measurements, by hand-made ones, and that profiles are kept."""
import json
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from support import CALL, cells

import measured_rewards
from lib.table import Table

MEASURED = measured_rewards.ARMS[0].row


class Page(unittest.TestCase):
    def test_says_the_mean_over_graphs_and_seeds(self):
        table = Table("x.csv", measured_rewards.COLUMNS)
        table.facts["load"] = [0.25, 1.5]
        for placement, seed, ratios, updates in ((measured_rewards.PROFILED, None, (0.5, 0.32), None), (MEASURED, 1, (0.9, 0.4), 10),
                                                 (MEASURED, 2, (0.8, 0.8), 20)):
            table.rows += [{"call": CALL, "placement": placement, "seed": seed, "graph": graph, "ratio": ratio, "updates": updates}
                           for graph, ratio in zip("ab", ratios)]
        page = measured_rewards.markdown(table)
        rows = [cells(line) for line in page.splitlines() if line.startswith("|")]
        self.assertIn([measured_rewards.PROFILED, "0.400", ""], rows)  # sqrt(0.5 * 0.32)
        # 0.6 and 0.8: half a difference of 0.2, times Student's 12.706 for two seeds.
        self.assertIn([MEASURED, "0.700 (-0.571..1.971)", "10, 20"], rows)
        self.assertIn("Load averages: 0.2 before the measurement, 1.5 after it.", page)


class ProfiledWorkload(unittest.TestCase):
    def test_measures_each_training_graph_once(self):
        def profile(folder, graph, devices, programs):
            (folder / "measured.graph.json").write_text(graph.name)

        with tempfile.TemporaryDirectory() as scratch:
            first = pathlib.Path(scratch) / "first"
            (first / "graphs").mkdir(parents=True)
            (first / "graphs/split.json").write_text(json.dumps({"train": ["a.graph.json", "b.graph.json"], "test": ["c.graph.json"]}))
            arguments = types.SimpleNamespace(runs=pathlib.Path(scratch), programs=None)
            with mock.patch.object(measured_rewards, "profile", side_effect=profile) as measured:
                overrides = measured_rewards.profiled_workload(first, arguments)
                again = measured_rewards.profiled_workload(first, arguments)
            self.assertEqual(measured.call_count, 2)
            self.assertEqual(overrides, again)
            self.assertEqual([path.read_text() for path in overrides["workload.train_graphs"]], ["a.graph.json", "b.graph.json"])
            self.assertEqual(overrides["workload.devices"], pathlib.Path(scratch) / "profiled/a/measured.yaml")


if __name__ == "__main__":
    unittest.main()
