"""Result tables: CSV files that say of every row which call made it, and of every call when it was, with which commit and on which
processor.

  # emplace.table/1
  # depends: simulator/engine simulator/graph
  # call 1: tools/reproduce/headroom.py ptb --seeds 1 2
  #   2026-11-21, commit c3d3653 or before, processor unknown
  # load: [0.2, 1.1]
  call,graph,seed,makespan_us
  1,ptb_00,1,81234.5

`depends` are the files and folders of the source that the numbers come from. A commit is "or before" where the table was stamped
afterwards, from the commit that brought the numbers, and "with changes" where these files were not as committed. What is left of a
table belongs to no row: facts, a name and JSON each. An empty cell is None.
"""
import argparse
import csv
import datetime
import io
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import typing

from lib.networks import ROOT, write_aside_and_rename
from lib.script import BadInput

FORMAT = "emplace.table/1"
RESULTS = ROOT / "tools/reproduce/results"
UNKNOWN = "unknown"

# What numbers depend on that come from methods alone, and from trainings.
SEARCH = ("simulator/engine", "simulator/graph", "simulator/machine", "simulator/methods", "simulator/task")
TRAINING = (*SEARCH, "simulator/environment", "policy", "learner/update", "actor/rollout.cc")


class Call(typing.NamedTuple):
    """A call of a script that made rows."""
    command: str
    date: str       # Of its end, YYYY-MM-DD.
    commit: str     # An abbreviated hash, perhaps with " or before" or " with changes"; UNKNOWN outside a clone.
    processor: str  # With its number of cores, or UNKNOWN.


class Numbers:
    """The type of a column whose cells are lists of numbers."""


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return UNKNOWN


def git(*words):
    """What git prints; None: this is no clone, or there is no git."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def command_line():
    """The command that this script was called with, without what changes no result, and naming no place on this machine."""
    words = [pathlib.Path(sys.argv[0]).name]
    skip = False  # The next word is the value of an option that changes no result.
    for word in sys.argv[1:]:
        if word == "--fresh" or skip:
            skip = False
            continue
        option, equals, _ = word.partition("=")
        if option in ("--jobs", "--out", "--runs", "--programs", "--emplace", "--timeout"):
            skip = not equals
            continue
        path = pathlib.PurePath(option)
        words.append(shlex.quote(word.replace(str(path), path.name, 1) if path.is_absolute() else word))
    return "tools/reproduce/" + " ".join(words)


def this_call(depends):
    commit = git("rev-parse", "--short", "HEAD") or UNKNOWN
    if commit != UNKNOWN and git("status", "--porcelain", "--", *depends):
        commit += " with changes"
    return Call(command_line(), datetime.date.today().isoformat(), commit, f"{processor()}, {os.cpu_count()} cores")


# Columns of which no more than these digits say anything.
MEASURED_DIGITS = 5
MEASURED = {"seconds", "training_s", "steps_per_s", "trained_per_s", "to_080_s", "to_075_s", "to_072_s", "lag_mean", "resident_mib", "start_s"}


def written(value, digits=12):
    """A cell. Numbers have 12 digits: what is equal stays so, and what is not as near as 1e-11 stays apart. Of what is measured fewer do."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(map(written, value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number that a table can hold")
        return format(value, f".{digits}g")
    return str(value)


def read_cell(text, kind):
    """Of such a cell; ValueError: it is none of this type."""
    if text == "":
        return None
    if text is None:
        raise ValueError  # The line is too short.
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError
        return text == "true"
    return [float(word) for word in text.split()] if kind is Numbers else kind(text)


