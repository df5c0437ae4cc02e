"""Graphs of large language models from the files that hold them, and what other programs take to run them as placed.

    graph = emplace.llm.load("qwen3-30b-a3b-q4_k_m.gguf", context=16384)
    plan  = emplace.llm.place_for("llama.cpp", graph, emplace.Machine.load("mine.yaml"))
    print(emplace.llm.flags("llama.cpp", plan))

docs/llm.md goes through it by situations.
"""
from emplace.llm.loading import load, read_checkpoint
from emplace.llm.placing import place_for
from emplace.llm.runtimes import RUNTIMES, flags

__all__ = ["RUNTIMES", "flags", "load", "place_for", "read_checkpoint"]
