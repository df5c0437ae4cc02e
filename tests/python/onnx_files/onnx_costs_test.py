"""What operators of onnx and of ONNX Runtime cost."""
import emplace
import pytest
from onnx import TensorProto, helper
from onnx_models import by_name, saved, value

MICROSOFT = "com.microsoft"
BYTES = TensorProto.UINT8


def loaded(folder, op_type, shapes, result, domain=MICROSOFT, elements=(), opset=None, further=(), **attributes):
    """The op of a node with inputs of these shapes, None where one is left out, and a result of this shape."""
    names = [f"i{index}" if shape is not None else "" for index, shape in enumerate(shapes)]
    given = [value(name, shape, dict(elements).get(index, TensorProto.FLOAT))
             for index, (name, shape) in enumerate(zip(names, shapes, strict=True)) if name]
    made = [value("y", result), *(value(f"y{index}", shape) for index, shape in enumerate(further))]
    node = helper.make_node(op_type, names, [each.name for each in made], name="op", domain=domain, **attributes)
    return by_name(emplace.onnx.load(saved(folder, [node], given, made, opset=opset)))["op"]


PRODUCT = 2 * (32 * 256) * 64  # [32, 64] times [64, 256].


@pytest.mark.parametrize("op_type, shapes, result, attributes, expected", [
    ("FusedMatMul", [[32, 64], [64, 256]], [32, 256], {}, PRODUCT),
    ("FusedMatMul", [[64, 32], [64, 256]], [32, 256], {"transA": 1}, PRODUCT),
    ("FusedMatMul", [[32, 64], [256, 64]], [32, 256], {"transB": 1}, PRODUCT),
    ("FusedMatMul", [[4, 3, 6], [3, 6, 7]], [3, 4, 7], {"transBatchA": 1}, 2 * (3 * 4 * 7) * 6),
    ("FusedMatMul", [[6, 3, 4], [3, 6, 7]], [3, 4, 7], {"transBatchA": 1, "transA": 1}, 2 * (3 * 4 * 7) * 6),
    ("FusedMatMul", [[3, 6, 4], [3, 6, 7]], [3, 4, 7], {"transA": 1}, 2 * (3 * 4 * 7) * 6),
    ("FusedGemm", [[64, 32], [64, 256], [256]], [32, 256], {"transA": 1, "activation": "Relu"}, PRODUCT),
    ("MatMulIntegerToFloat", [[32, 64], [64, 256], [], []], [32, 256], {}, PRODUCT),
    ("FusedConv", [[1, 8, 16, 16], [16, 8, 3, 3]], [1, 16, 14, 14], {"activation": "Relu"}, 2 * (16 * 14 * 14) * (8 * 3 * 3)),
    # Weights of 4 bits, two in a byte, in blocks of 32.
    ("MatMulNBits", [[32, 64], [256, 2, 16], [512]], [32, 256], {"K": 64, "N": 256, "bits": 4, "block_size": 32}, PRODUCT),
    # 2 x 128 rows of 64 are multiplied with [64, 192]; then each meets 128 keys, and as many values.
    ("Attention", [[2, 128, 64], [64, 192], [192]], [2, 128, 64], {"num_heads": 4}, 2 * (2 * 128) * (64 * 192 + 2 * 64 * 128)),
    ("Attention", [[2, 1, 64], [64, 192], [192], None, [2, 2, 4, 99, 16]], [2, 1, 64], {"num_heads": 4}, 2 * 2 * (64 * 192 + 2 * 64 * 100)),
    ("Attention", [[2, 1, 64], [64, 192], [192], None, [2, 2, 4, 99, 16]], [2, 1, 64], {"num_heads": 4, "past_present_share_buffer": 1},
     2 * 2 * (64 * 192 + 2 * 64 * 99)),
    ("Attention", [[2, 128, 64], [64, 160]], [2, 128, 32], {"num_heads": 4, "qkv_hidden_sizes": [64, 64, 32]},
     2 * (2 * 128) * (64 * 160 + (64 + 32) * 128)),
    # Queries of 10 positions meet 20 keys.
    ("MultiHeadAttention", [[2, 10, 64], [2, 20, 64], [2, 20, 48]], [2, 10, 48], {"num_heads": 4}, 2 * 2 * 10 * (64 + 48) * 20),
    ("MultiHeadAttention", [[2, 10, 64], [2, 4, 20, 16], [2, 4, 20, 16]], [2, 10, 64], {"num_heads": 4}, 2 * 2 * 10 * (64 + 64) * 20),
    ("MultiHeadAttention", [[2, 10, 64], [2, 20, 4, 2, 16]], [2, 10, 64], {"num_heads": 4}, 2 * 2 * 10 * (64 + 64) * 20),
    ("MultiHeadAttention", [[2, 10, 4, 3, 16]], [2, 10, 64], {"num_heads": 4}, 2 * 2 * 10 * (64 + 64) * 10),
    ("MultiHeadAttention", [[2, 1, 64], [2, 1, 64], [2, 1, 64], None, None, None, [2, 4, 99, 16], [2, 4, 99, 16]], [2, 1, 64],
     {"num_heads": 4}, 2 * 2 * (64 + 64) * 100),
    # 8 heads of queries of 16 numbers, 2 of keys; then the same with all three in one input.
    ("GroupQueryAttention", [[2, 1, 128], [2, 1, 32], [2, 1, 32], [2, 2, 999, 16], [2, 2, 999, 16]], [2, 1, 128],
     {"num_heads": 8, "kv_num_heads": 2}, 2 * 2 * (128 + 128) * 1000),
    ("GroupQueryAttention", [[2, 1, 192], None, None, [2, 2, 999, 16], [2, 2, 999, 16]], [2, 1, 128],
     {"num_heads": 8, "kv_num_heads": 2}, 2 * 2 * (128 + 128) * 1000),
    ("GroupQueryAttention", [[2, 1, 128], [2, 1, 32], [2, 1, 32], [2, 2, 999, 16], [2, 2, 999, 16]], [2, 1, 128],
     {"num_heads": 8, "kv_num_heads": 2, "local_window_size": 256}, 2 * 2 * (128 + 128) * 256),
    # 2 products, then one for queries of 128 numbers and two for keys and values of 32.
    ("MatMulNBitsMlp", [[32, 64], None, None, [256, 2, 16], [512], None, [256, 2, 16], [512]], [32, 256],
     {"K": 64, "N": 256, "bits": 4, "block_size": 32}, 2 * PRODUCT),
    ("MatMulNBitsQkv", [[2, 8, 64], None, [64], [128, 2, 16], [256], None, [32, 2, 16], [64], None, [32, 2, 16], [64]], [2, 8, 128],
     {"K": 64, "Nq": 128, "Nkv": 32, "bits": 4, "block_size": 32}, 2 * (2 * 8) * 64 * (128 + 32 + 32)),
    # 48 tokens go to 2 of 8 experts each, with 3 weights or 2. With 4 bits there are two numbers in a byte of the last axis.
    ("MoE", [[48, 64], [48, 8], [8, 64, 96], None, [8, 96, 64], None, [8, 64, 96]], [48, 64], {"k": 2}, 2 * 48 * 2 * 3 * (64 * 96)),
    ("MoE", [[4, 12, 64], [48, 8], [8, 192, 64], [8, 192], [8, 64, 96]], [4, 12, 64], {"k": 2}, 2 * 48 * 2 * (192 * 64 + 64 * 96)),
    ("SkipLayerNormalization", [[2, 8, 64], [2, 8, 64], [64], [64]], [2, 8, 64], {}, 2 * (2 * 8 * 64) + 2 * 64),
])
def test_flops_of_onnx_runtime(op_type, shapes, result, attributes, expected, tmp_path):
    assert loaded(tmp_path, op_type, shapes, result, **attributes)["flops"] == expected


