#!/usr/bin/env python3
"""The arithmetic of tools/reproduce/results.py: on a document made by hand, and against what `emplace evaluate` has written."""
import argparse
import json
import math
import pathlib
import tempfile
import unittest
from unittest import mock

from support import row

from lib import results
from lib.results import Results, mean_interval
from lib.script import BadInput


def three_graphs():
    """One device takes 100, 200 and 400 us."""
    single_us = {"a": 100.0, "b": 200.0, "c": 400.0}
    rows = [row("a", "policy", 1, 80.0), row("b", "policy", 1, 150.0), row("c", "policy", 1, 280.0),
            row("a", "policy", 2, 90.0), row("b", "policy", 2, 130.0), row("c", "policy", 2, 50.0, feasible=False),
            row("a", "alone", 1, 80.0), row("b", "alone", 1, 125.0), row("c", "alone", 1, 200.0),
            row("a", "scotch", 1, 80.0), row("b", "scotch", 1, 160.0), row("c", "scotch", 1, 270.0),
            row("a", "scotch", 2, 70.0), row("b", "scotch", 2, 160.0), row("c", "scotch", 2, 400.0)]
    return Results([{**one, "single_device_us": single_us[one["graph"]]} for one in rows])


class MeanInterval(unittest.TestCase):
    def test_three_values(self):
        # Mean 2, standard deviation 1: 2 -+ 4.303 / sqrt(3).
        self.assertEqual(mean_interval([1, 2, 3]).mean, 2)
        self.assertAlmostEqual(mean_interval([1, 2, 3]).low, 2 - 4.303 / math.sqrt(3))
        self.assertAlmostEqual(mean_interval([1, 2, 3]).high, 2 + 4.303 / math.sqrt(3))

    def test_more_values_than_the_table_of_t_has(self):
        # 16 zeros and 16 twos: mean 1, variance 32 / 31.
        self.assertAlmostEqual(mean_interval([0, 2] * 16).high, 1 + 1.96 * math.sqrt(32 / 31 / 32))

    def test_one_value_none_and_what_does_not_fit(self):
        self.assertEqual(mean_interval([0.7]).text(), "0.700")
        self.assertEqual(mean_interval([]).text(), "-")
        self.assertEqual(mean_interval([0.7, math.inf]).text(), "OOM")


class OnThreeGraphs(unittest.TestCase):
    def test_median_ratio(self):
        # Seed 1: 0.8, 0.75, 0.7. Seed 2: 0.9, 0.65, does not fit.
        interval = three_graphs().median_ratio("policy")
        self.assertAlmostEqual(interval.mean, (0.75 + 0.9) / 2)
        self.assertEqual(interval.count, 2)

    def test_gap(self):
        # Seed 1: 80/80, 150/125, 280/200: median 20%. Seed 2: 90/80, 130/125, never: median 12.5%. `alone` has one seed.
        interval = three_graphs().gap("policy", ["alone"])
        self.assertAlmostEqual(interval.mean, (0.2 + 0.125) / 2)
        # With scotch of the same seed: seed 1 as before; seed 2: 90/70, 130/125, never: median 2/7.
        interval = three_graphs().gap("policy", ["alone", "scotch"])
        self.assertAlmostEqual(interval.mean, (0.2 + 2 / 7) / 2)

    def test_gap_of_graphs_that_both_have(self):
        few = three_graphs()
        few = Results([r for r in few.rows if (r["method"], r["graph"]) not in {("alone", "a"), ("alone", "c")}])
        self.assertAlmostEqual(few.gap("policy", ["alone"]).mean, (0.2 + 0.04) / 2)
        self.assertEqual(few.gap("policy", ["heft"]).count, 0)

    def test_share_not_beaten(self):
        # Seed 1: a is equal, b faster, c slower: 2/3. Seed 2: a slower, b faster, c does not fit: 1/3.
        interval = three_graphs().share_not_beaten("policy", ["scotch"])
        self.assertAlmostEqual(interval.mean, 0.5)
        self.assertEqual((interval.low, interval.high), (0, 1))  # Of a share there is no more.
        # Against the better of both, seed 1: only a. Seed 2: none.
        self.assertAlmostEqual(three_graphs().share_not_beaten("policy", ["scotch", "alone"]).mean, 1 / 6)

    def test_goals(self):
        rows = results.goals_on_unseen(three_graphs(), "policy", "alone", ["scotch"], ["scotch", "alone"])
        self.assertEqual([row[-1] for row in rows], ["missed", "missed", "missed", "met", "met"])
        self.assertIn("| 50.0% (0.0%..100.0%) | at least 90.0% |", results.goal_table(rows)[2])

    def test_a_goal_is_met_at_its_limit_and_not_beyond(self):
        exact, beyond = mean_interval([0.05]), mean_interval([0.0500001])
        self.assertEqual(results.verdict("x", exact, 0.05, True)[-1], "met")
        self.assertEqual(results.verdict("x", beyond, 0.05, True)[-1], "missed")
        self.assertEqual(results.verdict("x", exact, 0.05, False)[-1], "met")
        self.assertEqual(results.verdict("x", mean_interval([math.inf]), 0.05, True)[-1], "missed")
        self.assertIn("not measured", results.verdict("x", mean_interval([]), 0.05, True))

    def test_better(self):
        slow, fast, misfit = row("a", "x", 1, 9.0), row("a", "x", 1, 8.0), row("a", "x", 1, 1.0, feasible=False)
        for first, second, best in ((slow, fast, fast), (fast, slow, fast), (slow, misfit, slow), (misfit, slow, slow)):
            self.assertIs(results.better(first, second), best)


