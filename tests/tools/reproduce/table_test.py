#!/usr/bin/env python3
"""Result tables, as tools/reproduce/lib/table.py writes and reads them."""
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  It says where the scripts are.
from lib import table
from lib.script import BadInput
from lib.table import Call, Numbers, Table

COLUMNS = {"graph": str, "seed": int, "us": float, "fits": bool, "rounds": Numbers, "why": str}
ROWS = [{"graph": "a, \"b\"", "seed": 1, "us": 81234.5, "fits": True, "rounds": [1.0, 2.5], "why": None},
        {"graph": "2", "seed": None, "us": None, "fits": False, "rounds": None, "why": "one line: # no call 7"}]


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "results/x.csv"

    def called(self, *words, rows=ROWS, commit="abc1234", fresh=False):
        """The table after a call of a script with these words has added rows."""
        made = Table(self.path, COLUMNS, ("simulator", "policy/x.cc"), fresh)
        stamps = {"rev-parse": commit, "status": ""}
        with mock.patch.object(sys, "argv", ["/some/where/x.py", *words]), mock.patch.object(table, "git", lambda word, *_: stamps[word]):
            made.add(rows)
        made.save()
        return made


class Written(InAFolder):
    def test_is_read_as_it_was_written(self):
        made = self.called("ptb")
        made.facts = {"load": [0.5, 1], "ptb 400, a rule": {"1": "x"}}
        made.save()
        again = Table(self.path, COLUMNS)
        self.assertEqual(again.rows, [{"call": again.calls[0], **row} for row in ROWS])
        self.assertEqual(again.facts, made.facts)
        self.assertEqual(again.depends, ("simulator", "policy/x.cc"))
        self.assertEqual(again.text(), made.text())

    def test_says_of_each_row_by_which_call(self):
        self.called("ptb")
        self.called("nmt", "--jobs", "2", rows=ROWS[:1])
        self.called("nmt", rows=ROWS[:1])  # The same call, on the same day.
        self.called("nmt", rows=ROWS[:1], commit="def5678")
        calls = Table(self.path, COLUMNS).calls
        self.assertEqual([(call.command, call.commit) for call in calls],
                         [("tools/reproduce/x.py ptb", "abc1234"), ("tools/reproduce/x.py nmt", "abc1234"), ("tools/reproduce/x.py nmt", "def5678")])
        self.assertRegex(calls[0].processor, r", \d+ cores$")
        self.assertEqual([line[0] for line in self.path.read_text().splitlines() if not line.startswith(("#", "call"))], list("11223"))

    def test_forgets_calls_that_no_row_is_left_of(self):
        self.called("ptb", rows=ROWS[:1])
        made = self.called("nmt", rows=ROWS[1:])
        made.remove(graph=ROWS[0]["graph"], seed=1)
        made.save()
        again = Table(self.path, COLUMNS)
        self.assertEqual([call.command for call in again.calls], ["tools/reproduce/x.py nmt"])
        self.assertEqual([row["graph"] for row in again.rows], ["2"])
        self.assertEqual(self.called("ptb", rows=[], fresh=True).rows, [])

    def test_twelve_digits_are_kept(self):
        us = 124170.03455546316
        self.called("ptb", rows=[{"us": us}])
        self.assertEqual(Table(self.path, COLUMNS).rows[0]["us"], 124170.034555)
        with self.assertRaises(ValueError):
            self.called("ptb", rows=[{"us": float("inf")}])

    def test_a_text_of_added_rows_is_one_of_the_file(self):
        table = Table(self.path, {"seconds": float})
        table.add([{"seconds": 4806.54}])
        table.save()
        self.assertEqual(table.rows[0]["seconds"], Table(self.path, {"seconds": float}).rows[0]["seconds"])

    def test_a_column_that_there_is_not_is_a_mistake(self):
        with self.assertRaisesRegex(ValueError, "x.csv has no column time"):
            self.called("ptb", rows=[{"time": 1}])

    def test_a_text_that_shows_it_is_put_beside_it(self):
        with mock.patch("builtins.print"):
            self.called("ptb").save("# Shown\n")
        self.assertEqual(self.path.with_suffix(".md").read_text(), "# Shown\n")
        self.assertEqual({path.name for path in self.path.parent.iterdir()}, {"x.csv", "x.md"})


