"""What tests of emplace.torch.apply share: plans that tear a graph apart, and the step of the plain model."""
import emplace
import numpy as np
from emplace.torch.tracing import loss_of


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


def placed(model, args, machine, **kwargs):
    return emplace.torch.apply(model, args, random_plan(emplace.torch.capture(model, args, **kwargs), machine, 1))
