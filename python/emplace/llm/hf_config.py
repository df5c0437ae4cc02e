"""The values of a config.json of transformers, each checked where it is read.

https://huggingface.co/docs/transformers/main_classes/configuration has the format.
"""
import json
import pathlib
import re
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
# What MiniMax M3 was published with, by the names that transformers gives it.
_SPARSE = {"sparse_num_index_heads": "index_n_heads", "sparse_index_dim": "index_head_dim", "sparse_block_size": "index_block_size",
           "sparse_topk_blocks": "index_topk_blocks"}
_OUTER = ("dtype", "torch_dtype", "quantization_config", "tie_word_embeddings")  # Keys that a model around a text model decides.


class Config:
    """Values of a config.json, each checked where it is read, and the sizes that several tensors need."""

    def __init__(self, path: pathlib.Path) -> None:
        root = read_json(path)
        self.path, self._within = path, isinstance(root.get("text_config"), dict)
        # A model that also sees images may have the text model's values among its own.
        self.nested = self._within or isinstance(root.get("vision_config"), dict)
        self.values: dict = dict(root)
        if self._within:
            self.values = root["text_config"] | {key: root[key] for key in _OUTER if root.get(key) is not None}
        kind = self.values.get("model_type") or root.get("model_type")
        if kind is None and isinstance(classes := root.get("architectures"), list) and classes and isinstance(classes[0], str):
            kind = re.sub(r"(?<!^)(?=[A-Z])", "_", classes[0].split("For")[0]).lower()  # Such as qwen3_moe of Qwen3MoeForCausalLM.
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise self.error("model_type", kind, f"one of {', '.join(FAMILIES)}")
        self.family = family = FAMILIES[kind]
        self.values = dict(family.defaults) | self.values
        if family.ranks == "blocks":
            self.values |= _as_transformers_has_it(self.values)
        self.hidden, self.heads = self.count("hidden_size"), self.count("num_attention_heads")
        self.layers = self.count("num_hidden_layers", most=MOST_LAYERS)
        self.has_experts = bool(family.expert_width) and self.flag(family.expert_switch)
        if self.has_experts:
            self.experts = self.count("num_experts", "num_local_experts", "n_routed_experts")
            self.expert_width = self.count(family.expert_width)
            self.shared_width = self.count(family.shared_width) if family.shared_width else \
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
        if family.ranks:
            self.index_heads, self.index_width = self.count("index_n_heads"), self.count("index_head_dim")
        self.per_layer = self.count("hidden_size_per_layer_input", least=0) if family.gemma_4 else 0
        self.lanes = self.count("hc_mult") if family.compressed else 1  # Hidden states that go from layer to layer side by side.
        if family.compressed and self.heads * self.width % self.count("o_groups"):
            raise self.error("o_groups", self.get("o_groups"), f"a divisor of what all heads give, {self.heads * self.width} numbers")

    def error(self, key: str, value: Any, expected: str) -> BadInput:
        """One line about a value; None: there is none."""
        is_plain = isinstance(value, str) and value.isprintable()
        shown = "missing" if value is None else f"'{value}'" if is_plain else json.dumps(value)
        place = "text_config." if self._within and key.split(".")[0] not in _OUTER else ""
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

    def by_layer(self, key: str, meaning: str, known: tuple = ()) -> list | None:
        """[L] texts, or such values as are known; None where no list is given."""
        found = self.get(key)
        if found is not None and (not isinstance(found, list) or len(found) != self.layers or not all(
                value in known if known else isinstance(value, str) for value in found)):
            raise self.error(key, found, f"a list with {meaning} of each of {self.layers} layers")
        return found

    def layer_types(self) -> list[str] | None:
        """[L] transformers' names of the layers' attention; None where they are not given."""
        return self.by_layer("layer_types", "the kind of attention")

    def windows(self) -> list[bool]:
        """[L] whether a layer sees no more than a window. Of a family in which some do."""
        if (kinds := self.layer_types()) is not None:
            return [kind != "full_attention" for kind in kinds]
        if self.get("no_rope_layers"):  # Llama 4's: a layer with a 0 has no window.
            return [value == 1 for value in self.by_layer("no_rope_layers", "0 or 1", (0, 1)) or ()]
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

    def layer_numbers(self, key: str) -> list[int] | None:
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

    def has_fp4_experts(self) -> bool:
        """Whether the experts of a quantized model have numbers of four bits, as those of DeepSeek V4."""
        return "fp4" in (self.get("expert_dtype"), self.get("quantization_config").get("expert_dtype"))


def _as_transformers_has_it(values: dict) -> dict:
    """What a config.json of MiniMax M3 has by the names that it was published with."""
    sparse = values.get("sparse_attention_config")
    sparse = sparse if isinstance(sparse, dict) else {}
    made = {new: sparse[old] for old, new in _SPARSE.items() if old in sparse}
    for given, key, names in ((sparse.get("sparse_attention_freq"), "layer_types", ("full_attention", "minimax_m3_sparse")),
                              (values.get("moe_layer_freq"), "mlp_layer_types", ("dense", "sparse"))):
        if isinstance(given, list) and values.get(key) is None:
            made[key] = [names[bool(one)] for one in given]
    return made
