"""How the scripts of this folder begin and end."""
import pathlib
import signal
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
