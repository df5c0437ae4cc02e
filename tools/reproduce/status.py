#!/usr/bin/env python3
"""When each table was made, and what has changed under it since.

Lists every table of results/ with the commits by which its rows were made, as the head of the table has them, and how many commits
since have touched the files and folders on which its numbers depend. Asks git alone, in well under a second. A count above 0 does not
say that the numbers are wrong: somebody has to look at what these commits are. `git log COMMIT.. -- FOLDERS` lists them.
"""
import argparse
import datetime
import json
import pathlib

from lib.script import BadInput, run_script
from lib.table import RESULTS, ROOT, UNKNOWN, Table, git

# Numbers that are kept elsewhere, without a stamp: those of the last commit that wrote them.
OTHERS = {"tools/bench/instructions.json": ("simulator", "policy", "common")}


def commits_since(commit, depends):
    """To these files and folders; None: the clone has no such commit."""
    counted = git("rev-list", "--count", f"{commit}..HEAD", "--", *depends)
    return None if counted is None else int(counted)


def line(name, rows, date, commit, depends):
    """rows: how many; None: of a file that is no table."""
    known = commit.split()[0]
    return {"table": name, "rows": rows, "made": date, "age_days": (datetime.date.today() - datetime.date.fromisoformat(date)).days,
            "commit": commit, "commits_since": None if known == UNKNOWN else commits_since(known, depends), "depends": list(depends)}


def lines_of(path):
    """A line for each commit by which rows of a table were made, the oldest first."""
    table = Table(path)
    counts = {}
    for row in table.rows:
        key = row["call"].date, row["call"].commit
        counts[key] = counts.get(key, 0) + 1
    lines = [line(path.stem, count, date, commit, table.depends) for (date, commit), count in counts.items()]
    return sorted(lines, key=lambda one: (one["made"], -(one["commits_since"] or 0)))


def other_line(name, depends):
    commit, _, date = (git("log", "-1", "--format=%h %cs", "--", name) or "").partition(" ")
    if not commit:
        raise BadInput(f"{name}: is in no commit, expected a file that is committed")
    return line(name, None, date, f"{commit} or before", depends)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="*", type=pathlib.Path, metavar="TABLE.csv", help="tables to list (default: all of results/)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    if git("rev-parse", "HEAD") is None:
        raise BadInput(f"{ROOT}: git does not know it, expected a clone with its history")
    lines = [one for path in options.tables or sorted(RESULTS.glob("*.csv")) for one in lines_of(path)]
    if not options.tables:
        lines += [other_line(*other) for other in OTHERS.items()]
    if options.json:
        print(json.dumps(lines))
        return
    width = max((len(one["table"]) for one in lines), default=0)
    print(f"{'table':{width}}   rows  made        days  commit             commits since to what it depends on")
    table = None
    for one in lines:
        since = "?" if one["commits_since"] is None else one["commits_since"]
        depends = " ".join(one["depends"]) if one["table"] != table else ""
        table = one["table"]
        print(f"{table:{width}}  {one['rows'] or '-':>5}  {one['made']}  {one['age_days']:4}  {one['commit']:17}  {since:>4}  {depends}".rstrip())


if __name__ == "__main__":
    run_script(main, goes_on=False)