@pytest.mark.parametrize("packed, attributes", [
    ([32, 48], {}), ([64, 96], {"expert_weight_bits": 8}), ([16, 24], {"expert_weight_bits": 2}), ([64, 96], {"quant_type": "fp8"}),
    ([32, 96], {"fc2_expert_weight_bits": 8}), ([32, 48], {"quant_type": "nvfp4"}),
])
def test_flops_of_experts_of_few_bits(packed, attributes, tmp_path):
    """48 tokens go to 2 of 8 experts each, with weights [192, 64] and [64, 96], whose last axis is packed into so many bytes."""
    shapes = [[48, 64], [48, 8], [8, 192, packed[0]], [8, 192], None, [8, 64, packed[1]], [8, 64]]
    op = loaded(tmp_path, "QMoE", shapes, [48, 64], elements={2: BYTES, 5: BYTES}, k=2, **attributes)
    assert op["flops"] == 2 * 48 * 2 * (192 * 64 + 64 * 96)


def experts(folder, tokens, count, used):
    return loaded(folder, "MoE", [[tokens, 2880], [tokens, 32], [count, 5760, 2880], None, [count, 2880, 2880]], [tokens, 2880], k=used,
                  elements=dict.fromkeys(range(5), TensorProto.FLOAT16))


def test_experts_of_a_published_size(tmp_path):
    assert experts(tmp_path, 2048, 32, 4)["flops"] == 2 * 2048 * 4 * (5760 * 2880 + 2880 * 2880)  # 407.7e9, one layer of gpt-oss-20b.


def test_experts_that_no_token_reaches_are_not_read(tmp_path):
    """One token reads 4 of 32 experts, and two read 1 - (28 / 32)^2 of them; memory is what the time goes by."""
    all_32 = 32 * 2 * (5760 * 2880 + 2880 * 2880)  # Bytes.
    one, two, many = (experts(tmp_path, tokens, 32, 4)["cost_us"]["a100"] for tokens in (1, 2, 64))
    per_byte = (two - one) / (all_32 * ((1 - (28 / 32) ** 2) - 4 / 32))
    assert one == pytest.approx(per_byte * all_32 * 4 / 32, rel=0.1) and many == pytest.approx(per_byte * all_32, rel=0.1)


