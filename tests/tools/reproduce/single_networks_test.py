#!/usr/bin/env python3
"""What tools/reproduce/single_networks.py says of a document made by hand."""
import pathlib
import types
import unittest
import unittest.mock

from support import cells, row

import single_networks


class SingleNetworks(unittest.TestCase):
    def document(self, single_fits):
        rows = [row("net", "cpu", 1, 9e6), row("net", "single", 1, 2e6, feasible=single_fits), row("net", "expert", 1, 1e6),
                row("net", "scotch", 1, 3e6, feasible=False), row("net", "annealing", 1, 0.9e6), row("net", "auto", 1, 0.7e6),
                row("net", "placeto", 1, 1.1e6), row("net", "placeto", 2, 0.8e6), row("net", "placeto", 3, 0.9e6)]
        return {"network": "inception_v3", "gpus": 2, "results": rows, "graphs": {"net": {"single_device_us": 2e6}},
                "trained": {"placeto": {"samples_to_near": {"1": 1500, "2": None, "3": 700}, "command": "train"}},
                "command": "place"}

    def test_measured_and_published(self):
        here, published = single_networks.lines_of(self.document(True))
        # Mean of 0.8, 0.9, 1.1: 0.93, -+ 4.303 * 0.1528 / sqrt(3) = 0.38.
        self.assertEqual(cells(here), ["inception_v3", "2", "here", "9.00 (4.50)", "2.00 (1.00)", "1.00 (0.50)", "OOM",
                                       "0.90 (0.45)", "0.70 (0.35)", "0.90 (0.45); best 0.80, mean 0.93 (0.55..1.31)", "-",
                                       "1.1K", "-"])
        self.assertEqual(cells(published)[2:], ["published", "12.54 (8.04)", "1.56 (1.00)", "1.28 (0.82)", "1.54 (0.99)", "-",
                                                "-", "1.18 (0.76)", "1.17 (0.75)", "1.6K", "7.8K"])

    def test_no_ratio_to_what_does_not_fit(self):
        here = cells(single_networks.lines_of(self.document(False))[0])
        self.assertEqual(here[3:6], ["9.00", "OOM", "1.00"])

    def test_goals(self):
        document = self.document(True)
        self.assertEqual(cells(single_networks.goal_line(document, "placeto"))[2:],
                         ["Placeto", "met", "met", "met", "met", "missed"])
        document["results"][2]["makespan_us"] = 0.85e6  # The expert's, below the median but not below the best.
        self.assertEqual(cells(single_networks.goal_line(document, "placeto"))[2:],
                         ["Placeto", "met", "missed", "met", "met", "missed"])

    def test_a_kind_that_was_not_trained_has_no_goal_and_an_empty_cell(self):
        document = self.document(True)
        self.assertIsNone(single_networks.goal_line(document, "rnn"))
        text = single_networks.markdown([document])
        self.assertIn("By `train` and `place`.", text)
        self.assertNotIn("| RNN | met", text)

    def test_the_rnn_has_the_groups_and_penalties_of_the_network(self):
        overrides = single_networks.rnn_on("nmt_single")
        self.assertEqual(overrides["workload.family"], "nmt_single")
        self.assertEqual(overrides["grouping.max_groups"], "16")
        self.assertEqual(overrides["environment.memory_penalty"], "1")
        self.assertNotIn("environment.start", overrides)

    def test_without_a_training_what_was_trained_stays(self):
        earlier = self.document(True)
        arguments = types.SimpleNamespace(kinds=[], seeds=[1], settings=[], programs=pathlib.Path(), runs=pathlib.Path())
        measured = {"results": [row("net", "auto", 1, 0.6e6)], "graphs": {}}
        with unittest.mock.patch.object(single_networks, "Network"), \
                unittest.mock.patch.object(single_networks, "evaluate", return_value=measured):
            document = single_networks.measure("inception_v3", 2, {}, earlier, arguments)
        times = [(result["method"], result["makespan_us"]) for result in document["results"]]
        self.assertIn(("auto", 0.6e6), times)
        self.assertNotIn(("auto", 0.7e6), times)
        self.assertEqual([time for method, time in times if method == "placeto"], [1.1e6, 0.8e6, 0.9e6])
        self.assertEqual(document["trained"], earlier["trained"])

    def test_every_network_has_its_published_row(self):
        for network in single_networks.NETWORKS:
            for gpus in (2, 4):
                published = single_networks.PUBLISHED[network] | single_networks.PUBLISHED[network][gpus]
                for method in ["cpu", *single_networks.BASELINES, *single_networks.KINDS, "placeto_samples", "rnn_samples"]:
                    self.assertIn(method, published)


if __name__ == "__main__":
    unittest.main()
