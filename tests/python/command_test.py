"""The command `emplace` of the installed package."""
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

import emplace
import pytest

COMMAND = pathlib.Path(sys.executable).parent / "emplace"


def emplace_command(*arguments, folder=None, environment=None):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=folder, check=False,
                          env={**os.environ, **(environment or {})})


def test_it_is_the_program():
    assert emplace_command("--version").stdout.startswith("emplace ")
    help_text = emplace_command("--help").stdout
    for command in ("generate", "simulate", "place", "evaluate", "inspect"):
        assert command in help_text
    module = subprocess.run([sys.executable, "-m", "emplace", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == emplace_command("--version").stdout
    assert emplace.__version__ == importlib.metadata.version("emplace")


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("import", "--help"), ("probe", "--help"), ("apply", "--help")])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_lost_is_a_failure(arguments, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                              env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 1
    assert done.stderr == "emplace: standard output: cannot be written: No space left on device\n"


def test_no_output_is_wanted():
    for arguments in (["import", "--help"], ["probe", "--help"]):
        done = subprocess.run(["bash", "-c", '"$@" >&-', "", COMMAND, *arguments], stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_it_generates_and_places_with_what_the_package_carries(tmp_path):
    done = emplace_command("generate", "ptb", "--count", 1, "--size", "small", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    emplace.Machine([emplace.Device("a", "k80", 1e10), emplace.Device("b", "k80", 1e10)],
                    bandwidth_bytes_per_us=7600).save(tmp_path / "m.yaml")
    done = emplace_command("place", "--graph", tmp_path / "ptb_00.graph.json", "--devices", tmp_path / "m.yaml", "--budget", 50,
                           "--method", "m-etf", "--json")
    told = json.loads(done.stdout)
    plan = emplace.place(emplace.Graph.load(tmp_path / "ptb_00.graph.json"), emplace.Machine.load(tmp_path / "m.yaml"),
                         method="m-etf")
    assert (told["makespan_us"], told["found_by"]) == (plan.makespan_us, plan.found_by)


def test_an_error_is_one_line_and_the_same_as_in_python(tmp_path):
    (tmp_path / "no.graph.json").write_text("[")
    done = emplace_command("inspect", tmp_path / "no.graph.json")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    with pytest.raises(emplace.BadInput) as raised:
        emplace.Graph.load(tmp_path / "no.graph.json")
    assert str(raised.value) in done.stderr


def test_types_and_docstrings_are_there():
    package = pathlib.Path(emplace.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_core.pyi").read_text()
    assert "class Graph" in stub and "class Machine" in stub and ("NDArray" in stub or "ndarray" in stub)
    for name in emplace.__all__:
        assert getattr(emplace, name).__doc__, name


def test_it_needs_neither_torch_nor_gymnasium_nor_onnx():
    code = "import sys, emplace; emplace.place; print([m for m in ('torch', 'gymnasium', 'onnx', 'tqdm') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command_starts_without_numpy():
    code = "import sys, emplace.cli; print([m for m in ('numpy', 'argparse') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
