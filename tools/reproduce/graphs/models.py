"""Models whose captured training steps reality.py runs.

emplace import torch tools/reproduce/graphs/models.py:inception_small --train --name inception_small --out inception_small.graph.json
"""
import torch
from torch import nn
from torch.nn import functional


class Convolution(nn.Sequential):
    """Convolution, BatchNorm and ReLU, as in Inception-V3 (Szegedy et al. 2016)."""

    def __init__(self, inputs, outputs, size, stride=1):
        padding = [side // 2 for side in size] if isinstance(size, tuple) else size // 2
        super().__init__(nn.Conv2d(inputs, outputs, size, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Module(nn.Module):
    """Four branches side by side: 1x1, 5x5, two 3x3 and a pool; their outputs are joined."""

    def __init__(self, inputs, width):
        super().__init__()
        self.one = Convolution(inputs, width, 1)
        self.five = nn.Sequential(Convolution(inputs, width, 1), Convolution(width, width, 5))
        self.three = nn.Sequential(Convolution(inputs, width, 1), Convolution(width, width, 3), Convolution(width, width, 3))
        self.pool = nn.Sequential(nn.AvgPool2d(3, 1, 1), Convolution(inputs, width, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.five(x), self.three(x), self.pool(x)], dim=1)


class Inception(nn.Module):
    """A stem, modules with a pool between them, and a classifier; returns the loss."""

    def __init__(self, width, modules, classes=10):
        super().__init__()
        self.stem = nn.Sequential(Convolution(3, width, 3, stride=2), Convolution(width, 4 * width, 3))
        self.modules_ = nn.ModuleList([Module(4 * width, width) for _ in range(modules)])
        self.head = nn.Linear(4 * width, classes)

    def forward(self, images, labels):
        h = functional.max_pool2d(self.stem(images), 3, 2, 1)
        for module in self.modules_:
            h = module(h)
        return functional.cross_entropy(self.head(h.mean(dim=(2, 3))), labels)


def inception_small():
    """Images of 32 x 32 in batches of 16 through four modules."""
    return Inception(width=16, modules=4), (torch.randn(16, 3, 32, 32), torch.randint(10, (16,)))
