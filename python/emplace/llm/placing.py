"""Placing a language model as a runtime can run it."""
import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from emplace._core import BadInput, Graph, Machine
from emplace.checks import check_limit
from emplace.llm import ktransformers
from emplace.llm.layout import has_address, host_devices, modules_of, served
from emplace.llm.runtimes import check_runtime
from emplace.llm.settings import PRODUCTS
from emplace.pipeline import BlockRow
from emplace.placing import place
from emplace.plan import Plan
from emplace.roofline import kinds_of
from emplace.simulation import missing_bytes, scores

_ON_HOSTS = ("llama.cpp", "accelerate", "exo")  # Runtimes that also compute on processors.
_ON_SERVERS = ("llama.cpp", "exo", "vllm", "sglang", "megatron", "torchtitan")  # Runtimes that also compute on other machines.
_ROUNDS = 200  # Of a descent; each takes the best of all neighbours, so that a few dozen are enough.
_LEAST_ROUNDS = 5  # However busy the computer is.
_TRIES = 200  # Further descents without gain before the search ends.
_MOST_CHANGES = 6  # At random, before each of them.


@dataclass(frozen=True)
class _Split:
    """A division of L layers into stages, with products of feed-forward networks apart from their layers."""
    devices: tuple[int, ...]  # [S] of the stages' attention; each at most once.
    sizes: tuple[int, ...]  # [S] number of layers of each stage, 0 or more.
    apart: tuple[int, ...]  # [S] of how many layers of each stage the feed-forward network lies on `spill`: its first ones.
    spill: int  # Index of a device.


class _Model:
    """Which ops of a graph belong to which layer, and how a split becomes a placement."""

    def __init__(self, graph: Graph, machine: Machine, spread: bool, embedding_on_host: bool, usable: Callable[[int], bool]):
        """spread: feed-forward networks may lie apart from their layers. embedding_on_host: it is on a processor, where there is one.
        usable: whether a device may have layers, by its index."""
        self.graph, self.machine, self.spread, self._embedding_on_host = graph, machine, spread, embedding_on_host
        self.layers = served(graph)["layers"]
        modules = modules_of(graph)
        self._layer = np.array([layer for layer, _ in modules])  # [n]
        self._is_product = np.array([part in PRODUCTS for _, part in modules])  # [n]
        self._embedding = np.array([part == "token_embd" for _, part in modules])  # [n]
        disks = kinds_of("disk")
        self.hosts = sorted(host_devices(machine), key=lambda index: machine.devices[index].kind in disks)  # Processors first.
        # Indices of the devices that may run the whole model.
        self.devices = tuple(index for index, device in enumerate(machine.devices)
                             if not np.isnan(graph.cost_us(device.kind)).any() and usable(index))
        if not self.devices:
            known = ", ".join(f"{device.name} of kind {device.kind}" for device in machine.devices)
            raise BadInput(f"graph '{graph.name}': no device of the machine may run it all ({known}), expected one that the runtime can "
                           "use and whose kind the graph has costs for")

    def placement(self, split: _Split) -> np.ndarray:
        """[n] the device of each op."""
        attention = np.repeat(split.devices, split.sizes)
        products = attention.copy()
        begin = 0
        for size, apart in zip(split.sizes, split.apart, strict=True):
            products[begin:begin + apart] = split.spill
            begin += size
        found = np.where(self._is_product, products[self._layer], attention[self._layer])  # Index -1 is the last layer.
        found[self._layer < 0] = attention[-1]
        found[self._embedding] = self.hosts[0] if self._embedding_on_host and self.hosts else attention[0]
        return found.astype(np.int32)

    def split_like(self, placement: np.ndarray) -> _Split:
        """The split in which each device has as many layers, and as many of them divided, as it has in a free placement."""
        attention, products = self._votes(placement, ~self._is_product), self._votes(placement, self._is_product)
        divided = (attention != products) & self.spread
        sizes, apart = (np.bincount(attention[chosen], minlength=len(self.machine))[list(self.devices)]
                        for chosen in (np.ones_like(divided), divided))
        sizes[0] += self.layers - sizes.sum()  # Of devices that the runtime cannot use.
        votes = np.bincount(products[divided], minlength=len(self.machine))
        spill = max(self.devices, key=lambda device: votes[device])
        return _Split(self.devices, tuple(sizes.tolist()), tuple(apart.tolist()), spill)

    def _votes(self, placement: np.ndarray, part: np.ndarray) -> np.ndarray:
        """[L] the device on which most bytes of these ops of each layer are."""
        votes = np.zeros((self.layers, len(self.machine)))
        chosen = part & (self._layer >= 0)
        np.add.at(votes, (self._layer[chosen], placement[chosen]), 1 + self.graph.param_bytes[chosen])
        return votes.argmax(axis=1)

    def neighbours(self, split: _Split) -> Iterator[_Split]:
        """Splits in which one thing is different."""
        stages = range(len(split.devices))
        for source in stages:
            for step in (1, 2, 4, 8):
                for target in stages:
                    if source != target and split.sizes[source] >= step:
                        sizes = list(split.sizes)
                        sizes[source] -= step
                        sizes[target] += step
                        moved = replace(split, sizes=tuple(sizes), apart=tuple(map(min, split.apart, sizes)))
                        yield moved
                        if self.spread and moved.apart[source] >= step:  # Those that are whole elsewhere now make room for as many.
                            yield self._with_apart(moved, source, moved.apart[source] - step)
                if not self.spread or split.devices[source] == split.spill:
                    continue
                for apart in (split.apart[source] - step, split.apart[source] + step):
                    if 0 <= apart <= split.sizes[source]:
                        yield self._with_apart(split, source, apart)
        for one, other in itertools.combinations(stages, 2):
            swapped = self.swapped(split, one, other)
            yield from self._with_less_on(swapped, (one, other))
            yield replace(swapped, sizes=split.sizes, apart=tuple(map(min, split.apart, split.sizes)))
        if self.spread:
            for device in self.devices:
                yield replace(split, spill=device)

    def _with_less_on(self, split: _Split, stages: tuple[int, int]) -> Iterator[_Split]:
        """The split, and with up to two layers more whose feed-forward network is apart in one of these stages: a head needs room."""
        yield split
        for stage in stages:
            for more in (1, 2):
                if self.spread and split.apart[stage] + more <= split.sizes[stage]:
                    yield self._with_apart(split, stage, split.apart[stage] + more)

    @staticmethod
    def _with_apart(split: _Split, stage: int, apart: int) -> _Split:
        return replace(split, apart=(*split.apart[:stage], apart, *split.apart[stage + 1:]))

    @staticmethod
    def _reordered(split: _Split, order: list[int]) -> _Split:
        return replace(split, devices=tuple(split.devices[stage] for stage in order), sizes=tuple(split.sizes[stage] for stage in order),
                       apart=tuple(split.apart[stage] for stage in order))

    def swapped(self, split: _Split, one: int, other: int) -> _Split:
        """The split with two stages in each other's place."""
        order = list(range(len(split.devices)))
        order[one], order[other] = other, one
        return self._reordered(split, order)

    def hosts_first(self, split: _Split) -> _Split:
        """The split with processors before the other devices, as llama.cpp has them."""
        return self._reordered(split, sorted(range(len(split.devices)), key=lambda stage: split.devices[stage] not in self.hosts))


