"""Language models that tests make: GGUF files with random weights, and configurations."""
import json
import pathlib
import sys

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/reproduce"))
from lib.llm_models import NEMOTRON_SUPER, block_config  # noqa: E402, F401  For the tests that import this file.

LLAMA_8B = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
            "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
QWEN3_30B = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
             "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
             "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
             "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}


def write_config(folder: pathlib.Path, config: dict, **changes) -> pathlib.Path:
    """A folder with this config.json."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def write_gguf(path, *, layers: int = 2, width: int = 256, kind: str = "F16", vocabulary: int = 64, experts: int = 0, writer=None,
               more=None, architecture: str = "llama"):
    """A small Llama in GGUF, or with experts a Mixtral. more: shapes of further tensors by name."""
    own = writer or gguf.GGUFWriter(path, architecture)
    rng = np.random.default_rng(1)
    heads, kv_heads, hidden = 4, 2, 2 * width
    kv = width // heads * kv_heads
    own.add_name("tiny")
    own.add_block_count(layers)
    own.add_context_length(1024)
    own.add_embedding_length(width)
    own.add_feed_forward_length(hidden)
    own.add_head_count(heads)
    own.add_head_count_kv(kv_heads)
    own.add_layer_norm_rms_eps(1e-5)
    own.add_rope_dimension_count(width // heads)
    own.add_vocab_size(vocabulary)
    if experts:
        own.add_expert_count(experts)
        own.add_expert_used_count(2)
    own.add_tokenizer_model("no_vocab")
    own.add_token_list([f"t{i}".encode() for i in range(vocabulary)])
    shapes = {"token_embd.weight": (vocabulary, width), "output_norm.weight": (width,), "output.weight": (vocabulary, width)}
    for layer in range(layers):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in {
            "attn_norm": (width,), "attn_q": (width, width), "attn_k": (kv, width), "attn_v": (kv, width), "attn_output": (width, width),
            "ffn_norm": (width,)}.items()}
        ffn = {"ffn_gate": (hidden, width), "ffn_up": (hidden, width), "ffn_down": (width, hidden)}
        if experts:
            shapes[f"blk.{layer}.ffn_gate_inp.weight"] = (experts, width)
            ffn = {f"{name}_exps": (experts, *shape) for name, shape in ffn.items()}
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in ffn.items()}
    for name, shape in (shapes | (more or {})).items():
        data = rng.standard_normal(shape).astype(np.float32) * 0.02
        quantized = gguf.GGMLQuantizationType[kind if len(shape) > 1 and "ffn_gate_inp" not in name else "F32"]
        block = gguf.GGML_QUANT_SIZES[quantized]
        if quantized == gguf.GGMLQuantizationType.F16:
            own.add_tensor(name, data.astype(np.float16))
        elif quantized == gguf.GGMLQuantizationType.F32:
            own.add_tensor(name, data)
        elif kind == "Q4_K":  # The package cannot quantize so: bytes that stand for small numbers.
            raw = np.zeros((*shape[:-1], shape[-1] // block[0] * block[1]), dtype=np.uint8)
            own.add_tensor(name, raw, raw_dtype=quantized)
        else:
            own.add_tensor(name, gguf.quants.quantize(data, quantized), raw_dtype=quantized)
    own.write_header_to_file()
    own.write_kv_data_to_file()
    own.write_tensors_to_file()
    own.close()
    return pathlib.Path(path) if path else None
