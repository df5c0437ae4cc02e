"""How the kinds of language models that are known by their config.json differ from a Llama."""
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_QKV = ("attn_q", "attn_k", "attn_v")
_FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True)
class Family:
    """How models of a kind differ from a Llama. A flag is a fixed answer, or the name of the key of config.json that has it."""
    architecture: str  # GGUF's name.
    biases: Mapping[str, bool | str] = field(default_factory=dict)  # By tensor: a flag, whether it has a bias.
    defaults: Mapping[str, Any] = field(default_factory=dict)  # Of keys that config.json may leave out.
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")  # As wide as the hidden state.
    head_norms: bool | str = False  # A flag: queries and keys have a norm, as wide as a head.
    wide_norms: bool = False  # Queries and keys have a norm, as wide as all heads.
    fused: bool = False  # Queries, keys and values are one matrix, and so are gate and up.
    latent: bool = False  # Keys and values are made of a short latent vector, as DeepSeek's are.
    compressed: bool = False  # Layers see a window, and of what is before it a row for each few tokens, as DeepSeek V4's do.
    ranks: str = ""  # What layers rank by a short key, to attend to the best ones: "tokens", or "blocks" of them.
    sinks: bool = False  # Each head has a logit that takes attention to nothing.
    expert_width: str = ""  # The key that has the width of an expert; without one there are no experts.
    expert_switch: bool | str = True  # A flag: whether there are experts.
    inner: str = "intermediate_size"  # The key that has the width of a feed-forward network without experts.
    expert_probs_bias: bool = False  # The router has a bias that only the choice of experts sees.
    shared_gate: bool = False  # A gate weighs the experts that each token goes through.
    shared_width: str = ""  # The key that has the width of all these; without one they are n_shared_experts of the usual width.
    full_every: int = 0  # How often a layer sees more than a window; 0: each does.
    window: str = "sliding_window"  # The key that has the tokens of a window.
    gated: bool = False  # Queries come with as many numbers that weigh what attention gives.
    gemma_4: bool = False  # Heads that see all tokens are wider, the last layers use earlier ones' keys, experts are beside an MLP.
    delta_gates: tuple[str, ...] = ()  # Most layers have a gated delta net in place of attention; its small matrices.
    unlike: bool = False  # Each layer has sizes of its own, in block_configs, or lacks attention or a feed-forward network.


_BY_KEY = dict.fromkeys((*_QKV, "attn_output"), "attention_bias")
_LATENT = dict.fromkeys(("attn_q_a", "attn_kv_a_mqa", "attn_output"), "attention_bias")
_MLP = dict.fromkeys((*_FEED_FORWARD, *(f"{name}_shexp" for name in _FEED_FORWARD)), "mlp_bias")
_EXPERTS = dict.fromkeys(("ffn_gate_inp", *(f"{name}_exps" for name in _FEED_FORWARD)), True)
_AROUND = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
_BEFORE = ("attn_norm", "post_attention_norm")
_BEHIND = ("post_attention_norm", "post_ffw_norm")
_MOE = {"expert_width": "moe_intermediate_size"}
_DELTA = {"norms": _BEFORE, "head_norms": True, "gated": True}
_DELTA_DEFAULTS = {"head_dim": 256, "partial_rotary_factor": 0.25, "full_attention_interval": 4}
_GEMMA_3 = Family("gemma3", _BY_KEY, {
    "vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131_072,
    "tie_word_embeddings": True}, _AROUND, head_norms=True, full_every=6)
_DEEPSEEK_3 = Family("deepseek2", _LATENT, latent=True, expert_probs_bias=True, **_MOE)
_GEMMA_4 = Family("gemma4", _BY_KEY, {
    "vocab_size": 262_144, "num_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
    "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262_144, "max_position_embeddings": 131_072,
    "tie_word_embeddings": True}, _AROUND, head_norms=True, full_every=6, gemma_4=True, expert_switch="enable_moe_block", **_MOE)
_LLAMA_4 = Family("llama4", _BY_KEY, {
    "head_dim": 128, "intermediate_size_mlp": 16_384, "num_experts_per_tok": 1, "n_shared_experts": 1, "attention_chunk_size": 8192},
    inner="intermediate_size_mlp", expert_width="intermediate_size", full_every=4, window="attention_chunk_size")
_INDEXED = {"latent": True, "ranks": "tokens", "expert_probs_bias": True, **_MOE}
_SHARED = {"shared_gate": True, "shared_width": "shared_expert_intermediate_size", **_MOE}
_MINIMAX_3 = Family("minimax-m3", defaults={"head_dim": 128}, head_norms=True, ranks="blocks", inner="dense_intermediate_size",
                    expert_width="intermediate_size", shared_width="shared_intermediate_size", expert_probs_bias=True)
