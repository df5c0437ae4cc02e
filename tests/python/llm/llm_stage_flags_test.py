"""emplace.llm.stage_flags: the texts for placements of whole layers, read back by each program's rules, and the errors."""
import itertools
import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace

import emplace
import pytest
from emplace.llm.layout import Layout
from emplace.llm.runtimes import check_runtime
from emplace.llm.stage_flags import STAGE_RUNTIMES

KINDS = {"cpu": "ddr4_2ch", "ram": "ddr4_2ch", "ssd": "nvme4"}
ON_GPUS = ["vllm", "sglang", "megatron", "torchtitan"]


def flags(runtime, where):
    return STAGE_RUNTIMES[runtime](where)


def layout(names, attention, *, embedding=None, output=None, products=None):
    """A Layout on devices of these names, which are GPUs but for those in KINDS; the ends are with the first and the last layer."""
    devices = [emplace.Device(name, KINDS.get(name.partition(":")[0], "rtx3090"), 24e9) for name in names]
    machine = emplace.Machine(devices, bandwidth_bytes_per_us=10_000)
    return Layout(machine, attention, products or [{} for _ in attention], attention[0] if embedding is None else embedding,
                  attention[-1] if output is None else output)


TWO = layout(["gpu:0", "gpu:1"], [0, 0, 0, 1, 1])
SWAPPED = layout(["cuda:0", "cuda:1", "cuda:2"], [2, 0, 0])
NODES = layout(["studio", "mini"], [0, 0, 0, 1])
ENDS_APART = layout(["gpu:0", "gpu:1", "gpu:2", "gpu:3"], [1, 1, 2], embedding=0, output=3)


@pytest.mark.parametrize(("runtime", "where", "text"), [
    ("vllm", TWO, 'VLLM_PP_LAYER_PARTITION="3,2" vllm serve MODEL --pipeline-parallel-size 2\n'),
    ("vllm", SWAPPED, 'CUDA_VISIBLE_DEVICES="2,0" VLLM_PP_LAYER_PARTITION="1,2" vllm serve MODEL --pipeline-parallel-size 2\n'),
    ("vllm", NODES, '# Devices by rank: studio, mini\nVLLM_PP_LAYER_PARTITION="3,1" vllm serve MODEL --pipeline-parallel-size 2\n'),
    ("vllm", layout(["mini"], [0, 0]), 'VLLM_PP_LAYER_PARTITION="2" vllm serve MODEL --pipeline-parallel-size 1\n'),
    ("vllm", layout(["gpu:0", "gpu:1"], [1, 1]),
     'CUDA_VISIBLE_DEVICES="1" VLLM_PP_LAYER_PARTITION="2" vllm serve MODEL --pipeline-parallel-size 1\n'),
    ("sglang", TWO, 'SGLANG_PP_LAYER_PARTITION="3,2" python3 -m sglang.launch_server --model-path MODEL --pp-size 2\n'),
    ("megatron", TWO, "torchrun --nproc-per-node 2 pretrain_gpt.py --num-layers 5 --pipeline-model-parallel-size 2 "
     '--pipeline-model-parallel-layout "Et*3|t*2L"\n'),
    ("megatron", ENDS_APART, "torchrun --nproc-per-node 4 pretrain_gpt.py --num-layers 3 --pipeline-model-parallel-size 4 "
     '--pipeline-model-parallel-layout "E|t*2|t|L"\n'),
    ("torchtitan", SWAPPED, 'CUDA_VISIBLE_DEVICES="2,0" torchrun --nproc-per-node 2 -m torchtitan.train --module MODULE --config CONFIG '
     "--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule 1F1B "
     "--parallelism.module_fqns_per_model_part tok_embeddings,layers.0 layers.1,layers.2,norm,lm_head\n"),
    ("torchtitan", ENDS_APART, "torchrun --nproc-per-node 4 -m torchtitan.train --module MODULE --config CONFIG "
     "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule 1F1B "
     "--parallelism.module_fqns_per_model_part tok_embeddings layers.0,layers.1 layers.2 norm,lm_head\n"),
])
def test_commands(runtime, where, text):
    assert flags(runtime, where) == text


