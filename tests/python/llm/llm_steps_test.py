"""emplace.llm.load: what the ops of a language model's step compute, read and keep."""
import json
import warnings

import emplace
import numpy as np
import pytest
from emplace.llm.checkpoint import TYPE_SIZES
from emplace.llm.routing import reached
from llm_models import LLAMA_8B, NEMOTRON_SUPER, block_config, write_config, write_gguf


def by_name(graph):
    return {op["name"]: op for op in graph.ops}


def held(graph):
    return sum(op.get("param_bytes", 0) for op in graph.ops)


def test_a_decode_step_holds_weights_and_cache_and_computes_two_flops_a_weight(llama):
    graph = emplace.llm.load(llama, context=4096, kinds="rtx4090,ddr5_2ch")
    checkpoint = emplace.llm.read_checkpoint(llama)
    cache = 32 * 4096 * 2 * 8 * 128 * 2  # Layers, tokens, keys and values, heads, width of a head, bytes.
    assert held(graph) == sum(tensor.bytes for tensor in checkpoint.tensors) + cache
    matrices = sum(tensor.numbers for tensor in checkpoint.tensors if len(tensor.shape) > 1 and tensor.name != "token_embd.weight")
    attention = 32 * 2 * 4096 * 32 * 256  # Layers, two FLOPs a product, tokens, heads, key and value of a head.
    norms = 65 * 4096 + 64 * 4096  # Two norms a layer and one at the end, and two sums a layer.
    assert graph.flops.sum() == 2 * matrices + attention + norms
    # All that is held but the table of the embedding is read once, at 85% of 1,008 GB/s, and each op takes a launch.
    read_us = (held(graph) - 128256 * 4096 * 2) / (0.85 * 1008e3)
    assert read_us < graph.cost_us("rtx4090").sum() < 1.3 * read_us
    assert graph.meta["llm"] == {"phase": "decode", "context": 4096, "most_context": 131072, "streams": 1, "kv_type": "F16", "chunk": 512,
                                 "architecture": "llama", "layers": 32, "together": "attention", "room_bytes_per_token": 4096,
                                 "tokens": 1}


def test_the_graph_goes_through_the_layers_in_turn(llama):
    graph = emplace.llm.load(llama, kinds="rtx4090")
    order = [graph.op_names[index] for index in graph.topological_order]
    assert order[0] == "token_embd" and order[-1] == "output"
    ops = by_name(graph)
    assert ops["blk.3.attn_norm"]["inputs"] == ["blk.2.ffn_add:0"]
    assert ops["blk.3.ffn_add"]["inputs"] == ["blk.3.ffn_down:0", "blk.3.attn_add:0"]
    assert ops["blk.3.ffn_up"]["outputs"] == [{"bytes": 14336 * 2}] and ops["output"]["outputs"] == [{"bytes": 128256 * 2}]


def test_room_for_prompts_is_what_llama_cpp_reports(tmp_path):
    """As compute buffers, where twelve layers are on two RPC servers, the output head on the second (llama-cpp-python 0.3.36)."""
    config = write_config(tmp_path, LLAMA_8B, hidden_size=2048, intermediate_size=4096, num_hidden_layers=12, num_attention_heads=4,
                          num_key_value_heads=2, vocab_size=16000)

    def rooms(**options):
        ops = emplace.llm.load(config, context=1024, weight_type="F16", kinds="rtx4090", **options).ops
        room = {op["name"]: op.get("temp_bytes", 0) / 2**20 for op in ops}
        return max(mib for name, mib in room.items() if name.startswith("blk.")), room["output"], room["token_embd"]
    assert rooms() == pytest.approx((52.04, 71.30, 24.05), rel=0.01)
    # With four of the layers on the processor, whose buffer this is.
    assert rooms(chunks_in_flight=1)[0] == pytest.approx(37.01, rel=0.01)


def test_more_streams_read_the_weights_once_and_their_caches_each(llama):
    one, eight = (by_name(emplace.llm.load(llama, context=1024, streams=streams, kinds="rtx4090")) for streams in (1, 8))
    assert eight["blk.0.ffn_up"]["param_bytes"] == one["blk.0.ffn_up"]["param_bytes"]
    assert eight["blk.0.ffn_up"]["cost_us"]["rtx4090"] < 1.1 * one["blk.0.ffn_up"]["cost_us"]["rtx4090"]
    assert eight["blk.0.attn"]["param_bytes"] == 8 * one["blk.0.attn"]["param_bytes"]
    assert eight["blk.0.attn"]["attrs"]["cache_bytes_per_token"] == 8 * one["blk.0.attn"]["attrs"]["cache_bytes_per_token"]


