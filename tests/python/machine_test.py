"""emplace.Machine"""
import copy
import json
import pathlib
import pickle

import emplace
import pytest
from command_test import emplace_command
from conftest import ROOT
from emplace import probing


def test_fields(machine, pair):
    assert [device.name for device in machine.devices] == ["gpu:0", "gpu:1"]
    assert machine.devices[0].kind == "k80" and machine.devices[0].memory_bytes == 11_000_000_000
    assert (machine.op_overhead_us, machine.bandwidth_bytes_per_us, machine.transfer_overhead_us) == (5.7, 7600, 25)
    assert machine.link_model == "shared" and len(machine) == machine.num_devices == 2
    assert pair.transfer_overhead_us == 5 and pair.op_overhead_us == 0


def test_a_latency_keeps_dependent_ops_together():
    # Each op is ready on the other device 4096 / 7600 us after the one before ends, plus the latency: with that, a chain of ops
    # of 5 us, each with 5.7 us of overhead on its device, gains nothing from a second device, and 40 ops take 40 (5 + 5.7) us.
    graph = emplace.Graph.from_ops("chain", [
        {"name": f"a{i}", "cost_us": 5, "inputs": [f"a{i - 1}:0"] if i else [], "outputs": [{"bytes": 4096}]} for i in range(40)])
    devices = [emplace.Device(f"gpu:{i}", "gpu", 11e9) for i in (0, 1)]
    machine = emplace.Machine(devices, bandwidth_bytes_per_us=7600, transfer_latency_us=10, transfer_overhead_us=25, op_overhead_us=5.7)
    plan = emplace.place(graph, machine, budget=500)
    assert len(set(plan.devices)) == 1 and plan.makespan_us == pytest.approx(40 * 10.7)
    one_apart = emplace.simulate(graph, machine, [0] * 20 + [1] * 20)
    assert one_apart.makespan_us == pytest.approx(19 * 10.7 + 5 + 4096 / 7600 + 10 + 20 * 10.7)
    assert (machine.transfer_latency_us, machine.memory_rule) == (10, "executor")
    with pytest.raises(emplace.BadInput, match="memory_rule is 'real', expected executor or placeto"):
        emplace.Machine(devices, bandwidth_bytes_per_us=1, memory_rule="real")


@pytest.mark.parametrize("path", sorted((ROOT / "configs/clusters").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_machines_read_back_equal(path, tmp_path):
    machine = emplace.Machine.load(path)
    machine.save(tmp_path / "m.yaml")
    assert emplace.Machine.load(tmp_path / "m.yaml") == machine == pickle.loads(pickle.dumps(machine))


def test_devices_are_values():
    device = emplace.Device("gpu:0", "k80", 1e9)
    assert device == emplace.Device("gpu:0", "k80", 1e9) == copy.deepcopy(device) == pickle.loads(pickle.dumps(device))
    assert len({device, copy.copy(device)}) == 1
    for other in (emplace.Device("gpu:1", "k80", 1e9), emplace.Device("gpu:0", "v100", 1e9), emplace.Device("gpu:0", "k80", 2e9), "gpu:0"):
        assert device != other


@pytest.mark.parametrize("devices, bandwidth, error", [
    ([], 1, "device"),
    ([emplace.Device("a", "x", 1), emplace.Device("a", "x", 1)], 1, "twice"),
    ([emplace.Device("a", "x", 1)], 0, "bandwidth"),
])
def test_bad_machines(devices, bandwidth, error):
    with pytest.raises(emplace.BadInput, match=error):
        emplace.Machine(devices, bandwidth_bytes_per_us=bandwidth)


def test_errors_have_a_place():
    with pytest.raises(emplace.BadInput, match=r"m\.yaml:1:12: "):
        emplace.Machine.from_yaml("devices: [{colour: 1}]", "m.yaml")


@pytest.mark.parametrize("memory_bytes", [float("nan"), float("inf"), -1])
def test_memory_is_a_number_of_bytes(memory_bytes):
    with pytest.raises(emplace.BadInput, match="memory_bytes of device 'a' is .*, expected a number of bytes"):
        emplace.Device("a", "x", memory_bytes)


def test_this_machine(tmp_path):
    machine = emplace.Machine.probe(gpus=False, cpus=2)
    assert [(device.name, device.kind) for device in machine.devices] == [("cpu:0", "cpu"), ("cpu:1", "cpu")]
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    total = sum(int(line.split()[1]) for line in lines if line.startswith("MemTotal:")) * 1024
    assert sum(device.memory_bytes for device in machine.devices) == pytest.approx(total, rel=0.01)
    assert machine.bandwidth_bytes_per_us > 0 and machine.transfer_overhead_us >= 0
    with pytest.raises(emplace.BadInput, match="expected cpus of at least 1"):
        emplace.Machine.probe(gpus=False, cpus=0)
    with pytest.raises(emplace.BadInput, match="cpus is -1"):
        emplace.Machine.probe(cpus=-1)
    done = emplace_command("probe", "--no-gpus", "--out", tmp_path / "m.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert [device.name for device in emplace.Machine.load(tmp_path / "m.yaml").devices] == ["cpu:0"]
    assert json.loads(done.stdout)["devices"][0]["kind"] == "cpu"


@pytest.mark.parametrize(("name", "gib", "kind"), [
    ("NVIDIA A100-SXM4-40GB", 39.4, "a100"), ("NVIDIA A100 80GB PCIe", 79.2, "a100_80gb"), ("NVIDIA A100-SXM4-80GB", 79.2, "a100_80gb"),
    ("Tesla V100-SXM2-16GB", 15.8, "v100"), ("NVIDIA H200", 139.8, "h200"), ("Tesla P100-PCIE-16GB", 15.9, "p100"),
    ("NVIDIA GeForce RTX 4090", 23.5, "rtx4090"), ("NVIDIA GeForce RTX 4060 Ti", 7.6, "rtx4060ti"),
    ("NVIDIA GeForce RTX 4060 Ti", 15.6, "rtx4060ti_16gb"), ("NVIDIA GeForce RTX 4070 Ti SUPER", 15.6, "rtx4070ti_super"),
    ("NVIDIA GeForce RTX 3080", 11.6, "rtx3080_12gb"), ("NVIDIA GeForce GTX 1080 Ti", 10.9, "gtx1080ti"),
    ("NVIDIA RTX A6000", 47.4, "rtx_a6000"), ("NVIDIA RTX 6000 Ada Generation", 47.4, "rtx_6000_ada"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 94.9, "rtx_pro_6000"), ("NVIDIA TITAN RTX", 23.6, "titan_rtx"),
    ("AMD Radeon RX 7900 XTX", 24.0, "rx7900xtx"), ("AMD Radeon RX 9060 XT", 15.9, "rx9060xt_16gb"), ("AMD Instinct MI300X", 191.7, "mi300x"),
    # Those that no costs are known for.
    ("NVIDIA GeForce GTX 1660", 5.8, "gtx1660"), ("NVIDIA L40", 44.5, "l40"), ("NVIDIA", 8.0, "gpu"), ("", 8.0, "gpu")])
def test_kinds_are_found_in_names(name, gib, kind):
    assert probing._kind_named(name, int(gib * 2**30)) == kind
