"""`Machine.probe()` and `emplace probe`: the machine that this is."""
import importlib.util
import itertools
import json
import os
import re
import statistics
from collections.abc import Callable

import numpy as np

from emplace._core import BadInput, Device, DeviceKind, Machine, check_output_files, write_file
from emplace.command_line import Parser
from emplace.roofline import Roofline
from emplace.timing import times_us

_LARGE_BYTES = 64 * 2**20
_SMALL_BYTES = 4
_REPEATS = 5


# Words of a GPU's name that are its maker's or a line's, and no part of its model's.
_MAKERS = ("nvidia", "amd", "intel", "tesla", "geforce", "radeon", "instinct", "quadro")


def _kind_named(name: str, memory_bytes: int) -> str:
    """The device kind of a GPU that calls itself so: one that emplace has costs for, or the model's own name, such as l4.

    A kind's name is words of the GPU's that follow each other: rtx4070ti_super is "RTX 4070 Ti SUPER". Of kinds that differ in their
    memory alone, as rtx4060ti and rtx4060ti_16gb, it is the one whose memory is nearest.
    """
    words = re.findall(r"[a-z0-9]+", name.lower())
    runs = {"".join(words[first:last]) for last in range(len(words) + 1) for first in range(last)}
    known: dict[str, list[DeviceKind]] = {}
    for kind in Roofline().kinds:
        model = re.sub(r"_\d+gb$", "", kind.name).replace("_", "")
        if model in runs:
            known.setdefault(model, []).append(kind)
    if known:
        return min(known[max(known, key=len)], key=lambda kind: abs(kind.memory_bytes - memory_bytes)).name
    own = [word for word in words if word not in _MAKERS]
    return "".join(own[:2] if own[0] in ("rtx", "gtx", "rx") else own[:1]) if own else "gpu"


def _median_us(copy: Callable[[], None]) -> float:
    return statistics.median(times_us(copy, _REPEATS, warmup=1))  # The first one also allocates.


def _gpus() -> list[Device]:
    # Only torch knows of GPUs here, and it takes long to import where there is none.
    if importlib.util.find_spec("torch") is None:
        return []
    import torch
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(Device(f"cuda:{index}", _kind_named(properties.name, properties.total_memory), properties.total_memory))
    return found


def _copies(devices: list[Device]) -> list[Callable[[int], float]]:
    """For each ordered pair of devices, what gives the microseconds of a copy of so many bytes."""
    if not any(device.name.startswith("cuda") for device in devices):
        def within_memory(size: int) -> float:
            source, target = np.ones(size, dtype=np.uint8), np.empty(size, dtype=np.uint8)
            return _median_us(lambda: np.copyto(target, source))
        return [within_memory]
    import torch

    def between(source: str, target: str) -> Callable[[int], float]:
        def measure(size: int) -> float:
            tensor = torch.ones(size, dtype=torch.uint8, device=source)

            def copy() -> None:
                tensor.to(target)
                for name in (source, target):
                    if name.startswith("cuda"):
                        torch.cuda.synchronize(name)
            return _median_us(copy)
        return measure
    names = ["cpu" if device.name.startswith("cpu") else device.name for device in devices]
    return [between(*pair) for pair in itertools.permutations(dict.fromkeys(names), 2)]


