"""Of what the layers of a model are made, by its config.json."""
import math
from dataclasses import dataclass
from typing import Any

from emplace.llm.hf_config import Config

# Kinds of attention of DeepSeek V4, with the tokens that have one row beyond the window, and older keys for these.
_RATIOS = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_RATIO_KEYS = {"compressed_sparse_attention": "compress_rate_csa", "heavily_compressed_attention": "compress_rate_hca"}


@dataclass(frozen=True)
class LayerKind:
    """Of what a layer is made. Layers of one kind have the same tensors."""
    experts: bool = False
    attention: str = "heads"  # Or "latent", "compressed"; "delta": a gated delta net in its place; "linear": a matrix; "": none.
    key_heads: int = 0
    inner: int = 0  # Width of the feed-forward network; 0: there is none.
    width: int = 0  # Of a head.
    projected: str = "qkv"  # What it makes of the hidden state: values may be the keys, and both those of an earlier layer.
    indexer: bool = False  # It ranks the tokens.
    ratio: int = 0  # Beyond a window it sees a row for each so many tokens; 0: none.
    hashed: bool = False  # A table says to which experts a token goes.


def layers_of(config: Config) -> list[LayerKind]:
    """[L] Raises BadInput for a config that does not say it."""
    family = config.family
    if family.unlike:
        return _unlike_layers(config)
    if family.gemma_4:
        return _gemma_4_layers(config)
    return _compressed_layers(config) if family.compressed else _like_layers(config)


def _like_layers(config: Config) -> list[LayerKind]:
    """[L] where layers differ in nothing but experts, indexers and the kind of attention."""
    inner = 0 if all(experts := _with_experts(config)) else config.count(config.family.inner)
    key_heads, width = (0, 0) if config.family.latent else (config.key_heads, config.width)
    return [LayerKind(has_experts, attention, key_heads if attention == "heads" else 0, 0 if has_experts else inner, width, indexer=indexer)
            for has_experts, attention, indexer in zip(experts, _attention_of_layers(config), _with_indexers(config), strict=True)]


def _attention_of_layers(config: Config) -> list[str]:
    """[L] the kind of attention of a family whose layers are alike but for that."""
    usual = "latent" if config.family.latent else "heads"
    if not config.family.delta_gates:
        return [usual] * config.layers
    every, kinds = config.count("full_attention_interval"), config.layer_types()
    if kinds is None:
        return [usual if (layer + 1) % every == 0 else "delta" for layer in range(config.layers)]
    names = {"full_attention": usual, "linear_attention": "delta"}
    if unknown := [kind for kind in kinds if kind not in names]:
        raise config.error("layer_types", unknown[0], f"{' or '.join(names)}")
    return [names[kind] for kind in kinds]


def _gemma_4_layers(config: Config) -> list[LayerKind]:
    """[L] of a family whose heads are wider where they see all tokens, and whose last layers use what earlier ones keep."""
    inner, shared = config.count("intermediate_size"), config.count("num_kv_shared_layers", default=0, least=0, most=config.layers - 1)
    same, double, (full_width, full_heads) = config.flag("attention_k_eq_v"), config.flag("use_double_wide_mlp"), _full_heads(config)
    made = []
    for layer, window in enumerate(config.windows()):
        keeps = layer < config.layers - shared
        made.append(LayerKind(config.has_experts, "heads", config.key_heads if window else full_heads, inner * (2 if double and not keeps else 1),
                              config.width if window else full_width, "q" if not keeps else "qk" if same and not window else "qkv"))
    return made


def _full_heads(config: Config) -> tuple[int, int]:
    """The width of a head, and the heads of keys, of the layers of Gemma 4 that see all tokens."""
    by_layer = config.get("per_layer_config")  # What later versions of transformers write in place of the keys below.
    if by_layer is None:
        heads = config.count("num_global_key_value_heads", default=config.key_heads) if config.flag("attention_k_eq_v") else config.key_heads
        return config.count("global_head_dim"), heads
    layers = [str(layer) for layer, window in enumerate(config.windows()) if not window]
    of_one = by_layer.get(layers[0]) if layers and isinstance(by_layer, dict) else None
    part = of_one if isinstance(of_one, dict) else {}
    width, heads = part.get("head_dim", config.width), part.get("num_key_value_heads", config.key_heads)
    if by_layer != dict.fromkeys(layers, part) or type(width) is not int or type(heads) is not int or min(width, heads) < 1 or config.heads % heads:
        raise config.error("per_layer_config", by_layer, "the same head_dim and num_key_value_heads for each layer with full_attention")
    return width, heads


def _compressed_layers(config: Config) -> list[LayerKind]:
    """[L] of a DeepSeek V4."""
    kinds, ratios = _compressed_types(config), _ratios(config)
    by_mlp = config.by_layer("mlp_layer_types", "hash_moe or moe", ("hash_moe", "moe"))
    first = config.count("num_hash_layers", least=0)
    hashed = [layer < first for layer in range(config.layers)] if by_mlp is None else [kind == "hash_moe" for kind in by_mlp]
    return [LayerKind(True, "compressed", 1, 0, config.width, indexer=kind == "compressed_sparse_attention", ratio=ratios[kind], hashed=by_table)
            for kind, by_table in zip(kinds, hashed, strict=True)]


