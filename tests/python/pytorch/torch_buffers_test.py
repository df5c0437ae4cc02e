"""emplace.torch.capture and apply of models that change buffers, or .data, otherwise than by ops in place."""
import copy

import emplace
import pytest
import torch
from torch import nn
from torch_steps import accumulate, placed


class Mean(nn.Module):
    """Keeps a running mean of its inputs by assigning it anew."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("table", None)

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0)
        before = self.mean
        y = self.linear(x) * before + self.table  # Autograd keeps the tensor that is replaced.
        self.mean = 0.5 * before + 0.5 * x.mean(0)
        return y, before, self.mean


class MeanLoss(Mean):
    def forward(self, x):
        y, before, after = super().forward(x)
        return (y * after).square().sum() + before.sum()


class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        self.register_buffer("count", self.count * 2)
        return x * self.count


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = Mean()

    def forward(self, x):
        return self.mean(x)[0]


@pytest.mark.parametrize("make", [Mean, Registered, Nested])
def test_buffers_that_a_forward_pass_replaces_are_changed_by_steps(make, cpus):
    torch.manual_seed(1)
    model = make().eval()
    plain = copy.deepcopy(model)
    with torch.no_grad(), placed(model, (torch.ones(3, 4),), cpus) as step:
        for _ in range(3):
            x = torch.randn(3, 4)
            mine, theirs = step(x), plain(x)
            for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (mine, theirs)), strict=True):
                assert torch.equal(one, other)
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, plain.get_buffer(name)), name


@pytest.mark.parametrize("parts", [1, 2])
def test_replaced_buffers_and_gradients_are_those_of_the_plain_model(parts, cpus):
    torch.manual_seed(1)
    model, args = MeanLoss(), (torch.randn(4, 4),)
    plain = copy.deepcopy(model)
    with placed(model, args, cpus, train=True, microbatches=parts) as step:
        for _ in range(2):
            assert torch.equal(step(*args), accumulate(plain, args, parts))
    assert torch.equal(model.mean, plain.mean)
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)  # The parts' gradients are added up first.


def test_a_capture_leaves_the_buffers_of_the_model(cpus):
    model = Mean()
    buffers = dict(model._buffers)
    emplace.torch.capture(model, (torch.ones(3, 4),))
    assert model._buffers.keys() == buffers.keys()
    assert all(model._buffers[name] is buffers[name] for name in buffers)


class Grown(Mean):
    def forward(self, x):
        self.mean = x.sum(1)
        return x * 2


class WithGradient(Mean):
    def forward(self, x):
        self.mean = self.linear(x).sum(0)
        return self.mean.sum()


class SetsData(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.data = x.mean(0)
        return (self.linear(x) + self.mean).square().sum()


class SetsWeight(SetsData):
    def forward(self, x):
        self.linear.weight.data = self.linear.weight.data.clamp(-1, 1)
        return self.linear(x).sum()


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        both = torch.zeros(8)
        self.register_buffer("all", both)
        self.register_buffer("first", both[:4])

    def forward(self, x):
        self.first.add_(x)
        return self.all.sum() + x


@pytest.mark.parametrize("model, train, error", [
    (Grown(), False, r"replaces buffer 'mean' by torch.float32 of shape \[3\], expected torch.float32 of shape \[4\]"),
    (WithGradient(), True, r"requires a gradient in buffer 'mean'.*expected value.detach\(\) there"),
    (SetsWeight(), True, "the model changes .*weight.*, expected changes of buffers alone"),
    (Shared(), False, r"buffer 'first', which the model changes, has memory in common with 'all'"),
])
def test_changes_that_a_graph_cannot_have_are_refused(model, train, error):
    x = torch.ones(4) if isinstance(model, Shared) else torch.ones(3, 4)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.torch.capture(model, (x,), train=train)


def test_setting_data_changes_the_buffer(cpus):
    torch.manual_seed(1)
    model, args = SetsData(), (torch.randn(3, 4),)
    plain = copy.deepcopy(model)
    with placed(model, args, cpus, train=True) as step:
        assert torch.equal(step(*args), accumulate(plain, args, 1))
    assert torch.equal(model.mean, plain.mean)


def test_parts_of_one_memory_that_do_not_overlap_are_two_buffers(cpus):
    model = Registered()
    both = torch.zeros(2)
    model.count = both[0]
    model.register_buffer("other", both[1])
    with torch.no_grad(), placed(model, (torch.ones(2),), cpus) as step:
        assert torch.equal(step(torch.ones(2)), torch.full((2,), 2.0))
    assert both.tolist() == [2, 0]


class Weight(nn.Module):
    """Its loss is a parameter itself, or a view of one."""

    def __init__(self, view):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1) if view else torch.ones(()))
        self.view = view

    def forward(self, x):
        return self.weight[0] if self.view else self.weight


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_loss_that_is_a_parameter_has_a_gradient(parts, view, cpus):
    model, args = Weight(view), (torch.ones(2),)
    plain = copy.deepcopy(model)
    with placed(model, args, cpus, train=True, microbatches=parts) as step:
        assert torch.equal(step(*args), accumulate(plain, args, parts))
    assert torch.equal(model.weight.grad, plain.weight.grad)
