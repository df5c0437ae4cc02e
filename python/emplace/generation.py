"""Graphs of the families that emplace knows."""
import os
from collections.abc import Mapping, Sequence

from emplace import _core
from emplace.checks import check_seed, check_whole
from emplace.shipped import device_kinds_folder


def generate(family: str, count: int = 1, *, seed: int = 1, size: str = "full", dtype: str = "f32", microbatches: int = 1,
             ranges: Mapping[str, tuple[int, int]] | None = None,
             kinds: str | os.PathLike | None = None) -> list[_core.Graph]:
    """Generates training steps of a family of networks, as `emplace generate` does.

    family: one of `emplace.families()`. size: "full", or "small" for quick tests. dtype: "f32" or "f16", of parameters and
    activations. microbatches: parts in which a step processes its batch. ranges: sizes that each graph draws from such a range,
    ends included, as {"steps": (10, 20)}. kinds: folder of the device kinds on which each op gets a cost.
    """
    check_whole("count", count, 0)
    check_whole("microbatches", microbatches, 1)
    check_seed("seed", seed)
    texts = []
    for name, ends in (ranges or {}).items():
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise _core.BadInput(f"ranges: '{name}' is {ends!r}, expected its two ends, such as (10, 20)")
        texts.append(f"{name}={ends[0]}..{ends[1]}")
    return _core.generate(family, count, seed, size, dtype, microbatches, texts, kinds or device_kinds_folder())
