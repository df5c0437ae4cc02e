"""A graph from the ops of one micro-batch: its copies, what they share, the sums of their gradients, and the updates.

Ops of their own kinds, besides those of ATen (`attrs` says which one of the model's):
- emplace.parameter, attrs.name: a parameter or buffer, resident with the optimizer's state; attrs.frozen where it is not trained;
  with replicas there is one for each micro-batch, and the update has the state, and a value of its own that it changes;
- emplace.input, attrs.name, and attrs.slice = [part, parts] for the part of a micro-batch, resident as the caller holds it;
- emplace.constant, attrs.name, value, dtype: a tensor that the model's code holds;
- emplace.output, attrs.index: the loss, or a tensor of the model's output; attrs.structure of the first says how they make it up,
  attrs.modes whether modules were in training mode (by name, where it differs from the one around it; the model is "");
- emplace.gradient, attrs.name: the whole gradient of a parameter;
- emplace.buffer, attrs.name: the new value of a buffer;
- emplace.update, attrs.name: the optimizer's update of a parameter;
- emplace.refresh, attrs.name: a replica takes the updated value, or, without updates, the whole gradient.
"""
from emplace._core import OpClass
from emplace.dataflow import UniqueNames
from emplace.torch.calls import json_of_tensor, name_of_dtype
from emplace.torch.costs import CostModel, bytes_of
from emplace.torch.lowering import MicroBatch, MicroOp, Ref, Source, output_of, read
from emplace.torch.tracing import Trace

_ALIAS = "aten.alias.default"


