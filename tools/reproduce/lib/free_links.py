"""What doppler.py and giph.py share: a cost model whose links are never busy, and Emplace on machines that come near to it."""
import collections
import heapq
import itertools
import json

from lib.networks import call, devices_text, linked_pairs


def last_end(readers, devices, run_time, send_time):
    """Time of the last end of a node. A device runs one node at a time, in the order in which their inputs were all there; what a node
    makes is on its own device at once, and on another one later, however much is sent.

    readers: of each node those that read it. devices: where each node is. run_time: what each node takes there. send_time(source,
    reader): how much later a reader on another device has it. Events at one time have the order of a simulation with simpy, in which
    inputs take two turns to be noticed, and a free device one."""
    missing = [0] * len(readers)
    for reader in itertools.chain.from_iterable(readers):
        missing[reader] += 1
    queues, busy = collections.defaultdict(collections.deque), set()
    events, number = [], itertools.count()

    def at(time, what, node):
        heapq.heappush(events, (time, next(number), what, node))

    def serve(device):
        if queues[device] and device not in busy:
            busy.add(device)
            at(now, "begun", queues[device].popleft())

    for node, count in enumerate(missing):
        if count == 0:
            at(0, "ready", node)
    while events:
        now, _, what, node = heapq.heappop(events)
        device = devices[node]
        if what == "ready":
            queues[device].append(node)
            serve(device)
        elif what == "begun":
            at(now + run_time[node], "ended", node)
        elif what == "ended":
            busy.discard(device)
            at(now, "free", node)
            at(now, "made", node)
        elif what == "free":
            serve(device)
        elif what == "made":
            for reader in readers[node]:
                at(now + (send_time(node, reader) if devices[reader] != device else 0), "sent", reader)
        elif what == "sent":
            at(now, "noticed", node)
        else:
            missing[node] -= 1
            if missing[node] == 0:
                at(now, "ready", node)
    return now


def longest_ways(readers, run_time, send_time):
    """Time of the longest way from each node to an end of the graph."""
    ways = [None] * len(readers)
    stack = list(range(len(ways)))
    while stack:
        node = stack[-1]
        open_readers = [reader for reader in readers[node] if ways[reader] is None]
        stack += open_readers
        if not open_readers:
            stack.pop()
            ways[node] = run_time[node] + max((send_time(node, reader) + ways[reader] for reader in readers[node]), default=0)
    return ways


def machine_text(kinds, link):
    """A devices file in which each pair of devices has a link. kinds: one for each device. link(a, b): bytes per microsecond, and the
    latency in microseconds."""
    devices = [{"name": f"gpu:{index}", "kind": kind, "memory_bytes": 1e18} for index, kind in enumerate(kinds)]
    return devices_text(devices, topology=linked_pairs([device["name"] for device in devices], link))


class Emplace:
    """The program, with a graph and a machine in files of a folder."""

    def __init__(self, program, ops, machine, folder):
        self.program, self.placement = program, folder / "placement.json"
        graph, devices = folder / "workload.graph.json", folder / "devices.yaml"
        graph.write_text(json.dumps({"format": "emplace.graph/1", "name": "workload", "ops": ops}))
        devices.write_text(machine)
        self.files = ["--graph", graph, "--devices", devices]

    def place(self, method, *limit):
        """(placement, seconds that it took). limit: of `auto`. Devices run nodes as they get ready, as they do in the model above."""
        words = [*limit, "--order", "none"] if method == "auto" else []
        found = json.loads(call([self.program, "place", *self.files, "--method", method, "--out", self.placement, "--json", *words]))
        return list(json.loads(self.placement.read_text())["ops"].values()), found["seconds"]

    def simulated_us(self, placement):
        self.placement.write_text(json.dumps(placement))
        return json.loads(call([self.program, "simulate", *self.files, "--placement", self.placement, "--json"]))["makespan_us"]
