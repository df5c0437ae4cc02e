#!/usr/bin/env python3
"""What tools/reproduce/carries.py says of rows made by hand."""
import unittest

from support import CALL, cells

import carries


def rows(row, ratios, misfits=0):
    """ratios: {seed: {graph: ratio}}, of which the first few do not fit"""
    made = [{"call": CALL, "family": "ptb", "updates": 9, "row": row, "seed": seed, "graph": graph, "ratio": ratio}
            for seed, of_graphs in ratios.items() for graph, ratio in of_graphs.items()]
    return [{**one, "fits": index >= misfits} for index, one in enumerate(made)]


class Carries(unittest.TestCase):
    def test_pairs_graph_by_graph(self):
        # Of each graph 10% longer, however much the graphs differ.
        shipped = {"1": {"a": 0.5, "b": 0.9}, "2": {"a": 0.6, "b": 0.8}}
        longer = {seed: {graph: 1.1 * ratio for graph, ratio in ratios.items()} for seed, ratios in shipped.items()}
        change = carries.paired(longer, shipped)
        self.assertAlmostEqual(change.mean, 0.1)
        self.assertAlmostEqual(change.low, 0.1)
        self.assertEqual(change.count, 2)

    def test_seeds_of_a_graph_are_averaged_before_graphs_are_compared(self):
        # Graph a: 4 times and 1 times as long, geometric mean 2; graph b: twice as long each time. So no spread over graphs.
        change = carries.paired({"1": {"a": 4.0, "b": 2.0}, "2": {"a": 1.0, "b": 2.0}, "3": {"a": 9.0}},
                                {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 1.0}})
        self.assertAlmostEqual(change.mean, 1.0)
        self.assertAlmostEqual(change.high, 1.0)

    def test_table(self):
        shipped = rows(carries.SHIPPED, {1: {"a": 0.5, "b": 0.5}, 10: {"a": 0.6, "b": 0.6}, 2: {"a": 0.5, "b": 0.5}}, misfits=1)
        rule = rows("rule by position", {seed: {"a": 0.6, "b": 0.6} for seed in (1, 2)})
        kept = rows("bytes in link time", {1: {"a": 0.5, "b": 0.5}})
        text = carries.markdown([*rule, *kept, *shipped])
        lines = [cells(line) for line in text.splitlines() if line.startswith("| ")][2:]
        self.assertEqual(lines[0][:6], ["shipped", "0.500, 0.500, 0.600", "1", "", "", "The configuration as it is."])
        self.assertEqual(lines[1][:5], ["rule by position", "0.600, 0.600", "0", "+20.0% (+20.0%..+20.0%)", "worse"])
        self.assertIn("version 0.1.0", lines[2][5])

    def test_kept_rows_are_not_offered(self):
        self.assertFalse(carries.KEPT.keys() & {*carries.ROWS, *carries.VARIANTS})


if __name__ == "__main__":
    unittest.main()
