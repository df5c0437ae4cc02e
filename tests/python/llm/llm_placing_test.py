"""emplace.llm.place_for and the flags of llama.cpp."""
import bisect
import itertools
import json
import re

import emplace
import numpy as np
import pytest
from command_test import emplace_command
from emplace.llm.command import _not_counted
from emplace.llm.layout import backend_names, host_devices, layout_of
from llm_models import write_gguf


def machine_of(*devices, bandwidth=10_000.0, latency=10.0):
    return emplace.Machine([emplace.Device(name, kind, memory) for name, kind, memory in devices], bandwidth_bytes_per_us=bandwidth,
                           transfer_latency_us=latency)


def split_of_llama_cpp(flags: str, layers: int) -> tuple[list[str], str, dict[str, str]]:
    """[L] the device of each layer, the output head's, and the tensors that lie elsewhere, by llama.cpp's own rule.

    llama-model.cpp, load_tensors: the layers before i_gpu_start are the processor's; splits are sums of shares over their total, and
    a layer goes to the first device whose split is above (layer - i_gpu_start) / act_gpu_layers.
    """
    def value(flag, default=""):
        found = re.search(rf"(?:^| ){flag} ([^ ]+)", flags)
        return found[1] if found else default

    names, on_devices = value("-dev").split(","), int(value("-ngl"))
    shares = np.array(value("-ts", "1").split(","), dtype=np.float32)
    splits = (np.cumsum(shares, dtype=np.float32) / shares.sum(dtype=np.float32)).tolist()
    begin, count = max(layers + 1 - on_devices, 0), min(on_devices, layers + 1)

    def device(layer):
        return "CPU" if layer < begin else names[bisect.bisect_right(splits, np.float32(layer - begin) / np.float32(count))]
    overrides = [override.rpartition("=") for found in re.findall(r'-ot "([^"]+)"', flags) for override in found.split(",")]
    return [device(layer) for layer in range(layers)], device(layers), {pattern: target for pattern, _, target in overrides}


@pytest.mark.parametrize("seed", range(6))
def test_llama_cpp_does_with_the_flags_what_the_plan_says(seed, qwen):
    rng = np.random.default_rng(seed)
    graph = emplace.llm.load(qwen, weight_type="Q4_K", context=4096)
    kinds = rng.choice(["rtx4090", "rtx3060", "rtx2080", "p40"], size=3)
    machine = machine_of(*((f"gpu:{i}", kind, rng.uniform(3e9, 9e9)) for i, kind in enumerate(kinds)), ("cpu", "ddr5_2ch", 60e9))
    plan = emplace.llm.place_for("llama.cpp", graph, machine, 0.3)
    layout = layout_of(graph, machine, plan.placement)
    names = ["CUDA0", "CUDA1", "CUDA2", "CPU"]
    layers, output, apart = split_of_llama_cpp(emplace.llm.flags("llama.cpp", plan), 48)
    assert layers == [names[device] for device in layout.attention] and output == names[layout.output]
    assert names[layout.embedding] == "CPU"
    for layer, products in enumerate(layout.products):
        for tensor, device in products.items():
            targets = {target for pattern, target in apart.items() if re.search(pattern, tensor)}
            assert targets == (set() if device == layout.attention[layer] else {names[device]}), tensor


def all_splits(layers: int, devices: int, host: int):
    """Placements of attention and products [L] each, of all that llama.cpp could do with the first layers of each stage apart."""
    for count in range(1, devices + 1):
        for order in itertools.permutations(range(devices), count):
            if host in order[1:]:
                continue
            for cuts in itertools.combinations(range(1, layers), count - 1):
                begins = [0, *cuts, layers]
                sizes = [end - begin for begin, end in itertools.pairwise(begins)]
                for spill in range(devices):
                    for apart in itertools.product(*(range(size + 1) for size in sizes)):
                        attention = [device for device, size in zip(order, sizes, strict=True) for _ in range(size)]
                        products = [spill if layer < apart[stage] else device for stage, (device, size) in
                                    enumerate(zip(order, sizes, strict=True)) for layer in range(size)]
                        yield attention, products


