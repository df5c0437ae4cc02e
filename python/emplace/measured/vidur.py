"""Times of single ops that Vidur measured (github.com/microsoft/vidur): data/profiling/compute/GPU/ORGANIZATION/MODEL/mlp.csv.

Vidur ran one block of each model with the kernels of vLLM, in 16-bit numbers, on one GPU that does the work of one tensor-parallel
worker, and took the times of the kernels from PyTorch's profiler, in whole microseconds.
"""
import math
import os
import pathlib
import statistics
from collections.abc import Container, Iterator
from dataclasses import dataclass

from emplace._core import BadInput, OpClass
from emplace.measured.files import check_columns, files_named, number, read_rows
from emplace.measured.ops import HALF_BYTES, MeasuredOp, product

# The device kind of a GPU by Vidur's name; others keep theirs. Its A100 have 80 GB.
_KINDS = {"a100": "a100_80gb"}
_TIMED = ("emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm", "mlp_up_proj", "mlp_act",
          "mlp_down_proj", "add")
_US_PER_MS = 1000.0
EXPECTED = "a checkout of github.com/microsoft/vidur, or its mlp.csv files"


@dataclass(frozen=True)
class _Block:
    """What one worker computes of a model's block. Names as in Vidur's files."""
    tokens: int
    workers: int
    width: int
    expanded: int
    heads: int
    kv_heads: int
    vocabulary: int
    gated: bool  # The feed-forward network has a gate, whose activation is one kernel of vLLM.


def read(path: str | os.PathLike, kinds: Container[str] | None = None) -> list[MeasuredOp]:
    """The measured ops, of each model, GPU, number of workers and number of tokens: medians of what was measured several times.

    path: a checkout, a folder with mlp.csv files, one of them, or a table of several GPUs, whose columns are gpu, model,
    tensor_parallel, tokens, embedding, expanded, heads, kv_heads, vocabulary, gated and NAME_ms. kinds: of these device kinds alone.
    Raises BadInput for anything else.
    """
    ops = []
    for file in files_named(path, "mlp.csv", EXPECTED):
        times: dict[tuple[str, str, _Block, str], list[float]] = {}
        for gpu, model, block, name, us in _times(file):
            if kinds is None or _KINDS.get(gpu, gpu) in kinds:
                times.setdefault((gpu, model, block, name), []).append(us)
        # A model without this norm adds three tensors at the end of a block, in two kernels.
        two_adds = {(gpu, model) for gpu, model, _, _ in times} - {(gpu, model) for gpu, model, _, name in times
                                                                  if name == "post_attention_layernorm"}
        for (gpu, model, block, name), us in times.items():
            where = f"{model}, tensor parallelism {block.workers}, {name}"
            ops.append(_op(_KINDS.get(gpu, gpu), block, name, statistics.median(us), where, 2 if (gpu, model) in two_adds else 1))
    return ops


def _times(path: pathlib.Path) -> Iterator[tuple[str, str, _Block, str, float]]:
    """(gpu, model, block, op, microseconds) of all that a file says was measured."""
    rows = read_rows(path, set())
    many = "gpu" in rows[0]
    names = ("tokens", "tensor_parallel", "embedding", "expanded", "heads", "kv_heads", "vocabulary") if many else \
        ("num_tokens", "num_tensor_parallel_workers", "n_embd", "n_expanded_embd", "n_head", "n_kv_head", "vocab_size")
    gated, column = ("gated", "{}_ms") if many else ("use_gated_mlp", "time_stats.{}.median")
    check_columns(path, rows[0], {*names, gated, *({"model"} if many else ()), column.format("mlp_up_proj")})
    parts = path.resolve().parts
    if not many and len(parts) < 5:
        raise BadInput(f"{path}: is in no folder GPU/ORGANIZATION/MODEL, expected {EXPECTED}")
    for index, row in enumerate(rows, 2):
        place = f"{path}:{index}"
        gpu, model = (row["gpu"], row["model"]) if many else (parts[-4], parts[-2])
        block = _Block(*(number(row, name, place) for name in names), row[gated] == "True")
        for name in _TIMED:
            text = row.get(column.format(name))
            if not text:
                continue  # The model has no such op.
            try:
                us = float(text) * _US_PER_MS
            except ValueError:
                us = math.nan
            if not 0 < us < math.inf:
                raise BadInput(f"{place}: {column.format(name)} is '{text}', expected a number of milliseconds above 0")
            yield gpu, model, block, name, us


def _op(kind: str, block: _Block, name: str, us: float, where: str, additions: int) -> MeasuredOp:
    tokens, width, expanded = block.tokens, block.width, block.expanded // block.workers
    head = width // block.heads

    def moving(group: str, op_class: OpClass, numbers: int, *costs: tuple[str, str]) -> MeasuredOp:
        return MeasuredOp(kind, group, op_class, 0.0, HALF_BYTES * numbers, us, tokens, where, costs)

    if name == "attn_pre_proj":  # Queries, keys and values.
        return product(kind, tokens, width, (block.heads + 2 * block.kv_heads) * head // block.workers, us, where)
    if name == "attn_post_proj":
        return product(kind, tokens, width // block.workers, width, us, where)
    if name == "mlp_up_proj":
        return product(kind, tokens, width, expanded * (2 if block.gated else 1), us, where)
    if name == "mlp_down_proj":
        return product(kind, tokens, expanded, width, us, where)
    if name == "mlp_act":
        if block.gated:
            return moving("activations", OpClass.ELEMENTWISE, 3 * tokens * expanded)
        return moving("activations", OpClass.ELEMENTWISE, 2 * tokens * expanded, ("aten.gelu", f"{tokens}x{expanded}"))
    if name == "attn_rope":  # Queries and keys, in place.
        return moving("rope", OpClass.ELEMENTWISE, 2 * tokens * (block.heads + block.kv_heads) * head // block.workers)
    if name == "add":
        costs = [("aten.add", f"{tokens}x{width};{tokens}x{width}")] if additions == 1 else []
        return moving("additions", OpClass.ELEMENTWISE, 3 * additions * tokens * width, *costs)
    if name == "emb":
        costs = [("aten.embedding", f"{block.vocabulary}x{width};{tokens}")] if block.workers == 1 else []
        return moving("embeddings", OpClass.GATHER, 2 * tokens * width, *costs)
    norm = ("aten.native_layer_norm", f"{tokens}x{width};{width};{width}") if additions == 2 else \
        ("aten._fused_rms_norm", f"{tokens}x{width};{width}")
    return moving("norms", OpClass.REDUCTION, 2 * tokens * width, norm)
