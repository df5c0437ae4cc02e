#!/usr/bin/env python3
"""measured_gpus.py: halves of ops, medians, and the text, on ops and rows made by hand."""
import types
import unittest

from support import CALL, cells

import measured_gpus
from lib.table import Table


def op(group, tokens, us, where="model, tensor parallelism 1, op"):
    return types.SimpleNamespace(group=group, tokens=tokens, us=us, where=where)


class Halves(unittest.TestCase):
    def test_each_op_is_in_one_half_and_always_in_the_same(self):
        ops = [op("norms", tokens, 1.0) for tokens in range(1, 1001)]
        fit_to, judged = measured_gpus.halves(ops, models=False)
        self.assertEqual(sorted(one.tokens for one in fit_to + judged), list(range(1, 1001)))
        self.assertTrue(400 < len(judged) < 600)
        self.assertEqual([one.tokens for one in judged], [one.tokens for one in measured_gpus.halves(ops, models=False)[1]])

    def test_models_are_not_divided(self):
        ops = [op("norms", tokens, 1.0, f"{model}, op") for model in "cab" for tokens in (1, 2)]
        fit_to, judged = measured_gpus.halves(ops, models=True)
        self.assertEqual([one.where for one in fit_to], ["c, op", "c, op", "a, op", "a, op"])
        self.assertEqual([one.where for one in judged], ["b, op", "b, op"])


class Judge(unittest.TestCase):
    def test_medians_are_by_kind_of_op_and_by_tokens(self):
        # All are predicted to take 3 us: ratios 3, 1.5 and 1 of products, 0.75 of a norm, 0.5 of an addition.
        ops = [op("norms", 200, 4.0), op("products", 1, 1.0), op("products", 128, 2.0), op("products", 4096, 3.0),
               op("additions", 129, 6.0)]
        rows = {(row["ops"], row["tokens_from"], row["tokens_to"]): row for row in measured_gpus.judge(ops, lambda _: 3.0, gpu="a40")}
        self.assertEqual(list(dict.fromkeys(name for name, _, _ in rows)), ["products", "additions", "norms", "all other ops"])
        every = rows["products", 1, 4096]
        self.assertEqual((every["judged_ops"], every["ratio"], every["error"], every["gpu"]), (3, 1.5, 0.5, "a40"))
        self.assertEqual((rows["products", 1, 128]["ratio"], rows["products", 1, 128]["error"]), (2.25, 1.25))
        self.assertNotIn(("products", 129, 1024), rows)
        self.assertEqual((rows["all other ops", 129, 1024]["ratio"], rows["all other ops", 129, 1024]["error"]), (0.625, 0.375))

    def test_products_alone_have_no_rest(self):
        rows = measured_gpus.judge([op("products", 5, 2.0)], lambda _: 3.0, gpu="a40")
        self.assertEqual({row["ops"] for row in rows}, {"products"})


class Text(unittest.TestCase):
    def test_shows_all_constants_and_judges_the_shipped_ones(self):
        table = Table("x.csv", measured_gpus.COLUMNS)
        table.facts["kinds"] = {"a40": "kind: a40\n"}
        errors = {"products": (0.3, 0.05, 0.1, 0.07), "all other ops": (0.5, 0.1, 0.201, None)}
        table.rows = [{"call": CALL, "gpu": "a40", "ops": ops, "tokens_from": 1, "tokens_to": 4096, "constants": constants, "judged_ops": 9,
                       "ratio": 1 - error, "error": error}
                      for ops, of_ops in errors.items() for constants, error in zip(measured_gpus.CONSTANTS, of_ops) if error is not None]
        page = measured_gpus.markdown(table)
        lines = [cells(line) for line in page.splitlines() if line.startswith("|")]
        self.assertIn(["products", "1 to 4096", "9", "0.70, 30.0%", "0.95, 5.0%", "0.90, 10.0%", "0.93, 7.0%"], lines)
        self.assertIn(["all other ops", "1 to 4096", "9", "0.50, 50.0%", "0.90, 10.0%", "0.80, 20.1%", "-"], lines)
        self.assertIn("- products: median error 10.0%, goal 10%: met.", page)
        self.assertIn("- all other ops: median error 20.1%, goal 20%: missed.", page)
        self.assertIn("```\nkind: a40\n```", page)


if __name__ == "__main__":
    unittest.main()
