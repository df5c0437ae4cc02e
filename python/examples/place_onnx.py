"""Places an ONNX model on two GPUs: python place_onnx.py model.onnx [NAME=SIZE ...]

NAME=SIZE gives the size of a dimension that the model leaves open, such as batch=8.
"""
import sys

import emplace

path, *sizes = sys.argv[1:]
dims = {name: int(size) for name, size in (text.split("=") for text in sizes)}
graph = emplace.onnx.load(path, dims=dims)

# Two V100 with 16 GB each; 10 GB/s between them, and 10 us for each transfer.
devices = [emplace.Device(f"gpu:{index}", "v100", 16e9) for index in range(2)]
machine = emplace.Machine(devices, bandwidth_bytes_per_us=10_000, transfer_overhead_us=10)
plan = emplace.place(graph, machine, seconds=1)
print(plan)

# Nodes of the model by device; `node` is a node's index in the file.
device_of_op = dict(zip(graph.op_names, plan.devices, strict=True))
for device in machine.devices:
    on_device = [op for op in graph.ops if "node" in op["attrs"] and device_of_op[op["name"]] == device.name]
    print(f"{device.name}: {len(on_device)} nodes")