def test_steps_in_flight_have_caches_of_their_own_and_one_is_read(llama):
    one, three = (emplace.llm.load(llama, context=1000, streams=2, steps_in_flight=count) for count in (1, 3))
    of_one = by_name(one)
    for name, op in by_name(three).items():
        assert op.get("param_bytes", 0) == (3 if name.endswith(".attn") else 1) * of_one[name].get("param_bytes", 0)
        assert op["cost_us"] == of_one[name]["cost_us"]
    machine = emplace.Machine([emplace.Device("gpu:0", "rtx4090", 24e9)], bandwidth_bytes_per_us=10_000)
    one, three = (emplace.Plan.of(graph, machine, np.zeros(len(graph), dtype=np.int32)) for graph in (one, three))
    assert "-c 6000 -np 6" in emplace.llm.flags("llama.cpp", three) and "-c 2000 -np 2" in emplace.llm.flags("llama.cpp", one)
    assert three.serving["longest_context"] < one.serving["longest_context"]


def test_a_prompt_is_read_in_chunks(llama):
    short, long = (by_name(emplace.llm.load(llama, phase="prefill", prompt=prompt, kinds="ddr5_2ch")) for prompt in (512, 2048))
    ratio = long["blk.0.ffn_up"]["cost_us"]["ddr5_2ch"] / short["blk.0.ffn_up"]["cost_us"]["ddr5_2ch"]
    assert ratio == pytest.approx(4, rel=1e-3)
    assert long["blk.0.attn"]["flops"] == pytest.approx(16 * short["blk.0.attn"]["flops"], rel=2e-3)  # By the square.
    assert long["output"]["flops"] == short["output"]["flops"]  # Of the last token alone.


def test_both_phases_share_weights_and_follow_each_other(llama):
    graph = emplace.llm.load(llama, phase="both", prompt=100, tokens=3, kinds="rtx4090")
    decode = emplace.llm.load(llama, kinds="rtx4090")
    assert held(graph) == held(decode) and graph.num_ops == 4 * decode.num_ops
    ops = by_name(graph)
    assert ops["token.0.token_embd"]["inputs"] == ["prompt.output:0"] and ops["token.2.token_embd"]["inputs"] == ["token.1.output:0"]
    assert ops["prompt.blk.3.attn"]["group"] == ops["token.2.blk.3.attn"]["group"]
    assert "cache_bytes_per_token" not in ops["token.0.blk.0.attn"]["attrs"]


def test_experts_are_read_as_often_as_tokens_reach_them(qwen):
    one = by_name(emplace.llm.load(qwen, kinds="rtx4090"))["blk.0.ffn_experts"]
    many = by_name(emplace.llm.load(qwen, streams=64, context=512, kinds="rtx4090"))["blk.0.ffn_experts"]
    held_bytes = 128 * 3 * 768 * 2048 * 2
    assert one["param_bytes"] == many["param_bytes"] == held_bytes
    assert one["flops"] == 2 * 8 * 3 * 768 * 2048
    assert one["cost_us"]["rtx4090"] == pytest.approx(held_bytes * 8 / 128 / (0.85 * 1008e3), rel=0.3)
    assert many["cost_us"]["rtx4090"] == pytest.approx(held_bytes * (1 - (1 - 8 / 128) ** 64) / (0.85 * 1008e3), rel=0.1)


def test_each_expert_by_itself_adds_up(qwen, tmp_path):
    routing = tmp_path / "routing.json"
    shares = np.random.default_rng(1).dirichlet(np.ones(128) * 20)
    routing.write_text(json.dumps({"blk.0": shares.tolist()}))
    arguments = {"routing": routing, "kinds": "rtx4090", "streams": 4, "context": 512}
    together = by_name(emplace.llm.load(qwen, **arguments))["blk.0.ffn_experts"]
    graph = emplace.llm.load(qwen, each_expert=True, **arguments)
    alone = [op for op in graph.ops if op["name"].startswith("blk.0.ffn_experts.")]
    assert len(alone) == 128 and sum(op["param_bytes"] for op in alone) == together["param_bytes"]
    assert sum(op["flops"] for op in alone) == pytest.approx(together["flops"])
    # The step is as long as with one op, but for rounding.
    assert sum(op["cost_us"]["rtx4090"] for op in alone) == pytest.approx(together["cost_us"]["rtx4090"], abs=0.2)
    assert emplace.llm.load(qwen, name="mine", **arguments).name == "mine"
    busiest = int(shares.argmax())
    assert max(alone, key=lambda op: op["flops"])["name"] == f"blk.0.ffn_experts.{busiest}"