def probe(*, gpus: bool = True, cpus: int = 1) -> Machine:
    """Describes this machine: a device for each GPU that torch sees, and `cpus` devices that share processor and memory evenly.

    GPUs are cuda:i, of a kind that emplace has costs for where their name says so; processors are cpu:i of kind cpu. The link is
    the median over pairs of devices, measured with copies of 64 MiB (bandwidth) and 4 bytes. The time of a small copy is the
    latency, and the overhead as well, since the copies are made one after the other. Without a GPU the link is the memory's. Takes
    about a second. Raises BadInput where no device is asked for.
    """
    if cpus < 0:
        raise BadInput(f"cpus is {cpus}, expected 0 or more")
    memory_bytes = _memory_bytes()
    devices = _gpus() if gpus else []
    devices += [Device(f"cpu:{index}", "cpu", memory_bytes // cpus) for index in range(cpus)]
    if not devices:
        raise BadInput("there is no GPU that torch sees, and no processor is asked for, expected cpus of at least 1")
    copies = _copies(devices)
    if not copies:  # One device sends nothing.
        return Machine(devices, bandwidth_bytes_per_us=1.0)
    small_us = statistics.median(measure(_SMALL_BYTES) for measure in copies)
    large_us = statistics.median(measure(_LARGE_BYTES) for measure in copies)
    return Machine(devices, bandwidth_bytes_per_us=round(_LARGE_BYTES / max(large_us - small_us, 1e-3), 1),
                   transfer_latency_us=round(small_us, 2), transfer_overhead_us=round(small_us, 2))


_KIND = """\
# This computer's processor, {threads} thread{s}, measured with numpy's products by `emplace probe --kind {name}`.
kind: {name}
memory_bytes: {memory_bytes:.4g}
memory_gb_per_s: {gb_per_s:.4g}  # {rows} x {columns} numbers of 32 bits, read once for a product with a vector
launch_us: {launch_us:.3g}         # a product of 8 x 8 numbers
peak_gflops:
  f32: {gflops:.4g}              # a product of two matrices of {columns} x {columns}
  f16: {gflops:.4g}
efficiency:                 # shares of what was measured, not of a data sheet
  matmul: {{compute: 1, memory: 1, half_rate_mflop: 0}}
  convolution: {{compute: 0.6, memory: 1, half_rate_mflop: 0}}
  depthwise: {{compute: 0.1, memory: 0.7, half_rate_mflop: 0}}
  elementwise: {{compute: 0.3, memory: 1, half_rate_mflop: 0}}
  reduction: {{compute: 0.2, memory: 0.8, half_rate_mflop: 0}}
  gather: {{compute: 0.1, memory: 0.4, half_rate_mflop: 0}}
"""
_ROWS, _COLUMNS = 32768, 2048  # 256 MiB: more than any cache holds.


def probe_kind(name: str) -> str:
    """Measures this computer's processor, and returns the text of a device kind's file.

    It has the threads that this process may use: `taskset -c 0` before the command leaves one. Memory is read by products of a large
    matrix with a vector, as in a step of a language model. Takes some seconds. Raises BadInput for a name that is no word.
    """
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise BadInput(f"the kind's name is '{name}', expected lower-case letters, digits and underscores")
    large, vector = np.ones((_ROWS, _COLUMNS), dtype=np.float32), np.ones(_COLUMNS, dtype=np.float32)
    square, small = large[:_COLUMNS], np.ones((8, 8), dtype=np.float32)
    read_us, product_us, launch_us = (_median_us(product) for product in (
        lambda: large @ vector, lambda: square @ square, lambda: small @ small))
    threads = len(os.sched_getaffinity(0))
    return _KIND.format(name=name, threads=threads, s="" if threads == 1 else "s", memory_bytes=_memory_bytes(), rows=_ROWS, columns=_COLUMNS,
                        gb_per_s=large.nbytes / read_us / 1e3, launch_us=launch_us, gflops=2 * _COLUMNS**3 / product_us / 1e3)


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _parser() -> Parser:
    parser = Parser(prog="emplace probe", description="Write the devices file of this machine, or with --kind a device kind's for its "
                    "processor.")
    parser.add_argument("--out", required=True, help="file to write to, *.yaml")
    parser.add_argument("--kind", metavar="NAME", help="measure the processor, with the threads that this process may use, and write it as "
                        "a device kind of this name, for `emplace import --kinds`")
    parser.add_argument("--cpus", type=int, help="number of devices that the processor is divided into (default: 1)")
    parser.add_argument("--no-gpus", action="store_true", help="leave the GPUs out")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def run(arguments: list[str]) -> None:
    """The command's work. Raises BadInput."""
    options = _parser().parse_args(arguments)
    check_output_files([("--out", options.out)], [])
    if options.kind is not None:
        if options.cpus is not None or options.no_gpus:
            raise BadInput(f"{'--no-gpus' if options.cpus is None else '--cpus'} is given beside --kind, expected one of them: a kind is "
                           "that of the whole processor")
        write_file(options.out, probe_kind(options.kind).encode())
        print(json.dumps({"kind": options.kind, "out": options.out}) if options.json else f"{options.kind} written to {options.out}")
        return
    machine = probe(gpus=not options.no_gpus, cpus=1 if options.cpus is None else options.cpus)
    machine.save(options.out)
    rows = [{"name": device.name, "kind": device.kind, "memory_bytes": device.memory_bytes} for device in machine.devices]
    if options.json:
        print(json.dumps({"devices": rows, "bandwidth_bytes_per_us": machine.bandwidth_bytes_per_us,
                          "transfer_latency_us": machine.transfer_latency_us,
                          "transfer_overhead_us": machine.transfer_overhead_us, "out": options.out}))
        return
    for row in rows:
        print(f"{row['name']:8} {row['kind']:8} {row['memory_bytes'] / 1e9:.1f} GB")
    print(f"link: {machine.bandwidth_bytes_per_us / 1e3:.1f} GB/s, {machine.transfer_latency_us:.1f} us of latency")
    print(f"written to {options.out}")
