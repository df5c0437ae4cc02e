"""What a layer of a language model keeps of the tokens that it has seen: rows of keys and values, and numbers that stay as many."""
import math
from dataclasses import dataclass

from emplace._core import BadInput
from emplace.llm.checkpoint import Checkpoint, type_sizes
from emplace.llm.settings import Settings

# Each layer that ranks all tokens, and attends to the best ones, has one of these: that of MiniMax M3, and of all others.
_BLOCK_INDEXER, _INDEXER = "indexer.k_proj", "indexer.proj"
# How often a layer attends to all tokens and not to a window, where the file does not say it (set_swa_pattern in llama.cpp).
_FULL_ATTENTION_EACH = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4, "exaone4": 4, "exaone-moe": 4, "llama4": 4, "olmo2": 4,
                        "plamo3": 8, "smallthinker": 4}
_FULL_ATTENTION_FIRST = ("smallthinker", "cohere2moe")  # It is the first of so many layers, and of all others the last one.
# Where the file has no window. Llama 4 divides a text into parts of so many tokens, which see no other part: never more than a window.
_WINDOWS = {"llama4": 8192}


@dataclass(frozen=True)
class Cache:
    """Rows that a layer keeps, one for each token or for each few of them."""
    numbers: int  # Of a row.
    scores: int  # Products of numbers by which a token attends to a row, of all heads.
    window: int = 0  # Tokens that a token attends to at most; 0: all.
    each: int = 1  # Tokens of a row.
    rank_bytes: int = 0  # That a row's rank takes for a while, where a token ranks them and then attends to the best ones.

    def seen(self, tokens: int, context: int) -> float:
        """Rows that each of the last `tokens` ones of a context attends to, its own included, in the mean."""
        whole = max(0, min(tokens, context - self.window)) if self.window else 0  # So many see as many as a window has,
        before = tokens - whole  # and these ones, the first of them, all that are before them.
        return (whole * self.window + before * (context - whole - (before - 1) / 2)) / tokens / self.each

    def rows(self, settings: Settings) -> int:
        """Rows of a stream for which there is room: with a window, its tokens and a chunk of new ones."""
        return min(settings.context, self.window + settings.chunk) if self.window else math.ceil(settings.context / self.each)

    def row_bytes(self, settings: Settings) -> int:
        """Bytes of a row of each stream."""
        block, size = type_sizes(settings.kv_type)
        return settings.streams * math.ceil(self.numbers / block) * size

    def of_token(self, amount: int) -> int | float:
        """So much for each row, by tokens."""
        return amount if self.each == 1 else amount / self.each


def caches_of(checkpoint: Checkpoint, layer: int, names: set[str]) -> list[Cache]:
    """Of a layer with attention. names: of its tensors. Raises BadInput for sizes that cannot be."""
    found = _compressed(checkpoint, layer) if _ratio(checkpoint, layer) is not None else [_attention(checkpoint, layer)]
    return found if names.isdisjoint((_BLOCK_INDEXER, _INDEXER)) else [*found, _ranking(checkpoint, layer, names)]


def _ranking(checkpoint: Checkpoint, layer: int, names: set[str]) -> Cache:
    """Keys by which a layer ranks all tokens. llama.cpp then masks all but the best ones, and computes with the masked ones, too. Ranks
    by the compute buffers that it reports: where the best blocks are sought, those of each head, twice, and a mask."""
    key, heads = checkpoint.number("attention.indexer.key_length"), checkpoint.number("attention.indexer.head_count")
    each = _ratio(checkpoint, layer) or 1
    if _BLOCK_INDEXER in names:  # It has room for values as well.
        return Cache(key + checkpoint.number("attention.value_length"), key * heads, each=each, rank_bytes=2 + 8 * heads)
    return Cache(key, key * heads, each=each, rank_bytes=4)


