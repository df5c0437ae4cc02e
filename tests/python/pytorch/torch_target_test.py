"""emplace.torch.capture(target=): graphs that call the kernels of the devices on which they will run."""
import copy

import emplace
import gpu_kernels
import pytest
import torch
import torch_models as models
from emplace.torch.calls import op_named
from emplace.torch.kernels import temporary_bytes
from emplace.torch.targets import check_runs_on, runs_on
from emplace.torch.tracing import loss_of
from torch import nn
from torch.nn import functional

aten = torch.ops.aten


class Attention(nn.Module):
    """One layer of attention; returns its loss. groups: heads of keys and values."""

    def __init__(self, width=32, heads=4, groups=4, mask=None, causal=False, dropout=0.0, dtype=torch.float32):
        super().__init__()
        self.heads, self.groups, self.causal, self.dropout = heads, groups, causal, dropout
        self.query, self.key, self.value = (nn.Linear(width, width // heads * count, dtype=dtype) for count in (heads, groups, groups))
        self.register_buffer("mask", mask)

    def forward(self, x):
        query, key, value = (layer(x).unflatten(-1, (count, -1)).transpose(1, 2) for layer, count in (
            (self.query, self.heads), (self.key, self.groups), (self.value, self.groups)))
        out = functional.scaled_dot_product_attention(query, key, value, attn_mask=self.mask, is_causal=self.causal,
                                                      dropout_p=self.dropout, enable_gqa=self.groups != self.heads)
        return out.float().square().mean()


def gpus():
    """Two devices that a graph for GPUs can be placed on and that are threads of the CPU."""
    return emplace.Machine([emplace.Device(f"cpu:{i}", "a100", 1e10) for i in range(2)], bandwidth_bytes_per_us=10_000)


def in_turn(graph, machine):
    """Ops of no group on one device and the other in turn, groups on the first."""
    return emplace.Plan.of(graph, machine, [0 if op.get("group") else index % 2 for index, op in enumerate(graph.ops)])


def count(graph, word):
    """Ops whose type has this word: (all, those of the backward pass)."""
    found = [op for op in graph.ops if word in op["type"]]
    return len(found), sum(op["attrs"]["pass"] == "backward" for op in found)


def assert_equals_plain(model, args, graph, rtol=1e-5, atol=1e-7):
    """Loss and gradients of the graph, its kernels by their definitions, are those of the plain model on the CPU."""
    plain = copy.deepcopy(model)
    expected = loss_of(plain(*args))
    expected.backward()
    with gpu_kernels.on_the_cpu(), emplace.torch.apply(model, args, in_turn(graph, gpus())) as step:
        torch.testing.assert_close(step(*args), expected.detach(), rtol=rtol, atol=atol)
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=rtol, atol=atol, msg=lambda text, name=name: f"{name}: {text}")


LOWER = torch.ones(6, 6, dtype=torch.bool).tril()
EFFICIENT = {
    "plain": {}, "causal": {"causal": True}, "groups of heads": {"groups": 2}, "one group": {"groups": 1, "causal": True},
    "heads of 6 numbers": {"width": 24}, "mask of truth values": {"mask": LOWER}, "mask of numbers": {"mask": torch.randn(3, 1, 6, 6)},
    "mask for each head": {"mask": torch.randn(1, 4, 6, 6), "groups": 2},
}


@pytest.mark.parametrize("about", EFFICIENT.values(), ids=EFFICIENT.keys())
def test_attention_in_f32_is_the_efficient_kernel(about):
    torch.manual_seed(1)
    model, args = Attention(**about), (torch.randn(3, 6, about.get("width", 32)),)
    graph = emplace.torch.capture(model, args, train=True, target="cuda")
    assert count(graph, "attention") == count(graph, "_scaled_dot_product_efficient_attention") == (2, 1)
    assert count(graph, "softmax") == count(graph, "bmm") == (0, 0)
    assert_equals_plain(model, args, graph)


FLASH = {"plain": {}, "causal": {"causal": True}, "groups of heads": {"groups": 2, "causal": True}, "heads of 6 numbers": {"width": 24}}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("about", FLASH.values(), ids=FLASH.keys())
def test_attention_in_half_precision_is_the_flash_kernel(about, dtype):
    torch.manual_seed(1)
    model, args = Attention(dtype=dtype, **about), (torch.randn(3, 6, about.get("width", 32), dtype=dtype),)
    graph = emplace.torch.capture(model, args, train=True, target="cuda")
    assert count(graph, "attention") == count(graph, "_scaled_dot_product_flash_attention") == (2, 1)
    # Half precision rounds between ops: to 11 bits, or 8.
    assert_equals_plain(model, args, graph, rtol=0.05, atol=2e-3)


def test_a_kernel_of_gpus_has_no_time_on_any_processor():
    model, args = Attention(dtype=torch.float16), (torch.randn(3, 6, 32, dtype=torch.float16),)
    ops = emplace.torch.capture(model, args, target="cuda").ops
    flash, product = (next(op["cost_us"] for op in ops if name in op["type"]) for name in ("flash_attention", "mm"))
    assert {"a100", "rtx4090", "rx7900xtx"} <= set(flash)
    assert set(product) - set(flash) >= {"cpu", "ddr5_2ch", "epyc_ddr4_8ch", "nvme4"} and set(flash) < set(product)


def test_half_precision_with_a_mask_is_the_efficient_kernel():
    model, args = Attention(mask=LOWER, dtype=torch.bfloat16), (torch.randn(3, 6, 32, dtype=torch.bfloat16),)
    assert count(emplace.torch.capture(model, args, train=True, target="cuda"), "efficient_attention") == (2, 1)


@pytest.mark.parametrize("train", [True, False])
def test_what_no_fused_kernel_takes_is_products(train):
    model, args = Attention(dtype=torch.float64), (torch.randn(3, 6, 32, dtype=torch.float64),)
    graph = emplace.torch.capture(model, args, train=train, target="cuda")
    assert count(graph, "attention") == (0, 0) and count(graph, "bmm") == ((6, 4) if train else (2, 0))


def test_kernels_that_the_user_has_turned_off_are_not_called():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    model, args = Attention(dtype=torch.float16), (torch.randn(3, 6, 32, dtype=torch.float16),)
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]):
        assert count(emplace.torch.capture(model, args, train=True, target="cuda"), "efficient_attention") == (2, 1)
    with sdpa_kernel([SDPBackend.MATH]):
        assert count(emplace.torch.capture(model, args, train=True, target="cuda"), "attention") == (0, 0)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_transformer_has_one_call_for_each_layer_and_pass(parts):
    torch.manual_seed(1)
    model, args = models.transformer(3)
    graph = emplace.torch.capture(model, args, train=True, microbatches=parts, target="cuda")
    assert count(graph, "attention") == (6 * parts, 3 * parts)
    assert_equals_plain(model, args, graph)
    model.eval()
    assert count(emplace.torch.capture(model, args[:1], target="cuda"), "attention") == (3, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_passes_its_random_state_from_forward_to_backward(dtype):
    model, args = Attention(dropout=0.25, dtype=dtype), (torch.randn(3, 6, 32, dtype=dtype),)
    graph = emplace.torch.capture(model, args, train=True, target="cuda")
    forward, backward = (op for op in graph.ops if "attention" in op["type"])
    states = {f"{forward['name']}:{index}" for index, output in enumerate(forward["outputs"]) if output.get("shape") in ([], [2])}
    assert len(states) == 2 and states <= set(backward["inputs"])
    assert forward["group"] == backward["group"] == f"random state of {forward['name']}"
    with gpu_kernels.on_the_cpu(), emplace.torch.apply(model, args, in_turn(graph, gpus())) as step:
        assert len({step(*args).item() for _ in range(8)}) > 1
    if dtype == torch.float32:
        assert_gradient_is_the_slope(model, args, graph)


def assert_gradient_is_the_slope(model, args, graph):
    """Along a random direction, with the same random numbers."""
    direction = {name: torch.randn_like(parameter) for name, parameter in model.named_parameters()}

    def loss(step, by):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter += by * direction[name]
        torch.manual_seed(5)
        model.zero_grad()
        return step(*args).item()

    with gpu_kernels.on_the_cpu(), emplace.torch.apply(model, args, emplace.Plan.of(graph, gpus(), [0] * len(graph))) as step:
        left, right = loss(step, -0.001), loss(step, 0.002)
        loss(step, -0.001)
    slope = sum((parameter.grad * direction[name]).sum().item() for name, parameter in model.named_parameters())
    assert slope == pytest.approx((right - left) / 0.002, rel=0.01, abs=1e-4)


def test_costs_are_those_of_the_kernel():
    # 2 examples, 3 heads, 64 queries and keys of 8 numbers. A product with Q K' and one with P V: 64 x 64 x 8 multiply-adds each.
    model, args = Attention(width=24, heads=3, groups=3), (torch.randn(2, 64, 24),)
    forward, backward = (op for op in emplace.torch.capture(model, args, train=True, target="cuda").ops if "attention" in op["type"])
    product = 2 * 2 * 3 * 64 * 64 * 8
    assert forward["flops"] == 2 * product and backward["flops"] == 5 * product  # Backward, Q K' again and four gradients.
    # The result and the sums of its rows; never the 2 x 3 x 64 x 64 scores.
    assert [output["bytes"] for output in forward["outputs"]] == [2 * 3 * 64 * 8 * 4, 2 * 3 * 64 * 4, 8, 8]
    assert [output["bytes"] for output in backward["outputs"]] == [2 * 3 * 64 * 8 * 4] * 3 + [0]
    # Backward, the product of the result and its gradient, and two tensors of one number a row.
    assert "temp_bytes" not in forward and backward["temp_bytes"] == 2 * 3 * 64 * (8 + 2) * 4
    assert "a100" in forward["cost_us"] and "cpu" not in forward["cost_us"]


def test_a_causal_mask_halves_the_work():
    flops = []
    for causal in (False, True):
        graph = emplace.torch.capture(Attention(causal=causal), (torch.randn(1, 64, 32),), target="cuda")
        flops.append(next(op["flops"] for op in graph.ops if "attention" in op["type"]))
    assert flops == [2 * 2 * 64 * 64 * 32, 2 * 2 * (64 * 65 // 2) * 32]


def test_flash_attention_accumulates_gradients_in_f32():
    model, args = Attention(dtype=torch.bfloat16, groups=2), (torch.randn(2, 100, 32, dtype=torch.bfloat16),)
    graph = emplace.torch.capture(model, args, train=True, target="cuda")
    # 2 examples, 4 heads, 100 queries rounded up to 128 with 8 numbers rounded up to 32, and a sum for each; gradients of the
    # 100 keys and values of each of the 4 heads in bf16.
    temporary = next(op["temp_bytes"] for op in graph.ops if op["type"] == "aten._scaled_dot_product_flash_attention_backward")
    assert temporary == 2 * 4 * 128 * (32 + 1) * 4 + 2 * (2 * 4 * 100 * 8) * 2


@pytest.mark.parametrize("length, causal", [(20, False), (100, True), (300, False), (1000, True)])
def test_costs_of_attention_on_the_cpu(length, causal):
    model, args = Attention(causal=causal), (torch.randn(2, length, 32),)
    graph = emplace.torch.capture(model, args, train=True)
    forward, backward = (op for op in graph.ops if "attention" in op["type"])
    assert forward["type"] == "aten._scaled_dot_product_flash_attention_for_cpu"
    pairs = length * (length + 1) // 2 if causal else length * length
    assert forward["flops"] == 2 * 2 * 4 * pairs * (8 + 8) and backward["flops"] == 2 * 2 * 4 * pairs * 5 * 8
    query, key, value = (torch.randn(2, length, 4, 8).transpose(1, 2) for _ in range(3))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        results, allocated = largest_allocation(lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, causal))
        assert forward["temp_bytes"] == allocated - sum(tensor.nbytes for tensor in results)
        grad_out = torch.randn(2, 4, length, 8)  # Laid out as in the graph: not as the kernel wants it.
        gradients, allocated = largest_allocation(lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad_out, query, key, value, *results, 0.0, causal))
        assert backward["temp_bytes"] == allocated - sum(tensor.nbytes for tensor in gradients)
    finally:
        torch.set_num_threads(threads)


def check_temporary_bytes(op, *args, within=0.0):
    """That a call takes as many bytes beside its results as is said, or that it is apart by a share of all that it holds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        results, allocated = largest_allocation(lambda: op(*args))
    finally:
        torch.set_num_threads(threads)
    outputs = sum(tensor.nbytes for tensor in (results if isinstance(results, tuple) else (results,)) if tensor is not None)
    assert outputs + temporary_bytes(op, args, {}, results) == pytest.approx(allocated, rel=within, abs=0)


def a_transpose(*shape):
    return torch.randn(*shape).mT


@pytest.mark.parametrize("make, shape, copies", [
    (torch.randn, (32, 48), 0), (a_transpose, (48, 32), 0), (lambda *shape: torch.randn(()).expand(shape), (32, 48), 1),
    (lambda *shape: torch.randn(48).expand(shape), (32, 48), 1), (lambda *shape: torch.randn(32, 96)[:, ::2], (32, 48), 1),
    (lambda *shape: torch.randn(32, 96)[:, :48], (32, 48), 0)])
def test_products_copy_matrices_that_lie_neither_by_rows_nor_by_columns(make, shape, copies):
    one, other = make(*shape), torch.randn(48, 40)
    size = 32 * 48 * 4
    assert temporary_bytes(aten.mm.default, (one, other), {}, None) == copies * size
    check_temporary_bytes(aten.mm.default, one, other)
    check_temporary_bytes(aten.mm.default, other.t(), one.t())
    check_temporary_bytes(aten.addmm.default, torch.randn(40), one, other)
    check_temporary_bytes(aten.mv.default, one, torch.randn(48))
    # ATen multiplies matrix by matrix where it cannot multiply a batch.
    check_temporary_bytes(aten.bmm.default, one.expand(3, 32, 48), other.expand(3, 48, 40))


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="oneDNN lays tensors out by the processor")
@pytest.mark.parametrize("batch, channels, size, kernel, options", [
    (8, (8, 16), (32, 32), 3, {}), (8, (3, 16), (64, 64), 3, {}), (8, (16, 32), (16, 16), 3, {"padding": 1}),
    (8, (16, 32), (32, 32), 1, {}), (16, (16, 32), (8, 8), 1, {}), (4, (4, 8), (48, 48), 3, {}), (8, (10, 20), (16, 16), 3, {}),
    (8, (16, 32), (256,), 5, {}), (2, (2, 8), (16, 16, 16), 3, {}), (8, (32, 64), (16, 16), 3, {"stride": 2}),
    (8, (16, 16), (32, 32), 3, {"groups": 16}), (8, (32, 32), (16, 16), 3, {"groups": 2}),
    (8, (8, 4), (32, 32), 2, {"stride": 2, "transposed": True}), (8, (16, 16), (32, 32), 3, {"transposed": True}),
    (1, (8, 8), (16, 16), 3, {})])
def test_convolutions_copy_what_they_read_and_what_they_make(batch, channels, size, kernel, options):
    options = {"stride": 1, "padding": 0, "transposed": False, "groups": 1} | options
    dims = len(size)
    inner, outer = channels
    widths = (inner, outer // options["groups"]) if options["transposed"] else (outer, inner // options["groups"])
    image, weight = torch.randn(batch, inner, *size), torch.randn(*widths, *[kernel] * dims)
    rest = ([options["stride"]] * dims, [options["padding"]] * dims, [1] * dims, options["transposed"], [0] * dims, options["groups"])
    result = aten.convolution(image, weight, None, *rest)
    check_temporary_bytes(aten.convolution.default, image, weight, torch.randn(outer), *rest, within=0.03)
    check_temporary_bytes(aten.convolution.default, torch.randn(batch, inner, *size[::-1]).transpose(2, -1), weight, None, *rest,
                          within=0.03)
    gradients = (torch.randn_like(result), torch.randn(()).expand_as(result))
    if dims == 2:  # Of a layout by channels.
        gradients += (torch.randn_like(result).contiguous(memory_format=torch.channels_last),)
    for gradient in gradients:
        for of_image in (True, False):
            check_temporary_bytes(aten.convolution_backward.default, gradient, image, weight, [outer], *rest, [of_image, True, True],
                                  within=0.03)


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="oneDNN lays tensors out by the processor")
@pytest.mark.parametrize("channels, size, kernel, stride, groups", [
    ((3, 64), (64, 64), (16, 16), 16, 1), ((8, 16), (48, 48), (16, 16), 8, 2), ((8, 32), (500,), (20,), 5, 1),
    ((4, 16), (64, 64), (2, 15), 3, 1), ((4, 8), (20, 40, 40), (4, 16, 16), 4, 1)])
def test_gradients_of_wide_kernels_are_products_of_patches(channels, size, kernel, stride, groups):
    (inner, outer), dims = channels, len(size)
    image, weight = torch.randn(2, inner, *size), torch.randn(outer, inner // groups, *kernel)
    rest = ([stride] * dims, [0] * dims, [1] * dims, False, [0] * dims, groups)
    gradient = torch.randn_like(aten.convolution(image, weight, None, *rest))
    check_temporary_bytes(aten.convolution_backward.default, gradient, image, weight, [outer], *rest, [False, True, True], within=0.01)


def largest_allocation(call):
    """What a call returns, and the most bytes that it held at a time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profile:
        results = call()
    events = sorted((event.start_ns(), event.nbytes()) for event in profile.profiler.kineto_results.events() if event.name() == "[memory]")
    held, most = 0, 0
    for _, size in events:
        held += size
        most = max(most, held)
    return results, most


def test_ops_that_cpus_do_not_have_are_placed_on_gpus():
    graph = emplace.torch.capture(*models.transformer(1), train=True, target="cuda")
    machine = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e10), emplace.Device("cuda:0", "a100", 1e10)], bandwidth_bytes_per_us=1)
    plan = emplace.place(graph, machine, budget=50)
    assert all(plan.placement[index] == 1 for index, op in enumerate(graph.ops) if "attention" in op["type"])
    only_cpu = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e10)], bandwidth_bytes_per_us=1)
    with pytest.raises(emplace.BadInput, match="_scaled_dot_product_efficient_attention") as raised:
        emplace.place(graph, only_cpu, budget=2)
    assert "\n" not in str(raised.value)


