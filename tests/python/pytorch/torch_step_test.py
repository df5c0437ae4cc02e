"""emplace.torch.apply: steps equal those of the plain model."""
import contextlib
import copy
import gc
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import emplace
import pytest
import torch
import torch_models as models
from emplace.torch.device_code import DeviceCode
from emplace.torch.program import compile_plan
from torch import nn
from torch.nn import functional
from torch_models import Plain
from torch_steps import accumulate, placed, random_plan

MAKERS = [models.mlp, models.cnn, models.transformer]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("parts, replicas", [(1, False), (2, False), (4, False), (2, True), (4, True)])
@pytest.mark.parametrize("make", MAKERS)
def test_loss_gradients_and_buffers_are_those_of_the_plain_model(make, parts, replicas, seed, cpus):
    torch.manual_seed(seed)
    model, args = make()
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, args, train=True, microbatches=parts, replicas=replicas,
                                  optimizer="sgd" if seed == 1 else None)
    with emplace.torch.apply(model, args, random_plan(graph, cpus, seed)) as step:
        for _ in range(2):  # Gradients add up, and buffers go on.
            loss, expected = step(*args), accumulate(plain, args, parts)
            assert not loss.requires_grad
            torch.testing.assert_close(loss, expected, rtol=0 if parts == 1 else 1e-5, atol=0 if parts == 1 else 1e-7)
            for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
                if parts == 1:
                    assert torch.equal(mine.grad, theirs.grad), name
                else:
                    torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-5, atol=1e-7, msg=name)
                assert mine.grad.stride() == theirs.grad.stride()
            for (name, mine), (_, theirs) in zip(model.named_buffers(), plain.named_buffers(), strict=True):
                assert torch.equal(mine, theirs), name


@pytest.mark.parametrize("function", [functional.elu, functional.selu, functional.softplus, functional.hardtanh, functional.hardswish])
def test_kernels_may_lay_results_out_otherwise_than_shape_rules_say(function, cpus):
    layer = nn.Linear(4, 8)
    model, x = Plain(lambda x: function(layer(x)).transpose(1, 2).contiguous().pow(2).sum(), layer), torch.randn(2, 5, 4)
    plain = copy.deepcopy(layer)
    function(plain(x)).transpose(1, 2).contiguous().pow(2).sum().backward()
    with placed(model, (x,), cpus, train=True) as step:
        step(x)
    assert torch.equal(layer.weight.grad, plain.weight.grad) and torch.equal(layer.bias.grad, plain.bias.grad)


class Shared(nn.Module):
    """Layers of one weight, used in this order; one of them is a module under two names."""

    def __init__(self, names, uses):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(names)])
        for layer in self.layers[1:]:
            layer.weight = self.layers[0].weight
        self.last = self.layers[-1]
        self.uses = uses

    def forward(self, x):
        for index in self.uses:
            x = torch.tanh(self.layers[index](x))
        return (self.last(x) @ self.layers[0].weight).square().mean()


@pytest.mark.parametrize("names, uses", [(2, [0, 1]), (3, [0, 1, 2]), (3, [2, 0, 1, 0]), (4, [3, 1, 2, 0]), (5, [4, 0, 1, 0, 2, 3, 4])])
def test_gradients_of_a_weight_with_several_names_add_up_in_autograds_order(names, uses, cpus):
    torch.manual_seed(names)
    model, x = Shared(names, uses), torch.randn(6, 24)
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, (x,), train=True)
    with emplace.torch.apply(model, (x,), random_plan(graph, cpus, names)) as step:
        for _ in range(2):
            assert torch.equal(step(x), accumulate(plain, (x,), 1))
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad), name
    assert model.layers[-1] is model.last and model.layers[1].weight is model.layers[0].weight


@pytest.mark.parametrize("devices", [1, 3, 5])
@pytest.mark.parametrize("make", MAKERS)
def test_devices_wait_for_each_other(make, devices):
    torch.manual_seed(devices)
    machine = emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 1e10) for i in range(devices)], bandwidth_bytes_per_us=10_000)
    model, args = make()
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, args, train=True)
    for seed in range(3):
        with emplace.torch.apply(model, args, random_plan(graph, machine, seed)) as step:
            assert torch.equal(step(*args), accumulate(plain, args, 1))
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad), name


