#!/usr/bin/env python3
"""Situations in which people asked in public threads how to divide a language model over their devices, with figures.

For each it writes the model's config.json and a devices file, makes the graph of a step from them, and simulates the thread's splits
and those of emplace: one that the thread's program can run, and one without that constraint. Nothing of it ran on these devices: what
is measured, the threads measured. Runs in an environment with the package `emplace`: `pip install .`, then
  python tools/reproduce/llm_situations.py
Writes a table with a line for each split, and beside it a .md that shows it. A run takes a minute and replaces the lines of the
situations it makes.
"""
import argparse
import json
import pathlib
import tempfile
import time
from dataclasses import dataclass, field

from lib.llm_models import CONFIGS
from lib.networks import devices_text
from lib.script import run_script
from lib.table import SEARCH, Numbers, Table, add_out, grouped, made_by, table_lines

# figure_ms: what the objective is about: the time of a step, or from step to step in a pipeline. layers: on each device, first to last
# as they run. seconds: to find it; empty: the thread's. measured: by the thread.
COLUMNS = {"situation": str, "url": str, "model": str, "bytes": int, "devices": str, "runtime": str, "objective": str, "split": str,
           "layers": str, "figure_ms": float, "tokens_per_s": float, "fits": bool, "peak_gb": Numbers, "lower_bound_ms": float,
           "seconds": float, "measured": str}
DEPENDS = (*SEARCH, "python/emplace/llm", "python/emplace/placing.py", "configs/devices", "tools/reproduce/lib/llm_models.py")
OURS, FREE = "emplace", "emplace, without constraint"
GIB, MIB = 2**30, 2**20


@dataclass(frozen=True)
class Split:
    """A division as a thread has it."""
    sizes: tuple[int, ...]  # [D] layers of each device, which follow each other in the order of the devices.
    on_cpu: int = 0  # Of how many first layers the experts are on the processor, as --n-cpu-moe has it.


@dataclass(frozen=True)
class Situation:
    """What a thread asks."""
    name: str  # owner/repository#number
    question: str
    model: str  # A key of CONFIGS.
    devices: tuple[tuple[str, str, float], ...]  # Name, kind, and bytes that a model may have there.
    link: tuple[float, float]  # Bytes/us and us until the first byte arrives.
    splits: dict[str, Split]
    runtime: str
    measured: str = "nothing"
    assumed: str = ""  # What the thread leaves open.
    objective: str = "latency"
    settings: dict = field(default_factory=dict)  # Arguments of emplace.llm.load.
    kinds: str = ""  # Text of a file with device kinds of its own.

    @property
    def url(self):
        repository, number = self.name.partition(" ")[0].split("#")
        return f"https://github.com/{repository}/issues/{number}"


def tensor_split(layers, weights):
    """[D] the layers that llama.cpp gives each device for -ts, which counts the output as one more layer (llama-model.cpp)."""
    ends = [sum(weights[:index + 1]) / sum(weights) for index in range(len(weights))]
    devices = [next(index for index, end in enumerate(ends) if layer / (layers + 1) < end) for layer in range(layers)]
    return tuple(devices.count(index) for index in range(len(weights)))


PCIE, ONE_GIGABIT = (12000, 15), (117, 200)
RTX_3090S = (("gpu:0", "rtx3090", 23.5e9), ("gpu:1", "rtx3090", 23.5e9))
# Kinds with the bandwidths that exo#957 measured, of which a model is to reach all.
MACS = (("laptop", 264.4, 36), ("studio-a", 344.0, 96), ("studio-b", 308.7, 64), ("studio-c", 351.2, 96), ("studio-d", 177.6, 36))
MAC_KINDS = "launch_us: 0.001\nefficiency:\n" + "".join(
    f"  {name}: {{compute: 1.0, memory: 1.0, half_rate_mflop: 0}}\n"
    for name in ("matmul", "convolution", "depthwise", "elementwise", "reduction", "gather")) + "kinds:\n" + "".join(
    f"  - {{kind: {name}, memory_bytes: {gb}.0e9, memory_gb_per_s: {speed}, f32: 15000, f16: 15000}}\n" for name, speed, gb in MACS)
