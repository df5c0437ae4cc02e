#!/usr/bin/env python3
"""What tools/reproduce/planning_time.py says of rows made by hand."""
import unittest

from support import CALL, cells

import planning_time


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
