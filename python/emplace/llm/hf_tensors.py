"""The tensors of a language model by its config.json: names and shapes as a GGUF file has them.

convert_hf_to_gguf.py of llama.cpp has the names.
"""
from collections.abc import Iterator

from emplace.llm.hf_config import Config
from emplace.llm.hf_layers import LayerKind

_Shape = tuple[str, tuple[int, ...]]  # A tensor's name within its layer, and its shape.


def _attention(config: Config, kind: LayerKind) -> Iterator[_Shape]:
    queries, keys, family = config.heads * kind.width, kind.key_heads * kind.width, config.family
    if family.fused:
        yield "attn_qkv", (queries + 2 * keys, config.hidden)
    else:
        yield "attn_q", (queries * (2 if family.gated else 1), config.hidden)
        for part in "kv":
            if part in kind.projected:
                yield f"attn_{part}", (keys, config.hidden)
    yield "attn_output", (config.hidden, queries)
    if family.wide_norms or config.flag(family.head_norms):
        yield "attn_q_norm", (queries if family.wide_norms else kind.width,)
        if "k" in kind.projected:
            yield "attn_k_norm", (keys if family.wide_norms else kind.width,)
    if kind.indexer:
        yield "indexer.q_proj.weight", (config.index_heads * config.index_width, config.hidden)
        yield "indexer.k_proj.weight", (config.index_width, config.hidden)
        yield "indexer.q_norm.weight", (config.index_width,)
        yield "indexer.k_norm.weight", (config.index_width,)


def _latent_attention(config: Config, kind: LayerKind) -> Iterator[_Shape]:
    queries = config.heads * (config.plain + config.rotary)
    if "q_lora_rank" in config.values and config.get("q_lora_rank") is None:
        yield "attn_q", (queries, config.hidden)
    else:
        yield from _short_queries(config, queries)
    yield "attn_kv_a_mqa", (config.rank + config.rotary, config.hidden)
    yield "attn_kv_a_norm", (config.rank,)
    yield "attn_k_b", (config.heads, config.rank, config.plain)
    yield "attn_v_b", (config.heads, config.value, config.rank)
    yield "attn_output", (config.hidden, config.heads * config.value)
    if kind.indexer:
        yield "indexer.attn_k.weight", (config.index_width, config.hidden)
        yield "indexer.k_norm.weight", (config.index_width,)
        yield "indexer.k_norm.bias", (config.index_width,)
        yield from _ranking_queries(config)


def _short_queries(config: Config, queries: int) -> Iterator[_Shape]:
    """Queries that are made of a short vector."""
    rank = config.count("q_lora_rank")
    yield "attn_q_a", (rank, config.hidden)
    yield "attn_q_a_norm", (rank,)
    yield "attn_q_b", (queries, rank)


def _ranking_queries(config: Config) -> Iterator[_Shape]:
    """Made of the same vector, and the weights of their heads."""
    yield "indexer.attn_q_b.weight", (config.index_heads * config.index_width, config.count("q_lora_rank"))
    yield "indexer.proj.weight", (config.index_heads, config.hidden)


