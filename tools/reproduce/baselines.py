#!/usr/bin/env python3
"""All placement methods on all networks, by number of devices and bandwidth of the links between them.

For each network (a graph, a folder of graphs, or the name of a family or network, which is generated first), number of
devices and bandwidth it runs `emplace evaluate` with every method and several seeds. Writes a table, which report.py draws, and
beside it a .md that shows it. A run that was stopped goes on where it was.
"""
import argparse

from lib.networks import ROOT, Network, add_emplace, cluster_file, graph_name
from lib.results import EVALUATED, Results, evaluated, rows_of
from lib.script import run_script
from lib.table import SEARCH, Table, add_fresh, add_out, grouped, made_by, table_lines

COLUMNS = {"network": str, "devices": int, "gb_per_s": float, "budget": int, **EVALUATED}
METHODS = ["single", "expert", "scotch", "heft", "m-topo", "m-etf", "m-sct", "random", "local-search", "annealing"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="+", metavar="GRAPH|FOLDER|FAMILY",
                        help="a graph, a folder of graphs, or a family to generate; PATH=KIND runs it on devices of "
                             "another kind than k80")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4, 8], metavar="N", help="numbers of devices (2 4 8)")
    parser.add_argument("--gb-per-s", type=float, nargs="+", default=[7.6, 100, 300], metavar="B",
                        help="bandwidths of each device's link (7.6 100 300)")
    parser.add_argument("--graphs", type=int, default=8, help="graphs of each network, evenly spaced (8)")
    parser.add_argument("--budget", type=int, default=2000, help="placements that each search method may simulate (2000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random seeds of the methods that draw (1 2 3)")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="methods to run; the table has those of earlier calls too")
    add_out(parser, "baselines")
    add_emplace(parser)
    add_fresh(parser, others_stay=True)
    return parser.parse_args()


def missing_methods(rows, graphs, arguments):
    """The methods that lack a graph among the rows of a network and machine; all of them, where seeds are new."""
    if set(arguments.seeds) - {row["seed"] for row in rows}:
        return arguments.methods
    have = {(row["method"], row["graph"]) for row in rows}
    return [method for method in arguments.methods if any((method, graph) not in have for graph in graphs)]


def evaluate(arguments, network, cluster, methods, path):
    """Rows of one evaluation, kept at `path` while it comes: one that was stopped goes on."""
    resume = {"resume": True} if path.exists() and not arguments.fresh else {}
    return rows_of(evaluated(arguments.emplace, network.graphs, cluster, methods, budget=arguments.budget, seeds=arguments.seeds, out=path,
                             **resume))


def cell(summary):
    """Geometric mean of step time / one device; a star where some placement did not fit; of a method that did not run nothing."""
    ratio = summary["geometric_mean_ratio_to_single"] if summary else None
    if ratio is None:
        return "-"
    return f"{ratio:.3f}" + ("*" if summary["feasible"] < summary["runs"] else "")


def markdown(rows):
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    budgets = " or ".join(f"{budget:,}" for budget in sorted({row["budget"] for row in rows}))
    methods = dict.fromkeys(row["method"] for row in rows)
    shown = []
    for (name, devices, bandwidth), of_machine in grouped(rows, "network", "devices", "gb_per_s").items():
        results = Results(of_machine)
        summary = results.summary()
        texts = [cell(summary.get(method)) for method in methods]
        best = min((text for text in texts if text[-1] not in "*-"), default=None)
        cells = [f"**{text}**" if text == best else text for text in texts]
        shown.append([name, len(results.single_us), devices, f"{bandwidth:g}", *cells])
    return "\n".join([
        "# All methods, all networks",
        "Simulated step time / best single device, geometric mean over graphs and seeds; lower is better, the best of a row "
        f"that always fits is bold. Searching methods simulate {budgets} placements (seeds {seeds}); the others draw nothing, or, "
        "as scotch, run once a seed. A star: not every placement fits the memory.",
        "",
        made_by(rows),
        "",
        *table_lines(["network", "graphs", "devices", "GB/s", *methods], "lr", shown),
    ]) + "\n"


def main():
    arguments = parse_arguments()
    scratch = ROOT / "build/reproduce"  # Stays: an evaluation goes on only with graphs at the same place.
    scratch.mkdir(parents=True, exist_ok=True)
    table = Table(arguments.out, COLUMNS, SEARCH)
    for network in [Network(text, arguments.emplace, arguments.graphs, scratch) for text in arguments.networks]:
        for devices in arguments.devices:
            for bandwidth in arguments.gb_per_s:
                cells = {"network": network.name, "devices": devices, "gb_per_s": bandwidth}
                rows = [row for row in table.rows if cells.items() <= row.items() and row["budget"] == arguments.budget]
                methods = missing_methods([] if arguments.fresh else rows, [graph_name(path) for path in network.graphs], arguments)
                if not methods:
                    continue
                path = scratch / f"{network.name}_{devices}_{bandwidth:g}.evaluation.json"
                found = evaluate(arguments, network, cluster_file(scratch, network.kind, devices, round(1000 * bandwidth)), methods, path)
                for method in methods:
                    table.remove(**cells, method=method)
                table.add({**cells, "budget": arguments.budget, **row} for row in found)
                table.save()
                path.unlink(missing_ok=True)
                print(f"{network.name} on {devices} devices with {bandwidth:g} GB/s", flush=True)
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
