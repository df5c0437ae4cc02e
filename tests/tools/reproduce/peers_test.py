#!/usr/bin/env python3
"""What tools/reproduce/peers.py says of rows made by hand, and what it reads out of a run's lines."""
import argparse
import pathlib
import tempfile
import unittest

from support import CALL, cells

import peers
from lib import peer_runs


def row(system, seed=1, workers=2, seconds=600.0, **found):
    figures = {"steps_per_s": 1000.0, "trained_per_s": 900.0, "to_080_s": 20.0, "to_075_s": 30.0, "to_072_s": None, "best": 0.74,
               "lag_mean": 0.0, "lag_most": 0.0, "resident_mib": 500.0, "start_s": 5.0, "other_cores": 0.01, "failed": None}
    return {"call": CALL, "system": system, "workers": workers, "seed": seed, "seconds": seconds, **figures, **found}


class Peers(unittest.TestCase):
    def test_a_line_for_each_system_with_what_not_all_seeds_reach(self):
        text = peers.train_lines([row("plain_ppo", 1, to_072_s=100.0), row("plain_ppo", 2), row("rllib_ppo", failed="does not install: it says nothing")])
        first, second = map(cells, text[2:])
        self.assertEqual(first[:8], ["plain PPO", "2", "2", "1,000 (1,000..1,000)", "900 (900..900)", "20 (20..20)", "30 (30..30)", "1 of 2 runs"])
        self.assertEqual(second[3], "does not install: it says nothing")
        self.assertEqual(len(first), len(second))

    def test_where_emplace_is_behind_comes_first(self):
        rows = [row("emplace_run", steps_per_s=500.0, best=0.70, lag_mean=1.5), row("plain_ppo"), row("torchrl_ppo", failed="made no update")]
        text = peers.markdown(rows)
        self.assertLess(text.index("## Where Emplace is behind"), text.index("## 600 seconds"))
        self.assertIn("- environment steps/s: 500; ahead are plain PPO 1,000\n", text)
        self.assertIn("- mean lag, versions: 1.5; ahead are plain PPO 0.0\n", text)
        self.assertNotIn("- the best policy", text)

    def test_emplace_alone_is_ahead_of_nobody(self):
        text = peers.markdown([row("emplace_run")])
        self.assertIn("## Where Emplace is behind\n- No other system has run so long yet.\n", text)
        self.assertIn(f"\nOn {CALL.processor}. Before a run, other work took 0.01 cores at most.\n", text)

    def test_the_shape_is_by_workers(self):
        lines = peers.shape_lines([row("plain_ppo", workers=1, seconds=60.0), row("plain_ppo", workers=16, seconds=60.0, trained_per_s=2500.0),
                                   row("rllib_ppo", workers=16, seconds=60.0, trained_per_s=None, failed="made no update")])
        self.assertEqual([cells(line) for line in (lines[0], *lines[2:])],
                         [["system", "1", "16"], ["plain PPO", "900", "2,500"], ["RLlib 2.60.0", "-", "-"]])

    def test_training_takes_the_fastest_number_of_workers(self):
        rows = [row("plain_ppo", workers=workers, seconds=60.0, trained_per_s=rate) for workers, rate in ((1, 10.0), (4, 30.0), (8, None))]
        arguments = argparse.Namespace(what="train", seeds=None, workers=None, seconds=None, systems=["plain_ppo", "rllib_ppo"])
        self.assertEqual(list(peers.plan(arguments, rows))[:2], [("plain_ppo", 4, 1, 600), ("rllib_ppo", 2, 1, 600)])

    def test_figures_of_a_run(self):
        lines = [{"time": 105.0, "steps": 1000, "trained": 500, "lag": [0, 1, 4], "weights": "a"},
                 {"time": 110.0, "ratio": 0.78},
                 {"time": 115.0, "steps": 3000, "trained": 1500, "lag": [0, 2, 3], "weights": "b"}]
        found = peer_runs.figures(lines, {"a": 0.9, "b": 0.74}, 100.0, peers.GOALS)
        self.assertEqual(found, {"steps_per_s": 200.0, "trained_per_s": 100.0, "to_080_s": 10.0, "to_075_s": 15.0, "to_072_s": None,
                                 "best": 0.74, "lag_mean": 1.5, "lag_most": 4, "start_s": 5.0})

    def test_a_resumed_run_has_weights_that_were_written(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, content in (("a", b"1"), ("b", b"2"), ("c", b"1"), ("d", b"3")):
                (folder / file).write_bytes(content)
            written = [{"time": 1, "steps": 5, "weights": "a"}, {"time": 2, "steps": 9, "weights": "b"}]
            for file, same in (("c", True), ("d", False)):
                self.assertEqual(peers.resumption([*written, {"time": 3, "resumed_steps": 5, "weights": file}], folder),
                                 {"resumed_steps": 5, "same_weights": same})
            self.assertEqual(peers.resumption([*written, {"time": 3, "resumed_steps": 5, "weights": None}], folder),
                             {"resumed_steps": 5, "same_weights": None})
        self.assertEqual(peers.resumption(written, folder), {})

    def test_the_text_of_faults(self):
        found = {"call": CALL, "system": "plain_ppo", "killed": "driver", "outcome": "ends after 2 s", "leftover": 1, "steps": 900,
                 "resumed_steps": 700, "same_weights": True}
        line = next(line for line in peers.faults_markdown([found]).splitlines() if line.startswith("| plain"))
        self.assertEqual(cells(line), ["plain PPO", "driver", "ends after 2 s", "1", "900", "200", "yes"])

    def test_the_reason_of_a_failure_is_its_last_error(self):
        self.assertEqual(peer_runs.reason("x\nValueError: a\n  KeyError: b\n[end of output]\n"), "KeyError: b")
        self.assertEqual(peer_runs.reason(""), "it says nothing")


if __name__ == "__main__":
    unittest.main()
