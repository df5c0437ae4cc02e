"""Small models of each kind that tests capture and run."""
import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    """Two layers; returns (loss, prediction)."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x, y, scale=1.0):
        out = self.second(torch.tanh(self.first(x)) * scale)
        return functional.mse_loss(out, y), out


class Cnn(nn.Module):
    """Convolutions with BatchNorm, an in-place op, a split and a depthwise convolution."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.deep, self.head = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Linear(8, 5)

    def forward(self, x, y):
        h = torch.relu_(self.norm(self.conv(x)))
        a, b = self.deep(h).chunk(2, dim=1)
        h = torch.cat([b, a + 1], dim=1).mean(dim=(2, 3))
        return functional.cross_entropy(self.head(h), y)


class Transformer(nn.Module):
    """Blocks of attention with a tied embedding; returns an object with .loss, as models of transformers do."""

    def __init__(self, layers=2, width=32, heads=4, words=50):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(words, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True,
                                                                norm_first=True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("mask", torch.full((16, 16), float("-inf")).triu(1), persistent=False)

    def forward(self, tokens, labels=None):
        length = tokens.size(1)
        h = self.embedding(tokens) + self.positions(torch.arange(length, device=tokens.device))
        for block in self.blocks:
            h = block(h, src_mask=self.mask[:length, :length])
        logits = self.head(self.norm(h))
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits} if loss is not None else {"logits": logits}


class Plain(nn.Module):
    """Is a function, with the parameters of these layers."""

    def __init__(self, function, layers=None):
        super().__init__()
        self.layers, self.function = layers, function

    def forward(self, *args):
        return self.function(*args)


def mlp():
    return Mlp(), (torch.randn(12, 8), torch.randn(12, 4))


def cnn():
    return Cnn(), (torch.randn(4, 3, 6, 6), torch.randint(0, 5, (4,)))


def transformer(layers=2):
    return Transformer(layers), (torch.randint(0, 50, (4, 10)), torch.randint(0, 50, (4, 10)))
