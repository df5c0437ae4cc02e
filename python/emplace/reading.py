"""Reading other people's files."""
import json
import os
import pathlib

from emplace._core import BadInput


def read_text(path: str | os.PathLike) -> str:
    """Raises BadInput for a file that cannot be read, or that is no text in UTF-8."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read: byte {error.start} is no text in UTF-8") from error


def read_json(path: str | os.PathLike) -> dict:
    """The file's object; an empty one where it holds something else. Raises BadInput for what is no JSON."""
    try:
        root = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}:{error.colno}: is no JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply") from None
    return root if isinstance(root, dict) else {}
