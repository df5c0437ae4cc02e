"""What programs that keep layers whole take for a placement, by program (STAGE_RUNTIMES): a shell command, or a file.

MODEL, MODULE and CONFIG in a command are for its reader to fill in. A command has CUDA_VISIBLE_DEVICES where GPUs are named by their
numbers, such as cuda:1, and those of ranks 0, 1, ... are not 0, 1, ...; these numbers follow CUDA_DEVICE_ORDER. Where GPUs have other
names, a comment has these by rank. Where devices are named HOST:PORT, there is a command for each computer.
"""
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emplace._core import BadInput
from emplace.llm.layout import POSSIBLE, Layout, backend_names, backends_of, gpu_numbers, has_address, host_devices
from emplace.roofline import kinds_of

_EXO = "http://localhost:52415/instance"
_SGLANG_PORT = 20000  # On which SGLang's computers find each other; any free one.


def _ranks(layout: Layout, runtime: str, *, ends_apart: bool = False) -> list[int]:
    """The devices in the order of a pipeline. ends_apart: the embedding and the output head may each be alone on one.

    Raises BadInput for devices that are no GPUs, and for a placement that is no pipeline.
    """
    stages = layout.whole_stages(runtime)
    parts = [layout.embedding, *(stage.device for stage in stages), layout.output]
    devices = [device for device, _ in itertools.groupby(parts)]
    names, hosts = [device.name for device in layout.machine.devices], host_devices(layout.machine)
    host = next((device for device in devices if device in hosts), None)
    if host is not None:
        raise BadInput(f"{runtime} divides a model among GPUs, and {names[host]} is a processor or a disk; expected a placement on GPUs, "
                       "such as one for a machine without others")
    backends = backends_of(layout.machine)
    by_backend = {backends[device]: names[device] for device in devices if backends[device] != "RPC"}
    if len(by_backend) > 1:
        raise BadInput(f"{runtime} runs on GPUs of one maker, and {' and '.join(by_backend.values())} are of several; expected a "
                       "machine with those of one")
    if len(set(devices)) < len(devices) or (len(devices) > len(stages) and not ends_apart):
        alone = ", or each alone on a device" if ends_apart else ""
        raise BadInput(f"{runtime} has the embedding with the first layers and the output head with the last ones{alone}, and here they "
                       f"are on {names[layout.embedding]} and {names[layout.output]}, and these layers on {names[stages[0].device]} and "
                       f"{names[stages[-1].device]}; {POSSIBLE}")
    return devices


@dataclass(frozen=True)
class _Computer:
    """One of the computers on which a pipeline runs."""
    host: str  # Empty: this one.
    devices: list[int]  # By rank.
    index: int = 0
    count: int = 1  # Of all computers.
    first: str = ""  # The address of the first one.


def _computers(layout: Layout, ranks: list[int]) -> list[_Computer]:
    """The computers of the devices, by rank."""
    names = [device.name for device in layout.machine.devices]
    found = [(host, list(devices)) for host, devices in itertools.groupby(
        ranks, lambda device: names[device].rpartition(":")[0] if has_address(names[device]) else "")]
    return [_Computer(host, devices, index, len(found), found[0][0] or "ADDRESS") for index, (host, devices) in enumerate(found)]


def _check_computers(runtime: str, computers: list[_Computer], alike: bool) -> None:
    """Raises BadInput where ranks of a computer do not follow each other. alike: also where they have unlike numbers of GPUs."""
    shown = [f"{len(computer.devices)} on {computer.host or 'this computer'}" for computer in computers]
    if len({computer.host for computer in computers}) < len(computers):
        raise BadInput(f"{runtime} has the GPUs of a computer one after the other, and here they are {', then '.join(shown)}; expected a "
                       "placement in which layers do not come back to a computer")
    if alike and len({len(computer.devices) for computer in computers}) > 1:
        raise BadInput(f"{runtime} uses as many GPUs on each computer, and here they are {', '.join(shown)}; expected a machine with the same "
                       "number of each")


