"""Single images whose layout is ambiguous, as in diffusers' autoencoders."""
import emplace
import pytest
import torch
from torch import nn


class Attended(nn.Module):
    """A normalization of an image that was transposed, as after attention; returns its loss."""

    def __init__(self):
        super().__init__()
        self.image, self.linear, self.norm = nn.Conv2d(3, 32, 3, padding=1), nn.Linear(32, 32), nn.GroupNorm(4, 32)

    def forward(self, x):
        x = self.image(x)
        attended = self.linear(x.flatten(2).transpose(1, 2)).transpose(-1, -2).reshape(x.shape)
        return self.norm((attended + x) / 1).square().mean()


def planned(model, x, **options):
    graph = emplace.torch.capture(model, (x,), **options)
    machine = emplace.Machine([emplace.Device("cpu:0", "cpu", 1e10)], bandwidth_bytes_per_us=5000)
    return emplace.torch.apply(model, (x,), emplace.place(graph, machine, method="single"))


@pytest.mark.parametrize("examples", [1, 2])
def test_a_placed_step_has_the_bits_of_the_plain_one(examples):
    model, x = Attended(), torch.randn(examples, 3, 8, 8)
    loss = planned(model, x, train=True)(x)
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    plain = model(x)
    plain.backward()
    assert torch.equal(loss, plain.detach())
    assert all(torch.equal(gradient, parameter.grad) for gradient, parameter in zip(gradients, model.parameters(), strict=True))
    with torch.no_grad():
        assert torch.equal(planned(model, x, train=False)(x), model(x))


def test_micro_batches_of_one_example_run():
    model, x = Attended(), torch.randn(4, 3, 8, 8)
    loss = planned(model, x, train=True, microbatches=4)(x)
    torch.testing.assert_close(loss, model(x).detach())
