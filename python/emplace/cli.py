"""The command `emplace`: the C++ program, and what needs Python."""
import contextlib
import errno
import importlib
import os
import sys

from emplace import shipped
from emplace._core import BadInput, RunFailed

_COMMANDS = {"apply": "applying", "flags": "llm.command", "import": "importing", "probe": "probing"}  # Those that need Python, and their modules.
_FROM_OTHERS = "measured.command"  # The module of `emplace costs --from`; without --from, costs is the C++ program's.

_LOST_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EPIPE)


def main() -> int:
    """Runs the command of sys.argv; the exit code is 0 (done), 1 (failed) or 2 (bad input)."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _COMMANDS:
        return _run_here(_COMMANDS[arguments[0]], arguments[1:])
    if arguments[:1] == ["costs"] and any(word.partition("=")[0] in ("--from", "--help", "-h") for word in arguments):
        return _run_here(_FROM_OTHERS, arguments[1:])
    program = str(shipped.program())
    os.execv(program, [program, *arguments])


def _run_here(module: str, arguments: list[str]) -> int:
    try:
        # Only here: every other command starts without it.
        with _written_output():
            importlib.import_module(f"emplace.{module}").run(arguments)
    except (BadInput, RunFailed) as error:
        print(f"emplace: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadInput) else 1
    except KeyboardInterrupt:
        print("emplace: interrupted", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _written_output():
    """Raises RunFailed if what is printed inside is lost, as on a full disk. A reader that had enough is fine."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # None: it was closed before.
                sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _LOST_OUTPUT:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Or the interpreter tries once more, and complains, at its end.
        if error.errno != errno.EPIPE:
            raise RunFailed(f"standard output: cannot be written: {error.strerror}") from error