class Table:
    """A table in memory: `rows`, each {column: value} with "call", a Call; `facts`, {name: what JSON can hold}."""

    def __init__(self, path, columns=None, depends=(), fresh=False):
        """Reads the file where there is one, unless a fresh table is wanted. columns: {name: str, int, float, bool or Numbers}, those
        of the file; without them all cells are text."""
        self.path, self.columns, self.depends = pathlib.Path(path), columns, tuple(depends)
        self.calls, self.facts, self.rows = [], {}, []
        if self.path.exists() and not fresh:
            self._read(self.path.read_text())

    def _read(self, text):
        lines = text.splitlines(keepends=True)
        head = 0
        while head < len(lines) and lines[head].startswith("#"):
            head += 1
        if lines[:1] != [f"# {FORMAT}\n"]:
            raise BadInput(f"{self.path}:1: is no {FORMAT}, expected a table of these scripts")
        place = 1
        while place < head:
            name, colon, value = lines[place][2:].rstrip("\n").partition(": ")
            if name == "depends":
                self.depends = self.depends or tuple(value.split())
            elif colon and re.fullmatch(r"call \d+", name):
                place += 1
                stamp = re.fullmatch(r"#   (\d{4}-\d\d-\d\d), commit ([^,]+), processor (.+)\n", lines[place]) if place < head else None
                if not stamp or name != f"call {len(self.calls) + 1}":
                    raise BadInput(f"{self.path}:{place + 1}: expected the date, commit and processor of call {len(self.calls) + 1}")
                self.calls.append(Call(value, *stamp.groups()))
            else:
                try:
                    self.facts[name] = json.loads(value)
                except json.JSONDecodeError:
                    raise BadInput(f"{self.path}:{place + 1}: expected a name, a colon and JSON") from None
            place += 1
        reader = csv.DictReader(lines[head:])
        names = reader.fieldnames or []
        if names[:1] != ["call"] or (self.columns is not None and names[1:] != list(self.columns)):
            raise BadInput(f"{self.path}:{head + 1}: the columns are {', '.join(names)}, expected call, {', '.join(self.columns or ['...'])}")
        self.columns = self.columns or dict.fromkeys(names[1:], str)
        for row in reader:
            if None in row:
                raise BadInput(f"{self.path}:{head + reader.line_num}: has {len(row[None])} cells too many")
            self.rows.append(self._row(row, head + reader.line_num))

    def _row(self, cells, line):
        row = {}
        for name, kind in {"call": int, **self.columns}.items():
            try:
                row[name] = read_cell(cells[name], kind)
            except (ValueError, TypeError):
                raise BadInput(f"{self.path}:{line}: '{name}' is '{cells[name]}', expected {kind.__name__}") from None
        if not isinstance(row["call"], int) or not 1 <= row["call"] <= len(self.calls):
            raise BadInput(f"{self.path}:{line}: 'call' is '{cells['call']}', expected one of the head's {len(self.calls)} calls")
        row["call"] = self.calls[row["call"] - 1]
        return row

    def add(self, rows):
        """Adds rows that this call has made; columns that they lack are None. What is measured gets the digits that the file has, so that
        a text made of the rows is one made of the file."""
        call = this_call(self.depends)
        added = [{"call": call, **dict.fromkeys(self.columns), **row} for row in rows]
        for row in added:
            if unknown := row.keys() - self.columns.keys() - {"call"}:
                raise ValueError(f"{self.path.name} has no column {min(unknown)}")
            row |= {name: float(written(row[name], MEASURED_DIGITS)) for name in MEASURED & row.keys() if isinstance(row[name], float)}
        self.rows += added

    def remove(self, **cells):
        """Removes the rows that have these values."""
        self.rows = [row for row in self.rows if any(row[name] != value for name, value in cells.items())]

    def used_calls(self):
        """The calls that rows are left of, the earliest first."""
        used = dict.fromkeys(row["call"] for row in self.rows)
        known = [call for call in self.calls if call in used]
        return known + sorted((call for call in used if call not in self.calls), key=lambda call: call.date)

    def text(self):
        self.calls = self.used_calls()
        number = {call: index for index, call in enumerate(self.calls, 1)}
        out = io.StringIO()
        out.write(f"# {FORMAT}\n# depends: {' '.join(self.depends)}\n")
        for call, index in number.items():
            out.write(f"# call {index}: {call.command}\n#   {call.date}, commit {call.commit}, processor {call.processor}\n")
        for name, value in self.facts.items():
            out.write(f"# {name}: {json.dumps(value, allow_nan=False)}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["call", *self.columns])
        for row in self.rows:
            cells = (written(row[name], MEASURED_DIGITS if name in MEASURED else 12) for name in self.columns)
            writer.writerow([number[row["call"]], *cells])
        return out.getvalue()

    def save(self, markdown=None):
        """Writes the file, and beside it the text of a .md that shows it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_aside_and_rename(self.path, self.text())
        if markdown is not None:
            write_aside_and_rename(self.path.with_suffix(".md"), markdown)
            print(f"written to {self.path} and {self.path.with_suffix('.md')}")


def table_path(text):
    """For argparse: where a table goes."""
    path = pathlib.Path(text)
    if path.suffix != ".csv":
        raise argparse.ArgumentTypeError(f"is '{text}', expected the name of a .csv file")
    return path


def add_out(parser, name, shown=True):
    """The option --out of a script whose table has this name."""
    parser.add_argument("--out", type=table_path, default=RESULTS / f"{name}.csv", metavar="TABLE.csv",
                        help=f"the result table{', and beside it the text that shows it, TABLE.md' if shown else ''} (default: results/{name}.csv)")


def add_fresh(parser, others_stay=False):
    """The option --fresh of a script that otherwise makes only the rows that its table lacks. others_stay: whether rows stay that this
    call does not make."""
    parser.add_argument("--fresh", action="store_true",
                        help="make the rows of this call again; other rows of the table stay" if others_stay else
                        "begin with an empty table, and make all rows of this call")


def grouped(rows, *names):
    """{(cells of these columns): their rows}, in the order of their first rows."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def table_lines(heads, alignment, rows):
    """Lines of a Markdown table. heads: the name of each column. alignment: a letter for each column, "l" for left or "r" for right; the
    last one is that of all further columns. rows: of each row the cells, texts or numbers. None is an empty cell."""
    rules = [{"l": "---", "r": "---:"}[letter] for letter in alignment.ljust(len(heads), alignment[-1])]
    whole = [heads, rules, *rows]
    if any(len(cells) != len(heads) for cells in whole):
        raise ValueError(f"a row has another number of cells than the {len(heads)} columns {heads}")
    return ["|" + "".join(" |" if cell is None else f" {cell} |" for cell in cells) for cells in whole]


def made_by(rows):
    """A line that names the commands that made these rows, each once, and says when and with which commits."""
    stamps = {}
    for call in dict.fromkeys(row["call"] for row in rows):
        stamps.setdefault(call.command, {})[f"{call.date}, commit {call.commit}"] = None
    return "By " + " and ".join(f"`{command}` ({'; '.join(of_command)})" for command, of_command in stamps.items()) + "."
