"""Gradient checkpointing (torch.utils.checkpoint) under a recording: what a model computes again is recorded again.

PyTorch leaves this to its compiler while it traces. Here the functions that `checkpoint` calls are replaced meanwhile, so that a
backward pass asks for recomputation as it does when it runs, and each node says in which call it was recorded.
"""
import contextlib
import operator
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import fx
from torch.utils import checkpoint

from emplace._core import BadInput
from emplace.torch.running import Running, is_backward, regions_of

aten = torch.ops.aten
_REPLACED = ("_checkpoint_without_reentrant_generator", "CheckpointFunction", "_is_compiling")


class _Checkpoints:
    """What takes the place of functions of torch.utils.checkpoint."""

    def __init__(self, running: Running):
        self._running = running
        self._generator = checkpoint._checkpoint_without_reentrant_generator
        self.drawn_anew: set[int] = set()  # Calls whose second run draws other random numbers than the first.

    def generator(self, fn, preserve_rng_state: bool = True, *options: Any, **kwargs: Any) -> Iterator[None]:
        """In place of _checkpoint_without_reentrant_generator; between its two steps, the caller runs fn for the first time."""
        running = self._running
        region, stack = running.new_region(), list(running.stack)
        if not preserve_rng_state:
            self.drawn_anew.add(region)

        def again(*args: Any, **kwargs: Any) -> Any:
            with running.within(region, stack):
                return fn(*args, **kwargs)

        # No numbers are drawn while recording, so that the generator's state matters to nobody.
        inner = self._generator(again, False, *options, **kwargs)
        next(inner)
        with running.within(region):
            yield
        yield from inner

    def apply(self, fn, preserve_rng_state: bool, *args: Any) -> Any:
        """In place of CheckpointFunction.apply (use_reentrant=True): the same ops, recorded in one backward pass."""
        if not torch.is_grad_enabled() or not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            with torch.no_grad():
                return fn(*args)
        with checkpoint.set_checkpoint_early_stop(False):
            generator = self.generator(fn, preserve_rng_state, checkpoint.noop_context_fn, checkpoint._DEFAULT_DETERMINISM_MODE, False,
                                       False, *args)
            next(generator)
        output = fn(*args)
        for _ in generator:
            pass
        return output


def record_now() -> None:
    """To be called in a traced function: PyTorch's tracing, which has begun, leaves gradient checkpointing to its compiler."""
    torch._C._autograd._saved_tensors_hooks_set_tracing(False)


@contextlib.contextmanager
def recorded_checkpoints(running: Running) -> Iterator[set[int]]:
    """Meanwhile gradient checkpointing is recorded. Yields the calls whose second run draws random numbers anew."""
    if not all(hasattr(checkpoint, name) for name in _REPLACED):
        raise BadInput(f"torch {torch.__version__} is not known to emplace in how it does gradient checkpointing, expected 2.9 to 2.11")
    checkpoints = _Checkpoints(running)
    dead = fx.Graph.eliminate_dead_code

    def eliminate(graph: fx.Graph, is_impure=fx.Node.is_impure) -> bool:
        # What is computed again is computed whole, as PyTorch does, whether it is needed or not.
        return dead(graph, lambda node: region_of(node) is not None or is_impure(node))

    with mock.patch.multiple(checkpoint, _checkpoint_without_reentrant_generator=checkpoints.generator, CheckpointFunction=checkpoints,
                             _is_compiling=lambda *_: False), mock.patch.object(fx.Graph, "eliminate_dead_code", eliminate):
        yield checkpoints.drawn_anew


def region_of(node: fx.Node) -> int | None:
    """The outermost call of gradient checkpointing in whose second run a node was recorded; None: in none."""
    _, again = regions_of(node)
    return again[0] if again else None


