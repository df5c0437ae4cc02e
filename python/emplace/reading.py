"""Reading other people's files."""
import gzip
import importlib.util
import json
import math
import os
import pathlib
import re
import sys
import types
import zlib
from typing import Any

from emplace._core import BadInput


_GZIP = b"\x1f\x8b"
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_SPACE = re.compile(r"\s*")


def read_text(path: str | os.PathLike) -> str:
    """The file's text, also of one that gzip has compressed. Raises BadInput where it cannot be read, or is no text in UTF-8."""
    try:
        data = pathlib.Path(path).read_bytes()
        return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read: byte {error.start} is no text in UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def first_line(error: Exception) -> str:
    """The first line of an error's text that says something, or its type."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def described(error: BaseException) -> str:
    """An error's type with the first line of its text, if it has one."""
    kind, line = type(error).__name__, first_line(error)
    return kind if line == kind else f"{kind}: {line}"


def failed(place: str | os.PathLike, error: BaseException) -> BadInput:
    """What to raise where code of the user at this place has raised an error."""
    return BadInput(f"{place}: failed: {described(error)}")


class Unmapped(UserWarning):
    """What is not in the graph of an import, or is there otherwise than its user may think."""


def finite_number(value: Any, place: str, *, in_text: bool = False) -> float:
    """The value of a JSON file as a number. Raises BadInput where it is none, below 0 or infinite; place: names it. in_text: it may be a
    number that stands in a text."""
    is_number = isinstance(value, (int, float, str) if in_text else (int, float)) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except (OverflowError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise BadInput(f"{place} is {json.dumps(value)[:60]}, expected a finite number of at least 0")
    return number


class _KeyTwiceError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _KeyTwiceError
    return made


def _key_twice(text: str) -> tuple[int, str]:
    """Offset and text of the first key of a JSON text that its object has already had."""
    keys: list[set[str]] = []
    for token in _TOKENS.finditer(text):
        if token[0] == "{":
            keys.append(set())
        elif token[0] == "}":
            keys.pop()
        elif keys and text.startswith(":", _SPACE.match(text, token.end()).end()):
            key = json.loads(token[0])
            if key in keys[-1]:
                return token.start(), token[0]
            keys[-1].add(key)
    raise AssertionError("no key is there twice")


def read_json_documents(path: str | os.PathLike) -> list:
    """The JSON values that a file holds one after the other. Raises BadInput for what is no JSON, and for a key given twice."""
    text = read_text(path)
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    found, at = [], _SPACE.match(text).end()
    try:
        while at < len(text) or not found:
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            at = _SPACE.match(text, at).end()
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}:{error.colno}: is no JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply") from None
    except _KeyTwiceError:
        offset, key = _key_twice(text)
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        raise BadInput(f"{path}:{line}:{column}: key {key} is given twice, expected once") from None
    except ValueError:  # What json lets through of Python's int().
        raise BadInput(f"{path}: has a whole number of thousands of digits, expected none of more than 4,300") from None
    return found


def read_json(path: str | os.PathLike) -> dict:
    """The file's object. Raises BadInput where it holds something else, and as `read_json_documents` does."""
    documents = read_json_documents(path)
    if len(documents) > 1:
        raise BadInput(f"{path}: holds {len(documents)} JSON values one after the other, expected one")
    if not isinstance(documents[0], dict):
        raise BadInput(f"{path}: holds {json.dumps(documents[0])[:60]}, expected an object of JSON")
    return documents[0]


def import_file(path: str | os.PathLike) -> types.ModuleType:
    """Runs a Python file, which may import its neighbours. Raises BadInput for one that there is not, or that fails."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"_emplace_file_{path.stem}", path)
    if spec is None:
        raise BadInput(f"{path}: is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[spec.name] = module  # What looks its module up, such as a dataclass, finds it.
    try:
        spec.loader.exec_module(module)
    except BadInput:
        del sys.modules[spec.name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise failed(path, error) from error
    return module
