#!/usr/bin/env python3
"""How far are predicted memory and tokens/s of language models from what llama.cpp reports and takes, on the cores of this computer?

    python tools/reproduce/llama_cpp.py --python VENV/bin/python

VENV has llama-cpp-python, built with CMAKE_ARGS=-DGGML_RPC=ON; this script runs in one with the package emplace and gguf, on two
quiet cores. Devices are two RPC servers with a core each, and the processor. It generates three models with random weights, writes
each of three splits as flags, and has llama.cpp load the model with them, say how large its buffers are, and decode with a full
cache. One small model of each type of weights, run on the processor alone and with one server, says how fast a core reads such
weights and what each way to a server adds to a step: no number of the models that are predicted goes into a prediction.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lib.networks import ROOT
from lib.script import run_script
from lib.table import Table, add_out, made_by, table_lines

COLUMNS = {"model": str, "split": str, "predicted_tokens_per_s": float, "measured_tokens_per_s": float, "predicted_servers_mib": float,
           "servers_mib": float, "predicted_cpu_mib": float, "cpu_mib": float}
DEPENDS = ("python/emplace/llm", "python/emplace/probing.py", "simulator/engine", "tests/python/support/llm_models.py",
           "tools/reproduce/lib/llama_cpp_run.py")
_CONTEXT, _STEPS = 1024, 40
_CALIBRATIONS = 4  # The fastest counts: other work on the computer may hold up a run as a whole.
_PORTS = (50071, 50072)
_MIB = 2**20
_MODELS = {"dense F16": {"layers": 12, "width": 2048, "kind": "F16", "vocabulary": 16000},
           "dense Q8_0": {"layers": 16, "width": 2048, "kind": "Q8_0", "vocabulary": 16000},
           "8 experts Q8_0": {"layers": 5, "width": 2048, "kind": "Q8_0", "vocabulary": 16000, "experts": 8}}
_SMALL = {kind: {"layers": 8, "width": 1536, "kind": kind, "vocabulary": 4000} for kind in ("F16", "Q8_0")}


class Runner:
    """Runs llama.cpp on core 0, with a server on each core."""

    def __init__(self, python: str):
        self._python = python

    def _command(self, core: int, *arguments: str) -> list[str]:
        return ["taskset", "-c", str(core), self._python, str(ROOT / "tools/reproduce/lib/llama_cpp_run.py"), *arguments]

    def run(self, model: pathlib.Path, flags: str) -> dict:
        servers = [subprocess.Popen(self._command(core, "serve", f"127.0.0.1:{port}"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for core, port in enumerate(_PORTS)] if "--rpc" in flags else []
        time.sleep(2 if servers else 0)
        try:
            done = subprocess.run(self._command(0, "run", str(model), str(_CONTEXT), str(_STEPS), flags), stdout=subprocess.PIPE, text=True,
                                  check=True)
        finally:
            for server in servers:
                server.kill()
        found = json.loads(done.stdout)
        found["us"] = statistics.quantiles(found["step_us"], n=10)[0]  # Of the steps that other work has disturbed least.
        return found


def _write_model(path: pathlib.Path, shape: dict) -> pathlib.Path:
    sys.path.insert(0, str(ROOT / "tests/python/support"))
    from llm_models import write_gguf
    return write_gguf(path, **shape)


def _calibrate(runner: Runner, folder: pathlib.Path, kind: str) -> tuple[str, float]:
    """The text of a device kind for weights of this type, and what the way to a server adds to a step, in us."""
    import emplace
    from emplace.probing import probe_kind
    model = _write_model(folder / f"small_{kind}.gguf", _SMALL[kind])
    alone_us, remote_us = (min(runner.run(model, flags)["us"] for _ in range(_CALIBRATIONS)) for flags in (
        "-ngl 0", f"--rpc 127.0.0.1:{_PORTS[1]} -dev RPC0 -ngl 9"))
    read = emplace.llm.load(model, context=_CONTEXT, kinds="cpu").param_bytes.sum() - _SMALL[kind]["vocabulary"] * _SMALL[kind]["width"] * 2
    lines = probe_kind(f"core_{kind.lower()}").splitlines()
    text = "\n".join(f"memory_gb_per_s: {read / alone_us / 1e3:.4g}" if line.startswith("memory_gb_per_s") else line for line in lines)
    return text + "\n", max(0.0, remote_us - alone_us)


def _splits(graph) -> list[tuple]:
    """Placements on server 0, server 1 and the processor (2), each with its name and the chunks of a prompt that llama.cpp has in flight."""
    import numpy as np
    modules = [op["attrs"]["module"].split(".") for op in graph.ops]
    layers = graph.meta["llm"]["layers"]

    def placed(attention, products):
        return np.array([2 if module[0] == "token_embd" else attention(layers - 1) if module[0] != "blk" else
                         (products if module[2].startswith(("ffn_up", "ffn_down", "ffn_experts")) else attention)(int(module[1]))
                         for module in modules])
    half, third = layers // 2, layers // 3
    return [("two servers, half each", placed(lambda layer: int(layer >= half), lambda layer: int(layer >= half)), 4),
            ("processor, then server 1", placed(lambda layer: 2 if layer < third else 1, lambda layer: 2 if layer < third else 1), 1),
            ("server 1, a third of the FFN on the processor", placed(lambda layer: 1, lambda layer: 2 if layer < third else 1), 1)]


def _rows(runner: Runner, folder: pathlib.Path):
    import emplace
    for name, shape in _MODELS.items():
        # Right before what is predicted by it: the computer's own speed changes within minutes.
        text, server_us = _calibrate(runner, folder, shape["kind"])
        (folder / "core.yaml").write_text(text)
        model, core = _write_model(folder / "m.gguf", shape), f"core_{shape['kind'].lower()}"
        machine = emplace.Machine([*(emplace.Device(f"127.0.0.1:{port}", core, 8e9) for port in _PORTS), emplace.Device("cpu", core, 8e9)],
                                  bandwidth_bytes_per_us=1000, transfer_latency_us=server_us)
        for split, placement, chunks_in_flight in _splits(emplace.llm.load(model, context=_CONTEXT)):
            graph = emplace.llm.load(model, context=_CONTEXT, chunks_in_flight=chunks_in_flight, kinds=str(folder / "core.yaml"))
            plan = emplace.Plan.of(graph, machine, placement)
            found = runner.run(model, emplace.llm.flags("llama.cpp", plan).strip())
            sizes = {device: sum(size for key, size in found["buffers"].items() if key.split()[0] == device) / _MIB for device in ("RPC0", "CPU")}
            yield {"model": name, "split": split, "predicted_tokens_per_s": 1e6 / plan.makespan_us,
                   "measured_tokens_per_s": 1e6 / found["us"], "predicted_servers_mib": float(plan.peak_bytes[:2].sum()) / _MIB,
                   "servers_mib": sizes["RPC0"], "predicted_cpu_mib": float(plan.peak_bytes[2]) / _MIB, "cpu_mib": sizes["CPU"]}


def markdown(rows):
    """The table as text."""
    shown = [[row["model"], row["split"], *(f"{row['predicted_' + name]:.{digits}f} / {row[name.replace('tokens', 'measured_tokens')]:.{digits}f}"
                                            for name, digits in (("tokens_per_s", 2), ("servers_mib", 0), ("cpu_mib", 0)))] for row in rows]
    return "\n".join([
        "# Predictions for llama.cpp", "Of each split: tokens/s of one stream with a full cache of 1,024 tokens, and MiB of all buffers that "
        "llama.cpp reports, predicted / as it was.", "",
        *table_lines(["model", "split", "tokens/s", "servers, MiB", "processor, MiB"], "llr", shown), "", made_by(rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="interpreter of an environment with llama-cpp-python")
    add_out(parser, "llama_cpp")
    options = parser.parse_args()
    if shutil.which(options.python) is None:
        parser.error(f"--python is '{options.python}', expected a program")
    os.sched_setaffinity(0, {0})  # The probe's products run on one core.
    table = Table(options.out, COLUMNS, DEPENDS, fresh=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in _rows(Runner(options.python), pathlib.Path(folder)):
            table.add([row])
            print({key: round(value, 1) if isinstance(value, float) else value for key, value in row.items() if key != "call"}, flush=True)
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main, goes_on=False)
