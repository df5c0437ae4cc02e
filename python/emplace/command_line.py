"""What the commands that need Python have in common."""
import argparse
import contextlib
from collections.abc import Iterator
from typing import IO, NoReturn

from emplace._core import BadInput
from emplace.reading import failed, import_file


@contextlib.contextmanager
def packages_needed(command: str) -> Iterator[None]:
    """For what needs packages that may not be installed: BadInput names the one that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadInput(f"{command}: there is no Python package '{error.name}', expected it installed beside emplace") from error


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and does not pass over a help text that cannot be written."""

    def print_help(self, file: IO[str] | None = None) -> None:
        print(self.format_help(), end="", file=file)

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
    except (Exception, SystemExit) as error:
        raise failed(text, error) from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise BadInput(f"{text}: returned a {type(made).__name__}, expected (model, args) or (model, args, kwargs)")
    return made if len(made) == 3 else (*made, {})