def test_a_device_may_have_nothing_to_do(cpus):
    model, args = models.mlp()
    plan = emplace.place(emplace.torch.capture(model, args, train=True), cpus, method="single")
    with emplace.torch.apply(model, args, plan) as step:
        assert torch.equal(step(*args), model(*args)[0].detach())


def test_tensors_go_after_their_last_reader(cpus):
    model, x = nn.Sequential(*[nn.Tanh() for _ in range(20)]), torch.randn(3)
    program = compile_plan(emplace.place(emplace.torch.capture(model, (x,)), cpus, method="single"), None)
    living = []

    @contextlib.contextmanager
    def count(_):
        yield
        living.append(sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects()))

    busy = max(range(2), key=lambda device: len(program.instructions[device]))
    slots = [None] * len(program.slots)
    DeviceCode(program, busy, count).run({op: x for op in program.given}, slots, [], [])
    assert torch.equal(slots[program.results["emplace.output"][0]], model(x))
    assert len(living) == 21 and max(living[1:]) == living[1]  # Always an input and an output.


def test_a_training_loop_changes_by_two_lines(cpus):
    torch.manual_seed(3)
    model, args = models.transformer()
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, args, train=True)
    step = emplace.torch.apply(model, args, emplace.place(graph, cpus, budget=50))
    for network, run in ((model, step), (plain, lambda *batch: accumulate(plain, batch, 1))):
        optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            losses.append(run(*args).item())
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()
        assert losses[-1] < losses[0]
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(mine, theirs), name
    step.close()


@pytest.mark.parametrize("make", MAKERS)
def test_inference(make, cpus):
    model, args = make()
    model.eval()
    torch.backends.mha.set_fastpath_enabled(False)  # A fused layer, which training does not have either.
    try:
        graph = emplace.torch.capture(model, args)
        with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step, torch.no_grad():
            mine, theirs = step(*args), model(*args)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    assert type(mine) is type(theirs)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("model, shapes", [
    (nn.Conv2d(3, 8, 3, padding=1, padding_mode="circular"), [(1, 3, 8, 8)]),
    (nn.Conv1d(3, 8, 3, padding=1, padding_mode="circular"), [(2, 3, 8)]),
    (Plain(lambda a, b: nn.utils.rnn.pad_sequence([a, b * 2], batch_first=True)), [(2, 8), (3, 8)]),
    (Plain(torch.vander), [(4,)]),
    (Plain(nn.functional.cosine_similarity), [(3, 8), (3, 8)]),
    (nn.Linear(8, 4), [(8,)]),
    (nn.RNN(8, 6, batch_first=True), [(5, 3, 8)]),
    (nn.GRU(8, 6), [(5, 3, 8)]),
], ids=["conv2d", "conv1d", "pad_sequence", "vander", "cosine", "linear", "rnn", "gru"])
def test_inference_with_ops_whose_parts_work_in_place(model, shapes, cpus):
    args = tuple(torch.randn(shape) for shape in shapes)
    graph = emplace.torch.capture(model, args)
    assert not [op["type"] for op in graph.ops if op["type"].endswith("_")]
    with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step, torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(step(*args), model(*args), rtol=0, atol=0)


class LstmLoss(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.layers = nn.LSTM(8, 6, **kwargs)

    def forward(self, x, y):
        return functional.mse_loss(self.layers(x)[0].mean((1, 2)), y)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("train", [True, False])
def test_an_lstm_trains(train, parts, cpus):
    torch.manual_seed(parts)
    model, args = LstmLoss(num_layers=2, bidirectional=True, batch_first=True).train(train), (torch.randn(3, 5, 8), torch.randn(3))
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, args, train=True, microbatches=parts)
    assert any(op["type"] == "aten.mkldnn_rnn_layer_backward" for op in graph.ops)
    with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step:
        torch.testing.assert_close(step(*args), accumulate(plain, args, parts))
        assert step.profile(*args)
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=0 if parts == 1 else 1e-5, atol=0 if parts == 1 else 1e-7, msg=name)


