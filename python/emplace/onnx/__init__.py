"""Graphs of ONNX models, and ONNX models as planned, for the runtimes that run them.

    graph = emplace.onnx.load("m.onnx", dims={"batch": 8})
    plan  = emplace.place(graph, machine)
    emplace.onnx.split("m.onnx", plan, "parts/")

A plan here is one of a graph that `load` has read from the same file. Needs the user's onnx.
"""
from emplace.onnx.annotations import affinities, annotate, device_of_nodes, read_annotations, set_affinities
from emplace.onnx.loading import load
from emplace.onnx.parts import PartsSession, split

__all__ = ["PartsSession", "affinities", "annotate", "device_of_nodes", "load", "read_annotations", "set_affinities", "split"]
