"""Times of matrix products that aiconfigurator measured (github.com/ai-dynamo/aiconfigurator): gemm_perf.parquet.

The files are systems/data/SYSTEM/gemm/FRAMEWORK/VERSION/gemm_perf.parquet. Products of 16-bit numbers are read; those with quantized
weights are left out, as no table of costs tells them apart.
"""
import math
import os
import pathlib
from collections.abc import Container

from emplace._core import BadInput
from emplace.measured.files import check_columns, files_named, refuse_pointer
from emplace.measured.ops import MeasuredOp, product
from emplace.reading import first_line

# The device kind of a system by aiconfigurator's name; others keep theirs.
_KINDS = {"a100_sxm": "a100_80gb", "h100_sxm": "h100", "h200_sxm": "h200", "b200_sxm": "b200"}
_COLUMNS = {"gemm_dtype", "m", "n", "k", "latency"}
_HALF = ("bfloat16", "float16")
_US_PER_MS = 1000.0
EXPECTED = "a checkout of github.com/ai-dynamo/aiconfigurator, or its gemm_perf.parquet files"


def read(path: str | os.PathLike, kinds: Container[str] | None = None) -> list[MeasuredOp]:
    """The products of a checkout, a folder with gemm_perf.parquet files, or one of them; kinds: of these device kinds alone.

    Raises BadInput for anything else.
    """
    files = files_named(path, "gemm_perf.parquet", EXPECTED)
    return [op for file in files if kinds is None or _kind_of(file) in kinds for op in _products(file)]


def _kind_of(path: pathlib.Path) -> str:
    parts = path.resolve().parts
    if len(parts) < 6 or parts[-4] != "gemm":
        raise BadInput(f"{path}: is in no folder SYSTEM/gemm/FRAMEWORK/VERSION, expected {EXPECTED}")
    return _KINDS.get(parts[-5], parts[-5])


def _products(path: pathlib.Path) -> list[MeasuredOp]:
    kind, (framework, version) = _kind_of(path), path.resolve().parts[-3:-1]
    ops = []
    for index, (dtype, rows, columns, inner, milliseconds) in enumerate(_rows(path)):
        if dtype not in _HALF or rows == 0:  # Some of their rows are products of nothing.
            continue
        sizes_hold = all(isinstance(size, int) and size >= 1 for size in (rows, columns, inner))
        if not sizes_hold or not isinstance(milliseconds, float) or not 0 < milliseconds < math.inf:
            raise BadInput(f"{path}: row {index} has m {rows}, n {columns}, k {inner} and latency {milliseconds}, expected numbers above 0")
        ops.append(product(kind, rows, inner, columns, milliseconds * _US_PER_MS, f"{framework} {version}, {inner} to {columns}"))
    return ops


def _rows(path: pathlib.Path) -> list[tuple]:
    """(gemm_dtype, m, n, k, latency in ms) of each row."""
    refuse_pointer(path)
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise BadInput(f"{path}: is read with the Python package 'pyarrow', expected it installed (`pip install pyarrow`)") from error
    try:
        check_columns(path, pyarrow.parquet.read_schema(path).names, _COLUMNS)
        table = pyarrow.parquet.read_table(path, columns=["gemm_dtype", "m", "n", "k", "latency"])
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{path}: is no Parquet file: {first_line(error)}") from error
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