def _compressed_attention(config: Config, kind: LayerKind) -> Iterator[_Shape]:
    queries, groups = config.heads * kind.width, config.count("o_groups")
    rows = groups * config.count("o_lora_rank")
    yield from _short_queries(config, queries)
    yield "attn_kv", (kind.width, config.hidden)
    yield "attn_kv_a_norm", (kind.width,)
    yield "attn_output_a", (rows, queries // groups)
    yield "attn_output_b", (config.hidden, rows)
    if kind.ratio:
        yield from _compressor(config, kind, "attn", kind.width)
    if kind.indexer:
        yield from _compressor(config, kind, "indexer", config.index_width)
        yield from _ranking_queries(config)
    mixes = (2 + config.lanes) * config.lanes
    for part in ("attn", "ffn"):
        yield f"hc_{part}_fn", (mixes, config.lanes * config.hidden)
        yield f"hc_{part}_base", (mixes,)
        yield f"hc_{part}_scale", (3,)


def _compressor(config: Config, kind: LayerKind, part: str, width: int) -> Iterator[_Shape]:
    """What makes one row of a few tokens; where the rows are ranked, they overlap, and so are made twice as wide."""
    rows = width * (2 if kind.indexer else 1)
    yield f"{part}_compressor_kv", (rows, config.hidden)
    yield f"{part}_compressor_gate", (rows, config.hidden)
    yield f"{part}_compressor_ape", (kind.ratio, rows)
    yield f"{part}_compressor_norm", (width,)


def _delta_net(config: Config) -> Iterator[_Shape]:
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


def _feed_forward(config: Config, suffix: str, width: int, *experts: int) -> Iterator[_Shape]:
    if not config.family.fused:
        yield f"ffn_gate{suffix}", (*experts, width, config.hidden)
    yield f"ffn_up{suffix}", (*experts, width * (2 if config.family.fused else 1), config.hidden)
    yield f"ffn_down{suffix}", (*experts, config.hidden, width)


def _experts(config: Config, kind: LayerKind) -> Iterator[_Shape]:
    yield "ffn_gate_inp", (config.experts, config.hidden)
    if kind.hashed:
        yield "ffn_gate_tid2eid", (config.count("vocab_size"), config.count("num_experts_per_tok"))
    elif config.family.expert_probs_bias:
        yield "exp_probs_b.bias", (config.experts,)
    yield from _feed_forward(config, "_exps", config.expert_width, config.experts)
    if config.shared_width:
        yield from _feed_forward(config, "_shexp", config.shared_width)
    if config.family.shared_gate:
        yield "ffn_gate_inp_shexp", (config.hidden,)


def _gemma_4_experts(config: Config) -> Iterator[_Shape]:
    yield "ffn_gate_inp", (config.experts, config.hidden)
    yield "ffn_gate_inp.scale", (config.hidden,)
    yield "ffn_gate_up_exps", (config.experts, 2 * config.expert_width, config.hidden)
    yield "ffn_down_exps", (config.experts, config.hidden, config.expert_width)
    yield "ffn_down_exps.scale", (config.experts,)
    for name in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"):
        yield name, (config.hidden,)


def _gemma_4_ends(config: Config) -> Iterator[_Shape]:
    """What a layer of Gemma 4 adds by the token alone, and the number with which it multiplies everything."""
    yield "layer_output_scale", (1,)
    if config.per_layer:
        yield "inp_gate", (config.per_layer, config.hidden)
        yield "proj", (config.hidden, config.per_layer)
        yield "post_norm", (config.hidden,)


def outer_tensors(config: Config) -> list[_Shape]:
    """What is in no layer."""
    table = (config.count("vocab_size"), config.hidden)
    found: list[_Shape] = [("token_embd.weight", table), ("output_norm.weight", table[1:])]
    if not config.flag("tie_word_embeddings"):
        found.append(("output.weight", table))
    if config.family.compressed:
        found += [("output_hc_fn.weight", (config.lanes, config.lanes * config.hidden)), ("output_hc_base.weight", (config.lanes,)),
                  ("output_hc_scale.weight", (1,))]
    if config.per_layer:
        rows = config.layers * config.per_layer
        found += [("per_layer_token_embd.weight", (config.count("vocab_size_per_layer_input"), rows)),
                  ("per_layer_model_proj.weight", (rows, config.hidden)), ("per_layer_proj_norm.weight", (config.per_layer,))]
    return found


def layer_tensors(config: Config, kind: LayerKind) -> list[_Shape]:
    absent = {name for name, there in (("attn_norm", kind.attention), ("ffn_norm", kind.inner or kind.experts)) if not there}
    found: list[_Shape] = [(name, (config.hidden,)) for name in config.family.norms if name not in absent]
    if kind.attention == "latent":
        found += _latent_attention(config, kind)
    elif kind.attention == "compressed":
        found += _compressed_attention(config, kind)
    elif kind.attention == "heads":
        found += _attention(config, kind)
    elif kind.attention == "delta":
        found += _delta_net(config)
    elif kind.attention == "linear":
        found.append(("attn_output", (config.hidden, config.hidden)))
    if config.family.sinks:
        found.append(("attn_sinks", (config.heads,)))
    if kind.experts:
        found += _gemma_4_experts(config) if config.family.gemma_4 else _experts(config, kind)
    if kind.inner:
        found += _feed_forward(config, "", kind.inner)
    if config.family.gemma_4:
        found += _gemma_4_ends(config)
    biases = [(f"{name}.bias", shape[:-1]) for name, shape in found if config.flag(config.family.biases.get(name, False))]
    return [(name if "." in name or name == "ssm_a" else f"{name}.weight", shape) for name, shape in found] + biases
