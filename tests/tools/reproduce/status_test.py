#!/usr/bin/env python3
"""status.py in a repository of its own: when a table was made, and what has changed under it."""
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It says where the scripts are.
import status
from script import BadInput


class Status(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        patch = mock.patch.object(status, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        self.git("init", "-q")

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", "-C", self.root, *who, *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", name)

    def test_counts_the_commits_to_what_a_table_depends_on(self):
        table = status.Table("reproduce/a.json", ("simulator", "policy"))
        self.commit("simulator/x", "1")
        self.commit("tools/reproduce/a.json", "{}")
        made = self.git("log", "-1", "--format=%h")
        for name, text in (("simulator/x", "2"), ("docs/y", "1"), ("policy/z", "1")):
            self.commit(name, text)
        row = status.status_of(table)
        self.assertEqual((row["commit"], row["commits_since"]), (made, 2))
        self.commit("tools/reproduce/a.json", "{ }")
        self.assertEqual(status.status_of(table)["commits_since"], 0)

    def test_a_table_that_is_in_no_commit_is_named(self):
        self.commit("simulator/x", "1")
        with self.assertRaisesRegex(BadInput, "tools/reproduce/b.json: is in no commit"):
            status.status_of(status.Table("reproduce/b.json", ("simulator",)))

    def test_lists_every_folder_of_numbers(self):
        reproduce = pathlib.Path(status.__file__).parent
        listed = {table.numbers.removeprefix("reproduce/") for table in status.TABLES}
        for path in reproduce.iterdir():
            if path.is_dir() and path.name not in ("anytime", "__pycache__"):
                self.assertIn(path.name, listed)
            if path.suffix in (".json", ".csv"):
                self.assertIn(path.name, listed)


if __name__ == "__main__":
    unittest.main()