def test_the_number_of_experts_that_are_reached():
    """Against drawing them."""
    rng = np.random.default_rng(3)
    drawn = np.zeros(16)
    for _ in range(4000):
        hit = {expert for _ in range(5) for expert in rng.choice(16, size=2, replace=False)}
        drawn[list(hit)] += 1
    np.testing.assert_allclose(reached(5, 2, [1 / 16] * 16), drawn / 4000, atol=0.04)


def test_layers_with_a_window_keep_no_more_than_that(tmp_path):
    config = {"model_type": "gemma3_text", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 1000, "max_position_embeddings": 32768, "sliding_window": 256,
              "torch_dtype": "bfloat16"}
    graph = emplace.llm.load(write_config(tmp_path / "g", config), context=8192, kinds="m2_max")
    caches = [op["param_bytes"] for op in graph.ops if op["type"] == "llm.attn"]
    a_token = 2 * 2 * 128 * 2
    assert caches == [a_token * (8192 if layer in (5, 11) else 256 + 512) for layer in range(12)]
    grows = [(op["attrs"]["cache_bytes_per_token"], op["attrs"].get("cache_most_tokens")) for op in graph.ops if op["type"] == "llm.attn"]
    assert grows == [(a_token, None if layer in (5, 11) else 256 + 512) for layer in range(12)]


def test_the_longest_context_does_not_depend_on_the_one_that_was_asked_for(tmp_path):
    config = {"model_type": "gemma3_text", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 1000, "max_position_embeddings": 131072, "sliding_window": 256,
              "torch_dtype": "bfloat16"}
    machine = emplace.Machine([emplace.Device("gpu:0", "rtx3090", 3e8)], bandwidth_bytes_per_us=10_000)
    longest = []
    for context in (100, 600, 768, 769, 5000):
        graph = emplace.llm.load(write_config(tmp_path, config), context=context, kinds="rtx3090")
        longest.append(emplace.place(graph, machine, progress=False).serving["longest_context"])
    assert len(set(longest)) == 1 and longest[0] > 5000


def test_delta_nets_read_their_state_once_for_each_chunk_and_keep_no_cache(tmp_path):
    config = {"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 8, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
              "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10, "linear_value_head_dim": 12,
              "linear_conv_kernel_dim": 4}
    write_config(tmp_path, config)
    state = 3 * (2 * 2 * 10 + 4 * 12) + 10 * 4 * 12  # The convolution's last inputs, and a matrix for each head of values.
    for phase, tokens, context in (("decode", 1, 100), ("decode", 1, 4000), ("prefill", 1024, 2000)):
        steps = {"prompt": tokens} if phase == "prefill" else {}
        ops = by_name(emplace.llm.load(tmp_path, context=context, phase=phase, streams=2, steps_in_flight=3, kinds="rtx3090", **steps))
        for layer in range(8):
            attention = ops[f"blk.{layer}.attn"]
            if layer in (3, 7):
                assert attention["param_bytes"] == 3 * 2 * context * 2 * 2 * 16 * 2
                assert attention["attrs"]["cache_bytes_per_token"] == 3 * 2 * 2 * 2 * 16 * 2
            else:
                assert attention["param_bytes"] == 3 * 2 * 4 * state and "cache_bytes_per_token" not in attention["attrs"]
                assert attention["flops"] == 2 * 2 * tokens * 3 * state
    # Queries of a layer with attention come with as many gates; its output reads the values alone.
    assert ops["blk.3.attn"]["outputs"][0]["bytes"] == 2 * 1024 * 4 * 16 * 2
    # Only the caches of two layers, and the mask, grow with the context.
    graph = emplace.llm.load(tmp_path, context=100, kinds="rtx3090")

    def place(memory):
        machine = emplace.Machine([emplace.Device("gpu:0", "rtx3090", memory)], bandwidth_bytes_per_us=1)
        return emplace.place(graph, machine, progress=False)

    a_token = 2 * (2 * 2 * 16 * 2) + graph.meta["llm"]["room_bytes_per_token"]
    longest = place(int(place(1e9).peak_bytes[0]) + 500 * a_token).serving["longest_context"]
    assert longest == 100 + 500


