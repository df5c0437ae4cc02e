#!/usr/bin/env python3
"""What tools/reproduce/placement_systems.py places where, and what it says of rows made by hand, without any of the systems."""
import array
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from support import CALL, cells

import placement_systems


def row(system, makespan_us, fits=True, machine="2 like", memory=placement_systems.AMPLE, note=None):
    return {"call": CALL, "model": "timm/a", "machine": machine, "memory": memory, "system": system, "microbatches": 8,
            "makespan_us": makespan_us, "fits": fits, "peak_gb": None, "seconds": 0.5, "note": note}


class PlacementSystems(unittest.TestCase):
    def test_sharded_parameters_are_even_in_bytes_and_micro_batches_have_devices_of_their_own(self):
        ops = [{"name": "a", "group": "parameter a"}, {"name": "b", "group": "parameter b"}, {"name": "c", "group": "parameter c"},
               {"name": "part0/mm"}, {"name": "part1/mm"}, {"name": "b/gradient", "group": "parameter b"}]
        graph = types.SimpleNamespace(ops=ops, param_bytes=array.array("q", [30, 50, 20, 0, 0, 0]))
        # The largest first: b on device 0, then a and c on device 1.
        self.assertEqual(placement_systems.sharded_placement(graph, 2), [1, 0, 1, 0, 1, 0])

    def test_the_text_says_first_where_auto_is_behind(self):
        case = {one["system"]: one for one in (row("accelerate", 300), row("data parallel", 90), row("fully sharded", 80, fits=False),
                                               row("planner, one pass", 95), row("auto", 100))}
        lines = placement_systems.behind([case, case | {"data parallel": row("data parallel", 96, fits=False)}])
        self.assertEqual(lines, [
            "**Behind:** another system is faster than `auto` on 1 of 2 cases, and than one pass of the planner on 1.",
            "- 2 like, ample memory: data parallel on 1, in 0.900 to 0.900 of the time of `auto`."])

    def test_a_line_has_the_times_over_that_of_auto(self):
        rows = [row("one device", 150, fits=False), row("accelerate", None, fits=False, note="leaves modules to the disk"),
                row("even pipeline, 1F1B", 130), row("planner, one pass", 110), row("auto", 100)]
        lines = placement_systems.markdown(types.SimpleNamespace(rows=rows, facts={"versions": {"accelerate": "1.0"}})).splitlines()
        self.assertIn("With accelerate 1.0.", lines)
        model = next(line for line in lines if line.startswith("| timm/a"))
        self.assertEqual(cells(model)[1:], ["(1.50)", "leaves modules to the disk", "1.30", "-", "-", "1.10", "1.00", "0.1", "0.50"])
        means = next(line for line in lines if line.startswith("| geometric mean"))
        self.assertEqual(cells(means)[1:8], ["-", "-", "1.30 (1)", "-", "-", "1.10 (1)", "1.00 (1)"])

    def test_a_model_that_takes_too_long_is_named(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("importlib.metadata.version", return_value="1.0"), \
                mock.patch.object(sys, "argv", ["placement_systems.py", "timm/mixer_b16_224", "--out", str(pathlib.Path(folder) / "x.csv")]), \
                mock.patch.object(placement_systems, "run_apart", return_value=([], "not done after 900 s")):
            with self.assertRaisesRegex(SystemExit, "^placement_systems.py: timm/mixer_b16_224: not done after 900 s$"):
                placement_systems.main()


if __name__ == "__main__":
    unittest.main()
