"""Graphs of PyTorch models, and PyTorch models run as planned.

    graph = emplace.torch.capture(model, (x, y), train=True, microbatches=4)
    plan  = emplace.place(graph, machine)
    step  = emplace.torch.apply(model, (x, y), plan)
    loss  = step(x, y)                      # and gradients in the parameters' .grad

Needs the user's torch: 2.9 or later for training graphs, 2.5 for inference.
"""
from emplace.torch.capturing import capture
from emplace.torch.fx_files import read_fx
from emplace.torch.step import Step, apply

__all__ = ["Step", "apply", "capture", "read_fx"]