def test_a_call_that_a_device_does_not_have_is_refused():
    model, args = models.transformer(1)
    graph = emplace.torch.capture(model, args, train=True, target="cuda")
    with pytest.raises(emplace.BadInput, match=r"op '_scaled_dot_product_efficient_attention': .* cannot be run on cpu; .* target='cpu'"):
        emplace.torch.apply(model, args, in_turn(graph, gpus()))
    for_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    with pytest.raises(emplace.BadInput, match=r"op 'x': .*for_cpu.* cannot be run on cuda:1; .* target='cuda'"):
        check_runs_on(for_cpu, torch.device("cuda:1"), "op 'x'")
    check_runs_on(for_cpu, torch.device("cpu"), "op 'x'")


def test_the_target_is_where_the_model_is():
    model, args = models.transformer(1)
    assert emplace.torch.capture(model, args, train=True) == emplace.torch.capture(model, args, train=True, target="cpu")
    with torch.device("meta"):
        empty, shapes = models.transformer(1)
    assert emplace.torch.capture(empty, shapes, train=True, target="cuda") == emplace.torch.capture(model, args, train=True, target="cuda")
    with torch._subclasses.FakeTensorMode():
        assert emplace.torch.targets.target_of([torch.empty(1, device="cuda")], None) == "cuda"
    with pytest.raises(emplace.BadInput, match="target is 'tpu', expected one of cpu, cuda"):
        emplace.torch.capture(model, args, target="tpu")