@pytest.mark.parametrize(("runtime", "lines"), [
    ("vllm", ["# On this computer, where ADDRESS is its own:",
              'CUDA_VISIBLE_DEVICES="1" VLLM_PP_LAYER_PARTITION="3,2" vllm serve MODEL --pipeline-parallel-size 2 --nnodes 2 --node-rank 0 '
              "--master-addr ADDRESS", "# On 10.0.0.2:",
              'VLLM_PP_LAYER_PARTITION="3,2" vllm serve MODEL --pipeline-parallel-size 2 --nnodes 2 --node-rank 1 --master-addr ADDRESS --headless']),
    ("sglang", ["# On this computer, where ADDRESS is its own:",
                'CUDA_VISIBLE_DEVICES="1" SGLANG_PP_LAYER_PARTITION="3,2" python3 -m sglang.launch_server --model-path MODEL --pp-size 2 '
                "--nnodes 2 --node-rank 0 --dist-init-addr ADDRESS:20000", "# On 10.0.0.2:",
                'SGLANG_PP_LAYER_PARTITION="3,2" python3 -m sglang.launch_server --model-path MODEL --pp-size 2 --nnodes 2 --node-rank 1 '
                "--dist-init-addr ADDRESS:20000"]),
    ("megatron", ["# On this computer, where ADDRESS is its own:",
                  'CUDA_VISIBLE_DEVICES="1" torchrun --nnodes 2 --node-rank 0 --master-addr ADDRESS --nproc-per-node 1 pretrain_gpt.py '
                  '--num-layers 5 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et*3|t*2L"', "# On 10.0.0.2:",
                  "torchrun --nnodes 2 --node-rank 1 --master-addr ADDRESS --nproc-per-node 1 pretrain_gpt.py --num-layers 5 "
                  '--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et*3|t*2L"']),
])
def test_a_command_for_each_computer(runtime, lines):
    where = layout(["gpu:1", "10.0.0.2:50052"], [0, 0, 0, 1, 1])
    assert flags(runtime, where).splitlines() == ["# Devices by rank: gpu:1, 10.0.0.2:50052", *lines]


@pytest.mark.parametrize("runtime", ON_GPUS)
def test_computers_go_by_rank(runtime):
    servers = ["10.0.0.2:50052", "10.0.0.2:50053", "gpu:0", "gpu:1"]
    lines = flags(runtime, layout(servers, [0, 1, 3, 2])).splitlines()
    assert [line for line in lines if line.startswith("# On")] == ["# On 10.0.0.2:", "# On this computer:"]
    commands = [line for line in lines if not line.startswith("#")]
    assert all(f"--node-rank {index} " in command + " " and "10.0.0.2" in command for index, command in enumerate(commands))
    assert "CUDA_VISIBLE_DEVICES" not in commands[0] and commands[1].startswith('CUDA_VISIBLE_DEVICES="1,0" ')
    # All on one other computer.
    assert flags(runtime, layout(servers, [0, 1])).splitlines()[1:] == [
        "# On 10.0.0.2:", flags(runtime, layout(["gpu:0", "gpu:1"], [0, 1])).removesuffix("\n")]
    with pytest.raises(emplace.BadInput, match=f"{runtime} has the GPUs of a computer one after the other, and here they are 1 on this computer, "
                       "then 1 on 10.0.0.2, then 1 on this computer; expected"):
        flags(runtime, layout(["gpu:0", "10.0.0.2:50052", "gpu:1"], [0, 1, 2]))


