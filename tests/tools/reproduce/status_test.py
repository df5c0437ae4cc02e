#!/usr/bin/env python3
"""status.py in a repository of its own: when a table was made, and what has changed under it."""
import datetime
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It says where the scripts are.
import status
from lib import table
from lib.script import BadInput
from lib.table import Call, Table


class Status(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        patch = mock.patch.object(table, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        self.git("init", "-q")
        self.commit("simulator/x", "1")

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", "-C", self.root, *who, *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name, text):
        """Writes and commits a file; the commit."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", name)
        return self.git("log", "-1", "--format=%h")

    def table(self, *stamps):
        """A table with a row for each (date, commit)."""
        made = Table(self.root / "results/a.csv", {"us": float}, ("simulator", "policy"))
        made.rows = [{"call": Call("c", date, commit, "p"), "us": 1.0} for date, commit in stamps]
        made.save()
        return made.path

    def test_counts_the_commits_to_what_a_table_depends_on(self):
        made = self.git("log", "-1", "--format=%h")
        for name, text in (("simulator/x", "2"), ("docs/y", "1"), ("policy/z", "1")):
            self.commit(name, text)
        today = datetime.date.today()
        path = self.table(((today - datetime.timedelta(3)).isoformat(), made))
        self.assertEqual(status.lines_of(path), [{"table": "a", "rows": 1, "made": (today - datetime.timedelta(3)).isoformat(), "age_days": 3,
                                                  "commit": made, "commits_since": 2, "depends": ["simulator", "policy"]}])

    def test_a_line_for_each_commit_of_its_rows_the_oldest_first(self):
        first = self.git("log", "-1", "--format=%h")
        second = self.commit("simulator/x", "2")
        path = self.table(("2026-11-22", f"{second} with changes"), ("2026-11-21", f"{first} or before"), ("2026-11-22", f"{second} with changes"),
                          ("2026-11-23", "unknown"), ("2026-11-24", "1234567"))
        self.assertEqual([(one["rows"], one["commit"], one["commits_since"]) for one in status.lines_of(path)],
                         [(1, f"{first} or before", 1), (2, f"{second} with changes", 0), (1, "unknown", None), (1, "1234567", None)])

    def test_a_file_without_a_stamp_is_as_old_as_its_last_commit(self):
        with self.assertRaisesRegex(BadInput, "counts.json: is in no commit"):
            status.other_line("counts.json", ["simulator"])
        made = self.commit("counts.json", "{}")
        self.commit("simulator/x", "2")
        found = status.other_line("counts.json", ["simulator"])
        self.assertEqual((found["commit"], found["commits_since"]), (f"{made} or before", 1))


if __name__ == "__main__":
    unittest.main()
