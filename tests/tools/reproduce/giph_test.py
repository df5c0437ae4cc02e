#!/usr/bin/env python3
"""What tools/reproduce/giph.py scores and hands to Emplace, on a case made by hand, and what it says of rows; without GiPH's code."""
import json
import math
import random
import unittest

from support import CALL, cells

import giph
from lib import free_links

# 0 sends 2 bytes to 1 and 4 to 2. Only device 1 may run 1. A tensor takes 3 between the devices, and 0.5 a byte.
CASE = {"run": [[10, 20], [None, 6], [8, 4]], "edges": [[0, 1, 2.0], [0, 2, 4.0]], "delay": [[0, 3], [3, 0]], "rate": [[0, 0.5], [0.5, 0]]}


def row(method, makespan, program=0, placements=1, **more):
    return {"call": CALL, "parameters": "single_network", "network": 0, "program": program, "nodes": 3, "devices": 2, "method": method,
            "placements": placements, "makespan": makespan, "mean": makespan, "bound": 50.0, "seconds": None, **more}


class Giph(unittest.TestCase):
    def test_makespan_by_hand(self):
        # 0 ends at 10; 1 has it at 10 + 3 + 2 / 2 and ends at 20, 2 on device 0 at 18, on device 1 it comes at 15, and runs after 1.
        self.assertEqual(giph.makespan(CASE, [0, 1, 0]), 20)
        self.assertEqual(giph.makespan(CASE, [0, 1, 1]), 24)
        self.assertEqual(giph.makespan(CASE, [1, 1, 1]), 30)
        self.assertEqual(giph.bound(CASE), 16)

    def test_a_bound_holds_on_random_cases(self):
        rng = random.Random(3)
        for _ in range(100):
            count, devices = rng.randint(1, 7), rng.randint(1, 3)
            case = {"run": [[rng.random() for _ in range(devices)] for _ in range(count)],
                    "edges": [[a, b, rng.random()] for b in range(count) for a in range(b) if rng.random() < 0.4],
                    "delay": [[rng.random() * (a != b) for b in range(devices)] for a in range(devices)],
                    "rate": [[rng.random() * (a != b) for b in range(devices)] for a in range(devices)]}
            placement = [rng.randrange(devices) for _ in range(count)]
            self.assertGreaterEqual(giph.makespan(case, placement), giph.bound(case))

    def test_a_node_has_the_times_of_its_devices_and_each_edge_its_own_tensor(self):
        ops = giph.emplace_ops(CASE)
        self.assertEqual([op["cost_us"] for op in ops], [{"d0": 10, "d1": 20}, {"d1": 6}, {"d0": 8, "d1": 4}])
        self.assertEqual([op["inputs"] for op in ops], [[], ["n0:0"], ["n0:1"]])
        self.assertEqual(ops[0]["outputs"], [{"bytes": 2 * giph.BYTES}, {"bytes": 4 * giph.BYTES}])
        machine = json.loads(giph.emplace_machine(CASE))
        self.assertEqual(machine["devices"][1], {"name": "gpu:1", "kind": "d1", "memory_bytes": 1e18})
        self.assertEqual(machine["topology"]["links"], [{"name": "gpu:0 gpu:1", "between": ["gpu:0", "gpu:1"],
                                                         "bandwidth_bytes_per_us": 2 * giph.BYTES, "latency_us": 3}])

    def test_a_device_that_may_run_nothing_is_left_out(self):
        case = {"run": [[None, 5, 6], [None, 5, None]], "edges": [], "delay": [[0, 1, 2], [1, 0, 4], [2, 4, 0]], "rate": [[0.5] * 3] * 3}
        self.assertEqual(giph.useful_devices(case), [1, 2])
        machine = json.loads(giph.emplace_machine(case))
        self.assertEqual(len(machine["devices"]), 2)
        self.assertEqual([(link["between"], link["latency_us"]) for link in machine["topology"]["links"]], [(["gpu:0", "gpu:1"], 4)])

    def test_a_machine_has_a_link_for_each_pair(self):
        machine = json.loads(free_links.machine_text(["a", "a", "b"], lambda a, b: (10 * a + b, 0)))
        self.assertEqual([link["bandwidth_bytes_per_us"] for link in machine["topology"]["links"]], [1, 2, 12])

    def test_the_text_says_first_who_is_faster_than_auto(self):
        rows = [row("HEFT", 90.0), row("heft", 110.0), row("auto", 100.0),
                row("HEFT", 125.0, 1), row("heft", 100.0, 1), row("auto", 100.0, 1)]
        lines = giph.markdown(rows).splitlines()
        self.assertEqual(lines[2], "**Behind:** faster than `auto` is HEFT on 1 of 2 cases, by 10.0% at most.")
        found = {cells(line)[0]: cells(line)[1:] for line in lines if line.startswith("| ")}
        self.assertEqual(found["HEFT"], ["2", f"{math.sqrt(1.8 * 2.5):.3f}", f"{math.sqrt(0.9 * 1.25):.3f}", "1", "1"])
        self.assertEqual(found["`auto`"], ["2", "2.000", "1.000", "1", "0"])
        self.assertEqual(found["network 0, program 1"], ["3", "2", "125.0", "100.0", "100.0"])
        self.assertIn("is no other method on any case", giph.markdown(rows[1:3]))


if __name__ == "__main__":
    unittest.main()