def _is_random(node: fx.Node) -> bool:
    op = node.target
    if not isinstance(op, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in op.tags:
        return False
    names = [argument.name for argument in op._schema.arguments]
    chance = dict(zip(names, node.args)) | node.kwargs
    return chance.get("dropout_p") != 0.0  # Attention without dropout draws nothing.


def _draws(graph: fx.Graph, drawn_anew: set[int]) -> Iterator[tuple[list[fx.Node], list[fx.Node]]]:
    """For each call whose second run draws the numbers of the first: the ops that draw, in the order of either run."""
    first: dict[int, list[fx.Node]] = {}
    again: dict[int, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op == "call_function" and _is_random(node):
            for runs, regions in zip((first, again), regions_of(node), strict=True):
                for region in regions:
                    runs.setdefault(region, []).append(node)
    # Outer calls begin earlier.
    for region in sorted(again.keys() - drawn_anew):
        yield first.get(region, []), again[region]


def keep_random_numbers(graph: fx.Graph, drawn_anew: set[int]) -> None:
    """Lets ops that draw random numbers for the second time read those of the first, which makes both runs compute the same.

    PyTorch sets the generator's state back instead, which ops on several devices cannot.
    """
    for first, again in _draws(graph, drawn_anew):
        if [node.target for node in again] != [node.target for node in first[:len(again)]]:
            raise BadInput(f"gradient checkpointing draws other random numbers the second time: {again[0].target}; expected the same ops, "
                           "or preserve_rng_state=False")
        for drawn, repeated in zip(first, again, strict=False):
            if drawn is not repeated:
                _take_from(drawn, repeated)


def _take_from(drawn: fx.Node, repeated: fx.Node) -> None:
    if repeated.target is aten.native_dropout.default:
        _repeat_dropout(drawn, repeated)
    else:
        repeated.replace_all_uses_with(drawn)
    repeated.graph.erase_node(repeated)


def _repeat_dropout(drawn: fx.Node, repeated: fx.Node) -> None:
    """Dropout of what was computed again, by the mask of the first time, as native_dropout computes it."""
    graph = repeated.graph
    masks = [user for user in drawn.users if user.args[1] == 1]
    if not masks:
        with graph.inserting_after(drawn):
            masks = [_copy_of(graph, drawn, drawn.meta["val"][1], operator.getitem, (drawn, 1))]
    values, chance = repeated.args[0], repeated.args[1]
    tensor = repeated.meta["val"][0]
    with graph.inserting_after(repeated):
        kept = _copy_of(graph, repeated, tensor, aten.mul.Tensor, (values, masks[0]))
    with graph.inserting_after(kept):
        scaled = _copy_of(graph, repeated, tensor, aten.mul.Tensor, (kept, 1.0 / (1.0 - chance) if chance < 1 else 0.0))
    for user in list(repeated.users):
        user.replace_all_uses_with(masks[0] if user.args[1] == 1 else scaled)
        graph.erase_node(user)


def _copy_of(graph: fx.Graph, node: fx.Node, value: torch.Tensor, target: Any, args: tuple) -> fx.Node:
    added = graph.call_function(target, args)
    added.meta = dict(node.meta) | {"val": value}
    return added


def begins_after(graph: fx.Graph) -> dict[int, list[fx.Node]]:
    """By call of gradient checkpointing: the gradients with which its second run begins, those that were there before and that the first
    reader of what it computes needs. Else it could run at once, and what checkpointing saves would be in memory again."""
    order = {node: index for index, node in enumerate(graph.nodes)}
    begin: dict[int, int] = {}
    for node, index in order.items():
        region = region_of(node)
        if region is not None:
            begin.setdefault(region, index)
    waits: dict[int, list[fx.Node]] = {}
    shows: dict[fx.Node, set[int]] = {}  # What of these calls a node is, or shows by views.
    for node in order:
        region = region_of(node)
        shows[node] = {region} if region is not None else set().union(*(shows[source] for source in node.all_input_nodes))
        if region is None and is_backward(node) and shows[node]:
            gradients = {other: _gradients_for(node, begin[other], order) for other in shows[node] - waits.keys()}
            waits |= {other: found for other, found in gradients.items() if found}
            shows[node] -= waits.keys()
    return waits


def _gradients_for(node: fx.Node, before: int, order: dict[fx.Node, int]) -> list[fx.Node]:
    """What a backward op needs of the backward ops of a place in the order and earlier."""
    found, left, seen = [], [node], {node}
    while left:
        for source in left.pop().all_input_nodes:
            if source in seen or not is_backward(source) or region_of(source) is not None:
                continue
            seen.add(source)
            (found if order[source] < before else left).append(source)
    return found
