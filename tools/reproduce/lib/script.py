"""How the scripts of this folder begin and end, and how they run a part of their work in a process of its own."""
import argparse
import math
import pathlib
import signal
import subprocess
import sys


class BadInput(Exception):
    """What a user gave is wrong: one line that says what, where, and what was expected."""


def run_script(main, goes_on=True):
    """main(), with SIGTERM and Ctrl-C taken as a wish to stop here; with bad input one line on standard error and exit code 2, as
    the programs have it. goes_on: whether the same command then goes on from where it was."""
    def interrupt(signum, frame):
        raise KeyboardInterrupt

    name = pathlib.Path(sys.argv[0]).name
    signal.signal(signal.SIGTERM, interrupt)
    try:
        main()
    except BadInput as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        fresh = ", without --fresh," if "--fresh" in sys.argv else ""
        sys.exit(f"{name}: stopped; " + (f"the same command{fresh} goes on from here" if goes_on else "nothing is kept"))


def at_least_one(text):
    """For argparse: a count."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"is {value}, expected at least 1")
    return value


def above_zero(text):
    """For argparse: a number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"is {value:g}, expected a number above 0")
    return value


def first_line(text, otherwise=""):
    """The first line of an error or of what a compiler said; `otherwise`, where it said nothing."""
    return (str(text).strip().splitlines() or [otherwise])[0]


def last_line(text, otherwise):
    """The last line of what a program said, in which it says what was wrong; `otherwise`, where it said nothing."""
    return (text.strip().splitlines() or [otherwise])[-1]


def run_apart(words, timeout_s):
    """Runs this script with other words in a process of its own, so that neither its memory nor its crash stays: (the lines that it has
    printed, why it has failed). It has failed if it ended with an error or took longer than this many seconds; None: it has not."""
    try:
        done = subprocess.run([sys.executable, sys.argv[0], *words], capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode().splitlines(), f"not done after {timeout_s:.0f} s"
    failed = last_line(done.stderr, f"exit code {done.returncode}") if done.returncode != 0 else None
    return done.stdout.splitlines(), failed
