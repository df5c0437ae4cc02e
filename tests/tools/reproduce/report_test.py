#!/usr/bin/env python3
"""What report.py gives to `emplace report` of tables made by hand."""
import pathlib
import tempfile
import unittest

from support import CALL, row

import anytime
import baselines
import report
from lib.script import BadInput
from lib.table import Table


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.csv"

    def save(self, columns, rows):
        table = Table(self.path, columns)
        table.rows = rows
        table.save()

    def test_a_part_for_each_network_and_machine(self):
        self.save(baselines.COLUMNS, [row(graph, "heft", 1, us, feasible=us < 90, single_device_us=120.0, network=network, devices=2, gb_per_s=7.6,
                                          budget=10)
                                      for network, graph, us in (("ptb", "a", 80.0), ("ptb", "b", 95.0), ("nmt", "c", 70.0))])
        found = report.documents(self.path, {})
        self.assertEqual(list(found), ["x ptb 2 7.6 10", "x nmt 2 7.6 10"])
        document = found["x ptb 2 7.6 10"]
        self.assertEqual(document["graphs"], {"a": {"single_device_us": 120.0}, "b": {"single_device_us": 120.0}})
        self.assertEqual([(one["graph"], one["makespan_us"], one["feasible"]) for one in document["results"]], [("a", 80.0, True), ("b", 95.0, False)])
        self.assertEqual(list(report.documents(self.path, {"network": "nmt"})), ["x nmt 2 7.6 10"])
        with self.assertRaisesRegex(BadInput, "has no such row"):
            report.documents(self.path, {"network": "cifar10"})
        with self.assertRaisesRegex(BadInput, "--only net: is no column of .*x.csv, expected one of network, devices"):
            report.documents(self.path, {"net": "nmt"})

    def test_methods_over_time(self):
        self.save(anytime.COLUMNS, [{"call": CALL, "graph": "g", "machine": "m", "given_s": seconds, "seed": 1, "method": method, "makespan_us": 5.0,
                                     "feasible": True, "evaluations": 1, "seconds": seconds}
                                    for seconds, method in ((0.1, "auto"), (1.0, "auto"), (1.0, "heft"))])
        document = report.documents(self.path, {})["x"]
        self.assertEqual(document["format"], "emplace.anytime/1")
        self.assertEqual([run["seconds"] for run in document["runs"]], [0.1, 1.0])
        self.assertEqual(document["runs"][0], {"graph": "g", "machine": "m", "seconds": 0.1, "seed": 1, "methods": {
            "auto": {"makespan_us": 5.0, "feasible": True, "in_time": True}, "heft": {"makespan_us": 5.0, "feasible": True, "in_time": False}}})

    def test_a_table_of_something_else(self):
        self.save({"model": str}, [{"call": CALL, "model": "m"}])
        with self.assertRaisesRegex(BadInput, "the columns are model, expected those of placements: graph, method"):
            report.documents(self.path, {})


if __name__ == "__main__":
    unittest.main()
