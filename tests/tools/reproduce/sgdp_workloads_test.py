#!/usr/bin/env python3
"""What tools/reproduce/sgdp_workloads.py trains on, and what it says of rows made by hand."""
import json
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from support import row

import sgdp_workloads
from lib.script import BadInput
from lib.table import Table
from sgdp_workloads import ALONE, BATCH, HIERARCHICAL, TUNED, ZERO


def rows_of(name, times, samples=None, seeds=(1,)):
    """times: {method: seconds; None: does not fit}; samples: {(method, seed): placements sampled until near the best}"""
    return [row(name, method, seed, (seconds or 9) * 1e6, feasible=seconds is not None, workload=name,
                devices=sgdp_workloads.WORKLOADS[name], ops=1234, samples_to_near=(samples or {}).get((method, seed)))
            for method, seconds in times.items() for seed in seeds]


def table_of(*rows):
    table = Table("x.csv", sgdp_workloads.COLUMNS)
    table.rows = [*rows]
    return table


TIMES = {"single": 2, "expert": 1.5, "scotch": None, "annealing": 1, "auto": 0.8, HIERARCHICAL: 1.8, ALONE: 1.2, BATCH: 1.3,
         TUNED: 1.1, ZERO: 1.25}


class SgdpWorkloads(unittest.TestCase):
    def test_a_row(self):
        line = sgdp_workloads.cells_of(rows_of("gnmt4", TIMES))
        self.assertEqual(line, ["gnmt4", "1,234", 4, "2 (1.000)", "1.5 (0.750)", "OOM", "1 (0.500)", "**0.8 (0.400)**",
                                "1.8 (0.900)", "1.2 (0.600)", "1.3 (0.650)", "1.1 (0.550)", "1.25 (0.625)"])

    def test_without_one_device_there_is_no_ratio(self):
        line = sgdp_workloads.cells_of(rows_of("gnmt4", {**TIMES, "single": None}))
        self.assertEqual(line[3:5], ["OOM", "1.5"])

    def test_ranges_over_seeds(self):
        made = rows_of("gnmt4", TIMES, seeds=(1, 2))
        of_second = next(found for found in made if (found["method"], found["seed"]) == (BATCH, 2))
        of_second["makespan_us"] = 0.9e6
        self.assertEqual(sgdp_workloads.range_cells(made),
                         ["gnmt4", 2, "1 to 1", "0.8 to 0.8", "1.8 to 1.8", "1.2 to 1.2", "0.9 to 1.3", "1.1 to 1.1", "1.25 to 1.25"])
        of_second["feasible"] = False
        self.assertEqual(sgdp_workloads.range_cells(made)[6], "1.3 to OOM")
        self.assertEqual(sgdp_workloads.markdown(made).count("| gnmt4 |"), 2)
        self.assertEqual(sgdp_workloads.markdown(rows_of("gnmt4", TIMES)).count("| gnmt4 |"), 1)

    def test_faster_is_a_mean_over_workloads_where_both_fit(self):
        workloads = [rows_of("gnmt4", TIMES), rows_of("gnmt8", {**TIMES, "expert": 2.4, "scotch": 2.4})]
        # 1.5 / 1.2 = 1.25 and 2.4 / 1.2 = 2: the square root of 2.5.
        self.assertAlmostEqual(sgdp_workloads.faster(workloads, ALONE, "expert"), 2.5 ** 0.5 - 1)
        self.assertAlmostEqual(sgdp_workloads.faster(workloads, ALONE, "scotch"), 1)
        self.assertIsNone(sgdp_workloads.faster(workloads[:1], ALONE, "scotch"))

    def test_convergence(self):
        rows = rows_of("gnmt4", TIMES, {(HIERARCHICAL, 1): 600, (ALONE, 1): 150, (ALONE, 2): 10}, seeds=(1, 2))
        self.assertAlmostEqual(sgdp_workloads.convergence(rows), 4)
        self.assertIsNone(sgdp_workloads.convergence(rows_of("gnmt4", TIMES)))
        text = sgdp_workloads.markdown(rows)
        self.assertIn("sampled 4.0 times as many", text)
        self.assertIn("| published: SGDP alone | +20.0% | +18.0% |", text)

    def test_columns_that_are_not_made_stay_and_have_to_be_there(self):
        arguments = types.SimpleNamespace(columns=["others"], seeds=[1])
        with self.assertRaisesRegex(BadInput, "x.csv: gnmt4 is without the columns .*SGDP alone"):
            sgdp_workloads.kept_rows("gnmt4", table_of(), arguments)
        table = table_of(*rows_of("gnmt4", TIMES), *rows_of("gnmt8", TIMES))
        kept = sgdp_workloads.kept_rows("gnmt4", table, arguments)
        self.assertEqual({row["method"] for row in kept}, set(TIMES) - {TUNED, ZERO})
        self.assertEqual({row["workload"] for row in kept}, {"gnmt4"})
        arguments.columns = list(sgdp_workloads.MADE_TOGETHER)
        self.assertEqual(sgdp_workloads.kept_rows("gnmt4", table, arguments), [])

    def test_seeds_that_are_not_made_stay(self):
        arguments = types.SimpleNamespace(columns=list(sgdp_workloads.MADE_TOGETHER), seeds=[2])
        kept = sgdp_workloads.kept_rows("gnmt4", table_of(*rows_of("gnmt4", TIMES, seeds=[1, 2])), arguments)
        self.assertEqual({(row["method"], row["seed"]) for row in kept}, {(method, 1) for method in TIMES})

    def test_searches_need_a_training_to_be_compared_with(self):
        table = table_of(*rows_of("gnmt4", TIMES))
        sgdp_workloads.kept_rows("gnmt4", table, types.SimpleNamespace(columns=["searches"], seeds=[1]))
        with self.assertRaisesRegex(BadInput, "x.csv: gnmt4 has no training alone with the seed 2"):
            sgdp_workloads.kept_rows("gnmt4", table, types.SimpleNamespace(columns=["searches"], seeds=[1, 2]))
        sgdp_workloads.kept_rows("gnmt4", table, types.SimpleNamespace(columns=["searches", "alone"], seeds=[1, 2]))

    def test_searches_may_simulate_what_the_training_alone_did(self):
        arguments = types.SimpleNamespace(columns=["searches"], seeds=[2], groups=64)
        kept = rows_of("gnmt4", TIMES, seeds=[1, 2])
        found = [{"graph": "gnmt4", "method": "auto", "makespan_us": 1.0}]
        with mock.patch.object(sgdp_workloads, "evaluate", return_value=found) as evaluate, \
                mock.patch.object(sgdp_workloads, "num_ops", return_value=7):
            made = sgdp_workloads.measure("gnmt4", None, {2: {}}, kept, arguments)
        self.assertEqual(evaluate.call_args.kwargs["budget"], 4)  # As support.row has it.
        self.assertEqual(made, [{"workload": "gnmt4", "devices": 4, "ops": 7, **found[0]}])

    def test_all_columns_are_made(self):
        made = [method for columns in sgdp_workloads.MADE_TOGETHER.values() for method in columns]
        self.assertEqual(sorted(made), sorted(sgdp_workloads.COLUMNS_SHOWN))

    def test_policies_for_others_see_none_of_what_they_are_judged_on(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for name in sgdp_workloads.WORKLOADS:
                files[name] = pathlib.Path(folder) / f"{name}.graph.json"
                files[name].write_text(json.dumps({"ops": [{}] * (50_000 if name == "gnmt8" else 10)}))
            for devices in (2, 4, 8):
                judged = {name for name, count in sgdp_workloads.WORKLOADS.items() if count == devices}
                learned = {path.name.split(".")[0] for path in sgdp_workloads.smaller_of_others(devices, files)}
                self.assertEqual(judged & learned, set())
                self.assertNotIn("gnmt8", learned)
                self.assertEqual(learned, set(files) - judged - {"gnmt8"})
                self.assertEqual({files[name] for name in judged}, set(sgdp_workloads.together(devices, files)))


if __name__ == "__main__":
    unittest.main()
