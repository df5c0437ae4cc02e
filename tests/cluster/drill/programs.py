"""The programs under test, as processes: started, signalled and waited for by id alone."""
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import time

from outcome import Missed

BIN = pathlib.Path("build/bin")
LOG_LINE = re.compile(r"(\x1b\[[0-9;]*m)*\d\d:\d\d:\d\d\.\d{3} ")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

started: list["Program"] = []  # All of this drill: at its end, none may be left.


def die_with_the_drill():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    """One process. Its standard output and error go to NAME.out and NAME.err in `folder`, after what is there."""

    def __init__(self, name: str, arguments: list, folder: pathlib.Path, prefix=(), environment=None):
        self.name = name
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"
        self.err_before = self.err.stat().st_size if self.err.exists() else 0
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            # In a session of its own: Ctrl-C reaches it through us alone. The kernel ends it with us, however we end.
            self.process = subprocess.Popen([*map(str, prefix), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, env={**os.environ, **(environment or {})}, start_new_session=True,
                                            preexec_fn=die_with_the_drill)
        started.append(self)

    @property
    def pid(self) -> int:
        return self.process.pid

    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, sent: signal.Signals):
        if self.alive():
            os.kill(self.pid, sent)

    def kill(self):
        """As the kernel's out-of-memory killer does."""
        self.send(signal.SIGKILL)
        self.process.wait()

    def end_if_left(self, after: float):
        """SIGTERM, when it has not ended by itself within `after` seconds."""
        try:
            self.process.wait(after)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGTERM)

    def expect_exit(self, code: int, within: float):
        try:
            seen = self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise Missed(f"{self.name} to end within {within:g} s", "it hangs") from None
        if seen != code:
            raise Missed(f"{self.name} to end with exit code {code}", f"{seen}; {' / '.join(self.complaints()) or 'without a word'}")

    def errors(self) -> str:
        """What this process has said on its standard error."""
        return self.err.read_bytes()[self.err_before:].decode(errors="replace")

    def complaints(self) -> list[str]:
        """The same without log lines: what a user is told when it fails."""
        return [line for line in self.errors().splitlines() if line.strip() and not LOG_LINE.match(line)]


def end_all() -> list[str]:
    """Kills what is left, and says what that was."""
    left = [program for program in started if program.alive()]
    for program in left:
        program.kill()
    started.clear()
    return [program.name for program in left]


def wait_until(condition, within: float, what: str):
    """What `condition` returns, once that is true."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Missed(f"{what} within {within:g} s", "it did not happen")
        time.sleep(0.02)
