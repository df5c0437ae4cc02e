#!/usr/bin/env python3
"""How the scripts of tools/reproduce end."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It says where the scripts are.
from lib import networks
from lib.script import BadInput, run_apart, run_script


def ended(main, *words, **options):
    """(exit code or last words of a script, its standard error)"""
    stderr = io.StringIO()
    with mock.patch.object(sys, "argv", ["/some/where/tables.py", *words]), contextlib.redirect_stderr(stderr):
        try:
            run_script(main, **options)
        except SystemExit as end:
            return end.code, stderr.getvalue()
    return 0, stderr.getvalue()


class Script(unittest.TestCase):
    def test_bad_input_is_one_line_and_exit_code_2(self):
        def main():
            raise BadInput("--seeds -1: expected numbers from 0")
        self.assertEqual(ended(main), (2, "tables.py: --seeds -1: expected numbers from 0\n"))

    def test_one_that_is_stopped_says_how_to_go_on(self):
        def main():
            raise KeyboardInterrupt
        self.assertEqual(ended(main)[0], "tables.py: stopped; the same command goes on from here")
        self.assertEqual(ended(main, "--fresh")[0], "tables.py: stopped; the same command, without --fresh, goes on from here")

    def test_one_that_keeps_nothing_says_so(self):
        def main():
            raise KeyboardInterrupt
        self.assertEqual(ended(main, goes_on=False)[0], "tables.py: stopped; nothing is kept")

    def test_one_that_is_done(self):
        self.assertEqual(ended(lambda: None), (0, ""))

    def test_a_command_that_was_given_bad_input_passes_it_on(self):
        def calling(code):
            return lambda: networks.call(["sh", "-c", f"echo no such graph >&2; exit {code}"])
        self.assertEqual(ended(calling(2))[0], 2)
        self.assertIn("no such graph", ended(calling(2))[1])
        self.assertIn("exit code 3: no such graph", ended(calling(3))[0])


class Apart(unittest.TestCase):
    def run_apart(self, text, timeout_s=60):
        """What comes of a script with this text that runs apart."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script.py"
            script.write_text(f"import os, sys, time\nprint('begun', sys.argv[1], flush=True)\n{text}\n")
            with mock.patch.object(sys, "argv", [str(script)]):
                return run_apart(["word"], timeout_s)

    def test_one_that_ends_well_has_no_failure_whatever_it_says(self):
        self.assertEqual(self.run_apart("print('a warning', file=sys.stderr)"), (["begun word"], None))

    def test_one_that_fails_is_told_by_its_last_words_or_its_exit_code(self):
        self.assertEqual(self.run_apart("raise ValueError('no such model')"), (["begun word"], "ValueError: no such model"))
        self.assertEqual(self.run_apart("os.kill(os.getpid(), 9)"), (["begun word"], "exit code -9"))

    def test_one_that_takes_too_long_is_ended(self):
        self.assertEqual(self.run_apart("time.sleep(1000)", timeout_s=1)[1], "not done after 1 s")


if __name__ == "__main__":
    unittest.main()
