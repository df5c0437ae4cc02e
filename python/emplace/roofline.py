"""The roofline cost model of emplace's generators, for graphs that are read from elsewhere."""
import difflib
import os
import pathlib

from emplace import _core
from emplace._core import BadInput, DeviceKind, OpClass
from emplace.shipped import device_kinds_folder, device_kinds_folders

_MOST_BYTES = 2**63


class Roofline:
    """Microseconds of ops on each of some device kinds."""

    def __init__(self, kinds: str | os.PathLike | None = None):
        """kinds: a folder of device kinds, one of their files, or the name of a kind, or several with commas between them; None: all
        kinds that come with the package.

        Raises BadInput for a folder without kinds, and for a name that no kind has.
        """
        parts = device_kinds_folders() if kinds is None else os.fspath(kinds).split(",")
        found = [kind for part in parts for kind in _kinds_of(part)]
        self.kinds: list[DeviceKind] = list({kind.name: kind for kind in found}.values())

    def cost_us(self, op_class: OpClass, half: bool, flops: float, moved_bytes: int) -> dict[str, float]:
        """Microseconds by kind. half: the op computes with 16-bit numbers. moved_bytes: read and written.

        Raises BadInput for more bytes than a graph can hold.
        """
        if moved_bytes >= _MOST_BYTES:
            raise BadInput(f"an op of the model reads and writes {float(moved_bytes):.3g} bytes, expected less than 2^63; its sizes are "
                           "too large")
        return {kind.name: kind.cost_us(op_class, half, float(flops), moved_bytes) for kind in self.kinds}


def kinds_of(maker: str) -> set[str]:
    """Names of the kinds in configs/devices/consumer/MAKER.yaml."""
    path = device_kinds_folder() / "consumer" / f"{maker}.yaml"
    return {kind.name for kind in _core.load_device_kinds_of_file(path)} if path.is_file() else set()


def host_kinds() -> set[str]:
    """Names of the kinds that are processors, and of disks, whose weights a processor computes with; all others are GPUs."""
    return {"cpu"} | kinds_of("cpu") | kinds_of("disk")


def kind_files(kinds: str | os.PathLike) -> list[pathlib.Path]:
    """The files that are read of kinds that are given so, but those that come with the package."""
    parts = [pathlib.Path(part) for part in os.fspath(kinds).split(",") if part]
    return [path for part in parts for path in (sorted(part.glob("*.yaml")) if part.is_dir() else [part])]


def _kinds_of(part: str | os.PathLike) -> list[DeviceKind]:
    """The kinds of a folder or a file, or the one of this name."""
    if os.path.isdir(part):
        return _core.load_device_kinds(part)
    if os.path.isfile(part):
        return _core.load_device_kinds_of_file(part)
    known = {kind.name: kind for folder in device_kinds_folders() for kind in _core.load_device_kinds(folder)}
    if part not in known:
        near = ", ".join(difflib.get_close_matches(str(part), known)) or f"rtx4090 or one of {len(known) - 1} more in configs/devices"
        raise BadInput(f"kinds: '{part}' is no folder, no file and no device kind, expected such as {near}")
    return [known[part]]