EXO = {
    "model": "forty layers of 1 GB", "runtime": "exo", "kinds": MAC_KINDS, "link": (1e6, 0),
    "devices": tuple((name, name, 0.75 * gb * 1e9) for name, _, gb in MACS), "settings": {"context": 16},
    "splits": {"by capacity": Split((4, 12, 8, 12, 4)), "by bandwidth": Split((7, 10, 8, 10, 5))},
    "assumed": "3/4 of the memory for the GPU. As in the thread's figures, layers are of 1 GB, and links take no time."}

SITUATIONS = (
    Situation("exo-explore/exo#957 (pipeline)", "Five Macs: layers by capacity or by measured bandwidth? The slowest stage counts.",
              objective="throughput", measured="computed, not measured: slowest stage 34.88 ms by capacity, 29.07 ms at best", **EXO),
    Situation("exo-explore/exo#957 (one stream)", "The same five Macs: time of one token, the sum over stages as the issue has it.", **EXO),
    Situation(
        "Mesh-LLM/mesh-llm#1001", "Layers by memory: a computer with 128 GB and no GPU gets 4.8 times as many as an RTX 4090.",
        "Gemma 3 27B", (("cpu", "ddr5_2ch", 115.2e9), ("gpu", "rtx4090", 22.5e9)), ONE_GIGABIT,
        {"by capacity, 4.8 : 1": Split((51, 11)), "capped at the model, 1.25 : 1": Split((34, 28))}, "mesh-llm",
        assumed="the model, of about 30 GB in the thread; two channels of DDR5-5600; 1 Gbit/s, 200 us; context 8192.",
        settings={"weight_type": "Q8_0", "context": 8192}),
    Situation(
        "Mesh-LLM/mesh-llm#421", "Two Macs, layers by memory, 75 and 19.", "Qwen3-235B-A22B",
        (("studio", "m3_ultra", 192e9), ("macbook", "m4_max", 48e9)), (117, 12000), {"by memory": Split((75, 19))}, "mesh-llm",
        "about 16 tokens/s", "256 and 64 GB, the ratio of the split; 1 Gbit/s; the thread's 12 ms for one way; context 4096.",
        settings={"weight_type": "Q4_K", "context": 4096}),
    Situation(
        "ggml-org/llama.cpp#15136", "--n-cpu-moe fills one of two RTX 3090 and leaves the other one empty.", "Qwen3-235B-A22B",
        (("cpu", "ddr4_2ch", 120e9), *RTX_3090S), PCIE, {"--n-cpu-moe 79": Split((0, *tensor_split(94, (1, 1))), 79)}, "llama.cpp",
        assumed="context 16384. The thread's N was not found; 79 is the least here with which the default split fits.",
        settings={"weight_type": "IQ4_XS", "context": 16384}),
    Situation(
        "ikawrakow/ik_llama.cpp#1464", "The same: with --n-cpu-moe 24 of 48 layers all experts left are on the second RTX 3090.",
        "Qwen3.5-122B-A10B (stand-in)", (("cpu", "epyc_ddr4_8ch", 250e9), *RTX_3090S), PCIE,
        {"--n-cpu-moe 24": Split((0, *tensor_split(48, (1, 1))), 24)}, "llama.cpp", "out of memory: 37.10 GB (35378 MiB) on the second GPU",
        "the processor; Q4_1 for the mix of UD-Q4_K_XL, which has as many bits.", settings={"weight_type": "Q4_1", "context": 65536}),
    Situation(
        "mohitsoni48/TurboLLM#181", "--n-cpu-moe 24 of 40 layers on two GPUs of 16 GB: one empty, one full.", "Qwen3.6-35B-A3B (stand-in)",
        (("cpu", "ddr4_2ch", 28e9), ("gpu:0", "t4", 15360 * MIB), ("gpu:1", "t4", 15360 * MIB)), PCIE,
        {"--n-cpu-moe 24": Split((0, *tensor_split(40, (1, 1))), 24)}, "llama.cpp", "1.707 and 14.693 GB of memory; 16 was reachable",
        "T4, by the pool of 30.7 GB; the processor; context 8192.", settings={"weight_type": "Q8_0", "context": 8192}),
    Situation(
        "ggml-org/llama.cpp#18175", "Two RTX 3090 and a Strix Halo by RPC: --fit crashes, -ts 23,24,64 by hand.", "GLM-4.6V (stand-in)",
        (*RTX_3090S, ("192.168.1.139:50054", "strix_halo", 96e9)), ONE_GIGABIT,
        {"-ts 23,24,64": Split(tensor_split(46, (23, 24, 64)))}, "llama.cpp", "nothing; without --fit it runs",
        "1 Gbit/s, 200 us, between the GPUs too; 96 of 128 GB for the Strix Halo.", settings={"weight_type": "Q6_K", "context": 32768}),
    Situation(
        "lmstudio-ai/lmstudio-bug-tracker#1820", "RTX 4090 and 5090 with a cache as large as the model: split evenly, it does not fit.",
        "Qwen2.5-32B", (("gpu:0", "rtx4090", 23036 * MIB), ("gpu:1", "rtx5090", 30991 * MIB)), PCIE,
        {"evenly": Split(tensor_split(64, (1, 1))), "-ts 24,32": Split(tensor_split(64, (24, 32)))}, "llama.cpp",
        "out of memory, split evenly", "Q5_K for the mix of Q5_K_M.", settings={"weight_type": "Q5_K", "context": 111323}),
    Situation(
        "lmstudio-ai/lmstudio-bug-tracker#1608", "An RTX 3080 beside an RTX 5090 makes a model slower that fits the 5090.",
        "Qwen3.5-27B (stand-in)", (("gpu:0", "rtx5090", 30.5e9), ("gpu:1", "rtx3080", 9.5e9)), PCIE,
        {"5090 alone": Split((64, 0)), "by memory": Split(tensor_split(64, (32, 10)))}, "llama.cpp", "55 tokens/s alone, 40 split",
        "context 8192; Q4_1 for the mix of UD-Q4_K_XL.", settings={"weight_type": "Q4_1", "context": 8192}),
    Situation(
        "ggml-org/llama.cpp#12654", "A model whose first layers are larger: split evenly, the first of two RTX 3090 is full and the second is not.",
        "Llama 3.3 Nemotron Super 49B", RTX_3090S, PCIE, {"evenly": Split(tensor_split(80, (1, 1)))}, "llama.cpp",
        "out of memory where the context grows, with room on the second GPU", "Q4_K for the mix of Q4_K_M; context 32768.",
        settings={"weight_type": "Q4_K", "context": 32768}),
    Situation(
        "unslothai/unsloth#10355", "RTX 2060 Super, 3080 and 3080 Ti: how to keep most layers off the 2060?", "Qwen3-32B",
        (("gpu:0", "rtx2060_super", 7.4e9), ("gpu:1", "rtx3080", 9.3e9), ("gpu:2", "rtx3080ti", 11.2e9)), PCIE,
        {"by memory": Split(tensor_split(64, (8, 10, 12)))}, "llama.cpp",
        assumed="the model, which the thread does not name; 93% of the memory; context 8192.",
        settings={"weight_type": "Q4_K", "context": 8192}),
    Situation(
        "vllm-project/vllm#6824", "Two GPUs with 9 and 22 GiB left: how to divide Qwen 14B?", "Qwen1.5-14B",
        (("gpu:0", "rtx3090", 9 * GIB), ("gpu:1", "rtx3090", 22 * GIB)), PCIE, {"evenly": Split((20, 20))}, "vllm",
        "with two tensor-parallel ranks both take about 16 GiB", "Qwen1.5, in 16 bits; RTX 3090; context 2048.",
        settings={"context": 2048}),
    Situation(
        "vllm-project/vllm#49816", "Two like GPUs, one of which the desktop uses: one share of memory for both leaves the other one unused.",
        "Qwen2.5-32B", (("gpu:0", "rtx3090", 19e9), ("gpu:1", "rtx3090", 23e9)), PCIE, {"evenly": Split((32, 32))}, "vllm",
        assumed="all sizes, which the thread does not name: RTX 3090, 4 GB for the desktop, 4 bits, context 73728.",
        settings={"weight_type": "Q4_0", "context": 73728}),
    Situation(
        "sgl-project/sglang#9798", "94 layers over 8 GPUs: 11 on each of seven, and 17 on the last.", "Qwen3-235B-A22B",
        tuple((f"gpu:{index}", "h100", 0.95 * 80e9) for index in range(8)), (200000, 10),
        {"sglang's": Split((11,) * 7 + (17,)), "the asker's": Split((12,) * 7 + (10,))}, "sglang", "out of memory on the last GPU",
        "Qwen3-235B in 16 bits, the model with 94 layers; H100 with NVLink; 32 streams of 2048 tokens.", "throughput",
        {"context": 2048, "streams": 32}),
    Situation(
        "pytorch/torchtitan#2093", "Four RTX 3090: stages by layers, where the output is as much work as 2.4 of them.",
        "Llama 3, 12 layers", RTX_3090S + (("gpu:2", "rtx3090", 23.5e9), ("gpu:3", "rtx3090", 23.5e9)), PCIE,
        {"torchtitan's": Split((3, 4, 3, 2))}, "torchtitan",
        "28.9% more tokens/s with stages by FLOPs (pull request 2113, dim 4096, 12 layers)",
        "the forward pass of 2048 tokens, without attention among them; a vocabulary of 128,256.", "throughput",
        {"context": 1, "streams": 2048, "chunk": 2048}),
)


