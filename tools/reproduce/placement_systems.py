#!/usr/bin/env python3
"""How what people use to divide a model over devices compares with `auto`, on the training steps of captured models: accelerate's
device map, an even pipeline with one forward and one backward at a time, data parallelism, and fully sharded data parallelism.

All are simulated, on V100s and P100s with NVLink, with ample memory and with too little for one device. Runs in an environment with the
package `emplace`, torch 2.11, torchvision 0.26, timm, transformers and accelerate:
  pip install . torch==2.11.0 torchvision==0.26.0 timm transformers accelerate
  python tools/reproduce/placement_systems.py
Each model is a process of its own. It can be stopped at any time, and the same command goes on. Writes a table with a line for each
result, and beside it a .md that shows it.
"""
import argparse
import importlib.metadata
import json
import math
import re
import statistics
import sys

import forty_models
from lib.capture_models import refuse_unknown
from lib.results import ROUNDED_EQUAL
from lib.script import run_apart, run_script
from lib.table import SEARCH, Numbers, Table, add_fresh, add_out, grouped, made_by, table_lines

# microbatches: of the graph that was placed; replicas: whether each has parameters of its own. makespan_us: empty where the system
# refuses. fits: whether each device's peak fits.
COLUMNS = {"model": str, "machine": str, "memory": str, "system": str, "microbatches": int, "replicas": bool, "makespan_us": float, "fits": bool,
           "peak_gb": Numbers, "seconds": float, "note": str}
DEPENDS = (*SEARCH, "python/emplace/torch", "python/emplace/pipeline.py", "policy", "models", "tools/reproduce/forty_models.py")
MODELS = ("transformers/bert", "transformers/gpt2", "transformers/llama", "transformers/distilbert", "timm/deit_small_patch16_224",
          "timm/mixer_b16_224", "torchvision/resnet50", "torchvision/vgg16")
MACHINES = {"2 like": ("v100",) * 2, "4 like": ("v100",) * 4, "8 like": ("v100",) * 8, "4 unlike": ("v100", "v100", "p100", "p100")}
MEMORY_BYTES = {"v100": 32e9, "p100": 16e9}
AMPLE, TIGHT = "ample", "tight"
# On which machines memory is also tight: of the peak of the whole step on one device, the part that each device has.
TIGHT_PART = {"2 like": 0.6, "4 unlike": 0.35}
BANDWIDTH_BYTES_PER_US, LATENCY_US, OVERHEAD_US = 25_000, 10, 10
MICROBATCHES = 8  # Of pipelines.
BACKWARD = 2 / 3  # The part of a step in which gradients are ready to be sent.
ONE, ACCELERATE, PIPELINE, DATA, SHARDED = "one device", "accelerate", "even pipeline, 1F1B", "data parallel", "fully sharded"
PLANNER, AUTO = "planner, one pass", "auto"
SYSTEMS = (ONE, ACCELERATE, PIPELINE, DATA, SHARDED, PLANNER, AUTO)
RIVALS = (ACCELERATE, PIPELINE, DATA, SHARDED)
PACKAGES = ("accelerate", "torch", "torchvision", "timm", "transformers")


def machine_of(name, memory, whole_bytes):
    """The machine. whole_bytes: peak of the whole step on one device."""
    import emplace
    devices = [emplace.Device(f"gpu:{index}", kind, MEMORY_BYTES[kind] if memory == AMPLE else TIGHT_PART[name] * whole_bytes)
               for index, kind in enumerate(MACHINES[name])]
    return emplace.Machine(devices, bandwidth_bytes_per_us=BANDWIDTH_BYTES_PER_US, transfer_latency_us=LATENCY_US,
                           transfer_overhead_us=OVERHEAD_US, op_overhead_us=5.7)


def layers_of(graph):
    """The outermost numbered modules, such as layer1.0, in the order in which they run."""
    from emplace.modules import module_of_op
    names, found = module_of_op(graph), {}
    for op in graph.topological_order:
        if match := re.match(r"(?:.*?\.)?\d+(?=\.|$)", names[op]):
            found.setdefault(match[0])
    return list(found)


