"""emplace.torch.apply: steps equal those of the plain model."""
import contextlib
import copy
import gc
import threading

import emplace
import numpy as np
import pytest
import torch
import torch_models as models
from emplace.torch.device_code import DeviceCode
from emplace.torch.program import compile_plan
from emplace.torch.tracing import loss_of
from torch import nn

MAKERS = [models.mlp, models.cnn, models.transformer]


@pytest.fixture(scope="module")
def cpus():
    """Two threads of the CPU."""
    return emplace.Machine([emplace.Device(f"cpu:{i}", "cpu", 1e10) for i in range(2)], bandwidth_bytes_per_us=10_000)


def random_plan(graph, machine, seed):
    """A plan that tears the graph apart; only groups stay together."""
    groups = {}
    rng = np.random.default_rng(seed)
    devices = [groups.setdefault(op.get("group") or op["name"], int(rng.integers(len(machine)))) for op in graph.ops]
    return emplace.Plan.of(graph, machine, devices)


def accumulate(model, args, parts):
    """One step by gradient accumulation; returns the mean loss."""
    total = 0
    for part in zip(*[arg.chunk(parts) for arg in args], strict=True):
        loss = loss_of(model(*part)) / parts if parts > 1 else loss_of(model(*part))
        loss.backward()
        total = total + loss.detach()
    return total


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("make", MAKERS)
def test_loss_gradients_and_buffers_are_those_of_the_plain_model(make, parts, seed, cpus):
    torch.manual_seed(seed)
    model, args = make()
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, args, train=True, microbatches=parts, optimizer="sgd")
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


def placed(model, args, machine, **kwargs):
    return emplace.torch.apply(model, args, random_plan(emplace.torch.capture(model, args, **kwargs), machine, 1))


def test_tensors_that_replace_parameters_and_buffers_are_used(cpus):
    torch.manual_seed(1)
    model, args = models.cnn()
    other = copy.deepcopy(model)
    for tensor in [*other.parameters(), other.norm.running_mean]:
        nn.init.normal_(tensor)
    with placed(model, args, cpus, train=True) as step:
        step(*args)
        model.load_state_dict(other.state_dict(), assign=True)
        model.conv.bias = nn.Parameter(other.conv.bias.detach().clone())
        model.norm.running_var = other.norm.running_var.clone()
        assert torch.equal(step(*args), accumulate(other, args, 1))
    for (name, mine), (_, theirs) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad), name
    for (name, mine), (_, theirs) in zip(model.named_buffers(), other.named_buffers(), strict=True):
        assert torch.equal(mine, theirs), name


def untie(model):
    model.load_state_dict(model.state_dict(), assign=True)


def setting(name, value):
    """Sets an attribute of the model by its dotted name."""
    def change(model):
        holder, _, last = name.rpartition(".")
        setattr(model.get_submodule(holder), last, value)
    return change


# What is noticed before apply as well as after it.
CHANGES = [
    (setting("norm.weight", nn.Parameter(torch.zeros(3))), r"'norm.weight' of the model is .*\[3\], expected .*\[32\]"),
    (nn.Module.double, "of the model is torch.float64 .* expected torch.float32"),
    (nn.Module.eval, r"the model is in the mode of eval\(\), expected train\(\) as when .*; .* capture the model again"),
    (lambda model: model.blocks[0].norm1.eval(), r"module 'blocks.0.norm1' is in the mode of eval\(\)"),
    (lambda model: model.norm.requires_grad_(False), "parameter 'norm.*' requires no gradient.* capture the model again"),
    (lambda model: model.positions.requires_grad_(True), "parameter 'positions.weight' requires a gradient, expected a frozen one"),
]


@pytest.mark.parametrize("change, error", [
    *CHANGES,
    (untie, "the model has 'head.weight', which its graph 'Transformer' lacks; capture the model again"),
    (setting("norm.more", nn.Parameter(torch.zeros(3))), "the model has 'norm.more', which its graph"),
    (setting("norm.weight", None), "the model has no parameter or buffer 'norm.weight'"),
])
def test_a_model_that_changes_before_apply_is_noticed(change, error, cpus, tmp_path):
    model, args = models.transformer()
    model.positions.requires_grad_(False)
    emplace.torch.capture(model, args, train=True).save(tmp_path / "g.graph.json")
    plan = random_plan(emplace.Graph.load(tmp_path / "g.graph.json"), cpus, 1)
    change(model)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.torch.apply(model, args, plan)


