#!/usr/bin/env python3
"""What tools/reproduce/planner.py and planner_families.py say of rows made by hand."""
import argparse
import pathlib
import tempfile
import unittest

from support import CALL, cells

import planner
import planner_families
from lib.script import BadInput


def on_instance(instance, way, makespan_us, budget=0, feasible=True):
    return {"call": CALL, "seed": 1, "instance": instance, "ops": 9, "devices": 2, "way": way, "budget": budget,
            "makespan_us": makespan_us, "feasible": feasible, "seconds": 0.01, "single_device_us": 100.0}


def of_family(way, seed, graph, makespan_us, budget=0, feasible=True):
    return {"call": CALL, "family": "ptb", "devices": "k80x2", "updates": 60, "training_s": 200.0, "way": way, "budget": budget,
            "seed": seed, "graph": graph, "makespan_us": makespan_us, "feasible": feasible, "seconds": 0.01, "single_device_us": 100.0}


class Planner(unittest.TestCase):
    def test_a_way_is_held_against_the_best_that_is_not_learned_and_fits(self):
        rows = [on_instance("test_000000_trees", "heft", 80.0), on_instance("test_000000_trees", "list", 50.0, feasible=False),
                on_instance("test_000000_trees", planner.LEARNED, 40.0), on_instance("test_000001_towers", "heft", 80.0),
                on_instance("test_000001_towers", "list", 40.0), on_instance("test_000001_towers", planner.LEARNED, 80.0)]
        line = next(line for line in planner.markdown(rows).splitlines() if line.startswith(f"| {planner.LEARNED}"))
        self.assertEqual(cells(line), [planner.LEARNED, "1.000", "0.500 to 2.000", "50%", "2.00"])

    def test_auto_is_held_against_itself_at_the_same_budget(self):
        rows = [on_instance("test_000000_trees", way, makespan_us, budget) for way, makespan_us, budget in (
            (planner.AUTO_BY_HAND, 80.0, 30), (planner.AUTO_LEARNED, 60.0, 30),
            (planner.AUTO_BY_HAND, 50.0, 100), (planner.AUTO_LEARNED, 50.0, 100))]
        lines = planner.markdown(rows).splitlines()
        self.assertEqual(cells(lines[-2]), ["30", "0.750", "0.750 to 0.750", "100%", "0.75"])
        self.assertEqual(cells(lines[-1]), ["100", "1.000", "1.000 to 1.000", "100%", "1.00"])

    def test_the_better_order_counts_and_one_that_fits_comes_first(self):
        def result(makespan_us, feasible, seconds):
            return {"makespan_us": makespan_us, "feasible": feasible, "seconds": seconds}

        self.assertEqual(planner.better_order(result(9.0, True, 1), result(8.0, True, 2)), result(8.0, True, 1))
        self.assertEqual(planner.better_order(result(9.0, True, 1), result(8.0, False, 2)), result(9.0, True, 1))
        self.assertEqual(planner.better_order(result(None, False, 1), result(8.0, True, 2)), result(8.0, True, 1))


class PlannerFamilies(unittest.TestCase):
    def test_a_family_has_the_mean_over_seeds_of_the_means_over_graphs(self):
        rows = [of_family("heft", 1, "g", 90.0), of_family("heft", 1, "h", 40.0)]
        rows += [of_family(planner_families.LEARNED, seed, graph, us) for seed, us in ((1, 50.0), (2, 60.0)) for graph in "gh"]
        lines = planner_families.markdown(rows).splitlines()
        self.assertEqual(cells(lines[-2]), ["heft", "", "0.600", "0.010", ""])
        self.assertEqual(cells(lines[-1])[2][:9], "**0.550 (")

    def test_what_does_not_fit_is_counted(self):
        rows = [of_family(planner_families.LEARNED, 1, "g", 50.0), of_family(planner_families.AUTO_BY_HAND, 1, "g", 90.0, 100, feasible=False)]
        self.assertEqual(cells(planner_families.markdown(rows).splitlines()[-1])[-3:], ["OOM", "0.010", "1"])

    def test_a_folder_of_graphs_is_a_family_by_its_own_name(self):
        with tempfile.TemporaryDirectory() as above:
            folder = pathlib.Path(above) / "mine"
            files = {part: folder / part / f"{part}.graph.json.zst" for part in ("train", "validation", "test")}
            for file in files.values():
                file.parent.mkdir(parents=True)
                file.touch()
            (folder / "train/skipped.txt").touch()
            arguments = argparse.Namespace(families=[(str(folder), "k80x2")], seeds=[3], updates=5)
            [(key, task)] = planner_families.tasks_of(arguments).items()
            self.assertEqual(key, (str(folder), "k80x2", 3))
            self.assertEqual((task.name, task.overrides["workload.family"]), ("mine_k80x2_seed3", ""))
            self.assertEqual({part: task.overrides[f"workload.{part}_graphs"] for part in files}, {part: [file] for part, file in files.items()})
            files["test"].unlink()
            with self.assertRaisesRegex(BadInput, "mine/test: has no graphs"):
                planner_families.tasks_of(arguments)

    def test_what_was_trained_is_judged_on_fewer_devices_too(self):
        with tempfile.TemporaryDirectory() as folder:
            machines = planner_families.machines_of(argparse.Namespace(on=[3, 8]), "k80x2", pathlib.Path(folder))
            self.assertEqual(list(machines), ["k80x2", "k80x2 to 3", "k80x2 to 8"])
            counts = [file.read_text().count("name: ") for file in machines.values()]
            self.assertEqual(counts, [2, 3, 8])
            self.assertEqual(list(machines.values())[2].read_text(), planner_families.CARRIED_TO.read_text())


if __name__ == "__main__":
    unittest.main()
