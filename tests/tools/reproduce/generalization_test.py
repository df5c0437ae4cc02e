#!/usr/bin/env python3
"""What tools/reproduce/generalization.py says of a document made by hand."""
import argparse
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from support import cells, row

import generalization


class Generalization(unittest.TestCase):
    def test_rows_of_earlier_calls_stay_while_they_hold(self):
        graphs = {"a": {"path": "a", "single_device_us": 100.0}}
        old = {"results": [row("a", "single", 1, 100.0), row("a", "fine-tuned", 1, 72.0), row("a", "alone", 1, 70.0)],
               "graphs": graphs, "settings": {"policies": "x", "max_groups": 8},
               "commands": {"single": "first", "fine-tuned": "first", "alone": "first"}}
        arguments = argparse.Namespace(methods=["alone", "policy"])
        rows = [row("a", "policy", 1, 75.0), row("a", "alone", 1, 60.0)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ptb.json"
            path.write_text(json.dumps(old))
            with mock.patch.object(generalization, "command_line", return_value="second"):
                same = generalization.merged(path, rows, graphs, arguments, {"policies": "x", "max_groups": 8})
                retrained = generalization.merged(path, rows, graphs, arguments, {"policies": "y", "max_groups": 8})
                other = generalization.merged(path, rows, graphs, arguments, {"policies": "x", "max_groups": 9})
        self.assertEqual([(r["method"], r["makespan_us"]) for r in same["results"]],
                         [("policy", 75.0), ("fine-tuned", 72.0), ("alone", 60.0), ("single", 100.0)])
        self.assertEqual(same["commands"],
                         {"single": "first", "fine-tuned": "first", "policy": "second", "alone": "second"})
        self.assertEqual([r["method"] for r in retrained["results"]], ["policy", "alone", "single"])
        self.assertEqual([r["method"] for r in other["results"]], ["policy", "alone"])

    def test_a_family_s_section(self):
        graphs = {"a": {"path": "a", "single_device_us": 100.0}, "b": {"path": "b", "single_device_us": 100.0}}
        times = {"policy": (80, 60), "policy best of 8": (78, 60), "fine-tuned": (75, 60), "alone": (80, 50),
                 "single": (100, 100), "expert": (80, 90), "scotch": (85, 70), "heft": (90, 61), "m-etf": (95, 61),
                 "random": (99, 66)}
        rows = [row(graph, method, 1, float(time)) for method, of_graphs in times.items()
                for graph, time in zip("ab", of_graphs)]
        summary = generalization.Results(rows, graphs).summary()
        lines = generalization.section({"results": rows, "graphs": graphs, "summary": summary, "settings": {"family": "ptb"},
                                        "commands": {row["method"]: "made" for row in rows}})
        policy = next(cells(line) for line in lines if line.startswith("| policy |"))
        self.assertEqual(policy, ["policy", "2", "1", "0.700", "0.693", "0", "0", "4", "0.5"])  # 0.693 = sqrt(0.48)
        # Slower than alone by 0 and 20%; than the better of both by 6.67 and 20%.
        goals = [cells(line)[1:] for line in lines if "at most" in line or "at least" in line]
        self.assertEqual(goals[:2], [["10.0%", "at most 5.0%", "missed"], ["13.3%", "at most 5.0%", "missed"]])
        self.assertEqual(goals[2:], [["100.0%", "at least 90.0%", "met"]] * 4 + [["100.0%", "at least 50.0%", "met"],
                                                                               ["0.5", "at most 1", "met"]])


if __name__ == "__main__":
    unittest.main()