@pytest.mark.parametrize("change, error", [
    *CHANGES,
    (untie, "'head.weight' and 'embedding.weight' are two tensors of the model, expected one"),
    (setting("norm", nn.LayerNorm(32)), "the model has other modules, parameters or buffers"),
    (setting("blocks.1.linear2", nn.Linear(64, 32)), "module 'blocks.1' has other modules"),
    (setting("norm.more", nn.Parameter(torch.zeros(3))), "module 'norm' has other modules"),
    (setting("norm.weight", None), "'norm.weight' of the model is None, expected"),
])
def test_a_model_that_changes_after_apply_is_noticed(change, error, cpus):
    model, args = models.transformer()
    model.positions.requires_grad_(False)
    with placed(model, args, cpus, train=True) as step:
        step(*args)
        change(model)
        with pytest.raises(emplace.BadInput, match=error):
            step(*args)


def test_modes_may_change_between_steps(cpus):
    model, args = models.cnn()
    model.norm.eval()  # Often done to fine-tune: the statistics stay.
    plain = copy.deepcopy(model)
    with placed(model, args, cpus, train=True) as step:
        for _ in range(2):
            assert torch.equal(step(*args), accumulate(plain, args, 1))
            model.eval()
            model.train()
            model.norm.eval()


HOOKS = [("register_forward_hook", "forward"), ("register_forward_pre_hook", "forward-pre"),
         ("register_full_backward_hook", "backward"), ("register_full_backward_pre_hook", "backward-pre")]


def my_hook(*_):
    return None


@pytest.mark.parametrize("register, kind", HOOKS)
def test_hooks_of_modules_are_refused_by_name(register, kind, cpus):
    model, args = models.mlp()
    plan = random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)
    with emplace.torch.apply(model, args, plan) as step:
        handle = getattr(model.second, register)(my_hook)
        for use in (lambda: step(*args), lambda: emplace.torch.apply(model, args, plan), lambda: emplace.torch.capture(model, args)):
            with pytest.raises(emplace.BadInput, match=f"module 'second' has the {kind} hook 'my_hook'"):
                use()
        handle.remove()
        step(*args)


def test_hooks_of_all_modules_are_refused():
    handle = nn.modules.module.register_module_forward_hook(my_hook)
    try:
        with pytest.raises(emplace.BadInput, match="torch.nn.modules.module has the forward hook 'my_hook'"):
            emplace.torch.capture(*models.mlp())
    finally:
        handle.remove()


def test_hooks_that_only_compute_weights_are_part_of_the_graph(cpus):
    torch.manual_seed(1)
    model, args = models.mlp()
    nn.utils.weight_norm(model.first)
    plain = models.Mlp()
    nn.utils.weight_norm(plain.first)
    plain.load_state_dict(model.state_dict())
    with placed(model, args, cpus, train=True) as step:
        assert torch.equal(step(*args), accumulate(plain, args, 1))
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad), name


def test_hooks_of_parameters_run(cpus):
    torch.manual_seed(1)
    model, args = models.transformer()
    plain = copy.deepcopy(model)
    told = {model: {"one": [], "sum": []}, plain: {"one": [], "sum": []}}
    for network, seen in told.items():
        network.embedding.weight.register_hook(lambda gradient: gradient * 2)
        network.embedding.weight.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
        network.norm.weight.register_hook(lambda gradient, seen=seen: seen["one"].append(gradient.tolist()))
        network.norm.bias.register_post_accumulate_grad_hook(lambda parameter, seen=seen: seen["sum"].append(parameter.grad.tolist()))
    with placed(model, args, cpus, train=True) as step:
        for _ in range(2):
            step(*args)
            accumulate(plain, args, 1)
    for (name, mine), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad), name
    assert told[model] == told[plain] and len(told[model]["one"]) == len(told[model]["sum"]) == 2


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
    with pytest.raises(emplace.BadInput, match="no device 'x'"):
        emplace.torch.apply(model, args, plan, devices={"x": "cpu"})
    with emplace.torch.apply(model, args, plan, devices={"gpu:0": "cpu:0", "gpu:1": "cpu:1"}, cores={"gpu:1": [0]}) as step:
        torch.testing.assert_close(step(*args), model(*args)[0].detach())


