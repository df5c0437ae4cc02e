#!/usr/bin/env python3
"""What tools/reproduce/forty_models.py makes of rows, and how it goes on, without any of the models."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import cells

import forty_models
from lib.table import Table

GAINS = {"gain_2x1": 1.5, "gain_4x1": None, "gain_8x1": 3, "gain_2x4": 4, "gain_4x4": 5, "gain_8x4": 6, "gain_2x8": 7, "gain_4x8": 8, "gain_8x8": 9}
MODEL = {"model": "timm/nfnet_f0", "seconds": 1, "ops_1": 1000, "ops_4": 2000, "ops_8": 3000, "capture_s_1": 1.25, "capture_s_4": 2, "capture_s_8": 4,
         **GAINS}


class FortyModels(unittest.TestCase):
    def run_script(self, out, process, *arguments):
        with mock.patch.object(sys, "argv", ["forty_models.py", "--out", str(out), *arguments]), \
                mock.patch.object(subprocess, "run", side_effect=process) as run, mock.patch("lib.table.git", return_value=None), \
                mock.patch("builtins.print"):
            forty_models.main()
        return run

    def test_there_are_twenty_of_torchvision_and_twenty_others(self):
        self.assertEqual(len(set(forty_models.NAMES)), 40)
        self.assertEqual(sum(name.startswith("torchvision/") for name in forty_models.NAMES), 20)

    def test_a_line_has_the_gains_by_gpus_and_then_by_micro_batches(self):
        model = {**dict.fromkeys(forty_models.COLUMNS), **MODEL}
        failed = {**dict.fromkeys(forty_models.COLUMNS), "model": "timm/hrnet_w18", "error": "why"}
        lines = forty_models.table([model, failed])
        self.assertEqual(cells(lines[2]), ["timm/nfnet_f0", "1,000", "3,000", "1.2", "4.0", "1.50", "4.00", "7.00", "-", "5.00", "8.00", "3.00",
                                           "6.00", "9.00"])
        self.assertEqual(cells(lines[3])[:2], ["timm/hrnet_w18", "why"])
        self.assertEqual({len(cells(line)) for line in lines}, {14})
        lines = forty_models.table([model, model | dict.fromkeys(GAINS, 2)])
        # sqrt(1.5 * 2); of 4 GPUs with one micro-batch there is one gain alone.
        self.assertEqual([cells(lines[-1])[column] for column in (0, 5, 8, 13)], ["geometric mean", "1.73", "2.00", "4.24"])

    def test_it_goes_on_with_what_is_missing_or_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "models.csv"
            failed = subprocess.CompletedProcess([], 1, "", "Traceback\nValueError: no such model\n")
            self.run_script(out, [failed, subprocess.TimeoutExpired("x", 300)], "timm/nfnet_f0", "timm/hrnet_w18")
            errors = {row["model"]: row["error"] for row in Table(out, forty_models.COLUMNS).rows}
            self.assertEqual(errors, {"timm/nfnet_f0": "ValueError: no such model", "timm/hrnet_w18": "not done after 300 s"})
            done = subprocess.CompletedProcess([], 0, f"a line of a library\n{json.dumps(MODEL)}\n", "")
            self.assertEqual(self.run_script(out, [done], "timm/nfnet_f0").call_count, 1)
            self.assertEqual(self.run_script(out, [], "timm/nfnet_f0").call_count, 0)
            self.assertEqual(self.run_script(out, [done], "timm/nfnet_f0", "--fresh").call_count, 1)
            self.assertIn("| timm/nfnet_f0 | 1,000 |", out.with_suffix(".md").read_text())

    def test_captured_graphs_are_for_training_validation_and_test_and_those_that_are_there_stay(self):
        parts = [forty_models.part_of(name) for name in forty_models.NAMES]
        self.assertEqual({part: parts.count(part) for part in set(parts)}, {"train": 24, "validation": 4, "test": 12})
        with tempfile.TemporaryDirectory() as folder:
            there = pathlib.Path(folder) / "train/torchvision_alexnet.graph.json.zst"
            there.parent.mkdir()
            there.touch()
            done = subprocess.CompletedProcess([], 0, "a line of a library\nvgg16: 507 ops\n", "")
            run = self.run_script(pathlib.Path(folder) / "models.csv", [done], "torchvision/alexnet", "torchvision/vgg16", "--capture", folder)
            self.assertEqual(run.call_args[0][0][2:], ["--capture", folder, "--row", "torchvision/vgg16"])
            self.assertEqual(forty_models.graph_file(pathlib.Path(folder), "torchvision/vgg16"),
                             pathlib.Path(folder) / "test/torchvision_vgg16.graph.json.zst")


if __name__ == "__main__":
    unittest.main()