def load(situation, folder):
    """(graph, machine), from files as a user writes them."""
    import emplace
    config = folder / situation.model.replace(" ", "_") / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps(CONFIGS[situation.model]))
    devices = folder / "devices.yaml"
    bytes_per_us, latency_us = situation.link
    devices.write_text(devices_text(
        [{"name": name, "kind": kind, "memory_bytes": round(memory)} for name, kind, memory in situation.devices],
        transfer={"bandwidth_bytes_per_us": bytes_per_us, "latency_us": latency_us, "overhead_us": 5}))
    kinds = ",".join(dict.fromkeys(kind for _, kind, _ in situation.devices))
    if situation.kinds:
        kinds = folder / "kinds"
        kinds.mkdir()
        (kinds / "kinds.yaml").write_text(situation.kinds)
    return emplace.llm.load(config, kinds=kinds, **situation.settings), emplace.Machine.load(devices)


def place_as(graph, machine, split, runtime):
    """[n] the device of each op. llama.cpp has the embedding on a processor, others on the first layer's device; the output is on that
    of the last layer."""
    import numpy
    from emplace.llm.layout import host_devices
    of_layer = [device for device, size in enumerate(split.sizes) for _ in range(size)]
    hosts = host_devices(machine)
    placement = []
    for op in graph.ops:
        module = op["attrs"]["module"]
        if module.startswith("blk."):
            layer, part = int(module.split(".")[1]), module.split(".")[2]
            placement.append(hosts[0] if part == "ffn_experts" and layer < split.on_cpu else of_layer[layer])
        elif module == "token_embd":
            placement.append(hosts[0] if hosts and runtime == "llama.cpp" else of_layer[0])
        else:
            placement.append(of_layer[-1])
    return numpy.array(placement, dtype=numpy.int32)


