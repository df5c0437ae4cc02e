#!/usr/bin/env python3
"""How tools/reproduce/training.py keeps runs: with a learner and an actor that only pretend."""
import argparse
import json
import pathlib
import tempfile
import threading
import time
import unittest

import support  # noqa: F401  It says where the scripts are.
from lib import training
from lib.script import BadInput

# Ends once an actor has come: with 13 updates it fails, with 14 it waits to be stopped, and leaves an interrupted run. Notes
# each call.
LEARNER = """#!/usr/bin/env python3
import json, pathlib, signal, sys, time
arguments = sys.argv[1:]
run = pathlib.Path(arguments[arguments.index("--dir") + 1])
def finish(interrupted):
    (run / "ledger.json").write_text(json.dumps({"total": {"produced": 40}}))
    line = json.dumps({"kind": "update", "steps": 96.0, "episodes": 3.0})
    (run / "metrics.jsonl").write_text(line + "\\n" + line[:9])
    summary = {"interrupted": interrupted, "updates": 5, "train_seconds": 1.5}
    if "name=earlier" not in arguments:
        summary["rewarded"] = "end" if "policy.kind=new" in arguments else "each_decision"
    (run / "summary.json").write_text(json.dumps(summary))
    sys.exit(0)
signal.signal(signal.SIGTERM, lambda *_: finish(True))
with open(run.parent / "calls", "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
if "training.iterations=13" in arguments:
    print("one too many")
    sys.exit(1)
kind = next((text.partition("=")[2] for text in arguments if text.startswith("policy.kind=")), "placeto")
(run / "config.yaml").write_text("name: x  # Of the run.\\npolicy:\\n  kind: " + kind + "\\n")
(run / "learner.json").write_text(json.dumps({"address": str(run / "actor-came")}))
while "training.iterations=14" in arguments or not (run / "actor-came").exists():
    time.sleep(0.01)
finish(False)
"""
ACTOR = """#!/usr/bin/env python3
import pathlib, sys
pathlib.Path(sys.argv[sys.argv.index("--learner") + 1]).write_text("here")
"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_dir = self.folder / "run"
        self.config = self.folder / "config.yaml"
        self.config.write_text("training: {iterations: 5}\n")
        for name, text in (("emplace-learner", LEARNER), ("emplace-actor", ACTOR)):
            program = self.folder / name
            program.write_text(text)
            program.chmod(0o755)

    def train(self, overrides=None, **options):
        return training.train(self.run_dir, self.config, overrides or {}, 7, programs=self.folder, **options)

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def test_a_run_is_trained_once(self):
        first = self.train({"training.discount": 1})
        self.assertEqual((first["updates"], first["seconds"], first["episodes"], first["simulations"]), (5, 1.5, 40, 40 * 32))
        self.assertEqual(first["improvements"], {})
        self.assertEqual(self.train({"training.discount": 1}), first)
        self.assertEqual(len(self.calls()), 1)
        self.assertIn("seed=7", self.calls()[0])
        self.assertIn("training.discount=1", self.calls()[0])
        self.train({"training.discount": 1}, fresh=True)
        self.assertEqual(len(self.calls()), 2)

    def test_a_kind_that_is_rewarded_once_simulates_once_an_episode(self):
        self.assertEqual(self.train({"policy.kind": "new"})["simulations"], 40)

    def test_what_an_earlier_learner_did_not_say_follows_from_its_kind(self):
        self.assertEqual(self.train({"name": "earlier", "policy.kind": "sgdp"})["simulations"], 40)
        self.assertEqual(self.train({"name": "earlier", "policy.kind": "placeto"}, fresh=True)["simulations"], 40 * 32)

    def test_another_run_in_its_place_is_refused(self):
        graph = self.folder / "a.graph.json"
        graph.write_text("one")
        overrides = {"workload.train_graphs": [graph]}
        self.train(overrides)
        with self.assertRaisesRegex(BadInput, "another 'overrides.training.discount'"):
            self.train({**overrides, "training.discount": 1})
        self.config.write_text("# The same, explained.\n\ntraining: {iterations: 5}  # Five.\n")
        self.train(overrides)
        graph.write_text("two")
        with self.assertRaisesRegex(BadInput, "another 'overrides.workload.train_graphs'"):
            self.train(overrides)
        graph.write_text("one")
        self.config.write_text("training: {iterations: 6}\n")
        with self.assertRaisesRegex(BadInput, "another 'config'"):
            self.train(overrides)
        self.assertEqual(len(self.calls()), 1)

    def test_a_folder_of_something_else_stays(self):
        self.run_dir.mkdir()
        (self.run_dir / "thesis.tex").write_text("years")
        with self.assertRaisesRegex(BadInput, "is not a run of these scripts"):
            self.train(fresh=True)
        self.assertTrue((self.run_dir / "thesis.tex").exists())

    def test_a_failure_shows_the_end_of_the_log(self):
        with self.assertRaisesRegex(SystemExit, "learner ended with exit code 1(.|\n)*one too many"):
            self.train({"training.iterations": 13})

    def test_a_dead_actor_ends_the_run(self):
        (self.folder / "emplace-actor").write_text("#!/bin/sh\necho no luck\nexit 3\n")
        with self.assertRaisesRegex(SystemExit, "actor-0 ended with exit code 3(.|\n)*no luck"):
            self.train()

    def test_a_stopped_run_goes_on(self):
        stop = threading.Event()
        thread_result = []

        def train():
            try:
                self.train({"training.iterations": 14}, stop=stop)
            except KeyboardInterrupt:
                thread_result.append("stopped")

        thread = threading.Thread(target=train)
        thread.start()
        while thread.is_alive() and not (self.run_dir / "actor-came").exists():
            time.sleep(0.01)
        stop.set()
        thread.join()
        self.assertEqual(thread_result, ["stopped"])
        self.assertFalse(training.is_finished(self.run_dir))
        (self.folder / "emplace-learner").write_text(LEARNER.replace("iterations=14", "iterations=15"))
        self.train({"training.iterations": 14})
        self.assertTrue(training.is_finished(self.run_dir))
        self.assertEqual(["--resume" in call for call in self.calls()], [False, True])

    def test_many_at_once(self):
        arguments = argparse.Namespace(runs=self.folder / "runs", programs=self.folder, settings=["training.discount=0.5"],
                                       fresh=False, jobs=3)
        tasks = [training.Task(f"all/{seed}", self.config, {}, seed) for seed in range(5)]
        trained = training.train_all(tasks, arguments)
        self.assertEqual(sorted(trained), [f"all/{seed}" for seed in range(5)])
        for seed in range(5):
            record = json.loads((self.folder / f"runs/all/{seed}/reproduce.json").read_text())
            self.assertEqual((record["seed"], record["overrides"]), (seed, {"training.discount": "0.5"}))


class Values(unittest.TestCase):
    def test_values_as_yaml(self):
        for value, text in ((True, "true"), (0, "0"), ("", '""'), ("random", "random"), ([], "[]"),
                            ([pathlib.Path("/a b/c")], '["/a b/c"]'), (pathlib.Path("/a b"), '"/a b"')):
            self.assertEqual(training.shown(value), text)

    def test_paths_do_not_start_at_the_folder_of_a_configuration(self):
        here = pathlib.Path.cwd()
        self.assertEqual(training.shown(pathlib.Path("a")), f'"{here}/a"')
        self.assertEqual(training.shown([pathlib.Path("a"), "b"]), f'["{here}/a", "b"]')

    def test_a_section_in_one_line(self):
        text = "name: net  # Of the run.\nworkload: {family: ptb, devices: \"clusters/k80x2.yaml\"}\npolicy:\n  # Of it.\n  kind: rnn\n"
        self.assertEqual(training.settings_in(text), {"name": "net", "workload.family": "ptb",
                                                      "workload.devices": "clusters/k80x2.yaml", "policy.kind": "rnn"})

    def test_a_resolved_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "config.yaml").write_text(
                'name: "x"  # Of the run.\nworkload:\n  family: ""  # Empty: none.\n'
                "  ranges: []  # As 'steps=10..20'.\ntraining:\n  iterations: 3  # Updates.\nseed: 1\n")
            self.assertEqual(training.resolved(pathlib.Path(folder)),
                             {"name": "x", "workload.family": "", "workload.ranges": "[]", "training.iterations": "3",
                              "seed": "1"})


if __name__ == "__main__":
    unittest.main()
