#!/usr/bin/env python3
"""How far `auto` is from the published optimum of the Standard Task Graph Set, and from a lower bound on recorded workflows of WfCommons.

Places task graphs (*.stg) and workflows (WfFormat, *.json) on 2, 4 and 8 equal devices, with HEFT and `list` beside `auto`. Tasks of
the set send nothing, as it has them; workflows send their files over links of 1.25 GB/s. Where a time is not enough for the optimum or
the bound, `auto` gets the next one of --seconds. Runs in an environment with the package `emplace`: `pip install .`, then for example
  python tools/reproduce/public_instances.py STG/50 WfInstances/pegasus/montage --optimum optimum.csv
No instance is part of this project. Writes a table with a line for each result, and beside it a .md that shows it.
"""
import argparse
import csv
import itertools
import math
import pathlib
import re
import statistics

from lib.networks import evenly_spaced
from lib.results import ROUNDED_EQUAL, method_in_time
from lib.script import BadInput, above_zero, at_least_one, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

STG, WFCOMMONS = "Standard Task Graph Set", "WfCommons"
# given_s: the time that `auto` was given; empty for methods that do not search. published_us: the length of the best published schedule.
# optimum_us: the same where it is known to be optimal.
COLUMNS = {"instances": str, "instance": str, "tasks": int, "devices": int, "method": str, "given_s": float, "makespan_us": float,
           "lower_bound_us": float, "published_us": float, "optimum_us": float, "seconds": float}
