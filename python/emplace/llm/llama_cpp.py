"""llama.cpp's flags for a placement.

How it divides a model (llama-model.cpp, load_tensors): the last `-ngl` of its layers, of which the output head is one more, go to the
devices of `-dev` in that order, by the shares `-ts`; layers before those stay on the processor, as the embedding always does. `-ot`
then names tensors that lie elsewhere, by the type of buffer, and what is computed with them is computed there. (For prompts of some
dozen tokens and more llama.cpp sends weights that lie in the processor's memory to a GPU, if that has a backend for it.)
"""
import re
from collections import defaultdict
from collections.abc import Mapping

from emplace._core import BadInput, Machine
from emplace.llm.layers import LAYER_TENSOR
from emplace.llm.layout import POSSIBLE, Layout, Stage, backend_names, host_devices

_CHUNK, _BATCH = 512, 2048  # llama.cpp's own -ub and -b.
_CACHE_TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "IQ4_NL", "Q5_0", "Q5_1")  # kv_cache_types in common/arg.cpp.


def layers_pattern(layers: list[int]) -> str:
    """The start of a regular expression for the tensors of these layers, such as `blk\\.(0|2)\\.`."""
    numbers = "|".join(map(str, layers))
    return rf"blk\.({numbers})\." if len(layers) > 1 else rf"blk\.{numbers}\."


def buffer_types(machine: Machine) -> list[str]:
    """[D] what `-ot` calls the memory of each device: CPU, CUDA0, ..., or RPC0[HOST:PORT]."""
    # A server's buffers are counted from 0 for each server (ggml_backend_rpc_buffer_type).
    return [f"RPC0[{device.name}]" if name.startswith("RPC") else name
            for name, device in zip(backend_names(machine), machine.devices, strict=True)]


def _overrides(layout: Layout, targets: list[str]) -> str:
    """The argument of `-ot`: for each set of layers, which tensors of theirs lie on another device. targets: [D] types of buffers."""
    tensors: dict[tuple[str, int], set[str]] = defaultdict(set)  # By target and layer.
    for tensor, device in layout.apart().items():
        match = LAYER_TENSOR.fullmatch(tensor)
        tensors[targets[device], int(match[1])].add(f"{match[2]}.{match[3]}")
    layers: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)  # By target and tensors.
    for (target, layer), found in sorted(tensors.items()):
        layers[target, tuple(sorted(found))].append(layer)
    return ",".join(rf"{layers_pattern(of)}({'|'.join(re.escape(name) for name in found)})={target}"
                    for (target, found), of in layers.items())


def _check_ends(layout: Layout, on_devices: list[Stage], names: list[str], hosts: set[int]) -> None:
    """Raises BadInput for an embedding or an output head where llama.cpp never has them."""
    last = {on_devices[-1].device} if on_devices else hosts or {layout.output}
    if layout.output not in last:
        raise BadInput(f"llama.cpp has the output head on the device of the last layer, {names[min(last)]}, and here it is on "
                       f"{names[layout.output]}; {POSSIBLE}")
    if hosts and layout.embedding not in hosts:
        raise BadInput(f"llama.cpp has the embedding on the processor, and here it is on {names[layout.embedding]}; {POSSIBLE}")


def _step(served: Mapping) -> list[str]:
    """Arguments for the context, the streams and the types for which the model was placed."""
    found = []
    if "context" in served:
        streams = served["streams"] * served.get("steps_in_flight", 1)
        found.append(f"-c {served['context'] * streams}" + (f" -np {streams}" if streams > 1 else ""))
        if served["chunk"] != _CHUNK:
            found.append(f"-b {max(served['chunk'], _BATCH)} -ub {served['chunk']}")
        if served["kv_type"] not in _CACHE_TYPES:
            raise BadInput(f"llama.cpp has no cache of {served['kv_type']}, expected a graph whose --kv-type is one of {', '.join(_CACHE_TYPES)}")
        if served["kv_type"] != "F16":
            found.append("-fa on -ctk {0} -ctv {0}".format(served["kv_type"].lower()))
    return found


def flags(layout: Layout) -> str:
    """A line of arguments for llama-server and llama-cli. Raises BadInput for what llama.cpp cannot do."""
    names, hosts = backend_names(layout.machine), set(host_devices(layout.machine))
    stages = layout.stages_once("llama.cpp")
    on_host = [stage for stage in stages if stage.device in hosts]
    on_devices = [stage for stage in stages if stage.device not in hosts]
    late = [stage for stage in on_host if on_devices and stage.begin > on_devices[0].begin]
    if late:
        raise BadInput(f"llama.cpp keeps a model's first layers on the processor, and here layer {late[0].begin} is on it after others; "
                       f"{POSSIBLE}")
    _check_ends(layout, on_devices, names, hosts)
    addresses = {names[index]: device.name for index, device in enumerate(layout.machine.devices) if names[index].startswith("RPC")}
    shares = [stage.end - stage.begin for stage in on_devices]
    if shares:
        shares[-1] += 1 + layout.served.get("extra_layers", 0)  # The output head, and layers behind the last one, go with it.
    used = [names[stage.device] for stage in on_devices]
    for device in dict.fromkeys(layout.apart().values()):
        if device not in hosts and names[device] not in used:  # It has tensors, and no layer.
            used.append(names[device])
            shares.append(0)
    arguments = ["--rpc " + ",".join(addresses.values())] if addresses else []
    if used:
        arguments.append("-dev " + ",".join(used))
    arguments.append(f"-ngl {sum(shares)}")
    if len(used) > 1:
        arguments.append("-sm layer -ts " + ",".join(map(str, shares)))
    overrides = _overrides(layout, buffer_types(layout.machine))
    return " ".join([*arguments, *([f'-ot "{overrides}"'] if overrides else []), *_step(layout.served)]) + "\n"
