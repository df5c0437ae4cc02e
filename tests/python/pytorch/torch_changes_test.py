"""emplace.torch.apply, where the model changes after its capture: what the step takes over, and what it refuses."""
import copy
import operator

import emplace
import pytest
import torch
import torch_models as models
from torch import nn
from torch_steps import accumulate, placed, random_plan


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
        setattr(operator.attrgetter(holder)(model) if holder else model, last, value)
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


@pytest.mark.parametrize("change", [nn.Module.double, setting("first.weight.data", torch.zeros(3, 3))])
def test_parameters_whose_data_changes_after_apply_are_noticed(change, cpus):
    model, args = models.mlp()
    with placed(model, args, cpus, train=True) as step:
        change(model)
        with pytest.raises(emplace.BadInput, match="'first.weight' of the model is .*, expected torch.float32 of shape"):
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