def _command(layout: Layout, runtime: str, ranks: list[int], variables: Mapping[str, str], command: Callable[[_Computer], str], *,
             alike: bool) -> str:
    """A shell command for each computer, with environment variables, whose processes are on these devices by rank.

    alike: computers have the same number of GPUs. Raises BadInput as of _check_computers.
    """
    computers, text = _computers(layout, ranks), ""
    _check_computers(runtime, computers, alike)
    if gpu_numbers(layout.machine, ranks, ("gpu", "cuda")) is None and len(layout.machine.devices) > 1:
        text = f"# Devices by rank: {', '.join(layout.machine.devices[device].name for device in ranks)}\n"
    for computer in computers:
        own = dict(variables)
        numbers = None if computer.host else gpu_numbers(layout.machine, computer.devices, ("gpu", "cuda"))
        if numbers is not None and numbers != list(range(len(numbers))):
            own = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, numbers)), **own}
        if computer.host:
            text += f"# On {computer.host}:\n"
        elif len(computers) > 1:
            text += "# On this computer" + (", where ADDRESS is its own:\n" if computer.first == "ADDRESS" else ":\n")
        text += "".join(f'{name}="{value}" ' for name, value in own.items()) + command(computer) + "\n"
    return text


def _torchrun(computer: _Computer) -> str:
    """The start of a command that runs a process on each GPU."""
    joined = f"--nnodes {computer.count} --node-rank {computer.index} --master-addr {computer.first} " if computer.count > 1 else ""
    return f"torchrun {joined}--nproc-per-node {len(computer.devices)}"


def context_flag(step: Mapping, flag: str) -> str:
    """The context for which the model was placed, with this flag before it. step: what the graph says of it (`layout.served`)."""
    return f" {flag} {step['context']}" if "context" in step else ""


def cache_flag(step: Mapping, runtime: str, eight_bits: str) -> str:
    """The flag for the type of the cache. eight_bits: the runtime's name of one of 8 bits. Raises BadInput for one that it has not."""
    kv_type = step.get("kv_type", "F16")
    if kv_type in ("F16", "BF16"):
        return ""
    if kv_type not in ("Q8_0", "I8"):
        raise BadInput(f"{runtime} has caches of 16 and of 8 bits, and here they are {kv_type}; expected a graph with --kv-type F16, BF16, "
                       "Q8_0 or I8")
    return f" --kv-cache-dtype {eight_bits}"


def _sizes(layout: Layout, ranks: list[int]) -> str:
    """How many layers each rank has."""
    return ",".join(str(layout.attention.count(device)) for device in ranks)


def _vllm(layout: Layout) -> str:
    """A command of vLLM, which has a number of layers for each rank (get_pp_indices in vllm/distributed/utils.py)."""
    ranks = _ranks(layout, "vllm")

    def command(computer: _Computer) -> str:
        joined = f" --nnodes {computer.count} --node-rank {computer.index} --master-addr {computer.first}" if computer.count > 1 else ""
        return (f"vllm serve MODEL --pipeline-parallel-size {len(ranks)}{context_flag(layout.served, '--max-model-len')}"
                f"{cache_flag(layout.served, 'vllm', 'fp8')}{joined}{' --headless' if computer.index else ''}")
    return _command(layout, "vllm", ranks, {"VLLM_PP_LAYER_PARTITION": _sizes(layout, ranks)}, command, alike=True)


def _sglang(layout: Layout) -> str:
    """A command of SGLang, which has a number of layers for each rank (get_pp_indices in sglang/srt/distributed/utils.py)."""
    ranks = _ranks(layout, "sglang")

    def command(computer: _Computer) -> str:
        joined = f" --nnodes {computer.count} --node-rank {computer.index} --dist-init-addr {computer.first}:{_SGLANG_PORT}"
        return (f"python3 -m sglang.launch_server --model-path MODEL --pp-size {len(ranks)}{context_flag(layout.served, '--context-length')}"
                f"{cache_flag(layout.served, 'sglang', 'fp8_e5m2')}{joined if computer.count > 1 else ''}")
    return _command(layout, "sglang", ranks, {"SGLANG_PP_LAYER_PARTITION": _sizes(layout, ranks)}, command, alike=True)


def _megatron(layout: Layout) -> str:
    """A command of Megatron-LM: E is the embedding, t a layer, L the output head with the loss, and | is between ranks.

    megatron/core/transformer/pipeline_parallel_layer_layout.py reads it.
    """
    ranks = _ranks(layout, "megatron", ends_apart=True)
    parts = []
    for device in ranks:
        layers = layout.attention.count(device)
        parts.append("E" * (device == layout.embedding) + ("t" if layers == 1 else f"t*{layers}") * (layers > 0)
                     + "L" * (device == layout.output))
    arguments = (f"pretrain_gpt.py --num-layers {len(layout.attention)} --pipeline-model-parallel-size {len(ranks)} "
                 f'--pipeline-model-parallel-layout "{"|".join(parts)}"')
    return _command(layout, "megatron", ranks, {}, lambda computer: f"{_torchrun(computer)} {arguments}", alike=False)


