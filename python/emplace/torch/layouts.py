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
    for node in list(graph.nodes):
        for index in _IMAGES.get(node.target, ()):
            image = node.args[index].meta["val"]
            if image.dim() < 4 or image.size(0) != 1 or image.is_contiguous():
                continue
            with graph.inserting_before(node):
                copy = graph.call_function(torch.ops.aten.clone.default, (node.args[index],), {"memory_format": torch.contiguous_format})
            copy.meta = node.meta | {"val": image.clone(memory_format=torch.contiguous_format)}
            node.update_arg(index, copy)
