"""The division of blocks into stages, and plans that are such divisions."""
import itertools
import random

import emplace
import numpy as np
import pytest
import torch
import torch_models as models
from emplace import modules
from emplace.pipeline import BlockRow, default_blocks


def row_graph(rng: random.Random, count: int, *, train: bool = False, microbatches: int = 1) -> emplace.Graph:
    """`count` layers of random cost and size on kinds x and y, each of one parameter and one op; some also read an earlier layer."""
    ops = []
    for part in range(microbatches):
        def name(op: str) -> str:
            return op if part == 0 else f"{op}@{part}"

        def add(op: str, inputs: list[str], layer: int) -> None:
            cost_us = rng.randint(1, 40)
            ops.append({"name": name(op), "cost_us": {"x": cost_us, "y": cost_us * rng.choice([1, 2, 3])},
                        "outputs": [{"bytes": rng.randint(1, 300)}],
                        "inputs": [f"weight{layer}:0", *(f"{name(other)}:0" for other in dict.fromkeys(inputs))]} |
                       ({} if part == 0 else {"copy_of": op}))

        for layer in range(count):
            if part == 0:
                ops.append({"name": f"weight{layer}", "type": "emplace.parameter", "cost_us": 0, "param_bytes": rng.randint(1, 300),
                            "outputs": [{"bytes": 1}], "attrs": {"name": f"layers.{layer}.weight"}})
            before = [f"forward{layer - 1}"] if layer else []
            add(f"forward{layer}", before + ([f"forward{rng.randrange(layer)}"] if layer and rng.random() < 0.3 else []), layer)
        for layer in reversed(range(count if train else 0)):
            add(f"backward{layer}", [f"backward{layer + 1}"] * (layer < count - 1) + [f"forward{layer}"], layer)
    return emplace.Graph.from_ops("row", ops)


def random_machine(rng: random.Random, graph: emplace.Graph, count: int) -> emplace.Machine:
    """Some machines have too little memory for some divisions, or for all."""
    whole = emplace.Machine([emplace.Device("all", "x", 1e9)], bandwidth_bytes_per_us=1)
    peak = emplace.simulate(graph, whole, np.zeros(len(graph), dtype=int)).peak_bytes[0]
    tight = rng.random() < 0.7
    devices = [emplace.Device(f"d:{i}", rng.choice("xy"), int(peak * rng.uniform(0.2, 1.1)) if tight else 1e9) for i in range(count)]
    return emplace.Machine(devices, bandwidth_bytes_per_us=rng.choice([5, 50, 1000]), transfer_overhead_us=rng.choice([0, 3]),
                           op_overhead_us=rng.choice([0, 2]))


def every_division(blocks: int, devices: int, any_order: bool):
    """Pairs of first blocks and devices of stages."""
    for stages in range(1, min(blocks, devices) + 1):
        for cuts in itertools.combinations(range(1, blocks), stages - 1):
            for chosen in (itertools.permutations if any_order else itertools.combinations)(range(devices), stages):
                yield [0, *cuts], list(chosen)


def placed(row: BlockRow, begins, devices) -> np.ndarray:
    return np.array(devices)[np.searchsorted(begins, row.block_of_op, side="right") - 1]


def figure_us(graph, machine, objective, placement) -> float:
    if objective == "throughput":
        return emplace.Plan.of(graph, machine, placement).max_load_us
    return emplace.simulate(graph, machine, placement).makespan_us


