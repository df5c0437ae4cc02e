"""Layer times that Sailor measured (github.com/eth-easl/sailor), as the graph of a training step.

sailor/Planner/simulations/profiles_tmp.json has the seconds of each layer's forward pass, backward pass and update by model, GPU,
micro-batch and tensor parallelism. By it Sailor validates its own simulator, and its planner's profiles, profile.json of each MODEL/GPU in
sailor_planner/profiles, are older or of another model here and there. sailor/Planner/llm_info.json has each layer's sizes for a
micro-batch of one sequence.
"""
import json
import os
import pathlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emplace._core import BadInput, Graph
from emplace.checks import check_whole
from emplace.measured.files import files_named, refuse_pointer
from emplace.reading import finite_number, read_json

# The device kind of a GPU by Sailor's name; others keep theirs, in small letters.
_KINDS = {"A100-40": "a100", "A100-80": "a100_80gb", "GH-96": "gh200", "RTX-2080": "rtx2080", "RTX-3090": "rtx3090",
          "Titan-RTX": "titan_rtx", "V100-16": "v100"}
_US_PER_S = 1e6
_NUMBER_BYTES = 4  # Of an activation: Sailor trains in 32 bits (act_output_bytes in llm_info.json).
_PARAMETER_BYTES = 24  # Of a parameter, as Sailor counts: weight, gradient, Adam's two moments and two copies, of 32 bits each.
_VALIDATED = "sailor/Planner/simulations/profiles_tmp.json"
EXPECTED = "a checkout of github.com/eth-easl/sailor, or its profile.json files"


@dataclass(frozen=True)
class Step:
    """A training step of one pipeline. Raises BadInput for numbers below 1."""
    microbatch: int = 1  # Sequences of a micro-batch.
    microbatches: int = 1
    tensor_parallel: int = 1  # GPUs that share a layer; a device of the graph's machine stands for that many.

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_whole(f"--{name.replace('_', '-')}", value, 1, 20)


def load(path: str | os.PathLike, step: Step, *, model: str | None = None, kinds: Sequence[str] | None = None) -> Graph:
    """The step's graph: a forward and a backward op of each layer and micro-batch, and an update of each layer.

    An op has a cost for each device kind that was measured with this micro-batch and tensor parallelism. A layer's ops are a group.
    Between layers pass activations and their gradients; what a layer keeps for its backward pass is an output too. path: a
    checkout, whose profiles_tmp.json counts, or a folder with profile.json files, or one of them. model: as Sailor names it; None:
    the only one there is. kinds: of which costs are wanted; None: all. Raises BadInput for anything else. Warns of a profile with
    another number of layers than the model has, and leaves it out.
    """
    model, profiles = _profiles(path, model)
    sizes = _sizes(_info_above(next(iter(profiles.values()))[0]), model, step)
    times: dict[str, list[list[float]]] = {}
    for gpu, (file, by_microbatch) in profiles.items():
        kind = _KINDS.get(gpu, gpu.lower())
        measured = _layer_times(file, by_microbatch, step) if kinds is None or kind in kinds else None
        if measured is not None and len(measured) != len(sizes):
            warnings.warn(f"{kind} is left out: its profile has {len(measured)} layers, and {model} has {len(sizes)}", stacklevel=2)
        elif measured is not None:
            times[kind] = measured
    if not times:
        raise BadInput(f"{path}: no GPU has times of {model} with a micro-batch of {step.microbatch} and tensor parallelism "
                       f"{step.tensor_parallel}" + (f" among {', '.join(kinds)}" if kinds else ""))
    name = f"{model}_microbatch{step.microbatch}x{step.microbatches}_tp{step.tensor_parallel}"
    return Graph.from_ops(name, _ops(times, sizes, step))


def _profiles(path: str | os.PathLike, model: str | None) -> tuple[str, dict[str, tuple[pathlib.Path, Any]]]:
    """The model, and by GPU the file with its times, and these: {micro-batch: {tensor parallelism: layers}}.

    Raises BadInput where there is none, or several models and none is chosen.
    """
    by_model: dict[str, dict[str, tuple[pathlib.Path, Any]]] = {}
    validated = pathlib.Path(path).resolve() / _VALIDATED
    if validated.is_file():
        refuse_pointer(validated)
        for name, gpus in read_json(validated).items():
            by_model[name] = {gpu: (validated, times) for gpu, times in gpus.items()} if isinstance(gpus, dict) else {}
    else:
        for file in files_named(path, "profile.json", EXPECTED):
            parts = file.resolve().parts
            refuse_pointer(file)
            if len(parts) > 3:
                by_model.setdefault(parts[-3], {})[parts[-2]] = (file.resolve(), read_json(file))
    if model is None and len(by_model) == 1:
        model = next(iter(by_model))
    if not by_model.get(model or ""):
        raise BadInput(f"--model is {'missing' if model is None else repr(model)}, expected one of {', '.join(sorted(by_model))}")
    return model, by_model[model]