def cells_of(makespan_us, feasible, peak_bytes):
    return {"makespan_us": makespan_us, "fits": bool(feasible), "peak_gb": [peak / 1e9 for peak in peak_bytes.tolist()]}


def simulated(graph, machine, placement, order=None):
    """The cells of a placement [n] on all devices. order: as of emplace.place."""
    import emplace
    import numpy
    placement = numpy.asarray(placement, dtype=numpy.int32)
    if order:  # A division with as many stages as devices leaves nothing to choose but the order.
        from emplace import _core
        found = _core.divide(graph, machine, placement, len(machine), stages=len(machine), order=order)
        return cells_of(found["makespan_us"], found["feasible"], found["peak_bytes"])
    plan = emplace.Plan.of(graph, machine, placement)
    return cells_of(plan.makespan_us, plan.feasible, plan.peak_bytes)


def one_device(graph, machine):
    found = [simulated(graph, machine, [device] * len(graph)) for device in range(len(machine))]
    return min(found, key=lambda one: (not one["fits"], one["makespan_us"]))


def accelerate_map(model, machine):
    """What device_map="auto" makes of the machine's memory: {module: device}"""
    from accelerate import infer_auto_device_map
    from accelerate.utils import get_balanced_memory
    memory = {index: int(device.memory_bytes) for index, device in enumerate(machine.devices)}
    whole = getattr(model, "_no_split_modules", None) or None
    whole = sorted(whole) if whole else None
    return infer_auto_device_map(model, max_memory=get_balanced_memory(model, memory, whole), no_split_module_classes=whole)


def accelerate(model, graph, machine):
    """accelerate's modules where it puts them. Other ops, of the model's own code, run where what they read was made."""
    import numpy
    from emplace.modules import is_inside, module_of_op
    from emplace.pipeline import BlockRow
    device_map = accelerate_map(model, machine)
    if not all(isinstance(device, int) for device in device_map.values()):
        return {"fits": False, "note": "leaves modules to the processor or the disk"}
    names = set(module_of_op(graph))
    blocks = [module for module in device_map if module and any(is_inside(name, module) for name in names)]
    if not blocks:
        return simulated(graph, machine, [device_map[""]] * len(graph))
    device_of = numpy.array([device_map[block] for block in blocks])
    return simulated(graph, machine, device_of[BlockRow(graph, blocks).block_of_op])


