#!/usr/bin/env python3
"""What tools/reproduce/public_instances.py reads of published schedules, and what it says of rows made by hand."""
import pathlib
import tempfile
import unittest

from support import CALL, cells

import public_instances
from lib.script import BadInput


def row(method, makespan_us, given_s=None, instance="50/rand0000", devices=2, published_us=100.0, optimum_us=100.0, bound_us=90.0):
    return {"call": CALL, "instances": public_instances.STG, "instance": instance, "tasks": 52, "devices": devices, "method": method,
            "given_s": given_s, "makespan_us": makespan_us, "lower_bound_us": bound_us, "published_us": published_us,
            "optimum_us": optimum_us, "seconds": 0.1}


class PublicInstances(unittest.TestCase):
    def test_published_schedules_have_an_optimum_or_a_bound_and_the_best(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "optimum.csv"
            table.write_text("50/rand0000.stg,2,131\n100/rand0012.stg,2,296,312\n")
            published = public_instances.read_published([table])
            (pathlib.Path(folder) / "50").mkdir()
            first = pathlib.Path(folder) / "50/rand0000.stg"
            first.write_text("1\n0 0 0\n#  4 Proc.           :       66       66\n#  8 Proc. : 5 6\n")
            self.assertEqual(published, {("50/rand0000", 2): (131, 131), ("100/rand0012", 2): (296, 312)})
            found = [public_instances.published_of(first, devices, published) for devices in (2, 4, 8, 16)]
            self.assertEqual([tuple(one.values()) for one in found], [(131, 131), (66, 66), (6, None), (None, None)])
            for count in ("two", "²"):
                table.write_text(f"50/rand0000.stg,2,131\n50/rand0001.stg,{count},149\n")
                with self.assertRaisesRegex(BadInput, rf"optimum\.csv:2: is '50/rand0001\.stg,{count},149'"):
                    public_instances.read_published([table])

    def test_the_bound_of_whole_times_is_whole(self):
        self.assertEqual([public_instances.rounded_up(bound) for bound in (130.999999869, 131.0, 131.2)], [131, 131, 132])

    def test_ratios_are_over_the_optimum_and_a_time_that_was_not_needed_counts_as_the_one_before(self):
        rows = [row("heft", 110), row("auto", 100, 1), row("heft", 121, devices=4), row("auto", 121, 1, devices=4), row("auto", 110, 5, devices=4),
                row("heft", 110, instance="c", optimum_us=None, published_us=105), row("auto", 99, 1, instance="c", optimum_us=None, published_us=105),
                row("auto", 99, 5, instance="c", optimum_us=None, published_us=105)]
        lines = public_instances.summary(public_instances.with_longer_times(rows))
        self.assertEqual(cells(lines[0])[4:], ["`heft`", "`auto, 1 s`", "`auto, 5 s`"])
        self.assertEqual([cells(line)[1:] for line in lines[2:]], [
            ["2", "1", "optimum", "1.1000 (0; 1.100)", "1.0000 (1; 1.000)", "1.0000 (1; 1.000)"],
            ["4", "1", "optimum", "1.2100 (0; 1.210)", "1.2100 (0; 1.210)", "1.1000 (0; 1.100)"],
            ["2", "1", "lower bound", "1.2222 (0; 1.222)", "1.1000 (0; 1.100)", "1.1000 (0; 1.100)"]])

    def test_the_text_says_first_where_auto_is_behind(self):
        rows = [row("auto", 100, 1), row("auto", 104, 1, devices=4), row("auto", 99, 1, instance="c", optimum_us=None, published_us=105),
                row("auto", 106, 1, instance="d", optimum_us=None, published_us=105)]
        lines = public_instances.markdown(rows).splitlines()
        text = " ".join(lines)
        self.assertIn("slower than the published optimum on 1 of 2 pairs", text)
        self.assertIn("which may be out of reach, on 2 of the other 2.", text)
        self.assertIn("Of 2 pairs whose optimum is not known, it is slower than the best published schedule on 1, and faster on 1.", text)
        worst = [cells(line) for line in lines if line.startswith(("| 50/rand0000", "| c ", "| d "))]
        self.assertEqual([line[0] for line in worst], ["50/rand0000", "d", "c"])  # Those with an optimum come first.
        self.assertEqual(worst[0][3:], ["1", "1.0400", "1.1556"])
        self.assertNotIn("faster than the published optimum", text)
        self.assertIn("On 1 pairs it is faster than the published optimum", public_instances.markdown([row("auto", 99, 1)]))


if __name__ == "__main__":
    unittest.main()
