"""What the tests of the scripts share: where these are found, and rows of results."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/reproduce"))


def row(graph, method, seed, makespan_us, feasible=True, seconds=0.5):
    return {"graph": graph, "method": method, "seed": seed, "makespan_us": makespan_us, "peak_bytes": [], "feasible": feasible,
            "evaluations": 4, "seconds": seconds, "path": f"{graph}.graph.json"}


def cells(line):
    """Of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip("|").split("|")]
