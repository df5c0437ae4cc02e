#!/usr/bin/env python3
"""Tests what tools/reproduce/measured_search.py makes of measurements, by hand-made ones, and that it goes on where it was."""
import argparse
import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

from support import CALL, cells

import measured_search
from lib.table import Table

PLACEMENTS = (measured_search.ONE, measured_search.LONG, measured_search.MEASURED)


def rows_of(graph, number, ratios):
    """One turn's ratio for each of the three placements."""
    rows = [{"call": CALL, "graph": graph, "links": measured_search.PROFILED, "round": number, "placement": placement, "ratio": [ratio], "whole": [2 * ratio], "undisturbed_steps": 3,
             "simulated": 0.5, "seconds": 2.0, "load": 0.5 * number, "found": None, "trials": None}
            for placement, ratio in zip(PLACEMENTS, ratios, strict=True)]
    rows[-1] |= {"found": 0.7, "trials": [0.9, 0.8, 0.85]}
    return rows


class Page(unittest.TestCase):
    def setUp(self):
        self.page = measured_search.markdown(rows_of("g", 1, (0.8, 0.8, 0.4)) + rows_of("g", 2, (0.5, 0.25, 0.25)))
        self.rows = [cells(line) for line in self.page.splitlines() if line.startswith("|")]

    def test_says_the_mean_and_each_round(self):
        first = next(row for row in self.rows if row[0] == measured_search.ONE)
        self.assertTrue(first[1].startswith("0.632 ("), first)  # sqrt(0.8 * 0.5)
        self.assertEqual(first[2:], ["0.800, 0.500", first[3], "0.500 (0.500 to 0.500)", "6", "2"])
        self.assertTrue(first[3].startswith("1.265 ("), first)
        self.assertIn("Load averages after the rounds: 0.5 to 1.0.", self.page)

    def test_compares_placements_of_the_same_round(self):
        self.assertIn(f"over that by {measured_search.ONE}: 0.500 (0.500 to 0.500); shorter in 2 of 2 rounds.", self.page)
        self.assertIn("with as many seconds: 0.707", self.page)  # sqrt(0.5 * 1)
        self.assertIn("shorter in 1 of 2 rounds.", self.page)

    def test_says_what_was_the_best_after_some_measurements(self):
        self.assertIn(["after", "1", "2", "result, measured again"], self.rows)
        self.assertIn(["ratio", "0.900 (0.900 to 0.900)", "0.800 (0.800 to 0.800)", "0.700 (0.700 to 0.700)"], self.rows)


class NothingToMeasure(unittest.TestCase):
    def test_the_page_has_no_table_of_measurements(self):
        rows = rows_of("g", 1, (1.0, 1.0, 1.0))
        rows[-1]["trials"] = []
        page = measured_search.markdown(rows)
        self.assertIn("shorter in 0 of 1 rounds.", page)
        self.assertNotIn("so far", page)

    def test_the_longer_search_has_the_seconds_of_one(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            searched, devices = folder / "measured.json", folder / "profiled.yaml"
            searched.write_text('{"ops": {}}')
            step = {"replayed_us": 1.0, "measured_us": 1.0, "predicted_us": 1.0, "undisturbed_steps": 1}
            arguments = argparse.Namespace(programs=folder, link=None, seconds=0.5, turns=1, steps=1)
            with mock.patch.object(measured_search, "profile", return_value=({}, "g.graph.json", devices)), \
                    mock.patch.object(measured_search, "search", return_value=(searched, {"trials": [], "ratio": 1.0, "seconds": 1.0})), \
                    mock.patch.object(measured_search, "timed_step", return_value=step), \
                    mock.patch.object(measured_search, "place", return_value=(searched, 1.0)) as place:
                measured_search.measure_round(folder, folder / "g.graph.json", devices, 1, arguments)
        self.assertEqual([call[0][3] for call in place.call_args_list], [1, 0.5])


class GoesOn(unittest.TestCase):
    def test_measures_only_what_is_not_in_the_table(self):
        with tempfile.TemporaryDirectory() as name:
            out = pathlib.Path(name) / "t.csv"
            table = Table(out, measured_search.COLUMNS, ("actor",))
            table.rows = rows_of("g", 1, (0.8, 0.8, 0.4))
            table.save()
            made = []

            def measure_round(folder, graph, devices, number, arguments):
                made.append(number)
                return [{key: value for key, value in row.items() if key != "call"} for row in rows_of("g", number, (0.5, 0.5, 0.5))]

            with mock.patch("sys.argv", ["measured_search.py", "g.graph.json", "--rounds", "3", "--out", str(out)]), \
                    mock.patch.object(measured_search, "measure_round", side_effect=measure_round), contextlib.redirect_stdout(io.StringIO()):
                measured_search.main()
            self.assertEqual(made, [2, 3])
            self.assertEqual(len(Table(out, measured_search.COLUMNS).rows), 9)


if __name__ == "__main__":
    unittest.main()