def test_computers_with_unlike_numbers_of_gpus():
    where = layout(["gpu:0", "gpu:1", "10.0.0.2:50052"], [0, 1, 2])
    for runtime in ("vllm", "sglang"):
        with pytest.raises(emplace.BadInput, match=f"{runtime} uses as many GPUs on each computer, and here they are 2 on this computer, "
                           "1 on 10.0.0.2; expected"):
            flags(runtime, where)
    for runtime in ("megatron", "torchtitan"):
        commands = [line for line in flags(runtime, where).splitlines() if not line.startswith("#")]
        assert [re.search(r"--nproc-per-node (\d)", command)[1] for command in commands] == ["2", "1"]


@pytest.mark.parametrize(("runtime", "flag"), [("vllm", "--kv-cache-dtype fp8"), ("sglang", "--kv-cache-dtype fp8_e5m2")])
def test_a_cache_of_8_bits(runtime, flag):
    assert flags(runtime, replace(TWO, served={"kv_type": "Q8_0"})) == flags(runtime, TWO)[:-1] + f" {flag}\n"
    assert flags(runtime, replace(TWO, served={"kv_type": "BF16"})) == flags(runtime, TWO)
    with pytest.raises(emplace.BadInput, match=f"{runtime} has caches of 16 and of 8 bits, and here they are Q4_0; expected"):
        flags(runtime, replace(TWO, served={"kv_type": "Q4_0"}))


@pytest.mark.parametrize("runtime", ["vllm", "sglang"])
@pytest.mark.parametrize("attention", [[0] * 7, [1] * 3 + [0] * 13, [2, 2, 0, 1, 1, 1], list(range(8))])
def test_a_partition_has_a_number_for_each_rank_and_all_layers(runtime, attention):
    words = shlex.split(flags(runtime, layout([f"gpu:{index}" for index in range(8)], attention)))
    settings = dict(word.split("=") for word in words if re.match("[A-Z_]+=", word))
    sizes = [int(size) for size in settings[f"{runtime.upper()}_PP_LAYER_PARTITION"].split(",")]
    assert len(sizes) == int(words[-1]) and sum(sizes) == len(attention)
    # Rank r has the layers that follow those of the ranks before, on the r-th of the GPUs that it sees.
    seen = [int(number) for number in settings.get("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7").split(",")]
    assert [device for device, size in zip(seen, sizes, strict=False) for _ in range(size)] == attention


def megatron_ranks(text):
    """Parts of each rank, as parse_str_to_list of Megatron-LM reads them."""
    unrolled = re.sub(r"(.)\*(\d+)", lambda match: match[1] * int(match[2]), text)
    return unrolled.split("|")


@pytest.mark.parametrize("where", [TWO, SWAPPED, NODES, ENDS_APART, layout(["gpu:0"], [0] * 12),
                                   layout(["gpu:0", "gpu:1"], [1, 1], embedding=0)])
def test_megatron_has_an_embedding_then_all_layers_then_the_loss(where):
    words = shlex.split(flags("megatron", where), comments=True)
    ranks = megatron_ranks(words[words.index("--pipeline-model-parallel-layout") + 1])
    assert len(ranks) == int(words[words.index("--pipeline-model-parallel-size") + 1])
    assert "".join(ranks) == "E" + "t" * int(words[words.index("--num-layers") + 1]) + "L"
    assert [rank.count("t") for rank in ranks if "t" in rank] == [stage.end - stage.begin for stage in where.stages()]


