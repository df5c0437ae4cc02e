#!/usr/bin/env python3
"""What tools/reproduce/generalization.py says of rows made by hand."""
import argparse
import unittest

from support import CALL, cells, row

import generalization
from lib.table import Table


class Generalization(unittest.TestCase):
    def test_rows_of_earlier_calls_stay_while_they_hold(self):
        arguments = argparse.Namespace(methods=["alone", "policy"])
        rows = [row("a", "policy", 1, 75.0), row("a", "alone", 1, 60.0)]
        for one in rows:
            del one["call"]

        def merged(policies, max_groups, single_device_us=100.0):
            table = Table("x.csv", generalization.COLUMNS, ["policy"])
            table.rows = [row("a", method, 1, time, single_device_us=single_device_us, family="ptb")
                          for method, time in (("single", 100.0), ("fine-tuned", 72.0), ("alone", 70.0))]
            table.rows.append(row("a", "single", 1, 100.0, family="nmt"))
            table.facts["ptb"] = {"policies": "x", "max_groups": 8}
            generalization.merge(table, "ptb", rows, arguments, {"policies": policies, "max_groups": max_groups})
            self.assertEqual(table.facts["ptb"], {"policies": policies, "max_groups": max_groups})
            self.assertEqual(table.rows[0]["family"], "nmt")
            return [(one["method"], one["makespan_us"], one["call"] == CALL) for one in table.rows[1:]]

        self.assertEqual(merged("x", 8), [("policy", 75.0, False), ("fine-tuned", 72.0, True), ("alone", 60.0, False), ("single", 100.0, True)])
        self.assertEqual([method for method, _, _ in merged("y", 8)], ["policy", "alone", "single"])
        self.assertEqual([method for method, _, _ in merged("x", 9)], ["policy", "alone"])
        # The graph of that name is another one by now.
        self.assertEqual([method for method, _, _ in merged("x", 8, single_device_us=99.0)], ["policy", "alone"])

    def test_a_family_s_section(self):
        times = {"policy": (80, 60), "policy best of 8": (78, 60), "fine-tuned": (75, 60), "alone": (80, 50),
                 "single": (100, 100), "expert": (80, 90), "scotch": (85, 70), "heft": (90, 61), "m-etf": (95, 61),
                 "random": (99, 66)}
        rows = [row(graph, method, 1, float(time)) for method, of_graphs in times.items()
                for graph, time in zip("ab", of_graphs)]
        lines = generalization.section("ptb", rows)
        policy = next(cells(line) for line in lines if line.startswith("| policy |"))
        self.assertEqual(policy, ["policy", "2", "1", "0.700", "0.693", "0", "0", "4", "0.5"])  # 0.693 = sqrt(0.48)
        # Slower than alone by 0 and 20%; than the better of both by 6.67 and 20%.
        goals = [cells(line)[1:] for line in lines if "at most" in line or "at least" in line]
        self.assertEqual(goals[:2], [["10.0%", "at most 5.0%", "missed"], ["13.3%", "at most 5.0%", "missed"]])
        self.assertEqual(goals[2:], [["100.0%", "at least 90.0%", "met"]] * 4 + [["100.0%", "at least 50.0%", "met"],
                                                                               ["0.5", "at most 1", "met"]])


if __name__ == "__main__":
    unittest.main()
