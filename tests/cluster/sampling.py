"""What the load and the soak test share: processes watched through /proc, and checks of what was seen."""
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

QUARTERS = (0.25, 0.5, 0.75, 1.0)
TICKS = os.sysconf("SC_CLK_TCK")  # Of processor time, a second.


def count_files(folder):
    return sum(1 for _ in pathlib.Path(folder).iterdir())


def name_of(task):
    try:
        return (task / "comm").read_text().strip()
    except OSError:
        return ""  # It has ended.


class Sample:
    """One look at a process."""

    def __init__(self, pid):
        self.time = time.monotonic()
        fields = {}
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            key, _, value = line.partition(":")
            fields[key] = value.strip()
        self.rss_mb = int(fields["VmRSS"].split()[0]) / 1024  # A process that has ended has none: KeyError.
        self.threads = int(fields["Threads"])
        self.files = count_files(f"/proc/{pid}/fd")
        # A learner's front end has a table of its own, with all connections.
        network = next((task for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if name_of(task) == "front end"), None)
        self.connections = count_files(network / "fd") if network else self.files
        # After the name, which may hold anything: field 14 of the whole line is the user's time, 15 the system's.
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self.cpu_s = (int(stat[11]) + int(stat[12])) / TICKS


def thread_seconds(pid):
    """Processor time of the threads of a process, by name."""
    seconds = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            head, _, rest = (task / "stat").read_text().rpartition(")")
        except OSError:
            continue  # It has ended.
        name, fields = head.partition("(")[2], rest.split()
        seconds[name] = seconds.get(name, 0) + (int(fields[11]) + int(fields[12])) / TICKS
    return seconds


class Watch:
    """Looks at processes every second, until stopped."""

    def __init__(self, every_s=1.0):
        self.samples = {}  # Name -> its samples, oldest first.
        self._every_s = every_s
        self._pids = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, name, pid):
        self.samples[name] = []
        self._pids[name] = pid

    def stop(self):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(self._every_s):
            for name, pid in list(self._pids.items()):
                try:
                    self.samples[name].append(Sample(pid))
                except (OSError, KeyError):
                    del self._pids[name]  # It has ended.


class Series:
    """The samples of one process between two moments of time.monotonic()."""

    def __init__(self, samples, begin, end):
        self.samples = [sample for sample in samples if begin <= sample.time <= end]
        self._begin, self._end = begin, end

    def at(self, share, field):
        """The median of the tenth of the time that ends at `share` of it."""
        length = self._end - self._begin
        to = self._begin + share * length
        near = [getattr(s, field) for s in self.samples if to - 0.1 * length <= s.time <= to]
        return statistics.median(near) if near else float("nan")

    def range(self, field, after=0.0):
        """(Least, most) after a share of the time."""
        since = self._begin + after * (self._end - self._begin)
        values = [getattr(s, field) for s in self.samples if s.time >= since]
        return (min(values), max(values)) if values else (float("nan"), float("nan"))

    def growth(self, field, after):
        """The end's share above what it was after `after` of the time."""
        return self.at(1.0, field) / self.at(after, field) - 1

    def cores(self):
        """Mean processor time by time."""
        if len(self.samples) < 2:
            return float("nan")
        first, last = self.samples[0], self.samples[-1]
        return (last.cpu_s - first.cpu_s) / (last.time - first.time)


class Checks:
    """Prints `ok` and `FAILED` lines as tests/run.sh counts them."""

    def __init__(self, prefix):
        self._prefix = prefix
        self.failed = 0

    def expect(self, good, text):
        self.failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {self._prefix}: {text}", flush=True)


def run_main(name, main):
    """Ends the program with what main returns; whatever ends it before that is a FAILED line too."""
    try:
        sys.exit(main())
    except Exception as error:
        print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
        sys.exit(1)


def ledger_totals(ledger):
    """The totals of a ledger.json; what they leave open is in 'missing'."""
    total = dict(ledger["total"])
    total["missing"] = total["produced"] - sum(total[key] for key in ("trained", "stale", "rejected", "lost"))
    return total


def wait_for(path, process, timeout_s=120):
    """Until a process has written the file."""
    deadline = time.monotonic() + timeout_s
    while not (path.exists() and path.stat().st_size > 0):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{path} has not been written; see the log beside it")
        time.sleep(0.05)


def end(process, timeout_s=30):
    """Asks a process to end, and insists."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def write_csv(out, samples, begin):
    out.write("process,seconds,rss_mb,files,connections,threads\n")
    for name, of_process in samples.items():
        out.writelines(f"{name},{s.time - begin:.1f},{s.rss_mb:.2f},{s.files},{s.connections},{s.threads}\n" for s in of_process)
