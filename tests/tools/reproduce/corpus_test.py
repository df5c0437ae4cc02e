#!/usr/bin/env python3
"""What tools/reproduce/corpus.py captures, and how it goes on, without any of the models."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It finds the scripts.

import corpus
from lib.corpus_models import LANGUAGE, VISION, models

RESERVED = ("resnet", "densenet", "inception", "vgg", "alexnet", "squeezenet", "shufflenet", "zfnet", "gnmt", "googlenet")


class Corpus(unittest.TestCase):
    def run_script(self, folder, *arguments, say="ops"):
        """Runs it with processes that write the graphs they are asked for, or say why not; returns the models that were asked for."""
        asked = []

        def process(command, **_):
            asked.append("/".join(command[3:5]))
            lines = []
            for text in command[5:]:
                path = pathlib.Path(text.partition(":")[2])
                if say == "ops" or "training" not in path.name:
                    path.write_bytes(b"graph")
                lines.append(f"{path.name}: " + ("7 ops" if path.exists() else "skipped: BadInput: no backward"))
            return subprocess.CompletedProcess(command, 0, stdout="noise\n" + "\n".join(lines), stderr="")
        with mock.patch.object(sys, "argv", ["corpus.py", str(folder), *arguments]), mock.patch.object(subprocess, "run", side_effect=process), \
                mock.patch("builtins.print"):
            corpus.main()
        return asked

    def test_no_part_has_a_model_of_another_nor_a_reserved_one(self):
        names = [name for part in VISION.values() for models_of in part.values() for name in models_of] + [
            name for part in LANGUAGE.values() for name in part]
        self.assertEqual(len(names), len(set(names)))
        self.assertFalse([name for name in names for word in RESERVED if word in name])
        self.assertNotIn("bert", names)
        self.assertGreater(3 * len(models()), 300)
        self.assertEqual(len(models()), len(set(models())))

    def test_it_captures_up_to_the_limit_and_goes_on(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            first = self.run_script(folder, "--limit", "6")
            self.assertEqual(first, ["/".join(model[1:]) for model in models()[:2]])
            self.assertEqual(self.run_script(folder, "--limit", "6"), [])
            more = self.run_script(folder, "--limit", "9")
            self.assertEqual(more, ["/".join(models()[2][1:])])
            files = sorted(path.name for path in (folder / "train").iterdir())
        self.assertEqual(files[:3], ["timm_mobilenetv4_conv_small_inference.graph.json.zst", "timm_mobilenetv4_conv_small_training.graph.json.zst",
                                     "timm_mobilenetv4_conv_small_training_mb4.graph.json.zst"])

    def test_it_says_what_it_skips_and_does_not_try_that_again(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_script(folder, "--limit", "1", say="no")
            self.assertEqual((folder / "skipped.txt").read_text().splitlines(), [
                f"torchvision_mobilenet_v2_{way}.graph.json.zst: skipped: BadInput: no backward" for way in ("training", "training_mb2")])
            self.assertEqual(self.run_script(folder, "--limit", "2"), ["/".join(models()[1][1:])])

    def test_it_names_what_takes_too_long(self):
        wanted = [(pathlib.Path("a.graph.json.zst"), 0), (pathlib.Path("b.graph.json.zst"), 1)]
        late = subprocess.TimeoutExpired("it", 300, output=b"a.graph.json.zst: 7 ops\n")
        with mock.patch.object(subprocess, "run", side_effect=late):
            lines = corpus.run_model(wanted, "timm", "a", 300)
        self.assertEqual(lines, ["a.graph.json.zst: 7 ops", "b.graph.json.zst: skipped: not done after 300 s"])


if __name__ == "__main__":
    unittest.main()