@pytest.mark.parametrize("objective", ["latency", "throughput"])
@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_other_division_that_fits_is_better(objective, any_order, seed):
    rng = random.Random(seed)
    graph = row_graph(rng, rng.randint(2, 6), train=rng.random() < 0.5)
    machine = random_machine(rng, graph, rng.randint(1, 3))
    row = BlockRow(graph)
    tried = [placed(row, *division) for division in every_division(len(row.blocks), len(machine), any_order)]
    result = emplace.simulate(graph, machine, np.array(tried))
    over = np.maximum(0, result.peak_bytes - np.array([device.memory_bytes for device in machine.devices])).sum(axis=1)
    if over.min() > 0:
        with pytest.raises(emplace.BadInput, match="fits the memory of the devices; the best one lacks ") as error:
            row.divide(machine, objective=objective, any_order=any_order, order="none")
        assert sum(int(word) for word in str(error.value).partition("lacks ")[2].split() if word.isdigit()) == over.min()
        return
    best_us = min(figure_us(graph, machine, objective, one) for one, fits in zip(tried, over == 0, strict=True) if fits)
    division, found = row.divide(machine, objective=objective, any_order=any_order, order="none")
    assert found["feasible"] and figure_us(graph, machine, objective, found["placement"]) == pytest.approx(best_us, abs=1e-5)
    np.testing.assert_array_equal(placed(row, division.begins, division.devices), found["placement"])
    if any_order:
        plan = emplace.place(graph, machine, budget=20, method="dp", order="none", objective=objective, stages="contiguous")
        assert figure_us(graph, machine, objective, plan.placement) == pytest.approx(best_us, abs=1e-5)
        assert (plan.objective, plan.stages, plan.feasible) == (objective, "contiguous", True)


@pytest.mark.parametrize("objective", ["latency", "throughput"])
def test_128_blocks_on_64_devices(objective):
    graph = row_graph(random.Random(1), 128)
    # Each device has room for a few blocks; two kinds by turns.
    machine = emplace.Machine([emplace.Device(f"d:{i}", "xy"[i % 2], 1500) for i in range(64)], bandwidth_bytes_per_us=100)
    division, found = BlockRow(graph).divide(machine, objective=objective, any_order=True)
    assert found["feasible"] and sum(division.sizes) == 128 and min(division.sizes) > 0
    assert BlockRow(graph).divide(machine, 40, objective)[0].devices == sorted(BlockRow(graph).divide(machine, 40, objective)[0].devices)


def test_micro_batches_in_flight_count(three):
    # What one device holds of a step of four micro-batches, most of it activations and gradients, is too much for each of these.
    graph = emplace.torch.capture(*models.transformer(6), train=True, microbatches=4)
    room = int(0.7 * BlockRow(graph).divide(three, 1)[1]["peak_bytes"].max())
    machine = emplace.Machine([emplace.Device(f"cuda:{i}", "v100", room) for i in range(3)], bandwidth_bytes_per_us=1e6)
    assert graph.param_bytes.sum() < room
    plan = emplace.place(graph, machine, budget=20, stages="contiguous")
    assert plan.feasible and (emplace.simulate(graph, machine, plan.placement, order=plan.order).peak_bytes <= room).all()
    assert len(set(plan.placement)) > 1


@pytest.fixture(scope="module")
def graph():
    return emplace.torch.capture(*models.transformer(5), train=True)


def test_a_contiguous_plan_is_followed(graph, three):
    row = BlockRow(graph)
    for begins, devices in every_division(5, 3, any_order=True):
        plan = emplace.Plan.of(graph, three, placed(row, begins, devices))
        sizes = dict(zip(devices, np.diff([*begins, 5]).tolist(), strict=True))
        if len(begins) > 1:
            assert plan.pipeline_split() == [f"blocks.{begin}" for begin in begins[1:]]
            assert plan.stage_devices() == [f"cuda:{device}" for device in devices]
            rest = [device for device in range(3) if device not in sizes]
            turn = range(3) if devices == sorted(devices) else [*devices, *rest]
            assert plan.layer_partition() == [sizes.get(device, 0) for device in turn]
        assert plan.layer_partition(stages=len(begins)) == list(sizes.values())
        parts = plan.module_parts(stages=len(begins))
        assert [len([name for name in part if name.startswith("blocks")]) for part in parts] == list(sizes.values())


