#!/usr/bin/env python3
"""memory.py: what it says of the rows."""
import unittest

import support  # noqa: F401  It says where the scripts are.
import memory


class Memory(unittest.TestCase):
    def test_says_how_far_devices_are_apart(self):
        sizes = ((100, 100), (104, 100), (90, 100), (50, 100))
        rows = [{"method": "dp", "predicted_bytes": predicted, "allocated_bytes": allocated, "reason": None} for predicted, allocated in sizes]
        rows += [{"method": "dp", "reason": "an operator is missing"}, {"method": "single", "reason": "too"}]
        self.assertEqual(memory.summary(rows, "dp"), "dp: of 4 devices 1 within 1%, 2 within 5%, 3 within 10%; the farthest is predicted -50.0% "
                                                     "beside what is allocated")
        self.assertEqual(memory.summary(rows, "single"), "single: no step could be run")


if __name__ == "__main__":
    unittest.main()
