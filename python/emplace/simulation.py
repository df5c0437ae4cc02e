"""Simulating placements."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emplace import _core
from emplace.checks import check_whole
from emplace.placements import Order, order_to_indices, to_array


@dataclass(frozen=True)
class Transfer:
    """A tensor on its way from one device to another, or to all that read it."""
    op: int  # Index of the op that makes the tensor.
    source: int  # Index of a device.
    target: int  # Index of a device; -1: one transfer serves all devices that read the tensor.
    start_us: float
    sent_us: float  # When the sender's link has sent the last byte; on a machine with a topology, delivered_us.
    delivered_us: float
    bytes: int


@dataclass(frozen=True)
class Timeline:
    """When one simulated step does what; n ops, D devices."""
    makespan_us: float
    start_us: np.ndarray  # float64 [n]
    finish_us: np.ndarray  # float64 [n]
    peak_bytes: np.ndarray  # int64 [D]
    transfers: list[Transfer]  # In the order in which they start.


@dataclass(frozen=True)
class Simulation:
    """The result of `simulate` for k placements, without the dimension k if one placement was given."""
    makespan_us: np.ndarray | float  # float64 [k]: time of one step
    peak_bytes: np.ndarray  # int64 [k, D]: peak memory of each device
    feasible: np.ndarray | bool  # bool [k]: whether each device's peak fits its memory


def simulate(graph: _core.Graph, machine: _core.Machine, placements, *, order: Order | None = None,
             threads: int | None = None) -> Simulation:
    """Simulates one step of each placement.

    placements: device index of each op, whole numbers of shape [num_ops] or [k, num_ops]. order: for devices by name, the ops in
    the order in which the device runs them; one without runs ops as they get ready. threads: None is one for each core; placements
    are shared out among them. Ctrl-C ends the call. Raises BadInput, which names the op, for a placement that is not legal.
    """
    check_whole("threads", threads, 1, optional=True)
    array = to_array(placements, (1, 2))
    makespan_us, peak_bytes = _core.simulate(graph, machine, np.atleast_2d(array), order_to_indices(order, graph, machine),
                                             threads or 0)
    feasible = (peak_bytes <= np.array([device.memory_bytes for device in machine.devices])).all(axis=1)
    if array.ndim == 1:
        return Simulation(float(makespan_us[0]), peak_bytes[0], bool(feasible[0]))
    return Simulation(makespan_us, peak_bytes, feasible)


def missing_bytes(machine: _core.Machine, peak_bytes: Sequence[int]) -> str:
    """Which devices lack memory for these peaks [D], and how much: "12 bytes on gpu:0, 34 bytes on gpu:1"."""
    return ", ".join(f"{peak - device.memory_bytes} bytes on {device.name}"
                     for device, peak in zip(machine.devices, peak_bytes, strict=True) if peak > device.memory_bytes)


def scores(graph: _core.Graph, machine: _core.Machine, placements: np.ndarray, objective: str) -> list[tuple[float, float]]:
    """For each of the placements [k, num_ops] the bytes that are missing on all devices, and the time that the objective is about."""
    found = simulate(graph, machine, placements)
    missing = np.maximum(found.peak_bytes - np.array([device.memory_bytes for device in machine.devices]), 0).sum(axis=1)
    times = found.makespan_us if objective == "latency" else _core.max_loads_us(graph, machine, placements)
    return list(zip(missing.tolist(), times.tolist(), strict=True))


def run(graph: _core.Graph, machine: _core.Machine, placement, order: Order | None = None) -> Timeline:
    """Simulates one placement [num_ops], with the time of every op and transfer."""
    result = _core.run(graph, machine, to_array(placement, (1,)), order_to_indices(order, graph, machine))
    transfers = [Transfer(*transfer) for transfer in result.pop("transfers")]
    return Timeline(**result, transfers=transfers)
