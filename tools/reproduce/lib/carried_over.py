"""Placements without a network, for graphs that nobody has searched: by a rule of positions, or from the training graph that is
nearest in size, made of placements that have been found for the training graphs.

Groups are numbered in the order in which a policy decides on them. What needs the package `emplace` imports it itself, so that
the rest can be tested without it.
"""
import collections
import dataclasses
import math
import random
import statistics

RULE = "rule by position"
SEARCHED_RULE = "searched rule by position"
NEAREST = "nearest training graph"
BINS = (4, 8, 16, 32)  # Numbers of positions that a rule may tell apart; the training graphs choose one of them.
# Of the search for a rule: the logarithm of the mean makespan by which a worse rule is accepted with probability 1/e, at first and
# in the end.
HOT, COLD = 0.02, 0.0005


@dataclasses.dataclass(frozen=True)
class Placed:
    """A graph with a placement of its groups."""
    num_ops: int
    single_device_us: float  # Time of a step on the best single device.
    devices: list            # [groups] index of each group's device


class GroupedGraph:
    """A graph as a policy decides on it, on a machine of at least two devices, each of which may run every op."""

    def __init__(self, path, machine, max_groups):
        import emplace
        import emplace.gym
        self.machine = machine
        self.graph = emplace.Graph.load(path)
        env = emplace.gym.PlacementEnv(self.graph, machine, max_groups=max_groups, start="single")
        env.reset(seed=1)
        start = env.plan()
        self.single_device_us = start.single_device_us
        self.num_groups = env.observation_space.shape[0]
        # The environment tells no group of an op. But a step moves the ops of one group, away from the device of all.
        elsewhere = (int(start.placement[0]) + 1) % len(machine)
        self.group_of_op = start.placement.copy()  # [ops]
        before = start.placement
        for group in range(self.num_groups):
            env.step(elsewhere)
            after = env.plan().placement
            self.group_of_op[after != before] = group
            before = after

    def placed(self, placement):
        """The graph with a placement of its ops, a file's, that has the ops of each group on one device."""
        devices = [-1] * self.num_groups
        for op, group in zip(self.graph.op_names, self.group_of_op, strict=True):
            device = placement["ops"][op]
            if devices[group] not in (-1, device):
                raise RuntimeError(f"{self.graph.name}: op '{op}' is on device {device}, expected {devices[group]}, that of its group")
            devices[group] = device
        return Placed(len(self.graph), self.single_device_us, devices)

    def ratio(self, devices):
        """(makespan / one device, whether it fits) of a placement of the groups."""
        import emplace
        import numpy
        simulated = emplace.simulate(self.graph, self.machine, numpy.array(devices, dtype=numpy.int32)[self.group_of_op], threads=1)
        return float(simulated.makespan_us) / self.single_device_us, bool(simulated.feasible)


def renamed(devices, kinds):
    """The same placement with the devices of a kind renamed in the order in which groups first use them. kinds: of each device."""
    free = collections.defaultdict(collections.deque)
    for device, kind in enumerate(kinds):
        free[kind].append(device)
    names = {}
    for device in devices:
        if device not in names:
            names[device] = free[kinds[device]].popleft()
    return [names[device] for device in devices]


def bin_of(group, num_groups, bins):
    """The bin, of `bins` equal ones, in which the middle of a group's place in the order lies."""
    return (2 * group + 1) * bins // (2 * num_groups)


def fitted(placements, bins):
    """The rule [bins]: for each bin the device that the placements have there most often, the first one where two are even. A bin
    without any group has the device of the bin before it."""
    votes = [collections.Counter() for _ in range(bins)]
    for devices in placements:
        for group, device in enumerate(devices):
            votes[bin_of(group, len(devices), bins)][device] += 1
    rule = []
    for counter in votes:
        most = max(counter.values(), default=0)
        rule.append(min(device for device, count in counter.items() if count == most) if counter else (rule or [0])[-1])
    return rule


def search_rule(graphs, bins, budget, seed):
    """A rule [bins] by simulated annealing of the rule itself: the least geometric mean over the graphs. Tries `budget` rules, each
    on all graphs. A move puts a run of neighbouring positions on one device."""
    draw = random.Random(seed)
    num_devices = len(graphs[0].machine.devices)

    def energy(rule):
        return statistics.fmean(math.log(graph.ratio(at_positions(rule, graph.num_groups))[0]) for graph in graphs)

    rule = best = [0] * bins
    current = least = energy(rule)
    for attempt in range(budget - 1):
        first = draw.randrange(bins)
        last = min(bins, first + draw.randint(1, max(1, bins // 4)))
        moved = rule[:first] + [draw.randrange(num_devices)] * (last - first) + rule[last:]
        after = energy(moved)
        temperature = HOT * (COLD / HOT) ** (attempt / budget)
        if after <= current or draw.random() < math.exp((current - after) / temperature):
            rule, current = moved, after
        if after < least:
            best, least = moved, after
    return best


def at_positions(devices, num_groups):
    """A placement of so many groups, each on the device that stands at its position in `devices`: a rule, or the groups of another
    graph."""
    return [devices[bin_of(group, num_groups, len(devices))] for group in range(num_groups)]


def nearest(num_ops, single_device_us, placed):
    """The one of `placed` that is nearest in size: by the sum of the logarithms of the two ratios, of ops and of time."""
    return min(placed, key=lambda other: abs(math.log(num_ops / other.num_ops)) +
               abs(math.log(single_device_us / other.single_device_us)))


def choose_bins(graphs, placements):
    """Of BINS, that whose rule is best on the graphs, by the geometric mean over them; for each it is fitted to the placements of
    the others. A placement that does not fit counts by its makespan all the same."""
    def mean_ratio(bins):
        return statistics.geometric_mean(
            graph.ratio(at_positions(fitted(placements[:i] + placements[i + 1:], bins), graph.num_groups))[0]
            for i, graph in enumerate(graphs))
    return min(BINS, key=mean_ratio)


@dataclasses.dataclass(frozen=True)
class Results:
    rule: list         # [bins] devices
    by_rule: dict      # {judged graph: (makespan / one device, whether it fits)}, as is the next.
    by_nearest: dict


def judged_by(place, graphs):
    """{graph: (makespan / one device, whether it fits)}; place: graph -> device of each group."""
    return {name: graph.ratio(place(graph)) for name, graph in graphs.items()}


def judged_by_rule(rule, graphs):
    return judged_by(lambda graph: at_positions(rule, graph.num_groups), graphs)


def place_all(train, placed, judged):
    """Results on the graphs `judged`, {name: GroupedGraph}, of the placements `placed` of the graphs `train`, in the same order."""
    kinds = [device.kind for device in train[0].machine.devices]
    placed = [dataclasses.replace(one, devices=renamed(one.devices, kinds)) for one in placed]
    placements = [one.devices for one in placed]
    rule = fitted(placements, choose_bins(train, placements))
    return Results(
        rule, judged_by_rule(rule, judged),
        judged_by(lambda graph: at_positions(nearest(len(graph.graph), graph.single_device_us, placed).devices, graph.num_groups),
                  judged))