def layers_text(plan):
    """Layers of each device, such as "gpu:0 20 (8 with experts on cpu), gpu:1 20"."""
    from emplace.llm.layout import layout_of
    layout = layout_of(plan.graph, plan.machine, plan.placement)
    names, counts = [device.name for device in plan.machine.devices], {}
    for layer, device in enumerate(layout.attention):
        apart = {other for tensor, other in layout.products[layer].items() if other != device}
        count = counts.setdefault(device, {"all": 0})
        count["all"] += 1
        for other in apart:
            count[other] = count.get(other, 0) + 1
    texts = []
    for device, count in counts.items():
        spilled = [f"{number} with weights on {names[other]}" for other, number in count.items() if other != "all"]
        texts.append(f"{names[device]} {count['all']}" + (f" ({', '.join(spilled)})" if spilled else ""))
    return ", ".join(texts)


def row_of(situation, name, plan, seconds=None):
    latency = situation.objective == "latency"
    per_token = plan.makespan_us if latency else plan.max_load_us
    return {"situation": situation.name, "url": situation.url, "model": situation.model, "bytes": int(plan.graph.param_bytes.sum()),
            "devices": ", ".join(kind for _, kind, _ in situation.devices), "runtime": situation.runtime, "objective": situation.objective,
            "split": name, "layers": layers_text(plan), "figure_ms": per_token / 1e3,
            "tokens_per_s": situation.settings.get("streams", 1) / per_token * 1e6, "fits": plan.feasible,
            "peak_gb": [peak / 1e9 for peak in plan.peak_bytes.tolist()], "lower_bound_ms": plan.lower_bound_us / 1e3 if latency else None,
            "seconds": seconds, "measured": situation.measured}


