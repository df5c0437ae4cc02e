"""Places a model by costs that were measured here instead of modelled: python measured_costs.py

Every op of the captured graph is run on this CPU, and its median time becomes its cost.
"""
import statistics
import time

import emplace
import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256), nn.LayerNorm(256))
args = (torch.randn(64, 256),)
graph = emplace.torch.capture(model, args)
one_cpu = emplace.Machine([emplace.Device("cpu:0", "cpu", 8e9)], bandwidth_bytes_per_us=1)

# Times of the ops by name, in microseconds, from some runs on one device.
samples: dict[str, list[float]] = {}
with emplace.torch.apply(model, args, emplace.place(graph, one_cpu, method="single")) as step:
    for _ in range(20):
        for name, seconds in step.profile(*args).items():
            samples.setdefault(name, []).append(seconds * 1e6)

ops = graph.ops
for op in ops:
    if op["name"] in samples and op["type"].startswith("aten."):
        modelled, op["cost_us"] = op["cost_us"]["cpu"], {"cpu": statistics.median(samples[op["name"]])}
        print(f"{op['name']:20} modelled {modelled:8.1f} us, measured {op['cost_us']['cpu']:8.1f} us")
measured = emplace.Graph.from_ops(graph.name, ops)

begin = time.perf_counter()
with torch.no_grad():
    model(*args)
print(f"the model took {(time.perf_counter() - begin) * 1e6:.1f} us")
two_cpus = emplace.Machine([emplace.Device(f"cpu:{index}", "cpu", 8e9) for index in range(2)], bandwidth_bytes_per_us=10_000)
print(emplace.place(measured, two_cpus, seconds=0.5))
