#!/usr/bin/env python3
"""The simulated peak of each device beside the bytes that LibTorch allocates there, on training steps of captured models.

Captures small models of transformers, diffusers and timm (capture_models.py) with 1 and 4 micro-batches, places each on one device
and, by `dp`, on two, and runs the step with `emplace-hardware run`. Runs in an environment with the Python package, torch, timm,
transformers and diffusers. Writes a table, a line for each device that holds anything, and prints how far the two are apart.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import tempfile

from lib.capture_models import NAMES, make, refuse_unknown
from lib.networks import add_programs, call
from lib.script import BadInput, first_line, last_line, run_script
from lib.table import SEARCH, Table, add_out

MODELS = ("transformers/gpt2", "transformers/llama", "transformers/bert", "transformers/t5", "transformers/mixtral", "transformers/vit",
          "transformers/swin", "diffusers/UNet2DConditionModel", "diffusers/AutoencoderKL", "diffusers/DiTTransformer2DModel", "timm/resnet18",
          "timm/mobilenetv2_100", "timm/densenet121", "timm/vit_tiny_patch16_224")
METHODS = ("single", "dp")
MICROBATCHES = (1, 4)
COLUMNS = {"model": str, "microbatches": int, "method": str, "device": str, "predicted_bytes": int, "allocated_bytes": int, "reason": str}
DEPENDS = (*SEARCH, "actor/hardware", "python/emplace/torch")
DEVICES = """devices:
  - {name: "cpu:0", kind: cpu, memory_bytes: 2.0e10, cores: [0]}
  - {name: "cpu:1", kind: cpu, memory_bytes: 2.0e10, cores: [1]}
op_overhead_us: 2
transfer: {bandwidth_bytes_per_us: 5000, latency_us: 5, overhead_us: 5}
"""


def rows_of(name, microbatches, programs, folder):
    """The rows of a model; one with a reason where it cannot be captured or run."""
    import emplace
    import torch
    row = {"model": name, "microbatches": microbatches}
    graph, devices, placement = folder / "g.graph.json", folder / "devices.yaml", folder / "placement.json"
    devices.write_text(DEVICES)
    try:
        torch.manual_seed(0)
        model, args, kwargs = make(name, True)
        emplace.torch.capture(model, args, kwargs, train=True, microbatches=microbatches).save(graph)
    except Exception as error:
        return [{**row, "reason": first_line(error, type(error).__name__)}]
    rows = []
    for method in METHODS:
        call([programs / "emplace", "place", "--graph", graph, "--devices", devices, "--method", method, "--out", placement])
        done = subprocess.run([programs / "emplace-hardware", "run", "--graph", graph, "--devices", devices, "--placement", placement,
                               "--steps", "2", "--warmup", "1", "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            rows.append({**row, "method": method, "reason": last_line(done.stderr, f"exit code {done.returncode}")})
            continue
        run = json.loads(done.stdout)
        for device, (predicted, allocated) in enumerate(zip(run["predicted_peak_bytes"], run["measured_peak_bytes"])):
            if predicted or allocated:
                rows.append({**row, "method": method, "device": f"cpu:{device}", "predicted_bytes": predicted, "allocated_bytes": allocated})
    return rows


def summary(rows, method):
    """A line about one method: how many devices are within 1, 5 and 10%, and the largest difference."""
    apart = [row["predicted_bytes"] / row["allocated_bytes"] - 1 for row in rows if row["method"] == method and row["reason"] is None]
    if not apart:
        return f"{method}: no step could be run"
    within = ", ".join(f"{sum(abs(one) <= share for one in apart)} within {share:.0%}" for share in (0.01, 0.05, 0.1))
    return f"{method}: of {len(apart)} devices {within}; the farthest is predicted {max(apart, key=abs):+.1%} beside what is allocated"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", default=MODELS, metavar="LIBRARY/NAME", help="models of capture_models.py (default: fourteen)")
    add_programs(parser)
    add_out(parser, "memory", shown=False)
    options = parser.parse_args()
    refuse_unknown(parser, options.models, dict.fromkeys((*MODELS, *NAMES)))
    for package in ("emplace", "torch"):
        if importlib.util.find_spec(package) is None:
            raise BadInput(f"there is no Python package {package}, expected it in this environment")
    table = Table(options.out, COLUMNS, DEPENDS, fresh=True)
    with tempfile.TemporaryDirectory(prefix="emplace_memory_") as folder:
        for name in options.models:
            for microbatches in MICROBATCHES:
                new = rows_of(name, microbatches, options.programs, pathlib.Path(folder))
                table.add(new)
                print(name, microbatches, "; ".join(row.get("reason") or f"{row['method']} {row['device']} {row['predicted_bytes']:,} for "
                                                    f"{row['allocated_bytes']:,}" for row in new), flush=True)
    table.save()
    for method in METHODS:
        print(summary(table.rows, method))


if __name__ == "__main__":
    run_script(main, goes_on=False)
