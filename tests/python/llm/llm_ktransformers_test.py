"""emplace.llm.place_for and flags for KTransformers."""
import emplace
import numpy as np
import pytest
from command_test import emplace_command
from llm_models import LLAMA_8B, QWEN3_30B, write_config


def machine_of(*devices):
    return emplace.Machine([emplace.Device(name, kind, memory) for name, kind, memory in devices], bandwidth_bytes_per_us=12_000,
                           transfer_latency_us=10)


def load(folder, **changes):
    return emplace.llm.load(write_config(folder, QWEN3_30B, num_hidden_layers=6, num_experts=12, num_experts_per_tok=2, **changes),
                            weight_type="Q4_K", context=2048)


def graph_with(graph, on_gpu, experts):
    """The graph with the experts of each layer in two ops, by hand, and where each op belongs."""
    ops, placement = [], []
    for op in graph.ops:
        if not op["name"].endswith("ffn_experts"):
            more = [f"{source.removesuffix(':0')}.rest:0" for source in op["inputs"] if source.endswith("ffn_experts:0")]
            ops.append(op | {"inputs": op["inputs"] + more})
            placement.append(0)
            continue
        # The processor's memory holds all of them.
        for suffix, number, held, device in (("", on_gpu, on_gpu / experts, 0), (".rest", experts - on_gpu, 1, 1)):
            ops.append(op | {"name": op["name"] + suffix, "group": op["group"] + suffix,
                             "cost_us": {kind: us * number / experts for kind, us in op["cost_us"].items()},
                             "param_bytes": round(op["param_bytes"] * held)})
            placement.append(device)
    return emplace.Graph.from_ops("by hand", ops), np.array(placement, dtype=np.int32)


@pytest.mark.parametrize("room_for", [0.5, 3.5, 11, 20])
def test_it_finds_the_best_number_of_experts(room_for, tmp_path):
    """room_for: experts of each layer for which the GPU has room."""
    graph = load(tmp_path)

    def plans_on(machine):
        divided = [graph_with(graph, number, 12) for number in range(13)]
        return [emplace.Plan.of(by_hand, machine, placement) for by_hand, placement in divided]
    cpu = ("cpu", "ddr5_2ch", 60e9)
    without, *_, whole = (plan.peak_bytes[0] for plan in plans_on(machine_of(("gpu:0", "rtx3060", 60e9), cpu)))
    machine = machine_of(("gpu:0", "rtx3060", without + room_for / 12 * (whole - without)), cpu)
    plans = plans_on(machine)
    best = min(plan.makespan_us for plan in plans if plan.feasible)
    found = emplace.llm.place_for("ktransformers", graph, machine, 0.2)
    assert found.feasible and found.makespan_us == pytest.approx(best)
    number = next(index for index, plan in enumerate(plans) if plan.feasible and plan.makespan_us == pytest.approx(best))
    assert f"--kt-num-gpu-experts {number} --context-length 2048" in emplace.llm.flags("ktransformers", found)


def test_what_it_cannot_do(tmp_path):
    graph, gpu, cpu = load(tmp_path / "a"), ("gpu:0", "rtx3060", 12e9), ("cpu", "ddr5_2ch", 60e9)
    with pytest.raises(emplace.BadInput, match="1 processors and 2 GPUs .gpu:0, gpu:1, cpu.; expected one of each"):
        emplace.llm.place_for("ktransformers", graph, machine_of(gpu, ("gpu:1", "rtx3060", 12e9), cpu), 0.1)
    with pytest.raises(emplace.BadInput, match="does not fit the memory as ktransformers places it; the best placement lacks"):
        emplace.llm.place_for("ktransformers", graph, machine_of(("gpu:0", "rtx3060", 1e8), cpu), 0.1)
    with pytest.raises(emplace.BadInput, match="expected none"):
        emplace.llm.flags("ktransformers", emplace.Plan.of(graph, machine_of(gpu, cpu), np.zeros(len(graph), dtype=np.int32)))
    each = emplace.llm.load(tmp_path / "a", weight_type="Q4_K", context=2048, each_expert=True)
    dense = emplace.llm.load(write_config(tmp_path / "b", LLAMA_8B, num_hidden_layers=2), weight_type="Q4_K", context=2048)
    divided = emplace.llm.place_for("ktransformers", graph, machine_of(gpu, cpu), 0.1).graph
    for other in (each, dense, divided):
        with pytest.raises(emplace.BadInput, match="is of no mixture of experts that are one op in each layer"):
            emplace.llm.place_for("ktransformers", other, machine_of(gpu, cpu), 0.1)


def test_the_command_has_no_placement_to_read_or_write(tmp_path):
    load(tmp_path).save(tmp_path / "graph.json")
    (tmp_path / "devices.yaml").write_text(
        'devices: [{name: "gpu:0", kind: rtx3060, memory_bytes: 4e9}, {name: cpu, kind: ddr5_2ch, memory_bytes: 6e10}]\n'
        "transfer: {bandwidth_bytes_per_us: 12000, latency_us: 10, overhead_us: 5}\nop_overhead_us: 0\n")
    words = ["flags", "ktransformers", "--graph", tmp_path / "graph.json", "--devices", tmp_path / "devices.yaml", "--seconds", "0.1"]
    done = emplace_command(*words)
    assert done.returncode == 0 and "--kt-num-gpu-experts 12" in done.stdout and "tokens/s" in done.stdout
    for option in ("--placement", "--placement-out"):
        done = emplace_command(*words, option, tmp_path / "p.json")
        assert done.returncode == 2 and option in done.stderr and "divides the experts of a layer" in done.stderr