def test_exo():
    assert flags("exo", NODES).splitlines() == [
        "# Ranks of nodes: 0 is studio with layers 0 to 2, 1 is mini with layers 3 to 3. Start the model (last command) where exo's nodes "
        "have these ranks.",
        'curl -s "http://localhost:52415/instance/placement?model_id=MODEL&sharding=Pipeline&instance_meta=MlxRing&min_nodes=2" > '
        "proposed.json",
        "jq '{instance: (.MlxRingInstance.shardAssignments.runnerToShard[].PipelineShardMetadata |= ([[0,3],[3,4]][.deviceRank] as "
        "[$from, $to] | .startLayer = $from | .endLayer = $to))}' proposed.json > instance.json",
        "jq '.instance.MlxRingInstance.shardAssignments | .runnerToShard as $shards | .nodeToRunner | "
        "map_values($shards[.].PipelineShardMetadata.deviceRank)' instance.json",
        'curl -s -X POST http://localhost:52415/instance -H "Content-Type: application/json" -d @instance.json']


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_exo_changes_the_layers_of_what_it_proposes(tmp_path):
    def shard(rank, begin, end):
        return {"PipelineShardMetadata": {"modelCard": {"nLayers": 4}, "deviceRank": rank, "worldSize": 2, "startLayer": begin,
                                          "endLayer": end, "nLayers": 4}}

    def instance(first, second):
        return {"MlxRingInstance": {"instanceId": "i", "shardAssignments": {
            "modelId": "m", "runnerToShard": {"b": second, "a": first}, "nodeToRunner": {"node-a": "a", "node-b": "b"}},
            "hostsByNode": {}, "ephemeralPort": 50000}}

    (tmp_path / "proposed.json").write_text(json.dumps(instance(shard(0, 0, 2), shard(1, 2, 4))))
    change, show = [line for line in flags("exo", NODES).splitlines() if line.startswith("jq")]
    subprocess.run(change, shell=True, check=True, cwd=tmp_path)
    assert json.loads((tmp_path / "instance.json").read_text()) == {"instance": instance(shard(0, 0, 3), shard(1, 3, 4))}
    shown = subprocess.run(show, shell=True, check=True, cwd=tmp_path, capture_output=True).stdout
    assert json.loads(shown) == {"node-a": 0, "node-b": 1}


def test_accelerate():
    # Layers of a device need not follow each other, and the processor and the disk are used, too.
    where = layout(["gpu:0", "cpu:0", "ssd", "gpu:1"], [3, 1, 0, 3, 2], embedding=1, output=0)
    assert flags("accelerate", where) == """{
  "model.embed_tokens": "cpu",
  "model.layers.0": 1,
  "model.layers.1": "cpu",
  "model.layers.2": 0,
  "model.layers.3": 1,
  "model.layers.4": "disk",
  "model.norm": 0,
  "lm_head": 0
}
"""


@pytest.mark.parametrize(("names", "numbers"), [
    (["cuda:2", "cuda:1"], [2, 1]), (["cuda:1", "big"], [0, 1]), (["small", "ram", "big"], [0, "cpu", 1]),
    (["cpu", "ssd"], ["cpu", "disk"]),
])
def test_accelerate_has_numbers_of_names_or_else_by_order(names, numbers):
    device_map = json.loads(flags("accelerate", layout(names, list(range(len(names))))))
    assert [device_map[f"model.layers.{index}"] for index in range(len(names))] == numbers


def test_accelerate_reads_it(tmp_path):
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(vocab_size=17, hidden_size=16, intermediate_size=24, num_hidden_layers=11, num_attention_heads=2)
    whole = transformers.AutoModelForCausalLM.from_config(config).eval()
    whole.save_pretrained(tmp_path / "model")
    device_map = json.loads(flags("accelerate", layout(["cpu", "ssd"], [0, 1] * 5 + [1], output=0)))
    placed = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model", device_map=device_map, offload_folder=tmp_path / "disk")
    assert [layer.mlp.up_proj.weight.device.type for layer in placed.model.layers] == ["cpu", "meta"] * 5 + ["meta"]
    tokens = torch.arange(6)[None]
    assert torch.allclose(placed(tokens).logits, whole(tokens).logits, atol=1e-5)


@pytest.mark.parametrize("runtime", STAGE_RUNTIMES)
def test_layers_are_whole(runtime):
    products = [{"blk.0.ffn_up.weight": 0}, {"blk.1.ffn_up_exps.weight": 0}]
    with pytest.raises(emplace.BadInput, match=rf"{runtime} .*blk\.1\.ffn_up_exps\.weight is not on the device of its layer; expected "):
        flags(runtime, layout(["gpu:0", "gpu:1"], [0, 1], products=products))


