"""Where a placement has put a language model's parts: each layer's attention, and each product of its feed-forward network."""
import dataclasses
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from emplace import _core
from emplace._core import BadInput, Graph, Machine
from emplace.shipped import device_kinds_folder

_HOST_AND_PORT = re.compile(r"[\w.-]+:(\d{4,5})")
_PROCESSOR = re.compile(r"cpu(:\d+)?")
# How llama.cpp calls devices of a maker, whose kinds are in the file of that name.
_BACKENDS = {"nvidia": "CUDA", "amd": "ROCm", "intel": "SYCL", "apple": "MTL"}


def kinds_of(maker: str) -> set[str]:
    """Names of the kinds in configs/devices/consumer/MAKER.yaml."""
    path = device_kinds_folder() / "consumer" / f"{maker}.yaml"
    return {kind.name for kind in _core.load_device_kinds_of_file(path)} if path.is_file() else set()


def host_devices(machine: Machine) -> list[int]:
    """Indices of the devices that are processors, by their kind or a name such as cpu:0, or disks whose weights one computes with."""
    kinds = kinds_of("cpu") | kinds_of("disk") | {"cpu"}
    return [index for index, device in enumerate(machine.devices) if device.kind in kinds or _PROCESSOR.fullmatch(device.name)]


def backend_names(machine: Machine) -> list[str]:
    """[D] llama.cpp's name of each device: CPU, CUDA0, CUDA1, ROCm0, ..., or RPC0, ... for a device named HOST:PORT."""
    makers = {kind: backend for maker, backend in _BACKENDS.items() for kind in kinds_of(maker)}
    hosts, seen, names = set(host_devices(machine)), {}, []
    for index, device in enumerate(machine.devices):
        port = _HOST_AND_PORT.fullmatch(device.name)
        backend = "RPC" if port and int(port[1]) >= 1024 else "CPU" if index in hosts else makers.get(device.kind, "CUDA")
        number = seen[backend] = seen.get(backend, -1) + 1
        names.append("CPU" if backend == "CPU" else f"{backend}{number}")
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

    def whole_stages(self, runtime: str) -> list[Stage]:
        """The stages, where each device has at most one and layers are whole. Raises BadInput, which names the runtime, elsewhere."""
        if self.apart():
            tensor = next(iter(self.apart()))
            raise BadInput(f"{runtime} places whole layers, and {tensor} is not on the device of its layer; expected a placement under "
                           f"what it can do, as without --placement")
        return self.stages_once(runtime)

    def stages_once(self, runtime: str) -> list[Stage]:
        """The stages, where each device has at most one. Raises BadInput, which names the runtime, elsewhere."""
        stages = self.stages()
        devices = [stage.device for stage in stages]
        twice = next((device for device in devices if devices.count(device) > 1), None)
        if twice is not None:
            raise BadInput(f"{runtime} gives each device layers that follow each other, and those of {self.machine.devices[twice].name} "
                           "do not; expected a placement under what it can do, as without --placement")
        return stages


def served(graph: Graph) -> Mapping:
    """What the graph's meta.llm says. Raises BadInput for a graph of no language model."""
    found = graph.meta.get("llm")
    if not isinstance(found, dict):
        raise BadInput(f"graph '{graph.name}' is of no language model, expected one of `emplace import llm`")
    return found


def layout_of(graph: Graph, machine: Machine, placement: np.ndarray) -> Layout:
    """Where a placement [n] has put the model. Raises BadInput where a layer's attention is on several devices."""
    layers = int(served(graph)["layers"])
    attention: list[int | None] = [None] * layers
    products: list[dict[str, int]] = [{} for _ in range(layers)]
    ends: dict[str, int] = {}
    for op, device in zip(graph.ops, placement.tolist(), strict=True):
        block, _, part = op["attrs"]["module"].rpartition(".")
        if not block.startswith("blk."):
            ends[op["attrs"]["module"]] = device
            continue
        layer = int(block.partition(".")[2])
        if part in ("ffn_up", "ffn_down", "ffn_experts", "ffn_shared"):
            for tensor in op["attrs"].get("tensors", ()):
                if products[layer].setdefault(tensor, device) != device:
                    raise BadInput(f"{tensor} is on {machine.devices[products[layer][tensor]].name} and on {machine.devices[device].name}: "
                                   "no runtime here divides a layer's experts")
        elif attention[layer] is None:
            attention[layer] = device
        elif attention[layer] != device:
            raise BadInput(f"layer {layer}: {op['name']} is not on the device of the layer's attention; expected a graph in which that is "
                           "whole (--together attention or layers)")
    return Layout(machine, attention, products, ends["token_embd"], ends["output"])
