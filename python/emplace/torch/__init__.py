"""Graphs of PyTorch models.

    graph = emplace.torch.capture(model, (x, y), train=True, microbatches=4)
    plan  = emplace.place(graph, machine)

Needs the user's torch: 2.9 or later for training graphs, 2.5 for inference.
"""
from emplace.torch.capturing import capture

__all__ = ["capture"]
