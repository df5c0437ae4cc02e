"""emplace.llm.gguf_file, held against the package gguf."""
import random

import emplace
import gguf
import numpy as np
import pytest
from emplace.llm.checkpoint import TYPE_SIZES, Tensor
from emplace.llm.gguf_file import read_gguf
from emplace.llm.layers import layers_of
from llm_models import write_gguf


def test_the_types_sizes_are_those_of_gguf():
    assert TYPE_SIZES == {kind.name: sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}


def test_types_go_by_their_numbers():
    from emplace.llm.gguf_file import _TENSOR_TYPES
    assert {number: name for number, name in _TENSOR_TYPES.items()} == {kind.value: kind.name for kind in gguf.GGML_QUANT_SIZES}


def test_bytes_are_of_whole_blocks():
    assert Tensor("a", (3, 300), "Q4_K").bytes == 3 * 2 * 144
    assert Tensor("a", (7,), "F32").bytes == 28
    assert Tensor("a", (2, 5, 32), "Q8_0").bytes == 340


@pytest.mark.parametrize("kind", ["F16", "Q8_0", "Q4_K", "BF16"])
def test_it_reads_what_the_package_reads(kind, tmp_path):
    path = write_gguf(tmp_path / "m.gguf", layers=3, kind=kind, vocabulary=50)
    found, reader = read_gguf(path), gguf.GGUFReader(path)
    assert [(tensor.name, tensor.shape, tensor.type, tensor.bytes) for tensor in found.tensors] == [
        (tensor.name, tuple(reversed(tensor.shape.tolist())), tensor.tensor_type.name, tensor.n_bytes) for tensor in reader.tensors]
    assert found.architecture == "llama" and found.name == "tiny"
    for key in ("block_count", "embedding_length", "attention.head_count_kv", "context_length"):
        assert found.metadata[key] == reader.fields[f"llama.{key}"].contents()


def test_a_split_model_is_read_from_any_of_its_files(tmp_path):
    whole = read_gguf(write_gguf(tmp_path / "m.gguf", layers=2))
    writer = gguf.GGUFWriter(tmp_path / "s.gguf", "llama", split_max_tensors=5)
    write_gguf(None, layers=2, writer=writer)
    parts = sorted(tmp_path.glob("s-*.gguf"))
    assert len(parts) > 2
    for part in (parts[0], parts[-1]):
        found = read_gguf(part)
        assert sorted(found.tensors, key=lambda tensor: tensor.name) == sorted(whole.tensors, key=lambda tensor: tensor.name)
        assert found.metadata == whole.metadata
    parts[1].unlink()
    with pytest.raises(emplace.BadInput, match=r"s-00002-of-0000\d\.gguf: cannot be read: No such file"):
        read_gguf(parts[0])


@pytest.mark.parametrize("name", ["model.gguf", "other-00002-of-00005.gguf", "other-00001-of-00002.gguf", "other-00003-of-00004.gguf"])
def test_a_part_of_a_split_model_has_its_own_name(name, tmp_path):
    write_gguf(None, layers=2, writer=gguf.GGUFWriter(tmp_path / "s.gguf", "llama", split_max_tensors=5))
    part = sorted(tmp_path.glob("s-*.gguf"))[2]
    assert part.name == "s-00003-of-00005.gguf"
    part.rename(tmp_path / name)
    with pytest.raises(emplace.BadInput, match=rf"{name}: is part 3 of 5 of a model, expected a name that ends in -00003-of-00005\.gguf, "):
        read_gguf(tmp_path / name)


