#!/usr/bin/env python3
"""How long each method takes to a placement of graphs of about 1,000, 10,000 and 65,000 ops, and how good its placement is.

Generates the graphs and places them on two and on eight K80s. Runs in an environment with the package `emplace`: `pip install .`, then
  python tools/reproduce/planning_time.py
A method that is not done after --timeout seconds of processor time has no placement. The script can be stopped at any time, and the same
command goes on. Writes a table with a line for each result, and beside it a .md that shows it.
"""
import argparse
import itertools
import multiprocessing
import os
import pathlib
import signal
import statistics
import tempfile
import time

from lib.networks import ROOT, add_emplace, call
from lib.results import ROUNDED_EQUAL, method_in_time
from lib.script import BadInput, above_zero, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

# {name: arguments of `emplace generate`}, smallest first.
GRAPHS = {
    "wavenet4": ["wavenet4"], "inception_v3": ["inception_v3"],
    "rnnlm, 2 layers, 66 words": ["rnnlm", "--count", 1, "--range", "layers=2..2", "--range", "steps=66..66"],
    "gnmt, 2 layers, 25 words": ["gnmt", "--count", 1, "--range", "layers=2..2", "--range", "steps=25..25"],
    "rnnlm8": ["rnnlm8"], "gnmt8": ["gnmt8"]}
CONSTRUCTORS = ("single", "m-topo", "heft", "m-etf", "m-sct", "expert", "data-parallel", "knapsack", "dp", "scotch", "list", "policy")
# given_s: the time that `auto` was given; empty for methods that do not search. seconds: wall time of the method once the graph is
# loaded; cpu_s: its processor time, of all threads. load: runnable processes beside it, from /proc/loadavg. found_by: the part of the
# method that found the placement; "single" where the method found none that is faster than one device.
COLUMNS = {"graph": str, "ops": int, "devices": int, "method": str, "given_s": float, "seconds": float, "cpu_s": float, "load": float,
           "makespan_us": float, "lower_bound_us": float, "found_by": str, "error": str}
DEPENDS = (*SEARCH, "simulator/families", "policy", "models")
FORK = multiprocessing.get_context("fork")
LATE = 1.5  # `auto` is late where it takes more than this many times the given time.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help=f"some of the graphs: {'; '.join(GRAPHS)} (default: all)")
    parser.add_argument("--devices", type=int, nargs="+", choices=[2, 4, 8], default=[2, 8], help="numbers of K80s (default: 2 8)")
    parser.add_argument("--seconds", type=above_zero, nargs="+", default=[0.1, 1, 10], help="times of auto (default: 0.1 1 10)")
    parser.add_argument("--methods", nargs="+", choices=[*CONSTRUCTORS, "auto"], default=[*CONSTRUCTORS, "auto"], metavar="METHOD",
                        help="methods to measure (default: all)")
    parser.add_argument("--timeout", type=above_zero, default=20,
                        help="most seconds of processor time of a method that does not search (default: 20)")
    add_out(parser, "planning_time")
    add_emplace(parser)
    add_fresh(parser)
    arguments = parser.parse_args()
    if unknown := set(arguments.graphs) - set(GRAPHS):
        parser.error(f"there is no graph '{min(unknown)}', expected some of: {'; '.join(GRAPHS)}")
    return arguments


def generate(emplace, name, folder):
    call([emplace, "generate", *GRAPHS[name], "--out", folder])
    return next(folder.glob("*.graph.json*"))


def load(kind, path):
    """A graph or a machine, kind being its class; a file that is wrong ends the script with one line."""
    import emplace
    try:
        return kind.load(path)
    except emplace.BadInput as error:
        raise BadInput(str(error)) from None


def measure(graph, machine, method, given_s, timeout):
    """As `measured`, in a process of its own: with it ends what a method that was given up goes on with."""
    receive, send = FORK.Pipe(duplex=False)
    child = FORK.Process(target=lambda: send.send(measured(graph, machine, method, given_s, timeout)))
    child.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        child.join()
        return {"method": method, "given_s": given_s, "load": os.getloadavg()[0], "error": f"ended with exit code {child.exitcode}"}
    finally:
        child.join()


def measured(graph, machine, method, given_s, timeout):
    """The cells of one result."""
    import emplace

    def late(signum, frame):
        raise TimeoutError
    signal.signal(signal.SIGPROF, late)
    cells = {"method": method, "given_s": given_s, "load": os.getloadavg()[0]}
    began, began_cpu = time.monotonic(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 0 if given_s else timeout)  # Processor time: other programs do not count.
    try:
        plan = emplace.place(graph, machine, given_s, method=method, progress=False)
    except TimeoutError:
        return {**cells, "cpu_s": time.process_time() - began_cpu, "error": f"not done after {timeout:g} s of processor time"}
    except emplace.Error as error:
        return {**cells, "seconds": time.monotonic() - began, "error": str(error)}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {**cells, "seconds": plan.seconds, "cpu_s": time.process_time() - began_cpu, "makespan_us": plan.makespan_us,
            "lower_bound_us": plan.lower_bound_us, "found_by": plan.found_by}


