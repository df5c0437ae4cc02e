"""Where a placement has put a language model's parts: each layer's attention, and each product of its feed-forward network."""
import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.llm.settings import PRODUCTS
from emplace.placements import split_device
from emplace.roofline import host_kinds, kinds_of

# Ends an error about a placement that a runtime cannot have.
POSSIBLE = "expected a placement under what it can do, as without --placement"
_HOST_AND_PORT = re.compile(r"[\w.-]+:(\d{4,5})")
_MODULE = re.compile(r"(?:blk\.(\d{1,6})\.)?(\w+)")
_GPUS = ("gpu", "cuda", "rocm", "xpu", "sycl", "mtl", "metal")  # In the names of devices.
# How llama.cpp calls devices of a maker, whose kinds are in the file of that name.
_BACKENDS = {"nvidia": "CUDA", "amd": "ROCm", "intel": "SYCL", "apple": "MTL"}


def host_devices(machine: Machine) -> list[int]:
    """Indices of the devices that are processors, by their kind or a name such as cpu:0, or disks whose weights one computes with."""
    kinds = host_kinds()
    return [index for index, device in enumerate(machine.devices)
            if (device.kind in kinds or _index(device.name, "cpu") is not None) and not has_address(device.name)]


def has_address(name: str) -> bool:
    """Whether a device is named like the address of a server, HOST:PORT."""
    port = _HOST_AND_PORT.fullmatch(name)
    return port is not None and int(port[1]) >= 1024


def _index(name: str, *kinds: str) -> int | None:
    """The 1 of a device's name cuda:1, if its kind is one of these."""
    kind, index = split_device(name)
    return index if kind in kinds else None


def gpu_numbers(machine: Machine, devices: list[int], kinds: Sequence[str] = _GPUS) -> list[int] | None:
    """The numbers in these devices' names, such as cuda:1 or rocm:1; None where not all have one of their own."""
    numbers = [_index(machine.devices[device].name, *kinds) for device in devices]
    return numbers if None not in numbers and len(set(numbers)) == len(devices) else None


def backends_of(machine: Machine) -> list[str]:
    """[D] llama.cpp's backend for each device: CPU, CUDA, ROCm, ..., or RPC for a device named HOST:PORT."""
    makers = {kind: backend for maker, backend in _BACKENDS.items() for kind in kinds_of(maker)}
    hosts = set(host_devices(machine))
    return ["RPC" if has_address(device.name) else "CPU" if index in hosts else makers.get(device.kind, "CUDA")
            for index, device in enumerate(machine.devices)]


def backend_names(machine: Machine) -> list[str]:
    """[D] llama.cpp's name of each device: CPU, CUDA0, CUDA1, ROCm0, ..., or RPC0, ... for a device named HOST:PORT.

    GPUs of a maker are numbered as their names say, such as cuda:1, where all have such names, or else in the machine's order. Names
    such as gpu:1 number the GPUs of all makers: where there are several, they say in which order those of one are.
    """
    backends = backends_of(machine)
    makers = set(backends) - {"CPU", "RPC"}
    names = ["CPU"] * len(backends)
    for backend in set(backends) - {"CPU"}:
        of_backend = [index for index, other in enumerate(backends) if other == backend]
        numbers = gpu_numbers(machine, of_backend) if backend != "RPC" else None
        if numbers and len(makers) > 1 and all(machine.devices[index].name.startswith("gpu:") for index in of_backend):
            numbers = [sorted(numbers).index(number) for number in numbers]
        for index, number in zip(of_backend, numbers or range(len(of_backend)), strict=True):
            names[index] = f"{backend}{number}"
    return names


@dataclass(frozen=True)
class Stage:
    """Layers that follow each other with their attention on one device."""
    device: int
    begin: int  # Index of the first layer.
    end: int  # One past the last one.


