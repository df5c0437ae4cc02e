"""Recorded workflows of WfCommons in its WfFormat 1.5, such as those of WfInstances."""
import os
import pathlib

from emplace._core import BadInput, Graph
from emplace.reading import finite_number, read_json

_US_PER_S = 1e6


def load_wfcommons(path: str | os.PathLike) -> Graph:
    """Reads a recorded workflow of WfCommons, WfFormat 1.5, JSON. The file may be compressed by gzip.

    Each task is an op of its recorded runtime, and each file that it writes is a tensor of the file's size, which the tasks that read it
    receive. A task also waits for its parents. Files that no task writes cost nothing. Cores and memory of tasks, and the machines on
    which they ran, are left out.
    """
    workflow = read_json(path).get("workflow")
    try:
        tasks, runs, files = workflow["specification"]["tasks"], workflow["execution"]["tasks"], workflow["specification"].get("files", [])
        seconds = {run["id"]: run.get("runtimeInSeconds") for run in runs}
        bytes_of = {file["id"]: file["sizeInBytes"] for file in files}
        names = [task["id"] for task in tasks]
        reads, writes, parents = ([_texts(task.get(key, [])) for task in tasks] for key in ("inputFiles", "outputFiles", "parents"))
        _texts(names)
    except (KeyError, TypeError, AttributeError):
        raise BadInput(f"{path}: is no recorded workflow, expected WfCommons' WfFormat 1.5 with a specification and an execution") from None
    tensors: dict[str, str] = {}
    for name, written in zip(names, writes, strict=True):
        for index, file in enumerate(written):
            if file in tensors:
                raise BadInput(f"{path}: task {name} writes {file}, which {tensors[file].rpartition(':')[0]} writes, too")
            tensors[file] = f"{name}:{index}"
    ops = []
    for index, (name, task) in enumerate(zip(names, tasks, strict=True)):
        place = f"{path}: task {name}"
        inputs = [tensors[file] for file in reads[index] if file in tensors]
        senders = {tensor.rpartition(":")[0] for tensor in inputs}
        inputs += [f"^{parent}" for parent in parents[index] if parent not in senders]
        ops.append({"name": name, "type": str(task.get("name", "")), "inputs": list(dict.fromkeys(inputs)),
                    "cost_us": finite_number(seconds.get(name), f"{place}: runtimeInSeconds") * _US_PER_S,
                    "outputs": [{"bytes": round(finite_number(bytes_of.get(file), f"{place}: the size of {file}"))} for file in writes[index]]})
    return Graph.from_ops(pathlib.Path(path).name.partition(".")[0], ops)


def _texts(value) -> list[str]:
    """The value. Raises TypeError where it is no list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError
    return value
