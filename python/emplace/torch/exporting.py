"""PyTorch's flags by which models know that they are exported: they then leave out what looks at the values of tensors."""
import contextlib
from collections.abc import Iterator

from torch import compiler

# Private names of PyTorch, there from 2.7 to 2.11 at least; torch.export sets both.
_FLAGS = ("_is_compiling_flag", "_is_exporting_flag")


def has_exporting_flags() -> bool:
    return all(isinstance(getattr(compiler, flag, None), bool) for flag in _FLAGS)


@contextlib.contextmanager
def exporting_flags() -> Iterator[None]:
    """Meanwhile torch.compiler.is_compiling() and is_exporting() say yes. Only where has_exporting_flags()."""
    before = [getattr(compiler, flag) for flag in _FLAGS]
    try:
        for flag in _FLAGS:
            setattr(compiler, flag, True)
        yield
    finally:
        for flag, value in zip(_FLAGS, before, strict=True):
            setattr(compiler, flag, value)
