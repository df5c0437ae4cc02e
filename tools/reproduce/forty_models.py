#!/usr/bin/env python3
"""What placement gains on the training steps of forty models that people use: twenty of torchvision, and twenty of timm, transformers
and diffusers, captured on meta tensors and placed on 2, 4 and 8 simulated GPUs with 1, 4 and 8 micro-batches.

Runs in an environment with the package `emplace`, torch 2.11, torchvision 0.26, timm, transformers and diffusers:
  pip install . torch==2.11.0 torchvision==0.26.0 timm transformers diffusers
  python tools/reproduce/forty_models.py
Each model is a process of its own. It can be stopped at any time, and the same command goes on; --fresh measures again. Writes a
table with a line for each model, and beside it a .md that shows it.

With --capture FOLDER it places nothing, and leaves the graphs of four micro-batches in FOLDER/train, validation and test: a family for
planner_families.py.
"""
import argparse
import json
import pathlib
import statistics
import time

from lib.capture_models import on_meta, refuse_unknown, with_loss
from lib.script import run_apart, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, made_by, table_lines

DEVICES = (2, 4, 8)
MICROBATCHES = (1, 4, 8)
# gain_4x8: the gain on four GPUs with eight micro-batches; seconds: the time for each placement.
COLUMNS = {"model": str, "seconds": float, "parameters": int, "single_device_ms": float,
           **{f"ops_{parts}": int for parts in MICROBATCHES}, **{f"capture_s_{parts}": float for parts in MICROBATCHES},
           **{f"gain_{count}x{parts}": float for parts in MICROBATCHES for count in DEVICES}, "error": str}
DEPENDS = (*SEARCH, "python/emplace/torch")
BATCH = 32  # Examples in a step, in all micro-batches together.
TOKENS = 128  # Length of a sequence.
TORCHVISION = (
    "alexnet", "vgg16", "googlenet", "inception_v3", "resnet18", "resnet50", "resnet152", "wide_resnet50_2", "resnext50_32x4d", "densenet121",
    "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0", "mnasnet1_0", "efficientnet_b0", "regnet_y_8gf",
    "convnext_tiny", "swin_t", "vit_b_16")
TIMM = ("deit_small_patch16_224", "mixer_b16_224", "resmlp_24_224", "convmixer_768_32", "nfnet_f0", "xcit_small_12_p16_224",
        "poolformer_s12", "nasnetalarge", "inception_v4", "hrnet_w18")
TRANSFORMERS = ("bert", "distilbert", "roberta", "albert", "electra", "gpt2", "llama")
DIFFUSERS = ("unet_small", "dit_s", "vae")
NAMES = tuple(f"{library}/{name}" for library, names in (
    ("torchvision", TORCHVISION), ("timm", TIMM), ("transformers", TRANSFORMERS), ("diffusers", DIFFUSERS)) for name in names)
CAPTURED_MICROBATCHES = 4


def part_of(name):
    """Whether a captured model is for training, validation or test. Of ten models of a library three are for test, spread over its
    families, which stand beside each other in its list."""
    return {1: "test", 4: "test", 6: "validation", 8: "test"}.get(NAMES.index(name) % 10, "train")


def classifier(model, size):
    import torch
    return with_loss(model.train(), lambda result: getattr(result, "logits", result)), (torch.empty(BATCH, 3, size, size, device="meta"),), {}


