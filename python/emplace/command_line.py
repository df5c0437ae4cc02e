"""What the commands that need Python have in common."""
import argparse
import importlib.util
import pathlib
import sys
from typing import NoReturn

from emplace._core import BadInput


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog.removeprefix('emplace ')}: {message} (see --help)")


def call_factory(text: str) -> tuple:
    """(model, args, kwargs) of what the function of FILE.py:FACTORY returns."""
    path, _, name = text.rpartition(":")
    if not path or not name.isidentifier():
        raise BadInput(f"'{text}' is no FILE.py:FACTORY, such as model.py:make")
    if not pathlib.Path(path).is_file():
        raise BadInput(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None:
        raise BadInput(f"{path}: is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))  # It may import its neighbours.
    try:
        spec.loader.exec_module(module)
        if not callable(getattr(module, name, None)):
            raise BadInput(f"{path}: has no function '{name}'")
        made = getattr(module, name)()
    except BadInput:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadInput(f"{text}: failed: {type(error).__name__}: {reason}") from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise BadInput(f"{text}: returned a {type(made).__name__}, expected (model, args) or (model, args, kwargs)")
    return made if len(made) == 3 else (*made, {})