def way_rank(row):
    """By which the rows of a graph and a machine are in order."""
    return CONSTRUCTORS.index(row["method"]) if row["method"] in CONSTRUCTORS else len(CONSTRUCTORS) + row["given_s"]


def best_of(pair):
    return min((row["makespan_us"] for row in pair if row["makespan_us"]), default=None)


def behind(rows):
    """Lines about where `auto` is late, and where another method is faster in both senses."""
    autos = [row for row in rows if row["given_s"] and row["makespan_us"]]
    late = [row for row in autos if row["seconds"] > LATE * row["given_s"]]
    beaten = []
    for pair in grouped(rows, "graph", "devices").values():
        others = [row for row in pair if not row["given_s"] and row["makespan_us"]]
        for row in pair:
            if row["given_s"] and row["makespan_us"]:
                better = [other for other in others if other["seconds"] <= row["seconds"] and
                          other["makespan_us"] < row["makespan_us"] * (1 - ROUNDED_EQUAL)]
                if better:
                    best = min(better, key=lambda other: other["makespan_us"])
                    beaten.append(f"{row['graph']} on {row['devices']} in {row['given_s']:g} s by `{best['method']}` "
                                  f"({best['makespan_us'] / row['makespan_us']:.3f} of its step)")
    if late:
        worst = max(late, key=lambda row: row["seconds"] / row["given_s"])
        text = (f"`auto` took more than {LATE:g} times the given time on {len(late)} of {len(autos)} results, at worst "
                f"{worst['seconds']:.2f} s of {worst['given_s']:g} ({worst['graph']} on {worst['devices']}).")
    else:
        text = f"`auto` never took more than {LATE:g} times the given time."
    return [f"**Behind:** {text} A method without a search found a faster step in no more time "
            + (f"on {len(beaten)}: {'; '.join(beaten)}." if beaten else "on none.")]


def table(rows):
    """Lines of a table for each number of devices and graph."""
    lines = []
    for (devices,), of_devices in grouped(rows, "devices").items():
        graphs = grouped(of_devices, "graph", "ops")
        shown = []
        bounds = [f"{best / max(row['lower_bound_us'] or 0 for row in pair):.3f}" if (best := best_of(pair)) else "-" for pair in graphs.values()]
        for method in dict.fromkeys(method_in_time(row) for row in of_devices):
            cells, ratios = [], []
            for pair in graphs.values():
                row = next((row for row in pair if method_in_time(row) == method), None)
                if row is None or not row["makespan_us"]:
                    cells.append(row["error"] if row else "-")
                    continue
                ratios.append(row["makespan_us"] / best_of(pair))
                cells.append(f"{ratios[-1]:.3f} in {row['seconds']:.3g} s ({row['cpu_s']:.3g})")
            mean = f"{statistics.geometric_mean(ratios):.3f}" if len(ratios) == len(graphs) else "-"
            shown.append([f"`{method}`", *cells, mean])
        shown.append(["best found over the lower bound", *bounds, None])
        lines += ["", f"## {devices} K80s",
                  *table_lines(["method", *(f"{graph}: {ops:,} ops" for graph, ops in graphs), "geometric mean"], "lr", shown)]
    return lines


def markdown(rows):
    loads = [row["load"] for row in rows]
    return "\n".join([
        "# Seconds to a placement",
        "Makespan over the best that any of these methods found for the same graph and machine, in the wall time that the method took once "
        "the graph was loaded, and in brackets its processor time, of all threads, with that of the lower bound. The load average was "
        f"{min(loads):.1f} to {max(loads):.1f}: where wall time is longer than processor time, other programs had the difference.", "",
        made_by(rows), "",
        *behind(rows), *table(rows)]) + "\n"


def main():
    arguments = parse_arguments()
    results = Table(arguments.out, COLUMNS, DEPENDS, arguments.fresh)
    import emplace
    known = {(row["graph"], row["devices"], row["method"], row["given_s"]) for row in results.rows}
    ways = [(method, None) for method in CONSTRUCTORS] + [("auto", given) for given in sorted(arguments.seconds)]
    wanted = [way for way in ways if way[0] in arguments.methods]
    for name in arguments.graphs or GRAPHS:
        missing = [(devices, *way) for devices, way in itertools.product(arguments.devices, wanted) if (name, devices, *way) not in known]
        if not missing:
            continue
        with tempfile.TemporaryDirectory(prefix="emplace_planning_") as folder:
            graph = load(emplace.Graph, generate(arguments.emplace, name, pathlib.Path(folder)))
        for devices, method, given_s in missing:
            machine = load(emplace.Machine, ROOT / f"configs/clusters/k80x{devices}.yaml")
            row = {"graph": name, "ops": len(graph), "devices": devices, **measure(graph, machine, method, given_s, arguments.timeout)}
            results.add([row])
            results.save()
            made = results.rows[-1]
            print(f"{name} on {devices}: {method_in_time(made)} {made['makespan_us']} us, {made['seconds']} s", flush=True)
    names = list(GRAPHS)
    results.rows.sort(key=lambda row: (names.index(row["graph"]), row["devices"], way_rank(row)))
    results.save(markdown(results.rows))


if __name__ == "__main__":
    run_script(main)
