"""The command `emplace`: the C++ program, and what needs Python."""
import os
import sys

from emplace import shipped


def main() -> int:
    """Runs the command of sys.argv; the exit code is 0 (done), 1 (failed) or 2 (bad input)."""
    program = str(shipped.program())
    os.execv(program, [program, *sys.argv[1:]])