@pytest.mark.parametrize("runtime", [name for name in STAGE_RUNTIMES if name != "accelerate"])
def test_layers_of_a_device_follow_each_other(runtime):
    with pytest.raises(emplace.BadInput, match=f"{runtime} gives each device layers that follow each other, and those of gpu:0 do not"):
        flags(runtime, layout(["gpu:0", "gpu:1"], [0, 1, 0]))


@pytest.mark.parametrize(("runtime", "name"), itertools.product(ON_GPUS, ["cpu", "ssd"]))
def test_pipelines_are_on_gpus(runtime, name):
    expected = f"{runtime} divides a model among GPUs, and {name} is a processor or a disk; expected a placement on GPUs"
    for where in (layout(["gpu:0", name], [0, 1]), layout(["gpu:0", name], [0, 0], embedding=1)):
        with pytest.raises(emplace.BadInput, match=expected):
            flags(runtime, where)
    # exo's nodes may be of any kind.
    assert f"0 is {name} with layers 0 to 1," in flags("exo", layout([name, "mini"], [0, 0, 1]))


@pytest.mark.parametrize("ends", [{"embedding": 1}, {"output": 0}, {"embedding": 2, "output": 2}])
@pytest.mark.parametrize("runtime", ON_GPUS)
def test_ends_are_with_the_first_and_the_last_layers(runtime, ends):
    where = layout(["gpu:0", "gpu:1", "gpu:2"], [0, 1], **ends)
    alone = ", or each alone on a device" if runtime in ("megatron", "torchtitan") else ""
    with pytest.raises(emplace.BadInput, match=f"{runtime} has the embedding with the first layers and the output head with the last ones"
                       f"{alone}, and here they are on gpu:{where.embedding} and gpu:{where.output}, and these layers on gpu:0 and gpu:1; "
                       "expected a placement under what it can do"):
        flags(runtime, where)


@pytest.mark.parametrize("runtime", ["vllm", "sglang"])
def test_ends_have_layers_beside_them(runtime):
    with pytest.raises(emplace.BadInput, match="and here they are on gpu:0 and gpu:3, and these layers on gpu:1 and gpu:2; expected"):
        flags(runtime, ENDS_APART)


@pytest.mark.parametrize("runtime", ON_GPUS)
def test_gpus_are_of_one_maker(runtime):
    machine = emplace.Machine([emplace.Device("gpu:0", "rtx3090", 24e9), emplace.Device("gpu:1", "rx6800", 16e9)], bandwidth_bytes_per_us=10_000)
    with pytest.raises(emplace.BadInput, match=f"{runtime} runs on GPUs of one maker, and gpu:0 and gpu:1 are of several; expected"):
        flags(runtime, replace(TWO, machine=machine))


def test_accelerate_needs_names_of_modules():
    with pytest.raises(emplace.BadInput, match="part of another model"):
        flags("accelerate", replace(TWO, served={"nested": True}))


@pytest.mark.parametrize(("embedding", "output", "device"), [(0, 1, "cpu"), (1, 0, "cpu"), (1, 1, "disk"), (0, 0, "cpu")])
def test_accelerate_has_a_tensor_of_two_names_on_one_device_where_one_is_a_disk(embedding, output, device):
    where = replace(layout(["cpu:0", "ssd"], [0, 1], embedding=embedding, output=output), served={"tied": True})
    found = json.loads(flags("accelerate", where))
    assert found["model.embed_tokens"] == found["lm_head"] == device


def test_accelerate_is_on_one_machine():
    with pytest.raises(emplace.BadInput, match="accelerate has all layers on one machine, and model.layers.1 is on 10.0.0.2:50052; "):
        flags("accelerate", layout(["gpu:0", "10.0.0.2:50052"], [0, 1]))


def test_a_runtime_is_known():
    with pytest.raises(emplace.BadInput, match="runtime is 'ollama', expected one of llama.cpp, ktransformers, vllm, sglang, exo, accelerate, megatron, torchtitan"):
        check_runtime("ollama")
