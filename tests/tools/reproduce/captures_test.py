#!/usr/bin/env python3
"""What tools/reproduce/captures.py makes of rows, and how it goes on, without any of the models."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It finds the scripts.

import captures
from lib.table import Table

INFERENCE, TRAINING, PARTS = captures.WAYS
ROWS = [{"model": "timm/resnet18", "way": INFERENCE, "ops": 192, "equal": True},
        {"model": "timm/resnet18", "way": TRAINING, "ops": 410, "equal": False},
        {"model": "timm/resnet18", "way": PARTS, "reason": "the model: aten.nonzero, needs values"}]


class Captures(unittest.TestCase):
    def run_script(self, out, process, *arguments):
        with mock.patch.object(sys, "argv", ["captures.py", "--out", str(out), *arguments]), \
                mock.patch.object(subprocess, "run", side_effect=process) as run, mock.patch("lib.table.git", return_value=None), \
                mock.patch("builtins.print"):
            captures.main()
        return run

    def test_there_are_enough_of_each_library(self):
        for library, least in (("transformers", 30), ("diffusers", 15), ("timm", 15)):
            self.assertGreaterEqual(len({name for name in captures.NAMES if name.startswith(library + "/")}), least)

    def test_says_how_many_of_each_library(self):
        # Two of three ways have a graph; two comparisons, of which one is equal.
        rows = [{**dict.fromkeys(captures.COLUMNS), **row} for row in ROWS]
        self.assertEqual(captures.summary(rows), f"timm: captured 1 of 1 in {INFERENCE}, 1 of 1 in {TRAINING}, 0 of 1 in {PARTS}; "
                                                 "1 of 2 comparisons equal bit for bit")

    def test_it_goes_on_with_what_is_missing_and_names_what_takes_too_long(self):
        done = subprocess.CompletedProcess([], 0, stdout="noise\n" + json.dumps(ROWS) + "\n", stderr="")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "c.csv"
            self.assertEqual(self.run_script(out, [done], "timm/resnet18").call_count, 1)
            late = subprocess.TimeoutExpired("it", 180)
            self.assertEqual(self.run_script(out, [late], "timm/resnet18", "timm/vgg11_bn").call_count, 1)
            rows = Table(out, captures.COLUMNS).rows
        self.assertEqual([row["ops"] for row in rows if row["model"] == "timm/resnet18"], [192, 410, None])
        self.assertEqual({row["reason"] for row in rows if row["model"] == "timm/vgg11_bn"}, {"not done after 180 s"})


if __name__ == "__main__":
    unittest.main()