@pytest.mark.parametrize("op_type", ["SparseAttention", "MatMulOfTheFuture"])
def test_products_without_a_rule_are_told(op_type, tmp_path):
    with pytest.warns(UserWarning, match=rf"operators of 1 of the nodes have no rule for .* count as elementwise: op \({op_type}\)$"):
        assert loaded(tmp_path, op_type, [[2, 8, 64]], [2, 8, 64])["flops"] == 2 * 8 * 64


def test_onnx_runtime_makes_the_shapes_of_transposed_products(tmp_path):
    """The shape of the result comes from a run, so that it agrees with what the rule takes for rows and batch."""
    with pytest.warns(UserWarning, match="comes from a run of ONNX Runtime"):
        op = loaded(tmp_path, "FusedMatMul", [[6, 3, 4], [3, 6, 7]], None, transBatchA=1, transA=1)
    assert op["outputs"][0]["shape"] == [3, 4, 7] and op["flops"] == 2 * (3 * 4 * 7) * 6


def test_packed_weights_have_their_bytes(tmp_path):
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain=MICROSOFT, K=64, N=256, bits=4, block_size=32)
    packed = helper.make_tensor("w", BYTES, [256, 2, 16], bytes(256 * 2 * 16), raw=True)
    path = saved(tmp_path, [node], [value("x", [32, 64])], [value("y", [32, 256])], [("s", [512])], constants=[packed])
    ops = by_name(emplace.onnx.load(path))
    assert (ops["w"]["param_bytes"], ops["s"]["param_bytes"]) == (64 * 256 // 2, 512 * 4)


def test_classes_of_onnx_runtime_are_those_of_onnx(tmp_path):
    """A fused op costs what the op that it has at its heart costs."""
    fused = loaded(tmp_path, "FusedMatMul", [[32, 64], [64, 256]], [32, 256])
    assert fused["cost_us"] == loaded(tmp_path, "MatMul", [[32, 64], [64, 256]], [32, 256], domain="")["cost_us"]
    depthwise = {"shapes": [[1, 8, 16, 16], [8, 1, 3, 3]], "result": [1, 8, 14, 14], "group": 8}
    assert loaded(tmp_path, "FusedConv", **depthwise)["cost_us"] == loaded(tmp_path, "Conv", domain="", **depthwise)["cost_us"]


def test_names_of_other_domains_are_other_operators(tmp_path):
    """Elementwise, whatever the name: an operation for each of the numbers that are read."""
    product = loaded(tmp_path, "Attention", [[2, 8, 10, 16], [2, 8, 20, 16], [2, 8, 20, 16]], [2, 8, 10, 16], domain="mine")
    plain = loaded(tmp_path, "Mystery", [[2, 8, 10, 16], [2, 8, 20, 16], [2, 8, 20, 16]], [2, 8, 10, 16], domain="mine")
    assert product["flops"] == plain["flops"] == (2 * 8 * 16) * (10 + 20 + 20) and product["cost_us"] == plain["cost_us"]
    assert loaded(tmp_path, "Conv", [[1, 8, 4, 4], [8, 8, 1, 1]], [1, 8, 4, 4], domain="mine")["flops"] == 8 * 16 + 64
    assert loaded(tmp_path, "Identity", [[2, 8]], [2, 8], domain="mine")["cost_us"] != 0


@pytest.mark.parametrize("shapes, attributes", [
    ([[1, 8, 1, 16], [1, 8, 1, 16], [1, 8, 1, 16], None, [1, 8, 1000, 16], [1, 8, 1000, 16]], {}),
    ([[1, 1, 128], [1, 1, 128], [1, 1, 128], None, [1, 8, 1000, 16], [1, 8, 1000, 16]], {"q_num_heads": 8, "kv_num_heads": 8}),
])
def test_attention_meets_the_keys_of_its_cache(shapes, attributes, tmp_path):
    op = loaded(tmp_path, "Attention", shapes, shapes[0], domain="", opset=23, further=[[1, 8, 1001, 16]] * 2, **attributes)
    assert op["flops"] == 2 * (128 + 128) * 1001


def test_embeddings_read_their_rows(tmp_path):
    """Of a table of 8 MB only the two rows that are asked for."""
    table, small = [4000, 512], [4, 512]
    ids = {0: TensorProto.INT32, 1: TensorProto.INT32}
    cost_us = [loaded(tmp_path, "EmbedLayerNormalization", [[1, 2], [1, 2], rows, small, small, [512], [512]], [1, 2, 512], elements=ids,
                      further=[[1]])["cost_us"]["k80"] for rows in (table, small)]
    assert cost_us[0] == pytest.approx(cost_us[1], rel=0.2)
