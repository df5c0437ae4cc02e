"""Sizes of the language models of llm_situations.py, as their config.json has them. Fields that change neither bytes nor time are left
out.

Models whose layers emplace does not know have a stand-in with plain attention, of as many parameters in a layer and as small a cache:
three of four layers of Qwen3.5 and 3.6 have gated delta nets, and the fourth has a gate in its attention.
"""


def _config(model_type, layers, hidden, inner, heads, key_heads, vocabulary, context=131072, **more):
    """A config.json of transformers."""
    return {"model_type": model_type, "torch_dtype": "bfloat16", "num_hidden_layers": layers, "hidden_size": hidden,
            "intermediate_size": inner, "num_attention_heads": heads, "num_key_value_heads": key_heads, "vocab_size": vocabulary,
            "max_position_embeddings": context, "tie_word_embeddings": False, **more}


def _stand_in(layers, hidden, expert, heads):
    """A hybrid model of the Qwen3.5 family with 256 experts, of which a token uses 8, and one that all tokens use."""
    return _config("qwen2_moe", layers, hidden, 4 * expert, heads, 1, 248320, 262144, head_dim=128, qkv_bias=False, num_experts=256,
                   num_experts_per_tok=8, moe_intermediate_size=expert, shared_expert_intermediate_size=expert)


def block_config(factor: float | None, of_key: int | None = None, *, linear: bool = False) -> dict:
    """A layer in block_configs of model_type nemotron-nas. factor: of the feed-forward network's width; None: it has none. of_key: how
    many heads share a key; None: it has no attention, or with linear a matrix in its place."""
    return {"attention": {"n_heads_in_group": of_key, "no_op": of_key is None and not linear, "replace_with_linear": linear,
                          "window_length": None},
            "ffn": {"ffn_mult": factor, "no_op": factor is None, "replace_with_linear": False}}


def _without_attention(*factors: float) -> list[dict]:
    return [block_config(factor) for factor in factors]


_WHOLE = block_config(5.25, 8)
NEMOTRON_SUPER = {  # Llama-3.3-Nemotron-Super-49B-v1
    "model_type": "nemotron-nas", "torch_dtype": "bfloat16", "vocab_size": 128256, "hidden_size": 8192, "intermediate_size": None,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": None, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "block_configs": [
        block_config(2.625, 8), *[_WHOLE] * 5, *_without_attention(2.625, 2.625), *[_WHOLE] * 4, *_without_attention(3.28125), *[_WHOLE] * 29,
        *_without_attention(1.3125, 2.625, 2.625, 1.3125, 5.25, 1.3125, 2.625, 1.3125, 1.3125, 1.3125), _WHOLE,
        *_without_attention(1.3125, 1, 1, 1.3125, 1, 1, 1, 1.3125, 1.3125, .5, .5, 1, 1, .5, .5, 1, .5, .5), *[_WHOLE] * 9]}

CONFIGS = {
    # 40 layers of 1 GB in 16 bits and next to nothing besides: what exo#957 models, which names no model.
    "forty layers of 1 GB": _config("llama", 40, 8192, 14201, 64, 8, 128),
    "Llama 3, 12 layers": _config("llama", 12, 4096, 14336, 32, 8, 128256),  # torchtitan's 8B with fewer layers
    "Qwen1.5-14B": _config("qwen2", 40, 5120, 13696, 40, 40, 152064, 32768),
    "Qwen2.5-32B": _config("qwen2", 64, 5120, 27648, 40, 8, 152064),
    "Llama 3.3 Nemotron Super 49B": NEMOTRON_SUPER,
    "Qwen3-32B": _config("qwen3", 64, 5120, 25600, 64, 8, 151936, 40960, head_dim=128),
    "Qwen3-235B-A22B": _config("qwen3_moe", 94, 4096, 12288, 64, 4, 151936, 40960, head_dim=128, num_experts=128, num_experts_per_tok=8,
                               moe_intermediate_size=1536),
    "Gemma 3 27B": _config("gemma3_text", 62, 5376, 21504, 32, 16, 262208, head_dim=128, sliding_window=1024, tie_word_embeddings=True),
    # Experts are 1,408 wide, which is no multiple of 256: llama.cpp makes their last matrix Q8_0 beside others in Q6_K. 1,536 in Q6_K
    # take as many bytes. The same for the first layer, 11,008 for 10,944.
    "GLM-4.6V (stand-in)": _config("glm4_moe", 46, 4096, 11008, 96, 8, 151552, head_dim=128, attention_bias=True, n_routed_experts=128,
                                   num_experts_per_tok=8, n_shared_experts=1, moe_intermediate_size=1536, first_k_dense_replace=1),
    "Qwen3.5-27B (stand-in)": _config("qwen3", 64, 5120, 17408, 40, 1, 248320, 262144, head_dim=256),
    "Qwen3.5-122B-A10B (stand-in)": _stand_in(48, 3072, 1024, 108),
    "Qwen3.6-35B-A3B (stand-in)": _stand_in(40, 2048, 512, 60),
}
