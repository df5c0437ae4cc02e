"""The values of a config.json of transformers, each checked where it is read, and of what the model's layers are made.

https://huggingface.co/docs/transformers/main_classes/configuration has the format.
"""
import json
import math
import pathlib
import re
from dataclasses import dataclass
from typing import Any

from emplace._core import BadInput
from emplace.llm.checkpoint import MOST_LAYERS
from emplace.llm.hf_families import FAMILIES
from emplace.reading import read_json

# By the method and the bits of quantization_config: the type whose blocks take about as many bytes. 0: the method has one size.
_QUANTIZED = {("fp8", 0): "I8", ("mxfp4", 0): "MXFP4", ("awq", 4): "Q4_0", ("gptq", 4): "Q4_0", ("gptq", 8): "Q8_0"}
# Numbers of a row for which AWQ and GPTQ have one scale of 16 bits and one zero of 4, so that 4 bits are at most 4.16: IQ4_XS has 4.25,
# and Q4_0 4.5. -1: the whole row.
_WIDE_GROUPS = (-1, 128, 256, 512, 1024)
_OUTER = ("dtype", "torch_dtype", "quantization_config", "tie_word_embeddings")  # Keys that a model around a text model decides.


@dataclass(frozen=True)
class LayerKind:
    """Of what a layer is made. Layers of one kind have the same tensors."""
    experts: bool = False
    attention: str = "heads"  # Or "latent"; "delta": a gated delta net in its place; "linear": a matrix; "": none.
    key_heads: int = 0
    inner: int = 0  # Width of the feed-forward network; 0: there is none, or there are experts.


class Config:
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

    def _like_layers(self) -> list[LayerKind]:
        """[L] where layers differ in nothing but whether they have experts."""
        inner = 0 if all(experts := self._with_experts()) else self.count("intermediate_size")
        return [LayerKind(has_experts, attention, self.key_heads if attention == "heads" else 0, 0 if has_experts else inner)
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

    def _unlike_layers(self) -> list[LayerKind]:
        """[L] by block_configs, as models that were pruned layer by layer have them (Nemotron Super and Ultra)."""
        blocks = self.get("block_configs")
        if not isinstance(blocks, list) or len(blocks) != self.layers:
            raise self.error("block_configs", blocks, f"a list with the sizes of each of {self.layers} layers")
        return [self._layer_of_block(f"block_configs[{index}]", block) for index, block in enumerate(blocks)]

    def _layer_of_block(self, name: str, block: Any) -> LayerKind:
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
        return LayerKind(False, attention, key_heads, width)

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