def _ratios(config: Config) -> dict[str, int]:
    """By kind of attention, how many tokens have one row beyond the window."""
    given = config.get("compress_rates")
    found = {kind: config.count(key, default=_RATIOS[kind]) for kind, key in _RATIO_KEYS.items()} | (given if isinstance(given, dict) else {})
    if given is not None and (not isinstance(given, dict) or not all(type(ratio) is int and ratio > 0 for ratio in found.values())):
        raise config.error("compress_rates", given, f"an object with a whole number above 0 for {' and '.join(_RATIO_KEYS)}")
    return _RATIOS | found


def _compressed_types(config: Config) -> list[str]:
    """[L] keys of _RATIOS."""
    if (kinds := config.by_layer("layer_types", f"one of {', '.join(_RATIOS)}", tuple(_RATIOS))) is not None:
        return kinds
    names = {ratio: kind for kind, ratio in _RATIOS.items()}
    if (ratios := config.get("compress_ratios")) is None:
        sparse, heavy = _RATIO_KEYS
        return [sparse if layer > 1 and layer % 2 else heavy for layer in range(config.layers)]
    # There may be further ones, of layers that guess further tokens.
    if not isinstance(ratios, list) or len(ratios) < config.layers or not all(type(ratio) is int and ratio in names for ratio in ratios):
        raise config.error("compress_ratios", ratios, f"a list with 0, 4 or 128 for each of {config.layers} layers")
    return [names[ratio] for ratio in ratios[:config.layers]]


def _with_indexers(config: Config) -> list[bool]:
    """[L] whether a layer ranks the tokens."""
    if not config.family.ranks:
        return [False] * config.layers
    if config.family.ranks == "blocks":
        kinds = config.by_layer("layer_types", "full_attention or minimax_m3_sparse", ("full_attention", "minimax_m3_sparse"))
        return [kind == "minimax_m3_sparse" for kind in kinds or ["full_attention"] * config.layers]
    if (kinds := config.by_layer("indexer_types", "full or shared", ("full", "shared"))) is not None:
        return [kind == "full" for kind in kinds]
    every, first = config.count("index_topk_freq", default=1), config.count("index_skip_topk_offset", default=2, least=0)
    return [max(layer - first + 1, 0) % every == 0 for layer in range(config.layers)]


def _unlike_layers(config: Config) -> list[LayerKind]:
    """[L] by block_configs, as models that were pruned layer by layer have them (Nemotron Super and Ultra)."""
    blocks = config.get("block_configs")
    if not isinstance(blocks, list) or len(blocks) != config.layers:
        raise config.error("block_configs", blocks, f"a list with the sizes of each of {config.layers} layers")
    return [_layer_of_block(config, f"block_configs[{index}]", block) for index, block in enumerate(blocks)]


def _layer_of_block(config: Config, name: str, block: Any) -> LayerKind:
    parts = [block.get(part) if isinstance(block, dict) else None for part in ("attention", "ffn")]
    if not all(isinstance(part, dict) for part in parts):
        raise config.error(name, block, "an object with attention and ffn")
    heads, inner = parts
    attention, key_heads, width = "", 0, 0
    if heads.get("replace_with_linear"):
        attention = "linear"
    elif not heads.get("no_op"):
        attention, of_key = "heads", heads.get("n_heads_in_group")
        if isinstance(of_key, bool) or not isinstance(of_key, int) or of_key < 1 or config.heads % of_key:
            raise config.error(f"{name}.attention.n_heads_in_group", of_key, f"a divisor of num_attention_heads, {config.heads}")
        key_heads = config.heads // of_key
    if heads.get("window_length") is not None or inner.get("replace_with_linear"):
        raise config.error(name, block, "attention to all tokens and a feed-forward network, or none of either")
    if not inner.get("no_op"):
        factor = inner.get("ffn_mult")
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1000:
            raise config.error(f"{name}.ffn.ffn_mult", factor, "a number above 0, below 1000")
        width = math.ceil(int(2 * factor * config.hidden / 3) / 256) * 256  # As the model's own code rounds it.
    return LayerKind(False, attention, key_heads, width, config.width)


def _with_experts(config: Config) -> list[bool]:
    """[L] whether a layer has experts."""
    if not config.has_experts:
        return [False] * config.layers
    if (kinds := config.by_layer("mlp_layer_types", "sparse or dense", ("sparse", "dense"))) is not None:
        return [kind == "sparse" for kind in kinds]
    if (named := config.layer_numbers("moe_layers")) is not None:
        return [layer in named for layer in range(config.layers)]
    dense = config.count("first_k_dense_replace", default=0, least=0, most=config.layers)
    step = config.count("decoder_sparse_step", "interleave_moe_layer_step", default=1)
    skipped = config.layer_numbers("mlp_only_layers") or []
    return [layer >= dense and (layer + 1) % step == 0 and layer not in skipped for layer in range(config.layers)]
