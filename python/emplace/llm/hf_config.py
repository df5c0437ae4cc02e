"""Language models by the config.json of transformers: the sizes and tensors that a GGUF file of the same model lists.

https://huggingface.co/docs/transformers/main_classes/configuration has the format; convert_hf_to_gguf.py of llama.cpp the names.
"""
import json
import math
import os
import pathlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emplace._core import BadInput
from emplace.llm.checkpoint import MOST_LAYERS, Checkpoint, Tensor, type_sizes
from emplace.llm.hf_families import FAMILIES
from emplace.reading import Unmapped, read_json

_TOLERANCE = 0.03  # Between the bytes that an index has and those of the tensors.
_DTYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
# By the method and the bits of quantization_config: the type whose blocks take about as many bytes. 0: the method has one size.
_QUANTIZED = {("fp8", 0): "I8", ("mxfp4", 0): "MXFP4", ("awq", 4): "Q4_0", ("gptq", 4): "Q4_0", ("gptq", 8): "Q8_0"}
# Numbers of a row for which AWQ and GPTQ have one scale of 16 bits and one zero of 4, so that 4 bits are at most 4.16: IQ4_XS has 4.25,
# and Q4_0 4.5. -1: the whole row.
_WIDE_GROUPS = (-1, 128, 256, 512, 1024)
# What llama.cpp takes for rows that are not whole blocks of 256 (llama-quant.cpp, tensor_type_fallback).
_FALLBACKS = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "TQ1_0": "Q4_0", "TQ2_0": "Q4_0"}
_OUTER = ("dtype", "torch_dtype", "quantization_config", "tie_word_embeddings")  # Keys that a model around a text model decides.
_Shape = tuple[str, tuple[int, ...]]  # A tensor's name within its layer, and its shape.


@dataclass(frozen=True)
class _LayerKind:
    """Of what a layer is made. Layers of one kind have the same tensors."""
    experts: bool = False
    attention: str = "heads"  # Or "latent"; "delta": a gated delta net in its place; "linear": a matrix; "": none.
    key_heads: int = 0
    inner: int = 0  # Width of the feed-forward network; 0: there is none, or there are experts.


