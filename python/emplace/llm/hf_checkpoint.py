"""Language models by the config.json of transformers: what a GGUF file of the same model says of it and lists."""
import json
import math
import os
import pathlib
import warnings

from emplace._core import BadInput
from emplace.llm.checkpoint import Checkpoint, Tensor, type_sizes
from emplace.llm.hf_config import Config
from emplace.llm.hf_layers import LayerKind, layers_of
from emplace.llm.hf_tensors import layer_tensors, outer_tensors
from emplace.reading import Unmapped, read_json

_TOLERANCE = 0.03  # Between the bytes that an index has and those of the tensors.
_DTYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
# What llama.cpp takes for rows that are not whole blocks of 256 (llama-quant.cpp, tensor_type_fallback).
_FALLBACKS = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "TQ1_0": "Q4_0", "TQ2_0": "Q4_0"}


def _that_fits(wanted: str, row: int) -> str:
    """The type, or the one that llama.cpp takes where a row of so many numbers is not whole blocks of it."""
    if row % type_sizes(wanted)[0]:
        wanted = _FALLBACKS.get(wanted, "IQ4_NL")
    return "F16" if row % type_sizes(wanted)[0] else wanted


def _metadata(config: Config, kinds: list[LayerKind]) -> dict[str, int | float | str | list]:
    made = {"block_count": config.layers, "embedding_length": config.hidden, "vocab_size": config.count("vocab_size"),
            "context_length": config.count("max_position_embeddings"), "attention.head_count": config.heads}
    family = config.family
    if family.unlike or family.gemma_4:
        made |= {"feed_forward_length": [kind.inner for kind in kinds],
                 "attention.head_count": [config.heads if kind.attention else 0 for kind in kinds],
                 "attention.head_count_kv": [kind.key_heads for kind in kinds]}
    else:
        made["feed_forward_length"] = config.count(family.inner, default=0, least=0)
    if family.latent:  # A cache holds the latent vectors, as keys and values of one head.
        made |= {"attention.head_count_kv": 1, "attention.key_length": config.rank + config.rotary, "attention.value_length": config.rank,
                 "attention.key_length_mla": config.plain + config.rotary, "attention.value_length_mla": config.value,
                 "attention.kv_lora_rank": config.rank, "rope.dimension_count": config.rotary}
    else:
        width = max(kind.width for kind in kinds)
        rotated = config.count("qk_rope_head_dim", "rotary_dim", default=config.rotated())
        made |= {"attention.key_length": width, "attention.value_length": width, "rope.dimension_count": rotated}
        made.setdefault("attention.head_count_kv", config.key_heads)
    if family.ranks:
        made |= {"attention.indexer.head_count": config.index_heads, "attention.indexer.key_length": config.index_width,
                 "attention.indexer.top_k": config.count("index_topk_blocks" if family.ranks == "blocks" else "index_topk")}
    if family.compressed:
        made |= {"attention.sliding_window": config.count("sliding_window"), "attention.compress_ratios": [kind.ratio for kind in kinds],
                 "attention.output_group_count": config.count("o_groups"), "attention.output_lora_rank": config.count("o_lora_rank"),
                 "hyper_connection.count": config.lanes}
    if family.gemma_4:
        made |= {"attention.key_length_swa": config.width, "attention.value_length_swa": config.width,
                 "attention.shared_kv_layers": sum(kind.projected == "q" for kind in kinds),
                 "embedding_length_per_layer_input": config.per_layer}
    if family.delta_gates:
        made |= {"ssm.conv_kernel": config.delta_kernel, "ssm.state_size": config.delta_key, "ssm.group_count": config.delta_keys,
                 "ssm.time_step_rank": config.delta_values, "ssm.inner_size": config.delta_values * config.delta_value,
                 "full_attention_interval": config.count("full_attention_interval")}
    if family.architecture in ("glm4moe", "glm-dsa") and config.get("num_nextn_predict_layers"):
        extra = config.count("num_nextn_predict_layers")  # In GGUF files they are layers behind the last one.
        made |= {"block_count": config.layers + extra, "nextn_predict_layers": extra}
    if family.full_every and config.get(family.window) is not None:
        made |= {"attention.sliding_window": config.count(family.window), "attention.sliding_window_pattern": config.window_pattern()}
    elif family.architecture == "llama4":
        made["attention.sliding_window"] = 0  # A file without the number has a window.
    if config.has_experts:
        made |= {"expert_count": config.experts, "expert_feed_forward_length": config.expert_width,
                 "expert_used_count": config.count("num_experts_per_tok", "experts_per_token", "top_k_experts", most=config.experts),
                 "leading_dense_block_count": [*(kind.experts for kind in kinds), True].index(True)}
        if config.shared_width:
            made |= {"expert_shared_count": config.count("n_shared_experts", default=1),
                     "expert_shared_feed_forward_length": config.shared_width}
    return made


