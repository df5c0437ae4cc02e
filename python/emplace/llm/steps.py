"""The ops of a language model's step: what each computes, what it reads, and what it keeps in memory."""
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emplace._core import BadInput, OpClass
from emplace.llm.checkpoint import Checkpoint, Tensor, type_sizes
from emplace.llm.routing import reached
from emplace.roofline import Roofline

# How often a layer attends to all tokens and not to a window, where the file does not say it (llama-model.cpp of llama.cpp).
_FULL_ATTENTION_EACH = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4}
_LAYER_TENSOR = re.compile(r"blk\.(\d+)\.(\w+)\.(?:weight|bias)")
# Tensors of a layer by the op that reads them.
_READ_BY = {
    "attn_norm": {"attn_norm", "attn_norm_2"},
    "attn_qkv": {"attn_q", "attn_k", "attn_v", "attn_qkv", "attn_q_norm", "attn_k_norm", "attn_q_a", "attn_q_a_norm", "attn_q_b",
                 "attn_kv_a_mqa", "attn_kv_a_norm", "attn_k_b", "attn_v_b", "attn_kv_b"},
    "attn": {"attn_sinks", "attn_rot_embd", "rope_freqs", "attn_factors_short", "attn_factors_long", "rope_factors_long",
             "rope_factors_short"},
    "attn_output": {"attn_output", "attn_output_norm", "attn_out", "post_attention_norm"},
    "ffn_norm": {"ffn_norm"},
    "ffn_up": {"ffn_gate", "ffn_up"},
    "ffn_down": {"ffn_down", "post_ffw_norm", "ffn_post_norm"},
    "ffn_router": {"ffn_gate_inp", "exp_probs_b", "ffn_gate_inp_shexp"},
    "ffn_experts": {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_up_exps"},
    "ffn_shared": {"ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"},
}
_OP_OF_TENSOR = {tensor: op for op, tensors in _READ_BY.items() for tensor in tensors}
_MOST_LAYERS, _MOST_EXPERTS = 10_000, 65_536
_MATRICES = ("attn_qkv", "attn_output", "ffn_up", "ffn_down", "ffn_shared", "ffn_experts")
_MASK_BYTES = 2  # Of each pair of tokens, which says whether one attends to the other.
_CHUNKS_ON_THEIR_WAY = 4  # GGML_SCHED_MAX_COPIES of llama.cpp.
PRODUCTS = ("ffn_up", "ffn_down", "ffn_experts", "ffn_shared")  # Those of the feed-forward network, which may lie apart.


def check_count(name: str, value) -> None:
    """Raises BadInput for what is no whole number from 1 to 2**31 - 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise BadInput(f"{name} is {value}, expected a whole number of at least 1 and below 2^31")


@dataclass(frozen=True)
class Settings:
    """How the model is run. Raises BadInput from `check` for what cannot be."""
    context: int  # Tokens for which each stream's cache has room.
    streams: int = 1  # Requests that are served at once.
    kv_type: str = "F16"  # Type of the numbers in the cache.
    activation_bytes: int = 4  # Bytes of each number that goes from layer to layer.
    chunk: int = 512  # Tokens of prompts that are processed at once; the weights are read for each.
    each_expert: bool = False  # An op for each expert, not one for all of a layer.
    stream_weights: bool = False  # The large weights are ops of their own, which may lie on another device than what computes.
    together: str = "attention"  # What stays on one device: see GROUPS.

    def check(self) -> None:
        for name in ("context", "streams", "chunk"):
            check_count(name, getattr(self, name))
        type_sizes(self.kv_type)
        if self.together not in GROUPS:
            raise BadInput(f"together is '{self.together}', expected one of {', '.join(GROUPS)}")


# What goes to one device as a whole: each layer; of each layer all but the products of its feed-forward network; or no two ops.
GROUPS: dict[str, Callable[[str, str], str]] = {
    "layers": lambda block, op: block,
    "attention": lambda block, op: f"{block}.{op}" if op.partition(".")[0] in PRODUCTS else block,
    "nothing": lambda block, op: f"{block}.{op}",
}


class Layer:
    """A layer's tensors by the op that reads them, and its attention."""

    def __init__(self, checkpoint: Checkpoint, index: int, tensors: Sequence[Tensor]):
        self.index, self.name = index, f"blk.{index}"
        self.tensors: dict[str, list[Tensor]] = {}  # By op.
        for tensor in tensors:
            name = _LAYER_TENSOR.fullmatch(tensor.name)
            op = _OP_OF_TENSOR.get(name[2]) if name else None
            if op is None:
                raise BadInput(f"{checkpoint.name}: architecture '{checkpoint.architecture}' has a tensor '{tensor.name}', and what is "
                               "computed with it is not known here, expected attention and a feed-forward network or experts")
            rank = 3 if name[2].endswith("_exps") else 2 if op in _MATRICES and "norm" not in name[2] else 1
            if tensor.name.endswith(".weight") and len(tensor.shape) < rank:
                raise BadInput(f"{checkpoint.name}: {tensor.name} has the shape {list(tensor.shape)}, expected {rank} dimensions")
            self.tensors.setdefault(op, []).append(tensor)
        needed = {"attn_qkv", "attn_output", *({"ffn_experts"} if "ffn_experts" in self.tensors else {"ffn_up", "ffn_down"})}
        missing = sorted(needed - set(self.tensors))
        if missing:
            raise BadInput(f"{checkpoint.name}: {self.name} has no tensors of {missing[0]}, expected attention and a feed-forward network")
        self._read_attention(checkpoint)

    def _read_attention(self, checkpoint: Checkpoint) -> None:
        number = checkpoint.number
        width, heads = number("embedding_length"), number("attention.head_count", layer=self.index)
        kv_heads = number("attention.head_count_kv", heads, layer=self.index)
        key = number("attention.key_length", width // max(heads, 1))
        lora = number("attention.kv_lora_rank", 0)
        if lora:  # Latent attention: one short row a token, from which all heads' keys and values come.
            rotated = number("rope.dimension_count", 64)
            self.cache_numbers, self.score_numbers = lora + rotated, heads * (2 * lora + rotated)
        else:
            value = number("attention.value_length", key)
            self.cache_numbers, self.score_numbers = kv_heads * (key + value), heads * (key + value)
        self.window = 0
        every = checkpoint.metadata.get("attention.sliding_window_pattern", _FULL_ATTENTION_EACH.get(checkpoint.architecture))
        if isinstance(every, list):
            windowed = bool(every[self.index]) if self.index < len(every) else False
        else:
            windowed = isinstance(every, int) and every > 1 and (self.index + 1) % every != 0
        if windowed:
            self.window = number("attention.sliding_window", 0)

    def kept_tokens(self, settings: Settings) -> int:
        """Tokens of a stream for which this layer's cache has room: with a window, those and a chunk of new ones."""
        return min(settings.context, self.window + settings.chunk) if self.window else settings.context

    def cache_bytes(self, settings: Settings, tokens: int) -> int:
        """Bytes of the cache of that many tokens of each stream."""
        block, size = type_sizes(settings.kv_type)
        return settings.streams * tokens * math.ceil(self.cache_numbers / block) * size


def arriving_bytes(settings: Settings, width: int, kept: int) -> int:
    """Bytes for what a device is sent with each chunk on its way: hidden numbers, and a mask of as many tokens as a cache keeps."""
    return _CHUNKS_ON_THEIR_WAY * settings.chunk * (settings.activation_bytes * width + kept * _MASK_BYTES)


def layers_of(checkpoint: Checkpoint) -> list[Layer]:
    """The model's layers. Raises BadInput where a layer is missing, or is none of attention and a feed-forward network."""
    count = checkpoint.number("block_count") - extra_layers(checkpoint)
    if not 1 <= count <= _MOST_LAYERS:
        raise BadInput(f"{checkpoint.name}: {checkpoint.architecture}.block_count is {count}, expected 1 to {_MOST_LAYERS} layers")
    tensors: dict[int, list[Tensor]] = {}
    for tensor in checkpoint.tensors:
        name = re.match(r"blk\.(\d+)\.", tensor.name)
        if name:
            tensors.setdefault(int(name[1]), []).append(tensor)
    for index in range(count):
        if index not in tensors:
            raise BadInput(f"{checkpoint.name}: there are no tensors of layer {index}, expected {count} layers")
    return [Layer(checkpoint, index, tensors[index]) for index in range(count)]


def extra_layers(checkpoint: Checkpoint) -> int:
    """Layers at the end that guess further tokens, which are left out: only a few runtimes use them, but llama.cpp counts them."""
    return checkpoint.number("nextn_predict_layers", 0)


class Pass:
    """Writes the ops of one pass of tokens through the model."""

    def __init__(self, checkpoint: Checkpoint, layers: list[Layer], settings: Settings, roofline: Roofline,
                 routing: dict[str, list[float]], ops: list[dict], *, prefix: str, tokens: int, context: int, holds: bool, after: str):
        """tokens: of each stream. context: of each stream, at the pass's end. holds: its ops hold weights and caches, which other
        passes share. after: the op that it waits for; empty: none."""
        self._checkpoint, self._layers, self._settings, self._roofline, self._routing = checkpoint, layers, settings, roofline, routing
        self._ops, self._prefix, self._holds, self._after = ops, prefix, holds, after
        self._tokens = tokens * settings.streams
        self._chunks = math.ceil(self._tokens / settings.chunk)
        self._seen = context - (tokens - 1) / 2  # Tokens that a token attends to, in the mean.
        self._width = checkpoint.number("embedding_length")

    def write(self) -> str:
        """Adds the ops, and returns the name of the last one."""
        hidden = self._embedding()
        for layer in self._layers:
            hidden = self._layer(layer, hidden)
        return self._head(hidden)

    def _hidden_bytes(self, tokens: int | None = None) -> int:
        return (self._tokens if tokens is None else tokens) * self._width * self._settings.activation_bytes

    def _add(self, block: str, op: str, op_class: OpClass, inputs: list[str], *, flops: float, moved: float, out_bytes: int,
             tensors: Sequence[Tensor] = (), held: int | None = None, chunks: int | None = None, temp: int = 0,
             attrs: dict | None = None, part: float = 1.0) -> str:
        """An op of the pass. moved: bytes that each chunk reads and writes. held: bytes that stay; None: those of the tensors.

        part: of the time of work that several ops share.
        """
        chunks = self._chunks if chunks is None else chunks
        name = f"{self._prefix}{block}.{op}" if op else f"{self._prefix}{block}"
        cost_us = self._roofline.cost_us(op_class, True, flops / chunks, round(moved))
        held = sum(tensor.bytes for tensor in tensors) if held is None else held
        entry = {"name": name, "type": f"llm.{op.partition('.')[0] or block}",
                 "cost_us": {kind: round(us * chunks * part, 3) for kind, us in cost_us.items()},
                 "inputs": [f"{source}:0" for source in inputs], "outputs": [{"bytes": out_bytes}], "flops": flops,
                 "attrs": {"module": f"{block}.{op.partition('.')[0]}" if op else block} | (attrs or {})}
        if self._holds and held:
            entry["param_bytes"] = held
        if temp:
            entry["temp_bytes"] = temp
        if tensors:
            entry["attrs"]["tensors"] = [tensor.name for tensor in tensors]
        if block.startswith("blk."):
            entry["group"] = GROUPS[self._settings.together](block, op)
        else:
            entry["group"] = block
        self._ops.append(entry)
        return name

    def _room(self, numbers: int) -> int:
        """Bytes for so many numbers of each token of a chunk: programs keep them free for prompts also while they make tokens."""
        return self._settings.chunk * self._settings.activation_bytes * numbers

    def _arriving(self, kept: int) -> int:
        return arriving_bytes(self._settings, self._width, kept)

    def _product(self, block: str, op: str, tensors: Sequence[Tensor], source: str, tokens: int | None = None) -> str:
        """Products of tokens with matrices. What is sent on is what the next op reads: a gated half of `ffn_up`, all rows of queries, keys
        and values, or else the outputs of the last matrix."""
        tokens = self._tokens if tokens is None else tokens
        weights = sum(tensor.bytes for tensor in tensors)
        chunks = min(self._chunks, tokens)
        rows = sum(tensor.shape[0] for tensor in tensors if len(tensor.shape) > 1)
        widest = max((tensor.shape[0] for tensor in tensors if len(tensor.shape) > 1), default=self._width)
        out = rows if op == "attn_qkv" else widest if op in ("ffn_up", "") else self._width
        sent = tokens * out * self._settings.activation_bytes
        inputs = [source]
        if self._settings.stream_weights and op in PRODUCTS:
            inputs.append(self._weights(block, op, tensors))
        temp = self._room(2 * self._width + rows) + self._arriving(self._settings.context) if op in ("ffn_up", "ffn_shared", "") else 0
        return self._add(block, op, OpClass.MATMUL, inputs, flops=2.0 * tokens * sum(tensor.numbers for tensor in tensors),
                         moved=weights + (self._hidden_bytes(tokens) + sent) / chunks, out_bytes=sent, tensors=tensors,
                         held=0 if len(inputs) > 1 else None, chunks=chunks, temp=temp)

    def _weights(self, block: str, op: str, tensors: Sequence[Tensor]) -> str:
        """An op that holds weights and may lie on another device than what computes with them: they are sent for each pass.

        It waits for the layer before last, so that no more than two layers' weights are on their way.
        """
        size, name = sum(tensor.bytes for tensor in tensors), f"{self._prefix}{block}.{op}.weights"
        index = int(block.partition(".")[2])
        entry = {"name": name, "type": "llm.weights", "cost_us": 0, "group": f"{block}.{op}.weights",
                 "inputs": [f"^{self._prefix}blk.{index - 1}.attn_norm"] if index else [], "outputs": [{"bytes": size}],
                 "attrs": {"module": f"{block}.{op}", "tensors": [tensor.name for tensor in tensors]}}
        if self._holds:
            entry["param_bytes"] = size
            entry["outputs"][0]["resident"] = True
        self._ops.append(entry)
        return name

    def _small(self, block: str, op: str, inputs: list[str], op_class: OpClass, tensors: Sequence[Tensor] = ()) -> str:
        """A norm or a sum: it streams the hidden numbers."""
        moved = (len(inputs) + 1) * self._hidden_bytes() / self._chunks
        return self._add(block, op, op_class, inputs, flops=float(self._tokens * self._width), moved=moved,
                         out_bytes=self._hidden_bytes(), tensors=tensors)

    def _embedding(self) -> str:
        table = self._checkpoint.by_name.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise BadInput(f"{self._checkpoint.name}: there is no matrix 'token_embd.weight', expected one")
        name = self._add("token_embd", "", OpClass.GATHER, [], flops=0.0, moved=2 * self._hidden_bytes() / self._chunks,
                         out_bytes=self._hidden_bytes(), tensors=[table], temp=self._room(self._width) + self._arriving(self._settings.context))
        if self._after:
            self._ops[-1]["inputs"] = [f"{self._after}:0"]
        return name

    def _layer(self, layer: Layer, hidden: str) -> str:
        block, tensors = layer.name, layer.tensors
        normed = self._small(block, "attn_norm", [hidden], OpClass.REDUCTION, tensors.get("attn_norm", ()))
        qkv = self._product(block, "attn_qkv", tensors["attn_qkv"], normed)
        attended = self._attention(layer, qkv)
        projected = self._product(block, "attn_output", tensors["attn_output"], attended)
        middle = self._small(block, "attn_add", [projected, hidden], OpClass.ELEMENTWISE)
        normed = self._small(block, "ffn_norm", [middle], OpClass.REDUCTION, tensors.get("ffn_norm", ()))
        made = self._experts(layer, normed) if "ffn_experts" in tensors else [
            self._product(block, "ffn_down", tensors["ffn_down"], self._product(block, "ffn_up", tensors["ffn_up"], normed))]
        return self._small(block, "ffn_add", [*made, middle], OpClass.ELEMENTWISE)

    def _attention(self, layer: Layer, qkv: str) -> str:
        settings = self._settings
        seen = min(self._seen, layer.window) if layer.window else self._seen
        kept = layer.kept_tokens(settings)
        grows = 0 if kept < settings.context else layer.cache_bytes(settings, 1)
        return self._add(layer.name, "attn", OpClass.MATMUL, [qkv], flops=2.0 * self._tokens * seen * layer.score_numbers,
                         moved=layer.cache_bytes(settings, 1) * seen + 2 * self._hidden_bytes() / self._chunks,
                         out_bytes=self._hidden_bytes(), tensors=layer.tensors.get("attn", ()), held=layer.cache_bytes(settings, kept),
                         temp=self._room(3 * self._width) + self._arriving(kept),
                         attrs={"cache_bytes_per_token": grows} if self._holds else None)

    def _experts(self, layer: Layer, normed: str) -> list[str]:
        block, tensors = layer.name, layer.tensors["ffn_experts"]
        count, used = tensors[0].shape[0], self._checkpoint.number("expert_used_count")
        if not 0 < used <= count <= _MOST_EXPERTS:
            raise BadInput(f"{self._checkpoint.name}: {block} has {count} experts, of which a token uses {used}, expected 1 to {_MOST_EXPERTS} "
                           "and no more than there are")
        shares = self._routing.get(block, [1 / count] * count)
        if len(shares) != count or max(shares) * used > 1 + 1e-6:
            raise BadInput(f"{self._checkpoint.name}: {block} has {count} experts, of which a token uses {used} and for which "
                           f"{len(shares)} shares up to {max(shares, default=0):.4g} are given, expected {count} of at most 1/{used}")
        router = self._product(block, "ffn_router", layer.tensors["ffn_router"], normed) if "ffn_router" in layer.tensors else normed
        hit = reached(math.ceil(self._tokens / self._chunks), used, shares)
        made = []
        if self._settings.each_expert:
            made = [self._some_experts(block, f"ffn_experts.{expert}", tensors, router, sum(hit) / count, used, hit[expert] / sum(hit),
                                       1 / count) for expert in range(count)]
        else:
            made = [self._some_experts(block, "ffn_experts", tensors, router, sum(hit) / count, used, 1.0, 1.0)]
        if "ffn_shared" in layer.tensors:
            made.append(self._product(block, "ffn_shared", layer.tensors["ffn_shared"], normed))
        return made

    def _some_experts(self, block: str, op: str, tensors: list[Tensor], source: str, read: float, used: int, work: float, part: float) -> str:
        """One or all experts. read: share of all experts' bytes that a chunk reads. used: experts of a token. work: share of all experts'
        time and FLOPs. part: share of their bytes."""
        all_bytes = sum(tensor.bytes for tensor in tensors)
        held = round(all_bytes * part)
        of_one = sum(tensor.numbers / tensor.shape[0] for tensor in tensors)
        rows = sum(tensor.shape[1] for tensor in tensors if len(tensor.shape) > 2)
        inputs = [source]
        if self._settings.stream_weights and part == 1:
            inputs.append(self._weights(block, op, tensors))
        name = self._add(block, op, OpClass.MATMUL, inputs, flops=2.0 * self._tokens * used * of_one,
                         moved=all_bytes * read + 2 * self._hidden_bytes() / self._chunks, out_bytes=self._hidden_bytes(), tensors=tensors,
                         held=0 if len(inputs) > 1 else held, temp=self._room(2 * self._width + used * rows) + self._arriving(0), part=work)
        self._ops[-1]["flops"] *= work
        return name

    def _head(self, hidden: str) -> str:
        known, streams = self._checkpoint.by_name, self._settings.streams
        norm = [known[name] for name in ("output_norm.weight", "output_norm.bias") if name in known]
        # One row of logits for each stream: of a prompt only the last token's are needed.
        matrix = known.get("output.weight", known["token_embd.weight"])
        normed = self._small("output_norm", "", [hidden], OpClass.REDUCTION, norm)
        return self._product("output", "", [matrix], normed, tokens=streams)
