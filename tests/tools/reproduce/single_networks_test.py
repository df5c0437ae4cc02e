#!/usr/bin/env python3
"""What tools/reproduce/single_networks.py says of rows made by hand."""
import pathlib
import types
import unittest
import unittest.mock

from support import CALL, row

import single_networks
from lib.table import Table


class SingleNetworks(unittest.TestCase):
    def rows(self, single_fits=True):
        rows = [row("net", "cpu", 1, 9e6), row("net", "single", 1, 2e6, feasible=single_fits), row("net", "expert", 1, 1e6),
                row("net", "scotch", 1, 3e6, feasible=False), row("net", "annealing", 1, 0.9e6), row("net", "auto", 1, 0.7e6)]
        trained = CALL._replace(command="train")
        rows += [{**row("net", "placeto", seed, time, samples_to_near=samples), "call": trained}
                 for seed, time, samples in ((1, 1.1e6, 1500), (2, 0.8e6, None), (3, 0.9e6, 700))]
        return [{"network": "inception_v3", "gpus": 2, "samples_to_near": None, "episodes": None, **one} for one in rows]

    def test_measured_and_published(self):
        here, published = single_networks.cells_of_both("inception_v3", 2, self.rows())
        # Mean of 0.8, 0.9, 1.1: 0.93, -+ 4.303 * 0.1528 / sqrt(3) = 0.38.
        self.assertEqual(here, ["inception_v3", 2, "here", "9.00 (4.50)", "2.00 (1.00)", "1.00 (0.50)", "OOM",
                                       "0.90 (0.45)", "0.70 (0.35)", "0.90 (0.45); best 0.80, mean 0.93 (0.55..1.31)", "-",
                                       "1.1K", "-"])
        self.assertEqual(published[2:], ["published", "12.54 (8.04)", "1.56 (1.00)", "1.28 (0.82)", "1.54 (0.99)", "-",
                                                "-", "1.18 (0.76)", "1.17 (0.75)", "1.6K", "7.8K"])

    def test_no_ratio_to_what_does_not_fit(self):
        here = single_networks.cells_of_both("inception_v3", 2, self.rows(single_fits=False))[0]
        self.assertEqual(here[3:6], ["9.00", "OOM", "1.00"])

    def test_goals(self):
        rows = self.rows()
        self.assertEqual(single_networks.goal_cells("inception_v3", 2, rows, "placeto")[2:],
                         ["Placeto", "met", "met", "met", "met", "missed"])
        rows[2]["makespan_us"] = 0.85e6  # The expert's, below the median but not below the best.
        self.assertEqual(single_networks.goal_cells("inception_v3", 2, rows, "placeto")[2:],
                         ["Placeto", "met", "missed", "met", "met", "missed"])

    def test_a_kind_that_was_not_trained_has_no_goal_and_an_empty_cell(self):
        self.assertIsNone(single_networks.goal_cells("inception_v3", 2, self.rows(), "rnn"))
        text = single_networks.markdown(self.rows())
        self.assertIn("By `made` (2026-11-21, commit c3d3653 or before) and `train` (", text)
        self.assertNotIn("| RNN | met", text)

    def test_the_rnn_has_the_groups_and_penalties_of_the_network(self):
        overrides = single_networks.rnn_on("nmt_single")
        self.assertEqual(overrides["workload.family"], "nmt_single")
        self.assertEqual(overrides["grouping.max_groups"], "16")
        self.assertEqual(overrides["environment.memory_penalty"], "1")
        self.assertNotIn("environment.start", overrides)

    def test_without_a_training_what_was_trained_stays(self):
        arguments = types.SimpleNamespace(kinds=[], seeds=[1], settings=[], programs=pathlib.Path(), runs=pathlib.Path())

        def evaluate(arguments, graphs, devices, methods, seeds, **options):
            return [{"graph": "net", "method": methods[-1], "seed": 1, "makespan_us": 0.6e6}]

        table = Table("x.csv", single_networks.COLUMNS, ["policy"])
        table.rows = [*self.rows(), {**self.rows()[0], "gpus": 4}]
        with unittest.mock.patch.object(single_networks, "Network"), \
                unittest.mock.patch.object(single_networks, "evaluate", side_effect=evaluate):
            made = single_networks.measure("inception_v3", 2, {}, arguments)
        single_networks.merge(table, "inception_v3", 2, made)
        self.assertEqual([(one["gpus"], one["method"], one["makespan_us"]) for one in table.rows],
                         [(2, "cpu", 0.6e6), (2, "auto", 0.6e6), (2, "placeto", 1.1e6), (2, "placeto", 0.8e6), (2, "placeto", 0.9e6),
                          (4, "cpu", 9e6)])

    def test_every_network_has_its_published_row(self):
        for network in single_networks.NETWORKS:
            for gpus in (2, 4):
                published = single_networks.PUBLISHED[network] | single_networks.PUBLISHED[network][gpus]
                for method in ["cpu", *single_networks.BASELINES, *single_networks.KINDS, "placeto_samples", "rnn_samples"]:
                    self.assertIn(method, published)


if __name__ == "__main__":
    unittest.main()
