#!/usr/bin/env python3
"""What tools/reproduce/planning_time.py says of rows made by hand."""
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from support import CALL, cells

import planning_time
from lib.script import BadInput


def row(method, makespan_us, seconds, given_s=None, graph="g", devices=2, error=None):
    return {"call": CALL, "graph": graph, "ops": 1000, "devices": devices, "method": method, "given_s": given_s, "seconds": seconds,
            "cpu_s": seconds and 2 * seconds, "load": 1.5, "makespan_us": makespan_us, "lower_bound_us": makespan_us and 80.0,
            "found_by": method, "error": error}


class PlanningTime(unittest.TestCase):
    def test_makespans_are_over_the_best_of_the_pair(self):
        rows = [row("heft", 200, 0.01), row("auto", 100, 1, 1), row("m-sct", None, None, error="not done after 60 s"),
                row("heft", 50, 0.02, graph="h"), row("auto", 100, 1, 1, graph="h"), row("m-sct", 100, 3, graph="h")]
        lines = {line[0]: line[1:] for line in map(cells, planning_time.table(rows)[2:])}
        self.assertEqual(lines["`heft`"], ["2.000 in 0.01 s (0.02)", "1.000 in 0.02 s (0.04)", "1.414"])
        self.assertEqual(lines["`m-sct`"], ["not done after 60 s", "2.000 in 3 s (6)", "-"])
        self.assertEqual(lines["best found over the lower bound"], ["1.250", "0.625", ""])

    def test_a_graph_on_which_all_methods_fail_has_no_bound(self):
        rows = [row("heft", None, 0.1, error="does not fit"), row("heft", 50, 0.02, graph="h")]
        lines = {line[0]: line[1:] for line in map(cells, planning_time.table(rows)[2:])}
        self.assertEqual(lines["`heft`"], ["does not fit", "1.000 in 0.02 s (0.04)", "-"])
        self.assertEqual(lines["best found over the lower bound"], ["-", "0.625", ""])

    def test_a_method_whose_process_ends_has_no_placement(self):
        def measured(*_):
            os._exit(3)

        with mock.patch.object(planning_time, "measured", measured):
            found = planning_time.measure("g", "m", "heft", None, 20)
        self.assertGreaterEqual(found.pop("load"), 0)
        self.assertEqual(found, {"method": "heft", "given_s": None, "error": "ended with exit code 3"})

    def test_bad_input_of_the_package_is_bad_input_of_the_script(self):
        class PackageBadInput(Exception):
            pass

        def load(_):
            raise PackageBadInput("g.graph.json: is no graph")

        package = types.SimpleNamespace(BadInput=PackageBadInput, Graph=types.SimpleNamespace(load=load))
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, emplace=package), \
                mock.patch.object(planning_time, "generate", return_value="g.graph.json"), \
                mock.patch.object(sys, "argv", ["planning_time.py", "--out", f"{folder}/t.csv"]):
            with self.assertRaisesRegex(BadInput, "is no graph"):
                planning_time.main()

    def test_the_text_says_first_where_auto_is_behind(self):
        on_time = [row("heft", 100, 0.01), row("auto", 100, 0.11, 0.1)]
        self.assertIn("`auto` never took more than 1.5 times the given time. A method without a search found a faster step in no more time on none.",
                      planning_time.markdown(on_time))
        late = [row("heft", 90, 0.01), row("list", 80, 0.2), row("dp", 50, 2), row("auto", 100, 0.3, 0.1)]
        text = planning_time.markdown(late)
        self.assertIn("more than 1.5 times the given time on 1 of 1 results, at worst 0.30 s of 0.1 (g on 2).", text)
        self.assertIn("in no more time on 1: g on 2 in 0.1 s by `list` (0.800 of its step).", text)  # dp took longer.


if __name__ == "__main__":
    unittest.main()