def language_model(name):
    import torch
    import transformers
    # The sizes are the defaults of each configuration: the base models of the papers; llama is a small one of its kind.
    config, model = {
        "bert": (transformers.BertConfig, transformers.BertForMaskedLM),
        "distilbert": (transformers.DistilBertConfig, transformers.DistilBertForMaskedLM),
        "roberta": (transformers.RobertaConfig, transformers.RobertaForMaskedLM),
        "albert": (transformers.AlbertConfig, transformers.AlbertForMaskedLM),
        "electra": (transformers.ElectraConfig, transformers.ElectraForMaskedLM),
        "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM)}[name]
    sizes = {"num_hidden_layers": 16, "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16} if name == "llama" else {}
    made = on_meta(lambda: model(config(use_cache=False, **sizes))).train()
    ids = torch.empty(BATCH, TOKENS, dtype=torch.long, device="meta")
    # With a whole mask: without one, the models look at the values of what they are given.
    mask = torch.empty(BATCH, 1, TOKENS, TOKENS, device="meta")
    return made, (), {"input_ids": ids, "labels": ids, "attention_mask": mask}


def diffusion_model(name):
    import diffusers
    import torch
    if name == "vae":
        model = on_meta(lambda: diffusers.AutoencoderKL(
            block_out_channels=(64, 128, 256), down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3))
        return with_loss(model, lambda result: result.sample), (torch.empty(BATCH, 3, 64, 64, device="meta"),), {}
    time_step = torch.empty(BATCH, dtype=torch.long, device="meta")
    if name == "dit_s":
        model = on_meta(lambda: diffusers.DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, num_layers=12, sample_size=32))
        arguments = {"timestep": time_step, "class_labels": torch.empty(BATCH, dtype=torch.long, device="meta")}
        return with_loss(model, lambda result: result.sample), (torch.empty(BATCH, 4, 32, 32, device="meta"),), arguments
    model = on_meta(lambda: diffusers.UNet2DModel(sample_size=64, block_out_channels=(128, 256, 256, 512)))
    return with_loss(model, lambda result: result.sample), (torch.empty(BATCH, 3, 64, 64, device="meta"), time_step), {}


def make(name):
    """(model, args, kwargs) on meta tensors; the model returns its loss."""
    library, _, model = name.partition("/")
    if library == "torchvision":
        import torchvision
        extra = {"aux_logits": False, "init_weights": False} if model in ("googlenet", "inception_v3") else {}
        made = on_meta(lambda: torchvision.models.get_model(model, weights=None, **extra))
        return classifier(made, 299 if model == "inception_v3" else 224)
    if library == "timm":
        import timm
        made = on_meta(lambda: timm.create_model(model))
        return classifier(made, made.default_cfg["input_size"][-1])
    return language_model(model) if library == "transformers" else diffusion_model(model)


def measure(name, seconds):
    """The row of a model."""
    import emplace
    model, args, kwargs = make(name)
    row = {"model": name, "seconds": seconds, "parameters": sum(p.numel() for p in model.parameters())}
    for parts in MICROBATCHES:
        begin = time.perf_counter()
        graph = emplace.torch.capture(model, args, kwargs, train=True, microbatches=parts)
        row[f"capture_s_{parts}"] = time.perf_counter() - begin
        row[f"ops_{parts}"] = graph.num_ops
        for count in DEVICES:
            # V100 with 32 GB; each sends 25 GB/s, and a small tensor takes 10 us: an NVLink 2.0 each way.
            machine = emplace.Machine([emplace.Device(f"gpu:{i}", "v100", 32e9) for i in range(count)], bandwidth_bytes_per_us=25_000,
                                      transfer_latency_us=10, transfer_overhead_us=10, op_overhead_us=5.7)
            plan = emplace.place(graph, machine, seconds=seconds)
            row[f"gain_{count}x{parts}"] = plan.single_device_us / plan.makespan_us if plan.feasible else None
            row.setdefault("single_device_ms", plan.single_device_us / 1e3)
    return row


def graph_file(folder, name):
    return folder / part_of(name) / f"{name.replace('/', '_')}.graph.json.zst"


def capture(name, path):
    """Writes the graph of a model's training step."""
    import emplace
    model, args, kwargs = make(name)
    graph = emplace.torch.capture(model, args, kwargs, train=True, microbatches=CAPTURED_MICROBATCHES, name=path.name.partition(".")[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    graph.save(path)
    print(f"{path.name}: {graph.num_ops:,} ops")


def capture_all(folder, names, timeout_s):
    """The graphs of these models, each by a process of its own; those that are there stay."""
    for name in names:
        if graph_file(folder, name).exists():
            continue
        lines, failed = run_apart(["--capture", str(folder), "--row", name], timeout_s)
        print(f"{name}: {failed}" if failed else lines[-1], flush=True)


def table(rows):
    """Lines of the table of gains."""
    pairs = [(count, parts) for count in DEVICES for parts in MICROBATCHES]
    shown = []
    for row in rows:
        if row["error"]:
            shown.append([row["model"], row["error"], *[None] * (3 + len(pairs))])
            continue
        gains = [row[f"gain_{count}x{parts}"] for count, parts in pairs]
        shown.append([row["model"], f"{row['ops_1']:,}", f"{row['ops_8']:,}", f"{row['capture_s_1']:.1f}", f"{row['capture_s_8']:.1f}",
                      *("-" if gain is None else f"{gain:.2f}" for gain in gains)])
    means = []
    for count, parts in pairs:
        known = [row[f"gain_{count}x{parts}"] for row in rows if row[f"gain_{count}x{parts}"]]
        means.append(f"{statistics.geometric_mean(known):.2f}" if known else "-")
    shown.append(["geometric mean", *[None] * 4, *means])
    heads = ["model", "ops", "ops, 8 micro-batches", "seconds to capture", "the same", *(f"{count} GPUs, {parts}" for count, parts in pairs)]
    return table_lines(heads, "l", shown)


def markdown(rows):
    return "\n".join([
        "# What placement gains on forty models",
        "The time of a step on the best single GPU over that of the plan, with as many micro-batches in both; -: the plan does not fit the memory.",
        "", made_by(rows), "", *table(rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="LIBRARY/NAME of some of the models (default: all forty)")
    parser.add_argument("--seconds", type=float, default=1, help="time for each placement (default: 1)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for one model (default: 300)")
    add_out(parser, "forty_models")
    add_fresh(parser, others_stay=True)
    parser.add_argument("--capture", type=pathlib.Path, metavar="FOLDER", help="write graphs there, and place nothing")
    parser.add_argument("--row", help=argparse.SUPPRESS)  # The process of one model.
    options = parser.parse_args()
    if options.row:
        if options.capture:
            capture(options.row, graph_file(options.capture, options.row))
        else:
            print(json.dumps(measure(options.row, options.seconds)))
        return
    refuse_unknown(parser, options.models, NAMES)
    if options.capture:
        capture_all(options.capture, options.models or NAMES, options.timeout)
        return
    results = Table(options.out, COLUMNS, DEPENDS)
    for name in options.models or NAMES:
        known = next((row for row in results.rows if row["model"] == name), None)
        if known and not known["error"] and not options.fresh:
            if known["seconds"] != options.seconds:
                parser.error(f"{options.out} has {name} with --seconds {known['seconds']:g}, expected the same, --fresh or another --out")
            continue
        lines, failed = run_apart(["--row", name, "--seconds", str(options.seconds)], options.timeout)
        row = {"model": name, "error": failed} if failed else json.loads(lines[-1])
        results.remove(model=name)
        results.add([row])
        results.rows.sort(key=lambda row: NAMES.index(row["model"]))
        results.save()
        print(", ".join(f"{column} {value}" for column, value in row.items()), flush=True)
    results.save(markdown(results.rows))


if __name__ == "__main__":
    run_script(main)
