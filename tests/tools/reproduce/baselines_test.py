#!/usr/bin/env python3
"""What tools/reproduce/baselines.py and headroom.py run, and what they say of rows made by hand."""
import argparse
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from support import CALL, cells, row

import baselines
import headroom
from lib.results import EVALUATED
from lib.table import Table


class Baselines(unittest.TestCase):
    def test_only_what_is_missing_is_run(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(baselines, "ROOT", pathlib.Path(folder)):
            out, graph = pathlib.Path(folder) / "b.csv", pathlib.Path(folder) / "g.graph.json"
            graph.write_text("{}")
            asked = []

            def evaluate(arguments, network, cluster, methods, path):
                asked.append((arguments.budget, methods))
                rows = [row("g", method, seed, 50.0) for method in methods for seed in arguments.seeds]
                return [{name: one[name] for name in EVALUATED} for one in rows]

            def main(*words):
                with mock.patch.object(sys, "argv", ["baselines.py", str(graph), "--devices", "2", "--gb-per-s", "100", "--out", str(out), *words]), \
                        mock.patch.object(baselines, "evaluate", evaluate), mock.patch("builtins.print"):
                    baselines.main()

            main("--methods", "heft", "--seeds", "1")
            main("--methods", "heft", "random", "--seeds", "1")
            main("--methods", "heft", "random", "--seeds", "1")
            main("--methods", "heft", "random", "--seeds", "1", "2")
            main("--methods", "heft", "random", "--seeds", "1", "2", "--budget", "9")
            self.assertEqual(asked, [(2000, ["heft"]), (2000, ["random"]), (2000, ["heft", "random"]), (9, ["heft", "random"])])
            self.assertEqual([(one["method"], one["seed"], one["budget"]) for one in Table(out, baselines.COLUMNS).rows],
                             [("heft", 1, 9), ("heft", 2, 9), ("random", 1, 9), ("random", 2, 9)])
            self.assertIn("| g | 1 | 2 | 100 | **0.500** | **0.500** |", out.with_suffix(".md").read_text())

    def test_what_does_not_always_fit_has_a_star_and_is_not_bold(self):
        rows = [row("g", "heft", 1, 40.0, feasible=False), row("g", "expert", 1, 60.0), row("h", "heft", 1, 40.0), row("h", "expert", 1, 60.0)]
        text = baselines.markdown([{**one, "network": "net", "devices": 2, "gb_per_s": 7.6, "budget": 10} for one in rows])
        self.assertEqual(cells(text.splitlines()[-1]), ["net", "2", "2", "7.6", "0.400*", "**0.600**"])


class Headroom(unittest.TestCase):
    def row(self, method, makespan_us, seed=1, graph_sha256="x", feasible=True):
        return {"call": CALL, "network": "net", "kind": "k80", "devices": 2, "graph": "g", "graph_sha256": graph_sha256, "budget": 9, "seed": seed,
                "method": method, "makespan_us": makespan_us, "feasible": feasible, "evaluations": 9, "seconds": 1.0}

    def test_the_best_that_fits_of_all_seeds_counts(self):
        rows = [self.row("single", 120.0), self.row("annealing", 80.0), self.row("single", 120.0, seed=2), self.row("annealing", 60.0, seed=2),
                self.row("annealing", 40.0, seed=3, feasible=False)]
        self.assertEqual(headroom.table_row("net", 2, rows), ["net", 2, 1, "2.00", "2.00", "2.00", 0])

    def test_searches_on_a_graph_that_has_changed_are_made_again(self):
        run = {name: self.row("single", 1.0)[name] for name in headroom.KEY}
        for digest, kept in (("x", 0), ("y", 1)):
            table = Table("h.csv", headroom.COLUMNS, ["simulator"])
            table.rows = [self.row("single", 120.0), self.row("annealing", 80.0)]
            made = [{**run, "graph_sha256": digest, "method": method, "makespan_us": 1.0} for method in ("single", "annealing")]
            with mock.patch.object(headroom, "search", return_value=made) as search, mock.patch.object(table, "save"), mock.patch("builtins.print"):
                headroom.run_all(argparse.Namespace(), [({**run, "graph_sha256": digest}, None, None)], table)
            self.assertEqual(search.call_count, kept)
            self.assertEqual({one["graph_sha256"] for one in table.rows}, {digest})
            self.assertEqual(len(table.rows), 2)


if __name__ == "__main__":
    unittest.main()
