"""emplace.llm.hf_checkpoint: tensors against the models that transformers makes of the same file, and against published numbers."""
import json
import re
from collections import Counter

import emplace
import pytest
from emplace.llm.hf_checkpoint import read_config
from llm_models import NEMOTRON_SUPER, block_config

SIZES = {"vocab_size": 97, "hidden_size": 60, "intermediate_size": 44, "num_hidden_layers": 4, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 640, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LLAMA = SIZES | {"model_type": "llama", "torch_dtype": "bfloat16"}
EXPERTS = {"moe_intermediate_size": 26, "num_experts": 5, "num_experts_per_tok": 2}
LATENT = {"kv_lora_rank": 18, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 14, "q_lora_rank": 22, "num_key_value_heads": 6,
          "moe_intermediate_size": 26, "n_routed_experts": 5, "num_experts_per_tok": 2, "n_shared_experts": 2, "first_k_dense_replace": 1,
          "n_group": 1, "topk_group": 1}
DELTA = {"head_dim": 14, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10, "linear_value_head_dim": 12}
SHARED = EXPERTS | {"shared_expert_intermediate_size": 34}
INDEX = LATENT | {"index_n_heads": 3, "index_head_dim": 16, "index_topk": 7}
GEMMA_4 = {"head_dim": 14, "global_head_dim": 20, "sliding_window": 8, "hidden_size_per_layer_input": 10, "vocab_size_per_layer_input": 31,
           "layer_types": ["sliding_attention", "full_attention"] * 2}
GPT_OSS = {"head_dim": 14, "num_local_experts": 5, "num_experts_per_tok": 2}
DEEPSEEK_4 = {
    "moe_intermediate_size": 26, "n_routed_experts": 5, "num_experts_per_tok": 2, "n_shared_experts": 1,
    "num_key_value_heads": 1, "head_dim": 16, "q_lora_rank": 22, "o_groups": 2, "o_lora_rank": 9, "index_n_heads": 3, "index_head_dim": 10,
    "index_topk": 7, "hc_mult": 3, "sliding_window": 8, "mlp_layer_types": ["hash_moe", "moe", "moe", "moe"],
    "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention", "compressed_sparse_attention"]}
