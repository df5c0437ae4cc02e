"""Profiles of PipeDream."""
import os
import pathlib
import re

from emplace._core import BadInput, Graph
from emplace.reading import finite_number, read_text

_US_PER_MS = 1000.0
_NODE = re.compile(r"(?P<id>\S+) -- (?P<description>.*) -- forward_compute_time=(?P<forward>[^,]+), "
                   r"backward_compute_time=(?P<backward>[^,]+), activation_size=(?P<activation>\[[^\]]*\]|[^,]+), "
                   r"parameter_size=(?P<parameter>[^,\s]+)")
_EDGE = re.compile(r"\s+(?P<source>\S+) -- (?P<target>\S+)\s*")


def load_pipedream(path: str | os.PathLike, *, train: bool = True, kind: str | None = None) -> Graph:
    """Reads a profile of PipeDream (Narayanan et al., SOSP 2019), graph.txt: times in milliseconds, sizes in bytes.

    train: each layer also has an op of its backward pass, in the layer's group, which reads the gradients that its consumers'
    backward ops make. kind: the device kind that was profiled; None: any. Input nodes cost nothing, their tensors count as they
    do in PipeDream: nothing. A list of activation sizes is one tensor of their sum.
    """
    nodes: dict[str, dict] = {}
    edges: list[tuple[str, str]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        place = f"{path}:{number}"
        if not line.strip():
            continue
        if edge := _EDGE.fullmatch(line):
            edges.append((edge["source"], edge["target"]))
        elif node := _NODE.match(line):
            if node["id"] in nodes:
                raise BadInput(f"{place}: node '{node['id']}' is there twice, expected each once")
            nodes[node["id"]] = _pipedream_node(node, place)
        else:
            raise BadInput(f"{place}: is '{line.strip()[:60]}', expected a node 'ID -- DESCRIPTION -- forward_compute_time=...' or an "
                           "indented edge 'ID -- ID'")
    if not nodes:
        raise BadInput(f"{path}: has no nodes, expected a profile of PipeDream")
    ops = {}
    for name, node in nodes.items():
        ops[name] = _layer(name, node, node["forward"], kind)
        ops[name]["param_bytes"] = node["parameter"]
    for source, target in dict.fromkeys(edges):
        for name in (source, target):
            if name not in nodes:
                raise BadInput(f"{path}: edge {source} -- {target}: there is no node '{name}'")
        ops[target]["inputs"].append(f"{source}:0")
    if train:
        for name, node in nodes.items():
            if not node["is_input"]:
                ops[name]["group"] = name
                ops[f"{name}/backward"] = _layer(f"{name}/backward", node, node["backward"], kind) | {
                    "group": name, "inputs": [f"{name}:0"]}
        for source, target in dict.fromkeys(edges):
            if not nodes[source]["is_input"]:
                # The gradient of what the source has made is as large as that.
                ops[f"{source}/backward"]["inputs"].append(f"{target}/backward:0")
        largest = {}  # By target, of what it reads.
        for source, target in edges:
            largest[target] = max(largest.get(target, 0), nodes[source]["activation"])
        for name, node in nodes.items():
            if not node["is_input"]:
                ops[f"{name}/backward"]["outputs"] = [{"bytes": largest.get(name, 0)}]
    return Graph.from_ops(pathlib.Path(path).stem, list(ops.values()))


def _layer(name: str, node: dict, time_us: float, kind: str | None) -> dict:
    return {"name": name, "type": node["type"], "cost_us": {kind: time_us} if kind else time_us, "inputs": [],
            "outputs": [{"bytes": node["activation"]}], "attrs": {"name": node["description"]}}


def _pipedream_node(node: re.Match, place: str) -> dict:
    def number(key: str) -> float:
        return finite_number(node[key], f"{place}: {key}", in_text=True)

    description = node["description"]
    is_input = description.startswith("Input")
    sizes = [part for part in re.split(r"[;\s]+", node["activation"].strip("[] ")) if part]
    activation = sum(finite_number(size, f"{place}: activation_size", in_text=True) for size in sizes)
    return {"description": description, "type": re.split(r"[(\s]", description)[0], "is_input": is_input,
            "forward": 0.0 if is_input else number("forward") * _US_PER_MS,
            "backward": 0.0 if is_input else number("backward") * _US_PER_MS,
            "activation": 0 if is_input else round(finite_number(activation, f"{place}: activation_size")),
            "parameter": round(number("parameter"))}