class _Config:
    """Values of a config.json, each checked where it is read, and the sizes that several tensors need."""

    def __init__(self, path: pathlib.Path) -> None:
        root = read_json(path)
        self.path, self.nested = path, isinstance(root.get("text_config"), dict)
        self.values: dict = dict(root)
        if self.nested:
            self.values = root["text_config"] | {key: root[key] for key in _OUTER if root.get(key) is not None}
        kind = self.values.get("model_type") or root.get("model_type")
        if kind is None and isinstance(classes := root.get("architectures"), list) and classes and isinstance(classes[0], str):
            kind = re.sub(r"(?<!^)(?=[A-Z])", "_", classes[0].split("For")[0]).lower()  # Such as qwen3_moe of Qwen3MoeForCausalLM.
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise self.error("model_type", kind, f"one of {', '.join(FAMILIES)}")
        self.family = family = FAMILIES[kind]
        self.values = dict(family.defaults) | self.values
        self.hidden, self.heads = self.count("hidden_size"), self.count("num_attention_heads")
        self.layers = self.count("num_hidden_layers", most=MOST_LAYERS)
        if family.expert_width:
            self.experts = self.count("num_experts", "num_local_experts", "n_routed_experts")
            self.expert_width = self.count(family.expert_width)
            self.shared_width = self.count("shared_expert_intermediate_size") if family.shared_gate else \
                self.count("n_shared_experts", default=0, least=0) * self.expert_width
        if family.latent:
            self.rank, self.plain, self.rotary, self.value = (
                self.count(key) for key in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
        else:
            self.key_heads = self.count("num_key_value_heads", default=self.heads)
            if self.get("head_dim") is None and self.hidden % self.heads:
                raise self.error("num_attention_heads", self.heads, f"a divisor of hidden_size, {self.hidden}, or a head_dim")
            if self.heads % self.key_heads:
                raise self.error("num_key_value_heads", self.key_heads, f"a divisor of num_attention_heads, {self.heads}")
            self.width = self.count("head_dim", default=self.hidden // self.heads)
        if family.delta_gates:
            self.delta_keys, self.delta_values = self.count("linear_num_key_heads"), self.count("linear_num_value_heads")
            self.delta_key, self.delta_value = self.count("linear_key_head_dim"), self.count("linear_value_head_dim")
            self.delta_kernel = self.count("linear_conv_kernel_dim")
        self.kinds = self._unlike_layers() if family.unlike else self._like_layers()

    def error(self, key: str, value: Any, expected: str) -> BadInput:
        """One line about a value; None: there is none."""
        is_plain = isinstance(value, str) and value.isprintable()
        shown = "missing" if value is None else f"'{value}'" if is_plain else json.dumps(value)
        place = "text_config." if self.nested and key.split(".")[0] not in _OUTER else ""
        return BadInput(f"{self.path}: {place}{key} is {shown[:80]}, expected {expected}")

    def get(self, *keys: str) -> Any:
        """The value of the first of these keys that has one; None where none has."""
        return next((self.values[key] for key in keys if self.values.get(key) is not None), None)

    def count(self, *keys: str, default: int | None = None, least: int = 1, most: int = 2**31 - 1) -> int:
        """A whole number; default: where there is none. Raises BadInput for anything else."""
        key = next((key for key in keys if self.get(key) is not None), keys[0])
        value = default if self.get(key) is None else self.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.error(key, value, f"a whole number from {least} to {most}")
        return value

    def flag(self, flag: bool | str) -> bool:
        """A fixed answer, or what this key has: false where it is not there. Raises BadInput for what is neither true nor false."""
        value = self.get(flag) if isinstance(flag, str) else flag
        if not isinstance(value, bool | None):
            raise self.error(str(flag), value, "true or false")
        return bool(value)

    def _layer_types(self) -> list[str] | None:
        """[L] transformers' names of the layers' attention; None where they are not given."""
        kinds = self.get("layer_types")
        if kinds is not None and (not isinstance(kinds, list) or len(kinds) != self.layers or not all(isinstance(kind, str) for kind in kinds)):
            raise self.error("layer_types", kinds, f"a list with the kind of attention of each of {self.layers} layers")
        return kinds

    def window_pattern(self) -> int | list[bool]:
        """How often a layer sees more than a window, or by layer whether it has the window, where that is no such rule."""
        every = self.count("sliding_window_pattern", "_sliding_window_pattern", default=self.family.full_every)
        if (kinds := self._layer_types()) is None:
            return every
        windows = [kind != "full_attention" for kind in kinds]
        return every if windows == [layer % every != 0 for layer in range(1, self.layers + 1)] else windows

    def rotated(self) -> int:
        """Numbers of a head's query that rotate with the token's position."""
        parameters, part = self.get("rope_parameters"), self.get("partial_rotary_factor")
        if isinstance(parameters, dict):
            part = parameters.get("partial_rotary_factor", part)
        part = 1 if part is None else part
        if isinstance(part, bool) or not isinstance(part, int | float) or not 0 < part <= 1:
            raise self.error("partial_rotary_factor", part, "a number above 0, up to 1")
        return int(self.width * part)

    def _like_layers(self) -> list[_LayerKind]:
        """[L] where layers differ in nothing but whether they have experts."""
        inner = 0 if all(experts := self._with_experts()) else self.count("intermediate_size")
        return [_LayerKind(has_experts, attention, self.key_heads if attention == "heads" else 0, 0 if has_experts else inner)
                for has_experts, attention in zip(experts, self._attention_of_layers(), strict=True)]

    def _attention_of_layers(self) -> list[str]:
        """[L] the kind of attention of a family whose layers are alike but for that."""
        usual = "latent" if self.family.latent else "heads"
        if not self.family.delta_gates:
            return [usual] * self.layers
        every, kinds = self.count("full_attention_interval"), self._layer_types()
        if kinds is None:
            return [usual if (layer + 1) % every == 0 else "delta" for layer in range(self.layers)]
        names = {"full_attention": usual, "linear_attention": "delta"}
        if unknown := [kind for kind in kinds if kind not in names]:
            raise self.error("layer_types", unknown[0], f"{' or '.join(names)}")
        return [names[kind] for kind in kinds]

    def _unlike_layers(self) -> list[_LayerKind]:
        """[L] by block_configs, as models that were pruned layer by layer have them (Nemotron Super and Ultra)."""
        blocks = self.get("block_configs")
        if not isinstance(blocks, list) or len(blocks) != self.layers:
            raise self.error("block_configs", blocks, f"a list with the sizes of each of {self.layers} layers")
        return [self._layer_of_block(f"block_configs[{index}]", block) for index, block in enumerate(blocks)]

    def _layer_of_block(self, name: str, block: Any) -> _LayerKind:
        parts = [block.get(part) if isinstance(block, dict) else None for part in ("attention", "ffn")]
        if not all(isinstance(part, dict) for part in parts):
            raise self.error(name, block, "an object with attention and ffn")
        heads, inner = parts
        attention, key_heads, width = "", 0, 0
        if heads.get("replace_with_linear"):
            attention = "linear"
        elif not heads.get("no_op"):
            attention, of_key = "heads", heads.get("n_heads_in_group")
            if isinstance(of_key, bool) or not isinstance(of_key, int) or of_key < 1 or self.heads % of_key:
                raise self.error(f"{name}.attention.n_heads_in_group", of_key, f"a divisor of num_attention_heads, {self.heads}")
            key_heads = self.heads // of_key
        if heads.get("window_length") is not None or inner.get("replace_with_linear"):
            raise self.error(name, block, "attention to all tokens and a feed-forward network, or none of either")
        if not inner.get("no_op"):
            factor = inner.get("ffn_mult")
            if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1000:
                raise self.error(f"{name}.ffn.ffn_mult", factor, "a number above 0, below 1000")
            width = math.ceil(int(2 * factor * self.hidden / 3) / 256) * 256  # As the model's own code rounds it.
        return _LayerKind(False, attention, key_heads, width)

    def _with_experts(self) -> list[bool]:
        """By layer: whether it has experts."""
        dense = self.count("first_k_dense_replace", default=0, least=0, most=self.layers)
        step = self.count("decoder_sparse_step", default=1)
        skipped = self.get("mlp_only_layers") or []
        if not isinstance(skipped, list) or not set(map(repr, skipped)) <= set(map(repr, range(self.layers))):
            raise self.error("mlp_only_layers", skipped, f"a list of layers, 0 to {self.layers - 1}")
        return [bool(self.family.expert_width) and layer >= dense and (layer + 1) % step == 0 and layer not in skipped
                for layer in range(self.layers)]

    def quantized_type(self) -> str | None:
        """The type of the quantized matrices of the layers, None where there are none. Raises BadInput for an unknown method."""
        quantization = self.get("quantization_config")
        if quantization is None:
            return None
        method, bits = (quantization.get(key) if isinstance(quantization, dict) else None for key in ("quant_method", "bits"))
        sizes = {size: found for (name, size), found in _QUANTIZED.items() if name == method}
        if not sizes:
            raise self.error("quantization_config.quant_method", method,
                             f"{', '.join(sorted({name for name, _ in _QUANTIZED}))}, or a weight type to be given")
        if 0 not in sizes and (not isinstance(bits, int) or bits not in sizes):
            raise self.error("quantization_config.bits", bits, f"{' or '.join(map(str, sizes))}, or a weight type to be given")
        if bits == 4 and quantization.get("group_size") in _WIDE_GROUPS:
            return "IQ4_XS"
        return sizes[0] if 0 in sizes else sizes[bits]


def _attention(config: _Config, key_heads: int) -> Iterator[_Shape]:
    queries, keys, family = config.heads * config.width, key_heads * config.width, config.family
    if family.fused:
        yield "attn_qkv", (queries + 2 * keys, config.hidden)
    else:
        yield "attn_q", (queries * (2 if family.gated else 1), config.hidden)
        yield "attn_k", (keys, config.hidden)
        yield "attn_v", (keys, config.hidden)
    yield "attn_output", (config.hidden, queries)
    if family.wide_norms or config.flag(family.head_norms):
        yield "attn_q_norm", (queries if family.wide_norms else config.width,)
        yield "attn_k_norm", (keys if family.wide_norms else config.width,)
    if family.sinks:
        yield "attn_sinks", (config.heads,)


def _latent_attention(config: _Config) -> Iterator[_Shape]:
    queries = config.heads * (config.plain + config.rotary)
    if "q_lora_rank" in config.values and config.get("q_lora_rank") is None:
        yield "attn_q", (queries, config.hidden)
    else:
        query_rank = config.count("q_lora_rank")
        yield "attn_q_a", (query_rank, config.hidden)
        yield "attn_q_a_norm", (query_rank,)
        yield "attn_q_b", (queries, query_rank)
    yield "attn_kv_a_mqa", (config.rank + config.rotary, config.hidden)
    yield "attn_kv_a_norm", (config.rank,)
    yield "attn_k_b", (config.heads, config.rank, config.plain)
    yield "attn_v_b", (config.heads, config.value, config.rank)
    yield "attn_output", (config.hidden, config.heads * config.value)


def _delta_net(config: _Config) -> Iterator[_Shape]:
    keys, values, gates = config.delta_keys * config.delta_key, config.delta_values * config.delta_value, config.family.delta_gates
    yield "attn_qkv", (2 * keys + values, config.hidden)
    yield "attn_gate", (values, config.hidden)
    for name in gates:
        yield name, (2 * config.delta_values // len(gates), config.hidden)
    yield "ssm_conv1d", (2 * keys + values, config.delta_kernel)
    yield "ssm_dt.bias", (config.delta_values,)
    yield "ssm_a", (config.delta_values,)
    yield "ssm_norm", (config.delta_value,)
    yield "ssm_out", (config.hidden, values)


def _feed_forward(config: _Config, suffix: str, width: int, *experts: int) -> Iterator[_Shape]:
    if not config.family.fused:
        yield f"ffn_gate{suffix}", (*experts, width, config.hidden)
    yield f"ffn_up{suffix}", (*experts, width * (2 if config.family.fused else 1), config.hidden)
    yield f"ffn_down{suffix}", (*experts, config.hidden, width)


def _experts(config: _Config) -> Iterator[_Shape]:
    yield "ffn_gate_inp", (config.experts, config.hidden)
    if config.family.expert_probs_bias:
        yield "exp_probs_b.bias", (config.experts,)
    yield from _feed_forward(config, "_exps", config.expert_width, config.experts)
    if config.shared_width:
        yield from _feed_forward(config, "_shexp", config.shared_width)
    if config.family.shared_gate:
        yield "ffn_gate_inp_shexp", (config.hidden,)


def _layer(config: _Config, kind: _LayerKind) -> list[_Shape]:
    absent = {name for name, there in (("attn_norm", kind.attention), ("ffn_norm", kind.inner or kind.experts)) if not there}
    found: list[_Shape] = [(name, (config.hidden,)) for name in config.family.norms if name not in absent]
    if kind.attention == "latent":
        found += _latent_attention(config)
    elif kind.attention == "heads":
        found += _attention(config, kind.key_heads)
    elif kind.attention == "delta":
        found += _delta_net(config)
    elif kind.attention == "linear":
        found.append(("attn_output", (config.hidden, config.hidden)))
    if kind.experts:
        found += _experts(config)
    elif kind.inner:
        found += _feed_forward(config, "", kind.inner)
    biases = [(f"{name}.bias", shape[:-1]) for name, shape in found if config.flag(config.family.biases.get(name, False))]
    return [(name if "." in name or name == "ssm_a" else f"{name}.weight", shape) for name, shape in found] + biases


def _that_fits(wanted: str, row: int) -> str:
    """The type, or the one that llama.cpp takes where a row of so many numbers is not whole blocks of it."""
    if row % type_sizes(wanted)[0]:
        wanted = _FALLBACKS.get(wanted, "IQ4_NL")
    return "F16" if row % type_sizes(wanted)[0] else wanted


def _metadata(config: _Config) -> dict[str, int | float | str | list]:
    made = {"block_count": config.layers, "embedding_length": config.hidden, "vocab_size": config.count("vocab_size"),
            "context_length": config.count("max_position_embeddings"), "attention.head_count": config.heads}
    if config.family.unlike:
        made |= {"feed_forward_length": [kind.inner for kind in config.kinds],
                 "attention.head_count": [config.heads if kind.attention else 0 for kind in config.kinds],
                 "attention.head_count_kv": [kind.key_heads for kind in config.kinds]}
    else:
        made["feed_forward_length"] = config.count("intermediate_size", default=0, least=0)
    if config.family.latent:  # A cache holds the latent vectors, as keys and values of one head.
        made |= {"attention.head_count_kv": 1, "attention.key_length": config.rank + config.rotary, "attention.value_length": config.rank,
                 "attention.key_length_mla": config.plain + config.rotary, "attention.value_length_mla": config.value,
                 "attention.kv_lora_rank": config.rank, "rope.dimension_count": config.rotary}
    else:
        made |= {"attention.key_length": config.width, "attention.value_length": config.width, "rope.dimension_count": config.rotated()}
        made.setdefault("attention.head_count_kv", config.key_heads)
    if config.family.delta_gates:
        made |= {"ssm.conv_kernel": config.delta_kernel, "ssm.state_size": config.delta_key, "ssm.group_count": config.delta_keys,
                 "ssm.time_step_rank": config.delta_values, "ssm.inner_size": config.delta_values * config.delta_value,
                 "full_attention_interval": config.count("full_attention_interval")}
    if config.family.architecture == "glm4moe" and config.get("num_nextn_predict_layers"):
        extra = config.count("num_nextn_predict_layers")  # In GGUF files they are layers behind the last one.
        made |= {"block_count": config.layers + extra, "nextn_predict_layers": extra}
    if config.family.full_every and config.get("sliding_window") is not None:
        made |= {"attention.sliding_window": config.count("sliding_window"), "attention.sliding_window_pattern": config.window_pattern()}
    if config.family.expert_width:
        made |= {"expert_count": config.experts, "expert_feed_forward_length": config.expert_width,
                 "expert_used_count": config.count("num_experts_per_tok", "experts_per_token", most=config.experts),
                 "leading_dense_block_count": [*(kind.experts for kind in config.kinds), True].index(True)}
        if config.shared_width:
            made |= {"expert_shared_count": config.count("n_shared_experts", default=1),
                     "expert_shared_feed_forward_length": config.shared_width}
    return made


def read_config(path: str | os.PathLike, *, weight_type: str | None = None) -> Checkpoint:
    """Reads a config.json of transformers, or that of a folder, or the one beside a model.safetensors.index.json.

    weight_type: GGUF's type of all matrices, such as "Q4_K"; norms, biases and routers are F32 then, and matrices whose rows are
    not whole blocks of the type get the one that llama.cpp takes then. None: what the config has. Of a model that also sees images
    it is the text model alone. Layers that guess further tokens (DeepSeek V3, GLM 4.5, Qwen 3.5) are left out, and so is a window that all
    layers have (Mistral 0.1, Phi 3): llama.cpp uses neither. An index whose total_size differs from the tensors' bytes by more than
    3% makes a warning where the two can be compared: not with a weight_type, quantized weights, or parts left out. Raises BadInput
    for what is no config of a known model.
    """
    given = pathlib.Path(path)
    is_index = given.name.endswith(".index.json")
    config = _Config(given / "config.json" if given.is_dir() else given.with_name("config.json") if is_index else given)
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
        if len(shape) < 2 or name.endswith((".bias", ".ffn_gate_inp.weight", ".ssm_conv1d.weight")):
            return Tensor(name, shape, small)
        inside = quantized is not None and name.startswith("blk.") and (quantized != "MXFP4" or "_exps." in name)
        wanted = quantized if inside else weight_type or small
        return Tensor(name, shape, _that_fits(wanted, shape[-1]))

    layers = {kind: _layer(config, kind) for kind in set(config.kinds)}
    table = (config.count("vocab_size"), config.hidden)
    tensors = [tensor("token_embd.weight", table), tensor("output_norm.weight", table[1:])]
    if not config.flag("tie_word_embeddings"):
        tensors.append(tensor("output.weight", table))
    tensors += [tensor(f"blk.{layer}.{name}", shape) for layer, kind in enumerate(config.kinds) for name, shape in layers[kind]]
    if is_index and weight_type is None and not quantized and not config.nested and not config.get("num_nextn_predict_layers"):
        _compare(given, sum(tensor.bytes for tensor in tensors))
    file = config.path.resolve()
    return Checkpoint(file.parent.name if file.name == "config.json" else file.stem, config.family.architecture,
                      _metadata(config), tensors, str(config.path), config.nested)


def _compare(index: pathlib.Path, expected: int) -> None:
    """Warns where an index has another number of bytes than this. Raises BadInput for one that has none."""
    metadata = read_json(index).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
        raise BadInput(f"{index}: metadata.total_size is {'missing' if total is None else json.dumps(total)}, expected a number of bytes")
    if abs(total - expected) > _TOLERANCE * expected:
        warnings.warn(f"{index}: metadata.total_size is {total}, expected about {expected} by {index.with_name('config.json')}",
                      Unmapped, stacklevel=3)