class _Descent:
    """Looks for a better split among those in which one thing is different, until there is none or the time is over."""

    def __init__(self, model: _Model, objective: str, hosts_first: bool):
        self._model, self._objective, self._hosts_first = model, objective, hosts_first
        self.evaluations = 0

    def scores(self, splits: list[_Split]) -> list[tuple[float, float]]:
        """As simulation.scores, of splits."""
        self.evaluations += len(splits)
        placements = np.array([self._model.placement(split) for split in splits])
        return scores(self._model.graph, self._model.machine, placements, self._objective)

    def _allowed(self, split: _Split) -> bool:
        used = [device for device, size in zip(split.devices, split.sizes, strict=True) if size]
        return not self._hosts_first or [device in self._model.hosts for device in used] == sorted(
            (device in self._model.hosts for device in used), reverse=True)

    def run(self, split: _Split, until: float, least_rounds: int = _LEAST_ROUNDS) -> tuple[tuple[float, float], _Split]:
        """The best split found from this one, with its score. until: of time.monotonic; so many rounds are made all the same."""
        best, score = split, self.scores([split])[0]
        for number in range(_ROUNDS):
            near = [other for other in dict.fromkeys(self._model.neighbours(best)) if self._allowed(other)]
            of_near = self.scores(near) if near else []
            index = min(range(len(near)), key=of_near.__getitem__, default=None)
            if index is None or of_near[index] >= score:
                break
            best, score = near[index], of_near[index]
            if number >= least_rounds and time.monotonic() >= until:
                break
        return score, best

    def run_on(self, score: tuple[float, float], split: _Split, until: float) -> _Split:
        """The best split found by runs from others near this one, which no single change makes better: with any two stages in each other's
        place, and then with a few changes at random. score: the split's."""
        rng = random.Random(1)
        stages = range(len(split.devices))
        starts = [self._model.swapped(split, one, other) for one, other in itertools.combinations(stages, 2)]
        without_gain = 0
        while without_gain < _TRIES and time.monotonic() < until:
            start = starts.pop() if starts else self._changed(split, rng)
            without_gain += 1
            if not self._allowed(start):
                continue
            of_found, found = self.run(start, until, least_rounds=0)
            if of_found < score:
                score, split, without_gain = of_found, found, 0
        return split

    def _changed(self, split: _Split, rng: random.Random) -> _Split:
        for _ in range(rng.randint(2, _MOST_CHANGES)):
            split = rng.choice([other for other in self._model.neighbours(split) if self._allowed(other)] or [split])
        return split