@pytest.mark.parametrize(("layers", "seed"), [(4, 0), (4, 1), (4, 2), (4, 3), (7, 0), (7, 26)])
def test_no_split_is_better(layers, seed, tmp_path):
    """Against all of them, on devices that hold only a part each. Of seven layers no single change leads to the best split."""
    rng = np.random.default_rng(seed)
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf", layers=layers, experts=4), kinds="rtx4090,rtx2080,ddr4_2ch", context=256, chunk=1)
    size = sum(op.get("param_bytes", 0) for op in graph.ops)
    machine = machine_of(("gpu:0", "rtx4090", size * rng.uniform(0.3, 0.7)), ("gpu:1", "rtx2080", size * rng.uniform(0.2, 0.5)),
                         ("cpu", "ddr4_2ch", size), latency=rng.uniform(1, 20))
    modules = [op["attrs"]["module"].split(".") for op in graph.ops]
    placements = set()
    for attention, products in all_splits(layers, 3, host=2):
        placements.add(tuple(2 if module == ["token_embd"] else attention[-1] if module[0] != "blk" else
                             (products if module[2] == "ffn_experts" else attention)[int(module[1])] for module in modules))
    found = emplace.simulate(graph, machine, np.array(sorted(placements)))
    best = found.makespan_us[found.feasible].min()
    assert emplace.llm.place_for("llama.cpp", graph, machine, 5).makespan_us == pytest.approx(best, rel=1e-9)


def test_whole_layers_for_the_others(llama):
    graph = emplace.llm.load(llama, context=4096)
    machine = machine_of(("gpu:0", "rtx4090", 8e9), ("gpu:1", "rtx3090", 6e9), ("gpu:2", "rtx3060", 5e9))
    plan = emplace.llm.place_for("vllm", graph, machine, 0.5)
    layout = layout_of(graph, machine, plan.placement)
    assert not layout.apart() and len(layout.whole_stages("vllm")) == 3
    assert plan.feasible and plan.makespan_us >= plan.lower_bound_us
    # The same exact division as of a captured model's blocks.
    divided = emplace.place(graph, machine, 1, stages="contiguous", blocks=[f"blk.{layer}" for layer in range(32)])
    assert plan.makespan_us <= divided.makespan_us * (1 + 1e-9)


def test_throughput(llama):
    graph = emplace.llm.load(llama, context=4096, streams=4)
    machine = machine_of(("gpu:0", "rtx4090", 20e9), ("gpu:1", "rtx3060", 12e9))
    fast = emplace.llm.place_for("vllm", graph, machine, 0.5)
    many = emplace.llm.place_for("vllm", graph, machine, 0.5, objective="throughput")
    assert many.max_load_us < fast.max_load_us and fast.makespan_us < many.makespan_us
    assert many.serving["pipeline_tokens_per_s"] == pytest.approx(4e6 / many.max_load_us)
    assert fast.serving["stream_tokens_per_s"] == pytest.approx(1e6 / fast.makespan_us)


def test_the_longest_context_fits_and_one_token_more_does_not(llama):
    machine = machine_of(("gpu:0", "rtx4090", 20e9), bandwidth=1.0)
    graph = emplace.llm.load(llama, context=4096, kinds="rtx4090")
    longest = emplace.place(graph, machine, 0.1).serving["longest_context"]
    assert 4096 < longest < 131072
    for context, fits in ((longest, True), (longest + 16, False)):
        longer = emplace.llm.load(llama, context=context, kinds="rtx4090")
        assert bool(emplace.simulate(longer, machine, np.zeros(longer.num_ops, dtype=int)).feasible) == fits


@pytest.mark.parametrize("room", [1.003, 1.01, 1.05])
def test_the_longest_context_where_experts_need_most(room, tmp_path):
    path = write_gguf(tmp_path / "m.gguf", layers=3, experts=4)

    def of(context):
        graph = emplace.llm.load(path, context=context, kinds="rtx4090")
        return graph, np.zeros(graph.num_ops, dtype=int)
    graph, placement = of(100)
    peak = emplace.simulate(graph, machine_of(("gpu:0", "rtx4090", 1e9)), placement).peak_bytes[0]
    machine = machine_of(("gpu:0", "rtx4090", float(peak * room)))
    longest = emplace.Plan.of(graph, machine, placement).serving["longest_context"]
    assert 100 < longest < 1024
    for context, fits in ((longest, True), (longest + 1, False)):
        graph, placement = of(context)
        assert bool(emplace.simulate(graph, machine, placement).feasible) == fits


