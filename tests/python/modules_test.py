"""Plans for runtimes that place whole modules."""
import itertools
import os
import pathlib
import re
import subprocess
import sys

import emplace
import numpy as np
import pytest
import torch
import torch_models as models
from emplace import modules

BLOCKS = [f"blocks.{index}" for index in range(5)]


@pytest.fixture(scope="module")
def graph():
    return emplace.torch.capture(*models.transformer(5), train=True)


def test_ops_belong_to_the_modules_of_their_parameters(graph):
    owners = modules.module_of_op(graph)
    model, _ = models.transformer(5)
    known = {name for name, _ in model.named_modules()}
    assert set(owners) <= known
    for op, owner in zip(graph.ops, owners, strict=True):
        if op["type"] in ("emplace.parameter", "emplace.gradient"):
            assert op["attrs"]["name"].rpartition(".")[0] == owner
    # In a block's two linear layers: forward, gradient of the input, gradient of the weight, and of the bias.
    multiplied = [op["name"] for op, owner in zip(graph.ops, owners, strict=True) if owner == "blocks.2.linear1" and "mm" in op["type"]]
    assert len(multiplied) == 3


def test_micro_batches_belong_to_the_same_modules():
    graph = emplace.torch.capture(*models.transformer(3), train=True, microbatches=4)
    owners, copy_of = modules.module_of_op(graph), graph.copy_of
    assert (copy_of >= 0).sum() > 100
    assert all(owners[index] == owners[first] for index, first in enumerate(copy_of) if first >= 0)
    # Every op of a parameter's group is of the parameter's module, so that blocks can be placed on their own.
    groups = {}
    for op, owner in zip(graph.ops, owners, strict=True):
        if "group" in op:
            groups.setdefault(op["group"], set()).add(owner)
    assert all(len(owners_of_group) == 1 for owners_of_group in groups.values())


def test_a_map_of_a_plan_that_has_whole_modules_is_the_plan(graph, three):
    owners = modules.module_of_op(graph)
    device_of = {owner: index % 3 for index, owner in enumerate(sorted(set(owners)))}
    plan = emplace.Plan.of(graph, three, [device_of[owner] for owner in owners])
    found = plan.device_map()
    for op, owner in zip(graph.ops, owners, strict=True):
        if op["type"] == "emplace.parameter":
            name = op["attrs"]["name"]
            # Just one entry: accelerate moves all that is in a module to its device.
            (holder,) = (key for key in found if key in ("", name) or name.startswith(f"{key}."))
            assert found[holder] == device_of[owner], name


def test_a_divided_module_names_its_own_tensors(three):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(8))
            self.register_buffer("shift", torch.ones(8))
            self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            return self.second(self.first(x * self.scale + self.shift))

    graph = emplace.torch.capture(torch.nn.Sequential(Scaled(), torch.nn.Linear(8, 8)), (torch.randn(2, 8),))
    device_of = {"": 0, "0": 1, "0.first": 1, "0.second": 2, "1": 2}
    plan = emplace.Plan.of(graph, three, [device_of[owner] for owner in modules.module_of_op(graph)])
    assert plan.device_map() == {"0.scale": 1, "0.shift": 1, "0.first": 1, "0.second": 2, "1": 2}
    # What computes outside of all modules with tensors makes no difference.
    whole = emplace.Plan.of(graph, three, [2 if owner else 0 for owner in modules.module_of_op(graph)])
    assert whole.device_map() == {"": 2}


def test_one_device_is_one_entry(graph, three):
    assert emplace.Plan.of(graph, three, np.full(len(graph), 1)).device_map() == {"": 1}
    cpus = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e10), emplace.Device("gpu", "k80", 1e10)], bandwidth_bytes_per_us=1)
    assert emplace.Plan.of(graph, cpus, np.zeros(len(graph), dtype=int)).device_map() == {"": "cpu"}
    assert emplace.Plan.of(graph, cpus, np.ones(len(graph), dtype=int)).device_map(devices={"gpu": "cuda:3"}) == {"": 3}
    odd = emplace.Machine([emplace.Device("cuda:left", "k80", 1e10)], bandwidth_bytes_per_us=1)
    assert emplace.Plan.of(graph, odd, np.zeros(len(graph), dtype=int)).device_map() == {"": "cuda:left"}