def test_pytorch_is_left_as_it_was():
    op = torch.ops.aten.scaled_dot_product_attention.default
    before = dict(op.py_kernels)
    emplace.torch.capture(*models.transformer(1), train=True, target="cuda")
    with pytest.raises(emplace.BadInput):
        emplace.torch.capture(nn.Linear(2, 2), (torch.randn(3, 3),), target="cuda")
    assert dict(op.py_kernels) == before
    assert count(emplace.torch.capture(*models.transformer(1), train=True), "for_cpu") == (2, 1)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("mode, dims", [("nearest", 2), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3), ("linear", 1)])
def test_interpolation_stays_one_op(mode, dims, target):
    model = nn.Sequential(nn.Upsample(scale_factor=2, mode=mode), nn.Flatten(0), nn.Linear(2 * 8**dims, 1), nn.Flatten(0))
    args = (torch.randn(2, *[4] * dims).unsqueeze(1),)
    assert count(emplace.torch.capture(model, args, train=True, target=target), "upsample")[0] == 1


class Recurrent(nn.Module):
    """A recurrent layer of this class; returns its loss."""

    def __init__(self, layer, **about):
        super().__init__()
        self.layer = layer(4, 8, **about)

    def forward(self, x):
        return self.layer(x)[0].square().mean()


MODELS = {
    "mlp": models.mlp, "cnn": models.cnn, "transformer": models.transformer,
    "lstm": lambda: (Recurrent(nn.LSTM, num_layers=2, bidirectional=True, batch_first=True), (torch.randn(3, 5, 4),)),
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(5, 3, 4),)),
    "lstm cell": lambda: (Recurrent(nn.LSTMCell), (torch.randn(3, 4),)),
}


@pytest.mark.skipif(not torch.backends.cuda.is_built(), reason="this torch knows no kernels of GPUs")
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_all_calls_are_those_that_gpus_have(name, train):
    torch.manual_seed(1)
    model, args = MODELS[name]()
    graph = emplace.torch.capture(model, args, train=train, target="cuda")
    calls = {op["call"]["op"] for op in graph.ops if "call" in op}
    assert calls and all(runs_on(op_named(call, "here"), "cuda") for call in calls)
    if train:
        assert_equals_plain(model, args, graph)