def even_pipeline(graph, machine):
    """As many layers on each device, one forward and one backward at a time."""
    from emplace.pipeline import BlockRow
    row = BlockRow(graph, layers_of(graph))
    if len(row.blocks) < len(machine):
        return {"fits": False, "note": f"has {len(row.blocks)} layers"}
    return simulated(graph, machine, row.block_of_op * len(machine) // len(row.blocks), "1f1b")


def data_parallel(graph, machine):
    """A micro-batch for each device, which holds the whole model, and a ring that adds up the gradients during the backward pass.

    The slowest device takes its part of a step of all micro-batches there, one after the other.
    """
    import emplace
    count, gradients = len(machine), sum(op["outputs"][0]["bytes"] for op in graph.ops if op["type"] == "emplace.gradient")
    slowest_us, peaks, fits = 0.0, [], True
    for device in machine.devices:
        alone = emplace.Machine([emplace.Device(device.name, device.kind, 1e15)], bandwidth_bytes_per_us=1, op_overhead_us=5.7)
        plan = emplace.place(graph, alone, method="single", order="depth-first", progress=False)
        slowest_us = max(slowest_us, plan.makespan_us / count)
        peaks.append(int(plan.peak_bytes[0]) / 1e9)
        fits = fits and plan.peak_bytes[0] <= device.memory_bytes
    ring_us = 2 * (count - 1) * (gradients / count / BANDWIDTH_BYTES_PER_US + LATENCY_US + OVERHEAD_US)
    return {"makespan_us": slowest_us + max(0.0, ring_us - BACKWARD * slowest_us), "fits": bool(fits), "peak_gb": peaks}


def microbatch_of(op):
    """The number of an op's micro-batch; None for what micro-batches share."""
    match = re.match(r"part(\d+)/", op["name"])
    return int(match[1]) if match else None


def sharded_placement(graph, count):
    """[n] each micro-batch on a device of its own, and each parameter with the sum of its gradients on one, evenly by bytes."""
    owner, load = {}, [0] * count
    param_bytes = dict(zip((op["name"] for op in graph.ops), graph.param_bytes.tolist(), strict=True))
    shared = [op for op in graph.ops if microbatch_of(op) is None]
    of_group = {}
    for op in shared:
        of_group[op.get("group", op["name"])] = of_group.get(op.get("group", op["name"]), 0) + param_bytes[op["name"]]
    for group, size in sorted(of_group.items(), key=lambda item: -item[1]):
        owner[group] = load.index(min(load))
        load[owner[group]] += size
    return [owner[op.get("group", op["name"])] if microbatch_of(op) is None else microbatch_of(op) for op in graph.ops]


def searched(graphs, machine, **how):
    """The best of the plans for {(microbatches, replicas): graph}, and the seconds for all of them."""
    import emplace
    found, seconds = [], 0.0
    for (microbatches, replicas), graph in graphs.items():
        try:
            plan = emplace.place(graph, machine, progress=False, **how)
        except (emplace.RunFailed, emplace.BadInput) as error:
            found.append({"fits": False, "microbatches": microbatches, "replicas": replicas, "note": str(error)[:80]})
            continue
        seconds += plan.seconds
        found.append({"makespan_us": plan.makespan_us, "fits": plan.feasible, "peak_gb": [peak / 1e9 for peak in plan.peak_bytes.tolist()],
                      "microbatches": microbatches, "replicas": replicas, "note": plan.found_by})
    return min(found, key=lambda one: (not one["fits"], one.get("makespan_us", math.inf))) | {"seconds": seconds}


def measure(name, seconds):
    """Yields the rows of a model."""
    import emplace
    model, args, kwargs = forty_models.make(name)
    graphs = {(parts, replicas): emplace.torch.capture(model, args, kwargs, train=True, microbatches=parts, replicas=replicas,
                                                       kinds="v100,p100")
              for parts in (1, 2, 4, MICROBATCHES) for replicas in ((False, True) if parts > 1 else (False,))}
    whole = graphs[1, False]
    whole_bytes = simulated(whole, machine_of("2 like", AMPLE, 0), [0] * len(whole))["peak_gb"][0] * 1e9
    for machine_name, memory in [(one, AMPLE) for one in MACHINES] + [(one, TIGHT) for one in TIGHT_PART]:
        machine = machine_of(machine_name, memory, whole_bytes)
        count = len(machine)
        ours = {key: graphs[key] for key in ((count, False), (count, True), (MICROBATCHES, False))}
        found = {
            ONE: one_device(whole, machine) | {"microbatches": 1},
            ACCELERATE: accelerate(model, whole, machine) | {"microbatches": 1},
            PIPELINE: even_pipeline(graphs[MICROBATCHES, False], machine) | {"microbatches": MICROBATCHES},
            DATA: data_parallel(graphs[count, False], machine) | {"microbatches": count},
            SHARDED: simulated(graphs[count, False], machine, sharded_placement(graphs[count, False], count)) | {"microbatches": count},
            PLANNER: searched(ours, machine, method="policy"),
            AUTO: searched(ours, machine, seconds=seconds / len(ours))}
        for system, cells in found.items():
            yield {"model": name, "machine": machine_name, "memory": memory, "system": system, **cells}


def time_of(row):
    return row["makespan_us"] if row["fits"] and row["makespan_us"] else math.inf


def best_rival(case):
    return min((case[system] for system in RIVALS if system in case), key=time_of)


def is_faster(first, second):
    return time_of(first) < time_of(second) * (1 - ROUNDED_EQUAL)


def behind(cases):
    """Lines about where another system is faster than `auto`. cases: [{system: row}]"""
    lost = [case for case in cases if is_faster(best_rival(case), case[AUTO])]
    slower = sum(is_faster(best_rival(case), case[PLANNER]) for case in cases)
    lines = [f"**Behind:** another system is faster than `auto` on {len(lost)} of {len(cases)} cases, "
             f"and than one pass of the planner on {slower}."]
    by_machine = {}
    for case in lost:
        best = best_rival(case)
        by_machine.setdefault((best["machine"], best["memory"], best["system"]), []).append(time_of(best) / time_of(case[AUTO]))
    return lines + [f"- {machine}, {memory} memory: {system} on {len(ratios)}, in {min(ratios):.3f} to {max(ratios):.3f} of the time "
                    "of `auto`." for (machine, memory, system), ratios in by_machine.items()]


def cell(row, auto):
    """A time over that of `auto`; without it, in ms."""
    if row is None:
        return "-"
    if not row["makespan_us"]:
        return row["note"]
    in_ms = auto is None or not math.isfinite(time_of(auto))
    text = f"{row['makespan_us'] / 1e3:.1f}" if in_ms else f"{row['makespan_us'] / time_of(auto):.2f}"
    return text if row["fits"] else f"({text})"


def markdown(table):
    rows, versions = table.rows, table.facts["versions"]
    cases = [{row["system"]: row for row in case} for case in grouped(rows, "model", "machine", "memory").values()]
    lines = [
        "# What people use to divide a model, beside `auto`",
        "Simulated time of a training step of 32 examples over that of `auto`; in brackets where the placement does not fit the memory. "
        "`accelerate` is the device map of `device_map=\"auto\"` for the whole batch. The even pipeline has the same number of layers on "
        "each device, eight micro-batches, and one forward and one backward at a time. Data parallel has a micro-batch for each device, "
        "and hides all of the ring that it can behind the backward pass. Fully sharded has each parameter whole on one device, which sends "
        "it to all others once a step and adds up its gradients; PyTorch cuts each parameter into slices and gathers it twice. `auto` and "
        "the planner have the best of three graphs, with the time shared out: eight micro-batches, and one for each device, which share "
        "the parameters or have replicas.", "",
        made_by(rows), f"With {', '.join(f'{name} {version}' for name, version in versions.items())}.", "", *behind(cases)]
    for (machine, memory), of_machine in grouped(rows, "machine", "memory").items():
        ratios, shown = {system: [] for system in SYSTEMS}, []
        for (model,), of_model in grouped(of_machine, "model").items():
            case = {row["system"]: row for row in of_model}
            auto = case.get(AUTO)
            for system in SYSTEMS:
                if system in case and auto and math.isfinite(time_of(case[system]) / time_of(auto)):
                    ratios[system].append(time_of(case[system]) / time_of(auto))
            shown.append([model, *(cell(case.get(system), auto) for system in SYSTEMS), cell(auto, None),
                          f"{case[PLANNER]['seconds']:.2f}" if PLANNER in case and case[PLANNER]["seconds"] else "-"])
        means = [f"{statistics.geometric_mean(of_system):.2f} ({len(of_system)})" if of_system else "-" for of_system in ratios.values()]
        shown.append(["geometric mean of those that fit", *means, None, None])
        lines += ["", f"## {machine}, {memory} memory", *table_lines(["model", *SYSTEMS, "`auto`, ms", "seconds of the planner"], "lr", shown)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="LIBRARY/NAME of models of forty_models.py (default: eight of them)")
    parser.add_argument("--seconds", type=float, default=10, help="time of auto for each machine (default: 10)")
    parser.add_argument("--timeout", type=float, default=900, help="most seconds for one model (default: 900)")
    add_out(parser, "placement_systems")
    add_fresh(parser)
    parser.add_argument("--row", help=argparse.SUPPRESS)  # The process of one model.
    options = parser.parse_args()
    if options.row:
        for row in measure(options.row, options.seconds):
            print(json.dumps(row), flush=True)
        return
    refuse_unknown(parser, options.models, forty_models.NAMES)
    results = Table(options.out, COLUMNS, DEPENDS, options.fresh)
    results.facts["versions"] = {name: importlib.metadata.version(name) for name in PACKAGES}
    done = {row["model"] for row in results.rows}
    for name in options.models or MODELS:
        if name in done:
            continue
        lines, failed = run_apart(["--row", name, "--seconds", str(options.seconds)], options.timeout)
        if failed:
            sys.exit(f"placement_systems.py: {name}: {failed}")
        results.add([json.loads(line) for line in lines if line.startswith("{")])
        results.save()
        print(name, flush=True)
    results.save(markdown(results))


if __name__ == "__main__":
    run_script(main)
