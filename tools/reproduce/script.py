"""How the scripts of this folder begin and end."""
import pathlib
import signal
import sys


class BadInput(Exception):
    """What a user gave is wrong: one line that says what, where, and what was expected."""


def run_script(main):
    """main(), with SIGTERM and Ctrl-C taken as a wish to stop here and go on later; with bad input one line on standard error and
    exit code 2, as the programs have it."""
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
        sys.exit(f"{name}: stopped; the same command{fresh} goes on from here")