def _layer_times(path: pathlib.Path, by_microbatch: Any, step: Step) -> list[list[float]] | None:
    """[layers][3] microseconds of forward, backward and update; None: not measured with these settings. path: names them in errors."""
    layers = by_microbatch
    for key in (str(step.microbatch), str(step.tensor_parallel)):
        layers = layers.get(key) if isinstance(layers, dict) else None
    if layers is None:
        return None
    if not isinstance(layers, dict) or sorted(layers) != sorted(map(str, range(len(layers)))) or not layers:
        raise BadInput(f"{path}: micro-batch {step.microbatch}: expected layers '0', '1' and so on")
    times = []
    for index in range(len(layers)):
        entry = layers[str(index)]
        place = f"{path}: micro-batch {step.microbatch}: layer {index}"
        if not isinstance(entry, list) or len(entry) != 3:
            raise BadInput(f"{place} is {json.dumps(entry)[:60]}, expected the seconds of its forward pass, backward pass and update")
        times.append([round(finite_number(value, f"{place}: a time in seconds") * _US_PER_S, 3) for value in entry])
    return times


def _info_above(profile: pathlib.Path) -> pathlib.Path:
    """llm_info.json, in one of the folders above the profile."""
    for folder in profile.parents:
        if (folder / "llm_info.json").is_file():
            return folder / "llm_info.json"
    raise BadInput(f"{profile}: no folder above it has llm_info.json, expected Sailor's sizes of layers there (sailor/Planner)")


def _sizes(path: pathlib.Path, model: str, step: Step) -> list[dict[str, int]]:
    """[layers] the numbers that a layer has and makes for one sequence, on one of the GPUs that share it."""
    entry: Any = read_json(path)
    for key in (model, str(step.tensor_parallel)):
        entry = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not entry:
        raise BadInput(f"{path}: has no sizes of {model} with tensor parallelism {step.tensor_parallel}")
    names = ("params_floats", "act_output_floats", "act_mem_floats")
    sizes = [entry.get(str(index)) for index in range(len(entry))]
    for index, size in enumerate(sizes):
        if not isinstance(size, dict) or not all(isinstance(size.get(name), int) and size[name] >= 0 for name in names):
            raise BadInput(f"{path}: {model}, tensor parallelism {step.tensor_parallel}: layer {index} has no {', '.join(names)}")
    return sizes


def _ops(times: dict[str, list[list[float]]], sizes: list[dict[str, int]], step: Step) -> list[dict]:
    def op(layer: int, part: int, name: str, inputs: list[str], outputs: list[int], **more) -> dict:
        return {"name": name, "type": f"sailor.{('forward', 'backward', 'update')[part]}", "group": f"layer {layer}", "inputs": inputs,
                "cost_us": {kind: of_layer[layer][part] for kind, of_layer in times.items()},
                "outputs": [{"bytes": size} for size in outputs]} | more

    ops, last = [], len(sizes) - 1
    # What the last layer makes, nobody reads.
    sent = [size["act_output_floats"] * _NUMBER_BYTES * step.microbatch for size in sizes[:-1]] + [0]
    kept = [size["act_mem_floats"] * _NUMBER_BYTES * step.microbatch for size in sizes]
    for index in range(step.microbatches):
        for layer, size in enumerate(sizes):
            held = {"param_bytes": size["params_floats"] * _PARAMETER_BYTES} if index == 0 else {"copy_of": f"0/forward.{layer}"}
            before = [f"{index}/forward.{layer - 1}:0"] if layer else []
            ops.append(op(layer, 0, f"{index}/forward.{layer}", before, [sent[layer], kept[layer]], **held))
        for layer in range(last, -1, -1):
            # What the layer has kept, and the gradient of what it has made, as large as that.
            gradient = [f"{index}/backward.{layer + 1}:0"] if layer < last else []
            repeats = {"copy_of": f"0/backward.{layer}"} if index else {}
            ops.append(op(layer, 1, f"{index}/backward.{layer}", [f"{index}/forward.{layer}:1", *gradient],
                          [sent[layer - 1]] if layer else [], **repeats))
    for layer in range(last + 1):
        ops.append(op(layer, 2, f"update.{layer}", [f"^{index}/backward.{layer}" for index in range(step.microbatches)], []))
    return ops