@pytest.mark.parametrize("window", [0, 1, 7, 20, 64, 100])
def test_a_token_of_a_prompt_sees_no_more_than_a_window(window, tmp_path):
    config = {"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 512, "torch_dtype": "bfloat16",
              "sliding_window": window or None}
    write_config(tmp_path, config)
    for phase, tokens in (("prefill", range(1, 65)), ("decode", [64])):
        steps = {"prompt": 64} if phase == "prefill" else {}
        ops = by_name(emplace.llm.load(tmp_path, context=64, phase=phase, kinds="rtx3090", **steps))
        for layer, most in ((0, window or 64), (1, 64)):
            assert ops[f"blk.{layer}.attn"]["flops"] == pytest.approx(2 * 4 * 2 * 16 * sum(min(token, most) for token in tokens))


def test_what_goes_from_op_to_op_is_what_the_next_one_reads(tmp_path):
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
             "vocab_size": 100, "max_position_embeddings": 512, "torch_dtype": "bfloat16"}
    for config, heads, inner in ((sizes | {"model_type": "llama"}, 64, 96), (sizes | {"model_type": "phi3"}, 64, 96),
                                 (sizes | {"model_type": "qwen3", "head_dim": 32}, 128, 96)):
        graph = emplace.llm.load(write_config(tmp_path / config["model_type"], config), streams=3, kinds="rtx3090")
        sent = {op["name"]: op["outputs"][0]["bytes"] for op in graph.ops}
        assert sent["blk.0.attn"] == 3 * heads * 2 and sent["blk.0.ffn_up"] == 3 * inner * 2 and sent["blk.0.ffn_down"] == 3 * 64 * 2
        assert sent["output"] == 3 * 100 * 2


def test_layers_may_lack_attention_or_a_feed_forward_network_or_both(tmp_path):
    blocks = [block_config(2, 4), block_config(1), block_config(None), block_config(None, linear=True), block_config(3, 8)]
    config = NEMOTRON_SUPER | {"num_hidden_layers": 5, "block_configs": blocks}
    graph = emplace.llm.load(write_config(tmp_path, config), context=100)
    parts = {}
    for name in graph.op_names:
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            parts.setdefault(int(layer), []).append(part)
    attention, feed_forward = ["attn_norm", "attn_qkv", "attn", "attn_output", "attn_add"], ["ffn_norm", "ffn_up", "ffn_down", "ffn_add"]
    assert parts == {0: attention + feed_forward, 1: feed_forward, 2: ["skip"], 3: ["attn_norm", "attn_output", "attn_add"],
                     4: attention + feed_forward}
    assert by_name(graph)["blk.3.attn_norm"]["inputs"] == ["blk.2.skip:0"]
    caches = {name: op["param_bytes"] for name, op in by_name(graph).items() if name.endswith(".attn")}
    assert caches == {"blk.0.attn": 100 * 2 * 2 * 16 * 128, "blk.4.attn": 100 * 2 * 2 * 8 * 128}
    # Weights that are sent wait for the layer before the one that needs them, whatever that has.
    sent = by_name(emplace.llm.load(tmp_path, context=100, phase="prefill", prompt=50, stream_weights=True))
    assert sent["blk.1.ffn_up.weights"]["inputs"] == ["^blk.0.attn_norm"] and sent["blk.4.ffn_up.weights"]["inputs"] == ["^blk.3.attn_norm"]
    machine = emplace.Machine([emplace.Device(f"gpu:{i}", "rtx4090", 24e9) for i in range(2)], bandwidth_bytes_per_us=10_000)
    plan = emplace.llm.place_for("vllm", graph, machine, 0.2)
    assert "VLLM_PP_LAYER_PARTITION" in emplace.llm.flags("vllm", plan)


def test_latent_attention_keeps_one_row_a_token(tmp_path):
    config = {"model_type": "deepseek_v2", "hidden_size": 256, "intermediate_size": 512, "moe_intermediate_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 64, "qk_nope_head_dim": 32,
              "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1,
              "first_k_dense_replace": 1, "vocab_size": 500, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}
    graph = emplace.llm.load(write_config(tmp_path / "d", config), context=1000, kinds="h100")
    ops = by_name(graph)
    assert ops["blk.0.attn"]["param_bytes"] == 1000 * (64 + 16) * 2
    assert "blk.0.ffn_up" in ops and {"blk.1.ffn_router", "blk.1.ffn_experts", "blk.1.ffn_shared"} <= set(ops)