@dataclass(frozen=True)
class Layout:
    """The devices of a model's parts; L layers. Devices are indices into the machine's."""
    machine: Machine
    attention: list[int]  # [L]
    products: list[dict[str, int]]  # [L] by tensor of the feed-forward network, such as "blk.3.ffn_up_exps.weight"
    embedding: int
    output: int
    served: Mapping = field(default_factory=dict)  # What the graph says of the step: context, streams, kv_type, chunk, ...

    def stages(self) -> list[Stage]:
        """The layers by the device of their attention, first to last."""
        found: list[Stage] = []
        for layer, device in enumerate(self.attention):
            if found and found[-1].device == device:
                found[-1] = dataclasses.replace(found[-1], end=layer + 1)
            else:
                found.append(Stage(device, layer, layer + 1))
        return found

    def apart(self) -> dict[str, int]:
        """Tensors of feed-forward networks that are not where their layer's attention is, with their devices."""
        return {tensor: device for layer, products in enumerate(self.products) for tensor, device in products.items()
                if device != self.attention[layer]}

    def check_whole(self, runtime: str) -> None:
        """Raises BadInput, which names the runtime, where a feed-forward network is apart from its layer."""
        tensor = next(iter(self.apart()), None)
        if tensor:
            raise BadInput(f"{runtime} places whole layers, and {tensor} is not on the device of its layer; {POSSIBLE}")

    def whole_stages(self, runtime: str) -> list[Stage]:
        """The stages, where each device has at most one and layers are whole. Raises BadInput, which names the runtime, elsewhere."""
        self.check_whole(runtime)
        return self.stages_once(runtime)

    def stages_once(self, runtime: str) -> list[Stage]:
        """The stages, where each device has at most one. Raises BadInput, which names the runtime, elsewhere."""
        stages = self.stages()
        devices = [stage.device for stage in stages]
        twice = next((device for device in devices if devices.count(device) > 1), None)
        if twice is not None:
            raise BadInput(f"{runtime} gives each device layers that follow each other, and those of {self.machine.devices[twice].name} "
                           f"do not; {POSSIBLE}")
        return stages


def served(graph: Graph) -> Mapping:
    """What the graph's meta.llm says. Raises BadInput for a graph of no language model."""
    found = graph.meta.get("llm")
    if not isinstance(found, dict) or not isinstance(found.get("layers"), int) or found["layers"] < 1:
        raise BadInput(f"graph '{graph.name}' is of no language model, expected one of `emplace import llm`")
    return found


def modules_of(graph: Graph) -> list[tuple[int, str]]:
    """[n] each op's layer and part, such as (3, "ffn_up"); layer -1 for what is in none, such as (-1, "token_embd").

    Raises BadInput for an op that says neither.
    """
    layers, found = served(graph)["layers"], []
    for op in graph.ops:
        match = _MODULE.fullmatch(op.get("attrs", {}).get("module") or "?")
        if not match or (match[1] and int(match[1]) >= layers):
            raise BadInput(f"graph '{graph.name}': op '{op['name']}' says of no layer or part of a model that it is of it, expected a graph "
                           "of `emplace import llm`")
        found.append((int(match[1]) if match[1] else -1, match[2]))
    if not {(-1, "token_embd"), (-1, "output")} <= set(found):
        raise BadInput(f"graph '{graph.name}' has no token_embd or no output, expected a graph of `emplace import llm`")
    return found


def layout_of(graph: Graph, machine: Machine, placement: np.ndarray) -> Layout:
    """Where a placement [n] has put the model. Raises BadInput where a layer's attention is on several devices."""
    step = served(graph)
    attention: list[int | None] = [None] * step["layers"]
    products: list[dict[str, int]] = [{} for _ in attention]
    ends: dict[str, int] = {}
    for op, (layer, part), device in zip(graph.ops, modules_of(graph), placement.tolist(), strict=True):
        name = machine.devices[device].name
        if layer < 0:
            ends[part] = device
        elif part in PRODUCTS:
            for tensor in op["attrs"].get("tensors", ()):
                other = products[layer].setdefault(tensor, device)
                if other != device:
                    raise BadInput(f"{tensor} is on {machine.devices[other].name} and on {name}: this runtime divides no layer's experts, "
                                   "and is not told to send weights to where they are computed with")
        elif attention[layer] is None:
            attention[layer] = device
        elif attention[layer] != device:
            raise BadInput(f"layer {layer}: {op['name']} is not on the device of the layer's attention; expected a graph in which that is "
                           "whole (--together attention or layers)")
    if None in attention:
        raise BadInput(f"graph '{graph.name}' has no attention in layer {attention.index(None)}, expected a graph of `emplace import llm`")
    return Layout(machine, attention, products, ends["token_embd"], ends["output"], step)
