#!/usr/bin/env python3
"""The table about GPUs in docs/speed.md: made of whole documents, and of those in which something is missing."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/bench"))

import gpu
import gpu_table


def document():
    """With a section that has a result, one that has none, and one whose result lacks a key; the others are missing."""
    kernels = [{"kernel": "pack", "us": 4.0, "flops": 0, "bytes": 1e6, "bound": "memory", "share_of_roofline": 0.0512},
               {"kernel": "body_forward", "us": 1234.5, "flops": 2.5e9, "bytes": 3e6, "bound": "arithmetic", "share_of_roofline": 0.25}]
    return {"gpu": "NVIDIA Made-Up", "driver": "1.2.3", "date": "2026-01-02", "commit": "abc", "processor": "some", "cores": 3, "sections": {
        "update_512": {"commands": ["bin/bench --states 512"],
                       "result": {"times_libtorch": 6.123, "update_states_per_s": 1234567.0, "libtorch_states_per_s": 201628.0}},
        "kernels_512": {"commands": [], "result": {"update_states_per_s": 99.9, "share_of_float32_peak": 0.1234, "kernels": kernels}},
        "kind_rnn": {"commands": ["a | b"], "not_measured": "two\nlines | and bars"},
        "tests_learner": {"commands": [], "result": {"passed": 3, "failed": ["A.b"], "skipped": 1}},
        "executor": {"commands": [], "result": {"measured_us": 1500.0}}}}


def cells(lines, what):
    """Figure, goal and command of the row that begins with this."""
    rows = [line for line in lines if line.startswith(f"| {what}")]
    assert len(rows) == 1, (what, rows)
    return [cell.strip() for cell in rows[0].strip("|").replace("\\|", "BAR").split("|")][1:]


class Text(unittest.TestCase):
    def test_a_section_with_a_result(self):
        lines = gpu_table.text(document())
        self.assertEqual(cells(lines, "An update of 512 states of"),
                         ["6.12 times LibTorch: 1,230,000 against 202,000 states/s", "5 times LibTorch", "`bin/bench --states 512`"])
        self.assertEqual(cells(lines, "Tests of the learner's engine")[0], "3 passed, 1 failed (A.b), 1 skipped")
        self.assertEqual(lines[0], "Measured on 2026-01-02 on one NVIDIA Made-Up, driver 1.2.3, beside 3 cores of some, commit abc.")

    def test_what_was_not_measured_says_why(self):
        lines = gpu_table.text(document())
        self.assertEqual(cells(lines, "The learner of kind `rnn`"), ["not measured: two lines BAR and bars", "", "`a BAR b`"])
        self.assertEqual(cells(lines, "The learner of kind `sgdp`")[0], "not measured")
        self.assertEqual(cells(lines, "A step of a ptb graph")[0], "not measured: the result has no 'predicted_us'")

    def test_kernels_have_a_table_of_their_own_where_they_were_measured(self):
        lines = gpu_table.text(document())
        self.assertEqual(cells(lines, "`pack`"), ["4 us", "0", "1", "memory", "5.1%"])
        self.assertEqual(cells(lines, "`body_forward`"), ["1,230 us", "2,500", "3", "arithmetic", "25.0%"])
        self.assertEqual(sum(line.startswith("| kernel,") for line in lines), 1)
        self.assertFalse(any("roofline" in line for line in gpu_table.text({})))

    def test_without_a_measurement_every_row_says_so(self):
        lines = gpu_table.text({})
        self.assertEqual(lines[0], "Nothing has been measured yet.")
        self.assertEqual(sum(" not measured |" in line for line in lines), len(gpu_table.ROWS))

    def test_every_section_has_a_row(self):
        self.assertEqual(list(gpu_table.ROWS), list(gpu.SECTIONS))


class Write(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "page.md"

    def test_only_what_is_between_the_marks_changes(self):
        self.page.write_text(f"before\n{gpu_table.BEGIN}\nold\n{gpu_table.END}\nafter\n")
        for made in (document(), {}):
            gpu_table.write(made, self.page)
            text = "\n".join(gpu_table.text(made))
            self.assertEqual(self.page.read_text(), f"before\n{gpu_table.BEGIN}\n\n{text}\n\n{gpu_table.END}\nafter\n")

    def test_a_page_without_the_marks_stays(self):
        for page in ("nothing", f"{gpu_table.END}\n{gpu_table.BEGIN}\n", f"{gpu_table.BEGIN}\n"):
            self.page.write_text(page)
            with self.assertRaisesRegex(SystemExit, "expected one line"):
                gpu_table.write({}, self.page)
            self.assertEqual(self.page.read_text(), page)

    def test_the_page_of_the_project_has_the_rows(self):
        page = gpu.PAGE.read_text()
        for what, goal, _ in gpu_table.ROWS.values():
            self.assertIn(f"| {what} |", page)


if __name__ == "__main__":
    unittest.main()