@pytest.mark.parametrize("kind", sorted({"Q8_0", "Q4_0", "F16"} & set(TYPE_SIZES)))
def test_a_cache_of_another_type(kind, llama):
    graph = emplace.llm.load(llama, context=1024, kv_type=kind.lower(), kinds="h100")
    block, size = TYPE_SIZES[kind]
    assert by_name(graph)["blk.0.attn"]["param_bytes"] == 1024 * 2048 // block * size


def test_weights_that_are_sent(tmp_path):
    """What computes on one device with weights that lie on another waits for them; on the same device nothing is different."""
    path = write_gguf(tmp_path / "m.gguf", layers=4)
    plain, streamed = (emplace.llm.load(path, kinds="h100,cpu", stream_weights=stream) for stream in (False, True))
    machine = emplace.Machine([emplace.Device("gpu:0", "h100", 1e9), emplace.Device("cpu", "cpu", 1e9)], bandwidth_bytes_per_us=10)
    together = emplace.simulate(streamed, machine, np.zeros(streamed.num_ops, dtype=int))
    assert together.makespan_us == emplace.simulate(plain, machine, np.zeros(plain.num_ops, dtype=int)).makespan_us
    elsewhere = np.array([op["type"] == "llm.weights" for op in streamed.ops]).astype(int)
    sent = emplace.simulate(streamed, machine, elsewhere)
    weights = sum(op["param_bytes"] for op in streamed.ops if op["type"] == "llm.weights")
    assert sent.makespan_us >= weights / 10 and sent.peak_bytes[1] == weights
    # Never more than what lies there and two layers' weights on their way.
    assert sent.peak_bytes[0] < together.peak_bytes[0] - weights + 2.5 * weights / 4


