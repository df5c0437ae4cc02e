"""`emplace costs --from`: costs and kinds from times that others measured."""
import json
import sys

import emplace
import numpy as np
import pytest
from command_test import emplace_command
from emplace import _core
from emplace.measured import aiconfigurator, sailor, vidur
from emplace.measured.data_sheets import DATA_SHEETS
from emplace.measured.fitting import fit
from emplace.measured.ops import MeasuredOp, cost_table, product
from emplace.roofline import Roofline

OpClass = _core.OpClass
# Of a gated model with two heads of 4 numbers: milliseconds of each op.
TIMES = {"emb": 0.01, "input_layernorm": 0.02, "attn_pre_proj": 0.03, "attn_rope": 0.04, "attn_post_proj": 0.05,
         "post_attention_layernorm": 0.06, "mlp_up_proj": 0.07, "mlp_act": 0.08, "mlp_down_proj": 0.09, "add": 0.1}


def write_vidur(folder, gpu="a40", rows=((16, 2),), times=TIMES, gated=True):
    """mlp.csv as Vidur's repository has it; rows: (tokens, tensor parallelism)."""
    path = folder / "data/profiling/compute" / gpu / "someone/tiny/mlp.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    sizes = {"n_head": 2, "n_kv_head": 2, "n_embd": 8, "n_expanded_embd": 32, "vocab_size": 100, "use_gated_mlp": gated}
    lines = [",".join([*(f"time_stats.{name}.median" for name in times), *sizes, "num_tokens", "num_tensor_parallel_workers"])]
    lines += [",".join(map(str, [*times.values(), *sizes.values(), *row])) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_sailor(folder, gpus=("GH-96",)):
    """Profiles and sizes as Sailor's repository has them, of a model of three layers with micro-batches of 2 and tensor parallelism 1."""
    planner, layers = folder / "sailor/Planner", 3
    for gpu in gpus:
        path = planner / "sailor_planner/profiles/TINY" / gpu / "profile.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"2": {"1": {str(layer): [0.001 * (layer + 1), 0.002, 0.0005] for layer in range(layers)}}}))
    sizes = {str(layer): {"params_floats": 10, "act_output_floats": 100, "act_mem_floats": 1000} for layer in range(layers)}
    (planner / "llm_info.json").write_text(json.dumps({"TINY": {"1": sizes}}))
    return folder


def write_products(folder, rows, system="a100_sxm"):
    """gemm_perf.parquet as aiconfigurator's repository has it; rows: (gemm_dtype, m, n, k, latency in ms)."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / "systems/data" / system / "gemm/vllm/0.14.0/gemm_perf.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(pyarrow.table(dict(zip(("gemm_dtype", "m", "n", "k", "latency"), map(list, zip(*rows)), strict=True))), path)
    return path


def test_vidurs_ops_have_the_shapes_of_one_worker(tmp_path):
    write_vidur(tmp_path, "a100")
    ops = {op.where.rpartition(" ")[2]: op for op in vidur.read(tmp_path)}
    assert set(ops) == set(TIMES) and {op.kind for op in ops.values()} == {"a100_80gb"}
    # 16 tokens of 8 numbers; two workers, so each has one head of 4 numbers, and half of the 32 numbers.
    products = {"attn_pre_proj": "16x8;12x8", "attn_post_proj": "16x4;8x4", "mlp_up_proj": "16x8;32x8", "mlp_down_proj": "16x16;8x16"}
    for name, shapes in products.items():
        assert ops[name].costs[0] == ("aten.mm", shapes) and ops[name].op_class == OpClass.MATMUL
    assert ops["mlp_down_proj"].flops == 2 * 16 * 16 * 8 and ops["mlp_down_proj"].moved_bytes == 2 * (16 * 16 + 16 * 8 + 16 * 8)
    assert ops["add"].us == 100 and ops["add"].moved_bytes == 2 * 3 * 16 * 8 and ops["add"].costs == (("aten.add", "16x8;16x8"),)
    assert ops["attn_rope"].moved_bytes == 2 * 2 * 16 * (4 + 4) and not ops["attn_rope"].costs
    assert ops["mlp_act"].moved_bytes == 2 * 3 * 16 * 16 and not ops["mlp_act"].costs


def test_a_model_without_the_second_norm_adds_twice(tmp_path):
    write_vidur(tmp_path, times={name: ms for name, ms in TIMES.items() if name != "post_attention_layernorm"}, gated=False)
    ops = {op.where.rpartition(" ")[2]: op for op in vidur.read(tmp_path)}
    assert ops["add"].moved_bytes == 2 * 6 * 16 * 8 and not ops["add"].costs
    assert ops["mlp_act"].costs == (("aten.gelu", "16x16"),)
    assert ops["input_layernorm"].costs == (("aten.native_layer_norm", "16x8;8;8"),)


def test_a_table_of_several_gpus_is_the_same(tmp_path):
    write_vidur(tmp_path)
    table = tmp_path / "table.csv"
    columns = ["gpu", "model", "tensor_parallel", "tokens", "embedding", "expanded", "heads", "kv_heads", "vocabulary", "gated"]
    table.write_text(",".join([*columns, *(f"{name}_ms" for name in TIMES)]) + "\n" +
                     ",".join(map(str, ["a40", "tiny", 2, 16, 8, 32, 2, 2, 100, True, *TIMES.values()])) + "\n")
    assert vidur.read(table) == vidur.read(tmp_path)


def test_measured_costs_come_into_a_graph(tmp_path):
    write_vidur(tmp_path, rows=((16, 2), (16, 2)))
    done = emplace_command("costs", "--from", "vidur", tmp_path, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2 and "expected at least 8 of a class" in done.stderr  # Two rows are one op: too few to fit a kind to.
    (tmp_path / "costs.csv").write_text(cost_table(vidur.read(tmp_path)))
    weight = {"name": "w", "type": "emplace.parameter", "cost_us": 0, "outputs": [{"bytes": 64, "shape": [8, 4]}]}
    read = {"name": "x", "type": "emplace.input", "cost_us": 0, "outputs": [{"bytes": 128, "shape": [16, 4]}]}
    graph = emplace.Graph.from_ops("g", [weight, read, {"name": "mm", "type": "aten.mm", "cost_us": {"a40": 1}, "inputs": ["x:0", "w:0"],
                                                        "outputs": [{"bytes": 256, "shape": [16, 8]}]}])
    graph.save(tmp_path / "g.graph.json")
    done = emplace_command("costs", "--costs", "costs.csv", "--graph", "g.graph.json", "--out", "o.graph.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert emplace.Graph.load(tmp_path / "o.graph.json").ops[2]["cost_us"] == {"a40": 50}


def test_the_median_of_equal_ops_counts():
    ops = [product("a40", 2, 3, 4, us, "here") for us in (5.0, 9.0, 6.0)]
    assert cost_table(ops) == "type,shapes,kind,us\naten.mm,2x3;4x3,a40,6\naten.addmm,4;2x3;4x3,a40,6\n"


def synthetic_ops(name, cost_us, noise, seed):
    """Ops of all sizes that take as long as cost_us(class, FLOPs, bytes) says, times exp(noise)."""
    random, ops = np.random.default_rng(seed), []
    for index in range(600):
        tokens = int(2 ** random.uniform(0, 12))
        made = product(name, tokens, int(2 ** random.uniform(8, 14)), int(2 ** random.uniform(8, 14)), 1.0, f"product {index}")
        moved = int(2 ** random.uniform(8, 30))
        for op in (made, *(MeasuredOp(name, "other", op_class, 0.0, moved, 1.0, tokens, f"other {index}", (("x", "1"),))
                           for op_class in (OpClass.ELEMENTWISE, OpClass.REDUCTION, OpClass.GATHER))):
            us = cost_us(op.op_class, op.flops, op.moved_bytes) * float(np.exp(random.normal(0, noise)))
            ops.append(MeasuredOp(**{**vars(op), "us": us}))
    return ops


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(("launch_us", "matmul", "exposed", "elementwise", "reduction", "gather"), [
    (2.0, (0.85, 0.85), 0.3, 0.88, 0.7, 0.45), (5.0, (0.5, 0.9), 0.0, 0.6, 0.3, 0.15), (1.0, (0.95, 0.4), 0.8, 0.9, 0.9, 0.8)])
def test_a_fit_finds_the_constants_that_made_the_times(tmp_path, noise, launch_us, matmul, exposed, elementwise, reduction, gather):
    sheet = DATA_SHEETS["a100_80gb"]
    shares = {OpClass.MATMUL: matmul, OpClass.ELEMENTWISE: (1.0, elementwise), OpClass.REDUCTION: (1.0, reduction),
              OpClass.GATHER: (1.0, gather)}

    def cost_us(op_class, flops, moved):
        compute, memory = shares[op_class]
        ramped = flops + sheet.half_rate_mflop * 1e6 if flops else 0
        parts = ramped / (sheet.f16_gflops * 1e3 * compute), moved / (sheet.memory_gb_per_s * 1e3 * memory)
        return max(parts) + exposed * min(parts) + launch_us

    kind = fit("a100_80gb", sheet, synthetic_ops("a100_80gb", cost_us, noise, seed=3))
    # The median of some hundred ops is known to a tenth of their noise.
    tolerance = 0.01 + 0.3 * noise
    assert kind.launch_us == pytest.approx(launch_us, rel=tolerance)
    assert kind.shares[OpClass.MATMUL] == pytest.approx(matmul, rel=tolerance)
    assert kind.exposed == pytest.approx(exposed, abs=0.02 + 0.5 * noise)
    for op_class in (OpClass.ELEMENTWISE, OpClass.REDUCTION, OpClass.GATHER):
        assert kind.shares[op_class][1] == pytest.approx(shares[op_class][1], rel=tolerance)
    # Its file says the same to the cost model.
    (tmp_path / "kind.yaml").write_text(kind.text("nobody"))
    us = Roofline(tmp_path / "kind.yaml").cost_us(OpClass.MATMUL, True, 1e12, 10**6)["a100_80gb"]
    compute, memory = kind.shares[OpClass.MATMUL]
    moving_us = 10**6 / (sheet.memory_gb_per_s * 1e3 * memory)
    computing_us = (1e12 + sheet.half_rate_mflop * 1e6) / (sheet.f16_gflops * 1e3 * compute)
    assert us == pytest.approx(computing_us + kind.exposed * moving_us + kind.launch_us, abs=1e-3)


def test_one_wild_time_sways_no_fit():
    def cost_us(op_class, flops, moved):
        return max(flops / 2e8, moved / 1e6) + 2

    ops = synthetic_ops("a40", cost_us, 0.0, seed=1)
    wild = [*ops[:-1], MeasuredOp(**{**vars(ops[-1]), "us": 1e9})]
    shares, swayed = (fit("a40", DATA_SHEETS["a40"], times).shares[OpClass.GATHER] for times in (ops, wild))
    assert swayed == pytest.approx(shares, rel=0.01)


def test_vidurs_times_become_a_table_and_kinds(tmp_path):
    rows = [(tokens, 1) for tokens in range(1, 20)]
    write_vidur(tmp_path / "v", "h100", rows)
    write_vidur(tmp_path / "v", "mystery", rows)
    done = emplace_command("costs", "--from=vidur", tmp_path / "v", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["ops"] == 2 * 19 * len(TIMES) and told["kinds"] == ["h100", "mystery"] and "mystery" in told["notes"][0]
    assert [kind.name for kind in Roofline(tmp_path / "out/kinds").kinds] == ["h100"]
    assert (tmp_path / "out/costs.csv").read_text().startswith("type,shapes,kind,us\n")
    done = emplace_command("costs", "--from", "vidur", tmp_path / "v", "--out", tmp_path / "one", "--kinds", "mystery")
    assert done.returncode == 0 and "note: mystery" in done.stdout and not (tmp_path / "one/kinds").exists()


def test_products_of_aiconfigurator(tmp_path):
    rows = [("bfloat16", m, 64, 32, 0.01 * m) for m in range(1, 10)] + [("fp8", 1, 64, 32, 0.001), ("bfloat16", 0, 64, 32, 0.001)]
    write_products(tmp_path, rows)
    done = emplace_command("costs", "--from", "aiconfigurator", tmp_path, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ops"] == 9
    assert "aten.mm,3x32;64x32,a100_80gb,30\n" in (tmp_path / "out/costs.csv").read_text()
    assert (tmp_path / "out/kinds/a100_80gb.yaml").is_file()


def test_parquet_is_read_only_with_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a30/gemm/vllm/1.0/gemm_perf.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no columns")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(emplace.BadInput, match="expected it installed .`pip install pyarrow`"):
        aiconfigurator.read(tmp_path)
    monkeypatch.setattr(aiconfigurator, "_rows", lambda _: [("float16", 4, 3, 2, 0.5), ("int8_wo", 4, 3, 2, 0.25), ("float16", 0, 3, 2, 0.5)])
    assert aiconfigurator.read(tmp_path) == [product("a30", 4, 2, 3, 500.0, "vllm 1.0, 2 to 3")]
    monkeypatch.setattr(aiconfigurator, "_rows", lambda _: [("float16", 4, 3, 2, None)])
    with pytest.raises(emplace.BadInput, match="row 0 has m 4, n 3, k 2 and latency None"):
        aiconfigurator.read(tmp_path)


def test_what_is_no_parquet_file_is_an_error(tmp_path):
    write_products(tmp_path, [("bfloat16", 1, 2, 3, 0.1)]).write_bytes(b"PAR1 and no more")
    with pytest.raises(emplace.BadInput, match="is no Parquet file"):
        aiconfigurator.read(tmp_path)


def test_sailors_layers_become_a_step(tmp_path):
    write_sailor(tmp_path, ("GH-96", "A100-40"))
    done = emplace_command("costs", "--from", "sailor", tmp_path, "--out", tmp_path / "out", "--microbatch", 2, "--microbatches", 3,
                           "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kinds"] == ["a100", "gh200"]
    graph = emplace.Graph.load(told["files"][0])
    ops = {op["name"]: op for op in graph.ops}
    assert len(ops) == 3 * (3 + 3) + 3
    assert ops["1/forward.2"]["cost_us"] == {"a100": 3000, "gh200": 3000} and ops["1/forward.2"]["copy_of"] == "0/forward.2"
    assert [output["bytes"] for output in ops["0/forward.0"]["outputs"]] == [2 * 4 * 100, 2 * 4 * 1000]
    assert ops["0/backward.1"]["inputs"] == ["0/forward.1:1", "0/backward.2:0"] and ops["0/backward.1"]["outputs"][0]["bytes"] == 800
    assert graph.parameter_bytes == 3 * 10 * 24
    machine = emplace.Machine([emplace.Device(f"gpu:{i}", "gh200", 1e9) for i in range(2)], bandwidth_bytes_per_us=1e4)
    alone = emplace.Plan.of(graph, machine, np.zeros(len(graph), dtype=np.int32))
    assert alone.makespan_us == 3 * (1000 + 2000 + 3000 + 3 * 2000) + 3 * 500
    # 1,500 of 10,500 us are updates. Two stages overlap.
    assert emplace.place(graph, machine, budget=500).makespan_us < 0.85 * alone.makespan_us


@pytest.mark.parametrize(("arguments", "error"), [
    (["vidur", "none"], "none: there is no such file or folder, expected a checkout of github.com/microsoft/vidur"),
    (["vidur", "empty"], "empty: holds no file mlp.csv"),
    (["vidur", "pointer.csv"], "pointer.csv: is a pointer of Git LFS"),
    (["vidur", "nothing.csv"], "nothing.csv: is empty"),
    (["vidur", "other.csv"], "other.csv: has no column 'embedding'"),
    (["vidur", "head.csv"], "head.csv: has no rows"),
    (["vidur", "long.csv"], "long.csv:2: is no CSV file: field larger than field limit (131072)"),
    (["vidur", "late/mlp.csv"], "is 'soon', expected a number of milliseconds above 0"),
    (["vidur", "v", "--kinds", "h100"], "v: has no ops with 16-bit numbers on h100"),
    (["vidur", "v", "--kinds", ""], "--kinds is ''"),
    (["vidur", "v", "--model", "x"], "--model belongs to --from sailor"),
    (["vidur"], "PATH"),
    (["tvm", "v"], "invalid choice: 'tvm'"),
    (["aiconfigurator", "empty"], "empty: holds no file gemm_perf.parquet"),
    (["aiconfigurator", "pointer.csv"], "is in no folder SYSTEM/gemm/FRAMEWORK/VERSION"),
    (["sailor", "empty"], "empty: holds no file profile.json"),
    (["sailor", "s", "--microbatch", "64"], "no GPU has times of TINY with a micro-batch of 64 and tensor parallelism 1"),
    (["sailor", "s", "--microbatch", "0"], "--microbatch is 0"),
    (["sailor", "s", "--model", "HUGE"], "--model is 'HUGE', expected one of TINY"),
    (["sailor", "s", "--microbatch", "2", "--kinds", "v100"], "a micro-batch of 2 and tensor parallelism 1 among v100"),
])
def test_an_error_is_one_line(tmp_path, arguments, error):
    (tmp_path / "empty").mkdir()
    (tmp_path / "pointer.csv").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "other.csv").write_text("gpu,tokens\na40,3\n")
    (tmp_path / "head.csv").write_text("gpu,tokens\n")
    (tmp_path / "long.csv").write_text(f"gpu,tokens\na40,{'3' * 200_000}\n")
    write_vidur(tmp_path / "v")
    (tmp_path / "late").mkdir()
    late = write_vidur(tmp_path, times={**TIMES, "add": "soon"}).rename(tmp_path / "late/mlp.csv")
    assert late.is_file()
    write_sailor(tmp_path / "s")
    done = emplace_command("costs", "--from", *arguments, "--out", "out", folder=tmp_path)
    assert done.returncode == 2 and error in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "out").exists()


def test_profiles_without_sizes_and_wrong_ones_are_errors(tmp_path):
    write_sailor(tmp_path)
    step = sailor.Step(microbatch=2)
    info = tmp_path / "sailor/Planner/llm_info.json"
    text = info.read_text()
    info.write_text(text.replace("act_mem_floats", "act_mem"))
    with pytest.raises(emplace.BadInput, match="layer 0 has no params_floats, act_output_floats, act_mem_floats"):
        sailor.load(tmp_path, step)
    info.unlink()
    with pytest.raises(emplace.BadInput, match="no folder above it has llm_info.json"):
        sailor.load(tmp_path, step)
    info.write_text(text)
    profile = next(tmp_path.rglob("profile.json"))
    for times, error in (("[0.1, 0]", r"layer 0 is \[0.1, 0\], expected the seconds"), ("[0.1, -1, 0]", "layer 0: a time in seconds is -1"),
                         (f"[0, 0, 1{'0' * 400}]", "layer 0: a time in seconds is 1000")):
        profile.write_text('{"2": {"1": {"0": ' + times + "}}}")
        with pytest.raises(emplace.BadInput, match=error):
            sailor.load(tmp_path, step)
    with pytest.raises(emplace.BadInput, match="no sizes of TINY with tensor parallelism 2"):
        sailor.load(tmp_path, sailor.Step(microbatch=2, tensor_parallel=2))


def test_of_a_checkout_the_times_count_by_which_sailor_validates(tmp_path):
    write_sailor(tmp_path)
    validated = tmp_path / "sailor/Planner/simulations/profiles_tmp.json"
    validated.parent.mkdir()
    layers = {str(layer): [0.1, 0.2, 0.3] for layer in range(3)}
    validated.write_text(json.dumps({"TINY": {"V100-16": {"2": {"1": layers}}}, "OTHER": {"V100-16": {"2": {"1": layers}}}}))
    graph = sailor.load(tmp_path, sailor.Step(microbatch=2), model="TINY")
    assert graph.ops[0]["cost_us"] == {"v100": 1e5}
    with pytest.raises(emplace.BadInput, match="expected one of OTHER, TINY"):
        sailor.load(tmp_path, sailor.Step(microbatch=2))


def test_a_profile_with_other_layers_is_left_out(tmp_path):
    write_sailor(tmp_path, ("GH-96", "V100-16"))
    next(tmp_path.rglob("V100-16/profile.json")).write_text('{"2": {"1": {"0": [0.1, 0.1, 0]}}}')
    with pytest.warns(UserWarning, match="v100 is left out: its profile has 1 layers, and TINY has 3"):
        graph = sailor.load(tmp_path, sailor.Step(microbatch=2))
    assert set(graph.ops[0]["cost_us"]) == {"gh200"}
    done = emplace_command("costs", "--from", "sailor", tmp_path, "--out", tmp_path / "out", "--microbatch", 2)
    assert done.returncode == 0 and "note: v100 is left out" in done.stdout
    done = emplace_command("costs", "--from", "sailor", tmp_path, "--out", tmp_path / "out", "--microbatch", 2, "--kinds", "v100")
    assert done.returncode == 2 and "no GPU has times of TINY" in done.stderr


def test_help_says_both_ways():
    told = emplace_command("costs", "--help")
    assert told.returncode == 0 and "--costs" in told.stdout and "--from" in told.stdout
    assert emplace_command("costs", "--graph", "none.graph.json").stderr.count("--costs") == 1  # Without --from it is the C++ program.
