"""Task graphs of the Standard Task Graph Set (Tobita and Kasahara, 2002), *.stg."""
import os
import pathlib

from emplace._core import BadInput, Graph
from emplace.reading import finite_number, read_text


def load_stg(path: str | os.PathLike, *, time_unit_us: float = 1.0) -> Graph:
    """Reads a task graph of the Standard Task Graph Set, in its format without communication.

    The first line has the number of tasks. Each further one is a task: its number, its processing time, the number of its
    predecessors, and theirs. What follows a # is a comment. The two tasks of no time, with which each graph of the set begins and
    ends, are not counted. Tasks wait for their predecessors and receive nothing. time_unit_us: length of a unit of time in microseconds.
    """
    lines = [(number, line.split("#")[0].split()) for number, line in enumerate(read_text(path).splitlines(), 1)]
    lines = [(f"{path}:{number}", words) for number, words in lines if words]
    if not lines or len(lines[0][1]) != 1:
        raise BadInput(f"{path}: begins with no number of tasks, expected a graph of the Standard Task Graph Set")
    count = _whole(lines[0][1][0], lines[0][0])
    if len(lines) - 1 not in (count, count + 2):
        raise BadInput(f"{path}: has {len(lines) - 1} tasks, expected {count + 2}, or {count} without the first and last one of no time")
    ops: dict[int, dict] = {}
    for place, words in lines[1:]:
        if len(words) < 3 or len(words) != 3 + _whole(words[2], place):
            raise BadInput(f"{place}: has {len(words)} numbers, expected a task, its time, the number of its predecessors, and these")
        task = _whole(words[0], place)
        if task in ops:
            raise BadInput(f"{place}: task {task} is there twice")
        ops[task] = {"name": str(task), "cost_us": finite_number(words[1], f"{place}: the time", in_text=True) * time_unit_us,
                     "inputs": list(dict.fromkeys(f"^{_whole(word, place)}" for word in words[3:]))}
    for (place, _), op in zip(lines[1:], ops.values(), strict=True):
        for before in op["inputs"]:
            if int(before[1:]) not in ops:
                raise BadInput(f"{place}: there is no task {before[1:]}")
    return Graph.from_ops(pathlib.Path(path).stem, list(ops.values()))


def _whole(word: str, place: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise BadInput(f"{place}: is '{word[:60]}', expected a whole number of at least 0")
    return int(word)