def test_blocks_stay_whole(graph, three):
    plan = emplace.Plan.of(graph, three, np.random.default_rng(1).integers(0, 3, len(graph)))
    found = plan.device_map(blocks=BLOCKS)
    assert not any(name.startswith("blocks.") and name.count(".") > 1 for name in found)
    with pytest.raises(emplace.BadInput, match="no module 'nobody'"):
        plan.device_map(blocks=["nobody"])


def test_a_split_runs_in_torchs_pipeline():
    from torch.distributed.pipelining import SplitPoint, pipeline
    model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(6)])
    x = torch.randn(4, 8)
    graph = emplace.torch.capture(model, (x,))
    machine = emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 1e10) for i in range(3)], bandwidth_bytes_per_us=10_000)
    names = emplace.place(graph, machine, budget=5).pipeline_split([str(index) for index in range(6)])
    assert names == ["2", "4"]
    pipe = pipeline(model, mb_args=(x,), split_spec={name: SplitPoint.BEGINNING for name in names})
    assert pipe.num_stages == 3
    torch.testing.assert_close(pipe(x)[0] if isinstance(pipe(x), tuple) else pipe(x), model(x))


def test_bad_splits(graph, three, ptb):
    plan = emplace.Plan.of(graph, three, np.zeros(len(graph), dtype=int))
    with pytest.raises(emplace.BadInput, match="no module 'nobody'"):
        plan.pipeline_split(["blocks.0", "nobody"], 2)
    with pytest.raises(emplace.BadInput, match="stages is 4, expected 1 to 3"):
        plan.pipeline_split(BLOCKS, 4)
    with pytest.raises(emplace.BadInput, match="blocks: there are none"):
        plan.pipeline_split([])
    with pytest.raises(emplace.BadInput, match="'ptb_00' has no parameters with names"):
        modules.module_of_op(ptb)


@pytest.mark.parametrize("blocks", [["layers", "layers.0"], ["layers.0", "layers.0"]])
def test_blocks_have_nothing_in_common(graph, three, blocks):
    with pytest.raises(emplace.BadInput, match="is in another block or given twice"):
        emplace.place(graph, three, budget=20, stages="modules", blocks=blocks)


def test_stages_stay_contiguous(graph, three):
    # Micro-batches, and links that are fast beside so small tensors: stages are worth it.
    graph = emplace.torch.capture(*models.transformer(5), train=True, microbatches=4)
    three = emplace.Machine(three.devices, bandwidth_bytes_per_us=1e6)
    plan = emplace.place(graph, three, budget=200, stages="contiguous")
    stage_of_block = [set() for _ in BLOCKS]
    for index, op_block in enumerate(modules.blocks_of_op(graph, BLOCKS)):
        if op_block in BLOCKS:
            stage_of_block[BLOCKS.index(op_block)].add(int(plan.placement[index]))
    assert all(len(devices) == 1 for devices in stage_of_block)
    row = [device for (device,) in stage_of_block]
    assert len(set(row)) > 1 and plan.makespan_us < plan.single_device_us
    assert len(list(itertools.groupby(row))) == len(set(row)), row  # A device's blocks follow each other.
    assert plan.makespan_us == pytest.approx(emplace.simulate(graph, three, plan.placement, order=plan.order).makespan_us)
    assert plan.free_makespan_us > 0 and "placed without the constraint" in str(plan)


def test_modules_stay_whole(graph, three):
    free = emplace.place(graph, three, budget=100, method="multilevel")
    assert free.free_makespan_us is None
    for blocks in (None, BLOCKS):
        plan = emplace.place(graph, three, budget=200, stages="modules", blocks=blocks, method="multilevel")
        devices = {}
        for index, name in enumerate(modules.blocks_of_op(graph, blocks or ())):
            devices.setdefault(name, set()).add(int(plan.placement[index]))
        assert all(len(own) == 1 for own in devices.values())
        # The free half has half of the budget.
        assert plan.free_makespan_us == free.makespan_us and plan.makespan_us <= plan.single_device_us