class FoundInTraining(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_dir = pathlib.Path(folder.name)
        (self.run_dir / "placements").mkdir()

    def found(self, claimed_us, simulated):
        """The row of a run that claims a placement of this time, which is simulated so."""
        run = {"run_dir": self.run_dir, "simulations": 640, "seconds": 2.5,
               "improvements": {"a": [{"makespan_us": 99.0}, {"makespan_us": claimed_us}]}}
        arguments = argparse.Namespace(programs=pathlib.Path("bin"))
        with mock.patch.object(results, "call", return_value=json.dumps(simulated)) as call:
            found = results.found_row(arguments, "alone", 4, row("a", "policy", 1, 90.0), pathlib.Path("a.graph.json"),
                                      pathlib.Path("d.yaml"), run)
        self.assertIn(self.run_dir / "placements/a.placement.json", call.call_args[0][0])
        return found

    def test_it_is_what_the_simulator_says_of_the_last_improvement(self):
        found = self.found(80.0, {"makespan_us": 80.0, "peak_bytes": [1, 2]})
        self.assertEqual(found, {"graph": "a", "method": "alone", "seed": 4, "makespan_us": 80.0, "feasible": True, "evaluations": 640,
                                 "seconds": 2.5, "single_device_us": 100.0})

    def test_a_false_claim_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "takes 81.0 us, expected 80.0"):
            self.found(80.0, {"makespan_us": 81.0, "peak_bytes": [1, 2]})

    def test_nothing_found_does_not_fit(self):
        run = {"run_dir": self.run_dir, "simulations": 640, "seconds": 2.5, "improvements": {}}
        found = results.found_row(None, "alone", 4, row("a", "policy", 1, 90.0), None, None, run)
        self.assertEqual((found["makespan_us"], found["feasible"], results.time_of(found)), (None, False, math.inf))

    def test_a_run_that_keeps_no_placements_is_an_error(self):
        (self.run_dir / "placements").rmdir()
        with self.assertRaisesRegex(BadInput, "expected the placements"):
            self.found(80.0, {"makespan_us": 80.0, "peak_bytes": [1, 2]})


class AgainstEvaluate(unittest.TestCase):
    def test_summaries_are_those_of_the_command(self):
        # `emplace evaluate --json` wrote it for four ptb graphs, two K80s with links of 100 GB/s and two seeds.
        document = json.loads((pathlib.Path(__file__).parent / "evaluation.json").read_text())
        mine = Results(results.rows_of(document)).summary()
        self.assertEqual(list(mine), list(document["summary"]))
        for method, summary in document["summary"].items():
            for key, value in summary.items():
                for got, wanted in zip(*([x] if not isinstance(x, list) else x for x in (mine[method][key], value))):
                    same = got == wanted if wanted is None else math.isclose(got, wanted, rel_tol=1e-9)
                    self.assertTrue(same, (method, key, got, wanted))


class SamplesToNear(unittest.TestCase):
    def test_samples_until_near_the_best(self):
        improvements = [{"episodes": 3, "makespan_us": 120.0}, {"episodes": 8, "makespan_us": 100.9},
                        {"episodes": 50, "makespan_us": 100.0}]
        self.assertEqual(results.samples_to_near(improvements), 8)
        self.assertIsNone(results.samples_to_near([]))


if __name__ == "__main__":
    unittest.main()