DEPENDS = (*SEARCH, "python/emplace/formats/stg.py", "python/emplace/formats/wfcommons.py")
CONSTRUCTORS = ("heft", "list")  # With the best of the orders.
WORST = 12  # Pairs in the list of those that are furthest from what is known.
PUBLISHED = re.compile(r"#\s*(\d+) Proc\.\s*:\s*(\d+)\s+(\d+)\s*")  # A published comment: processors, lower bound, best schedule.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="FILE|FOLDER", help="*.stg, *.json, or folders of them")
    parser.add_argument("--optimum", nargs="+", type=pathlib.Path, default=[], metavar="TABLE.csv",
                        help="published schedules of the set: lines FOLDER/NAME.stg,PROCESSORS,OPTIMUM, or with a lower bound and the best "
                        "schedule's length in place of the optimum")
    parser.add_argument("--count", type=at_least_one, default=1000000, help="instances of each folder, evenly spaced (default: all)")
    parser.add_argument("--devices", type=at_least_one, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of devices (default: 2 4 8)")
    parser.add_argument("--seconds", type=above_zero, nargs="+", default=[1, 5], help="times of auto (default: 1 5)")
    add_out(parser, "public_instances")
    add_fresh(parser)
    return parser.parse_args()


def instance_files(paths, count):
    """The files of all paths, in the order given."""
    found = []
    for path in paths:
        files = [path] if path.is_file() else evenly_spaced(sorted([*path.rglob("*.stg"), *path.rglob("*.json")]), count)
        if not files:
            raise BadInput(f"{path}: holds no *.stg and no *.json")
        found += files
    return found


def instance_name(path):
    """Such as 50/rand0000: task graphs of different sizes have the same names."""
    return f"{path.resolve().parent.name}/{path.stem}" if path.suffix == ".stg" else path.stem


def read_published(tables):
    """{(instance, devices): (lower bound, best length)} of tables of published schedules."""
    published = {}
    for table in tables:
        try:
            lines = list(csv.reader(table.read_text().splitlines()))
        except OSError as error:
            raise BadInput(f"{table}: cannot be read: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            name, *times = [word.strip() for word in line] or [""]
            if not name.endswith(".stg") or len(times) not in (2, 3) or not all(time.isascii() and time.isdigit() for time in times):
                raise BadInput(f"{table}:{number}: is '{','.join(line)}', expected FOLDER/NAME.stg,PROCESSORS,OPTIMUM")
            published[name.removesuffix(".stg"), int(times[0])] = float(times[1]), float(times[-1])
    return published


def published_in_comments(text):
    """{devices: (lower bound, best length)} of what a task graph's own comments say."""
    return {int(devices): (float(bound), float(best)) for devices, bound, best in PUBLISHED.findall(text)}


def published_of(path, devices, published):
    """The cells published_us and optimum_us of an instance."""
    if path.suffix != ".stg":
        return {"published_us": None, "optimum_us": None}
    bound, best = published.get((instance_name(path), devices)) or published_in_comments(path.read_text()).get(devices, (None, None))
    return {"published_us": best, "optimum_us": best if best == bound else None}


def load(path):
    """(graph, machine of a number of devices)"""
    import emplace
    workflow = path.suffix != ".stg"
    graph = emplace.formats.load_wfcommons(path) if workflow else emplace.formats.load_stg(path)
    link = {"bandwidth_bytes_per_us": 1250, "transfer_latency_us": 100} if workflow else {"bandwidth_bytes_per_us": 1e6}
    return graph, lambda count: emplace.Machine([emplace.Device(f"device:{index}", "any", 1e15) for index in range(count)], **link)


def known_us(row):
    """The published optimum, or else the lower bound."""
    return row["optimum_us"] or row["lower_bound_us"]


def is_known(row):
    """Whether no placement is faster, as far as is known beside it."""
    return row["makespan_us"] <= known_us(row) * (1 + ROUNDED_EQUAL)


def rounded_up(bound_us):
    """A lower bound of makespans that are whole, as those of the set are."""
    return float(math.ceil(bound_us * (1 - ROUNDED_EQUAL)))


def measure(path, devices, published, seconds, known):
    """Yields rows of an instance on equal devices that are not among the known ones, {(method, given_s): row}."""
    import emplace
    graph, machine = load(path)
    wanted = [(method, None) for method in CONSTRUCTORS] + [("auto", given) for given in sorted(seconds)]
    for method, given in wanted:
        row = known.get((method, given))
        if row is None:
            search = {"seconds": given} if given else {"order": "best"}
            plan = emplace.place(graph, machine(devices), method=method, progress=False, **search)
            bound_us = rounded_up(plan.lower_bound_us) if path.suffix == ".stg" else plan.lower_bound_us
            row = {"instances": STG if path.suffix == ".stg" else WFCOMMONS, "instance": instance_name(path), "tasks": len(graph),
                   "devices": devices, "method": method, "given_s": given, "makespan_us": plan.makespan_us, "lower_bound_us": bound_us,
                   "seconds": plan.seconds, **published}
            yield row
        if given and is_known(row):
            return


def with_longer_times(rows):
    """[{method: row} of each instance and number of devices]; a time of `auto` that was not needed has the row of the one before."""
    times = sorted({row["given_s"] for row in rows if row["given_s"]})
    pairs = []
    for pair in grouped(rows, "instances", "instance", "devices").values():
        found = {row["method"]: row for row in pair if not row["given_s"]}
        last = None
        for given in times:
            last = next((row for row in pair if row["given_s"] == given), last)
            if last:
                found[f"auto, {given:g} s"] = last
        pairs.append(found)
    return pairs


def summary(pairs):
    """Lines of a table: of each method the ratio to what is known."""
    methods = list(dict.fromkeys(itertools.chain.from_iterable(pairs)))
    groups, shown = {}, []
    for pair in pairs:
        row = next(iter(pair.values()))
        groups.setdefault((row["instances"], "lower bound" if row["optimum_us"] is None else "optimum", row["devices"]), []).append(pair)
    for (name, reference, devices), of_group in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] != "optimum", item[0][2])):
        cells = []
        for method in methods:
            rows = [pair[method] for pair in of_group if method in pair]
            ratios = [row["makespan_us"] / known_us(row) for row in rows]
            cells.append(f"{statistics.geometric_mean(ratios):.4f} ({sum(map(is_known, rows))}; {max(ratios):.3f})" if rows else "-")
        shown.append([name, devices, len(of_group), reference, *cells])
    return table_lines(["instances", "devices", "pairs", "over the", *(f"`{method}`" for method in methods)], "lrrlr", shown)


