#!/usr/bin/env python3
"""sailor_plans.py: what it makes of Sailor's files, and what it says of the rows."""
import json
import pathlib
import tempfile
import unittest

from support import CALL
import sailor_plans
from lib.sailor import PLANS, ZONE, Checkout
from lib.script import BadInput

NODES = (("fast", 2), ("slow", 2))


def write_checkout(folder):
    """Two replicas of two stages of three layers. A layer of 10 floats passes on 5 floats of each sequence."""
    def write(name, value):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    times = {"2": {"2": {str(layer): [0.001, 0.002, 0.0005] for layer in range(3)}}}
    write("sailor/Planner/simulations/profiles_tmp.json", {"OPT-350": {"fast": times, "slow": times}})
    write("sailor/Planner/llm_info.json",
          {"OPT-350": {"1": {str(layer): {"params_floats": 10, "act_output_floats": 5} for layer in range(3)}}})
    names = [name for name, _ in NODES]
    write("sailor/providers/multizone_bandwidths_het.json",
          {ZONE: {a: {"1": {ZONE: {b: {"1": [[0, 0, 0], 4e6 if a == b == "fast" else 1e6]} for b in names}}} for a in names}})
    stage = [[[[[name, 2, ZONE]], 2] for name in names]] * 2
    write(f"{PLANS}/mit/N4/plan_config_N4_D2.json",
          {"mbs": 2, "gbs": 12, "real": 0.5, "red_grads": 0.1,
           "pipeline_list": [{"layers_per_stage": [[0], [1, 2]], "tmp_per_stage": stage, "dp": [2, 2]}]})


class SailorPlans(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        write_checkout(pathlib.Path(self.folder.name))
        self.checkout = Checkout(pathlib.Path(self.folder.name))

    def test_reads_plans(self):
        plan, = self.checkout.plans()
        self.assertEqual((plan.name, plan.model, plan.replicas, plan.microbatches, plan.stages),
                         ("mit/N4/plan_config_N4_D2", "OPT-350", 2, 3, ((0,), (1, 2))))
        self.assertEqual(plan.nodes, (NODES, NODES))
        with self.assertRaisesRegex(BadInput, "expected a checkout"):
            Checkout(pathlib.Path(self.folder.name) / "sailor")

    def test_counts_the_sum_of_gradients_as_a_ring(self):
        # 2 (n - 1) / n of the stage's bytes pass each link, the slowest of which sends 1 MB/s: 40 and 80 bytes.
        self.assertEqual([round(second * 1e6) for second in self.checkout.reduction_s(self.checkout.plans()[0])], [40, 80])

    def test_one_forward_one_backward(self):
        self.assertEqual(sailor_plans.one_f_one_b(0, 3, 4), [("F", 0), ("F", 1), ("F", 2), ("B", 0), ("F", 3), ("B", 1), ("B", 2), ("B", 3)])
        self.assertEqual(sailor_plans.one_f_one_b(2, 3, 2), [("F", 0), ("B", 0), ("F", 1), ("B", 1)])

    def test_writes_a_graph(self):
        plan, = self.checkout.plans()
        graph = sailor_plans.pipeline_graph(self.checkout, plan, plan.stages, {"fast x2": NODES[0]})
        ops = {op["name"]: op for op in graph["ops"]}
        self.assertEqual(len(ops), 2 * (2 * 3 + 1))
        self.assertEqual(ops["F1.2"]["inputs"], ["F0.2:0"])
        self.assertEqual(ops["B0.2"]["inputs"], ["^F0.2", "B1.2:0"])
        self.assertEqual(ops["F1.0"]["cost_us"], {"fast x2": 2000})
        self.assertEqual((ops["F0.0"]["outputs"], ops["B1.0"]["outputs"]), ([{"bytes": 40}], [{"bytes": 40}]))  # 2 sequences of 5 floats.
        self.assertEqual(ops["F1.1"]["copy_of"], "F1.0")

    def test_says_how_far_off_it_is(self):
        row = {"call": CALL, "plan": "mit/N4/plan_config_N4_D2", "stages": 2, "replicas": 2, "microbatch": 2, "microbatches": 3,
               "measured_s": 2.0, "measured_reduction_s": 0.1, "reduction_s": 0.2, "own_s": None, "auto_s": None, "bound_s": None}
        rows = [row | {"blocking": blocking, "simulated_s": seconds} for blocking, seconds in zip(sailor_plans.SHARES, (1.0, 1.5, 1.9, 2.2))]
        rows[2] |= {"own_s": 1.7, "auto_s": 1.0, "bound_s": 0.5}
        text = sailor_plans.markdown(rows)
        self.assertIn("| its pipelines on `mit`, 1 | 0.75 | 5.0% | 5.0% |", text)
        self.assertIn("| mit/N4/plan_config_N4_D2 | 2 x 2 | 3 | 2.000 | 0.100 | 0.200 | 0.50 | 0.75 | 0.95 | 1.10 |", text)
        self.assertIn("| mit/N4/plan_config_N4_D2 | 1.700 | 1.000 | 1.70 | 0.500 |", text)


if __name__ == "__main__":
    unittest.main()