def _starts(model: _Model, machine: Machine, objective: str, seconds: float) -> list[_Split]:
    """Splits to begin with: the best division of whole layers, one by memory, and that with all feed-forward networks apart."""
    starts = []
    row = BlockRow(model.graph, [f"blk.{layer}" for layer in range(model.layers)])
    devices = model.devices
    try:
        division, _ = row.divide(machine, objective=objective, any_order=True, seconds=seconds)
        unused = [device for device in devices if device not in division.devices]
        if set(division.devices) <= set(devices):
            starts.append(_Split((*division.devices, *unused), (*division.sizes, *[0] * len(unused)),
                                 (0,) * (len(division.devices) + len(unused)), devices[0]))
    except BadInput:
        pass  # Whole layers fit nowhere; feed-forward networks apart from them may.
    fast = [device for device in devices if device not in model.hosts] or list(devices)
    memory = np.array([machine.devices[device].memory_bytes if device in fast else 0 for device in devices], dtype=float)
    cuts = np.round(np.cumsum(memory) / memory.sum() * model.layers).astype(int)
    sizes = tuple(np.diff(cuts, prepend=0).tolist())
    if model.spread and set(model.hosts) & set(devices):
        starts.append(_Split(devices, sizes, sizes, next(host for host in model.hosts if host in devices)))
    starts.append(_Split(devices, sizes, (0,) * len(devices), devices[0]))
    return starts


def _place_stages(runtime: str, graph: Graph, machine: Machine, seconds: float, objective: str) -> tuple[Plan, Plan]:
    """The best division into stages that was found, and a placement without constraints, which took a third of the time."""
    began = time.monotonic()
    is_llama_cpp = runtime == "llama.cpp"
    hosts = host_devices(machine)

    def usable(index: int) -> bool:
        return (runtime in _ON_HOSTS or index not in hosts) and (runtime in _ON_SERVERS or not has_address(machine.devices[index].name))
    model = _Model(graph, machine, is_llama_cpp and served(graph)["together"] != "layers", is_llama_cpp, usable)
    descent = _Descent(model, objective, hosts_first=is_llama_cpp)

    def descend(split: _Split, share: float) -> tuple[tuple[float, float], _Split]:
        return descent.run(model.hosts_first(split) if is_llama_cpp else split, began + share * seconds)
    found = [descend(split, 0.6) for split in _starts(model, machine, objective, seconds / 5)]
    free = place(graph, machine, seconds / 3, objective=objective)
    found.append(descend(model.split_like(free.placement), 1.0))
    best = descent.run_on(*min(found, key=lambda pair: pair[0]), began + seconds)
    plan = Plan.of(graph, machine, model.placement(best))
    return replace(plan, found_by="stages", evaluations=descent.evaluations), free


def place_for(runtime: str, graph: Graph, machine: Machine, seconds: float = 1.0, *, objective: str = "latency") -> Plan:
    """Places a language model under what a runtime can do, one of `emplace.llm.RUNTIMES`.

    With "ktransformers" all is on the one GPU, but for experts on the processor, the same number of each layer. With all others
    every layer's attention is on the device of the layers around it, so that each device has layers that follow each other, or none.
    With "llama.cpp" processors come first, and feed-forward networks of some layers of a device may lie on one other device; with
    the rest layers are whole, and those that run on GPUs alone leave processors out. A graph with --together layers keeps them whole.
    objective: as of `emplace.place`. A third of the time goes to a placement without these constraints, whose figures are the plan's
    free_makespan_us and free_max_load_us.

    Raises BadInput for a graph of no language model, for a machine without a device that the runtime can use, and where nothing fits
    the memory, with the bytes that are missing.
    """
    began = time.monotonic()
    check_runtime(runtime)
    check_limit("seconds", seconds)
    if runtime == "ktransformers":
        plan, free = ktransformers.place(graph, machine, objective), place(graph, machine, seconds / 3, objective=objective)
    else:
        plan, free = _place_stages(runtime, graph, machine, seconds, objective)
    if not plan.feasible:
        raise BadInput(f"graph '{graph.name}': the model does not fit the memory as {runtime} places it; the best placement lacks "
                       f"{missing_bytes(machine, plan.peak_bytes)}")
    return replace(plan, method=runtime, evaluations=plan.evaluations + free.evaluations, objective=objective,
                   seconds=time.monotonic() - began, free_makespan_us=min(free.makespan_us, plan.makespan_us),
                   free_max_load_us=min(free.max_load_us, plan.max_load_us))
