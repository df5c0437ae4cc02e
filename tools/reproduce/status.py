#!/usr/bin/env python3
"""When each table was made, and what has changed under it since.

Asks git alone, in well under a second a table: the last commit that wrote a table's numbers, its date, and how many later commits touch
the folders on which the numbers depend. A count above 0 does not say that the numbers are wrong: somebody has to look at what these
commits are. `git log COMMIT.. -- FOLDERS` lists them.
"""
import argparse
import json
import subprocess
import typing

from networks import ROOT
from script import BadInput, run_script

SEARCH = ("simulator/engine", "simulator/graph", "simulator/machine", "simulator/methods", "simulator/task")
TRAINING = (*SEARCH, "simulator/environment", "policy", "learner/update", "actor/rollout.cc")


class Table(typing.NamedTuple):
    numbers: str  # A file or folder with its numbers, below tools/.
    depends_on: tuple[str, ...]


TABLES = (
    Table("reproduce/ablations", TRAINING),
    Table("reproduce/anytime/families", SEARCH),
    Table("reproduce/anytime/microbatches", SEARCH),
    Table("reproduce/anytime/minute", SEARCH),
    Table("reproduce/anytime/profiled", SEARCH),
    Table("reproduce/anytime/ten_seconds", SEARCH),
    Table("reproduce/baselines", SEARCH),
    Table("reproduce/captures.csv", ("python/emplace/torch",)),
    Table("reproduce/carries", TRAINING),
    Table("reproduce/forty_models.json", (*SEARCH, "python/emplace/torch")),
    Table("reproduce/generalization", TRAINING),
    Table("reproduce/headroom.json", SEARCH),
    Table("reproduce/kinds", TRAINING),
    Table("reproduce/measured_rewards", (*TRAINING, "actor/hardware")),
    Table("reproduce/memory.csv", (*SEARCH, "actor/hardware", "python/emplace/torch")),
    Table("reproduce/profiled", SEARCH),
    Table("reproduce/profiles", TRAINING),
    Table("reproduce/reality", (*SEARCH, "actor/hardware")),
    Table("reproduce/sgdp_workloads", TRAINING),
    Table("reproduce/single_networks", TRAINING),
    Table("bench/instructions.json", ("simulator", "policy", "common")),
)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"git {arguments[0]}: {done.stderr.strip().splitlines()[-1]}, expected a clone with its history")
    return done.stdout.strip()


def status_of(table: Table) -> dict:
    commit, _, date = git("log", "-1", "--format=%h %cs", "--", f"tools/{table.numbers}").partition(" ")
    if not commit:
        raise BadInput(f"tools/{table.numbers}: is in no commit, expected a table that is committed")
    changes = git("rev-list", "--count", f"{commit}..HEAD", "--", *table.depends_on)
    return {"table": f"tools/{table.numbers}", "made": date, "commit": commit, "commits_since": int(changes),
            "depends_on": list(table.depends_on)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    rows = [status_of(table) for table in TABLES]
    if options.json:
        print(json.dumps(rows))
        return
    width = max(len(row["table"]) for row in rows)
    print(f"{'table':{width}}  {'made':10}  {'commit':9}  commits since to what it depends on")
    for row in rows:
        print(f"{row['table']:{width}}  {row['made']:10}  {row['commit']:9}  {row['commits_since']:3}  {', '.join(row['depends_on'])}")


if __name__ == "__main__":
    run_script(main, goes_on=False)
