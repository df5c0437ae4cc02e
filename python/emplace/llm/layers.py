"""The layers of a language model: the tensors that each op of a layer reads."""
import re
from collections.abc import Sequence

from emplace._core import BadInput
from emplace.llm.caches import Cache, caches_of, compressing_numbers, recurrent_numbers
from emplace.llm.checkpoint import MOST_LAYERS, Checkpoint, Tensor
from emplace.llm.settings import Settings

# Layer, tensor and part, which some vectors have none of. A scale is of a matrix whose type of numbers needs one, such as NVFP4.
LAYER_TENSOR = re.compile(r"blk\.(\d+)\.(\w+?(?:\.\w+?)??)(?:\.(weight|bias|scale|input_scale))?")
_STATE_BYTES = 4  # Of a number that a layer keeps however long the context is, whatever type a cache has.
# Of recurrent layers, in the place of queries, keys and values.
_RECURRENT = {"ssm_in", "ssm_x", "ssm_dt", "ssm_ba", "ssm_beta", "ssm_alpha", "ssm_f_a", "ssm_f_b", "ssm_g_a", "ssm_g_b", "ssm_conv1d",
              "ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v", "ssm_a", "ssm_d", "ssm_norm", "ssm_dt_norm", "ssm_b_norm", "ssm_c_norm",
              "shortconv.in_proj", "shortconv.conv"}
# Of layers that rank tokens, or keep one row of several.
_RANKING = {"indexer.attn_q_b", "indexer.attn_k", "indexer.k_norm", "indexer.proj", "indexer.q_proj", "indexer.k_proj", "indexer.q_norm",
            *(f"{of}_compressor_{part}" for of in ("attn", "indexer") for part in ("kv", "gate", "ape", "norm"))}
# Tensors of a layer by the op that reads them.
_READ_BY = {
    "attn_norm": {"attn_norm", "attn_norm_2", "hc_attn_base", "hc_attn_scale"},
    "attn_qkv": {"attn_q", "attn_k", "attn_v", "attn_qkv", "attn_q_norm", "attn_k_norm", "attn_q_a", "attn_q_a_norm", "attn_q_b", "attn_kv",
                 "attn_kv_a_mqa", "attn_kv_a_norm", "attn_k_b", "attn_v_b", "attn_kv_b", "attn_gate", "hc_attn_fn"} | _RECURRENT | _RANKING,
    "attn": {"attn_sinks", "attn_rot_embd", "rope_freqs", "attn_factors_short", "attn_factors_long", "rope_factors_long",
             "rope_factors_short"},
    "attn_output": {"attn_output", "attn_output_a", "attn_output_b", "attn_output_norm", "attn_out", "attn_sub_norm", "post_attention_norm",
                    "ssm_out", "shortconv.out_proj"},
    "ffn_norm": {"ffn_norm", "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2", "ffn_norm_exps", "layer_output_norm",
                 "layer_output_scale", "ffn_gate_tid2eid", "hc_ffn_base", "hc_ffn_scale"},
    "ffn_up": {"ffn_gate", "ffn_up"},
    "ffn_down": {"ffn_down", "ffn_sub_norm", "post_ffw_norm", "ffn_post_norm"},
    "ffn_router": {"ffn_gate_inp", "exp_probs_b", "ffn_gate_inp_shexp", "ffn_latent_down", "ffn_latent_up", "hc_ffn_fn"},
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
            rank = 3 if op == "ffn_experts" else 2 if op in _MATRICES and "norm" not in name[2] else 1
            if tensor.name.endswith(".weight") and len(tensor.shape) < rank:
                raise BadInput(f"{checkpoint.source}: {tensor.name} has the shape {list(tensor.shape)}, expected {rank} dimensions")
            self.tensors.setdefault(op, []).append(tensor)
            names.add(name[2])
        missing = sorted(self._needed(checkpoint) - set(self.tensors))
        if missing:
            raise BadInput(f"{checkpoint.source}: {self.name} has no tensors of {missing[0]}, expected attention and a feed-forward network")
        self.caches: list[Cache] = []
        self.state_numbers = 0
        # Layers at the end of a small Gemma 4 attend to what earlier ones have kept.
        self.keeps = index < checkpoint.number("block_count") - checkpoint.number("attention.shared_kv_layers", 0)
        recurrent = any(name.startswith(("ssm_", "shortconv.")) for name in names)
        if recurrent:
            self.state_numbers = recurrent_numbers(checkpoint, self.index)
        # A layer of Falcon-H1 has heads of both kinds.
        if "attn_qkv" in self.tensors and (not recurrent or {"attn_k", "ssm_in"} <= names):
            self.caches = caches_of(checkpoint, self.index, names)
            self.state_numbers += compressing_numbers(checkpoint, self.index, names)

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

    def state_bytes(self, settings: Settings) -> int:
        """Bytes of what a layer keeps of each stream, however long the context is."""
        return settings.streams * self.state_numbers * _STATE_BYTES


def matrix_of(tensors: Sequence[Tensor]) -> Tensor:
    """The first tensor of these that is no vector; else the first one."""
    return next((tensor for tensor in tensors if len(tensor.shape) > 1), tensors[0])


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