class Refused(InAFolder):
    def refused(self, old, new, message):
        self.called("ptb")
        text = self.path.read_text()
        self.assertIn(old, text)
        self.path.write_text(text.replace(old, new, 1))
        with self.assertRaisesRegex(BadInput, re.escape(str(self.path)) + message):
            Table(self.path, COLUMNS)
        self.path.unlink()

    def test_what_is_no_table_is_named_with_its_line(self):
        self.refused("# emplace.table/1", "# x", ":1: is no emplace.table/1")
        self.refused("#   2", "#   x", ":4: expected the date, commit and processor of call 1")
        self.refused("# call 1", "# call 2", ":4: expected the date, commit and processor of call 1")
        self.refused("# depends: ", "# depends ", ":2: expected a name, a colon and JSON")
        self.refused("seed,us", "us,seed", ":5: the columns are call, graph, us, seed, .*, expected call, graph, seed, us")
        self.refused("1,81234.5", "x,81234.5", ":6: 'seed' is 'x', expected int")
        self.refused("true", "yes", ":6: 'fits' is 'yes', expected bool")
        self.refused("\n1,2,", "\n2,2,", ":7: 'call' is '2', expected one of the head's 1 calls")
        self.refused("no call 7", "no call 7,8", ":7: has 1 cells too many")
        self.refused(",one line: # no call 7", "", ":7: 'why' is 'None', expected str")


class Markdown(unittest.TestCase):
    def test_rows_are_lines_between_bars(self):
        self.assertEqual(table.table_lines(["way", "us", None], "lrl", [["a", 1.5, "met"], ["b", None, ""]]),
                         ["| way | us | |", "| --- | ---: | --- |", "| a | 1.5 | met |", "| b | |  |"])

    def test_further_columns_are_like_the_last_one(self):
        self.assertEqual(table.table_lines(list("abcd"), "lr", [])[1], "| --- | ---: | ---: | ---: |")

    def test_rows_are_whole(self):
        for alignment, row in (("lrr", [1, 2]), ("lr", [1])):
            with self.assertRaisesRegex(ValueError, "than the 2 columns"):
                table.table_lines(["a", "b"], alignment, [row])


class Stamp(unittest.TestCase):
    def test_a_command_names_no_place_and_nothing_that_changes_no_result(self):
        argv = ["/somewhere/profiles.py", "--fresh", "/data/net.graph.json=gpu", "--runs", "/tmp/runs", "--jobs=2", "--methods", "policy",
                "best of 8", "--out", "x.csv", "--seeds", "1", "2"]
        with mock.patch.object(sys, "argv", argv):
            self.assertEqual(table.command_line(), "tools/reproduce/profiles.py net.graph.json=gpu --methods policy 'best of 8' --seeds 1 2")

    def test_a_commit_is_with_changes_where_what_numbers_come_from_is_not_committed(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(table, "ROOT", pathlib.Path(folder)):
            self.assertEqual(table.this_call(["a"]).commit, "unknown")
            for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]):
                subprocess.run(["git", "-C", folder, *words], check=True)
            commit = table.git("rev-parse", "--short", "HEAD")
            (pathlib.Path(folder) / "b").write_text("1")
            self.assertEqual(table.this_call(["a"]).commit, commit)
            (pathlib.Path(folder) / "a").write_text("1")
            self.assertEqual(table.this_call(["a"]).commit, commit + " with changes")

    def test_made_by_names_each_command_once(self):
        calls = [Call("x", "2026-11-21", "a", "p"), Call("y", "2026-11-22", "b", "p"), Call("x", "2026-11-21", "a", "p"),
                 Call("x", "2026-11-23", "c or before", "p")]
        self.assertEqual(table.made_by({"call": call} for call in calls),
                         "By `x` (2026-11-21, commit a; 2026-11-23, commit c or before) and `y` (2026-11-22, commit b).")


class Shipped(unittest.TestCase):
    def test_tables_of_the_project_can_be_read_and_are_small(self):
        paths = sorted(table.RESULTS.glob("*.csv"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            shipped = Table(path)
            self.assertTrue(shipped.rows and shipped.depends, path)
            self.assertEqual(shipped.text(), path.read_text())
            for name in shipped.depends:
                self.assertTrue((table.ROOT / name).exists(), (path, name))
        self.assertLess(sum(path.stat().st_size for path in paths), 2e6)

    def test_texts_beside_them_show_their_rows(self):
        scripts = {path.stem for path in (table.ROOT / "tools/reproduce").glob("*.py")}
        texts = sorted(table.RESULTS.glob("*.md"))
        self.assertGreater(len(texts), 10)
        for path in texts:
            script = importlib.import_module(max(name for name in scripts if path.stem.startswith(name)))
            if path.stem == "peers_faults":
                self.assertEqual(script.faults_markdown(Table(path.with_suffix(".csv"), script.FAULT_COLUMNS).rows), path.read_text(), path)
                continue
            shipped = Table(path.with_suffix(".csv"), script.COLUMNS)
            of_table = script.__name__ in ("measured_gpus", "measured_rewards", "placement_systems", "reality")  # Their heads say more than rows do.
            self.assertEqual(script.markdown(shipped if of_table else shipped.rows), path.read_text(), path)


if __name__ == "__main__":
    unittest.main()