def test_other_plans_get_the_best_division(graph, three):
    row = BlockRow(graph)
    gaps = emplace.Plan.of(graph, three, placed(row, [0, 1, 2, 3, 4], [0, 1, 0, 1, 2]))
    single = emplace.Plan.of(graph, three, np.zeros(len(graph), dtype=int))
    for plan in (gaps, single):
        assert plan.layer_partition() == row.divide(three, 3, "latency")[0].sizes
        assert plan.layer_partition(stages=2) == row.divide(three, 2, "latency")[0].sizes
    busy = emplace.place(graph, three, objective="throughput", budget=5)
    assert busy.layer_partition(stages=3) in (row.divide(three, 3, "throughput")[0].sizes, row.division_of(three, busy.placement))


def test_stages_fit_the_memory_of_each_device():
    # 40 layers of 4 MB; the second device has room for 12 at most, with their activations.
    model = torch.nn.Sequential(*[torch.nn.Linear(1000, 1000, bias=False, device="meta") for _ in range(40)])
    graph = emplace.torch.capture(model, (torch.empty(64, 1000, device="meta"),))
    for first, second in ((1e9, 1e9), (1e9, 50e6), (130e6, 1e9)):
        machine = emplace.Machine([emplace.Device("cuda:0", "a100", first), emplace.Device("cuda:1", "a100", second)],
                                  bandwidth_bytes_per_us=25_000)
        for objective in ("latency", "throughput"):
            plan = emplace.place(graph, machine, budget=20, stages="contiguous", objective=objective)
            partition = plan.layer_partition()
            assert plan.feasible and sum(partition) == 40 and partition[0] * 4e6 <= first and partition[1] * 4e6 <= second
            pipeline = plan.layer_partition(stages=2)
            assert min(pipeline) > 0 and pipeline[1] <= (12 if second == 50e6 else 40)
    small = emplace.Machine([emplace.Device("cuda:0", "a100", 100e6), emplace.Device("cuda:1", "a100", 50e6)],
                            bandwidth_bytes_per_us=25_000)
    with pytest.raises(emplace.BadInput, match=r"no division of 40 blocks .* fits .* lacks \d+ bytes on cuda:[01]"):
        emplace.place(graph, small, budget=20, stages="contiguous")
    with pytest.raises(emplace.BadInput, match=r"lacks .*\d+ bytes on cuda:1"):
        emplace.Plan.of(graph, small, np.arange(len(graph)) % 2).layer_partition(stages=2)


def test_a_device_that_is_too_small_for_a_block_gets_none(graph, three):
    machine = emplace.Machine([*three.devices[:2], emplace.Device("cuda:2", "k80", 10)], bandwidth_bytes_per_us=10_000)
    plan = emplace.Plan.of(graph, machine, np.arange(len(graph)) % 2)
    assert plan.layer_partition()[2] == 0


def chain(count: int) -> emplace.Graph:
    """Layers of 10 us, or 30 us on a slow device, with 100 bytes of parameters, that send 20 bytes each."""
    ops = []
    for layer in range(count):
        ops += [{"name": f"w{layer}", "type": "emplace.parameter", "cost_us": 0, "param_bytes": 100, "outputs": [{"bytes": 0}],
                 "attrs": {"name": f"layers.{layer}.weight"}},
                {"name": f"f{layer}", "cost_us": {"fast": 10, "slow": 30},
                 "inputs": [f"w{layer}:0", *([f"f{layer - 1}:0"] if layer else [])], "outputs": [{"bytes": 20}]}]
    return emplace.Graph.from_ops("chain", ops)


def test_stages_use_the_fast_link():
    machine = emplace.Machine.from_yaml("""
devices: [{name: a, kind: fast, memory_bytes: 290}, {name: b, kind: fast, memory_bytes: 290}, {name: c, kind: fast, memory_bytes: 290}]
op_overhead_us: 0
topology:
  overhead_us: 0
  nodes: []
  links:
    - {name: ab, between: [a, b], bandwidth_bytes_per_us: 1, latency_us: 3}
    - {name: ac, between: [a, c], bandwidth_bytes_per_us: 10, latency_us: 5}
    - {name: bc, between: [b, c], bandwidth_bytes_per_us: 1, latency_us: 3}
""")
    graph = chain(4)  # Two layers fit a device. From a to c it takes 5 + 20 / 10 us, from a to b 3 + 20 us.
    division, found = BlockRow(graph).divide(machine)
    assert (division.begins, division.devices, found["makespan_us"]) == ([0, 2], [0, 2], 47)


