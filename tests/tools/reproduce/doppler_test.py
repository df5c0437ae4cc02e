#!/usr/bin/env python3
"""What tools/reproduce/doppler.py reads, simulates and places, on graphs made by hand and at random, without the authors' code."""
import pathlib
import random
import tempfile
import unittest

from support import CALL, cells

import doppler
from lib.script import BadInput

# 0 is read by 1 and 2, and these by 3. What 0 makes takes 4 to send, and what 1 and 2 make 6.
DIAMOND = doppler.Graph([10, 3, 5, 1], [4, 6, 6, 0], [[], [0], [0], [1, 2]], [[1, 2], [3], [3], []])


def row(method, theirs, ours, graph="a", placements=1):
    return {"call": CALL, "graph": graph, "nodes": 4, "devices": 2, "method": method, "placements": placements, "theirs": theirs,
            "theirs_mean": theirs * 1.5, "ours": ours, "one_device": 300.0, "bound": 80.0, "seconds": None}


def random_graph(rng):
    """Its costs are such that no two events are at one time."""
    count = rng.randint(1, 8)
    edges = [(source, target) for target in range(count) for source in range(target) if rng.random() < 0.4]
    inputs = [[source for source, target in edges if target == node] for node in range(count)]
    readers = [[target for source, target in edges if source == node] for node in range(count)]
    return doppler.Graph([rng.randint(1, 10**12) for _ in range(count)], [rng.randint(1, 10**12) for _ in range(count)], inputs, readers)


def cost_of_fixed_point(graph, devices):
    """Of starts that agree with the order in which inputs are all there, found by repeating until they do: no events, no queues."""
    count = len(graph.compute)
    ends = [0] * count
    for _ in range(3 * count + 3):
        arrival = [max((ends[source] + graph.send[source] * (devices[source] != devices[node]) for source in graph.inputs[node]), default=0)
                   for node in range(count)]
        free = dict.fromkeys(devices, 0)
        for node in sorted(range(count), key=lambda node: (arrival[node], node)):
            ends[node] = free[devices[node]] = max(arrival[node], free[devices[node]]) + graph.compute[node]
    return max(ends)


