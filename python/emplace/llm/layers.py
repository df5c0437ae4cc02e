"""The layers of a language model: the tensors that each op of a layer reads, and what its attention keeps."""
import math
import re
from collections.abc import Sequence

from emplace._core import BadInput
from emplace.llm.checkpoint import MOST_LAYERS, Checkpoint, Tensor, type_sizes
from emplace.llm.settings import Settings

# How often a layer attends to all tokens and not to a window, where the file does not say it (set_swa_pattern in llama.cpp).
_FULL_ATTENTION_EACH = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4, "exaone4": 4, "exaone-moe": 4, "llama4": 4, "olmo2": 4,
                        "plamo3": 8, "smallthinker": 4}
_FULL_ATTENTION_FIRST = ("smallthinker", "cohere2moe")  # It is the first of so many layers, and of all others the last one.
# Where the file has no window. Llama 4 divides a text into parts of so many tokens, which see no other part: never more than a window.
_WINDOWS = {"llama4": 8192}
# Layer, tensor and part, which some vectors have none of. A scale is of a matrix whose type of numbers needs one, such as NVFP4.
LAYER_TENSOR = re.compile(r"blk\.(\d+)\.(\w+?(?:\.\w+?)??)(?:\.(weight|bias|scale|input_scale))?")
_STATE_BYTES = 4  # Of a number that a recurrent layer keeps, whatever type a cache has.
# Tensors of a layer by the op that reads them. Those of recurrent layers, which begin with ssm or shortconv, are in the place of attention's.
_READ_BY = {
    "attn_norm": {"attn_norm", "attn_norm_2"},
    "attn_qkv": {"attn_q", "attn_k", "attn_v", "attn_qkv", "attn_q_norm", "attn_k_norm", "attn_q_a", "attn_q_a_norm", "attn_q_b",
                 "attn_kv_a_mqa", "attn_kv_a_norm", "attn_k_b", "attn_v_b", "attn_kv_b", "attn_gate", "ssm_in", "ssm_x", "ssm_dt",
                 "ssm_ba", "ssm_beta", "ssm_alpha", "ssm_f_a", "ssm_f_b", "ssm_g_a", "ssm_g_b", "ssm_conv1d", "ssm_conv1d_q",
                 "ssm_conv1d_k", "ssm_conv1d_v", "ssm_a", "ssm_d", "ssm_norm", "ssm_dt_norm", "ssm_b_norm", "ssm_c_norm",
                 "shortconv.in_proj", "shortconv.conv", "indexer.attn_q_b", "indexer.attn_k", "indexer.k_norm", "indexer.proj"},
    "attn": {"attn_sinks", "attn_rot_embd", "rope_freqs", "attn_factors_short", "attn_factors_long", "rope_factors_long",
             "rope_factors_short"},
    "attn_output": {"attn_output", "attn_output_norm", "attn_out", "attn_sub_norm", "post_attention_norm", "ssm_out", "shortconv.out_proj"},
    "ffn_norm": {"ffn_norm", "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2", "ffn_norm_exps", "layer_output_norm",
                 "layer_output_scale"},
    "ffn_up": {"ffn_gate", "ffn_up"},
    "ffn_down": {"ffn_down", "ffn_sub_norm", "post_ffw_norm", "ffn_post_norm"},
    "ffn_router": {"ffn_gate_inp", "exp_probs_b", "ffn_gate_inp_shexp"},
    "ffn_experts": {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_up_exps"},
    "ffn_shared": {"ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"},
    "per_layer": {"inp_gate", "proj", "post_norm"},  # What Gemma 4 adds to each layer by the token alone.
}
_OP_OF_TENSOR = {tensor: op for op, tensors in _READ_BY.items() for tensor in tensors}
_MATRICES = ("attn_qkv", "attn_output", "ffn_up", "ffn_down", "ffn_shared", "ffn_experts", "per_layer")


class Layer:
    """A layer's tensors by the op that reads them, and its attention."""

    def __init__(self, checkpoint: Checkpoint, index: int, tensors: Sequence[Tensor]):
        self.index, self.name = index, f"blk.{index}"
        self.tensors: dict[str, list[Tensor]] = {}  # By op.
        names: set[str] = set()
        for tensor in tensors:
            name = LAYER_TENSOR.fullmatch(tensor.name)
            op = _OP_OF_TENSOR.get(name[2]) if name else None
            if op is None:
                raise BadInput(f"{checkpoint.source}: architecture '{checkpoint.architecture}' has a tensor '{tensor.name}', and what is "
                               "computed with it is not known here, expected attention and a feed-forward network or experts")
            rank = 3 if name[2].endswith("_exps") else 2 if op in _MATRICES and "norm" not in name[2] else 1
            if tensor.name.endswith(".weight") and len(tensor.shape) < rank:
                raise BadInput(f"{checkpoint.source}: {tensor.name} has the shape {list(tensor.shape)}, expected {rank} dimensions")
            self.tensors.setdefault(op, []).append(tensor)
            names.add(name[2])
        missing = sorted(self._needed(checkpoint) - set(self.tensors))
        if missing:
            raise BadInput(f"{checkpoint.source}: {self.name} has no tensors of {missing[0]}, expected attention and a feed-forward network")
        self.window = self.cache_numbers = self.score_numbers = self.state_numbers = 0
        # Layers at the end of a small Gemma 4 attend to what earlier ones have kept.
        self.keeps = index < checkpoint.number("block_count") - checkpoint.number("attention.shared_kv_layers", 0)
        recurrent = any(name.startswith(("ssm_", "shortconv.")) for name in names)
        if recurrent:
            self.state_numbers = _state_numbers(checkpoint, self.index)
        # A layer of Falcon-H1 has heads of both kinds.
        if "attn_qkv" in self.tensors and (not recurrent or {"attn_k", "ssm_in"} <= names):
            self._read_attention(checkpoint)
        self.ranks = "indexer.attn_k" in names
        if self.ranks:
            # Of all tokens, by a key of their own. llama.cpp then masks all but the best ones, and computes with the masked ones, too.
            key = checkpoint.number("attention.indexer.key_length")
            self.cache_numbers += key
            self.score_numbers += key * checkpoint.number("attention.indexer.head_count")

    @property
    def experts(self) -> int:
        """Number of experts; 0: it has none."""
        return matrix_of(self.tensors["ffn_experts"]).shape[0] if "ffn_experts" in self.tensors else 0

    def _needed(self, checkpoint: Checkpoint) -> set[str]:
        """The ops that must have tensors."""
        heads, key_heads, inner = _sizes(checkpoint, self.index)
        needed = {op for op, there in (("attn_output", heads or "attn_qkv" in self.tensors), ("attn_qkv", key_heads)) if there}
        if "ffn_experts" in self.tensors:
            return needed | {"ffn_experts"} | ({"ffn_down"} if "ffn_up" in self.tensors else set())
        return needed | ({"ffn_up", "ffn_down"} if inner or {"ffn_up", "ffn_down"} & set(self.tensors) else set())

    def _read_attention(self, checkpoint: Checkpoint) -> None:
        number = checkpoint.number
        width, heads = number("embedding_length"), number("attention.head_count", layer=self.index)
        kv_heads = number("attention.head_count_kv", heads, layer=self.index)
        if heads < 1 or kv_heads < 1 or heads % kv_heads:
            raise BadInput(f"{checkpoint.source}: {self.name} has {heads} heads of attention and {kv_heads} of keys and values, expected at "
                           "least one each, and as many of the former for each of the latter")
        self.window = self._window(checkpoint)
        suffix = "_swa" if self.window and "attention.key_length_swa" in checkpoint.metadata else ""
        key = number(f"attention.key_length{suffix}", width // heads)
        # Latent attention: one short row a token, from which all heads' keys and values come. Of a file without these keys, as older
        # ones are, llama.cpp keeps the keys and values themselves.
        lora = number("attention.kv_lora_rank", 0) if "attention.key_length_mla" in checkpoint.metadata else 0
        if lora:
            rotated = number("rope.dimension_count", 64)
            self.cache_numbers, self.score_numbers = lora + rotated, heads * (2 * lora + rotated)
        else:
            value = number(f"attention.value_length{suffix}", key)
            self.cache_numbers, self.score_numbers = kv_heads * (key + value), heads * (key + value)

    def _window(self, checkpoint: Checkpoint) -> int:
        """How many tokens the layer attends to at most; 0: to all."""
        every = checkpoint.metadata.get("attention.sliding_window_pattern", _FULL_ATTENTION_EACH.get(checkpoint.architecture))
        if isinstance(every, list):
            windowed = bool(every[self.index]) if self.index < len(every) else False
        else:
            full = 0 if checkpoint.architecture in _FULL_ATTENTION_FIRST else -1
            windowed = isinstance(every, int) and every > 1 and (self.index - full) % every != 0
        return checkpoint.number("attention.sliding_window", _WINDOWS.get(checkpoint.architecture, 0)) if windowed else 0

    def seen_tokens(self, tokens: int, context: int) -> float:
        """Tokens that each of the last `tokens` ones of a context attends to, itself included, in the mean."""
        whole = max(0, min(tokens, context - self.window)) if self.window else 0  # So many see as many as a window has,
        before = tokens - whole  # and these ones, the first of them, all that are before them.
        return (whole * self.window + before * (context - whole - (before - 1) / 2)) / tokens

    def kept_tokens(self, settings: Settings) -> int:
        """Tokens of a stream for which this layer's cache has room: with a window, those and a chunk of new ones."""
        return min(settings.context, self.window + settings.chunk) if self.window else settings.context

    def cache_bytes(self, settings: Settings, tokens: int) -> int:
        """Bytes of the cache of that many tokens of each stream."""
        block, size = type_sizes(settings.kv_type)
        return settings.streams * tokens * math.ceil(self.cache_numbers / block) * size

    def state_bytes(self, settings: Settings) -> int:
        """Bytes of what a recurrent layer keeps of each stream, however long the context is."""
        return settings.streams * self.state_numbers * _STATE_BYTES


def matrix_of(tensors: Sequence[Tensor]) -> Tensor:
    """The first tensor of these that is no vector; else the first one."""
    return next((tensor for tensor in tensors if len(tensor.shape) > 1), tensors[0])


def _state_numbers(checkpoint: Checkpoint, layer: int) -> int:
    """Numbers that a recurrent layer keeps of each stream: its last inputs, over which it convolves, and its state
    (n_embd_r and n_embd_s in llama.cpp's llama-hparams.cpp)."""
    number = checkpoint.number
    if length := number("shortconv.l_cache", 0):
        return number("embedding_length") * (length - 1)
    before = max(number("ssm.conv_kernel"), 1) - 1
    if head := number("kda.head_dim", 0):  # Kimi Linear.
        heads = number("attention.head_count", layer=layer)
        return 3 * before * heads * head + heads * head * head
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    return before * (inner + 2 * number("ssm.group_count", 0) * state) + inner * state


def _sizes(checkpoint: Checkpoint, layer: int) -> tuple[int, int, int]:
    """Heads, heads of keys and values, and the width of the feed-forward network; 0 says that a layer lacks the part. Where a file has
    no such number, it is taken to be there."""
    key_heads, inner = (checkpoint.number(key, 1, layer=layer) for key in ("attention.head_count_kv", "feed_forward_length"))
    # A model that was pruned layer by layer (llama.cpp's architecture deci) may have a matrix in the place of attention.
    heads = checkpoint.number("attention.head_count", layer=layer) if checkpoint.architecture == "deci" else key_heads
    return heads, key_heads if heads else 0, inner


def layers_of(checkpoint: Checkpoint) -> list[Layer]:
    """The model's layers. Raises BadInput where a layer is missing, or is none of attention and a feed-forward network."""
    count = checkpoint.number("block_count") - extra_layers(checkpoint)
    if not 1 <= count <= MOST_LAYERS:
        raise BadInput(f"{checkpoint.source}: {checkpoint.architecture}.block_count is {count}, expected 1 to {MOST_LAYERS} layers")
    tensors: dict[int, list[Tensor]] = {}
    for tensor in checkpoint.tensors:
        name = re.match(r"blk\.(\d+)\.", tensor.name)
        if name:
            tensors.setdefault(int(name[1]), []).append(tensor)
    for index in range(count):
        if index not in tensors and any(_sizes(checkpoint, index)):
            raise BadInput(f"{checkpoint.source}: there are no tensors of layer {index}, expected {count} layers")
    return [Layer(checkpoint, index, tensors.get(index, [])) for index in range(count)]


def extra_layers(checkpoint: Checkpoint) -> int:
    """Layers at the end that guess further tokens, which are left out: only a few runtimes use them, but llama.cpp counts them."""
    return checkpoint.number("nextn_predict_layers", 0)
