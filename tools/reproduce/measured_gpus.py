#!/usr/bin/env python3
"""How far the roofline model is from op times that others measured on GPUs: those of Vidur (github.com/microsoft/vidur).

Takes the path of a checkout, of a folder with its mlp.csv files, or of a table of several GPUs as `emplace costs --from vidur` reads it.
For each GPU it judges on one half of the ops the device kind as it was before any fit, one that is fitted to the other half, and the one
that comes with emplace; and a kind that is fitted to half of the models on the other models. With --products it also judges the kinds
before and now on products of matrices that aiconfigurator measured (github.com/ai-dynamo/aiconfigurator), to which nothing is fitted.
Runs in a clone, in an environment with the package `emplace`: `pip install '.[costs]'`, then
  python tools/reproduce/measured_gpus.py vidur/ --products aiconfigurator/
Writes a table with a line for each GPU, kind of op and range of tokens, and beside it a .md that shows it. A run takes some minutes.
"""
import argparse
import pathlib
import statistics
import tempfile
import zlib

from lib.networks import ROOT
from lib.script import BadInput, run_script
from lib.table import Table, add_out, git, grouped, made_by, table_lines

# tokens_from, tokens_to: the range of tokens. constants: of which kind. ratio: predicted / measured, the median over the judged ops.
# error: |predicted / measured - 1|, the median.
COLUMNS = {"gpu": str, "ops": str, "tokens_from": int, "tokens_to": int, "constants": str, "judged_ops": int, "ratio": float,
           "error": float}
DEPENDS = ("python/emplace/measured", "simulator/families/program", "configs/devices")
BEFORE, FITTED, SHIPPED, OTHER_MODELS = CONSTANTS = ("before", "fitted", "shipped", "fitted to other models")
# Kinds that were there before the fit, by Vidur's GPUs: their names, and their files at that commit. The A100 was one of 40 GB.
COMMIT = "a972f9c9"
EARLIER = {"a40": ("a40", "configs/devices/consumer/nvidia.yaml"), "a100_80gb": ("a100", "configs/devices/a100.yaml"),
           "h100": ("h100", "configs/devices/h100.yaml")}
NOW = {"a40": "configs/devices/consumer/a40.yaml", "a100_80gb": "configs/devices/consumer/a100_80gb.yaml",
       "h100": "configs/devices/h100.yaml"}
RANGES = ((1, 128), (129, 1024), (1025, 4096))
EVERY = (1, 4096)
PRODUCTS, REST, OF_OTHERS = "products", "all other ops", "products of aiconfigurator"
GOALS = {PRODUCTS: 0.10, REST: 0.20}


def second_half(text):
    """Whether what has this name is of the second half; the same on every computer."""
    return zlib.crc32(text.encode()) % 2 == 1


def halves(ops, models):
    """(ops to fit to, ops to judge on). models: each model belongs to one of them, in turns, and not each op."""
    if not models:
        judged = [second_half(f"{op.where}, {op.tokens} tokens") for op in ops]
    else:
        names = sorted({op.where.partition(",")[0] for op in ops})
        judged = [names.index(op.where.partition(",")[0]) % 2 == 1 for op in ops]
    return [op for op, later in zip(ops, judged) if not later], [op for op, later in zip(ops, judged) if later]


def judge(ops, predict, **cells):
    """Rows on ops: by what they are and by tokens. predict(op): microseconds."""
    ratios = [(op.group, op.tokens, predict(op) / op.us) for op in ops]
    groups = sorted({group for group, _, _ in ratios}, key=lambda group: (group != PRODUCTS, group))
    rows = []
    for name in groups if groups == [PRODUCTS] else [*groups, REST]:
        for low, high in (*RANGES, EVERY):
            found = [ratio for group, tokens, ratio in ratios if (group == name or (name == REST and group != PRODUCTS))
                     and low <= tokens <= high]
            if found:
                # Rounded, so that a text of the table's digits is that of the numbers.
                rows.append({**cells, "ops": name, "tokens_from": low, "tokens_to": high, "judged_ops": len(found),
                             "ratio": round(statistics.median(found), 6),
                             "error": round(statistics.median(abs(ratio - 1) for ratio in found), 6)})
    return rows


def predictor(text, name):
    """What gives the microseconds of an op on the kind of this name in a kinds' file."""
    from emplace import _core
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kinds.yaml"
        path.write_text(text)
        kind = next(kind for kind in _core.load_device_kinds_of_file(path) if kind.name == name)
    return lambda op: kind.cost_us(op.op_class, True, op.flops, op.moved_bytes)


def earlier(gpu):
    """Of the kind before the fit."""
    name, path = EARLIER[gpu]
    text = git("show", f"{COMMIT}:{path}")
    if text is None:
        raise BadInput(f"commit {COMMIT} has no {path}, expected a clone of the project with its history")
    return predictor(text, name)


