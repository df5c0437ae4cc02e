"""A measured op, and the tables of measured ops that `emplace costs --costs` reads."""
import csv
import io
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from emplace._core import OpClass

HALF_BYTES = 2  # Of a number of 16 bits, in which all of these were measured.


@dataclass(frozen=True)
class MeasuredOp:
    """An op with 16-bit numbers, as somebody measured it on a GPU."""
    kind: str  # Device kind.
    group: str  # What it is: products, norms, activations, additions, rope or embeddings.
    op_class: OpClass
    flops: float
    moved_bytes: int  # Read and written.
    us: float
    tokens: int  # Rows of its first input.
    where: str  # Where it was measured, such as "Llama-2-7b-hf, tensor parallelism 2, mlp_up_proj": no two ops of a kind and size share it.
    costs: tuple[tuple[str, str], ...] = ()  # (type, shapes) of ops of a graph that do the same; none: a graph has no such op.


def product(kind: str, rows: int, inner: int, columns: int, us: float, where: str) -> MeasuredOp:
    """The product of [rows, inner] and a weight [columns, inner], as a linear layer has it, with a bias or without."""
    shapes = f"{rows}x{inner};{columns}x{inner}"
    moved = HALF_BYTES * (rows * inner + inner * columns + rows * columns)
    return MeasuredOp(kind, "products", OpClass.MATMUL, 2.0 * rows * inner * columns, moved, us, rows, where,
                      (("aten.mm", shapes), ("aten.addmm", f"{columns};{shapes}")))


def cost_table(ops: Iterable[MeasuredOp]) -> str:
    """CSV of type, shapes, kind and microseconds; the median where several ops have the same type, shapes and kind."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for op in ops:
        for op_type, shapes in op.costs:
            times.setdefault((op_type, shapes, op.kind), []).append(op.us)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["type", "shapes", "kind", "us"])
    for key, us in times.items():
        writer.writerow([*key, format(statistics.median(us), ".6g")])
    return out.getvalue()