class Pair(NamedTuple):
    first: torch.Tensor
    second: dict


def test_tuples_with_names_are_tuples(cpus):
    model, x = Plain(lambda x: (x.topk(2), Pair(x + 1, {"sorted": x.sort()}))), torch.randn(3, 8)
    with placed(model, (x,), cpus) as step:
        (values, indices), (first, second) = step(x)
    assert type(second["sorted"]) is tuple and torch.equal(first, x + 1)
    for mine, theirs in zip((values, indices, *second["sorted"]), (*x.topk(2), *x.sort()), strict=True):
        assert torch.equal(mine, theirs)


def test_outputs_that_are_no_tensors(cpus):
    class Several(nn.Linear):
        def forward(self, x):
            return {"out": (super().forward(x), None, "text"), "more": [x.size(0), x + 1]}

    model, args = Several(2, 3), (torch.randn(4, 2),)
    with emplace.torch.apply(model, args, random_plan(emplace.torch.capture(model, args), cpus, 1)) as step, torch.no_grad():
        mine, theirs = step(*args), model(*args)
    assert mine["out"][1:] == (None, "text") and mine["more"][0] == 4
    assert torch.equal(mine["out"][0], theirs["out"][0]) and torch.equal(mine["more"][1], theirs["more"][1])


def test_keyword_arguments_and_constants(cpus):
    model, (x, y) = models.mlp()
    kwargs = {"y": y, "scale": 0.5}
    graph = emplace.torch.capture(model, (x,), kwargs, train=True)
    with emplace.torch.apply(model, (x,), random_plan(graph, cpus, 1), kwargs=kwargs) as step:
        assert torch.equal(step(x, **kwargs), model(x, **kwargs)[0].detach())
        with pytest.raises(emplace.BadInput, match="an argument is 2.0, expected 0.5"):
            step(x, y=y, scale=2.0)


class Masked(nn.Module):
    def forward(self, x, mask):
        scores = x.flatten(1) + torch.where(mask, 0.0, torch.tensor(float("-inf")))
        return torch.softmax(scores, -1)


def test_arguments_by_name_in_any_order_that_lie_in_memory_as_they_like(cpus):
    images, mask = torch.randn(2, 4, 4, 3).permute(0, 3, 1, 2), torch.rand(2, 48) > 0.3
    model = Masked()
    graph = emplace.torch.capture(model, kwargs={"x": images, "mask": mask})
    with emplace.torch.apply(model, (), random_plan(graph, cpus, 3), kwargs={"x": images, "mask": mask}) as step:
        assert torch.equal(step(mask=mask, x=images), model(images, mask))


def test_orders_of_a_plan_are_followed(cpus):
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True, microbatches=4)
    plan = emplace.place(graph, cpus, budget=20, order="depth-first")
    assert plan.order
    with emplace.torch.apply(model, args, plan) as step:
        torch.testing.assert_close(step(*args), accumulate(copy.deepcopy(model), args, 4))


def test_random_ops_run(cpus):
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Flatten(0), nn.Linear(24, 1), nn.Flatten(0))
    args = (torch.randn(3, 8),)
    with emplace.torch.apply(model, args, random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)) as step:
        assert len({step(*args).item() for _ in range(8)}) > 1


def test_frozen_and_unused_parameters_get_no_gradient(cpus):
    model, args = models.mlp()
    model.first.weight.requires_grad_(False)
    model.unused = nn.Parameter(torch.zeros(3))
    graph = emplace.torch.capture(model, args, train=True)
    with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step:
        step(*args)
    assert model.first.weight.grad is None and model.unused.grad is None and model.first.bias.grad is not None


class _Same(torch.autograd.Function):
    """The sum of a product, whose gradient is its other factor."""

    @staticmethod
    def forward(ctx, weight, x):
        ctx.save_for_backward(x)
        return (weight * x).sum()

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0], None


