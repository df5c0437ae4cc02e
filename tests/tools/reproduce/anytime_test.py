#!/usr/bin/env python3
"""What tools/reproduce/anytime.py says of runs made by hand."""
import json
import pathlib
import tempfile
import types
import unittest

from support import cells

import anytime


def run(machine, seconds, seed, late=(), **found):
    """found: {method: us; None: does not fit}"""
    methods = {name.replace("_", "-"): {"makespan_us": us or 1.0, "feasible": us is not None, "evaluations": 1, "seconds": seconds,
                                        "in_time": name not in late} for name, us in found.items()}
    return {"graph": "g", "machine": machine, "seconds": seconds, "seed": seed, "methods": methods}


def rows(runs, seconds, methods=("auto", "m-etf")):
    lines = anytime.table(runs, types.SimpleNamespace(methods=methods, seconds=seconds))
    return {line[0]: line[1:] for line in map(cells, lines[2:])}


NEAR = "pairs on which `auto` is within 0.5% of every other method"


class Anytime(unittest.TestCase):
    def test_makespans_are_over_the_best_of_the_pair_in_any_time_and_with_any_seed(self):
        runs = [run("a", 0.1, 1, auto=4, m_etf=8), run("a", 1, 1, auto=2, m_etf=8), run("b", 0.1, 1, auto=5, m_etf=5),
                run("b", 1, 1, auto=5, m_etf=5)]
        table = rows(runs, [0.1, 1])
        self.assertEqual(table["`auto`"], ["1.414", "1.000"])  # 2 and 1; 1 and 1
        self.assertEqual(table["`m-etf`"], ["2.000", "2.000"])
        self.assertEqual(table[NEAR], ["2 of 2", "2 of 2"])

    def test_a_pair_counts_with_the_geometric_mean_over_seeds(self):
        # The seeds of auto come to 2 and 8, so 4; the best known is 2.
        runs = [run("a", 1, 1, auto=2, m_etf=4.1), run("a", 1, 2, auto=8, m_etf=4.1)]
        table = rows(runs, [1])
        self.assertEqual(table["`auto`"], ["2.000"])
        self.assertEqual(table[NEAR], ["1 of 1"])
        self.assertEqual(rows([*runs, run("b", 1, 1, auto=5, m_etf=4), run("b", 1, 2, auto=5, m_etf=4)], [1])[NEAR], ["1 of 2"])

    def test_what_does_not_fit_or_is_late_with_any_seed_has_no_result(self):
        runs = [run("a", 1, 1, auto=2, m_etf=None), run("a", 1, 2, auto=2, m_etf=3), run("b", 1, 1, auto=2, m_etf=2),
                run("b", 1, 2, late=["auto"], auto=1, m_etf=2)]
        table = rows(runs, [1])
        self.assertEqual(table["`auto`"], ["1.000 (1 of 2)"])
        self.assertEqual(table["`m-etf`"], ["2.000 (1 of 2)"])
        self.assertNotIn(NEAR, table)

    def test_the_head_names_seeds_and_pairs(self):
        runs = [run("a", 1, seed, auto=2) for seed in (3, 5)]
        arguments = types.SimpleNamespace(methods=["auto"], seconds=[1], seeds=[3, 5])
        text = anytime.markdown(runs, arguments, ["a"])
        self.assertIn("over 1 pairs of a graph and a machine; seeds: 3, 5,", text)

    def test_keeps_what_is_finished_but_the_methods_to_make_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "anytime.json"
            anytime.save(path, {anytime.key_of(made): made for made in (run("a", 1, 1, auto=2, m_etf=4), run("b", 1, 1, m_etf=4))})

            def methods(fresh=False, again=()):
                finished = anytime.load_finished(path, types.SimpleNamespace(fresh=fresh, again=again))
                return [set(made["methods"]) for made in finished.values()]

            self.assertEqual(methods(), [{"auto", "m-etf"}, {"m-etf"}])
            self.assertEqual(methods(again=["auto"]), [{"m-etf"}, {"m-etf"}])
            self.assertEqual(methods(fresh=True), [])
            self.assertEqual(len(json.loads(path.read_text())["runs"]), 2)


if __name__ == "__main__":
    unittest.main()
