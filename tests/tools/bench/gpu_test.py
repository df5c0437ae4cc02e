#!/usr/bin/env python3
"""tools/bench/gpu.sh as its users run it: without a GPU, and with programs that only pretend to have one."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/bench"))

import gpu
import gpu_pack


class GpuScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "path").mkdir()
        (self.folder / "pack/bin").mkdir(parents=True)
        self.page = gpu.PAGE.read_text()

    def tearDown(self):
        self.assertEqual(gpu.PAGE.read_text(), self.page)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def gpu(self, *arguments):
        """Exit code, output and lines of the errors of the script, which finds the programs of `path` first."""
        environment = os.environ | {"PATH": f"{self.folder}/path:{os.environ['PATH']}", "EMPLACE_TORCH_VENV": str(self.folder / "none")}
        done = subprocess.run([ROOT / "tools/bench/gpu.sh", *arguments], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout, done.stderr.splitlines()

    def test_without_a_gpu_nothing_is_measured_and_nothing_written(self):
        self.program("path/nvidia-smi", "echo 'NVIDIA-SMI has failed' >&2; exit 9")
        code, out, errors = self.gpu("--write", self.folder / "pack")
        self.assertEqual((code, out), (77, ""))
        self.assertEqual(errors, ["gpu.sh: there is no NVIDIA GPU, nothing was measured: NVIDIA-SMI has failed"])

    def test_what_can_be_measured_is_and_the_rest_says_why(self):
        self.program("path/nvidia-smi", "echo 'NVIDIA Made-Up, with a comma, 1.2.3'")
        self.program("path/python3", f'[ "$1" != -c ] || exit 1; exec {sys.executable} "$@"')  # Has no torch.
        self.program("pack/bin/emplace-bench-cuda", 'echo "{\\"states\\": $2, \\"folder\\": \\"$LD_LIBRARY_PATH\\"}"')
        self.program("pack/bin/emplace-bench-nccl", "echo started; echo 'first line' >&2; echo \"$0: no libnccl.so.2\" >&2; exit 127")
        self.program("pack/bin/emplace-bench-cuda-libtorch", "echo never")
        (self.folder / "pack/commit").write_text("abc\n")
        subprocess.run(["tar", "-czf", self.folder / "pack.tar.gz", "-C", self.folder / "pack", "."], check=True)
        code, out, errors = self.gpu(self.folder / "pack.tar.gz", "--only", "kernels_512", "nccl", "update_512", "kind_placeto")
        self.assertEqual(code, 0, errors)
        document = json.loads(out)
        self.assertEqual([document[key] for key in ("gpu", "driver", "commit")], ["NVIDIA Made-Up, with a comma", "1.2.3", "abc"])
        sections = document["sections"]
        self.assertEqual(sections["kernels_512"]["result"]["states"], 512)
        self.assertRegex(sections["kernels_512"]["result"]["folder"], "/pack/lib(:|$)")
        self.assertEqual(sections["kernels_512"]["commands"], ["bin/emplace-bench-cuda --states 512"])
        self.assertEqual(sections["nccl"]["not_measured"], "bin/emplace-bench-nccl: no libnccl.so.2")
        self.assertIn("torch", sections["update_512"]["not_measured"])
        self.assertEqual(sections["kind_placeto"]["not_measured"], "there is no bin/emplace-learner in pack")
        self.assertEqual(len(sections), 4)

    def test_wrong_input_is_refused(self):
        self.program("path/nvidia-smi", "echo 'NVIDIA Made-Up, 1.2.3'")
        (self.folder / "other.json").write_text('{"format": "another"}')
        for arguments, text in ((["--only", "nccl", "--write"], "--only"), ([self.folder / "nowhere"], "no programs"),
                                (["--from", self.folder / "other.json", "--write"], "expected a document"),
                                (["--from", self.folder / "none.json", "--write"], "expected a document"), (["--only", "n"], "'n'"),
                                (["--pack", "--wrong"], "--wrong"),
                                (["--pack", "--arch"], "--arch")):
            code, _, errors = self.gpu(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(text, errors[-1])


class Limits(unittest.TestCase):
    def test_all_sections_together_end_in_ten_minutes(self):
        self.assertLess(sum(section.limit_s for section in gpu.SECTIONS.values()), 570)

    def test_a_section_that_hangs_is_ended_with_what_it_has_started(self):
        with tempfile.TemporaryDirectory() as folder:
            place = gpu.Place(pathlib.Path(folder), pathlib.Path(folder))
            place.begin(gpu.Section(1, None, ()))
            with self.assertRaisesRegex(gpu.NotMeasured, "took longer than 1 s"):
                place.run("sh", "-c", "sleep 1000 & echo $! >child; sleep 1000")
            child = (pathlib.Path(folder) / "child").read_text().strip()
            while self.runs(child):  # It was killed, and ends soon.
                time.sleep(0.01)

    @staticmethod
    def runs(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False


class Pack(unittest.TestCase):
    LDD = """\tlinux-vdso.so.1 (0x00007ffd)
\tlibzmq.so.5 => /lib/x86_64-linux-gnu/libzmq.so.5 (0x00007f01)
\tlibnccl.so.2 => /home/torch/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2 (0x00007f02)
\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f03)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f04)
\tlibcuda.so.1 => not found
\t/lib64/ld-linux-x86-64.so.2 (0x00007f05)
"""

    def test_carries_what_neither_the_runtime_nor_the_wheel_has(self):
        self.assertEqual(gpu_pack.libraries(self.LDD, "x"), [pathlib.Path("/lib/x86_64-linux-gnu/libzmq.so.5")])

    def test_a_library_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "needs libzmq.so.5"):
            gpu_pack.libraries("\tlibzmq.so.5 => not found\n", "x")

    def test_a_program_that_was_not_built_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(SystemExit, "there is no nowhere/bin/emplace"):
                gpu_pack.gather(pathlib.Path("nowhere"), pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