def test_a_plan_of_another_model_and_other_arguments(cpus):
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True)
    plan = random_plan(graph, cpus, 1)
    with pytest.raises(emplace.BadInput, match="no parameter or buffer 'first.weight'.*graph 'Mlp'"):
        emplace.torch.apply(models.cnn()[0], args, plan)
    with pytest.raises(emplace.BadInput, match=r"'first.weight' of the model is .*\[16, 8\], expected .*\[16, 8\]"):
        emplace.torch.apply(copy.deepcopy(model).double(), args, plan)
    with pytest.raises(emplace.BadInput, match=r"the tensors among the arguments are \['args\[0\]', 'args\[1\]', 'args\[2\]'\], expected"):
        emplace.torch.apply(model, (*args, args[0]), plan)
    with pytest.raises(emplace.BadInput, match=r"args\[0\] is torch.float32 of shape \[6, 8\], expected .*\[12, 8\]"):
        emplace.torch.apply(model, (args[0][:6], args[1]), plan)
    with pytest.raises(emplace.BadInput, match="kwargs is a list, expected a dict"):
        emplace.torch.apply(model, args, plan, kwargs=[1])
    with pytest.raises(emplace.BadInput, match=r"cores of 'cpu:0' are \[99999\], expected some of"):
        emplace.torch.apply(model, args, plan, cores={"cpu:0": [99999]})
    with emplace.torch.apply(model, args, plan) as step:
        with pytest.raises(emplace.BadInput, match=r"args\[0\] is torch.float32 of shape \[6, 8\], expected .*\[12, 8\]"):
            step(args[0][:6], args[1])
        with pytest.raises(emplace.BadInput, match="the arguments are"):
            step(args[0])


def test_a_graph_that_cannot_run(ptb, cpus):
    only_cpu = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e11)], bandwidth_bytes_per_us=1)
    with pytest.raises(emplace.BadInput, match="has no call"):
        emplace.torch.apply(nn.Linear(1, 1), (), emplace.place(ptb, only_cpu, budget=2))


def test_an_op_that_fails_is_named(cpus):
    def ops_of(graph):
        ops = graph.ops
        mm = next(op for op in ops if op["type"] == "aten.addmm")
        mm["call"]["args"][1]["views"] = [["aten.view.default", [[-1, 3]]]]
        return mm["name"], ops

    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True)
    name, ops = ops_of(graph)
    with emplace.torch.apply(model, args, random_plan(emplace.Graph.from_ops("bad", ops), cpus, 1)) as step:
        for use in (step, step.profile):
            with pytest.raises(RuntimeError, match=f"op '{name}' failed: .*3"):
                use(*args)


def test_times_of_ops(cpus):
    model, args = models.cnn()
    graph = emplace.torch.capture(model, args, train=True)
    with emplace.torch.apply(model, args, random_plan(graph, cpus, 1)) as step:
        seconds = step.profile(*args)
    assert seconds.keys() == {op["name"] for op in graph.ops if "call" in op} and min(seconds.values()) > 0
    assert model.head.weight.grad is None and not model.norm.running_mean.any()


def test_a_failure_on_one_device_ends_all(cpus):
    model, args = models.transformer()
    plan = random_plan(emplace.torch.capture(model, args, train=True), cpus, 1)
    with emplace.torch.apply(model, args, plan) as step:
        bad = (args[0] + 100, args[1])  # Words that the embedding does not have.
        for _ in range(3):
            with pytest.raises((RuntimeError, IndexError), match="index|range"):
                step(*bad)
            assert torch.isfinite(step(*args))
    assert not any(thread.name.startswith("emplace cpu") for thread in threading.enumerate())
