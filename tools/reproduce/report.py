#!/usr/bin/env python3
"""Draws result tables with `emplace report`: methods by how good their placements are, or over time.

Of a table with given times, as anytime.py makes them, one chart; of another one a part for each graph set: the rows that are alike in
all columns before the graph.
"""
import argparse
import json
import pathlib
import tempfile

from lib.networks import add_emplace, call
from lib.results import EVALUATED
from lib.script import BadInput, run_script
from lib.table import RESULTS, Table, grouped

import anytime


def anytime_document(table):
    """As the command reads it."""
    runs = []
    for (graph, machine, seconds, seed), of_run in anytime.runs_of(table.rows):
        methods = {method: {name: row[name] for name in ("makespan_us", "feasible", "in_time")} for method, row in of_run.items()}
        runs.append({"graph": graph, "machine": machine, "seconds": seconds, "seed": seed, "methods": methods})
    return {"format": "emplace.anytime/1", "runs": runs}


def documents(path, only):
    """{name: document that `emplace report` reads} of a table. only: {column: text}, rows to leave all others out."""
    names = list(Table(path).columns)
    if set(anytime.COLUMNS) <= set(names):
        kinds = anytime.COLUMNS
    elif set(EVALUATED) <= set(names):
        kinds = EVALUATED
    else:
        raise BadInput(f"{path}: the columns are {', '.join(names)}, expected those of placements: {', '.join(EVALUATED)}")
    for name in only:
        if name not in names:
            raise BadInput(f"--only {name}: is no column of {path}, expected one of {', '.join(names)}")
    table = Table(path, {name: kinds.get(name, str) for name in names})
    table.rows = [row for row in table.rows if all(str(row[name]) == value for name, value in only.items())]
    if not table.rows:
        raise BadInput(f"{path}: has no such row, expected some to draw")
    if kinds is anytime.COLUMNS:
        return {path.stem: anytime_document(table)}
    found = {}
    for cells, rows in grouped(table.rows, *names[:names.index("graph")]).items():
        graphs = {row["graph"]: {"single_device_us": row["single_device_us"]} for row in rows}
        results = [{name: row[name] for name in EVALUATED} for row in rows]
        found[" ".join([path.stem, *map(str, cells)]).replace("/", "_")] = {"results": results, "graphs": graphs}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="+", type=pathlib.Path, metavar="TABLE", help="a .csv file, or the name of a table of results/")
    parser.add_argument("--only", action="append", default=[], metavar="COLUMN=VALUE", help="draws these rows alone; may be repeated")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="PAGE.html", help="the page to write")
    add_emplace(parser)
    options = parser.parse_args()
    only = dict(text.partition("=")[::2] for text in options.only)
    with tempfile.TemporaryDirectory(prefix="emplace_report_") as folder:
        files = []
        for path in options.tables:
            if not path.is_file():
                path = RESULTS / f"{path}.csv"
            if not path.is_file():
                raise BadInput(f"{path}: does not exist, expected a table")
            for name, document in documents(path, only).items():
                files.append(pathlib.Path(folder) / f"{name}.json")
                files[-1].write_text(json.dumps(document))
        print(call([options.emplace, "report", *files, "--out", options.out]), end="")


if __name__ == "__main__":
    run_script(main, goes_on=False)