def measure(situation, seconds):
    """The rows of a situation."""
    import emplace
    with tempfile.TemporaryDirectory(prefix="emplace_llm_") as folder:
        graph, machine = load(situation, pathlib.Path(folder))
    rows = [row_of(situation, name, emplace.Plan.of(graph, machine, place_as(graph, machine, split, situation.runtime)))
            for name, split in situation.splits.items()]
    # What other programs do with whole layers on computers of a network is what exo does.
    runtime = situation.runtime if situation.runtime in emplace.llm.RUNTIMES else "exo"
    for name, search in ((OURS, lambda: emplace.llm.place_for(runtime, graph, machine, seconds, objective=situation.objective)),
                         (FREE, lambda: emplace.place(graph, machine, seconds, objective=situation.objective))):
        began = time.monotonic()
        rows.append(row_of(situation, name, search(), time.monotonic() - began))
    return rows


def markdown(rows):
    shown = []
    for (name, url), of_situation in grouped(rows, "situation", "url").items():
        for index, row in enumerate(of_situation):
            bound = "-" if row["lower_bound_ms"] is None else f"{row['lower_bound_ms']:.2f}"
            first = [f"[{name}]({url})", f"{row['model']}, {row['bytes'] / 1e9:.1f} GB with cache, on {row['devices']}"] if index == 0 else ["", ""]
            shown.append([*first, row["split"], row["layers"], f"{row['figure_ms']:.2f}", f"{row['tokens_per_s']:.1f}",
                          "yes" if row["fits"] else "no", ", ".join(f"{peak:.1f}" for peak in row["peak_gb"]), bound])
    lines = [
        "# Language models on the devices of public threads",
        "What people asked in public threads about the division of a language model over their devices, with the simulated figures of "
        "their splits and of those of emplace: one that their program can run, and one without that constraint. A step makes one token of "
        "each stream; for a pipeline it is the time from step to step. No figure was measured on these devices; what the thread measured "
        "stands beside. The link leads to the thread.", "", made_by(rows), "",
        *table_lines(["situation", "model", "split", "layers", "ms", "tokens/s", "fits", "peak memory, GB", "at least, ms"], "llllrrllr", shown), ""]
    made = {row["situation"] for row in rows}
    for situation in SITUATIONS:
        if situation.name in made:
            assumed = f" Assumed: {situation.assumed}" if situation.assumed else ""
            lines.append(f"- **{situation.name}**: {situation.question} Measured by the thread: {situation.measured}.{assumed}")
    return "\n".join(lines) + "\n"


def main():
    names = [situation.name for situation in SITUATIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("situations", nargs="*", metavar="WORD", help="only situations with such a word in their name (default: all)")
    parser.add_argument("--seconds", type=float, default=1, help="time for each placement (default: 1)")
    add_out(parser, "llm_situations")
    options = parser.parse_args()
    chosen = [one for one in SITUATIONS if not options.situations or any(word in one.name for word in options.situations)]
    if not chosen:
        parser.error(f"no situation has such a word, expected some of {', '.join(names)}")
    table = Table(options.out, COLUMNS, DEPENDS)
    for situation in chosen:
        rows = measure(situation, options.seconds)
        table.remove(situation=situation.name)
        table.add(rows)
        print(f"{situation.name}: " + "; ".join(f"{row['split']} {row['figure_ms']:.2f} ms" + ("" if row["fits"] else ", does not fit")
                                                for row in rows), flush=True)
    table.rows = sorted((row for row in table.rows if row["situation"] in names), key=lambda row: names.index(row["situation"]))
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main, goes_on=False)