def behind(pairs):
    """Lines about where `auto` with its longest time is above the optimum, and where above the bound."""
    autos = [[row for method, row in pair.items() if method.startswith("auto")][-1] for pair in pairs
             if any(method.startswith("auto") for method in pair)]
    with_optimum = [row for row in autos if row["optimum_us"]]
    still_open = [row for row in autos if row["published_us"] and not row["optimum_us"]]
    missed = [row for row in autos if not is_known(row)]
    above = [row for row in missed if row["optimum_us"]]
    slower, faster = (sum(sign * (row["makespan_us"] - row["published_us"]) > 0 for row in still_open) for sign in (1, -1))
    lines = [f"**Behind:** with its longest time `auto` is slower than the published optimum on {len(above)} of {len(with_optimum)} pairs "
             "of an instance and a number of devices that have one, and above the lower bound, which may be out of reach, on "
             f"{len(missed) - len(above)} of the other {len(autos) - len(with_optimum)}."]
    if still_open:
        lines.append(f"Of {len(still_open)} pairs whose optimum is not known, it is slower than the best published schedule on {slower}, "
                     f"and faster on {faster}.")
    below = sum(row["makespan_us"] < row["optimum_us"] * (1 - ROUNDED_EQUAL) for row in with_optimum)
    if below:
        lines.append(f"On {below} pairs it is faster than the published optimum, so the simulation or the table is wrong there.")
    if missed:
        worst = sorted(missed, key=lambda row: (row["optimum_us"] is None, -row["makespan_us"] / known_us(row)))[:WORST]
        shown = [[row["instance"], row["tasks"], row["devices"], f"{row['given_s']:g}",
                  f"{row['makespan_us'] / row['optimum_us']:.4f}" if row["optimum_us"] else "-",
                  f"{row['makespan_us'] / row['lower_bound_us']:.4f}"] for row in worst]
        lines += ["", *table_lines(["furthest from what is known", "tasks", "devices", "`auto`, s", "over the optimum", "over the lower bound"],
                                   "lr", shown)]
    return lines


def markdown(rows):
    pairs = with_longer_times(rows)
    return "\n".join([
        "# Public instances whose optimum or bound is known",
        "Makespan over the published optimum where there is one, else over the lower bound that `emplace place` prints, for the set "
        "rounded up to a whole number as its times are: the geometric mean, and in brackets on how many pairs no faster placement exists "
        "and the worst. HEFT and `list` have the best of all orders. A longer time of `auto` is tried only where the shorter one did not "
        "come to the optimum or bound, and counts as the shorter one elsewhere.", "", made_by(rows), "",
        *behind(pairs), "", *summary(pairs)]) + "\n"


def main():
    arguments = parse_arguments()
    published = read_published(arguments.optimum)
    files = instance_files(arguments.paths, arguments.count)
    results = Table(arguments.out, COLUMNS, DEPENDS, arguments.fresh)
    import emplace
    for path, devices in itertools.product(files, arguments.devices):
        known = {(row["method"], row["given_s"]): row for row in results.rows
                 if (row["instance"], row["devices"]) == (instance_name(path), devices)}
        try:
            for row in measure(path, devices, published_of(path, devices, published), arguments.seconds, known):
                results.add([row])
                print(f"{row['instance']} on {devices}: {method_in_time(row)} {row['makespan_us'] / known_us(row):.4f}", flush=True)
        except emplace.BadInput as error:
            raise BadInput(str(error)) from None
        results.save()
    results.save(markdown(results.rows))


if __name__ == "__main__":
    run_script(main)
