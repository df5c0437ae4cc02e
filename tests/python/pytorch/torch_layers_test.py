"""Ops of captured layers against the list of those that emplace-hardware runs, and layers run as placed."""
import copy
import pathlib
import re

import emplace
import emplace.torch
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_models import Plain
from torch_steps import placed

LIST = pathlib.Path(__file__).resolve().parents[3] / "actor/hardware/program/allowed_ops.cc"
ALLOWED = set(re.findall(r'"(aten\.[\w.]+)"', LIST.read_text().split("kAllowedViews")[0]))
SIGNALS, IMAGES = torch.randn(4, 6, 16), torch.randn(2, 6, 8, 8)
WORDS = torch.randint(10, (4, 6))
LAYERS = {
    "batch_norm": (nn.BatchNorm1d(6), SIGNALS), "batch_norm_2d": (nn.BatchNorm2d(6, affine=False), IMAGES),
    "batch_norm_of_the_batch": (nn.BatchNorm1d(6, track_running_stats=False), SIGNALS), "instance_norm": (nn.InstanceNorm2d(6), IMAGES),
    "instance_norm_that_tracks": (nn.InstanceNorm1d(6, track_running_stats=True), SIGNALS), "gru": (nn.GRU(16, 8, num_layers=2), SIGNALS),
    "normalize": (functional.normalize, SIGNALS), "rfft": (lambda x: torch.view_as_real(torch.fft.rfft(x)), SIGNALS),
    "convolution_by_fft": (lambda x: torch.fft.irfft(torch.fft.rfft(x) ** 2), SIGNALS), "dropout": (nn.Dropout1d(), SIGNALS),
    "circular": (nn.Conv1d(6, 8, 3, padding=1, padding_mode="circular"), SIGNALS), "shrink": (nn.Softshrink(), SIGNALS),
    "replicated": (nn.Conv1d(6, 8, 3, padding=1, padding_mode="replicate"), SIGNALS), "rrelu": (nn.RReLU(), SIGNALS),
    "shuffle": (nn.PixelShuffle(2), torch.randn(2, 8, 4, 4)),
    "bilinear": (lambda x: functional.bilinear(x, x, torch.ones(3, 16, 16)), SIGNALS),
    "distances": (lambda x: torch.cdist(x, x), SIGNALS), "greatest_so_far": (lambda x: x.cummax(-1)[0], SIGNALS),
    "median": (lambda x: x.median(-1)[0], SIGNALS), "windows": (lambda x: x.unfold(-1, 4, 2), SIGNALS),
    "gumbel": (functional.gumbel_softmax, SIGNALS), "margins": (lambda x: functional.soft_margin_loss(x, x.sign().detach()), SIGNALS),
}
BAGS = {f"bags_by_{mode}": (nn.EmbeddingBag(10, 8, mode=mode), WORDS) for mode in ("sum", "mean", "max")}
# Layers whose numbers are random, and one whose plain run computes in place in parts of a tensor, which rounds otherwise.
OTHER_BITS = {"dropout", "rrelu", "gumbel", "gru"}


class Loss(nn.Module):
    """The mean square of what a layer makes of a scaled tensor."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.scale = layer, nn.Parameter(torch.ones(()))

    def forward(self, x):
        output = self.layer(x * self.scale)
        return (output[0] if isinstance(output, tuple) else output).square().mean()


def module_of(name):
    """A layer of its own, and what it is given."""
    layer, given = (LAYERS | BAGS)[name]
    return copy.deepcopy(layer) if isinstance(layer, nn.Module) else Plain(layer), given


@pytest.mark.parametrize("name", LAYERS | BAGS)
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("mode", [False, True])
def test_ops_of_layers_may_be_run(name, train, mode):
    if train and name in BAGS:
        pytest.skip("the gradient of a bag writes wherever an index says")
    layer, given = module_of(name)
    graph = emplace.torch.capture(Loss(layer).train(mode) if train else layer.train(mode), (given,), train=train)
    assert {op["call"]["op"] for op in graph.ops if "call" in op} <= ALLOWED


@pytest.mark.parametrize("name", [name for name in LAYERS | BAGS if name not in OTHER_BITS])
@pytest.mark.parametrize("mode", [False, True])
def test_layers_have_the_bits_of_the_plain_ones(name, mode, cpus):
    layer, given = module_of(name)
    plain = copy.deepcopy(layer.train(mode))
    with placed(layer, (given,), cpus) as step, torch.no_grad():
        for _ in range(2):
            for mine, theirs in zip(*(output if isinstance(output, tuple) else (output,) for output in (step(given), plain(given)))):
                assert torch.equal(mine, theirs)
            for (buffer, mine), (_, theirs) in zip(layer.named_buffers(), plain.named_buffers(), strict=True):
                assert torch.equal(mine, theirs), buffer
