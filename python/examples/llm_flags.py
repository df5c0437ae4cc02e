"""From a language model's file to llama.cpp's flags, on a card of 24 GB, one of 8 GB, and a desktop's memory.

    python llm_flags.py model.gguf            a GGUF file, or a config.json of transformers
    python llm_flags.py model.gguf 32768      with so many tokens of context
"""
import sys

import emplace

machine = emplace.Machine([emplace.Device("gpu:0", "rtx4090", 23.5e9), emplace.Device("gpu:1", "rtx2080", 7.5e9),
                           emplace.Device("cpu", "ddr5_2ch", 60e9)],
                          bandwidth_bytes_per_us=12_000, transfer_latency_us=15, transfer_overhead_us=5)
graph = emplace.llm.load(sys.argv[1], context=int(sys.argv[2]) if len(sys.argv) > 2 else None)
plan = emplace.llm.place_for("llama.cpp", graph, machine)

print("llama-server -m", sys.argv[1], emplace.llm.flags("llama.cpp", plan), end="")
print(plan.serving["text"], end="")
for device, peak in zip(machine.devices, plan.peak_bytes, strict=True):
    print(f"{device.name}: {peak / 1e9:.2f} of {device.memory_bytes / 1e9:.2f} GB")