@pytest.mark.parametrize(("architecture", "keys", "windows"), [
    ("gemma2", {}, [8, 0, 8, 0, 8, 0, 8, 0, 8]), ("gemma3", {}, [8] * 5 + [0] + [8] * 3), ("olmo2", {}, [8, 8, 8, 0] * 2 + [8]),
    ("exaone4", {}, [8, 8, 8, 0] * 2 + [8]), ("plamo3", {}, [8] * 7 + [0, 8]), ("smallthinker", {}, [0, 8, 8, 8] * 2 + [0]),
    ("llama4", {"sliding_window": None}, [8192, 8192, 8192, 0] * 2 + [8192]), ("llama4", {"sliding_window": 0}, [0] * 9),
    ("olmo2", {"sliding_window": None}, [0] * 9), ("llama", {}, [0] * 9), ("phi3", {}, [0] * 9),
    ("smallthinker", {"sliding_window_pattern": 3}, [0, 8, 8] * 3), ("llama", {"sliding_window_pattern": 3}, [8, 8, 0] * 3),
])
def test_layers_with_a_window_are_those_of_llama_cpp(architecture, keys, windows, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", architecture)
    for key, value in ({"sliding_window": 8} | keys).items():
        if value is not None:
            writer.add_uint32(f"{architecture}.attention.{key}", value)
    write_gguf(None, layers=9, vocabulary=8, writer=writer)
    assert [layer.caches[0].window for layer in layers_of(read_gguf(tmp_path / "m.gguf"))] == windows


def test_a_file_that_is_cut_off_is_an_error_wherever(tmp_path):
    data = write_gguf(tmp_path / "m.gguf", layers=1, vocabulary=5).read_bytes()
    for size in [*range(0, 4000, 7), len(data) - 1]:
        (tmp_path / "cut.gguf").write_bytes(data[:size])
        with pytest.raises(emplace.BadInput, match=r"cut\.gguf: ") as error:
            read_gguf(tmp_path / "cut.gguf")
        assert "\n" not in str(error.value)


def test_damaged_headers_are_refused_or_read(tmp_path):
    """Whatever a header holds, there is a model or one line that says what is wrong."""
    data = write_gguf(tmp_path / "m.gguf", layers=1, vocabulary=5).read_bytes()
    rng = random.Random(1)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            damaged[rng.randrange(2500)] = rng.choice([0, 1, 255, rng.randrange(256)])
        (tmp_path / "d.gguf").write_bytes(damaged)
        try:
            emplace.llm.load(tmp_path / "d.gguf", kinds="rtx4090")
        except emplace.BadInput as error:
            refused += 1
            assert "\n" not in str(error)
        except UserWarning:
            pass
    assert 500 < refused < 1500


@pytest.mark.parametrize("content, error", [
    (b"", "is empty, expected a GGUF file"),
    (b"PK\x03\x04 and more", r"begins with the bytes 50 4b 03 04, expected 'GGUF'"),
    (b"GGXX and more", "begins with 'GGXX', expected 'GGUF'"),
    (b"GGUF" + np.uint32(1).tobytes() + bytes(16), "is of version 1 of GGUF, expected 2 or 3"),
    (b"GGUF" + np.uint32(3).tobytes() + np.uint64(1 << 40).tobytes() + bytes(8), "expected at most 16777216"),
])
def test_what_is_no_gguf(content, error, tmp_path):
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(emplace.BadInput, match=error):
        read_gguf(tmp_path / "m.gguf")


def test_a_key_is_given_once(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_uint32("llama.block_other", 3)  # A name as long as block_count's, which it is then given.
    path = write_gguf(tmp_path / "m.gguf", layers=1, writer=writer)
    path.write_bytes(path.read_bytes().replace(b"llama.block_other", b"llama.block_count"))
    with pytest.raises(emplace.BadInput, match=r"m\.gguf: at byte \d+: key 'llama\.block_count' is given twice, expected once"):
        read_gguf(path)


def test_heads_are_counted(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", layers=1)
    key = b"llama.attention.head_count" + np.uint32(4).tobytes()  # Its type, a uint32, and then its value.
    assert key + np.uint32(4).tobytes() in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(key + np.uint32(4).tobytes(), key + np.uint32(0).tobytes()))
    with pytest.raises(emplace.BadInput, match=r"m\.gguf: blk\.0 has 0 heads of attention and 2 of keys and values, expected"):
        emplace.llm.load(path, kinds="rtx4090")


def test_scales_are_of_their_matrix(tmp_path):
    """llama.cpp writes them beside matrices of NVFP4."""
    plain = emplace.llm.load(write_gguf(tmp_path / "plain.gguf", layers=1, experts=4), kinds="rtx4090")
    scales = {"blk.0.attn_q.scale": (1,), "blk.0.attn_q.input_scale": (1,), "blk.0.ffn_up_exps.scale": (4,)}
    scaled = emplace.llm.load(write_gguf(tmp_path / "scaled.gguf", layers=1, experts=4, more=scales), kinds="rtx4090")
    assert scaled.param_bytes.sum() == plain.param_bytes.sum() + 4 * 6
    assert scaled.meta["llm"]["experts"] == 4


def test_experts_may_have_a_norm_of_their_own(tmp_path):
    """As Arctic's have, in a tensor whose name ends as those of the experts' matrices."""
    plain = emplace.llm.load(write_gguf(tmp_path / "plain.gguf", layers=1, experts=4), kinds="rtx4090")
    normed = emplace.llm.load(write_gguf(tmp_path / "normed.gguf", layers=1, experts=4, architecture="arctic",
                                         more={"blk.0.ffn_norm_exps.weight": (256,)}), kinds="rtx4090")
    assert normed.param_bytes.sum() == plain.param_bytes.sum() + 4 * 256


def test_keys_and_values_are_kept_unless_the_file_has_sizes_of_latent_attention(tmp_path):
    def cache_of_a_token(**sizes):
        writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
        for key, value in sizes.items():
            writer.add_uint32(f"llama.attention.{key}", value)
        graph = emplace.llm.load(write_gguf(None, layers=1, writer=writer) or tmp_path / "m.gguf", kinds="rtx4090")
        return next(op["attrs"]["cache_bytes_per_token"] for op in graph.ops if op["type"] == "llm.attn")

    assert cache_of_a_token(kv_lora_rank=96, key_length=80, value_length=48) == 2 * (80 + 48) * 2
    assert cache_of_a_token(kv_lora_rank=96, key_length=160, value_length=96, key_length_mla=80, value_length_mla=48) == (96 + 64) * 2


def test_an_architecture_that_is_not_known(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "rwkv7")
    write_gguf(None, layers=1, writer=writer, more={"blk.0.time_mix_w1.weight": (8, 8)}, architecture="rwkv7")
    with pytest.raises(emplace.BadInput, match=r"architecture 'rwkv7' has a tensor 'blk\.0\.time_mix_w1\.weight'"):
        emplace.llm.load(tmp_path / "m.gguf")


WIDTH = 64
ATTENTION = {"attn_norm.weight": (WIDTH,), "attn_q.weight": (WIDTH, WIDTH), "attn_k.weight": (32, WIDTH), "attn_v.weight": (32, WIDTH),
             "attn_output.weight": (WIDTH, WIDTH)}
FEED_FORWARD = {"ffn_up.weight": (96, WIDTH), "ffn_down.weight": (WIDTH, 96)}
# Mamba 2: two groups of a state of 16, four heads of 32.
MAMBA = {"attn_norm.weight": (WIDTH,), "ssm_in.weight": (2 * 128 + 2 * 2 * 16 + 4, WIDTH), "ssm_conv1d.weight": (128 + 2 * 2 * 16, 4),
         "ssm_conv1d.bias": (128 + 2 * 2 * 16,), "ssm_dt.bias": (4,), "ssm_a": (4, 1), "ssm_d": (4, 1), "ssm_norm.weight": (2, 64),
         "ssm_out.weight": (WIDTH, 128)}
MAMBA_SIZES = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.group_count": 2, "ssm.time_step_rank": 4}
MAMBA_STATE = 3 * (128 + 2 * 2 * 16) + 16 * 128
CONVOLUTION = {"attn_norm.weight": (WIDTH,), "shortconv.in_proj.weight": (3 * WIDTH, WIDTH), "shortconv.conv.weight": (WIDTH, 3),
               "shortconv.out_proj.weight": (WIDTH, WIDTH), "ffn_norm.weight": (WIDTH,)}
KIMI = {"attn_norm.weight": (WIDTH,), "attn_q.weight": (WIDTH, WIDTH), "attn_k.weight": (WIDTH, WIDTH), "attn_v.weight": (WIDTH, WIDTH),
        "ssm_conv1d_q.weight": (1, WIDTH, 1, 4), "ssm_f_a.weight": (16, WIDTH), "ssm_a": (4, 1), "attn_output.weight": (WIDTH, WIDTH)}


def write_layers(path, architecture, layers, sizes, more=None):
    """layers: [L] the shapes of each layer's tensors by name. sizes: of the metadata. more: shapes of tensors of no layer."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(len(layers))
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_head_count(4)
    for key, value in sizes.items():
        add = writer.add_array if isinstance(value, list) else writer.add_uint32
        add(f"{architecture}.{key}", value)
    shapes = {"token_embd.weight": (50, WIDTH), "output_norm.weight": (WIDTH,)} | (more or {}) | {
        f"blk.{index}.{name}": shape for index, layer in enumerate(layers) for name, shape in layer.items()}
    for name, shape in shapes.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sum(4 * int(np.prod(shape)) for shape in shapes.values())


@pytest.mark.parametrize("architecture, layers, sizes, states, caches", [
    # Each layer is one of three things.
    ("nemotron_h", [MAMBA, FEED_FORWARD | {"attn_norm.weight": (WIDTH,)}, ATTENTION],
     MAMBA_SIZES | {"attention.head_count_kv": [0, 0, 2], "feed_forward_length": [0, 96, 0]}, [MAMBA_STATE, None, 0], [0, None, 2 * 32]),
    ("falcon-h1", [ATTENTION | MAMBA | FEED_FORWARD], MAMBA_SIZES | {"attention.head_count_kv": 2, "feed_forward_length": 96}, [MAMBA_STATE],
     [2 * 32]),
    ("mamba", [{name: shape for name, shape in MAMBA.items() if name != "ssm_norm.weight"} | {
        "ssm_x.weight": (4 + 2 * 16, 128), "ssm_dt.weight": (128, 4)}],
     {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "attention.head_count_kv": 0, "feed_forward_length": 0},
     [3 * 128 + 16 * 128], [0]),
    ("lfm2", [CONVOLUTION | FEED_FORWARD, ATTENTION | FEED_FORWARD],
     {"shortconv.l_cache": 3, "attention.head_count_kv": [0, 2], "feed_forward_length": 96}, [2 * WIDTH, 0], [0, 2 * 32]),
    ("kimi-linear", [KIMI | FEED_FORWARD], {"ssm.conv_kernel": 4, "kda.head_dim": 16, "attention.head_count_kv": 4, "feed_forward_length": 96},
     [3 * 3 * WIDTH + 4 * 16 * 16], [0]),
])
def test_recurrent_layers_keep_a_state_whatever_the_context_is(architecture, layers, sizes, states, caches, tmp_path):
    weights = write_layers(tmp_path / "m.gguf", architecture, layers, sizes)
    for context, streams in ((100, 1), (1000, 3)):
        graph = emplace.llm.load(tmp_path / "m.gguf", context=context, streams=streams, kinds="rtx4090")
        kept = {op["name"]: (op["param_bytes"], op["attrs"].get("cache_bytes_per_token", 0)) for op in graph.ops if op["type"] == "llm.attn"}
        assert kept == {f"blk.{layer}.attn": (streams * (4 * states[layer] + 2 * context * caches[layer]), streams * 2 * caches[layer])
                        for layer in range(len(layers)) if states[layer] is not None}
        assert graph.param_bytes.sum() == weights + sum(own for own, _ in kept.values()) + 4 * 50 * WIDTH  # The embedding is the head, too.


LATENT = {"attn_norm.weight": (WIDTH,), "attn_q_a.weight": (24, WIDTH), "attn_q_b.weight": (4 * 20, 24),
          "attn_kv_a_mqa.weight": (16 + 8, WIDTH), "attn_k_b.weight": (4, 16, 12), "attn_v_b.weight": (4, 14, 16),
          "attn_output.weight": (WIDTH, 4 * 14)}
RANKS = {"indexer.attn_q_b.weight": (3 * 10, 24), "indexer.attn_k.weight": (10, WIDTH), "indexer.k_norm.weight": (10,),
         "indexer.k_norm.bias": (10,), "indexer.proj.weight": (3, WIDTH)}
LATENT_SIZES = {"attention.head_count_kv": 1, "attention.key_length": 24, "attention.value_length": 16, "attention.key_length_mla": 20,
                "attention.value_length_mla": 14, "attention.kv_lora_rank": 16, "rope.dimension_count": 8, "feed_forward_length": 96,
                "attention.indexer.head_count": 3, "attention.indexer.key_length": 10, "attention.indexer.top_k": 5}


def test_layers_that_rank_tokens(tmp_path):
    """GLM 5 and DeepSeek V3.2: a layer keeps a key by which it ranks all tokens; others take the ranks of one before them."""
    weights = write_layers(tmp_path / "m.gguf", "glm-dsa", [LATENT | RANKS | FEED_FORWARD, LATENT | FEED_FORWARD], LATENT_SIZES)
    graph = emplace.llm.load(tmp_path / "m.gguf", context=1000, chunk=4, kinds="rtx4090")
    ranking, sharing = (next(op for op in graph.ops if op["name"] == f"blk.{layer}.attn") for layer in range(2))
    assert (ranking["param_bytes"], sharing["param_bytes"]) == (1000 * 2 * (16 + 8 + 10), 1000 * 2 * (16 + 8))
    assert (ranking["flops"], sharing["flops"]) == (2 * 1000 * (4 * (2 * 16 + 8) + 3 * 10), 2 * 1000 * 4 * (2 * 16 + 8))
    assert ranking["temp_bytes"] - sharing["temp_bytes"] == 4 * 1000 * (4 * 2 + 4)  # Of a chunk's tokens with all others: four masks, and ranks.
    assert graph.param_bytes.sum() == weights + ranking["param_bytes"] + sharing["param_bytes"] + 4 * 50 * WIDTH


def test_experts_of_fewer_numbers(tmp_path):
    """Nemotron 3: experts see a shorter vector, which a matrix makes before them, and another one makes a hidden state of what they give."""
    layer = {"attn_norm.weight": (WIDTH,), "ffn_gate_inp.weight": (4, WIDTH), "ffn_latent_down.weight": (16, WIDTH),
             "ffn_latent_up.weight": (WIDTH, 16), "ffn_up_exps.weight": (4, 24, 16), "ffn_down_exps.weight": (4, 16, 24)}
    weights = write_layers(tmp_path / "m.gguf", "nemotron_h_moe", [ATTENTION, layer], {
        "attention.head_count_kv": [2, 0], "feed_forward_length": [0, 24], "expert_used_count": 2})
    graph = emplace.llm.load(tmp_path / "m.gguf", context=100, kinds="rtx4090")
    ops = {op["name"]: op for op in graph.ops}
    assert graph.param_bytes.sum() == weights + ops["blk.0.attn"]["param_bytes"] + 4 * 50 * WIDTH
    assert (ops["blk.1.ffn_router"]["flops"], ops["blk.1.ffn_experts"]["flops"]) == (2 * (4 + 2 * 16) * WIDTH, 2 * 2 * 2 * 24 * 16)


DEEPSEEK_4_SIZES = {
    "attention.head_count_kv": 1, "attention.key_length": 32, "attention.value_length": 32, "attention.sliding_window": 8,
    "attention.compress_ratios": [0, 4, 128], "attention.indexer.head_count": 3, "attention.indexer.key_length": 10,
    "attention.indexer.top_k": 5, "attention.output_group_count": 2, "hyper_connection.count": 4, "expert_used_count": 2}


def deepseek_4_layer(ratio):
    """A layer of DeepSeek V4, in which beyond the window each `ratio` tokens have one row; 0: none has."""
    experts = {f"ffn_{part}_exps.weight": shape for part, shape in (("gate", (4, 24, WIDTH)), ("up", (4, 24, WIDTH)), ("down", (4, WIDTH, 24)))}
    mixing = {f"hc_{part}_{name}.weight": shape for part in ("attn", "ffn")
              for name, shape in (("fn", (24, 4 * WIDTH)), ("base", (24,)), ("scale", (3,)))}
    made = {"attn_norm.weight": (WIDTH,), "attn_sinks.weight": (4,), "attn_q_a.weight": (24, WIDTH), "attn_q_b.weight": (4 * 32, 24),
            "attn_kv.weight": (32, WIDTH), "attn_kv_a_norm.weight": (32,), "attn_output_a.weight": (2 * 12, 64),
            "attn_output_b.weight": (WIDTH, 2 * 12), "ffn_norm.weight": (WIDTH,), "ffn_gate_inp.weight": (4, WIDTH),
            "ffn_gate_tid2eid.weight": (50, 2)} | experts | mixing
    parts = [("attn", 32)] if ratio else []
    if ratio == 4:
        made |= {"indexer.proj.weight": (3, WIDTH), "indexer.attn_q_b.weight": (3 * 10, 24)}
        parts.append(("indexer", 10))
    for part, width in parts:
        rows = width * (2 if ratio == 4 else 1)
        made |= {f"{part}_compressor_kv.weight": (rows, WIDTH), f"{part}_compressor_gate.weight": (rows, WIDTH),
                 f"{part}_compressor_ape.weight": (ratio, rows), f"{part}_compressor_norm.weight": (width,)}
    return made


def test_deepseek_4(tmp_path):
    """Layers keep a window, and of what is before it a row for each 4 or 128 tokens; four hidden states go from layer to layer."""
    ends = {"output_hc_fn.weight": (4, 4 * WIDTH), "output_hc_base.weight": (4,), "output_hc_scale.weight": (1,)}
    weights = write_layers(tmp_path / "m.gguf", "deepseek4", [deepseek_4_layer(ratio) for ratio in (0, 4, 128)], DEEPSEEK_4_SIZES, ends)
    graph = emplace.llm.load(tmp_path / "m.gguf", context=1024, chunk=4, kinds="rtx4090")
    ops = {op["name"]: op for op in graph.ops}
    window = 2 * (8 + 4) * 32
    kept = [window, window + 2 * 256 * (32 + 10) + 4 * 2 * 2 * 4 * 2 * (32 + 10), window + 2 * 8 * 32 + 4 * 2 * 128 * 32]
    assert [ops[f"blk.{layer}.attn"]["param_bytes"] for layer in range(3)] == kept
    assert graph.param_bytes.sum() == weights - 3 * 4 * 4 + sum(kept) + 4 * 50 * WIDTH  # Without the sinks.
    scores = [8 * 2 * 4 * 32, 8 * 2 * 4 * 32 + 256 * (2 * 4 * 32 + 3 * 10), 8 * 2 * 4 * 32 + 8 * 2 * 4 * 32]
    states = [0, 2 * 2 * 4 * 2 * (32 + 10), 2 * 128 * 32]
    assert [ops[f"blk.{layer}.attn"]["flops"] for layer in range(3)] == [2 * (s + 3 * state) for s, state in zip(scores, states, strict=True)]
    assert [ops[f"blk.1.{op}"]["outputs"][0]["bytes"] for op in ("attn", "attn_add", "ffn_norm", "ffn_add")] == [
        4 * size for size in (4 * 32, 4 * WIDTH, WIDTH, 4 * WIDTH)]


def test_minimax_3(tmp_path):
    """Keys that rank tokens are beside the keys and values of several heads."""
    ranks = {"indexer.q_proj.weight": (3 * 10, WIDTH), "indexer.k_proj.weight": (10, WIDTH), "indexer.q_norm.weight": (10,),
             "indexer.k_norm.weight": (10,)}
    sizes = {"attention.head_count_kv": 2, "attention.key_length": 16, "attention.value_length": 16, "feed_forward_length": 96,
             "attention.indexer.head_count": 3, "attention.indexer.key_length": 10}
    write_layers(tmp_path / "m.gguf", "minimax-m3", [ATTENTION | FEED_FORWARD, ATTENTION | ranks | FEED_FORWARD], sizes)
    graph = emplace.llm.load(tmp_path / "m.gguf", context=1000, chunk=4, kinds="rtx4090")
    plain, ranking = (op for op in graph.ops if op["type"] == "llm.attn")
    assert (plain["param_bytes"], ranking["param_bytes"]) == (2 * 1000 * 2 * 32, 2 * 1000 * (2 * 32 + 10 + 16))
    assert ranking["temp_bytes"] - plain["temp_bytes"] == 4 * 1000 * (4 * 2 + 2 + 8 * 3)


@pytest.mark.parametrize("architecture, layer, sizes", [
    ("glm-dsa", LATENT | RANKS, LATENT_SIZES), ("glm-dsa", LATENT, LATENT_SIZES),
    *(("deepseek4", deepseek_4_layer(ratio), DEEPSEEK_4_SIZES | {"attention.compress_ratios": [ratio]}) for ratio in (0, 4, 128))])
def test_memory_grows_as_attention_says(architecture, layer, sizes, tmp_path):
    write_layers(tmp_path / "m.gguf", architecture, [layer | FEED_FORWARD], sizes)
    graphs = [emplace.llm.load(tmp_path / "m.gguf", context=context, chunk=16, kinds="rtx4090") for context in (512, 1024)]
    short, long = (next(op for op in graph.ops if op["type"] == "llm.attn") for graph in graphs)
    attrs = short["attrs"]
    more = 0 if "cache_most_tokens" in attrs else 512
    assert long["param_bytes"] - short["param_bytes"] == attrs["cache_bytes_per_token"] * more
    room = attrs.get("room_bytes_per_token", graphs[0].meta["llm"]["room_bytes_per_token"])
    assert long["temp_bytes"] - short["temp_bytes"] == room * more


def test_gemma_4(tmp_path):
    """Heads are wider where they see all tokens; the last layers keep no cache; experts are beside a feed-forward network."""
    beside = {"ffn_norm.weight": (WIDTH,), "ffn_gate.weight": (96, WIDTH), "ffn_gate_inp.weight": (4, WIDTH), "ffn_gate_inp.scale": (WIDTH,),
              "ffn_gate_up_exps.weight": (4, 2 * 24, WIDTH), "ffn_down_exps.weight": (4, WIDTH, 24), "post_ffw_norm_1.weight": (WIDTH,),
              "layer_output_scale.weight": (1,), "inp_gate.weight": (8, WIDTH), "proj.weight": (WIDTH, 8), "post_norm.weight": (WIDTH,)}
    of_all = {"attn_norm.weight": (WIDTH,), "attn_q.weight": (4 * 32, WIDTH), "attn_k.weight": (32, WIDTH), "attn_output.weight": (WIDTH, 4 * 32)}
    windowed, full = ATTENTION | FEED_FORWARD | beside, of_all | FEED_FORWARD | beside
    ends = {"per_layer_token_embd.weight": (50, 4 * 8), "per_layer_model_proj.weight": (4 * 8, WIDTH), "per_layer_proj_norm.weight": (8,)}
    weights = write_layers(tmp_path / "m.gguf", "gemma4", [windowed, full] * 2, {
        "attention.head_count_kv": [2, 1] * 2, "attention.key_length": 32, "attention.value_length": 32, "attention.key_length_swa": 16,
        "attention.value_length_swa": 16, "attention.sliding_window": 8, "attention.sliding_window_pattern": [True, False] * 2,
        "attention.shared_kv_layers": 2, "feed_forward_length": 96, "expert_used_count": 2}, ends)
    graph = emplace.llm.load(tmp_path / "m.gguf", context=1000, chunk=4, kinds="rtx4090")
    ops = {op["name"]: op for op in graph.ops}
    assert [ops[f"blk.{layer}.attn"].get("param_bytes", 0) for layer in range(4)] == [(8 + 4) * 2 * 2 * 16 * 2, 1000 * 1 * 2 * 32 * 2, 0, 0]
    assert graph.param_bytes.sum() == weights + sum(ops[f"blk.{layer}.attn"].get("param_bytes", 0) for layer in range(4)) + 4 * 50 * WIDTH
    assert set(ops["blk.3.ffn_add"]["inputs"]) == {"blk.3.ffn_experts:0", "blk.3.ffn_down:0", "blk.3.attn_add:0"}
    assert ops["output_norm"]["inputs"] == ["blk.3.per_layer:0"]
    scores = [2 * 8 * 4 * 2 * 16, 2 * 1000 * 4 * 2 * 32]  # Two FLOPs for each number of each head's keys and values.
    assert [ops[f"blk.{layer}.attn"]["flops"] for layer in range(4)] == scores * 2
    assert ops["token_embd"]["flops"] == 2 * 4 * 8 * WIDTH


def test_a_recurrent_layer_says_how_much_it_keeps(tmp_path):
    write_layers(tmp_path / "m.gguf", "nemotron_h", [MAMBA], MAMBA_SIZES | {"attention.head_count_kv": [0], "feed_forward_length": [0]})
    assert emplace.llm.load(tmp_path / "m.gguf").op_names[1] == "blk.0.attn_norm"
    write_layers(tmp_path / "m.gguf", "nemotron_h", [MAMBA], {"attention.head_count_kv": [0], "feed_forward_length": [0]})
    with pytest.raises(emplace.BadInput, match=r"nemotron_h\.ssm\.conv_kernel is missing, expected a whole number"):
        emplace.llm.load(tmp_path / "m.gguf")
