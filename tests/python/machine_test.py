"""emplace.Machine"""
import pickle

import emplace
import pytest
from conftest import ROOT


def test_fields(machine, pair):
    assert [device.name for device in machine.devices] == ["gpu:0", "gpu:1"]
    assert machine.devices[0].kind == "k80" and machine.devices[0].memory_bytes == 11_000_000_000
    assert (machine.op_overhead_us, machine.bandwidth_bytes_per_us, machine.transfer_overhead_us) == (5.7, 7600, 25)
    assert machine.link_model == "shared" and len(machine) == machine.num_devices == 2
    assert pair.transfer_overhead_us == 5 and pair.op_overhead_us == 0


@pytest.mark.parametrize("path", sorted((ROOT / "configs/clusters").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_machines_read_back_equal(path, tmp_path):
    machine = emplace.Machine.load(path)
    machine.save(tmp_path / "m.yaml")
    assert emplace.Machine.load(tmp_path / "m.yaml") == machine == pickle.loads(pickle.dumps(machine))


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