class Doppler(unittest.TestCase):
    def test_nodes_without_cost_are_no_part_of_a_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.txt"
            path.write_text("5\n3, 4, \n0, 0, 1,\n2,1, 2,\n10,40\n20,80\n7,28\n")
            self.assertEqual(doppler.read_graph(path), doppler.Graph([10, 20, 7], [40, 80, 28], [[], [0], [0, 1]], [[2, 1], [2], []]))
            for text in ("5\n3, 4, \n0, 0, 1,\n2, 1,\n10,40\n20,80\n7,28\n", "x\n", "5\n3, 4, \n0,\n2,\n10,40\n"):
                path.write_text(text)
                with self.assertRaisesRegex(BadInput, r"a\.txt: "):
                    doppler.read_graph(path)

    def test_cost_by_hand(self):
        self.assertEqual(doppler.cost(DIAMOND, [0, 0, 0, 0]), 19)
        # 2 has its input at 14 and ends at 19, what it makes is there at 25; 1 has ended at 13.
        self.assertEqual(doppler.cost(DIAMOND, [0, 0, 1, 0]), 26)
        # Both inputs leave device 0 at 10, and both are there at 14: a link is never busy. 1 ends at 17, 2 at 19; 3 has both at 25.
        self.assertEqual(doppler.cost(DIAMOND, [0, 1, 2, 0]), 26)
        self.assertEqual(doppler.cost(DIAMOND, [0, 1, 1, 1]), 14 + 3 + 5 + 1)

    def test_of_nodes_that_are_ready_the_first_runs_first(self):
        # 2 is ready at 0 and 1 at 4, when 0 has ended; 1 waits for 2, though more hangs on it.
        graph = doppler.Graph([4, 1, 9, 20], [0, 0, 0, 0], [[], [0], [], [1]], [[1], [3], [], []])
        self.assertEqual(doppler.cost(graph, [0, 1, 1, 1]), 9 + 1 + 20)

    def test_cost_is_that_of_a_fixed_point_on_random_graphs(self):
        rng = random.Random(7)
        for _ in range(500):
            graph = random_graph(rng)
            devices = [rng.randrange(3) for _ in graph.compute]
            self.assertEqual(doppler.cost(graph, devices), cost_of_fixed_point(graph, devices))
            self.assertGreaterEqual(doppler.cost(graph, devices), doppler.bound(graph, 3))

    def test_bound(self):
        self.assertEqual((doppler.bound(DIAMOND, 1), doppler.bound(DIAMOND, 2)), (19, 16))

    def test_critical_path_takes_the_longest_way_first_to_where_it_can_start_first(self):
        # 2 before 1. Both can start on device 0 at 10, on device 1 not before 14; then 1 on device 1 at 14, on device 0 at 15. 3 can start
        # on device 1 at 15 + 6, on device 0 at 15: what 1 makes counts as there at 3 + 6, for 1 counts as ended after the work of its
        # device, not at 17.
        self.assertEqual(doppler.critical_path(DIAMOND, 2, lambda count: 0, as_run=False), [0, 1, 0, 0])

    def test_as_run_it_takes_a_node_that_got_ready_first_where_a_later_one_has_the_longest_way(self):
        graph = doppler.Graph([1, 5, 5], [0, 0, 0], [[], [], []], [[], [], []])
        drawn = []

        def last(count):
            drawn.append(count)
            return count - 1

        self.assertEqual(doppler.critical_path(graph, 1, last, as_run=False), [0, 0, 0])
        self.assertEqual(drawn, [2, 1, 1, 1, 1, 1])
        # With two devices and the first of each tie: as meant 1 and 2 go apart, as run 0 and 1.
        first = [doppler.critical_path(graph, 2, lambda count: 0, as_run) for as_run in (False, True)]
        self.assertEqual(first, [[0, 0, 1], [0, 1, 0]])

    def test_emplace_gets_a_microsecond_for_each_unit_and_a_link_that_takes_as_long(self):
        graph = doppler.Graph([doppler.UNIT, 5], [4 * doppler.UNIT, 20], [[], [0]], [[1], []])
        ops = doppler.emplace_ops(graph)
        self.assertEqual([op["cost_us"] for op in ops], [1, 5e-10])
        self.assertEqual([(op["inputs"], op["outputs"][0]["bytes"]) for op in ops], [([], 4 * doppler.UNIT), (["n0:0"], 20)])

    def test_a_log_has_a_placement_for_each_episode(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "args.txt").write_text("run_il: False\ncompute_graph_path: compute_graph/ffnn_192nodes.txt\n")
            (folder / "output.txt").write_text("node_list: [1, 0, ]\nDevice Assignment: [0, 3, ]\nReward: 2\nDevice Assignment: [1, 2, ]\n")
            self.assertEqual(doppler.read_log(folder), ("ffnn_192nodes", "learned, stage 2", [[0, 3], [1, 2]]))
            (folder / "args.txt").unlink()
            with self.assertRaisesRegex(BadInput, "is no log of DOPPLER"):
                doppler.read_log(folder)

    def test_the_text_says_first_where_our_methods_are_behind(self):
        rows = [row(doppler.AS_RUN, 100.0, 130.0, placements=50), row("heft", 110.0, 140.0), row("list", 90.0, 120.0),
                row("auto", 85.0, 85.0), row(doppler.AS_RUN, 100.0, 130.0, graph="b"), row("heft", 100.0, 140.0, graph="b"),
                row("list", 105.0, 120.0, graph="b"), row("auto", 101.0, 85.0, graph="b")]
        lines = doppler.markdown(rows).splitlines()
        self.assertEqual(lines[2], "**Behind:** " + " ".join([
            "`auto` is slower than the best placement of the authors' methods on 1 of 2 graphs by the authors' model: "
            "b (critical path, as run, 1.0%); and on 0 by Emplace's.",
            "`list` is slower than the best placement of the authors' methods on 1 of 2 graphs by the authors' model: "
            "b (critical path, as run, 5.0%); and on 0 by Emplace's.",
            "`heft` is slower than the best placement of the authors' methods on 1 of 2 graphs by the authors' model: "
            "a (critical path, as run, 10.0%); and on 2 by Emplace's."]))
        shown = next(line for line in lines if line.startswith("| a |"))
        self.assertEqual(cells(shown)[3:], ["300.0", "100.0 / 150.0 (130.0)", "110.0 (140.0)", "90.0 (120.0)", "85.0 (85.0)", "80.0"])


if __name__ == "__main__":
    unittest.main()
