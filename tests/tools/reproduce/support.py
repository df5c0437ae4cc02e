"""What the tests of the scripts share: where these are found, and rows of results."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/reproduce"))

from lib.table import UNKNOWN, Call  # noqa: E402  Now that it can be found.


CALL = Call("made", "2026-11-21", "c3d3653 or before", UNKNOWN)


def row(graph, method, seed, makespan_us, feasible=True, seconds=0.5, single_device_us=100.0, **more):
    return {"call": CALL, "graph": graph, "method": method, "seed": seed, "makespan_us": makespan_us, "feasible": feasible,
            "evaluations": 4, "seconds": seconds, "single_device_us": single_device_us, **more}


def cells(line):
    """Of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip("|").split("|")]
