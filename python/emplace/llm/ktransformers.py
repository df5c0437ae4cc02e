"""Placing a mixture of experts as KTransformers runs it within SGLang, and the command for that.

Attention, shared experts and dense layers are on the GPU, and of each layer's experts as many as `--kt-num-gpu-experts` says, the same
number in each layer. The processor computes the others at the same time, and each side sends on the sum of its experts. Its memory
holds all experts, also those that the GPU computes
(doc/en/kt-kernel of kvcache-ai/ktransformers; the options are those of sglang-kt 0.7.2).
"""
from dataclasses import replace

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.llm.layout import has_address, host_devices, modules_of, served
from emplace.llm.stage_flags import cache_flag, context_flag
from emplace.plan import Plan
from emplace.roofline import kinds_of
from emplace.simulation import scores

_GRID = 16  # Intervals between the numbers of experts that are tried first; then those around the best one.
_ON_PROCESSOR = ".processor"  # Ends the name of the op of the experts on the processor.
_METHODS = "AMXINT4, AMXINT8, BF16, FP8, RAWINT4, MXFP4 or LLAMAFILE"


def _devices(machine: Machine) -> tuple[int, int]:
    """The GPU and the processor. Raises BadInput for a machine without just one of each."""
    hosts = host_devices(machine)
    processors = [index for index in hosts if machine.devices[index].kind not in kinds_of("disk")]
    gpus = [index for index, device in enumerate(machine.devices) if index not in hosts and not has_address(device.name)]
    if len(processors) != 1 or len(gpus) != 1:
        names = ", ".join(device.name for device in machine.devices)
        raise BadInput(f"ktransformers computes experts on a processor beside GPUs, and the machine has {len(processors)} processors and "
                       f"{len(gpus)} GPUs ({names}); expected one of each: how it divides layers among GPUs is not modelled")
    return gpus[0], processors[0]


def _divided(ops: list[dict], experts: set[str], on_gpu: float) -> list[dict]:
    """The ops with one for the experts of each layer on the GPU, and one for those on the processor.

    experts: names of the ops of a layer's experts. on_gpu: share of a layer's experts.
    """
    def some(op: dict, share: float, held: float, suffix: str) -> dict:
        return {**op, "name": op["name"] + suffix, "group": op["group"] + suffix, "flops": op["flops"] * share,
                "cost_us": {kind: us * share for kind, us in op["cost_us"].items()}, "param_bytes": round(op.get("param_bytes", 0) * held)}
    divided = []
    for op in ops:
        if op["name"] in experts:
            divided += [some(op, on_gpu, on_gpu, ""), some(op, 1 - on_gpu, 1, _ON_PROCESSOR)]
        else:
            more = [f"{name}{_ON_PROCESSOR}:0" for name in (source.removesuffix(":0") for source in op["inputs"]) if name in experts]
            divided.append({**op, "inputs": [*op["inputs"], *more]})
    return divided


def place(graph: Graph, machine: Machine, objective: str) -> Plan:
    """That with the best number of experts on the GPU; it may not fit the memory. Its graph is the given one with each layer's experts
    divided into two ops. Raises BadInput for a graph without experts, or whose experts are ops of their own already."""
    gpu, processor = _devices(machine)
    step, ops = served(graph), graph.ops
    if "experts_on_gpu" in step or not step.get("experts") or any(".ffn_experts." in op["name"] for op in ops):
        raise BadInput(f"graph '{graph.name}' is of no mixture of experts that are one op in each layer, expected one of `emplace import llm` "
                       "of this version without --each-expert and --stream-weights")
    count = step["experts"]
    experts = {op["name"] for op, (_, part) in zip(ops, modules_of(graph), strict=True) if part == "ffn_experts"}
    # Where each op of a divided graph belongs, however many experts are on the GPU.
    placement = np.array([processor if op["name"].endswith(_ON_PROCESSOR) else gpu for op in _divided(ops, experts, 0)], dtype=np.int32)
    score_of: dict[int, tuple[float, float]] = {}  # By experts on the GPU.

    def graph_with(on_gpu: int) -> Graph:
        return Graph.from_ops(graph.name, _divided(ops, experts, on_gpu / count), {"llm": {**step, "experts_on_gpu": on_gpu}})

    def best_of(numbers: range) -> int:
        for number in numbers:
            if number not in score_of:
                [score_of[number]] = scores(graph_with(number), machine, placement[None], objective)
        return min(score_of, key=score_of.__getitem__)
    interval = -(-count // _GRID)
    best = best_of(range(0, count + 1, interval))
    best = best_of(range(max(0, best - interval), min(count, best + interval) + 1))
    return replace(Plan.of(graph_with(best), machine, placement), found_by="experts", evaluations=len(score_of))


def flags(plan: Plan) -> str:
    """A command of SGLang with KTransformers, for a plan of `place_for`. Words in capitals are for its reader to fill in."""
    step = served(plan.graph)
    if "experts_on_gpu" not in step:
        raise BadInput("ktransformers divides the experts of each layer, which no placement of this graph says; expected none, so that the "
                       "model is placed as it can be run")
    return (f"# WEIGHTS: MODEL, or its experts converted for METHOD: {_METHODS}; THREADS: cores; NODES: NUMA nodes\n"
            "python3 -m sglang.launch_server --model-path MODEL --kt-weight-path WEIGHTS --kt-method METHOD --kt-cpuinfer THREADS "
            f"--kt-threadpool-count NODES --kt-num-gpu-experts {step['experts_on_gpu']}{context_flag(step, '--context-length')}"
            f"{cache_flag(step, 'ktransformers', 'fp8_e5m2')}\n")
