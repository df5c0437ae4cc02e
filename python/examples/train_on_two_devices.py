"""Trains a transformer on two devices of the CPU, as emplace plans it: python train_on_two_devices.py [LAYERS]

On GPUs, name the devices cuda:0 and cuda:1 and give their kind, and nothing else changes.
"""
import sys

import emplace
import torch
from torch import nn

BATCH, LENGTH, WORDS, WIDTH = 8, 16, 100, 64


class LanguageModel(nn.Module):
    """Predicts the next word; returns its loss."""

    def __init__(self, layers: int):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True) for _ in range(layers)])
        self.head = nn.Linear(WIDTH, WORDS)
        self.register_buffer("mask", torch.full((LENGTH - 1, LENGTH - 1), float("-inf")).triu(1))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(words[:, :-1])
        for layer in self.layers:
            hidden = layer(hidden, src_mask=self.mask)
        return nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), words[:, 1:].flatten())


torch.manual_seed(0)
model = LanguageModel(layers=int(sys.argv[1]) if len(sys.argv) > 1 else 12)
words = (torch.arange(LENGTH) + torch.randint(0, WORDS, (BATCH, 1))) % WORDS

# Where the ops go.
devices = [emplace.Device("cpu:0", "cpu", 8e9), emplace.Device("cpu:1", "cpu", 8e9)]
machine = emplace.Machine(devices, bandwidth_bytes_per_us=10_000)
graph = emplace.torch.capture(model, (words,), train=True, microbatches=4)
plan = emplace.place(graph, machine, seconds=1)
print(plan)

# A training loop, with `step` in place of the model and its backward pass.
step = emplace.torch.apply(model, (words,), plan)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for iteration in range(5):
    optimizer.zero_grad()
    loss = step(words)
    optimizer.step()
    print(f"iteration {iteration}: loss {loss.item():.4f}")
step.close()