def test_what_fits_nowhere_says_what_is_missing(llama):
    graph = emplace.llm.load(llama, context=100_000)
    machine = machine_of(("gpu:0", "rtx4090", 8e9), ("gpu:1", "rtx3060", 6e9))
    with pytest.raises(emplace.BadInput, match=r"needs 29\.168 GB, expected at most 14\.000 GB") as error:
        emplace.llm.place_for("llama.cpp", graph, machine, 0.2)
    assert "\n" not in str(error.value)
    # Enough in all, but not for whole layers.
    machine = machine_of(*((f"gpu:{i}", "rtx4090", 1.3e9) for i in range(20)))
    with pytest.raises(emplace.BadInput, match=r"graph 'llama': the model does not fit .* lacks \d+ bytes on gpu:\d+"):
        emplace.llm.place_for("vllm", emplace.llm.load(llama, context=8192), machine, 0.2)


def test_processors_are_left_out_where_a_runtime_has_gpus_alone(llama):
    graph = emplace.llm.load(llama, context=2048)
    machine = machine_of(("cpu", "ddr5_2ch", 60e9), ("gpu:0", "rtx4090", 12e9), ("gpu:1", "rtx3060", 10e9))
    assert "--pipeline-parallel-size 2" in emplace.llm.flags("vllm", emplace.llm.place_for("vllm", graph, machine, 0.3))
    with pytest.raises(emplace.BadInput, match=r"no device of the machine may run it all \(.* of kind .*\), expected one that the runtime can use"):
        emplace.llm.place_for("vllm", graph, machine_of(("cpu", "ddr5_2ch", 60e9)), 0.1)


def test_flags_are_for_the_step_that_was_planned(tmp_path):
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf"), context=256, streams=4, kv_type="q8_0", chunk=64, kinds="rtx4090")
    machine = machine_of(("gpu:0", "rtx4090", 1e9))
    plan = emplace.llm.place_for("llama.cpp", graph, machine, 0.1)
    assert emplace.llm.flags("llama.cpp", plan) == "-dev CUDA0 -ngl 3 -c 1024 -np 4 -b 2048 -ub 64 -fa on -ctk q8_0 -ctv q8_0\n"
    assert emplace.llm.flags("vllm", plan).endswith("--pipeline-parallel-size 1 --max-model-len 256 --kv-cache-dtype fp8\n")


def test_devices_go_by_their_names():
    """Whatever the order in the file; a server whose device is a processor is a server."""
    machine = machine_of(("gpu:1", "rtx2080", 1e9), ("gpu:0", "rtx4090", 1e9), ("10.0.0.2:50052", "ddr5_8ch", 1e9), ("my card", "rx6800", 1e9),
                         ("cpu:0", "ddr4_2ch", 1e9), ("disk", "nvme4", 1e12))
    assert backend_names(machine) == ["CUDA1", "CUDA0", "RPC0", "ROCm0", "CPU", "CPU"]
    assert host_devices(machine) == [4, 5]
    # gpu:N counts the cards of all makers, cuda:N and rocm:N those of one.
    two_makers = machine_of(("gpu:2", "rx6800", 1e9), ("gpu:1", "rtx4090", 1e9), ("gpu:0", "rx6800", 1e9))
    assert backend_names(two_makers) == ["ROCm1", "CUDA0", "ROCm0"]
    assert backend_names(machine_of(("rocm:1", "rx6800", 1e9), ("cuda:2", "rtx4090", 1e9))) == ["ROCm1", "CUDA2"]


