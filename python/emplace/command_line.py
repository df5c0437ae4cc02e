"""What the commands that need Python have in common."""
import argparse
from typing import NoReturn

from emplace._core import BadInput
from emplace.reading import import_file


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog.removeprefix('emplace ')}: {message} (see --help)")


def call_factory(text: str) -> tuple:
    """(model, args, kwargs) of what the function of FILE.py:FACTORY returns."""
    path, _, name = text.rpartition(":")
    if not path or not name.isidentifier():
        raise BadInput(f"'{text}' is no FILE.py:FACTORY, such as model.py:make")
    factory = getattr(import_file(path), name, None)
    if not callable(factory):
        raise BadInput(f"{path}: has no function '{name}'")
    try:
        made = factory()
    except BadInput:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadInput(f"{text}: failed: {type(error).__name__}: {reason}") from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise BadInput(f"{text}: returned a {type(made).__name__}, expected (model, args) or (model, args, kwargs)")
    return made if len(made) == 3 else (*made, {})
