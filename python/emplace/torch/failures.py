"""Why a model cannot be captured, as one line: module, op, reason, and what to do."""
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from emplace.reading import described
from emplace.torch.running import Running

# Words of errors that PyTorch does not mean for its users.
_INTERNAL = ("INTERNAL ASSERT", "please report a bug", "Expected a proxy", "not tracked with proxy")


def describe_failure(error: Exception, running: Running, op: str) -> str:
    """running: at the time of the error; op: the last one that was begun, "" if there was none."""
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return (f"{running}: {error.func} needs the values of tensors, which a graph does not have; expected control flow and shapes that "
                "depend on shapes alone")
    if isinstance(error, AssertionError) and _is_of_torch(error) or any(words in str(error) for words in _INTERNAL):
        return (f"{running} cannot be captured: PyTorch fails inside, after {op or 'no op'} ({described(error)}); "
                "expected a model without what torch.export cannot do: write this module without it, or capture it apart")
    return f"{running} cannot be captured: {described(error)}" + (f" (after {op})" if op else "")


def _is_of_torch(error: Exception) -> bool:
    """Whether an error was raised in PyTorch's own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("torch.")