def test_a_fast_and_a_slow_device():
    graph = chain(10)  # The fast device has room for 8 layers.
    machine = emplace.Machine([emplace.Device("cuda:0", "slow", 2000), emplace.Device("cuda:1", "fast", 890)], bandwidth_bytes_per_us=20)
    # 2 * 30 us, 1 us to send 20 bytes, and 8 * 10 us; at the most 90 us + 1 us of a device, or 3 * 30 + 1 and 7 * 10 + 1.
    latency = emplace.place(graph, machine, budget=20, stages="contiguous")
    assert (latency.makespan_us, latency.layer_partition()) == (141, [2, 8])
    throughput = emplace.place(graph, machine, budget=20, stages="contiguous", objective="throughput")
    assert (throughput.max_load_us, throughput.layer_partition()) == (81, [2, 8])
    assert "a step every 0.081 ms in a pipeline" in str(throughput) and "0.141 ms a step" in str(latency)
    assert "as long as placed without the constraint" in str(throughput)


def test_ops_of_the_models_own_code_go_with_their_neighbours():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.start = torch.nn.Parameter(torch.ones(8))
            self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(4)])

        def forward(self, x, y):
            x = x + self.start
            for layer in self.layers:
                x = torch.relu(layer(x))
            return torch.nn.functional.mse_loss(x, y)

    graph = emplace.torch.capture(Net(), (torch.randn(2, 8), torch.randn(2, 8)), train=True, optimizer="adam")
    row = BlockRow(graph)
    assert row.blocks == [f"layers.{index}" for index in range(4)] == default_blocks(graph)
    block_of = {op["name"]: int(block) for op, block in zip(graph.ops, row.block_of_op, strict=True)}
    ops = {op["name"]: op for op in graph.ops}
    assert all(block_of[name] == 3 for name, op in ops.items() if "mse_loss" in op["type"])
    assert {block_of[name] for name, op in ops.items() if op.get("attrs", {}).get("name") == "start"} == {0}
    groups = {}
    for name, op in ops.items():
        groups.setdefault(op.get("group", name), set()).add(block_of[name])
    assert all(len(blocks) == 1 for blocks in groups.values())


def test_maps_of_whole_modules_fit_the_memory(graph):
    names = modules.blocks_of_op(graph, BLOCKS)
    # Half of each block's time is on either device, and a little more on the first: as a whole all would go there.
    where = np.array([index % 2 for index in range(len(names))])
    free = emplace.Machine([emplace.Device(f"cuda:{i}", "v100", 1e9) for i in range(2)], bandwidth_bytes_per_us=10_000)
    wanted = modules.device_of_module(graph, free, where, BLOCKS)
    peaks = emplace.simulate(graph, free, np.array([wanted[name] for name in names])).peak_bytes
    full = int(peaks.argmax())
    tight = emplace.Machine([emplace.Device(f"cuda:{i}", "v100", int(peaks[full] - 1 if i == full else 1e9)) for i in range(2)],
                            bandwidth_bytes_per_us=10_000)
    plan = emplace.Plan.of(graph, tight, where)
    found = modules.device_of_module(graph, tight, where, BLOCKS)
    assert found != wanted and plan.device_map(BLOCKS) != emplace.Plan.of(graph, free, where).device_map(BLOCKS)
    assert emplace.simulate(graph, tight, np.array([found[name] for name in names])).feasible
    assert all("CUDA" in text for text in plan.tensor_overrides(BLOCKS))
    small = emplace.Machine([emplace.Device(f"cuda:{i}", "v100", 1000) for i in range(2)], bandwidth_bytes_per_us=10_000)
    with pytest.raises(emplace.BadInput, match=r"as a whole do not fit .* lack \d+ bytes on cuda:0, \d+ bytes on cuda:1"):
        emplace.Plan.of(graph, small, where).device_map(BLOCKS)


BLOCKS = [f"blocks.{index}" for index in range(5)]

