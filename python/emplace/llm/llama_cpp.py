"""llama.cpp's flags for a placement.

How it divides a model (llama-model.cpp, load_tensors): the last `-ngl` of its layers, of which the output head is one more, go to the
devices of `-dev` in that order, by the shares `-ts`; layers before those stay on the processor, as the embedding always does. `-ot`
then names tensors that lie elsewhere, and what is computed with them is computed there.
"""
import re
from collections import defaultdict

from emplace._core import BadInput
from emplace.llm.layout import Layout, backend_names, host_devices

_LAYER = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")


def _layers_pattern(layers: list[int]) -> str:
    return str(layers[0]) if len(layers) == 1 else f"({'|'.join(map(str, layers))})"


def _overrides(layout: Layout, names: list[str]) -> list[str]:
    """The arguments of `-ot`: for each device and set of layers, which tensors of theirs lie there."""
    tensors: dict[tuple[str, int], set[str]] = defaultdict(set)  # By device and layer.
    for tensor, device in layout.apart().items():
        match = _LAYER.fullmatch(tensor)
        tensors[names[device], int(match[1])].add(f"{match[2]}.{match[3]}")
    layers: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)  # By device and tensors.
    for (device, layer), found in sorted(tensors.items()):
        layers[device, tuple(sorted(found))].append(layer)
    return [rf"blk\.{_layers_pattern(of)}\.({'|'.join(re.escape(name) for name in found)})={device}"
            for (device, found), of in layers.items()]


def flags(layout: Layout) -> str:
    """A line of arguments for llama-server, llama-cli and llama-bench. Raises BadInput for what llama.cpp cannot do."""
    names, hosts = backend_names(layout.machine), set(host_devices(layout.machine))
    stages = layout.stages_once("llama.cpp")
    on_host = [stage for stage in stages if stage.device in hosts]
    on_devices = [stage for stage in stages if stage.device not in hosts]
    late = [stage for stage in on_host if on_devices and stage.begin > on_devices[0].begin]
    if late:
        raise BadInput(f"llama.cpp keeps a model's first layers on the processor, and here layer {late[0].begin} is on it after others; "
                       "expected a placement under what it can do, as without --placement")
    used = [names[stage.device] for stage in on_devices]
    arguments = []
    if any(name.startswith("RPC") for name in names):
        arguments.append("--rpc " + ",".join(device.name for device, name in zip(layout.machine.devices, names, strict=True)
                                             if name.startswith("RPC")))
    counts = [stage.end - stage.begin for stage in on_devices]
    if counts:
        counts[-1] += 1  # The output head goes with the last layer.
        if layout.output != on_devices[-1].device:
            raise BadInput(f"llama.cpp has the output head on the device of the last layer, {used[-1]}, and here it is on "
                           f"{names[layout.output]}; expected a placement under what it can do, as without --placement")
        arguments.append("-dev " + ",".join(used))
    arguments.append(f"-ngl {sum(counts)}")
    if len(counts) > 1:
        arguments.append("-sm layer -ts " + ",".join(map(str, counts)))
    arguments += [f'-ot "{override}"' for override in _overrides(layout, names)]
    return " ".join(arguments) + "\n"