def test_gradients_have_memory_of_their_own(cpus):
    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))
            self.one, self.other = nn.Parameter(torch.randn(())), nn.Parameter(torch.randn(()))

        def forward(self, x):
            return _Same.apply(self.first, x) + _Same.apply(self.second, x) + self.one + self.other

    model, x = Factors(), torch.randn(3)
    with placed(model, (x,), cpus, train=True) as step:
        loss = step(x)
    tensors = [loss, x, *model.parameters(), *(parameter.grad for parameter in model.parameters())]
    assert len({tensor.data_ptr() for tensor in tensors}) == len(tensors)
    assert torch.equal(model.first.grad, x) and torch.equal(model.second.grad, x) and model.one.grad == model.other.grad == 1


def test_arguments_get_no_gradient(cpus):
    model, (x, y) = models.mlp()
    with placed(model, (x, y), cpus, train=True) as step:
        with pytest.raises(emplace.BadInput, match=r"args\[0\] requires a gradient, .* expected args\[0\].detach\(\)"):
            step(x.clone().requires_grad_(), y)


def test_devices_by_other_names(machine):
    model, args = models.mlp()
    plan = random_plan(emplace.torch.capture(model, args, train=True), machine, 1)
    with pytest.raises(emplace.BadInput, match="device 'gpu:0' of the machine is no device of PyTorch"):
        emplace.torch.apply(model, args, plan)
    with pytest.raises(emplace.BadInput, match="devices: 'foo', for 'gpu:0', is no device of PyTorch, .* or devices={'gpu:0': 'cuda:0'"):
        emplace.torch.apply(model, args, plan, devices={"gpu:0": "foo"})
    with pytest.raises(emplace.BadInput, match="no device 'x'"):
        emplace.torch.apply(model, args, plan, devices={"x": "cpu"})
    with emplace.torch.apply(model, args, plan, devices={"gpu:0": "cpu:0", "gpu:1": "cpu:1"}, cores={"gpu:1": [0]}) as step:
        torch.testing.assert_close(step(*args), model(*args)[0].detach())


def test_cores_of_a_device_leave_other_threads_as_many_threads_of_pytorch(cpus):
    def of_a_new_thread():
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(torch.get_num_threads).result()

    model, args = models.mlp()
    plan = random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with emplace.torch.apply(model, args, plan, cores={"cpu:0": [min(os.sched_getaffinity(0))]}) as step:
            step(*args)
            assert [thread.submit(torch.get_num_threads).result() for thread in step._threads] == [1, 3]
            assert (torch.get_num_threads(), of_a_new_thread()) == (3, 3)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (0,), ()])
def test_constants_keep_their_shapes(shape, cpus):
    held = torch.zeros(shape)
    with placed(Plain(lambda x: held * x), (torch.ones(1),), cpus) as step:
        assert step(torch.ones(1)).shape == (held * torch.ones(1)).shape


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3), ()])
def test_complex_constants(shape, dtype, cpus):
    held = torch.polar(torch.rand(shape, dtype=dtype.to_real()), torch.rand(shape, dtype=dtype.to_real())).conj()
    x = torch.ones(shape)
    with placed(Plain(lambda x: torch.view_as_real(held * x)), (x,), cpus) as step:
        assert torch.equal(step(x), torch.view_as_real(held * x))


def test_arguments_that_are_lazily_conjugated(cpus):
    x = torch.randn(3, dtype=torch.complex64)
    with placed(Plain(lambda x: x.imag.contiguous() * 2), (x,), cpus) as step:
        for given in (x, x.conj()):
            assert torch.equal(step(given), given.imag * 2)


def test_times_of_ops(cpus):
    model, args = models.cnn()
    graph = emplace.torch.capture(model, args, train=True)
    with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step:
        seconds = step.profile(*args)
    assert seconds.keys() == {op["name"] for op in graph.ops if "call" in op} and min(seconds.values()) > 0
    assert model.head.weight.grad is None and not model.norm.running_mean.any()