FAMILIES = {
    "llama": Family("llama", _BY_KEY | _MLP),
    "llama4": _LLAMA_4,
    "llama4_text": _LLAMA_4,
    "mistral": Family("llama"),
    "ministral3": Family("mistral3"),
    "mixtral": Family("llama", expert_width="intermediate_size"),
    "qwen2": Family("qwen2", dict.fromkeys(_QKV, True)),
    **dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"), Family("qwen2vl", dict.fromkeys(_QKV, True))),
    "qwen2_moe": Family("qwen2moe", dict.fromkeys(_QKV, "qkv_bias"), {"qkv_bias": True}, **_SHARED),
    "qwen3": Family("qwen3", _BY_KEY, {"head_dim": 128}, head_norms=True),
    "qwen3_vl_text": Family("qwen3vl", _BY_KEY, {"head_dim": 128}, head_norms=True),
    "qwen3_moe": Family("qwen3moe", _BY_KEY, head_norms=True, **_MOE),
    "qwen3_vl_moe_text": Family("qwen3vlmoe", _BY_KEY, head_norms=True, **_MOE),
    "qwen3_next": Family("qwen3next", _BY_KEY, _DELTA_DEFAULTS, delta_gates=("ssm_ba",), **_DELTA, **_SHARED),
    "qwen3_5_text": Family("qwen35", _BY_KEY, _DELTA_DEFAULTS, delta_gates=("ssm_beta", "ssm_alpha"), **_DELTA),
    "qwen3_5_moe_text": Family("qwen35moe", _BY_KEY, _DELTA_DEFAULTS, delta_gates=("ssm_beta", "ssm_alpha"), **_DELTA, **_SHARED),
    "gemma2": Family("gemma2", _BY_KEY, {"head_dim": 256, "tie_word_embeddings": True}, _AROUND, full_every=2),
    "gemma3": _GEMMA_3,
    "gemma3_text": _GEMMA_3,
    "gemma4": _GEMMA_4,
    "gemma4_text": _GEMMA_4,
    "phi3": Family("phi3", fused=True),
    "olmo2": Family("olmo2", _BY_KEY, norms=_BEHIND, wide_norms=True),
    "olmo3": Family("olmo2", _BY_KEY, {"sliding_window": 4096}, _BEHIND, wide_norms=True, full_every=4),
    "glm4_moe": Family("glm4moe", dict.fromkeys(_QKV, "attention_bias"), {"partial_rotary_factor": 0.5}, _BEFORE, "use_qk_norm",
                       expert_probs_bias=True, **_MOE),
    "glm4_moe_lite": Family("deepseek2", _LATENT, {"first_k_dense_replace": 1}, latent=True, expert_probs_bias=True, **_MOE),
    "glm_moe_dsa": Family("glm-dsa", _LATENT, **_INDEXED),
    "deepseek_v2": Family("deepseek2", _LATENT | _MLP, latent=True, **_MOE),
    "deepseek_v3": _DEEPSEEK_3,
    "deepseek_v32": Family("deepseek32", _LATENT, **_INDEXED),
    "deepseek_v4": Family("deepseek4", defaults={
        "num_key_value_heads": 1, "head_dim": 512, "partial_rotary_factor": 0.125, "q_lora_rank": 1024, "sliding_window": 128, "o_groups": 8,
        "o_lora_rank": 1024, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512, "hc_mult": 4, "num_hash_layers": 3,
        "n_shared_experts": 1}, compressed=True, ranks="tokens", sinks=True, expert_probs_bias=True, **_MOE),
    "kimi_k2": _DEEPSEEK_3,
    "minimax_m2": Family("minimax-m2", wide_norms=True, expert_width="intermediate_size", expert_probs_bias=True),
    "minimax_m3_vl": _MINIMAX_3,
    "minimax_m3_vl_text": _MINIMAX_3,
    "dots1": Family("dots1", _BY_KEY, head_norms=True, expert_probs_bias=True, **_MOE),
    "gpt_oss": Family("gpt-oss", _BY_KEY | _EXPERTS, {"attention_bias": True, "head_dim": 64, "num_key_value_heads": 8}, _BEFORE,
                      sinks=True, expert_width="intermediate_size", full_every=2),
    "seed_oss": Family("seed_oss", dict.fromkeys(_QKV, "attention_bias") | {"attn_output": "attention_out_bias"} | _MLP,
                       {"attention_bias": True, "head_dim": 128}, _BEFORE),
    "cohere2": Family("cohere2", _BY_KEY, {"sliding_window": 4096, "tie_word_embeddings": True}, ("attn_norm",), full_every=4),
    "granite": Family("granite", _BY_KEY | _MLP),
    "smollm3": Family("smollm3", _BY_KEY | _MLP, {"tie_word_embeddings": True}),
    "ernie4_5": Family("ernie4_5", dict.fromkeys((*_BY_KEY, *_FEED_FORWARD), "use_bias"), {"head_dim": 128, "tie_word_embeddings": True}),
    "hunyuan_v1_dense": Family("hunyuan-dense", _BY_KEY, head_norms=True),
    "nemotron-nas": Family("deci", _BY_KEY | _MLP, unlike=True),
}