class Assembly:
    """Builds the ops of a graph's file. One object, one build.

    optimizer_slots: numbers of the optimizer's state for each number of a parameter; None: no updates. replicas: as of capture.
    """

    def __init__(self, trace: Trace, micro: MicroBatch, costs: CostModel, argument_names: list[str], split: list[bool],
                 optimizer_slots: int | None, replicas: bool):
        self._trace, self._micro, self._costs = trace, micro, costs
        self._argument_names, self._split = argument_names, split
        self._slots, self._replicas = optimizer_slots, replicas
        self._ops: list[dict] = []
        self._names = UniqueNames()
        # Per micro-batch: where what a Ref of it points to is, as (name of an op, output).
        self._shared: dict[tuple, tuple[str, int]] = {}  # Likewise, of what all micro-batches share.
        self._places: list[dict[tuple, tuple[str, int]]] = []
        self._residents: set[str] = set()  # Ops of parameters and buffers.
        self._readers: dict[tuple[str, int], list[str]] = {}  # Ops of the micro-batches that read them.
        self._buffer_now: dict[str, tuple[tuple[str, int], tuple]] = {}

    def build(self, train: bool, parts: int) -> list[dict]:
        """train, parts: as of capture."""
        self._add_shared()
        for part in range(parts):
            self._add_part(part, parts)
        if train:
            self._add_sum("loss", [self._at(part, self._micro.outputs[0]) for part in range(parts)],
                          self._trace.outputs[0].meta["val"], "emplace.output", self._output_attrs(0), "")
        else:
            self._add_outputs()
        for name, ref in self._micro.gradients.items():
            tensor = self._trace.parameters[name].meta["val"]
            gradient = self._add_sum(f"{name}/gradient", [self._at(part, ref) for part in range(parts)], tensor, "emplace.gradient",
                                     {"name": name}, _group(name))
            updated = gradient if self._slots is None else self._add_update(name, gradient, tensor, self._slots)
            if self._replicas:
                self._add_refreshes(name, updated, output_of(tensor))
        for name in self._micro.new_buffers:
            tensor = self._trace.buffers[name].meta["val"]
            self._add_alias(f"{name}/new", [self._buffer_now[name]], output_of(tensor), "emplace.buffer", {"name": name},
                            _group(name))
        return self._ops

    def _add(self, name: str, **fields) -> str:
        """Adds an op under this name, or one like it if that is taken; returns the name."""
        unique = self._names.take(name)
        self._ops.append({"name": unique} | {key: value for key, value in fields.items() if value not in (None, "", [], {})}
                         | {"cost_us": fields.get("cost_us", 0)})
        return unique

    def _add_residents(self, part: int | None, prefix: str) -> None:
        """A micro-batch's replicas of parameters and buffers; part None: the parameters and buffers that all micro-batches share."""
        replicas = part is not None
        places = self._shared if part is None else self._places[part]
        for kind, nodes in (("parameter", self._trace.parameters), ("buffer", self._trace.buffers)):
            for name, node in nodes.items():
                changes = name in self._trace.new_buffers  # From one micro-batch to the next one.
                if (self._replicas and not changes) != replicas:
                    continue
                trained = name in self._trace.gradients
                state = (self._slots or 0) if trained and not replicas else 0
                tensor = node.meta["val"]
                key = (Source(kind, name), 0)
                added = self._add(prefix + name, type="emplace.parameter", outputs=[_resident(tensor)],
                                  param_bytes=bytes_of(tensor) * (1 + state),
                                  copy_of=self._places[0][key][0] if part else None,
                                  group=prefix + _group(name) if trained or changes else "",
                                  attrs={"name": name} | ({"frozen": True} if name in self._trace.frozen else {}))
                self._residents.add(added)
                places[key] = (added, 0)

    def _add_shared(self) -> None:
        self._add_residents(None, "")
        shared = self._shared
        for name, value in self._micro.constants.items():
            added = self._add(name, type="emplace.constant", outputs=[_resident(value)], param_bytes=bytes_of(value),
                              attrs={"name": name, "value": json_of_tensor(value), "dtype": name_of_dtype(value.dtype)})
            shared[Source("constant", name), 0] = (added, 0)
        for index, node in self._trace.arguments.items():
            if not self._split[index]:
                shared[Source("argument", index), 0] = (self._add_input(index, self._argument_names[index], node, None, None), 0)

    def _add_input(self, index: int, op_name: str, node, part: list[int] | None, copy_of: str | None) -> str:
        attrs = {"name": self._argument_names[index]} | ({"slice": part} if part else {})
        tensor = node.meta["val"]
        return self._add(op_name, type="emplace.input", outputs=[_resident(tensor)], param_bytes=bytes_of(tensor), attrs=attrs,
                         copy_of=copy_of)

    def _add_part(self, part: int, parts: int) -> None:
        prefix = _prefix(part, parts)
        places = dict(self._shared)
        self._places.append(places)
        first = self._places[0]
        self._add_residents(part, prefix)
        for index, node in self._trace.arguments.items():
            if self._split[index]:
                key = (Source("argument", index), 0)
                places[key] = (self._add_input(index, prefix + self._argument_names[index], node, [part, parts],
                                               first[key][0] if part else None), 0)
        for index, op in enumerate(self._micro.ops):
            inputs: list[tuple[str, int]] = []
            moves: list[tuple[int, tuple]] = []
            for ref in op.inputs:
                place, views = self._at(part, ref)
                moves.append((inputs.index(place) if place in inputs else len(inputs), views))
                if place not in inputs:
                    inputs.append(place)
            waits = [f"^{places[other, 0][0]}" for other in op.after]
            added = self._add(prefix + op.name, type=op.type, cost_us=op.cost_us, inputs=_texts(inputs) + waits, outputs=op.outputs,
                              flops=op.flops, temp_bytes=op.temp_bytes or None, copy_of=first[index, 0][0] if part else None,
                              group=prefix + op.group if op.group else "",
                              attrs={"pass": "backward" if op.backward else "forward", "module": op.module}, call=_moved(op, moves))
            for place in inputs:
                if place[0] in self._residents:
                    self._readers.setdefault(place, []).append(added)
            for output in range(max(1, len(op.outputs))):
                places[index, output] = (added, output)
        for name, ref in self._micro.new_buffers.items():
            self._buffer_now[name] = self._at(part, ref)

    def _at(self, part: int, ref: Ref) -> tuple[tuple[str, int], tuple]:
        """Where a tensor of a micro-batch is, and the views through which it is seen."""
        if isinstance(ref.producer, Source) and ref.producer.kind == "buffer" and part > 0:
            # The buffer as the micro-batch before has left it; its own new value is not there yet.
            earlier = self._micro.new_buffers.get(ref.producer.name)
            if earlier is not None:
                place, views = self._at(part - 1, earlier)
                return place, views + ref.views
        return self._places[part][ref.tensor], ref.views

    def _add_sum(self, name: str, terms: list, tensor, op_type: str, attrs: dict, group: str) -> str:
        """Ops that add the terms up one after the other; one term is only passed on. Returns the name of the last."""
        output = output_of(tensor)
        if len(terms) == 1:
            return self._add_alias(name, terms, output, op_type, attrs, group)
        total = terms[0]
        cost_us = self._costs.cost_us(OpClass.ELEMENTWISE, tensor.element_size() == 2, tensor.numel(), 3 * bytes_of(tensor))
        for index, term in enumerate(terms[1:], 1):
            last = index == len(terms) - 1
            inputs: list[Ref] = []
            args = [read(_as_ref(place), inputs) for place in (total, term)]
            added = self._add(name if last else f"{name}/{index}", type=op_type if last else "aten.add", cost_us=cost_us,
                              inputs=_texts([ref.producer for ref in inputs]), outputs=[output], flops=tensor.numel(), group=group,
                              attrs=attrs if last else {}, call={"op": "aten.add.Tensor", "args": args, "kwargs": {}})
            total = ((added, 0), ())
        return added

    def _add_alias(self, name: str, terms: list, output: dict, op_type: str, attrs: dict, group: str) -> str:
        inputs: list[Ref] = []
        call = {"op": _ALIAS, "args": [read(_as_ref(terms[0]), inputs)], "kwargs": {}}
        return self._add(name, type=op_type, inputs=_texts([ref.producer for ref in inputs]), outputs=[output], group=group,
                         attrs=attrs, call=call)

    def _add_update(self, name: str, gradient: str, tensor, slots: int) -> str:
        # Reads parameter, gradient and state, and writes all but the gradient.
        moved = bytes_of(tensor) * (3 + 2 * slots)
        cost_us = self._costs.cost_us(OpClass.ELEMENTWISE, tensor.element_size() == 2, (2 + 4 * slots) * tensor.numel(), moved)
        fields = {"cost_us": cost_us, "flops": (2 + 4 * slots) * tensor.numel(), "group": _group(name), "attrs": {"name": name}}
        if self._replicas:
            return self._add(f"{name}/update", type="emplace.update", inputs=_texts([(gradient, 0)]), outputs=[output_of(tensor)],
                             param_bytes=bytes_of(tensor) * (1 + slots), **fields)
        parameter = self._shared[Source("parameter", name), 0]
        return self._add(f"{name}/update", type="emplace.update",
                         inputs=_texts([parameter, (gradient, 0)]) + self._waits_for_readers(parameter), **fields)

    def _waits_for_readers(self, resident: tuple[str, int]) -> list[str]:
        """What changes a parameter waits for all that read its old value."""
        return [f"^{reader}" for reader in self._readers.get(resident, ())]

    def _add_refreshes(self, name: str, updated: str, output: dict) -> None:
        """Each replica gets what all of them need for the next step. It costs the transfer: what arrives is there to be used."""
        fields = {} if self._slots is not None else {"outputs": [output], "call": {"op": _ALIAS, "args": [{"in": 0}], "kwargs": {}}}
        first = None
        for part, places in enumerate(self._places):
            replica = places[Source("parameter", name), 0]
            prefix = _prefix(part, len(self._places))
            added = self._add(f"{prefix}{name}/refresh", type="emplace.refresh", copy_of=first, group=prefix + _group(name),
                              inputs=_texts([(updated, 0)]) + self._waits_for_readers(replica), attrs={"name": name}, **fields)
            first = first or added

    def _add_outputs(self) -> None:
        for index, (ref, node) in enumerate(zip(self._micro.outputs, self._trace.outputs, strict=True)):
            self._add_alias(f"output{index}", [self._at(0, ref)], output_of(node.meta["val"]), "emplace.output",
                            self._output_attrs(index), "")

    def _output_attrs(self, index: int) -> dict:
        if index > 0:
            return {"index": index}
        structure = {"structure": self._trace.structure} if self._trace.structure else {}
        return {"index": index, "modes": self._trace.modes} | structure


def _resident(tensor) -> dict:
    """An output that is there before and after the step: it is the op's param_bytes themselves."""
    return output_of(tensor) | {"resident": True}


def _prefix(part: int, parts: int) -> str:
    return f"part{part}/" if parts > 1 else ""


def _group(name: str) -> str:
    return f"parameter {name}"


def _texts(places: list[tuple[str, int]]) -> list[str]:
    return [f"{name}:{output}" for name, output in places]


def _as_ref(place: tuple) -> Ref:
    where, views = place
    return Ref(where, 0, views)


def _moved(op: MicroOp, moves: list[tuple[int, tuple]]) -> dict:
    """The op's call with input i at moves[i][0], seen first through the views of moves[i][1]."""
    def move(value):
        if isinstance(value, list):
            return [move(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "in" in value:
            index, views = moves[value["in"]]
            every = [[name, list(args)] for name, args in views] + value.get("views", [])
            return {"in": index} | ({"views": every} if every else {})
        return {key: move(item) for key, item in value.items()} if "list" in value else value

    call = op.call
    return {"op": call["op"], "args": [move(arg) for arg in call["args"]],
            "kwargs": {name: move(arg) for name, arg in call["kwargs"].items()}}