def read_config(path: str | os.PathLike, *, weight_type: str | None = None) -> Checkpoint:
    """Reads a config.json of transformers, or that of a folder, or the one beside a model.safetensors.index.json.

    weight_type: GGUF's type of all matrices, such as "Q4_K"; norms, biases and routers are F32 then, and matrices whose rows are
    not whole blocks of the type get the one that llama.cpp takes then. None: what the config has. Of a model that also sees images
    it is the text model alone. Layers that guess further tokens (DeepSeek V3, GLM 4.5 and 5, Qwen 3.5) are left out, and so is a window that all
    layers have (Mistral 0.1, Phi 3): llama.cpp uses neither. An index whose total_size differs from the tensors' bytes by more than
    3% makes a warning where the two can be compared: not with a weight_type, quantized weights, or parts left out. Raises BadInput
    for what is no config of a known model.
    """
    given = pathlib.Path(path)
    is_index = given.name.endswith(".index.json")
    config = Config(given / "config.json" if given.is_dir() else given.with_name("config.json") if is_index else given)
    small, quantized = "F32", None
    if weight_type is not None:
        type_sizes(weight_type)  # Raises for an unknown one.
    else:
        quantized, dtype = config.quantized_type(), config.get("dtype", "torch_dtype")
        if quantized is not None and dtype is None:
            dtype = "bfloat16"  # What is not quantized: the config.json of GPT-OSS leaves it out.
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise config.error("dtype", dtype, f"{', '.join(_DTYPES)}, or a weight type to be given")
        small = _DTYPES[dtype]

    def tensor(name: str, shape: tuple[int, ...]) -> Tensor:
        if name.endswith(".ffn_gate_tid2eid.weight"):
            return Tensor(name, shape, "I32")
        if len(shape) < 2 or "hc_" in name or name.endswith((".bias", ".ffn_gate_inp.weight", ".ssm_conv1d.weight", "_ape.weight")):
            return Tensor(name, shape, small)
        inside = quantized is not None and name.startswith("blk.") and (quantized != "MXFP4" or "_exps." in name)
        wanted = ("MXFP4" if fp4_experts and "_exps." in name else quantized) if inside else weight_type or small
        return Tensor(name, shape, _that_fits(wanted, shape[-1]))

    fp4_experts = quantized is not None and config.has_fp4_experts()
    kinds = layers_of(config)
    layers = {kind: layer_tensors(config, kind) for kind in set(kinds)}
    tensors = [tensor(name, shape) for name, shape in outer_tensors(config)]
    tensors += [tensor(f"blk.{layer}.{name}", shape) for layer, kind in enumerate(kinds) for name, shape in layers[kind]]
    if is_index and weight_type is None and not quantized and not config.nested and not config.get("num_nextn_predict_layers"):
        _compare(given, sum(tensor.bytes for tensor in tensors))
    file = config.path.resolve()
    return Checkpoint(file.parent.name if file.name == "config.json" else file.stem, config.family.architecture,
                      _metadata(config, kinds), tensors, str(config.path), config.nested)


def _compare(index: pathlib.Path, expected: int) -> None:
    """Warns where an index has another number of bytes than this. Raises BadInput for one that has none."""
    metadata = read_json(index).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
        raise BadInput(f"{index}: metadata.total_size is {'missing' if total is None else json.dumps(total)}, expected a number of bytes")
    if abs(total - expected) > _TOLERANCE * expected:
        warnings.warn(f"{index}: metadata.total_size is {total}, expected about {expected} by {index.with_name('config.json')}",
                      Unmapped, stacklevel=3)
