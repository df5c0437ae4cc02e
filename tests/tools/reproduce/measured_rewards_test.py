#!/usr/bin/env python3
"""Tests what tools/reproduce/measured_rewards.py makes of measurements, by hand-made ones."""
import unittest

from support import cells

import measured_rewards


class Page(unittest.TestCase):
    def test_says_the_mean_over_graphs_and_seeds(self):
        page = measured_rewards.markdown({
            "command": "c", "load": [0.25, 1.5], "updates": {measured_rewards.MEASURED: [10, 20]},
            "rows": {measured_rewards.PROFILED: [{"seed": None, "ratios": {"a": 0.5, "b": 0.32}}],
                     measured_rewards.MEASURED: [{"seed": 1, "ratios": {"a": 0.9, "b": 0.4}}, {"seed": 2, "ratios": {"a": 0.8, "b": 0.8}}]}})
        rows = [cells(line) for line in page.splitlines() if line.startswith("|")]
        self.assertIn([measured_rewards.PROFILED, "0.400", ""], rows)  # sqrt(0.5 * 0.32)
        # 0.6 and 0.8: half a difference of 0.2, times Student's 12.706 for two seeds.
        self.assertIn([measured_rewards.MEASURED, "0.700 (-0.571..1.971)", "10, 20"], rows)
        self.assertIn("Load averages: 0.2 before the measurement, 1.5 after it.", page)


if __name__ == "__main__":
    unittest.main()
