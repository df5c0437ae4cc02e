#!/usr/bin/env python3
"""Which models of transformers, diffusers and timm can be captured: small configurations with random weights, called as their pages
call them, for inference and for training with 1 and 4 micro-batches, and whether a placed step has the bits of the plain model.

Runs in an environment with the package `emplace`, torch, torchvision, timm, transformers and diffusers; nothing is downloaded:
  pip install . torch==2.11.0 torchvision==0.26.0 timm transformers diffusers
  python tools/reproduce/captures.py
Each model is a process of its own. It can be stopped at any time, and the same command goes on; --fresh tries all again. Writes
a table: a row for each model and way, with the number of ops or the reason why there is no graph; the column `equal` says whether
the loss and all gradients, or the outputs, of emplace.torch.apply equal the plain model's bit for bit (empty: not compared).
"""
import argparse
import json

from lib.capture_models import NAMES, make, refuse_unknown
from lib.script import first_line, run_apart, run_script
from lib.table import Table, add_fresh, add_out

WAYS = ("inference", "training", "training, 4 micro-batches")
COLUMNS = {"model": str, "way": str, "ops": int, "equal": bool, "reason": str}
DEPENDS = ("python/emplace/torch",)


def leaves_of(value):
    import torch
    from torch.utils import _pytree
    return [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def same_bits(model, args, kwargs, graph, train):
    """Whether a placed step gives what the plain model gives, from the same random numbers."""
    import copy

    import emplace
    import torch
    from emplace.torch.tracing import loss_of
    machine = emplace.Machine([emplace.Device("cpu:0", "cpu", 64e9)], bandwidth_bytes_per_us=10_000)
    plain = copy.deepcopy(model)
    # In the order of the capture, in which random numbers are drawn as in the plain model.
    plan = emplace.Plan.of(graph, machine, [0] * graph.num_ops, order={"cpu:0": graph.op_names})
    with emplace.torch.apply(model, args, plan, kwargs=kwargs) as step:
        torch.manual_seed(1)
        placed = step(*args, **kwargs)
    torch.manual_seed(1)
    if train:
        expected = loss_of(plain(*args, **kwargs))
        expected.backward()
        pairs = [(placed, expected), *((one.grad, other.grad) for one, other in zip(model.parameters(), plain.parameters(), strict=True))]
    else:
        with torch.no_grad():
            pairs = list(zip(leaves_of(placed), leaves_of(plain(*args, **kwargs)), strict=True))
    return all(one is other or (one is not None and other is not None and torch.equal(one.nan_to_num(), other.nan_to_num()))
               for one, other in pairs)


def measure(name):
    """The rows of a model."""
    import emplace
    import torch
    rows = []
    for way in WAYS:
        train = way != WAYS[0]
        row = {"model": name, "way": way}
        rows.append(row)
        try:
            torch.manual_seed(0)
            model, args, kwargs = make(name, train)
            graph = emplace.torch.capture(model, args, kwargs, train=train, microbatches=4 if way == WAYS[2] else 1)
            row["ops"] = graph.num_ops
            if way != WAYS[2]:
                row["equal"] = same_bits(model, args, kwargs, graph, train)
        except Exception as error:
            row["reason"] = ("" if isinstance(error, emplace.BadInput) else f"{type(error).__name__}: ") + first_line(error)
    return rows


def rows_of(name, timeout):
    """The rows of a model by a process of its own."""
    lines, failed = run_apart(["--row", name], timeout)
    return [{"model": name, "way": way, "reason": failed} for way in WAYS] if failed else json.loads(lines[-1])


def summary(rows):
    """One line for each library: how many of its models were captured in each way, and how many comparisons were equal."""
    lines = []
    for library in dict.fromkeys(row["model"].partition("/")[0] for row in rows):
        own = [row for row in rows if row["model"].startswith(library + "/")]
        parts = []
        for way in WAYS:
            of_way = [row for row in own if row["way"] == way]
            parts.append(f"{sum(bool(row['ops']) for row in of_way)} of {len(of_way)} in {way}")
        compared = [row["equal"] for row in own if row["equal"] is not None]
        lines.append(f"{library}: captured {', '.join(parts)}; {sum(compared)} of {len(compared)} comparisons equal bit for bit")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="LIBRARY/NAME of some of the models (default: all)")
    parser.add_argument("--timeout", type=float, default=180, help="most seconds for one model (default: 180)")
    add_out(parser, "captures", shown=False)
    add_fresh(parser, others_stay=True)
    parser.add_argument("--row", help=argparse.SUPPRESS)  # The process of one model.
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(options.row)))
        return
    refuse_unknown(parser, options.models)
    table = Table(options.out, COLUMNS, DEPENDS)
    known = {row["model"] for row in table.rows}
    for name in options.models or NAMES:
        if name in known and not options.fresh:
            continue
        rows = rows_of(name, options.timeout)
        table.remove(model=name)
        table.add(rows)
        table.rows.sort(key=lambda row: NAMES.index(row["model"]))  # Stable.
        table.save()
        for row in rows:
            print(name, row["way"], row.get("ops") or row.get("reason"), row.get("equal", ""), flush=True)
    print(summary(table.rows))


if __name__ == "__main__":
    run_script(main)
