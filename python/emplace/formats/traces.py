"""Graphs of recorded runs: PyTorch's execution traces (Chakra, schema 1.1) with the times of Kineto's profile of the same run.

    observer = torch.profiler.ExecutionTraceObserver().register_callback("trace.json")
    with torch.profiler.profile(execution_trace_observer=observer) as profile:
        step()
    profile.export_chrome_trace("times.json")
"""
import json
import os
import pathlib
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator

from emplace._core import BadInput, Graph
from emplace.formats.chakra import chakra_graph, is_chakra
from emplace.reading import Unmapped, read_json, read_json_documents

_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def _tensors(value) -> Iterator[tuple[int, int]]:
    """Storage and bytes of each tensor among values; a tensor is [id, storage, offset, elements, bytes of one, device]."""
    if not isinstance(value, list):
        return
    if len(value) == 6 and isinstance(value[5], str) and all(isinstance(part, int) for part in value[:5]):
        yield value[1], value[3] * value[4]
        return
    for item in value:
        yield from _tensors(item)


class _Node:
    """An op of the trace."""

    def __init__(self, node: dict, place: str):
        try:
            attributes = {attribute["name"]: attribute["value"] for attribute in node["attrs"]}
            self.id, self.name, self.parent = node["id"], node["name"], node["ctrl_deps"]
            self.record, self.schema = attributes["rf_id"], attributes.get("op_schema", "")
            self.values, self.results = node["inputs"]["values"], node["outputs"]["values"]
        except KeyError as error:
            raise BadInput(f"{place}: has no {error}, expected a node of an execution trace") from None
        except TypeError:
            raise BadInput(f"{place}: attrs, inputs or outputs are of another form, expected a node of an execution trace") from None
        forms = {"whole number": (int, self.id, self.parent, self.record), "text": (str, self.name, self.schema),
                 "list": (list, self.values, self.results)}
        for form, (kind, *values) in forms.items():
            wrong = [value for value in values if type(value) is not kind]
            if wrong:
                raise BadInput(f"{place}: {json.dumps(wrong[0])[:60]} is no {form}, expected a node of an execution trace")

    def written(self) -> set[int]:
        """Storages that the op changes: those of arguments with ! in its schema, and of results that it did not read."""
        read = {storage for storage, _ in _tensors(self.values)}
        changed = {storage for storage, _ in _tensors(self.results)} - read
        arguments = re.sub(r"\) ->.*", "", self.schema.partition("(")[2]).split(", ")
        for argument, value in zip([text for text in arguments if text != "*"], self.values, strict=False):
            if "!" in argument.split(" ")[0]:
                changed.update(storage for storage, _ in _tensors(value))
        return changed


def _times_us(path: str | os.PathLike) -> tuple[dict[int, float], dict[int, float]]:
    """Microseconds by record function id: of ops on the CPU, and of the GPU's work that each one has started."""
    on_cpu: dict[int, float] = {}
    record_of: dict[int, int] = {}
    on_gpu: dict[int, float] = defaultdict(float)
    events = read_json(path).get("traceEvents")
    if not isinstance(events, list):
        raise BadInput(f"{path}: has no list 'traceEvents', expected what export_chrome_trace of torch.profiler writes")
    try:
        for event in events:
            arguments = event.get("args", {})
            if event.get("cat") == "cpu_op" and "Record function id" in arguments:
                on_cpu[arguments["Record function id"]] = float(event["dur"])
                record_of[arguments.get("External id")] = arguments["Record function id"]
        for event in events:
            external = event.get("args", {}).get("External id")
            if event.get("cat") in _ON_GPU and external in record_of:
                on_gpu[record_of[external]] += float(event["dur"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"{path}: {json.dumps(event)[:100]} is no event as export_chrome_trace of torch.profiler writes it") from None
    return on_cpu, on_gpu


def _nodes_of_ops(nodes: dict[int, _Node]) -> dict[int, list[_Node]]:
    """By id of each outermost op the nodes inside of it, itself included."""
    inside: dict[int, list[_Node]] = defaultdict(list)
    for node in nodes.values():
        outermost, around, seen = None, node, set()
        while around is not None and around.id not in seen:
            seen.add(around.id)
            outermost = around if around.schema else outermost
            around = nodes.get(around.parent)
        if outermost is not None:
            inside[outermost.id].append(node)
    return inside


def load_trace(path: str | os.PathLike, times: str | os.PathLike | None = None, *, kind: str | None = None) -> Graph:
    """Reads an execution trace of PyTorch with the times of the same run, or one of Chakra, which has its times itself.

    Each outermost op (aten::linear with all that it calls) is an op, and takes the time of the GPU's work that it started, or
    where the run has none on a GPU, its time on the CPU. Who reads whose tensors follows from their storages; one that nobody in
    the trace has made is an op `emplace.input`. kind: the device kind on which it ran; None: any. A warning says how many ops
    the times do not have; these cost nothing. A trace of Chakra becomes a graph as `emplace.formats.chakra` says. Files may be compressed
    by gzip. Raises BadInput for files of another form, and where there are no times at all.
    """
    documents = read_json_documents(path)
    if is_chakra(documents):
        return chakra_graph(documents, path, kind)
    root = documents[0] if isinstance(documents[0], dict) else {}
    schema = str(root.get("schema", ""))
    if not schema.startswith("1.1.") or not isinstance(root.get("nodes"), list):
        raise BadInput(f"{path}: schema is '{schema}', expected an execution trace of PyTorch with schema 1.1")
    nodes = {node.id: node for node in (_Node(entry, f"{path}: node {index}") for index, entry in enumerate(root["nodes"]))}
    if times is None:
        raise BadInput(f"{path}: has no times, expected those of the same run, as export_chrome_trace of torch.profiler writes them")
    on_cpu, on_gpu = _times_us(times)
    inside = _nodes_of_ops(nodes)
    ops: list[dict] = []
    writer: dict[int, str] = {}  # By storage: "op:output" of the op that changed it last.
    unknown = 0
    for index in sorted(inside):  # Ids ascend in the order in which ops begin.
        node = nodes[index]
        inputs: list[str] = []
        for storage, size in _tensors(node.values):
            if storage not in writer:
                ops.append({"name": f"storage {storage}", "type": "emplace.input", "cost_us": 0, "outputs": [{"bytes": size}]})
                writer[storage] = f"storage {storage}:0"
            if writer[storage] not in inputs:
                inputs.append(writer[storage])
        unknown += node.record not in on_cpu
        cost_us = sum(on_gpu.get(part.record, 0.0) for part in inside[index]) if on_gpu else on_cpu.get(node.record, 0.0)
        name = f"{node.name} {index}"
        sizes: dict[int, int] = {}
        for storage, size in (*_tensors(node.values), *_tensors(node.results)):
            sizes[storage] = max(size, sizes.get(storage, 0))
        outputs = []
        for storage in sorted(node.written() & sizes.keys()):
            writer[storage] = f"{name}:{len(outputs)}"
            outputs.append({"bytes": sizes[storage]})
        ops.append({"name": name, "type": node.name.replace("::", "."), "cost_us": {kind: cost_us} if kind else cost_us,
                    "inputs": inputs, "outputs": outputs, "attrs": {"record": node.record}})
    if inside and unknown == len(inside):
        raise BadInput(f"{times}: has no time for any op of {path}, expected the profile of the same run")
    if unknown:
        warnings.warn(f"{path}: {times} has no time for {unknown} of {len(inside)} ops; they cost nothing", Unmapped, stacklevel=2)
    return Graph.from_ops(pathlib.Path(path).stem, ops)
