"""Which module runs while a model is recorded, noted in each node of the FX graph, and which module's backward pass a node is of.

A forward op belongs to the module that was running, and so does an op that gradient checkpointing computes again. A backward op
belongs to the module of its forward op, which autograd's sequence numbers tell.
"""
import bisect
import contextlib
from collections.abc import Iterator

from torch import fx, nn
from torch.fx import traceback

from emplace.torch.captured_model import module_text

# Fields of a node's meta that PyTorch copies from the current meta to each new node: (name,) of the module, and a Regions.
_MODULE, _REGIONS = "nn_module_stack", "ac_graph_id"
Regions = tuple[tuple[int, ...], tuple[int, ...]]


class Running:
    """The module that runs now, by hooks, and the calls of gradient checkpointing around it."""

    def __init__(self, model: nn.Module):
        self.stack: list[str] = []
        self._regions: Regions = (), ()
        self._num_regions = 0
        self._handles = []
        for name, module in model.named_modules():
            self._handles.append(module.register_forward_pre_hook(lambda *_, name=name: self._enter(name)))
            self._handles.append(module.register_forward_hook(lambda *_: self._leave()))

    def _enter(self, name: str) -> None:
        self.stack.append(name)
        self._note()

    def _leave(self) -> None:
        # Without a result: what a hook returns replaces the module's output.
        self.stack.pop()
        self._note()

    def _note(self) -> None:
        meta = traceback.current_meta
        for field, value in ((_MODULE, {"": (self.stack[-1], "")} if self.stack else {}),
                             (_REGIONS, self._regions if any(self._regions) else ())):
            if value:
                meta[field] = value
            else:
                meta.pop(field, None)

    def new_region(self) -> int:
        """Number of one more call of gradient checkpointing."""
        self._num_regions += 1
        return self._num_regions

    @contextlib.contextmanager
    def within(self, region: int, stack: list[str] | None = None) -> Iterator[None]:
        """Meanwhile a call of gradient checkpointing computes; for the second time where `stack` says which modules were running."""
        before = self.stack, self._regions
        first, again = self._regions
        if stack is None:
            self._regions = (*first, region), again
        else:
            self.stack, self._regions = list(stack), (first, (*again, region))
        self._note()
        try:
            yield
        finally:
            if stack is not None:  # Where enough is computed, an exception ends it in the middle of modules.
                self.stack = before[0]
            self._regions = before[1]
            self._note()

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        for field in (_MODULE, _REGIONS):
            traceback.current_meta.pop(field, None)

    def __str__(self) -> str:
        return module_text(self.stack[-1] if self.stack else "")


def regions_of(node: fx.Node) -> Regions:
    """The calls of gradient checkpointing in which a node was recorded, from outside in: for the first time, and for the second."""
    return node.meta.get(_REGIONS, ((), ()))


def is_backward(node: fx.Node) -> bool:
    return node.meta.get("partitioner_tag") == "is_backward"


def modules_of(graph: fx.Graph) -> dict[fx.Node, str]:
    """The name of each node's module; "" is the model. Where autograd adds gradients up, it is the module that gave the last one."""
    forward: dict[int, str] = {}  # By autograd's sequence number: the first op of a number is the one that it is for.
    modules: dict[fx.Node, str] = {}
    for node in graph.nodes:
        if _MODULE in node.meta:
            modules[node] = node.meta[_MODULE][""][0]
        elif not is_backward(node):
            modules[node] = ""
        if node in modules and not is_backward(node) and node.meta.get("seq_nr") is not None:
            forward.setdefault(node.meta["seq_nr"], modules[node])
    numbers = sorted(forward)
    last = ""
    for node in graph.nodes:
        if node in modules:
            continue
        number = node.meta.get("seq_nr")
        if number is not None and not node.meta.get("is_gradient_acc") and numbers:
            # A forward op that is no node of the graph has the number after that of the one before.
            last = forward[numbers[max(0, bisect.bisect_right(numbers, number) - 1)]]
        modules[node] = last
    return modules
