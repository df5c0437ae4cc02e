"""What a language model's files say of it: its sizes and its tensors, as a GGUF file lists them.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md has the format, the keys and the tensors' names.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emplace._core import BadInput

# By type: how many numbers a block has, and how many bytes it takes (ggml-common.h of llama.cpp).
TYPE_SIZES = {
    "F64": (1, 8), "F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "I64": (1, 8), "I32": (1, 4), "I16": (1, 2), "I8": (1, 1),
    "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34), "Q8_1": (32, 40),
    "Q2_K": (256, 84), "Q3_K": (256, 110), "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210), "Q8_K": (256, 292),
    "IQ1_S": (256, 50), "IQ1_M": (256, 56), "IQ2_XXS": (256, 66), "IQ2_XS": (256, 74), "IQ2_S": (256, 82), "IQ3_XXS": (256, 98),
    "IQ3_S": (256, 110), "IQ4_NL": (32, 18), "IQ4_XS": (256, 136), "TQ1_0": (256, 54), "TQ2_0": (256, 66), "MXFP4": (32, 17),
    "NVFP4": (64, 36), "Q1_0": (128, 18),
}
MOST_LAYERS = 10_000  # A file that says more is wrong.


def type_sizes(name: str) -> tuple[int, int]:
    """Numbers and bytes of a block of this type. Raises BadInput for a type that there is not."""
    if name not in TYPE_SIZES:
        raise BadInput(f"the type of numbers is '{name}', expected one of {', '.join(sorted(TYPE_SIZES))}")
    return TYPE_SIZES[name]


@dataclass(frozen=True)
class Tensor:
    """A tensor of weights."""
    name: str  # As in GGUF: "blk.3.attn_q.weight".
    shape: tuple[int, ...]  # Outermost first: (outputs, inputs), of experts (experts, outputs, inputs).
    type: str  # A key of TYPE_SIZES.

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes that it takes in memory, where each row consists of whole blocks."""
        block, size = TYPE_SIZES[self.type]
        return self.numbers // max(self.shape[-1], 1) * math.ceil(self.shape[-1] / block) * size if self.shape else size


@dataclass(frozen=True)
class Checkpoint:
    """A model's sizes and tensors."""
    name: str
    architecture: str  # GGUF's name of it, such as "llama", "qwen3moe" or "deepseek2".
    metadata: Mapping[str, int | float | str | bool | Sequence]  # GGUF's keys without the architecture, such as "block_count".
    tensors: Sequence[Tensor]
    source: str = ""  # The file that it is of, for errors.
    nested: bool = False  # Whether it is a part of another model, as of one that also sees images.
    by_name: dict[str, Tensor] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {tensor.name: tensor for tensor in self.tensors})

    def number(self, key: str, default: int | None = None, layer: int | None = None) -> int:
        """A size of the metadata, or of one layer where there is a list. Raises BadInput where it is not there or is none."""
        value = self.metadata.get(key, default)
        if layer is not None and isinstance(value, Sequence) and not isinstance(value, str):
            value = value[layer] if layer < len(value) else None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**40:
            shown = "missing" if value is None else f"{value!r}"
            raise BadInput(f"{self.source}: {self.architecture}.{key} is {shown}, expected a whole number")
        return value
