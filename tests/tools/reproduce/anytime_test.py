#!/usr/bin/env python3
"""What tools/reproduce/anytime.py says of runs made by hand."""
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from support import CALL, cells

import anytime
from lib import results
from lib.table import Table


def run(machine, seconds, seed, late=(), **found):
    """Rows; found: {method: us; None: does not fit}"""
    return [{"call": CALL, "graph": "g", "machine": machine, "given_s": seconds, "seed": seed, "method": name.replace("_", "-"),
             "makespan_us": us or 1.0, "feasible": us is not None, "evaluations": 1, "seconds": seconds * (1 + (name in late))}
            for name, us in found.items()]


def lines(*runs):
    """{first cell: the others} of the table of these runs."""
    text = anytime.table([row for rows in runs for row in rows])
    return {line[0]: line[1:] for line in map(cells, text[2:])}


NEAR = "pairs on which `auto` is within 0.5% of every other method"


class Anytime(unittest.TestCase):
    def test_makespans_are_over_the_best_of_the_pair_in_any_time_and_with_any_seed(self):
        runs = [run("a", 0.1, 1, auto=4, m_etf=8), run("a", 1, 1, auto=2, m_etf=8), run("b", 0.1, 1, auto=5, m_etf=5),
                run("b", 1, 1, auto=5, m_etf=5)]
        table = lines(*runs)
        self.assertEqual(table["`auto`"], ["1.414", "1.000"])  # 2 and 1; 1 and 1
        self.assertEqual(table["`m-etf`"], ["2.000", "2.000"])
        self.assertEqual(table[NEAR], ["2 of 2", "2 of 2"])

    def test_a_pair_counts_with_the_geometric_mean_over_seeds(self):
        # The seeds of auto come to 2 and 8, so 4; the best known is 2.
        runs = [run("a", 1, 1, auto=2, m_etf=4.1), run("a", 1, 2, auto=8, m_etf=4.1)]
        table = lines(*runs)
        self.assertEqual(table["`auto`"], ["2.000"])
        self.assertEqual(table[NEAR], ["1 of 1"])
        self.assertEqual(lines(*runs, run("b", 1, 1, auto=5, m_etf=4), run("b", 1, 2, auto=5, m_etf=4))[NEAR], ["1 of 2"])

    def test_what_does_not_fit_or_is_late_with_any_seed_has_no_result(self):
        runs = [run("a", 1, 1, auto=2, m_etf=None), run("a", 1, 2, auto=2, m_etf=3), run("b", 1, 1, auto=2, m_etf=2),
                run("b", 1, 2, late=["auto"], auto=1, m_etf=2)]
        table = lines(*runs)
        self.assertEqual(table["`auto`"], ["1.000 (1 of 2)"])
        self.assertEqual(table["`m-etf`"], ["2.000 (1 of 2)"])
        self.assertNotIn(NEAR, table)

    def test_a_method_that_was_run_once_counts_in_every_run(self):
        runs = [run("a", 0.1, 1, auto=4), run("a", 0.1, 2, auto=4), run("a", 1, 1, auto=2, heft=3), run("a", 1, 2, auto=2)]
        table = lines(*runs)
        self.assertEqual(table["`heft`"], ["-", "1.500"])  # It took a second.
        self.assertEqual(table[NEAR], ["-", "1 of 1"])

    def test_the_planner_is_compared_by_time_and_machine_where_both_were_run(self):
        runs = [run("a", 1, 1, auto=1, auto_by_hand=2), run("a", 1, 2, auto=1, auto_by_hand=2), run("b", 1, 1, auto=4, auto_by_hand=2),
                run("b", 2, 1, auto=4)]
        text = anytime.learned_lines([row for rows in runs for row in rows])
        self.assertEqual({line[0]: line[1:] for line in map(cells, text[6:])}, {"all pairs": ["1.000"], "a": ["0.500"], "b": ["2.000"]})
        self.assertEqual(anytime.learned_lines(run("a", 1, 1, auto=1, multilevel=2)), [])
        self.assertNotIn(NEAR, lines(*runs))  # Another `auto` is no other method.

    def test_the_interval_resamples_graphs(self):
        rows = [{**row, "graph": graph} for graph, us in (("g", 1), ("h", 4)) for row in run("a", 1, 1, auto=us, auto_by_hand=2)]
        self.assertEqual(cells(anytime.learned_lines(rows)[-1]), ["a", "1.000 (0.500..2.000)"])

    def test_by_hand_runs_auto_without_a_policy(self):
        calls = []

        def call(words):
            calls.append([str(word) for word in words])
            methods = calls[-1][calls[-1].index("--methods") + 1].split(",")
            return json.dumps({"results": [{"method": method, "makespan_us": 1.0, "feasible": True, "evaluations": 1, "seconds": 1.0}
                                           for method in methods]})

        with mock.patch.object(results, "call", call):
            rows = anytime.evaluate("emplace", {"graph": "g", "machine": "m", "given_s": 1, "seed": 2}, ["auto", "auto-by-hand", "heft"], "g", "c")
        self.assertEqual([row["method"] for row in rows], ["auto", "heft", "auto-by-hand"])
        self.assertEqual(["--policy" in words for words in calls], [False, True])

    def test_the_head_names_seeds_and_pairs(self):
        text = anytime.markdown([*run("a", 1, 3, auto=2), *run("a", 1, 5, auto=2)])
        self.assertIn("over 1 pairs of a graph and a machine; seeds: 3, 5,", text)

    def test_keeps_what_is_finished_but_the_methods_to_make_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "anytime.csv"
            made = Table(path, anytime.COLUMNS)
            made.rows = [*run("a", 1, 1, auto=2, m_etf=4), *run("b", 1, 1, m_etf=4)]
            made.save()

            def found(fresh=False, again=()):
                results = anytime.load(path, types.SimpleNamespace(fresh=fresh, again=again))
                return [(row["machine"], row["method"]) for row in results.rows]

            self.assertEqual(found(), [("a", "auto"), ("a", "m-etf"), ("b", "m-etf")])
            self.assertEqual(found(again=["auto"]), [("a", "m-etf"), ("b", "m-etf")])
            self.assertEqual(found(fresh=True), [])

    def test_runs_only_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "anytime.csv"
            (path.parent / "g.graph.json").write_text("{}")
            asked = []

            def evaluate(emplace, of_run, methods, graph, cluster):
                asked.append((of_run["seed"], methods))
                return [{**of_run, "method": method, "makespan_us": 3.0, "feasible": True, "evaluations": 1, "seconds": 0.5}
                        for method in methods]

            def main(*words):
                argv = ["anytime.py", str(path.parent / "g.graph.json"), "--seconds", "1", "--devices", "--unlike", "k80x2_cpu",
                        "--out", str(path), *words]
                with mock.patch.object(sys, "argv", argv), mock.patch.object(anytime, "evaluate", evaluate), mock.patch("builtins.print"):
                    anytime.main()

            main("--methods", "auto", "heft")
            main("--methods", "auto", "heft", "single", "--seeds", "1", "2", "--again", "heft")
            self.assertEqual(asked, [(1, ["auto", "heft"]), (1, ["heft", "single"]), (2, ["auto"])])
            self.assertEqual(len(Table(path, anytime.COLUMNS).rows), 4)
            self.assertIn("| `single` | 1.000 |", path.with_suffix(".md").read_text())


if __name__ == "__main__":
    unittest.main()
