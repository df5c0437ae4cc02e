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
    inner: int = 0  # Width of the feed-forward network; 0: there is none.
    width: int = 0  # Of a head.
    projected: str = "qkv"  # What it makes of the hidden state: values may be the keys, and both those of an earlier layer.
    indexer: bool = False  # It ranks the tokens.


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
        self.has_experts = bool(family.expert_width) and self.flag(family.expert_switch)
        if self.has_experts:
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
        if family.indexer:
            self.index_heads, self.index_width = self.count("index_n_heads"), self.count("index_head_dim")
        self.per_layer = self.count("hidden_size_per_layer_input", least=0) if family.gemma_4 else 0
        self.kinds = self._unlike_layers() if family.unlike else self._gemma_4_layers() if family.gemma_4 else self._like_layers()

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

    def _by_layer(self, key: str, meaning: str, known: tuple = ()) -> list | None:
        """[L] texts, or such values as are known; None where no list is given."""
        found = self.get(key)
        if found is not None and (not isinstance(found, list) or len(found) != self.layers or not all(
                value in known if known else isinstance(value, str) for value in found)):
            raise self.error(key, found, f"a list with {meaning} of each of {self.layers} layers")
        return found

    def _layer_types(self) -> list[str] | None:
        """[L] transformers' names of the layers' attention; None where they are not given."""
        return self._by_layer("layer_types", "the kind of attention")

    def windows(self) -> list[bool]:
        """[L] whether a layer sees no more than a window. Of a family in which some do."""
        if (kinds := self._layer_types()) is not None:
            return [kind != "full_attention" for kind in kinds]
        if self.get("no_rope_layers"):  # Llama 4's: a layer with a 0 has no window.
            return [value == 1 for value in self._by_layer("no_rope_layers", "0 or 1", (0, 1)) or ()]
        return self._all_but_each(self._full_every())

    def window_pattern(self) -> int | list[bool]:
        """How often a layer sees more than a window, or by layer whether it has the window, where that is no such rule."""
        every, windows = self._full_every(), self.windows()
        return every if windows == self._all_but_each(every) else windows

    def _full_every(self) -> int:
        return self.count("sliding_window_pattern", "_sliding_window_pattern", "no_rope_layer_interval", default=self.family.full_every)

    def _all_but_each(self, every: int) -> list[bool]:
        return [layer % every != 0 for layer in range(1, self.layers + 1)]

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
        """[L] where layers differ in nothing but experts, indexers and the kind of attention."""
        inner = 0 if all(experts := self._with_experts()) else self.count(self.family.inner)
        key_heads, width = (0, 0) if self.family.latent else (self.key_heads, self.width)
        return [LayerKind(has_experts, attention, key_heads if attention == "heads" else 0, 0 if has_experts else inner, width, indexer=indexer)
                for has_experts, attention, indexer in zip(experts, self._attention_of_layers(), self._with_indexers(), strict=True)]

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

    def _gemma_4_layers(self) -> list[LayerKind]:
        """[L] of a family whose heads are wider where they see all tokens, and whose last layers use what earlier ones keep."""
        inner, shared = self.count("intermediate_size"), self.count("num_kv_shared_layers", default=0, least=0, most=self.layers - 1)
        same, double, (full_width, full_heads) = self.flag("attention_k_eq_v"), self.flag("use_double_wide_mlp"), self._full_heads()
        made = []
        for layer, window in enumerate(self.windows()):
            keeps = layer < self.layers - shared
            made.append(LayerKind(self.has_experts, "heads", self.key_heads if window else full_heads, inner * (2 if double and not keeps else 1),
                                  self.width if window else full_width, "q" if not keeps else "qk" if same and not window else "qkv"))
        return made

    def _full_heads(self) -> tuple[int, int]:
        """The width of a head, and the heads of keys, of the layers of Gemma 4 that see all tokens."""
        by_layer = self.get("per_layer_config")  # What later versions of transformers write in place of the keys below.
        if by_layer is None:
            heads = self.count("num_global_key_value_heads", default=self.key_heads) if self.flag("attention_k_eq_v") else self.key_heads
            return self.count("global_head_dim"), heads
        layers = [str(layer) for layer, window in enumerate(self.windows()) if not window]
        of_one = by_layer.get(layers[0]) if layers and isinstance(by_layer, dict) else None
        part = of_one if isinstance(of_one, dict) else {}
        width, heads = part.get("head_dim", self.width), part.get("num_key_value_heads", self.key_heads)
        if by_layer != dict.fromkeys(layers, part) or type(width) is not int or type(heads) is not int or min(width, heads) < 1 or self.heads % heads:
            raise self.error("per_layer_config", by_layer, "the same head_dim and num_key_value_heads for each layer with full_attention")
        return width, heads

    def _with_indexers(self) -> list[bool]:
        """[L] whether a layer ranks the tokens."""
        if not self.family.indexer:
            return [False] * self.layers
        if (kinds := self._by_layer("indexer_types", "full or shared", ("full", "shared"))) is not None:
            return [kind == "full" for kind in kinds]
        every, first = self.count("index_topk_freq", default=1), self.count("index_skip_topk_offset", default=2, least=0)
        return [max(layer - first + 1, 0) % every == 0 for layer in range(self.layers)]

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
        return LayerKind(False, attention, key_heads, width, self.width)

    def _with_experts(self) -> list[bool]:
        """[L] whether a layer has experts."""
        if not self.has_experts:
            return [False] * self.layers
        if (kinds := self._by_layer("mlp_layer_types", "sparse or dense", ("sparse", "dense"))) is not None:
            return [kind == "sparse" for kind in kinds]
        if (named := self._layer_numbers("moe_layers")) is not None:
            return [layer in named for layer in range(self.layers)]
        dense = self.count("first_k_dense_replace", default=0, least=0, most=self.layers)
        step = self.count("decoder_sparse_step", "interleave_moe_layer_step", default=1)
        skipped = self._layer_numbers("mlp_only_layers") or []
        return [layer >= dense and (layer + 1) % step == 0 and layer not in skipped for layer in range(self.layers)]

    def _layer_numbers(self, key: str) -> list[int] | None:
        """Some layers' numbers; None where they are not given."""
        found = self.get(key)
        if found is not None and (not isinstance(found, list) or not set(map(repr, found)) <= set(map(repr, range(self.layers)))):
            raise self.error(key, found, f"a list of layers, 0 to {self.layers - 1}")
        return found

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