def _torchtitan(layout: Layout) -> str:
    """A command of torchtitan 0.3, which has the modules of each rank; a schedule such as 1F1B has one part on each.

    In torchtitan 0.2 the output head is called output, and its files are TOML.
    """
    ranks = _ranks(layout, "torchtitan", ends_apart=True)
    parts = [["tok_embeddings"] * (device == layout.embedding)
             + [f"layers.{layer}" for layer, place in enumerate(layout.attention) if place == device]
             + ["norm", "lm_head"] * (device == layout.output) for device in ranks]
    arguments = (f"-m torchtitan.train --module MODULE --config CONFIG --parallelism.pipeline_parallel_degree {len(ranks)} "
                 f"--parallelism.pipeline_parallel_schedule 1F1B --parallelism.module_fqns_per_model_part {' '.join(map(','.join, parts))}")
    return _command(layout, "torchtitan", ranks, {}, lambda computer: f"{_torchrun(computer)} {arguments}", alike=False)


def _exo(layout: Layout) -> str:
    """Commands that start a model on exo's nodes. Each node has the embedding and the output head besides its layers.

    exo has no flag or file for layers by node. It takes an instance (POST /instance) as it proposes one (GET /instance/placement),
    and here each rank's layers are changed in between. Which node has which rank is exo's choice: the third command prints it.
    """
    stages = layout.whole_stages("exo")
    ranks = ", ".join(f"{rank} is {layout.machine.devices[stage.device].name} with layers {stage.begin} to {stage.end - 1}"
                      for rank, stage in enumerate(stages))
    layers = json.dumps([[stage.begin, stage.end] for stage in stages], separators=(",", ":"))
    return f"""# Ranks of nodes: {ranks}. Start the model (last command) where exo's nodes have these ranks.
curl -s "{_EXO}/placement?model_id=MODEL&sharding=Pipeline&instance_meta=MlxRing&min_nodes={len(stages)}" > proposed.json
jq '{{instance: (.MlxRingInstance.shardAssignments.runnerToShard[].PipelineShardMetadata |= \
({layers}[.deviceRank] as [$from, $to] | .startLayer = $from | .endLayer = $to))}}' proposed.json > instance.json
jq '.instance.MlxRingInstance.shardAssignments | .runnerToShard as $shards | .nodeToRunner | \
map_values($shards[.].PipelineShardMetadata.deviceRank)' instance.json
curl -s -X POST {_EXO} -H "Content-Type: application/json" -d @instance.json
"""


def _accelerate(layout: Layout) -> str:
    """A `device_map` for from_pretrained and dispatch_model, JSON, for models whose layers are called model.layers.N.

    Any layer may be on any device of a machine. GPUs are numbers: those in their names where all have one, and else by order. With
    a GPU in the map, weights on "cpu" or "disk" are copied to one of the GPUs for each step, and computed with there. "disk" needs
    an offload_folder. Raises BadInput for layers that are not whole, for devices of other machines, and for a language model inside
    of another one, whose modules have other names.
    """
    layout.check_whole("accelerate")
    if layout.served.get("nested"):
        raise BadInput("accelerate needs the modules' names, and this language model is a part of another model (text_config), which calls "
                       "them otherwise; expected a model of text alone")
    backends, disks = backend_names(layout.machine), kinds_of("disk")
    gpus = [index for index, backend in enumerate(backends) if backend != "CPU"]
    numbers = dict(zip(gpus, gpu_numbers(layout.machine, gpus) or range(len(gpus)), strict=True))
    embedding, output = layout.embedding, layout.output
    elsewhere = [end for end in (embedding, output) if layout.machine.devices[end].kind not in disks]
    if layout.served.get("tied") and len(elsewhere) == 1:  # accelerate reads a tensor from a disk for one of its two names alone.
        embedding = output = elsewhere[0]
    modules = {"model.embed_tokens": embedding, **{f"model.layers.{layer}": device for layer, device in enumerate(layout.attention)},
               "model.norm": layout.output, "lm_head": output}
    device_map: dict[str, int | str] = {}
    for module, index in modules.items():
        device = layout.machine.devices[index]
        if backends[index].startswith("RPC"):
            raise BadInput(f"accelerate has all layers on one machine, and {module} is on {device.name}; expected a placement on devices "
                           "that are not named HOST:PORT")
        device_map[module] = numbers.get(index, "disk" if device.kind in disks else "cpu")
    return json.dumps(device_map, indent=2) + "\n"


STAGE_RUNTIMES: dict[str, Callable[[Layout], str]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "exo": _exo,
    "accelerate": _accelerate,
    "megatron": _megatron,
    "torchtitan": _torchtitan,
}
