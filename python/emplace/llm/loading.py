"""Graphs of language models."""
import os
import pathlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emplace._core import BadInput, Graph
from emplace.checks import check_whole
from emplace.llm.checkpoint import Checkpoint
from emplace.llm.gguf_file import MAGIC, parts, read_gguf
from emplace.llm.hf_checkpoint import read_config
from emplace.llm.layers import Layer, extra_layers, layers_of
from emplace.llm.op_writer import arriving_bytes
from emplace.llm.routing import read_routing
from emplace.llm.settings import Settings
from emplace.llm.steps import Pass
from emplace.reading import Unmapped
from emplace.roofline import Roofline

PHASES = ("decode", "prefill", "both")
_HF_ACTIVATION_BYTES = 2  # Runtimes of safetensors keep what goes from layer to layer in 16 bits, and llama.cpp in 32.


def read_checkpoint(path: str | os.PathLike, *, weight_type: str | None = None) -> Checkpoint:
    """A model's sizes and tensors, from a GGUF file, a config.json, a folder with one, or a model.safetensors.index.json beside one.

    weight_type: type that the matrices of a config.json are to have, such as "Q4_K"; None: as it says. Raises BadInput.
    """
    _check_path("path", path)
    if _is_gguf(path):
        if weight_type is not None:
            raise BadInput(f"{path}: says itself of which types its tensors are, expected no weight type beside a GGUF file")
        return read_gguf(path)
    return read_config(path, weight_type=None if weight_type is None else _type_name("weight_type", weight_type))


def _check_path(name: str, path: str | os.PathLike) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise BadInput(f"{name} is {path!r}, expected the path of a file or a folder")


def _type_name(name: str, given: str) -> str:
    """GGUF's name of a type of numbers, which may be given in small letters."""
    if not isinstance(given, str):
        raise BadInput(f"{name} is {given!r}, expected the name of a type of numbers such as Q8_0")
    return given.upper()


def files_of(path: str | os.PathLike) -> list[pathlib.Path]:
    """The files that are read of a model that is given so."""
    given = pathlib.Path(path)
    if _is_gguf(given):
        return parts(given)
    return [given / "config.json"] if given.is_dir() else [given, given.with_name("config.json")]


def _is_gguf(path: str | os.PathLike) -> bool:
    """Whether a file is a GGUF file, by its name or by how it begins."""
    try:
        with open(path, "rb") as stream:
            return pathlib.Path(path).suffix == ".gguf" or stream.read(4) == MAGIC
    except OSError:  # A folder, or what cannot be read and has an error of its own.
        return pathlib.Path(path).suffix == ".gguf"


def load(path: str | os.PathLike, *, context: int | None = None, streams: int = 1, phase: str = "decode", prompt: int | None = None,
         tokens: int | None = None, kv_type: str = "F16", weight_type: str | None = None, each_expert: bool = False, together: str = "attention",
         stream_weights: bool = False, routing: str | os.PathLike | None = None, chunk: int = 512, steps_in_flight: int = 1,
         chunks_in_flight: int = 4, kinds: str | os.PathLike | None = None, name: str | None = None) -> Graph:
    """The graph of a step of a language model, with the costs of its ops by the roofline model on every device kind.

    path: as of `read_checkpoint`; of a GGUF file only header and list of tensors are read. context: tokens for which each stream's
    cache has room (None: what the model was made for, 8,192 at most). streams: requests that are served at once. phase: "decode",
    a step that makes one more token for each stream with a cache that is full; "prefill", the prompt's; "both", a prompt and then
    `tokens` steps (None: 16), each of which begins when the one before has ended. prompt: tokens of each stream's prompt (None: 512).
    kv_type, weight_type: types of numbers by their names in GGUF. each_expert: an op for each expert rather than one for all of a layer.
    together: what goes to one device as a whole, "layers", "attention" (of a layer all but the products of the feed-forward network)
    or "nothing". stream_weights: the feed-forward networks' weights are ops of their own; one on another device than what computes
    with it is sent there for each step, and of the steps behind a prompt up to two layers' weights count once more where they lie. routing: JSON file with the share of tokens that each expert gets (`routing.read_routing`);
    None: all the same. chunk: tokens of a prompt that are processed at once. steps_in_flight: steps that are under way at once in a
    pipeline, each for as many streams, whose caches are all in memory. chunks_in_flight: chunks of a prompt for which each device keeps
    room while they arrive; llama.cpp has 4 where several cards have all layers, else 1. kinds: as of `Roofline`.

    Raises BadInput for files that are no model or of an architecture that is not known here, and for a context, a prompt or a type
    that there cannot be.
    """
    if phase not in PHASES:
        raise BadInput(f"phase is '{phase}', expected one of {', '.join(PHASES)}")
    checkpoint = read_checkpoint(path, weight_type=weight_type)
    most = checkpoint.number("context_length", 8192)
    context = min(most, 8192) if context is None else context
    activation_bytes = 4 if _is_gguf(path) or weight_type is not None else _HF_ACTIVATION_BYTES
    settings = Settings(context, streams, _type_name("kv_type", kv_type), activation_bytes, chunk, each_expert, stream_weights, together,
                        steps_in_flight, chunks_in_flight)
    steps = _Steps.of(phase, prompt, tokens, context)
    if context > most:
        warnings.warn(f"{path}: a context of {context} tokens is asked for, and the model was made for {most}", Unmapped, stacklevel=2)
    layers, roofline = layers_of(checkpoint), Roofline(kinds)
    shares = _shares_of(routing, checkpoint, layers)
    ops: list[dict] = []
    last = ""
    for prefix, size, end in steps.passes():
        last = Pass(checkpoint, layers, settings, roofline, shares, ops, prefix=prefix, tokens=size, context=end, holds=not ops,
                    after=last).write()
    return Graph.from_ops(name or checkpoint.name, ops, {"llm": _facts(checkpoint, layers, settings, steps) | {"most_context": most}})


