"""Workloads of dnn-partitioning."""
import json
import os
import pathlib

from emplace._core import BadInput, Graph
from emplace.reading import finite_number, read_json

_US_PER_MS = 1000.0


def load_partitioning(path: str | os.PathLike, *, bandwidth_bytes_per_us: float, accelerator: str = "gpu", cpu: str = "cpu",
                      time_unit_us: float = _US_PER_MS) -> Graph:
    """Reads a workload of dnn-partitioning (Tarnawski et al., NeurIPS 2020), JSON.

    The format has times of transfers, not sizes: a tensor gets as many bytes as links of this bandwidth send in that time.
    accelerator, cpu: device kinds that its fpgaLatency and cpuLatency are for. time_unit_us: length of its unit of time. A node's
    `size` is its param_bytes, and its colorClass its group. Numbers and sizes of devices are left out: they belong to a machine.
    """
    root = read_json(path)
    if not isinstance(root.get("nodes"), list) or not isinstance(root.get("edges"), list):
        raise BadInput(f"{path}: has no lists 'nodes' and 'edges', expected a workload of dnn-partitioning")
    ops: dict = {}
    for index, node in enumerate(root["nodes"]):
        place = f"{path}: node {index}"
        missing = {"id", "cpuLatency", "fpgaLatency", "supportedOnFpga"} - set(node if isinstance(node, dict) else ())
        if missing:
            raise BadInput(f"{place} has no '{min(missing)}'")
        if not isinstance(node["id"], (int, str)):
            raise BadInput(f"{place}: id is {json.dumps(node['id'])}, expected a number or a text")
        if node["id"] in ops:
            raise BadInput(f"{place}: id {node['id']} is used twice")
        cost_us = {cpu: finite_number(node["cpuLatency"], f"{place}: cpuLatency") * time_unit_us}
        if node["supportedOnFpga"]:
            cost_us[accelerator] = finite_number(node["fpgaLatency"], f"{place}: fpgaLatency") * time_unit_us
        op = {"name": str(node["id"]), "cost_us": cost_us, "inputs": [], "outputs": [{"bytes": 0}],
              "param_bytes": round(finite_number(node.get("size", 0), f"{place}: size")),
              "attrs": {"name": str(node.get("name", node["id"])), "pass": "backward" if node.get("isBackwardNode") else "forward"}}
        if node.get("colorClass") is not None:
            op["group"] = f"color {node['colorClass']}"
        ops[node["id"]] = op
    for index, edge in enumerate(root["edges"]):
        place = f"{path}: edge {index}"
        for key in ("sourceId", "destId"):
            if not isinstance(edge, dict) or not isinstance(edge.get(key), (int, str)) or edge[key] not in ops:
                raise BadInput(f"{place}: {key} is {json.dumps(edge.get(key) if isinstance(edge, dict) else edge)}, expected the id of a node")
        source, target = ops[edge["sourceId"]], ops[edge["destId"]]
        size = round(finite_number(finite_number(edge.get("cost", 0), f"{place}: cost") * time_unit_us * bandwidth_bytes_per_us,
                                   f"{place}: cost in bytes"))
        # All edges of a node are the same tensor.
        source["outputs"][0]["bytes"] = max(source["outputs"][0]["bytes"], size)
        text = f"{source['name']}:0"
        if text not in target["inputs"]:
            target["inputs"].append(text)
    return Graph.from_ops(pathlib.Path(path).stem, list(ops.values()))
