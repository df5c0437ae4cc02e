"""Writes single ops of a language model's step, with their times, their bytes, and what they keep in memory."""
import math
from collections.abc import Sequence

from emplace._core import OpClass
from emplace.llm.checkpoint import Checkpoint, Tensor
from emplace.llm.settings import GROUPS, PRODUCTS, Settings
from emplace.roofline import Roofline

_MASK_BYTES = 2  # Of each pair of tokens, which says whether one attends to the other.


def arriving_bytes(settings: Settings, width: int, kept: int) -> int:
    """Bytes for what a device is sent with each chunk in flight: hidden numbers, and a mask of as many tokens as a cache keeps."""
    return settings.chunks_in_flight * settings.chunk * (settings.activation_bytes * width + kept * _MASK_BYTES)


class OpWriter:
    """Appends to `ops` the ops of one pass of tokens through a model."""

    def __init__(self, checkpoint: Checkpoint, settings: Settings, roofline: Roofline, ops: list[dict], *, prefix: str, tokens: int,
                 holds: bool):
        """prefix: of the ops' names. tokens: of each stream. holds: the ops hold weights and caches, which other passes share."""
        self.settings, self.tokens, self.holds = settings, tokens * settings.streams, holds
        self.chunks = math.ceil(self.tokens / settings.chunk)
        self.width = checkpoint.number("embedding_length")
        self._lanes = checkpoint.number("hyper_connection.count", 1)  # Hidden states that go from layer to layer side by side.
        self._roofline, self._ops, self._prefix = roofline, ops, prefix
        self._first_of: dict[str, str] = {}  # By block: its first op that is not of weights alone.

    def hidden_bytes(self, tokens: int | None = None) -> int:
        return (self.tokens if tokens is None else tokens) * self.width * self.settings.activation_bytes

    def add(self, block: str, op: str, op_class: OpClass, inputs: list[str], *, flops: float, moved: float, out_bytes: int,
            tensors: Sequence[Tensor] = (), held: int | None = None, chunks: int | None = None, temp: int = 0,
            attrs: dict | None = None, part: float = 1.0) -> str:
        """An op of the pass. moved: bytes that each chunk reads and writes. held: bytes that stay; None: those of the tensors.

        part: of the time and the FLOPs of work that several ops share.
        """
        chunks = self.chunks if chunks is None else chunks
        name = f"{self._prefix}{block}.{op}" if op else f"{self._prefix}{block}"
        cost_us = self._roofline.cost_us(op_class, True, flops / chunks, round(moved))
        held = sum(tensor.bytes for tensor in tensors) if held is None else held
        entry = {"name": name, "type": f"llm.{op.partition('.')[0] or block}",
                 "cost_us": {kind: round(us * chunks * part, 3) for kind, us in cost_us.items()},
                 "inputs": [f"{source}:0" for source in inputs], "outputs": [{"bytes": out_bytes}], "flops": flops * part,
                 "attrs": {"module": f"{block}.{op.partition('.')[0]}" if op else block} | (attrs or {})}
        if self.holds and held:
            entry["param_bytes"] = held
        if temp:
            entry["temp_bytes"] = temp
        if tensors:
            entry["attrs"]["tensors"] = [tensor.name for tensor in tensors]
        if block.startswith("blk."):
            entry["group"] = GROUPS[self.settings.together](block, op)
        else:
            entry["group"] = block
        self._ops.append(entry)
        self._first_of.setdefault(block, name)
        return name

    def room(self, numbers: int) -> int:
        """Bytes for so many numbers of each token of a chunk: programs keep them free for prompts also while they make tokens.

        How many there are beside what an op itself makes was read from the compute buffers that llama.cpp reports
        (tools/reproduce/llama_cpp.py).
        """
        return self.settings.chunk * self.settings.activation_bytes * numbers

    def arriving(self, kept: int) -> int:
        return arriving_bytes(self.settings, self._lanes * self.width, kept)

    def product(self, block: str, op: str, tensors: Sequence[Tensor], source: str, tokens: int | None = None, out: int | None = None) -> str:
        """Products of tokens with matrices. out: numbers of each token that are sent on; None: all rows of queries, keys and values,
        those of the output head, or else as many as are hidden."""
        tokens = self.tokens if tokens is None else tokens
        weights = sum(tensor.bytes for tensor in tensors)
        chunks = min(self.chunks, tokens)
        rows = sum(tensor.shape[0] for tensor in tensors if len(tensor.shape) > 1)
        if out is None:
            out = rows if op in ("attn_qkv", "") else self.width
        sent = tokens * out * self.settings.activation_bytes
        inputs = [source]
        if self.settings.stream_weights and op in PRODUCTS:
            inputs.append(self.weights(block, op, tensors))
        beside = {"ffn_up": 4, "ffn_shared": 4, "": 5}.get(op)  # Rows of hidden numbers.
        temp = 0 if beside is None else self.room(beside * self.width + rows) + self.arriving(self.settings.context)
        return self.add(block, op, OpClass.MATMUL, inputs, flops=2.0 * tokens * sum(tensor.numbers for tensor in tensors),
                        moved=weights + (self.hidden_bytes(tokens) + sent) / chunks, out_bytes=sent, tensors=tensors,
                        held=0 if len(inputs) > 1 else None, chunks=chunks, temp=temp)

    def weights(self, block: str, op: str, tensors: Sequence[Tensor]) -> str:
        """An op that holds weights and may lie on another device than what computes with them: they are sent for each pass.

        It waits for the layer before last, so that no more than two layers' weights are on their way; in a later pass those of the
        first layer wait for it to begin.
        """
        size, name = sum(tensor.bytes for tensor in tensors), f"{self._prefix}{block}.{op}.weights"
        index = int(block.partition(".")[2])
        before = f"blk.{index - 1}" if index else "token_embd"
        entry = {"name": name, "type": "llm.weights", "cost_us": 0, "group": f"{block}.{op}.weights",
                 "inputs": [f"^{self._first_of[before]}"] if index or not self.holds else [], "outputs": [{"bytes": size}],
                 "attrs": {"module": f"{block}.{op}", "tensors": [tensor.name for tensor in tensors]}}
        if self.holds:
            entry["param_bytes"] = size
            entry["outputs"][0]["resident"] = True
        self._ops.append(entry)
        return name

    def nothing(self, block: str, source: str) -> str:
        """An op that takes no time, of a layer that was pruned as a whole: programs count it among their layers."""
        name = f"{self._prefix}{block}.skip"
        self._first_of[block] = name
        self._ops.append({"name": name, "type": "llm.skip", "cost_us": 0, "group": block, "inputs": [f"{source}:0"],
                          "outputs": [{"bytes": self._lanes * self.hidden_bytes()}], "attrs": {"module": f"{block}.skip"}})
        return name

    def small(self, block: str, op: str, inputs: list[str], op_class: OpClass, tensors: Sequence[Tensor] = ()) -> str:
        """A norm, which mixes all lanes into one, or a sum, which adds to each lane: it streams the hidden numbers."""
        written = self._lanes if op_class == OpClass.ELEMENTWISE else 1
        moved = (self._lanes + len(inputs) - 1 + written) * self.hidden_bytes() / self.chunks
        return self.add(block, op, op_class, inputs, flops=float(self.tokens * self.width), moved=moved,
                        out_bytes=written * self.hidden_bytes(), tensors=tensors)