def shipped(gpu):
    """Of the kind that comes with emplace."""
    return predictor((ROOT / NOW[gpu]).read_text(), gpu)


def measure(gpu, ops):
    """(rows of a GPU, the file of the kind that is fitted to half of the ops)."""
    from emplace.measured.data_sheets import DATA_SHEETS
    from emplace.measured.fitting import fit
    fit_to, judged = halves(ops, models=False)
    text = fit(gpu, DATA_SHEETS[gpu], fit_to).text(f"half of {len(ops)} times of Vidur")
    kinds = {BEFORE: earlier(gpu), FITTED: predictor(text, gpu), SHIPPED: shipped(gpu)}
    rows = [row for constants, predict in kinds.items() for row in judge(judged, predict, gpu=gpu, constants=constants)]
    fit_to, judged = halves(ops, models=True)
    if judged:
        there = fit(gpu, DATA_SHEETS[gpu], fit_to).text("other models")
        rows += judge(judged, predictor(there, gpu), gpu=gpu, constants=OTHER_MODELS)
    return rows, text


def judge_products(gpu, ops):
    """Rows of a GPU on products to which nothing is fitted."""
    rows = [row for constants, predict in ((BEFORE, earlier(gpu)), (SHIPPED, shipped(gpu)))
            for row in judge(ops, predict, gpu=gpu, constants=constants)]
    return [{**row, "ops": OF_OTHERS} for row in rows]


def cell(row):
    return "-" if row is None else f"{row['ratio']:.2f}, {row['error']:.1%}"


def markdown(table):
    lines = [
        "# The roofline model beside op times that others measured",
        "Vidur (github.com/microsoft/vidur) measured the ops of language models on GPUs, in 16-bit numbers. Each cell is predicted / "
        "measured, and the error |predicted / measured - 1|: medians over ops. *Before*: the device kind as it was. *Fitted*: a kind "
        "fitted to half of the ops. *Shipped*: the kind of `configs/devices`. These are judged on the other half. *Fitted to other "
        "models*: a kind fitted to the ops of half of the models, judged on those of the other half. Goals are about *shipped*. Products of "
        "aiconfigurator (github.com/ai-dynamo/aiconfigurator), where there are any, were measured by others on the same GPUs, and nothing "
        "is fitted to them.", "",
        made_by(table.rows)]
    for (gpu,), rows in grouped(table.rows, "gpu").items():
        found = {(row["ops"], row["tokens_from"], row["tokens_to"], row["constants"]): row for row in rows}
        shown = []
        for name, low, high in dict.fromkeys(key[:3] for key in found):
            by_constants = [found.get((name, low, high, constants)) for constants in CONSTANTS]
            shown.append([name, f"{low} to {high}", by_constants[0]["judged_ops"], *map(cell, by_constants)])
        lines += ["", f"## {gpu}", "", *table_lines(["ops", "tokens", "judged", *CONSTANTS], "llr", shown), ""]
        for name, goal in GOALS.items():
            row = found.get((name, *EVERY, SHIPPED))
            if row:
                lines.append(f"- {name}: median error {row['error']:.1%}, goal {goal:.0%}: {'met' if row['error'] <= goal else 'missed'}.")
        lines += ["", "The fitted kind:", "```", table.facts["kinds"][gpu].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="a checkout of github.com/microsoft/vidur, or its mlp.csv files")
    parser.add_argument("--products", metavar="PATH", help="a checkout of github.com/ai-dynamo/aiconfigurator, or its gemm_perf.parquet "
                        "files")
    add_out(parser, "measured_gpus")
    options = parser.parse_args()
    import emplace
    from emplace.measured import aiconfigurator, vidur
    try:
        ops = vidur.read(options.path, EARLIER)
        products = aiconfigurator.read(options.products, EARLIER) if options.products else []
    except emplace.BadInput as error:
        raise BadInput(str(error)) from error
    table = Table(options.out, COLUMNS, DEPENDS, fresh=True)
    table.facts["kinds"] = {}
    for gpu in EARLIER:
        of_gpu = [op for op in ops if op.kind == gpu]
        if of_gpu:
            rows, table.facts["kinds"][gpu] = measure(gpu, of_gpu)
            table.add(rows)
            print(f"{gpu}: {len(of_gpu)} ops", flush=True)
        others = [op for op in products if op.kind == gpu]
        if of_gpu and others:
            table.add(judge_products(gpu, others))
    if not table.rows:
        raise BadInput(f"{options.path}: has no ops on {', '.join(EARLIER)}")
    table.save(markdown(table))


if __name__ == "__main__":
    run_script(main, goes_on=False)