@dataclass(frozen=True)
class _Steps:
    """Of how many tokens of each stream a graph is."""
    phase: str
    prompt: int
    tokens: int  # After the prompt.
    context: int

    @classmethod
    def of(cls, phase: str, prompt: int | None, tokens: int | None, context: int) -> "_Steps":
        """prompt, tokens: as of load. Raises BadInput where they do not fit the phase or the context."""
        if prompt is not None and phase == "decode":
            raise BadInput(f"a prompt of {prompt} tokens is given, and phase is 'decode', expected 'prefill' or 'both' beside a prompt")
        if tokens is not None and phase != "both":
            raise BadInput(f"{tokens} tokens after a prompt are given, and phase is '{phase}', expected 'both' beside them")
        prompt = 0 if phase == "decode" else 512 if prompt is None else prompt
        tokens = 1 if phase == "decode" else 0 if phase == "prefill" else 16 if tokens is None else tokens
        if phase != "decode":
            check_whole("prompt", prompt, 1)
        if phase == "both":
            check_whole("tokens", tokens, 1)
        if prompt + tokens > context:
            raise BadInput(f"a prompt of {prompt} tokens and {tokens} more do not go into a context of {context}, expected no more "
                           "than that in all")
        return cls(phase, prompt, tokens, context)

    def passes(self) -> Iterator[tuple[str, int, int]]:
        """What the names of a pass' ops begin with, its tokens, and the tokens in the cache behind it; one after the other."""
        if self.phase == "decode":
            yield "", 1, self.context
            return
        yield "" if self.phase == "prefill" else "prompt.", self.prompt, self.prompt
        for token in range(self.tokens):
            yield f"token.{token}.", 1, self.prompt + token + 1


def _shares_of(routing: str | os.PathLike | None, checkpoint: Checkpoint, layers: list[Layer]) -> dict[str, list[float]]:
    """Of each layer that the file names, by name, the share of tokens that each of its experts gets."""
    if routing is None:
        return {}
    _check_path("routing", routing)
    shares = read_routing(routing)
    if unknown := sorted(shares.keys() - {layer.name for layer in layers if layer.experts}):
        raise BadInput(f"{os.fspath(routing)}: {unknown[0]} is no layer with experts of {checkpoint.name}")
    return shares


def _facts(checkpoint: Checkpoint, layers: list[Layer], settings: Settings, steps: _Steps) -> dict[str, Any]:
    """`meta.llm` of the graph: what serving, placing and flags need to know of the step."""
    facts = {"phase": steps.phase, "context": settings.context, "streams": settings.streams, "kv_type": settings.kv_type,
             "chunk": settings.chunk, "architecture": checkpoint.architecture, "layers": len(layers), "together": settings.together,
             "room_bytes_per_token": arriving_bytes(settings, 0, 1)}
    optional = {"steps_in_flight": settings.steps_in_flight if settings.steps_in_flight > 1 else 0,
                "experts": max(layer.experts for layer in layers), "extra_layers": extra_layers(checkpoint),
                "nested": checkpoint.nested, "tied": "output.weight" not in checkpoint.by_name, "prompt": steps.prompt, "tokens": steps.tokens}
    return facts | {key: value for key, value in optional.items() if value}
