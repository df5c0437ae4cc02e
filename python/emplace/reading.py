"""Reading other people's files."""
import importlib.util
import json
import os
import pathlib
import sys
import types

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


def import_file(path: str | os.PathLike) -> types.ModuleType:
    """Runs a Python file, which may import its neighbours. Raises BadInput for one that there is not, or that fails."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        raise BadInput(f"{path}: is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except BadInput:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadInput(f"{path}: failed: {type(error).__name__}: {reason}") from error
    return module
