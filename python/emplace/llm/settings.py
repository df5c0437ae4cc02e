"""How a language model is run."""
from collections.abc import Callable
from dataclasses import dataclass

from emplace._core import BadInput
from emplace.checks import check_whole
from emplace.llm.checkpoint import type_sizes

PRODUCTS = ("ffn_up", "ffn_down", "ffn_experts", "ffn_shared")  # Those of the feed-forward network, which may lie apart.


@dataclass(frozen=True)
class Settings:
    """How the model is run. Raises BadInput for what cannot be."""
    context: int  # Tokens for which each stream's cache has room.
    streams: int = 1  # Requests that are served at once.
    kv_type: str = "F16"  # Type of the numbers in the cache.
    activation_bytes: int = 4  # Bytes of each number that goes from layer to layer.
    chunk: int = 512  # Tokens of prompts that are processed at once; the weights are read for each.
    each_expert: bool = False  # An op for each expert, not one for all of a layer.
    stream_weights: bool = False  # The large weights are ops of their own, which may lie on another device than what computes.
    together: str = "attention"  # What stays on one device: see GROUPS.
    steps_in_flight: int = 1  # Steps of other streams that are under way at once, as in a pipeline; each has caches of its own.
    chunks_in_flight: int = 4  # Chunks of a prompt for which each device keeps room while they arrive.

    def __post_init__(self) -> None:
        for name in ("context", "streams", "chunk", "steps_in_flight", "chunks_in_flight"):
            check_whole(name, getattr(self, name), 1)
        type_sizes(self.kv_type)
        if self.each_expert and self.stream_weights:
            raise BadInput("each_expert and stream_weights are both given, expected one of them: weights that are sent are those of all experts "
                           "of a layer")
        if self.together not in GROUPS:
            raise BadInput(f"together is '{self.together}', expected one of {', '.join(GROUPS)}")


# What goes to one device as a whole: each layer; of each layer all but the products of its feed-forward network; or no two ops.
GROUPS: dict[str, Callable[[str, str], str]] = {
    "layers": lambda block, op: block,
    "attention": lambda block, op: f"{block}.{op}" if op.partition(".")[0] in PRODUCTS else block,
    "nothing": lambda block, op: f"{block}.{op}",
}