def test_bad_constraints(graph, three, ptb, machine):
    with pytest.raises(emplace.BadInput, match="stages is 'layers', expected one of contiguous, modules"):
        emplace.place(graph, three, stages="layers")
    with pytest.raises(emplace.BadInput, match="no module 'nobody'"):
        emplace.place(graph, three, stages="modules", blocks=["nobody"])
    with pytest.raises(emplace.BadInput, match="blocks are given without stages"):
        emplace.place(graph, three, blocks=BLOCKS)
    with pytest.raises(emplace.BadInput, match="'ptb_00' has no parameters with names"):
        emplace.place(ptb, machine, stages="contiguous")
    model = torch.nn.Sequential()
    model.add_module("only", torch.nn.Linear(2, 2))
    with pytest.raises(emplace.BadInput, match="no row of numbered modules"):
        emplace.place(emplace.torch.capture(model, (torch.randn(1, 2),)), three, stages="contiguous")


def test_layers_for_vllm_and_llama_cpp(graph, three):
    owners = modules.blocks_of_op(graph, BLOCKS)
    device_of = {block: device for block, device in zip(BLOCKS, (0, 2, 0, 1, 1), strict=True)}
    plan = emplace.Plan.of(graph, three, [device_of.get(owner, 0) for owner in owners])
    overrides = plan.tensor_overrides(BLOCKS, {"cuda:1": "CPU"})
    assert overrides == [r"blk\.(0|2)\.=CUDA0", r"blk\.1\.=CUDA2", r"blk\.(3|4)\.=CPU"]
    pattern, _, device = overrides[0].partition("=")
    assert device == "CUDA0" and [i for i in range(25) if re.search(pattern, f"blk.{i}.attn_q.weight")] == [0, 2]
    others = emplace.Machine([emplace.Device("gpu:0", "rx7900xtx", 1 << 40), emplace.Device("10.0.0.5:50052", "v100", 1 << 40),
                              emplace.Device("cuda:1", "v100", 1 << 40)], bandwidth_bytes_per_us=10_000)
    anywhere = emplace.Graph.from_ops("anywhere", [{**op, "cost_us": 1.0} for op in graph.ops])
    elsewhere = emplace.Plan.of(anywhere, others, plan.placement)
    assert [text.partition("=")[2] for text in elsewhere.tensor_overrides(BLOCKS)] == ["ROCm0", "CUDA1", "RPC0[10.0.0.5:50052]"]
    for stages in (1, 2, 3):  # The plan's blocks have gaps, so these are the best divisions.
        partition = plan.layer_partition(BLOCKS, stages)
        assert sum(partition) == len(BLOCKS) and len(partition) == stages
        begins = [BLOCKS[sum(partition[:stage])] for stage in range(1, stages)]
        assert begins == plan.pipeline_split(BLOCKS, stages)
        parts = plan.module_parts(BLOCKS, stages)
        assert [[name for name in part if name in BLOCKS] for part in parts] == [
            BLOCKS[sum(partition[:stage]):sum(partition[:stage + 1])] for stage in range(stages)]
        outside = {name: stage for stage, part in enumerate(parts) for name in part if name not in BLOCKS}
        assert outside == {"embedding": 0, "positions": 0, "norm": stages - 1, "head": stages - 1}
        assert sum(map(len, parts)) == len(BLOCKS) + 4


def test_two_processes_run_a_split_by_gloo(tmp_path):
    """Each process is a stage of the pipeline; the last one compares with the whole model."""
    script = pathlib.Path(__file__).parent / "support/pipeline_by_gloo.py"
    processes = [subprocess.Popen([sys.executable, script, str(rank), tmp_path / "meet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}) for rank in (0, 1)]
    (_, first_error), (said, error) = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], first_error[-2000:] + error[-2000:]
    assert said == "split at ['3'], equal\n"
