"""The ops of a language model's step: what each computes, what it reads, and what it keeps in memory."""
import math

from emplace._core import BadInput, OpClass
from emplace.llm.checkpoint import Checkpoint, Tensor
from emplace.llm.layers import Layer, matrix_of
from emplace.llm.op_writer import OpWriter, arriving_bytes
from emplace.llm.routing import reached
from emplace.llm.settings import Settings
from emplace.roofline import Roofline

_MOST_EXPERTS = 65_536
_BEFORE_HEAD = ("output_norm.weight", "output_norm.bias", "output_hc_fn.weight", "output_hc_base.weight", "output_hc_scale.weight")
_PER_LAYER = ("per_layer_model_proj.weight", "per_layer_proj_norm.weight", "per_layer_token_embd.weight")
_STATE_PRODUCTS = 3  # Of a token with the state of a recurrent layer.


class Pass:
    """Writes the ops of one pass of tokens through the model."""

    def __init__(self, checkpoint: Checkpoint, layers: list[Layer], settings: Settings, roofline: Roofline,
                 routing: dict[str, list[float]], ops: list[dict], *, prefix: str, tokens: int, context: int, holds: bool, after: str):
        """tokens: of each stream. context: of each stream, at the pass's end. holds: its ops hold weights and caches, which other
        passes share. after: the op that it waits for; empty: none."""
        self._checkpoint, self._layers, self._routing, self._after = checkpoint, layers, routing, after
        self._ops = OpWriter(checkpoint, settings, roofline, ops, prefix=prefix, tokens=tokens, holds=holds)
        self._tokens, self._context = tokens, context

    def write(self) -> str:
        """Adds the ops, and returns the name of the last one."""
        hidden = self._embedding()
        for layer in self._layers:
            hidden = self._layer(layer, hidden)
        return self._head(hidden)

    def _embedding(self) -> str:
        known, ops = self._checkpoint.by_name, self._ops
        table = known.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise BadInput(f"{self._checkpoint.name}: there is no matrix 'token_embd.weight', expected one")
        # What Gemma 4 adds to each layer: a row of a second table, and a product of the first one's.
        more = [known[name] for name in _PER_LAYER if name in known]
        projected = [tensor for tensor in more if tensor.name == _PER_LAYER[0]]
        return ops.add("token_embd", "", OpClass.MATMUL if projected else OpClass.GATHER, [self._after] if self._after else [],
                       flops=2.0 * ops.tokens * sum(tensor.numbers for tensor in projected),
                       moved=sum(tensor.bytes for tensor in projected) + 2 * ops.hidden_bytes() / ops.chunks,
                       out_bytes=ops.hidden_bytes(), tensors=[table, *more], temp=ops.room(ops.width) + ops.arriving(ops.settings.context))

    def _layer(self, layer: Layer, hidden: str) -> str:
        ops, block, tensors = self._ops, layer.name, layer.tensors
        feeds_forward = "ffn_down" in tensors or "ffn_experts" in tensors
        if "attn_output" not in tensors and not feeds_forward:
            return ops.nothing(block, hidden)
        if "attn_output" in tensors:
            mixed = ops.small(block, "attn_norm", [hidden], OpClass.REDUCTION, tensors.get("attn_norm", ()))
            if "attn_qkv" in tensors:
                mixed = self._attention(layer, ops.product(block, "attn_qkv", tensors["attn_qkv"], mixed))
            mixed = ops.product(block, "attn_output", tensors["attn_output"], mixed)
            hidden = ops.small(block, "attn_add", [mixed, hidden], OpClass.ELEMENTWISE)
        if not feeds_forward:
            return hidden
        alone = () if "attn_output" in tensors else tensors.get("attn_norm", ())  # The only norm of such a layer, whatever its name is.
        normed = ops.small(block, "ffn_norm", [hidden], OpClass.REDUCTION, tensors.get("ffn_norm", alone))
        made = self._experts(layer, normed) if "ffn_experts" in tensors else []
        if "ffn_up" in tensors:  # Gemma 4 has both.
            inner = ops.product(block, "ffn_up", tensors["ffn_up"], normed, out=matrix_of(tensors["ffn_down"]).shape[-1])
            made.append(ops.product(block, "ffn_down", tensors["ffn_down"], inner))
        hidden = ops.small(block, "ffn_add", [*made, hidden], OpClass.ELEMENTWISE)
        return ops.product(block, "per_layer", tensors["per_layer"], hidden) if "per_layer" in tensors else hidden

    def _attention(self, layer: Layer, qkv: str) -> str:
        ops, settings = self._ops, self._ops.settings
        in_flight, caches, state = settings.steps_in_flight, layer.caches, layer.state_bytes(settings)
        seen = [cache.seen(self._tokens, self._context) for cache in caches]
        read = sum(cache.row_bytes(settings) * rows for cache, rows in zip(caches, seen, strict=True))
        held = sum(cache.row_bytes(settings) * cache.rows(settings) for cache in caches) if layer.keeps else 0
        attrs = self._growth(layer)
        # What the matrix behind it reads: the values of all heads.
        groups = self._checkpoint.number("attention.output_group_count", 1)
        out_bytes = ops.tokens * groups * matrix_of(layer.tensors["attn_output"]).shape[-1] * settings.activation_bytes
        room = ops.room(3 * ops.width) + ops.arriving(sum(cache.rows(settings) for cache in caches))
        room += settings.chunk * sum(cache.rows(settings) * cache.rank_bytes for cache in caches)
        # Each token reads the state, changes it, and reads it again; a chunk brings it from memory and back. A chunk of a long prompt is
        # of one stream, a chunk of few tokens each of all.
        moved = (read + 2 * state) * max(1 / settings.streams, 1 / ops.chunks)
        return ops.add(layer.name, "attn", OpClass.MATMUL, [qkv],
                       flops=2.0 * ops.tokens * (sum(rows * cache.scores for cache, rows in zip(caches, seen, strict=True)) +
                                                 _STATE_PRODUCTS * layer.state_numbers),
                       moved=moved + 2 * ops.hidden_bytes() / ops.chunks, out_bytes=out_bytes,
                       tensors=layer.tensors.get("attn", ()), held=in_flight * (held + state), temp=room, attrs=attrs)

    def _growth(self, layer: Layer) -> dict[str, int | float]:
        """By how much a layer's memory grows with each token of context, and up to how many."""
        settings = self._ops.settings
        growing = [cache for cache in layer.caches if not cache.window] or layer.caches
        if not growing:
            return {}
        found: dict[str, int | float] = {}
        if self._ops.holds and layer.keeps:
            found["cache_bytes_per_token"] = settings.steps_in_flight * sum(cache.of_token(cache.row_bytes(settings)) for cache in growing)
        if growing[0].window:
            found["cache_most_tokens"] = growing[0].window + settings.chunk
        usual = arriving_bytes(settings, 0, 1)
        room = sum(cache.of_token(usual + settings.chunk * cache.rank_bytes) for cache in growing)
        return found if room == usual else found | {"room_bytes_per_token": room}

    def _experts(self, layer: Layer, normed: str) -> list[str]:
        block, tensors = layer.name, layer.tensors["ffn_experts"]
        count, used = layer.experts, self._checkpoint.number("expert_used_count")
        if not 0 < used <= count <= _MOST_EXPERTS:
            raise BadInput(f"{self._checkpoint.name}: {block} has {count} experts, of which a token uses {used}, expected 1 to {_MOST_EXPERTS} "
                           "and no more than there are")
        shares = self._routing.get(block, [1 / count] * count)
        if len(shares) != count or max(shares) * used > 1 + 1e-6:
            raise BadInput(f"{self._checkpoint.name}: {block} has {count} experts, of which a token uses {used} and for which "
                           f"{len(shares)} shares up to {max(shares, default=0):.4g} are given, expected {count} of at most 1/{used}")
        router = self._ops.product(block, "ffn_router", layer.tensors["ffn_router"], normed) if "ffn_router" in layer.tensors else normed
        hit = reached(math.ceil(self._ops.tokens / self._ops.chunks), used, shares)
        made = []
        if self._ops.settings.each_expert:
            made = [self._some_experts(block, f"ffn_experts.{expert}", tensors, router, sum(hit) / count, used, hit[expert] / sum(hit),
                                       1 / count) for expert in range(count)]
        else:
            made = [self._some_experts(block, "ffn_experts", tensors, router, sum(hit) / count, used, 1.0, 1.0)]
        if "ffn_shared" in layer.tensors:
            made.append(self._ops.product(block, "ffn_shared", layer.tensors["ffn_shared"], normed))
        return made

    def _some_experts(self, block: str, op: str, tensors: list[Tensor], source: str, read: float, used: int, work: float, part: float) -> str:
        """One or all experts. read: share of all experts' bytes that a chunk reads. used: experts of a token. work: share of all experts'
        time and FLOPs. part: share of their bytes."""
        all_bytes = sum(tensor.bytes for tensor in tensors)
        held = round(all_bytes * part)
        of_one = sum(tensor.numbers / tensor.shape[0] for tensor in tensors)
        rows = sum(tensor.shape[1] for tensor in tensors if len(tensor.shape) > 2)
        ops, inputs = self._ops, [source]
        if ops.settings.stream_weights and part == 1:
            inputs.append(ops.weights(block, op, tensors))
        return ops.add(block, op, OpClass.MATMUL, inputs, flops=2.0 * ops.tokens * used * of_one,
                       moved=all_bytes * read + 2 * ops.hidden_bytes() / ops.chunks, out_bytes=ops.hidden_bytes(), tensors=tensors,
                       held=0 if len(inputs) > 1 else held, temp=ops.room(5 * ops.width + used * rows) + ops.arriving(ops.settings.context),
                       part=work)

    def _head(self, hidden: str) -> str:
        known, streams = self._checkpoint.by_name, self._ops.settings.streams
        norm = [known[name] for name in _BEFORE_HEAD if name in known]
        # One row of logits for each stream: of a prompt only the last token's are needed.
        matrix = known.get("output.weight", known["token_embd.weight"])
        normed = self._ops.small("output_norm", "", [hidden], OpClass.REDUCTION, norm)
        return self._ops.product("output", "", [matrix], normed, tokens=streams)