def test_llama_cpp_has_one_step_at_a_time(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", layers=4)
    machine = machine_of(("gpu:0", "rtx4090", 1e9), ("gpu:1", "rtx4090", 1e9))

    def said(runtime, last_layers_on, **step):
        graph = emplace.llm.load(path, context=256, kinds="rtx4090", **step)
        modules = [op["attrs"]["module"] for op in graph.ops]
        late = [module.startswith(("blk.2", "blk.3", "output")) * last_layers_on for module in modules]
        return _not_counted(runtime, emplace.Plan.of(graph, machine, np.array(late, dtype=int)))
    assert "does not have one step in each stage at a time" in said("llama.cpp", 1)[0]
    assert said("llama.cpp", 0) == said("vllm", 1) == said("llama.cpp", 1, phase="prefill", prompt=64) == []
    assert said("llama.cpp", 0, steps_in_flight=2) == said("llama.cpp", 1)


def test_tensors_on_a_server_go_by_its_buffer(tmp_path):
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf"), context=256, kinds="rtx4090")
    machine = machine_of(("gpu:0", "rtx4090", 1e9), ("10.0.0.2:50052", "rtx4090", 1e9))
    placement = np.array([op["attrs"]["module"] == "blk.0.ffn_down" for op in graph.ops]).astype(int)
    assert emplace.llm.flags("llama.cpp", emplace.Plan.of(graph, machine, placement)) == (
        r'--rpc 10.0.0.2:50052 -dev CUDA0,RPC0 -ngl 3 -sm layer -ts 3,0 -ot "blk\.0\.(ffn_down\.weight)=RPC0[10.0.0.2:50052]" -c 256' "\n")


def test_layers_that_were_to_stay_whole_do(qwen):
    graph = emplace.llm.load(qwen, weight_type="Q4_K", context=2048, together="layers")
    machine = machine_of(("gpu:0", "rtx3060", 9e9), ("cpu", "ddr4_2ch", 60e9))
    plan = emplace.llm.place_for("llama.cpp", graph, machine, 0.2)
    assert not layout_of(graph, machine, plan.placement).apart() and plan.makespan_us >= plan.free_makespan_us
    layers, output, apart = split_of_llama_cpp(emplace.llm.flags("llama.cpp", plan), 48)
    assert {"CUDA0", "CPU"} >= {output, *layers} and not apart


def test_a_machine_without_gpus(tmp_path):
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf"), context=256, kinds="ddr4_2ch,nvme4")
    machine = machine_of(("ssd", "nvme4", 1e12), ("cpu", "ddr4_2ch", 1e9))
    plan = emplace.llm.place_for("llama.cpp", graph, machine, 0.05)
    assert emplace.llm.flags("llama.cpp", plan) == "-ngl 0 -c 256\n"


@pytest.mark.parametrize("kv_type", ["Q4_K", "Q8_K", "I8", "MXFP4"])
def test_llama_cpp_has_few_types_of_caches(kv_type, tmp_path):
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf"), context=256, kv_type=kv_type, kinds="rtx4090")
    plan = emplace.llm.place_for("llama.cpp", graph, machine_of(("gpu:0", "rtx4090", 1e9)), 0.05)
    with pytest.raises(emplace.BadInput, match=f"llama.cpp has no cache of {kv_type}, expected a graph whose --kv-type is one of F32, F16"):
        emplace.llm.flags("llama.cpp", plan)


@pytest.mark.parametrize("meta, attrs, error", [
    ({"llm": {}}, {}, "is of no language model"),
    ({"llm": {"layers": 1}}, {}, "op 'a' says of no layer or part"),
    ({"llm": {"layers": 1}}, {"module": "blk.7.attn"}, "op 'a' says of no layer or part"),
    ({"llm": {"layers": 1}}, {"module": "blk.0.attn"}, "has no token_embd or no output"),
])
def test_graphs_that_only_look_like_one(meta, attrs, error, pair):
    graph = emplace.Graph.from_ops("odd", [{"name": "a", "cost_us": 1, "attrs": attrs}], meta)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.llm.flags("llama.cpp", emplace.Plan.of(graph, pair, np.zeros(1, dtype=int)))


def test_a_graph_of_no_language_model(diamond, pair):
    with pytest.raises(emplace.BadInput, match="is of no language model, expected one of `emplace import llm`"):
        emplace.llm.flags("llama.cpp", emplace.place(diamond, pair, budget=10))
    assert emplace.place(diamond, pair, budget=10).serving is None


def test_placements_that_llama_cpp_cannot_do(tmp_path):
    graph = emplace.llm.load(write_gguf(tmp_path / "m.gguf", layers=4), kinds="rtx4090,ddr4_2ch")
    machine = machine_of(("gpu:0", "rtx4090", 1e9), ("gpu:1", "rtx4090", 1e9), ("cpu", "ddr4_2ch", 1e9))
    layer = np.array([int(op["attrs"]["module"].split(".")[1]) if op["attrs"]["module"].startswith("blk") else 3 for op in graph.ops])

    def flags_of(devices, **changes):
        placement = np.array(devices)[layer]
        placement[0] = 2  # The embedding.
        for name, device in changes.items():
            placement[graph.op_names.index(name)] = device
        return emplace.llm.flags("llama.cpp", emplace.Plan.of(graph, machine, placement))
    assert flags_of([2, 0, 0, 1]) == "-dev CUDA0,CUDA1 -ngl 4 -sm layer -ts 2,2 -c 1024\n"
    assert flags_of([2, 2, 2, 2]) == "-ngl 0 -c 1024\n"
    # A device that has tensors and no layers is used with a share of 0.
    assert flags_of([0, 0, 0, 0], **{"blk.1.ffn_up": 2, "blk.1.ffn_down": 2, "blk.2.ffn_down": 1}) == (
        r'-dev CUDA0,CUDA1 -ngl 5 -sm layer -ts 5,0 -ot "blk\.1\.(ffn_down\.weight|ffn_gate\.weight|ffn_up\.weight)=CPU,'
        r'blk\.2\.(ffn_down\.weight)=CUDA1" -c 1024' "\n")
    with pytest.raises(emplace.BadInput, match="gives each device layers that follow each other, and those of gpu:0 do not"):
        flags_of([0, 1, 0, 1])
    with pytest.raises(emplace.BadInput, match="keeps a model's first layers on the processor, and here layer 2 is on it"):
        flags_of([0, 0, 2, 2])
    with pytest.raises(emplace.BadInput, match="has the output head on the device of the last layer, CUDA1, and here it is on CUDA0"):
        flags_of([0, 0, 0, 1], output=0)
    with pytest.raises(emplace.BadInput, match="has the embedding on the processor, and here it is on CUDA0"):
        flags_of([0, 0, 0, 0], token_embd=0)
    with pytest.raises(emplace.BadInput, match="has the output head on the device of the last layer, CPU, and here it is on CUDA0"):
        flags_of([2, 2, 2, 2], output=0)
    with pytest.raises(emplace.BadInput, match="layer 1: .* is not on the device of the layer's attention"):
        flags_of([0, 0, 0, 0], **{"blk.1.attn": 1})


def test_the_commands_from_file_to_flags(tmp_path):
    model = write_gguf(tmp_path / "m.gguf", layers=3, experts=4)
    machine_of(("gpu:0", "rtx3060", 1.0e6), ("192.168.1.7:50052", "rtx3060", 1e9), ("cpu", "ddr5_2ch", 1e9)).save(tmp_path / "d.yaml")
    graph, placement = tmp_path / "g.graph.json.zst", tmp_path / "p.json"
    made = emplace_command("import", "llm", model, "--context", 512, "--out", graph, "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["ops"] == 30, made.stderr
    done = emplace_command("flags", "llama.cpp", "--graph", graph, "--devices", tmp_path / "d.yaml", "--placement-out", placement)
    assert done.returncode == 0, done.stderr
    flags, *figures = done.stdout.splitlines()
    assert flags.startswith("--rpc 192.168.1.7:50052 -dev RPC0 -ngl 4 -c 512")
    assert all(line.startswith("# ") for line in figures) and "tokens/s" in figures[2]
    again = emplace_command("flags", "llama.cpp", "--graph", graph, "--devices", tmp_path / "d.yaml", "--placement", placement, "--json")
    assert json.loads(again.stdout)["flags"] == flags + "\n"
    placed = emplace_command("place", "--graph", graph, "--devices", tmp_path / "d.yaml", "--budget", 100)
    assert "one stream " in placed.stdout and "longest context " in placed.stdout and " left" in placed.stdout


@pytest.mark.parametrize("arguments, error", [
    (("flags", "llama.c", "--graph", "g", "--devices", "d"), "runtime is 'llama.c', expected one of llama.cpp, "),
    (("flags", "llama.cpp", "--graph", "g.json"), "the following arguments are required: --devices"),
    (("flags", "llama.cpp", "--graph", "no.json", "--devices", "d.yaml"), "no.json"),
    (("import", "llm", "no.gguf", "--out", "o.graph.json"), "no.gguf: cannot be read: No such file"),
])
def test_wrong_arguments(arguments, error, tmp_path):
    done = emplace_command(*arguments, folder=tmp_path)
    assert done.returncode == 2 and error in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
