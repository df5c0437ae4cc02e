"""Device kinds whose costs by the roofline model are as near as possible to measured ones."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emplace._core import BadInput, OpClass
from emplace.measured.data_sheets import DataSheet
from emplace.measured.ops import MeasuredOp

# Shares of the peak rates by class of ops (compute, memory), for classes that nobody measured: as in configs/devices/a100.yaml.
_UNMEASURED = {OpClass.MATMUL: (0.85, 0.85), OpClass.CONVOLUTION: (0.6, 0.85), OpClass.DEPTHWISE: (0.08, 0.55),
               OpClass.ELEMENTWISE: (0.4, 0.88), OpClass.REDUCTION: (0.2, 0.7), OpClass.GATHER: (0.2, 0.45)}
_RAMPED = (OpClass.MATMUL, OpClass.CONVOLUTION)  # Classes whose rate depends on the size of the op.
_LAUNCH_US = 2.0
_EXPOSED = 0.3
_FEWEST = 8  # Ops of a class that a fit needs.
_FIRST_STEP, _LAST_STEP = 0.3, 0.002  # Of the search, in natural logarithms.


@dataclass(frozen=True)
class FittedKind:
    """A device kind with what was fitted of it."""
    name: str
    sheet: DataSheet
    launch_us: float
    shares: dict[OpClass, tuple[float, float]]  # Of the peak rate and of the memory's bandwidth.
    exposed: float  # Of products: the share of the shorter of computing and moving that the longer one does not hide.
    fitted: dict[OpClass, int]  # Numbers of ops that the shares of a class were fitted to; other classes have usual shares.

    def text(self, source: str) -> str:
        """The kind's file, in the format of configs/devices. source: who measured, such as "Vidur's times"."""
        sheet = self.sheet
        lines = [f"# {sheet.title}. Fitted to {source} by `emplace costs --from`.", f"kind: {self.name}",
                 f"memory_bytes: {sheet.memory_bytes:.4g}", f"memory_gb_per_s: {sheet.memory_gb_per_s:g}",
                 f"launch_us: {self.launch_us:.3g}  # fitted: what an op takes beside its work",
                 f"peak_gflops: {{f32: {sheet.f32_gflops:g}, f16: {sheet.f16_gflops:g}}}", "efficiency:"]
        for op_class, (compute, memory) in self.shares.items():
            what = "not measured"
            if op_class in self.fitted:
                what = f"{'shares' if op_class == OpClass.MATMUL else 'memory'} fitted to {self.fitted[op_class]} ops"
            half = sheet.half_rate_mflop if op_class in _RAMPED else 0
            exposed = f", exposed: {self.exposed:.3g}" if op_class == OpClass.MATMUL and self.exposed > 0 else ""
            lines.append(f"  {op_class.name.lower()}: {{compute: {compute:.3g}, memory: {memory:.3g}, half_rate_mflop: {half:g}{exposed}}}"
                         f"  # {what}")
        return "\n".join(lines) + "\n"


def fit(name: str, sheet: DataSheet, ops: Sequence[MeasuredOp]) -> FittedKind:
    """Fits the launch and the shares of the classes that were measured.

    It minimizes the mean of |log(predicted / measured)|, which single bad measurements do not sway. Each class counts alike, and in it
    each octave of tokens. Of products all shares are fitted, of other classes that of the memory. The size at which products reach half
    of their rate stays: one that is fitted to 16-bit numbers is far too long a time for 32-bit ones, whose peak rate is lower. Only ops
    that a graph can have are fitted to. Raises BadInput where there are none.
    """
    measured = {op_class: [op for op in ops if op.op_class == op_class and op.costs] for op_class in _UNMEASURED}
    parts = [_Part(op_class, sheet, of_class) for op_class, of_class in measured.items() if len(of_class) >= _FEWEST]
    if not parts:
        raise BadInput(f"{name}: {len(ops)} ops were measured, expected at least {_FEWEST} of a class to fit to")

    def unpacked(logs: np.ndarray) -> FittedKind:
        launch_us, exposed, *values = (float(value) for value in np.exp(logs))
        shares, of_parts = dict(_UNMEASURED), iter(values)
        for part in parts:
            compute = next(of_parts) if part.op_class == OpClass.MATMUL else shares[part.op_class][0]
            shares[part.op_class] = (min(compute, 1.0), min(next(of_parts), 1.0))
        fitted = {part.op_class: part.count for part in parts}
        return FittedKind(name, sheet, launch_us, shares, min(exposed, 1.0) if OpClass.MATMUL in fitted else 0.0, fitted)

    def loss(logs: np.ndarray) -> float:
        kind = unpacked(logs)
        return sum(part.loss(kind) for part in parts)

    start = [_LAUNCH_US, _EXPOSED, *(share for part in parts for share in _UNMEASURED[part.op_class][part.op_class != OpClass.MATMUL:])]
    return _rounded(unpacked(_search(loss, np.log(start))))


class _Part:
    """The ops of a class, as arrays."""

    def __init__(self, op_class: OpClass, sheet: DataSheet, ops: Sequence[MeasuredOp]):
        self.op_class, self.count = op_class, len(ops)
        ramp = sheet.half_rate_mflop * 1e6 if op_class in _RAMPED else 0.0
        flops = np.array([op.flops for op in ops])
        self._peak_compute_us = np.where(flops > 0, flops + ramp, 0) / (sheet.f16_gflops * 1e3)
        self._peak_memory_us = np.array([op.moved_bytes for op in ops]) / (sheet.memory_gb_per_s * 1e3)
        self._log_us = np.log([op.us for op in ops])
        octaves = np.log2([op.tokens for op in ops]).astype(int)
        self._weights = 1 / np.bincount(octaves)[octaves]
        self._weights /= self._weights.sum()

    def loss(self, kind: FittedKind) -> float:
        compute, memory = kind.shares[self.op_class]
        compute_us, memory_us = self._peak_compute_us / compute, self._peak_memory_us / memory
        us = np.maximum(compute_us, memory_us) + kind.launch_us
        if self.op_class == OpClass.MATMUL:
            us += kind.exposed * np.minimum(compute_us, memory_us)
        return float(self._weights @ np.abs(np.log(us) - self._log_us))


def _search(loss: Callable[[np.ndarray], float], start: np.ndarray) -> np.ndarray:
    """A minimum near `start`: steps along each axis, which are halved where none helps."""
    point, best, step = start, loss(start), _FIRST_STEP
    axes = [*np.eye(len(start)), *-np.eye(len(start))]
    while step > _LAST_STEP:
        moves = [(loss(point + step * axis), index) for index, axis in enumerate(axes)]
        least, index = min(moves)
        if least < best:
            point, best = point + step * axes[index], least
        else:
            step /= 2
    return point


def _rounded(kind: FittedKind) -> FittedKind:
    """With the digits that its file has."""
    def digits(value: float) -> float:
        return float(f"{value:.3g}")

    return replace(kind, launch_us=digits(kind.launch_us), exposed=digits(kind.exposed),
                   shares={op_class: (digits(compute), digits(memory)) for op_class, (compute, memory) in kind.shares.items()})