def _attention(checkpoint: Checkpoint, layer: int) -> Cache:
    number = checkpoint.number
    width, heads = number("embedding_length"), number("attention.head_count", layer=layer)
    kv_heads = number("attention.head_count_kv", heads, layer=layer)
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise BadInput(f"{checkpoint.source}: blk.{layer} has {heads} heads of attention and {kv_heads} of keys and values, expected at "
                       "least one each, and as many of the former for each of the latter")
    window = _window(checkpoint, layer)
    suffix = "_swa" if window and "attention.key_length_swa" in checkpoint.metadata else ""
    key = number(f"attention.key_length{suffix}", width // heads)
    # Latent attention: one short row a token, from which all heads' keys and values come. Of a file without these keys, as older
    # ones are, llama.cpp keeps the keys and values themselves.
    lora = number("attention.kv_lora_rank", 0) if "attention.key_length_mla" in checkpoint.metadata else 0
    if lora:
        rotated = number("rope.dimension_count", 64)
        return Cache(lora + rotated, heads * (2 * lora + rotated), window)
    value = number(f"attention.value_length{suffix}", key)
    return Cache(kv_heads * (key + value), heads * (key + value), window)


def _ratio(checkpoint: Checkpoint, layer: int) -> int | None:
    """Of a DeepSeek V4: how many tokens beyond the window have one row; 0: none has. None: other models."""
    return checkpoint.number("attention.compress_ratios", layer=layer) if "attention.compress_ratios" in checkpoint.metadata else None


def _compressed(checkpoint: Checkpoint, layer: int) -> list[Cache]:
    """A row is key and value at once."""
    key, heads = checkpoint.number("attention.key_length"), checkpoint.number("attention.head_count", layer=layer)
    window, ratio = checkpoint.number("attention.sliding_window"), _ratio(checkpoint, layer)
    return [Cache(key, 2 * heads * key, window), *([Cache(key, 2 * heads * key, each=ratio)] if ratio else [])]


def compressing_numbers(checkpoint: Checkpoint, layer: int, names: set[str]) -> int:
    """Numbers that a layer of a DeepSeek V4 keeps of each stream of the last tokens until they are one row: keys and weights, and
    of short rows, which overlap, those of two (llama_dsv4_comp_state in llama.cpp)."""
    if not (ratio := _ratio(checkpoint, layer)):
        return 0
    key, index = checkpoint.number("attention.key_length"), checkpoint.number("attention.indexer.key_length")
    return 2 * ratio * (4 * (key + index) if _INDEXER in names else key)


def _window(checkpoint: Checkpoint, layer: int) -> int:
    """How many tokens the layer attends to at most; 0: to all."""
    every = checkpoint.metadata.get("attention.sliding_window_pattern", _FULL_ATTENTION_EACH.get(checkpoint.architecture))
    if isinstance(every, list):
        windowed = bool(every[layer]) if layer < len(every) else False
    else:
        full = 0 if checkpoint.architecture in _FULL_ATTENTION_FIRST else -1
        windowed = isinstance(every, int) and every > 1 and (layer - full) % every != 0
    return checkpoint.number("attention.sliding_window", _WINDOWS.get(checkpoint.architecture, 0)) if windowed else 0


def recurrent_numbers(checkpoint: Checkpoint, layer: int) -> int:
    """Numbers that a recurrent layer keeps of each stream: its last inputs, over which it convolves, and its state
    (n_embd_r and n_embd_s in llama.cpp's llama-hparams.cpp)."""
    number = checkpoint.number
    if length := number("shortconv.l_cache", 0):
        return number("embedding_length") * (length - 1)
    before = max(number("ssm.conv_kernel"), 1) - 1
    if head := number("kda.head_dim", 0):  # Kimi Linear.
        heads = number("attention.head_count", layer=layer)
        return 3 * before * heads * head + heads * head * head
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    return before * (inner + 2 * number("ssm.group_count", 0) * state) + inner * state