MINIMAX_3 = {
    "head_dim": 14, "num_local_experts": 5, "num_experts_per_tok": 2, "dense_intermediate_size": 90, "shared_intermediate_size": 34,
    "index_n_heads": 3, "index_head_dim": 10, "layer_types": ["full_attention", "minimax_m3_sparse"] * 2,
    "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]}
MODELS = [
    ("llama", {}), ("llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 14}), ("llama", {"tie_word_embeddings": True}),
    ("mistral", {"head_dim": 14}), ("mixtral", {"num_local_experts": 5, "num_experts_per_tok": 2}), ("qwen2", {}),
    ("qwen2", {"tie_word_embeddings": True}), ("qwen2_moe", EXPERTS | {"shared_expert_intermediate_size": 34}),
    ("qwen2_moe", EXPERTS | {"shared_expert_intermediate_size": 34, "qkv_bias": False, "decoder_sparse_step": 3}),
    ("qwen3", {"head_dim": 14}), ("qwen3", {"head_dim": 14, "attention_bias": True}), ("qwen3_moe", EXPERTS | {"head_dim": 14}),
    ("qwen3_moe", EXPERTS | {"mlp_only_layers": [0, 2], "attention_bias": True}), ("gemma2", {"head_dim": 14}),
    ("gemma2", {"head_dim": 14, "tie_word_embeddings": False, "attention_bias": True}), ("gemma3_text", {"head_dim": 14}), ("phi3", {}),
    ("olmo2", {}), ("olmo2", {"attention_bias": True}), ("deepseek_v2", LATENT), ("deepseek_v2", LATENT | {"q_lora_rank": None}),
    ("deepseek_v2", LATENT | {"attention_bias": True, "mlp_bias": True}), ("deepseek_v3", LATENT),
    ("deepseek_v3", LATENT | {"attention_bias": True, "first_k_dense_replace": 3}), ("gpt_oss", GPT_OSS),
    ("gpt_oss", GPT_OSS | {"attention_bias": False}), ("glm4_moe", EXPERTS | LATENT | {"head_dim": 14, "use_qk_norm": True}),
    ("glm4_moe", EXPERTS | LATENT | {"head_dim": 14, "attention_bias": True}), ("ministral3", {"head_dim": 14}), ("olmo3", {}),
    ("minimax_m2", {"head_dim": 14, "num_local_experts": 5, "num_experts_per_tok": 2}), ("granite", {"mlp_bias": True}), ("smollm3", {}),
    ("smollm3", {"tie_word_embeddings": False}), ("seed_oss", {"head_dim": 14}),
    ("seed_oss", {"attention_bias": False, "attention_out_bias": True, "mlp_bias": True}), ("cohere2", {}), ("ernie4_5", {"head_dim": 14}),
    ("ernie4_5", {"use_bias": True, "tie_word_embeddings": False}), ("hunyuan_v1_dense", {"head_dim": 14}),
    ("dots1", {key: LATENT[key] for key in ("moe_intermediate_size", "n_routed_experts", "num_experts_per_tok", "n_shared_experts",
                                            "first_k_dense_replace", "n_group", "topk_group")}),
    ("glm4_moe_lite", LATENT), ("qwen3_next", DELTA | SHARED), ("qwen3_next", DELTA | SHARED | {"mlp_only_layers": [1], "attention_bias": True}),
    ("qwen3_next", DELTA | SHARED | {"layer_types": ["full_attention", "linear_attention"] * 2}), ("qwen3_5_text", DELTA),
    ("qwen3_5_text", DELTA | {"num_hidden_layers": 9}), ("qwen3_5_moe_text", DELTA | SHARED), ("deepseek_v32", INDEX),
    ("glm_moe_dsa", INDEX), ("glm_moe_dsa", INDEX | {"indexer_types": ["full", "full", "shared", "shared"], "attention_bias": True}),
    ("glm_moe_dsa", INDEX | {"num_hidden_layers": 9, "index_topk_freq": 4, "index_skip_topk_offset": 3}),
    ("llama4_text", {"head_dim": 14, "num_local_experts": 5, "intermediate_size_mlp": 38}),
    ("llama4_text", {"head_dim": 14, "num_local_experts": 5, "intermediate_size_mlp": 38, "interleave_moe_layer_step": 2, "attention_bias": True}),
    ("gemma4_text", GEMMA_4), ("gemma4_text", GEMMA_4 | {"num_kv_shared_layers": 2, "use_double_wide_mlp": True}),
    ("gemma4_text", GEMMA_4 | EXPERTS | {"enable_moe_block": True, "top_k_experts": 2, "hidden_size_per_layer_input": 0}),
    ("gemma4_text", GEMMA_4 | {"attention_k_eq_v": True, "num_global_key_value_heads": 1}), ("deepseek_v4", DEEPSEEK_4),
    ("deepseek_v4", DEEPSEEK_4 | {"num_hidden_layers": 5, "layer_types": None, "mlp_layer_types": None}), ("minimax_m3_vl_text", MINIMAX_3),
    ("minimax_m3_vl_text", MINIMAX_3 | {"layer_types": None, "mlp_layer_types": None}),
]


def write(folder, config, name="config.json"):
    (folder / name).write_text(json.dumps(config))
    return folder / name


def by_layer(sizes):
    """Sums of numbers by layer, and "" of what is in none, of pairs of a name and its numbers."""
    found = Counter()
    for name, numbers in sizes:
        layer = re.search(r"(?:layers|blk)\.(\d+)\.", name)
        found[layer[1] if layer else ""] += numbers
    return found


def text_tensors(config):
    """The text model's tensors by transformers. Some buffers are saved with the parameters, such as the bias by which experts are chosen."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    saved = ("correction_bias", "layer_scalar", "tid2eid")
    tensors = [*model.named_parameters(), *((name, buffer) for name, buffer in model.named_buffers() if name.endswith(saved))]
    return {name: tensor for name, tensor in tensors if "vision" not in name and "projector" not in name}


def check(checkpoint, config):
    """Each layer has as many numbers as the model that transformers makes, and each matrix has a shape that is there, too."""
    expected = text_tensors(config)
    assert by_layer((tensor.name, tensor.numbers) for tensor in checkpoint.tensors) == by_layer(
        (name, tensor.numel()) for name, tensor in expected.items())
    matrices = {tensor.shape for tensor in checkpoint.tensors if len(tensor.shape) == 2 and tensor.name.endswith(".weight")}
    # transformers has both in one matrix, and GGUF has not.
    in_one = {"qwen3next": ("attn_qkv.weight", "attn_gate.weight"), "minimax-m3": ("ffn_gate.weight", "ffn_up.weight", "_shexp.weight")}
    matrices -= {tensor.shape for tensor in checkpoint.tensors if tensor.name.endswith(in_one.get(checkpoint.architecture, ()))}
    assert matrices <= {tuple(size for size in tensor.shape if size != 1) for tensor in expected.values()}
    assert len(checkpoint.by_name) == len(checkpoint.tensors)


def keys_of(group):
    """The keys of the metadata that a class of the package gguf has, without the architecture's name before them."""
    for value in vars(group).values():
        if isinstance(value, str):
            yield value.partition("{arch}.")[2]
        elif isinstance(value, type):
            yield from keys_of(value)


def check_names(checkpoint, *more):
    gguf = pytest.importorskip("gguf")
    if checkpoint.architecture in ("deepseek4", "minimax-m3"):
        return  # The package does not know them yet.
    # Nor the former, whose names are those of the latter.
    architecture = "glm-dsa" if checkpoint.architecture == "deepseek32" else checkpoint.architecture
    kind = next(kind for kind, known in gguf.MODEL_ARCH_NAMES.items() if known == architecture)
    known = {gguf.TENSOR_NAMES[tensor].replace("{bid}", "N") for tensor in gguf.MODEL_TENSORS[kind]}
    assert {re.sub(r"^blk\.\d+", "blk.N", re.sub(r"\.(weight|bias|scale)$", "", tensor.name)) for tensor in checkpoint.tensors} <= known | set(more)
    assert set(checkpoint.metadata) <= set(keys_of(gguf.Keys))


@pytest.mark.parametrize("kind, change", MODELS)
def test_as_many_numbers_as_transformers_has(kind, change, tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(kind, **(SIZES | change), dtype="bfloat16")
    config.save_pretrained(tmp_path)
    checkpoint = read_config(tmp_path)
    check(checkpoint, config)
    # Nobody has published models of these kinds with layers without experts, or untied.
    check_names(checkpoint, "output", "blk.N.ffn_gate", "blk.N.ffn_up", "blk.N.ffn_down")
    assert {tensor.type for tensor in checkpoint.tensors if not tensor.name.endswith("tid2eid.weight")} == {"BF16"}


def test_deepseek_4_as_its_makers_publish_it(tmp_path):
    """transformers 5 has other names for what layers do, and writes experts of four bits into quantization_config."""
    plain = LLAMA | {"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"hidden_size": 64, "moe_intermediate_size": 32}
    published = {key: value for key, value in plain.items() if key not in ("layer_types", "mlp_layer_types")} | {
        "compress_ratios": [0, 4, 128, 4, 0], "num_hash_layers": 1, "qk_rope_head_dim": 8, "expert_dtype": "fp4",
        "quantization_config": {"quant_method": "fp8"}}
    expected, found = read_config(write(tmp_path, plain)), read_config(write(tmp_path, published))
    assert found.metadata == expected.metadata | {"rope.dimension_count": 8}
    assert [(tensor.name, tensor.shape) for tensor in found.tensors] == [(tensor.name, tensor.shape) for tensor in expected.tensors]
    types = {"attn_q_a": "I8", "ffn_up_exps": "MXFP4", "ffn_up_shexp": "I8", "hc_ffn_fn": "BF16", "ffn_gate_tid2eid": "I32"}
    assert {name: found.by_name[f"blk.0.{name}.weight"].type for name in types} == types
    graph = emplace.llm.load(tmp_path / "config.json", context=256, kinds="rtx4090")
    # 256 rows of the window and of a part of a prompt, 64 or 2 further ones, and the last tokens that are no row yet.
    kept = [2 * 256 * 16, 2 * 256 * 16 + 2 * 64 * (16 + 10) + 4 * 2 * 4 * 4 * (16 + 10), 2 * 256 * 16 + 2 * 2 * 16 + 4 * 2 * 128 * 16]
    weights = sum(tensor.bytes for tensor in found.tensors if not tensor.name.endswith("sinks.weight"))
    assert graph.param_bytes.sum() == weights + kept[0] + 2 * kept[1] + kept[2]


def test_minimax_3_as_its_makers_publish_it(tmp_path):
    text = LLAMA | {"model_type": "minimax_m3_vl_text"} | MINIMAX_3 | {"index_topk_blocks": 4, "index_block_size": 64}
    sparse = {"sparse_num_index_heads": 3, "sparse_index_dim": 10, "sparse_topk_blocks": 4, "sparse_block_size": 64,
              "sparse_attention_freq": [0, 1] * 2}
    older = {key: value for key, value in text.items() if not key.startswith("index_") and key not in ("layer_types", "mlp_layer_types")}
    expected = read_config(write(tmp_path, text))
    found = read_config(write(tmp_path, {"model_type": "minimax_m3_vl", "dtype": "bfloat16",
                                         "text_config": older | {"sparse_attention_config": sparse, "moe_layer_freq": [0, 1, 1, 1]}}))
    assert found.metadata == expected.metadata and found.tensors == expected.tensors


def test_layers_of_gemma_4_as_its_makers_publish_it(tmp_path):
    """transformers 5 writes per_layer_config; files of models have these keys."""
    config = LLAMA | {"model_type": "gemma4_text"} | GEMMA_4 | {"attention_k_eq_v": True, "num_global_key_value_heads": 1}
    shapes = {name: tensor.shape for name, tensor in read_config(write(tmp_path, config)).by_name.items()}
    assert [shapes.get(f"blk.{layer}.attn_{part}.weight") for layer in range(2) for part in "qkv"] == [
        (6 * 14, 60), (2 * 14, 60), (2 * 14, 60), (6 * 20, 60), (20, 60), None]


def test_layers_of_llama_4_that_see_a_window(tmp_path):
    def read(**changes):
        return read_config(write(tmp_path, LLAMA | {"model_type": "llama4_text", "num_local_experts": 5} | changes)).metadata
    assert (read()["attention.sliding_window"], read()["attention.sliding_window_pattern"]) == (8192, 4)
    assert read(no_rope_layers=[1, 0, 1, 0])["attention.sliding_window_pattern"] == [True, False, True, False]
    assert read(attention_chunk_size=None)["attention.sliding_window"] == 0


def test_text_model_within_one_that_sees_images(tmp_path):
    transformers = pytest.importorskip("transformers")
    vision = {"hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28,
              "patch_size": 14}
    text = SIZES | {"head_dim": 14}
    config = transformers.AutoConfig.for_model("gemma3", text_config=text, vision_config=vision, mm_tokens_per_image=4, dtype="float16")
    config.save_pretrained(tmp_path)
    checkpoint = read_config(tmp_path / "config.json")
    check(checkpoint, config)
    assert {tensor.type for tensor in checkpoint.tensors} == {"F16"}


# Parts of config.json files of published models, and their numbers of parameters: of the text model, without layers that guess more tokens.
PUBLISHED = {
    "Llama-3.1-8B": (8_030_261_248, {
        "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072}),
    "Mixtral-8x7B-v0.1": (46_702_792_704, {
        "model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
        "max_position_embeddings": 32768}),
    "Qwen2.5-7B": (7_615_616_512, {
        "model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 131072}),
    # As transformers up to 4.49 wrote it: the text model's values beside those of what sees images.
    "Qwen2.5-VL-7B-Instruct": (7_615_616_512, {
        "model_type": "qwen2_5_vl", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 128000, "tie_word_embeddings": False,
        "vision_config": {"depth": 32, "hidden_size": 1280}}),
    "Qwen3-30B-A3B": (30_532_122_624, {
        "model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 768, "num_experts": 128,
        "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "max_position_embeddings": 40960}),
    "Qwen3-Next-80B-A3B-Instruct": (79_674_391_296, {
        "model_type": "qwen3_next", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 48,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "max_position_embeddings": 262144}),
    "gemma-2-9b": (9_241_705_984, {
        "architectures": ["Gemma2ForCausalLM"], "vocab_size": 256000, "hidden_size": 3584, "intermediate_size": 14336,
        "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 4096,
        "max_position_embeddings": 8192}),
    "gemma-3-4b-it": (3_880_263_168, {
        "model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                                                "num_hidden_layers": 34, "sliding_window": 1024}}),
    "Phi-3-mini-4k-instruct": (3_821_079_552, {
        "model_type": "phi3", "vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096, "sliding_window": 2047}),
    "DeepSeek-V2-Lite": (15_706_484_224, {
        "model_type": "deepseek_v2", "vocab_size": 102400, "hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
        "num_attention_heads": 16, "num_key_value_heads": 16, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1, "max_position_embeddings": 163840}),
    "DeepSeek-V3": (671_026_419_200, {
        "model_type": "deepseek_v3", "vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
        "num_attention_heads": 128, "num_key_value_heads": 128, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "max_position_embeddings": 163840}),
    "Llama-3.3-Nemotron-Super-49B-v1": (49_867_145_216, NEMOTRON_SUPER),
    "gpt-oss-20b": (20_914_757_184, {
        "model_type": "gpt_oss", "vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4,
        "sliding_window": 128, "max_position_embeddings": 131072, "quantization_config": {"quant_method": "mxfp4"}}),
}


def published(name, folder, **changes):
    return write(folder, PUBLISHED[name][1] | {"torch_dtype": "bfloat16"} | changes)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_numbers_of_parameters(name, tmp_path):
    assert sum(tensor.numbers for tensor in read_config(published(name, tmp_path)).tensors) == PUBLISHED[name][0]


@pytest.mark.parametrize("name", PUBLISHED)
def test_names_are_those_of_gguf(name, tmp_path):
    check_names(read_config(published(name, tmp_path)))


@pytest.mark.parametrize("name, expected", [
    ("Llama-3.1-8B", {"block_count": 32, "embedding_length": 4096, "feed_forward_length": 14336, "context_length": 131072,
                      "vocab_size": 128256, "attention.head_count": 32, "attention.head_count_kv": 8, "attention.key_length": 128,
                      "attention.value_length": 128, "rope.dimension_count": 128}),
    ("Qwen3-30B-A3B", {"expert_count": 128, "expert_used_count": 8, "leading_dense_block_count": 0, "expert_feed_forward_length": 768}),
    ("gemma-3-4b-it", {"attention.head_count": 8, "attention.head_count_kv": 4, "attention.key_length": 256, "context_length": 131072,
                       "attention.sliding_window": 1024, "attention.sliding_window_pattern": 6}),
    ("gemma-2-9b", {"attention.sliding_window": 4096, "attention.sliding_window_pattern": 2}),
    ("gpt-oss-20b", {"attention.sliding_window": 128, "attention.sliding_window_pattern": 2, "expert_count": 32, "expert_used_count": 4}),
    # As of one head, whose value is a part of its key.
    ("DeepSeek-V3", {"attention.head_count": 128, "attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512,
                     "attention.kv_lora_rank": 512, "rope.dimension_count": 64, "leading_dense_block_count": 3, "expert_shared_count": 1}),
    ("Llama-3.3-Nemotron-Super-49B-v1", {"attention.head_count": [64] * 6 + [0] * 2 + [64] * 4 + [0] + [64] * 29 + [0] * 10 + [64] + [0] * 18 +
                                         [64] * 9, "attention.key_length": 128}),
    ("Phi-3-mini-4k-instruct", {"attention.sliding_window": None, "attention.sliding_window_pattern": None, "expert_count": None}),
])
def test_metadata(name, expected, tmp_path):
    metadata = read_config(published(name, tmp_path)).metadata
    assert {key: metadata.get(key) for key in expected} == expected


UNLIKE = SIZES | {"model_type": "nemotron-nas", "torch_dtype": "bfloat16", "intermediate_size": None, "num_key_value_heads": None,
                  "block_configs": [block_config(1.5, 3), block_config(0.1), block_config(None, linear=True), block_config(None)]}


def test_layers_that_lack_a_part(tmp_path):
    checkpoint = read_config(write(tmp_path, UNLIKE))
    of_layer = {layer: {tensor.name.split(".")[2] for tensor in checkpoint.tensors if tensor.name.startswith(f"blk.{layer}.")}
                for layer in range(4)}
    feed_forward = {"ffn_norm", "ffn_gate", "ffn_up", "ffn_down"}
    assert of_layer == {0: {"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"} | feed_forward, 1: feed_forward,
                        2: {"attn_norm", "attn_output"}, 3: set()}
    assert checkpoint.by_name["blk.0.attn_k.weight"].shape == (20, 60)  # Six heads, three of which share one.
    assert checkpoint.metadata["attention.head_count"] == [6, 0, 6, 0] and checkpoint.metadata["attention.head_count_kv"] == [2, 0, 0, 0]
    assert checkpoint.metadata["feed_forward_length"] == [256, 256, 0, 0]


@pytest.mark.parametrize("blocks, error", [
    (None, "block_configs is missing, expected a list with the sizes of each of 4 layers"), ([block_config(1)] * 3, "block_configs is "),
    ([None] * 4, r"block_configs\[0\] is missing, expected an object with attention and ffn"),
    ([block_config(1), block_config(1, 4)] * 2, r"block_configs\[1\].attention.n_heads_in_group is 4, expected a divisor of num_attention_heads, 6"),
    ([block_config(0)] * 4, r"block_configs\[0\].ffn.ffn_mult is 0, expected a number above 0"),
    ([block_config(1, 3) | {"attention": {"window_length": 8, "n_heads_in_group": 3}}] * 4, r"block_configs\[0\] is .*, expected attention to all tokens"),
])
def test_bad_layers(blocks, error, tmp_path):
    with pytest.raises(emplace.BadInput, match=error) as raised:
        read_config(write(tmp_path, UNLIKE | {"block_configs": blocks}))
    assert "\n" not in str(raised.value)


def test_layers_of_a_kind_that_is_not_known(tmp_path):
    config = SIZES | DELTA | {"model_type": "qwen3_5_text", "torch_dtype": "bfloat16", "linear_conv_kernel_dim": 4}
    for kinds, error in ((["full_attention", "mamba"] * 2, "layer_types is 'mamba', expected full_attention or linear_attention"),
                         (["full_attention"], "layer_types is .*, expected a list with the kind of attention of each of 4 layers")):
        with pytest.raises(emplace.BadInput, match=error):
            read_config(write(tmp_path, config | {"layer_types": kinds}))


def test_windows_by_layer(tmp_path):
    kinds = ["sliding_attention", "full_attention"] * 12
    metadata = read_config(published("gpt-oss-20b", tmp_path, layer_types=kinds)).metadata
    assert metadata["attention.sliding_window_pattern"] == 2
    kinds[0] = "full_attention"
    metadata = read_config(published("gpt-oss-20b", tmp_path, layer_types=kinds)).metadata
    assert metadata["attention.sliding_window_pattern"] == [kind == "sliding_attention" for kind in kinds]
    assert "attention.sliding_window" not in read_config(published("gpt-oss-20b", tmp_path, sliding_window=None)).metadata


@pytest.mark.parametrize("parameters", [{"rope_parameters": {"partial_rotary_factor": 0.75}}, {"partial_rotary_factor": 0.75}])
def test_heads_that_rotate_in_part(parameters, tmp_path):
    assert read_config(published("Phi-3-mini-4k-instruct", tmp_path, **parameters)).metadata["rope.dimension_count"] == 72


def test_name_is_the_folders_or_the_files(tmp_path):
    (tmp_path / "Tiny-1B").mkdir()
    write(tmp_path / "Tiny-1B", LLAMA)
    assert read_config(tmp_path / "Tiny-1B").name == "Tiny-1B"
    assert read_config(write(tmp_path, LLAMA, "small.json")).name == "small"


def test_what_is_not_quantized_has_16_bits_where_no_file_says_it(tmp_path):
    types = {tensor.name: tensor.type for tensor in read_config(write(tmp_path, SIZES | GPT_OSS | {
        "model_type": "gpt_oss", "sliding_window": 128, "quantization_config": {"quant_method": "mxfp4"}})).tensors}
    assert types["token_embd.weight"] == types["blk.0.attn_q.weight"] == "BF16"


def test_a_weight_type_is_that_of_matrices(tmp_path):
    path = published("Qwen3-30B-A3B", tmp_path)
    types = {tensor.name.removeprefix("blk.0."): tensor.type for tensor in read_config(path, weight_type="Q4_K").tensors}
    assert types["token_embd.weight"] == types["attn_q.weight"] == types["ffn_up_exps.weight"] == "Q4_K"
    assert types["attn_norm.weight"] == types["attn_k_norm.weight"] == types["ffn_gate_inp.weight"] == "F32"
    # Rows of 2,880 numbers are 90 blocks of 32, and no whole number of 256. Biases of experts are not quantized.
    path = published("gpt-oss-20b", tmp_path)
    for weight_type, found in (("Q4_K", "Q5_0"), ("Q6_K", "Q8_0"), ("IQ4_XS", "IQ4_NL"), ("Q8_0", "Q8_0")):
        types = {tensor.name.removeprefix("blk.0."): tensor.type for tensor in read_config(path, weight_type=weight_type).tensors}
        assert types["ffn_down_exps.weight"] == types["attn_k.weight"] == found and types["attn_output.weight"] == weight_type
        assert types["ffn_down_exps.bias"] == types["ffn_gate_inp.weight"] == types["attn_sinks.weight"] == "F32"
    # A weight type needs no other in the file, nor a method that is known.
    write(tmp_path, SIZES | {"model_type": "llama", "quantization_config": {"quant_method": "own"}})
    assert {tensor.type for tensor in read_config(tmp_path, weight_type="BF16").tensors} == {"BF16", "F32"}


@pytest.mark.parametrize("quantization, found", [
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "I8"), ({"quant_method": "awq", "bits": 4}, "Q4_0"),
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, "IQ4_XS"), ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "Q4_0"),
    ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "IQ4_XS"), ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "Q8_0"),
    ({"quant_method": "gptq", "bits": 4}, "Q4_0"), ({"quant_method": "gptq", "bits": 8}, "Q8_0")])
def test_quantized_weights(quantization, found, tmp_path):
    path = published("Qwen3-30B-A3B", tmp_path, quantization_config=quantization)
    types = {tensor.name.removeprefix("blk.0."): tensor.type for tensor in read_config(path).tensors}
    assert types["attn_q.weight"] == types["ffn_up_exps.weight"] == found
    assert {types[f"{name}.weight"] for name in ("token_embd", "output", "output_norm", "attn_norm", "ffn_gate_inp")} == {"BF16"}


def test_quantized_experts_alone(tmp_path):
    tensors = read_config(published("gpt-oss-20b", tmp_path)).tensors
    assert {tensor.type for tensor in tensors if tensor.name.endswith("_exps.weight")} == {"MXFP4"}
    assert {tensor.type for tensor in tensors if not tensor.name.endswith("_exps.weight")} == {"BF16"}
    # The bytes that the index of the published files has.
    assert sum(tensor.bytes for tensor in tensors) == 13_761_264_768


@pytest.mark.parametrize("factor, warned", [(1, 0), (0.98, 0), (1.02, 0), (0.96, 1), (1.04, 1)])
@pytest.mark.filterwarnings("default")
def test_an_index_says_as_many_bytes(factor, warned, tmp_path, recwarn):
    total = sum(tensor.bytes for tensor in read_config(write(tmp_path, LLAMA)).tensors)
    index = write(tmp_path, {"metadata": {"total_size": round(total * factor)}, "weight_map": {}}, "model.safetensors.index.json")
    assert read_config(index) == read_config(tmp_path)
    messages = [str(warning.message) for warning in recwarn]
    assert len(messages) == warned and all(message.startswith(f"{index}: metadata.total_size is ") for message in messages)
    recwarn.clear()
    read_config(index, weight_type="Q8_0")
    write(tmp_path, LLAMA | {"quantization_config": {"quant_method": "fp8"}})
    read_config(index)
    assert not recwarn


@pytest.mark.parametrize("content, error", [
    ({}, "index.json: metadata.total_size is missing, expected"), ({"metadata": []}, "metadata.total_size is missing"),
    ({"metadata": {"total_size": "9"}}, 'metadata.total_size is "9", expected a number of bytes'),
    ({"metadata": {"total_size": True}}, "metadata.total_size is true"),
    ({"metadata": {"total_size": float("nan")}}, "metadata.total_size is NaN"),
])
def test_bad_index(content, error, tmp_path):
    write(tmp_path, LLAMA)
    with pytest.raises(emplace.BadInput, match=error):
        read_config(write(tmp_path, content, "model.safetensors.index.json"))


@pytest.mark.parametrize("change, error", [
    ({"model_type": "llama9"}, "model_type is 'llama9', expected one of llama, llama4, "), ({"model_type": None}, "model_type is missing"),
    ({"model_type": 3}, "model_type is 3"), ({"model_type": None, "architectures": ["BertForMaskedLM"]}, "model_type is 'bert'"),
    ({"model_type": None, "architectures": [4]}, "model_type is missing"),
    ({"hidden_size": None}, "hidden_size is missing, expected a whole number from 1 to 2147483647"),
    ({"hidden_size": "60"}, "hidden_size is '60'"), ({"hidden_size": 60.0}, r"hidden_size is 60\.0"),
    ({"hidden_size": True}, "hidden_size is true"),
    ({"hidden_size": 2**31}, "hidden_size is 2147483648"),
    ({"vocab_size": 0}, "vocab_size is 0"), ({"intermediate_size": -4}, "intermediate_size is -4"),
    ({"num_hidden_layers": 10_001}, "num_hidden_layers is 10001, expected a whole number from 1 to 10000"),
    ({"num_attention_heads": 7}, "num_attention_heads is 7, expected a divisor of hidden_size, 60, or a head_dim"),
    ({"num_attention_heads": 6, "num_key_value_heads": 4}, "num_key_value_heads is 4, expected a divisor of num_attention_heads, 6"),
    ({"num_key_value_heads": [2]}, r"num_key_value_heads is \[2\]"), ({"attention_bias": 1}, "attention_bias is 1, expected true or false"),
    ({"tie_word_embeddings": "no"}, "tie_word_embeddings is 'no'"), ({"torch_dtype": None}, "dtype is missing, expected bfloat16, "),
    ({"torch_dtype": "int3"}, "dtype is 'int3'"), ({"torch_dtype": []}, r"dtype is \[\]"),
    ({"rope_parameters": {"partial_rotary_factor": 2}}, "partial_rotary_factor is 2"),
    ({"partial_rotary_factor": "x"}, "partial_rotary_factor is 'x'"),
    ({"quantization_config": 4}, "quantization_config.quant_method is missing, expected awq, fp8, gptq, mxfp4, or a weight type"),
    ({"quantization_config": {"quant_method": "hqq"}}, "quantization_config.quant_method is 'hqq'"),
    ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "quantization_config.bits is 3, expected 4 or 8, or a weight type"),
    ({"quantization_config": {"quant_method": "awq", "bits": [4]}}, r"quantization_config.bits is \[4\], expected 4, or"),
    ({"text_config": {"model_type": "llama"}}, "text_config.hidden_size is missing"),
    ({"model_type": "gemma2", "sliding_window": 0}, "sliding_window is 0"),
    ({"model_type": "gemma2", "sliding_window": 8, "layer_types": ["full_attention"]},
     r"layer_types is \[\"full_attention\"\], expected a list"),
    ({"model_type": "qwen3_moe"}, "num_experts is missing"),
    ({"model_type": "qwen3_moe", "num_local_experts": 0}, "num_local_experts is 0"),
    ({"model_type": "qwen3_moe"} | EXPERTS | {"num_experts_per_tok": 6}, "num_experts_per_tok is 6, expected a whole number from 1 to 5"),
    ({"model_type": "qwen3_moe"} | EXPERTS | {"mlp_only_layers": 3}, "mlp_only_layers is 3"),
    ({"model_type": "qwen3_moe"} | EXPERTS | {"mlp_only_layers": [500]}, r"mlp_only_layers is \[500\], expected a list of layers, 0 to "),
    ({"model_type": "qwen3_moe"} | EXPERTS | {"first_k_dense_replace": 100}, "first_k_dense_replace is 100, expected a whole number from 0 to "),
    ({"model_type": "qwen2_moe"} | EXPERTS, "shared_expert_intermediate_size is missing"),
    ({"model_type": "deepseek_v3"} | LATENT | {"kv_lora_rank": None}, "kv_lora_rank is missing"),
    ({"model_type": "deepseek_v3"} | LATENT | {"q_lora_rank": 0}, "q_lora_rank is 0"),
    ({"model_type": "deepseek_v32"} | INDEX | {"q_lora_rank": None}, "q_lora_rank is missing"),
    ({"model_type": "glm_moe_dsa"} | INDEX | {"index_head_dim": None}, "index_head_dim is missing"),
    ({"model_type": "glm_moe_dsa"} | INDEX | {"indexer_types": ["full", "half"] * 2}, "expected a list with full or shared of each of 4"),
    ({"model_type": "glm_moe_dsa"} | INDEX | {"mlp_layer_types": [1] * 4}, "expected a list with sparse or dense of each of 4"),
    ({"model_type": "llama4", "num_local_experts": 5, "moe_layers": [4]}, r"moe_layers is \[4\], expected a list of layers, 0 to 3"),
    ({"model_type": "llama4", "num_local_experts": 5, "no_rope_layers": [1, 0, 2, 0]}, "expected a list with 0 or 1 of each"),
    ({"model_type": "gemma4"} | GEMMA_4 | {"per_layer_config": [20]}, r"per_layer_config is \[20\], expected the same head_dim"),
    ({"model_type": "gemma4"} | GEMMA_4 | {"per_layer_config": {"1": {"head_dim": 20}, "3": {"head_dim": [20]}}}, "per_layer_config is "),
    ({"model_type": "gemma4"} | GEMMA_4 | {"per_layer_config": {"1": {"head_dim": 20}}}, "per_layer_config is "),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"o_groups": 5}, "o_groups is 5, expected a divisor of what all heads give, 96"),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"layer_types": None, "compress_ratios": [4, 128]}, r"compress_ratios is \[4, 128\], expected"),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"layer_types": None, "compress_ratios": [4, 128, 64, 4]}, "compress_ratios is .*with 0, 4 or 128"),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"compress_rates": {"compressed_sparse_attention": 0}}, "compress_rates is "),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"compress_rates": 4}, "compress_rates is 4, expected an object"),
    ({"model_type": "deepseek_v4"} | DEEPSEEK_4 | {"mlp_layer_types": ["moe"] * 3}, "expected a list with hash_moe or moe of each of 4"),
    ({"model_type": "minimax_m3_vl"} | MINIMAX_3 | {"index_topk_blocks": 4, "layer_types": ["sparse"] * 4}, "full_attention or minimax_m3_sparse of"),
    ({"model_type": "minimax_m3_vl"} | MINIMAX_3 | {"sparse_attention_config": {"sparse_topk_blocks": 0}}, "index_topk_blocks is 0"),
    ({"model_type": "gemma4"} | GEMMA_4 | {"num_kv_shared_layers": 4}, "num_kv_shared_layers is 4, expected a whole number from 0 to 3"),
])
def test_bad_config(change, error, tmp_path):
    path = write(tmp_path, LLAMA | change)
    with pytest.raises(emplace.BadInput, match=error) as raised:
        read_config(path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def test_a_text_of_two_lines_is_shown_in_one(tmp_path):
    with pytest.raises(emplace.BadInput, match=r'model_type is "lla\\nma", expected one of') as raised:
        read_config(write(tmp_path, LLAMA | {"model_type": "lla\nma"}))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text, error", [("", "is no JSON"), ("[]", r"config\.json: holds \[\], expected an object"), ('{"a": 1, "a": 2}', "given twice")])
def test_text_that_is_no_config(text, error, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(emplace.BadInput, match=error):
        read_config(tmp_path)


def test_a_file_that_is_not_there_and_a_type_that_there_is_not(tmp_path):
    for path in (tmp_path, tmp_path / "model.safetensors.index.json", tmp_path / "config.json"):
        with pytest.raises(emplace.BadInput, match=r"config\.json: cannot be read"):
            read_config(path)
    with pytest.raises(emplace.BadInput, match="type of numbers is 'Q9_K'"):
        read_config(write(tmp_path, LLAMA), weight_type="Q9_K")
