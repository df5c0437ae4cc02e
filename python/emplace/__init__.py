"""Places the operations of a neural network on the devices of a machine.

    graph   = emplace.Graph.load("my.graph.json")
    machine = emplace.Machine.load("devices.yaml")
    plan    = emplace.place(graph, machine, seconds=10)
    plan.save("placement.json")

`emplace.torch` makes graphs of PyTorch models and runs models as planned, `emplace.onnx` does both for ONNX files, `emplace.llm` those of
large language models, `emplace.formats` those of other tools, and `emplace.gym` has environments for reinforcement learning. They
are imported when they are first used, and only then need their packages. Times are in microseconds and sizes in bytes unless a name
says otherwise. Wrong input raises `BadInput`, with one line.
"""
import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    __version__: str
    from emplace._core import BadInput, Device, Error, Graph, Machine, RunFailed, families, method_options, methods, orders
    from emplace.evaluation import Evaluation, EvaluationRow, evaluate
    from emplace.generation import generate
    from emplace.placing import place
    from emplace.plan import Plan
    from emplace.policy import Policy
    from emplace.simulation import Simulation, simulate

# By module, what is the package's own. Each is imported when it is first used, so that the command starts at once.
_NAMES = {
    "_core": ("BadInput", "Device", "Error", "Graph", "Machine", "RunFailed", "families", "method_options", "methods",
              "orders"),
    "evaluation": ("Evaluation", "EvaluationRow", "evaluate"), "generation": ("generate",), "placing": ("place",), "plan": ("Plan",),
    "policy": ("Policy",), "simulation": ("Simulation", "simulate"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("formats", "gym", "llm", "onnx", "torch")

__all__ = [
    "BadInput", "Device", "Error", "Evaluation", "EvaluationRow", "Graph", "Machine", "Plan", "Policy", "RunFailed", "Simulation",
    "evaluate", "families", "generate", "method_options", "methods", "orders", "place", "simulate",
]


def __getattr__(name: str):
    if name in _MODULES:
        return _importlib.import_module(f"emplace.{name}")
    if name == "__version__":
        return _importlib.import_module("importlib.metadata").version("emplace")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'emplace' has no attribute '{name}'")
    value = globals()[name] = getattr(_importlib.import_module(f"emplace.{_MODULE_OF[name]}"), name)
    return value


def __dir__():
    return sorted([*__all__, *_MODULES, "__version__"])
