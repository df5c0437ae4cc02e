"""What the nodes of ONNX models compute and move, by rules for the operators of onnx and of ONNX Runtime.

Operators are known by domain and name, since one name may mean different things. One without a rule is elementwise: it does an
operation for each number that it reads or makes. `lacks_rule` tells those whose names say that they do more.
To add an operator, give it a class, and a rule for its operations if these are more than that.
"""
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping

import onnx
from onnx import NodeProto, TensorProto

from emplace._core import OpClass
from emplace.onnx.model import is_standard
from emplace.onnx.shapes import Tensor
from emplace.roofline import Roofline

_ONNX, _RUNTIME, _BLOCKED = "", "com.microsoft", "com.microsoft.nchwc"

_CLASSES = {
    _ONNX: {
        OpClass.CONVOLUTION: {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv"},
        OpClass.MATMUL: {"MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum"},
        OpClass.GATHER: {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "TopK", "NonZero", "OneHot"},
        OpClass.REDUCTION: {"BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization",
                            "SimplifiedLayerNormalization", "LpNormalization", "LRN", "Softmax", "LogSoftmax", "MaxPool", "AveragePool",
                            "GlobalAveragePool", "GlobalMaxPool", "LpPool", "ArgMax", "ArgMin", "CumSum", "ReduceSum", "ReduceMean",
                            "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                            "ReduceSumSquare"},
        # Known from shapes, or a new name for the same numbers.
        OpClass.RESIDENT: {"Constant", "ConstantOfShape", "Shape", "Size", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity",
                           "Dropout"},
    },
    _RUNTIME: {
        OpClass.CONVOLUTION: {"FusedConv", "NhwcConv", "NhwcFusedConv", "QLinearConv", "ConvTransposeWithDynamicPads"},
        OpClass.MATMUL: {"FusedMatMul", "FusedMatMulActivation", "TransposeMatMul", "FusedGemm", "GemmFastGelu", "GemmFloat8", "QGemm",
                         "MatMulNBits", "MatMulNBitsMlp", "MatMulNBitsQkv", "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16",
                         "MatMulIntegerToFloat", "MatMulPacked", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight",
                         "QOrderedMatMul", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "MoE", "QMoE", "Attention", "QAttention",
                         "MultiHeadAttention", "GroupQueryAttention", "DecoderMaskedSelfAttention", "DecoderMaskedMultiHeadAttention"},
        OpClass.GATHER: {"GatherND", "GatherBlockQuantized"},
        OpClass.REDUCTION: {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "EmbedLayerNormalization", "GroupNorm",
                            "SkipGroupNorm", "BiasSoftmax", "QLinearSoftmax", "QLinearReduceMean", "ReduceSumInteger", "NhwcMaxPool",
                            "QLinearAveragePool", "QLinearGlobalAveragePool"},
    },
    _BLOCKED: {
        OpClass.CONVOLUTION: {"Conv"},
        OpClass.REDUCTION: {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"},
    },
}
_CLASS_OF = {(domain, name): op_class for domain, classes in _CLASSES.items() for op_class, names in classes.items() for name in names}

# Parts of names of operators that multiply matrices, or convolve.
_PRODUCTS = ("MatMul", "Gemm", "Attention", "MoE", "LSTM", "Conv", "Proj", "DeltaNet", "Mamba")

# Which input of a convolution has its weights, where it is not the second.
_WEIGHTS_AT = {(_ONNX, "QLinearConv"): 3, (_RUNTIME, "QLinearConv"): 3}
# Which inputs of a mixture of experts have these experts' weights.
_EXPERTS_AT = {(_RUNTIME, "MoE"): (2, 4, 6), (_RUNTIME, "QMoE"): (2, 5, 8)}
# Inputs of which only what is asked for is read.
_READ_IN_PART = {
    **{(_ONNX, name): {0} for name in ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Slice")},
    **{(_RUNTIME, name): {0} for name in ("GatherND", "GatherBlockQuantized")},
    (_RUNTIME, "EmbedLayerNormalization"): {2, 3, 4},
}


def attribute(node: NodeProto, name: str, default):
    """The value of a node's attribute."""
    for one in node.attribute:
        if one.name == name:
            return onnx.helper.get_attribute_value(one)
    return default


@dataclasses.dataclass(frozen=True)
class Call:
    """A node with its tensors."""
    node: NodeProto
    operands: list[Tensor]  # By place; an input that is left out is of unknown shape.
    outputs: list[Tensor]

    @property
    def operator(self) -> tuple[str, str]:
        return ("" if is_standard(self.node) else self.node.domain, self.node.op_type)

    def attribute(self, name: str, default):
        return attribute(self.node, name, default)

    def shape(self, index: int) -> list[int] | None:
        """Of an input; None: it is not known, or the input is left out."""
        return self.operands[index].shape if index < len(self.operands) else None

    @property
    def out(self) -> int:
        """Numbers in the first output."""
        return self.outputs[0].numel if self.outputs else 0

    def weights(self) -> list[int] | None:
        """The shape of a convolution's weights."""
        return self.shape(_WEIGHTS_AT.get(self.operator, 1))

    def op_class(self) -> OpClass:
        op_class = _CLASS_OF.get(self.operator, OpClass.ELEMENTWISE)
        if op_class == OpClass.CONVOLUTION and self.attribute("group", 1) > 1 and (self.weights() or [0, 0])[1] == 1:
            return OpClass.DEPTHWISE
        return op_class


# Rules for operations: None where a shape that they need is not known.

def _convolution(call: Call) -> float | None:
    weights = call.weights()
    return 2.0 * call.out * math.prod(weights[1:]) if weights else None


def _transposed_convolution(call: Call) -> float | None:
    weights = call.weights()
    return 2.0 * call.operands[0].numel * math.prod(weights[1:]) if weights else None


def _product(call: Call) -> float | None:
    """A product of matrices, whose first may be transposed, and have its rows before what it is a batch of."""
    shape = call.shape(0)
    if not shape:
        return None
    if not call.attribute("transA", 0) or len(shape) == 1:
        return 2.0 * call.out * shape[-1]
    return 2.0 * call.out * shape[0 if call.attribute("transBatchA", 0) else -2]


def _product_with_packed(call: Call) -> float | None:
    """A product with weights [K, N] that are packed in blocks of few bits."""
    return 2.0 * call.operands[0].numel * call.attribute("N", 0)


def _mlp_with_packed(call: Call) -> float | None:
    """Two products of an input with packed weights [K, N] each."""
    return 4.0 * call.operands[0].numel * call.attribute("N", 0)


def _qkv_with_packed(call: Call) -> float | None:
    """Products of an input with packed weights [K, Nq] for queries and [K, Nkv] for keys and values."""
    return 2.0 * call.operands[0].numel * (call.attribute("Nq", 0) + 2 * call.attribute("Nkv", 0))


def _bits(call: Call, number: int) -> int:
    """Of a number in the packed weights of QMoE's product 1, 2 or 3."""
    kind = call.attribute("quant_type", b"int").decode()
    if kind != "int":
        return 8 if kind == "fp8" else 4
    return call.attribute(f"fc{number}_expert_weight_bits", 0) or call.attribute("expert_weight_bits", 4)


def _mixture_of_experts(call: Call) -> float | None:
    """Each token is multiplied with the weights of k experts. Inputs: tokens, scores [tokens, experts], weights [experts, ...]."""
    scores = call.shape(1)
    if not scores or not scores[-1]:
        return None
    weights = [call.operands[index] for index in _EXPERTS_AT[call.operator] if index < len(call.operands)]
    if call.operator == (_RUNTIME, "QMoE"):
        numbers = sum(weight.bytes * 8 // _bits(call, number) for number, weight in enumerate(weights, 1))
    else:
        numbers = sum(weight.numel for weight in weights)
    return 2.0 * math.prod(scores[:-1]) * min(call.attribute("k", 1), scores[-1]) * numbers / scores[-1]


def _contracted(equation: str, operands: list[Tensor]) -> int:
    """The product of the dimensions of an Einsum over which it sums."""
    terms, _, result = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms.split(","), operands, strict=False):
        before, _, after = term.partition("...")
        shape = tensor.shape or []
        sizes |= dict(zip(before, shape, strict=False)) | dict(zip(reversed(after), reversed(shape), strict=False))
    if "->" not in equation:  # Then what stands there once is kept.
        result = "".join(letter for letter in sizes if terms.count(letter) == 1)
    return math.prod(size for letter, size in sizes.items() if letter not in result)


def _einsum(call: Call) -> float | None:
    if len(call.operands) < 2:
        return None
    return 2.0 * call.out * _contracted(call.attribute("equation", b"").decode(), call.operands)


def _recurrent(call: Call) -> float | None:
    """Every step multiplies with both weight matrices."""
    shape = call.shape(0)
    return 2.0 * shape[0] * shape[1] * (call.operands[1].numel + call.operands[2].numel) if shape and len(call.operands) > 2 else None


def _keys(call: Call, new: int, cache: int, axis: int) -> int:
    """How many keys each query meets: the new ones, and those of the cache, an input with the length at an axis."""
    shape = call.shape(cache)
    if not shape:
        return new
    # A shared buffer has room for the new ones already.
    return shape[axis] if call.attribute("past_present_share_buffer", 0) else new + shape[axis]


def _attention(call: Call) -> float | None:
    """Queries with keys, and weights with values. Inputs: queries, keys, values, mask, cached keys, cached values."""
    keys = call.shape(1)
    return 2.0 * (call.operands[0].numel + call.out) * _keys(call, keys[-2], cache=4, axis=-2) if keys else None


def _attention_with_projection(call: Call, cache: int) -> float | None:
    """ONNX Runtime's, of an input [batch, length, width] and the packed weights [width, queries + keys + values]."""
    shape, weights = call.shape(0), call.shape(1)
    if not shape or not weights:
        return None
    queries, _, values = call.attribute("qkv_hidden_sizes", None) or [weights[-1] // 3] * 3
    keys = _keys(call, shape[1], cache, axis=3)
    return 2.0 * shape[0] * shape[1] * (shape[2] * weights[-1] + (queries + values) * keys)


def _multi_head_attention(call: Call, cache: int) -> float | None:
    """ONNX Runtime's: queries [batch, length, width], or [batch, length, heads, 3, size] with keys and values packed into them; keys
    [batch, length, width], [batch, length, heads, 2, size] packed with values, or [batch, heads, length, size]."""
    queries, keys = call.shape(0), call.shape(1)
    if not queries:
        return None
    new = keys[2 if len(keys) == 4 else 1] if keys else queries[1]
    numbers = call.operands[0].numel // (3 if len(queries) == 5 else 1)
    return 2.0 * (numbers + (call.out or numbers)) * _keys(call, new, cache, axis=2)


def _group_query_attention(call: Call) -> float | None:
    """ONNX Runtime's: queries [batch, length, width], with keys and values packed behind them where there are no keys."""
    queries = call.shape(0)
    if not queries:
        return None
    heads, kv_heads = call.attribute("num_heads", 1), call.attribute("kv_num_heads", 1)
    numbers = call.operands[0].numel if call.shape(1) else call.operands[0].numel * heads // (heads + 2 * kv_heads)
    keys, window = _keys(call, queries[1], cache=3, axis=2), call.attribute("local_window_size", -1)
    return 4.0 * numbers * (min(keys, window) if window > 0 else keys)


_FLOPS: dict[tuple[str, str], Callable[[Call], float | None]] = {
    **{operator: _convolution for operator, op_class in _CLASS_OF.items() if op_class == OpClass.CONVOLUTION},
    (_ONNX, "ConvTranspose"): _transposed_convolution,
    (_RUNTIME, "ConvTransposeWithDynamicPads"): _transposed_convolution,
    **{(_ONNX, name): _product for name in ("MatMul", "MatMulInteger", "QLinearMatMul", "Gemm")},
    (_ONNX, "Einsum"): _einsum,
    **{(_ONNX, name): _recurrent for name in ("LSTM", "GRU", "RNN")},
    (_ONNX, "Attention"): _attention,
    **{(_RUNTIME, name): _product for name in (
        "FusedMatMul", "FusedMatMulActivation", "TransposeMatMul", "FusedGemm", "GemmFastGelu", "GemmFloat8", "QGemm", "MatMulFpQ4",
        "MatMulInteger16", "MatMulIntegerToFloat", "MatMulPacked", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight",
        "QOrderedMatMul", "DynamicQuantizeMatMul")},
    **{(_RUNTIME, name): _product_with_packed for name in ("MatMulNBits", "MatMulBnb4")},
    (_RUNTIME, "MatMulNBitsMlp"): _mlp_with_packed,
    (_RUNTIME, "MatMulNBitsQkv"): _qkv_with_packed,
    **{operator: _mixture_of_experts for operator in _EXPERTS_AT},
    (_RUNTIME, "DynamicQuantizeLSTM"): _recurrent,
    (_RUNTIME, "Attention"): lambda call: _attention_with_projection(call, cache=4),
    (_RUNTIME, "DecoderMaskedSelfAttention"): lambda call: _attention_with_projection(call, cache=4),
    (_RUNTIME, "QAttention"): lambda call: _attention_with_projection(call, cache=8),
    (_RUNTIME, "MultiHeadAttention"): lambda call: _multi_head_attention(call, cache=6),
    (_RUNTIME, "DecoderMaskedMultiHeadAttention"): lambda call: _multi_head_attention(call, cache=5),
    (_RUNTIME, "GroupQueryAttention"): _group_query_attention,
}


def _flops(call: Call) -> float:
    """A multiply-add counts as two."""
    rule = _FLOPS.get(call.operator)
    found = rule(call) if rule else None
    if found is not None:
        return found
    made = sum(tensor.numel for tensor in call.outputs)
    return float(max(call.out, _read(call, [tensor.numel for tensor in call.operands], made)))


def _read(call: Call, held: list[int], made: int) -> int:
    """The sum of what the operands hold; of those that are read in part, no more than what is made."""
    in_part = _READ_IN_PART.get(call.operator, ())
    return sum(min(size, made) if index in in_part else size for index, size in enumerate(held))


def _moved_bytes(call: Call) -> int:
    """Read and written. Of experts, those count that at least one of the tokens is expected to reach, each k of them at random."""
    written = sum(tensor.bytes for tensor in call.outputs)
    held = [tensor.bytes for tensor in call.operands]
    scores = call.shape(1)
    if call.operator in _EXPERTS_AT and scores and scores[-1]:
        reached = 1 - (1 - min(1.0, call.attribute("k", 1) / scores[-1])) ** math.prod(scores[:-1])
        held[2:] = [round(size * reached) for size in held[2:]]
    return written + _read(call, held, written)


def lacks_rule(node: NodeProto) -> bool:
    """Whether a node of onnx or of ONNX Runtime multiplies matrices, by its operator's name, and counts as elementwise all the same."""
    operator = Call(node, [], []).operator
    return operator[0] in (_ONNX, _RUNTIME, _BLOCKED) and operator not in _FLOPS and any(part in node.op_type for part in _PRODUCTS)


@dataclasses.dataclass(frozen=True)
class Work:
    """Of a node, or of several that run one after the other."""
    flops: float = 0.0
    cost_us: dict[str, float] = dataclasses.field(default_factory=dict)  # By device kind; empty: nothing runs.
    temp_bytes: int = 0  # What a node holds while it runs, beside its inputs and outputs.

    def __add__(self, other: "Work") -> "Work":
        kinds = self.cost_us | other.cost_us
        return Work(self.flops + other.flops, {kind: self.cost_us.get(kind, 0.0) + other.cost_us.get(kind, 0.0) for kind in kinds},
                    max(self.temp_bytes, other.temp_bytes))

    def __mul__(self, times: int) -> "Work":
        return Work(self.flops * times, {kind: cost * times for kind, cost in self.cost_us.items()}, self.temp_bytes if times else 0)

    def or_more(self, other: "Work") -> "Work":
        """The larger of each number."""
        kinds = self.cost_us | other.cost_us
        return Work(max(self.flops, other.flops), {kind: max(self.cost_us.get(kind, 0.0), other.cost_us.get(kind, 0.0)) for kind in kinds},
                    max(self.temp_bytes, other.temp_bytes))


def known(tensors: Mapping[str, Tensor], names: Iterable[str]) -> list[Tensor]:
    """The tensors of these names; one that is not there is of unknown shape."""
    return [tensors.get(name, Tensor(None, 0)) for name in names]


def work_of(node: NodeProto, tensors: Mapping[str, Tensor], roofline: Roofline) -> Work:
    """The work of a node without bodies."""
    call = Call(node, known(tensors, node.input), known(tensors, filter(None, node.output)))
    op_class = call.op_class()
    if op_class == OpClass.RESIDENT:
        return Work()
    flops = _flops(call)
    half = any(tensor.element in (TensorProto.FLOAT16, TensorProto.BFLOAT16) for tensor in call.outputs)
    return Work(flops, roofline.cost_us(op_class, half, flops, _moved_bytes(call)))
