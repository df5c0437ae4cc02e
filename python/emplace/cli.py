"""The command `emplace`: the C++ program, and what needs Python."""
import importlib
import os
import sys

from emplace import shipped
from emplace._core import BadInput, RunFailed

_COMMANDS = {"apply": "applying", "import": "importing", "probe": "probing"}  # Those that need Python, and their modules.


def main() -> int:
    """Runs the command of sys.argv; the exit code is 0 (done), 1 (failed) or 2 (bad input)."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _COMMANDS:
        return _run_here(_COMMANDS[arguments[0]], arguments[1:])
    program = str(shipped.program())
    os.execv(program, [program, *arguments])


def _run_here(module: str, arguments: list[str]) -> int:
    try:
        # Only here: every other command starts without it.
        importlib.import_module(f"emplace.{module}").run(arguments)
    except (BadInput, RunFailed) as error:
        print(f"emplace: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadInput) else 1
    return 0
