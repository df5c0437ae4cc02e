"""The roofline cost model of emplace's generators, for graphs that are read from elsewhere."""
import os

from emplace import _core
from emplace._core import DeviceKind, OpClass
from emplace.shipped import device_kinds_folder


class Roofline:
    """Microseconds of ops on each of some device kinds."""

    def __init__(self, kinds: str | os.PathLike | None = None):
        """kinds: folder of device kinds; None: those that come with the package. Raises BadInput."""
        self.kinds: list[DeviceKind] = _core.load_device_kinds(kinds or device_kinds_folder())

    def cost_us(self, op_class: OpClass, half: bool, flops: float, moved_bytes: int) -> dict[str, float]:
        """Microseconds by kind. half: the op computes with 16-bit numbers. moved_bytes: read and written."""
        return {kind.name: kind.cost_us(op_class, half, float(flops), moved_bytes) for kind in self.kinds}
