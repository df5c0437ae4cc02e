"""Files of somebody else's repository: found by name, and read with one line about what is wrong."""
import csv
import io
import os
import pathlib

from emplace._core import BadInput
from emplace.reading import read_text

_LFS = "version https://git-lfs.github.com"  # A file that Git LFS keeps elsewhere begins so.


def files_named(path: str | os.PathLike, name: str, expected: str) -> list[pathlib.Path]:
    """`path` itself where it is a file, else all files of this name in the folder. Raises BadInput where there is none."""
    root = pathlib.Path(path)
    if not root.exists():
        raise BadInput(f"{root}: there is no such file or folder, expected {expected}")
    found = [root] if root.is_file() else sorted(root.rglob(name))
    if not found:
        raise BadInput(f"{root}: holds no file {name}, expected {expected}")
    return found


def refuse_pointer(path: pathlib.Path) -> None:
    """Raises BadInput for a file of Git LFS whose content is not there, and for an empty one."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_LFS))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if head == _LFS.encode():
        raise BadInput(f"{path}: is a pointer of Git LFS, expected the file itself (`git lfs pull` fetches it)")
    if not head:
        raise BadInput(f"{path}: is empty")


def read_rows(path: pathlib.Path, columns: set[str]) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises BadInput where there is none, or a column is missing."""
    refuse_pointer(path)
    reader = csv.DictReader(io.StringIO(read_text(path)))
    try:
        check_columns(path, reader.fieldnames or (), columns)
        rows = list(reader)
    except csv.Error as error:  # Such as a field of more than 131,072 characters.
        raise BadInput(f"{path}:{reader.reader.line_num}: is no CSV file: {error}") from None
    if not rows:
        raise BadInput(f"{path}: has no rows")
    return rows


def check_columns(path: pathlib.Path, found, columns: set[str]) -> None:
    """Raises BadInput where a column is missing."""
    missing = sorted(columns - set(found))
    if missing:
        raise BadInput(f"{path}: has no column '{missing[0]}', expected {', '.join(sorted(columns))}")


def number(row: dict[str, str], column: str, place: str) -> int:
    """A count of at least 1 in a row. Raises BadInput for anything else."""
    try:
        value = int(row[column])
    except (TypeError, ValueError):
        value = 0
    if value < 1:
        raise BadInput(f"{place}: {column} is '{row[column]}', expected a whole number of at least 1")
    return value
