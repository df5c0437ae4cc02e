"""Copies that a step needs since strides of fake tensors differ from those of real ones where a size is 1."""
import torch
from torch import fx

# Ops that refuse images (dimension 4 and up) whose strides are not those of their layout, and which of their arguments those are.
_IMAGES = {torch.ops.aten.native_group_norm.default: (0,), torch.ops.aten.native_group_norm_backward.default: (0, 1)}


def copy_ambiguous_images(graph: fx.Graph) -> None:
    """Has single images come to these ops in a layout that is plain to see.

    A single image that was made by a transpose, such as what attention gives back, may count as one of layout channels-last or as one
    of no layout, by a stride that addresses nothing. PyTorch copies it where it counts as the latter. Fake tensors have another such
    stride than real ones, so that the copy is not recorded, and the op would fail.
    """
    copies: dict[fx.Node, fx.Node] = {}  # The backward op reads the forward op's copy, as autograd has it.
    for node in list(graph.nodes):
        for index in _IMAGES.get(node.target, ()):
            source = node.args[index]
            image = source.meta["val"]
            if image.dim() < 4 or image.size(0) != 1 or image.is_contiguous():
                continue
            if source not in copies:
                layout = {"memory_format": torch.contiguous_format}
                with graph.inserting_before(node):
                    copies[source] = graph.call_function(torch.ops.aten.clone.default, (source,), layout)
                copies[source].meta = node.meta | {"val": image.clone(**layout)}
            node.update_arg(index, copies[source])