def test_weights_that_are_sent_for_each_step_are_on_their_way_two_layers_at_a_time(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", layers=8)
    plain, streamed = (emplace.llm.load(path, phase="both", prompt=8, tokens=12, context=64, kinds="h100,cpu", stream_weights=stream)
                       for stream in (False, True))
    machine = emplace.Machine([emplace.Device("gpu:0", "h100", 1e9), emplace.Device("cpu", "cpu", 1e9)], bandwidth_bytes_per_us=10)
    weights = sum(op.get("param_bytes", 0) for op in streamed.ops if op["type"] == "llm.weights")
    together = emplace.simulate(plain, machine, np.zeros(plain.num_ops, dtype=int)).peak_bytes[0]
    for of_weights in (0, 1):
        placement = np.array([of_weights if op["type"] == "llm.weights" else 0 for op in streamed.ops])
        peaks = emplace.simulate(streamed, machine, placement).peak_bytes
        assert peaks[of_weights] < (weights if of_weights else together) + 3 * weights / 8
        assert not of_weights or peaks[0] < together - weights + 3 * weights / 8


def test_each_chunk_of_long_prompts_reads_what_its_own_stream_keeps(tmp_path):
    """So prompts of eight streams take eight times as long as one's, whatever the layer keeps: a cache or a state."""
    config = {"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 100, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
              "linear_num_key_heads": 64, "linear_num_value_heads": 64, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
              "linear_conv_kernel_dim": 4}
    write_config(tmp_path, config)
    one, eight = (by_name(emplace.llm.load(tmp_path, phase="prefill", prompt=1024, streams=streams, context=2000, kinds="rtx4090"))
                  for streams in (1, 8))
    for layer in range(4):
        assert eight[f"blk.{layer}.attn"]["cost_us"]["rtx4090"] == pytest.approx(8 * one[f"blk.{layer}.attn"]["cost_us"]["rtx4090"])
    # A step that makes a token of each is one chunk, which reads them all.
    one, eight = (by_name(emplace.llm.load(tmp_path, streams=streams, context=2000, kinds="rtx4090"))["blk.0.attn"]["cost_us"]["rtx4090"]
                  for streams in (1, 8))
    assert 4 * one < eight < 8 * one


def test_what_stays_together(qwen):
    for together, groups in (("layers", 48 + 3), ("attention", 2 * 48 + 3), ("nothing", 9 * 48 + 3)):
        graph = emplace.llm.load(qwen, together=together, kinds="h100")
        assert len({op["group"] for op in graph.ops}) == groups, together


@pytest.mark.parametrize("arguments, error", [
    ({"streams": None}, "streams is None, expected a whole number of at least 1"),
    ({"context": 0}, "context is 0, expected a whole number of at least 1"),
    ({"context": 10**19}, "context is 10000000000000000000, expected a whole number of at least 1 and below 2\\^31"),
    ({"context": "4096"}, "context is 4096, expected a whole number"),
    ({"phase": "prefill", "prompt": 2.5}, "prompt is 2.5, expected a whole number"),
    ({"phase": "both", "tokens": 0}, "tokens is 0, expected a whole number"),
    ({"prompt": 100}, "a prompt of 100 tokens is given, and phase is 'decode', expected 'prefill' or 'both'"),
    ({"phase": "prefill", "tokens": 3}, "3 tokens after a prompt are given, and phase is 'prefill', expected 'both'"),
    ({"each_expert": True, "stream_weights": True}, "each_expert and stream_weights are both given, expected one of them"),
    ({"streams": -1}, "streams is -1"),
    ({"phase": "chat"}, "phase is 'chat', expected one of decode, prefill, both"),
    ({"phase": "prefill", "prompt": 5000, "context": 4096}, "a prompt of 5000 tokens and 0 more do not go into a context of 4096"),
    ({"kv_type": "Q9"}, "the type of numbers is 'Q9', expected one of"),
    ({"kv_type": None}, "kv_type is None, expected the name of a type of numbers"),
    ({"weight_type": 5}, "weight_type is 5, expected the name of a type of numbers"),
    ({"routing": 5}, "routing is 5, expected the path of a file"),
    ({"weight_type": "Q9"}, "the type of numbers is 'Q9', expected one of"),
    ({"together": "all"}, "together is 'all', expected one of layers, attention, nothing"),
    ({"kinds": "rtx4909"}, "'rtx4909' is no folder, no file and no device kind, expected such as rtx4090"),
    ({"routing": "routing.json"}, r"routing\.json: cannot be read"),
])
def test_what_cannot_be(arguments, error, llama):
    with pytest.raises(emplace.BadInput, match=error):
        emplace.llm.load(llama, **arguments)


@pytest.mark.parametrize("path", [None, 5, b"m.gguf", ["m.gguf"]])
def test_a_path_is_one(path):
    with pytest.raises(emplace.BadInput, match="path is .*, expected the path of a file or a folder"):
        emplace.llm.load(path)


def test_a_model_of_more_bytes_than_there_can_be(tmp_path):
    path = write_config(tmp_path / "wide", LLAMA_8B, hidden_size=2**31 - 1, intermediate_size=2**31 - 1, num_attention_heads=1,
                        num_key_value_heads=1)
    with pytest.raises(emplace.BadInput, match="bytes, expected less than 2\\^63; its sizes are too large"):
        emplace.llm.load(path)


@pytest.mark.parametrize("routing, error", [
    ({"blk.0": [0.5, 0.5]}, "blk.0 has 128 experts, of which a token uses 8 and for which 2 shares up to 0.5 are given"),
    ({"blk.0": [0.5, 0.1]}, "blk.0: the shares add up to 0.600, expected 1"),
    ({"blk.0": [0.5, *[0.5 / 127] * 127]}, "blk.0 has 128 experts, .* 128 shares up to 0.5 are given, expected 128 of at most 1/8"),
    ({"blk.99": [1.0]}, r"r\.json: blk\.99 is no layer with experts of qwen"),
    ([1], r"holds \[1\], expected an object"), ({}, "holds no layers"),
    ({"blk.0": "all"}, 'blk.0 is "all", expected a list of shares from 0 to 1'),
])
def test_wrong_shares(routing, error, qwen, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(routing))
    with pytest.raises(emplace.BadInput, match=error):
        emplace.llm.load(qwen, routing=tmp_path / "r.json", kinds="h100")


def test_a_context_beyond_the_models_own_is_said(llama):
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        emplace.llm.load(llama, context=200_000, kinds="h100")
    assert "a context of 200000 tokens is asked for, and the model was made for 131072" in str(notes[0].message)


def test_a_weight_type_beside_a_gguf_file(tmp_path):
    with pytest.raises(emplace.BadInput, match="expected no weight type beside a GGUF file"):
        emplace.llm.load(write_gguf(tmp_path / "m.gguf"), weight_type="Q4_K")
