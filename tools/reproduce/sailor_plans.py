#!/usr/bin/env python3
"""How far simulated steps of pipelines are from steps that others measured on real GPUs: the plans of Sailor (SOSP 2025).

Takes a checkout of github.com/eth-easl/sailor. Everything that goes into a prediction is in its files: times of layers by GPU and
micro-batch, sizes of layers, bandwidths between nodes. An op is a stage's pass over a micro-batch, forward or backward; devices run
them in the order 1F1B. Nothing is taken from the measured step. Then `auto` divides the layers over the same nodes.
  tools/reproduce/sailor_plans.py SAILOR_CHECKOUT
Writes a table with a line for each plan and share of blocking, and beside it a .md that shows it. A run takes ten minutes, most of them
for `auto`; the same command goes on from where it was.
"""
import argparse
import json
import pathlib
import statistics
import tempfile

from lib.networks import add_emplace, call, devices_text, linked_pairs
from lib.sailor import FLOAT_BYTES, Checkout
from lib.script import BadInput, run_script
from lib.table import SEARCH, Table, add_fresh, add_out, made_by, table_lines

# blocking: of the devices file. own_s and auto_s: a step of the slowest replica, without the sum of gradients, as the plan divides its
# layers and as `auto` does; empty where there is one stage, or another share of blocking is of interest.
COLUMNS = {"plan": str, "stages": int, "replicas": int, "microbatch": int, "microbatches": int, "blocking": float, "measured_s": float,
           "measured_reduction_s": float, "reduction_s": float, "simulated_s": float, "own_s": float, "auto_s": float, "bound_s": float}
DEPENDS = (*SEARCH, "tools/reproduce/lib/sailor.py")
SHARES = (0, 0.5, 0.75, 1)
SEARCHED = 0.75
MEMORY = 10**15  # Bytes of a device: the plans ran, and how memory is divided is not the question.
# Records that cannot be as measured, and steps of one micro-batch, which are over before anything overlaps.
ODD = {"clariden/GPT-NEO/N4/plan_config_N4_D4": "26 layers of a model that has 34, and the step is as long as its sum of gradients",
       "mit/N3/plan_config_N3_D1": "step and sum of gradients are those of N6_D2, and one replica has nothing to sum",
       "clariden/OPT-350/N1/plan_config_N1_D1_M4_G1": "one micro-batch of one sequence: its layers took less than by themselves",
       "clariden/GPT-NEO/N2/plan_config_N2_D1": "one micro-batch of one sequence, over two nodes"}


def kind(node):
    return f"{node[0]} x{node[1]}"


def one_f_one_b(stage, stages, microbatches):
    """Passes of a stage, ("F", micro-batch) or ("B", micro-batch), in the order 1F1B."""
    ahead = min(stages - stage - 1, microbatches)
    order = [("F", microbatch) for microbatch in range(ahead)]
    for microbatch in range(microbatches):
        if ahead + microbatch < microbatches:
            order.append(("F", ahead + microbatch))
        order.append(("B", microbatch))
    return order


def pipeline_graph(checkout, plan, parts, kinds):
    """A graph of the step: for each of the parts, which are rows of layers, a pass forward and backward of each micro-batch, and the
    update. kinds: nodes by kind, for which there are costs. parts: [parts] of layers, in a row. A part's ops are a group."""
    sizes = checkout.layer_sizes(plan.model)
    times = {name: checkout.layer_times_s(plan.model, node, plan.microbatch) for name, node in kinds.items()}

    def cost_us(layers, direction):
        return {name: sum(of_kind[layer][direction] for layer in layers) * 1e6 for name, of_kind in times.items()}

    ops = []
    for part, layers in enumerate(parts):
        crossing = plan.microbatch * FLOAT_BYTES
        for microbatch in range(plan.microbatches):
            copy = {"copy_of": f"F{part}.0"} if microbatch else {}
            inputs = [f"F{part - 1}.{microbatch}:0"] if part else []
            ops.append({"name": f"F{part}.{microbatch}", "type": "pipeline.forward", "cost_us": cost_us(layers, 0), "inputs": inputs,
                        "outputs": [{"bytes": crossing * sizes[layers[-1]][1]}], "group": f"part{part}", **copy})
        for microbatch in range(plan.microbatches):
            copy = {"copy_of": f"B{part}.0"} if microbatch else {}
            inputs = [f"^F{part}.{microbatch}"] + ([f"B{part + 1}.{microbatch}:0"] if part + 1 < len(parts) else [])
            gradient = crossing * sizes[parts[part - 1][-1]][1] if part else 0
            ops.append({"name": f"B{part}.{microbatch}", "type": "pipeline.backward", "cost_us": cost_us(layers, 1), "inputs": inputs,
                        "outputs": [{"bytes": gradient}], "group": f"part{part}", **copy})
        ops.append({"name": f"U{part}", "type": "pipeline.update", "cost_us": cost_us(layers, 2), "group": f"part{part}",
                    "inputs": [f"^B{part}.{microbatch}" for microbatch in range(plan.microbatches)], "outputs": []})
    return {"format": "emplace.graph/1", "name": plan.name, "ops": ops}


def machine_text(checkout, nodes, blocking):
    """The devices file of one replica: a link between each pair of nodes, of the bandwidth that Sailor measured."""
    devices = [{"name": f"stage{index}", "kind": kind(node), "memory_bytes": MEMORY} for index, node in enumerate(nodes)]
    links = linked_pairs([device["name"] for device in devices], lambda a, b: (checkout.bandwidth(nodes[a], nodes[b]) / 1e6, 0))
    return devices_text(devices, topology=links | {"blocking": blocking})


def placement_text(stage_of_part, stages, microbatches):
    """Each part on the device of its stage, in the order 1F1B, in which a stage passes a micro-batch through all of its parts."""
    parts = [[part for part, of_part in enumerate(stage_of_part) if of_part == stage] for stage in range(stages)]
    order = {}
    for stage in range(stages):
        passes = one_f_one_b(stage, stages, microbatches)
        order[f"stage{stage}"] = [f"{direction}{part}.{microbatch}" for direction, microbatch in passes
                                  for part in (parts[stage] if direction == "F" else parts[stage][::-1])]
        order[f"stage{stage}"] += [f"U{part}" for part in parts[stage]]
    ops = {name: stage for stage in range(stages) for name in order[f"stage{stage}"]}
    return json.dumps({"format": "emplace.placement/1", "devices": list(order), "ops": ops, "order": order})


class Simulation:
    """One replica of a plan, as files of `emplace`."""

    def __init__(self, checkout, plan, replica, blocking, emplace, folder):
        self.plan, self.emplace, self.folder = plan, emplace, pathlib.Path(folder)
        nodes = [stage[replica] for stage in plan.nodes]
        self.checkout, self.kinds = checkout, {kind(node): node for node in nodes}
        self.devices = self.folder / "devices.yaml"
        self.devices.write_text(machine_text(checkout, nodes, blocking))

    def write_graph(self, parts):
        path = self.folder / "step.graph.json"
        path.write_text(json.dumps(pipeline_graph(self.checkout, self.plan, parts, self.kinds)))
        return path

    def step_s(self, parts, stage_of_part):
        """As the plan has it: in the order 1F1B."""
        placement = self.folder / "placement.json"
        placement.write_text(placement_text(stage_of_part, len(self.plan.stages), self.plan.microbatches))
        result = json.loads(call([self.emplace, "simulate", "--graph", self.write_graph(parts), "--devices", self.devices, "--placement",
                                  placement, "--json"]))
        return result["makespan_us"] / 1e6

    def by_stages_s(self):
        return self.step_s(self.plan.stages, range(len(self.plan.stages)))

    def by_layers_s(self, seconds):
        """(as the plan divides its layers, as `auto` does, the least that any division can take)"""
        parts = [(layer,) for layers in self.plan.stages for layer in layers]
        own = self.step_s(parts, [stage for stage, layers in enumerate(self.plan.stages) for _ in layers])
        found = json.loads(call([self.emplace, "place", "--graph", self.write_graph(parts), "--devices", self.devices, "--seconds", str(seconds),
                                 "--out", self.folder / "found.json", "--json"]))
        return own, found["makespan_us"] / 1e6, found["lower_bound_us"] / 1e6


def rows_of(checkout, plan, emplace, seconds):
    """A row for each share of blocking. Replicas on like nodes take the same time, and the slowest counts."""
    replicas = {tuple(stage[replica] for stage in plan.nodes): replica for replica in range(plan.replicas)}.values()
    reduction = max(checkout.reduction_s(plan))
    rows = []
    for blocking in SHARES:
        with tempfile.TemporaryDirectory(prefix="emplace_sailor_") as folder:
            def replica_of(replica, blocking=blocking, folder=folder):
                return Simulation(checkout, plan, replica, blocking, emplace, folder)
            steps = {replica: replica_of(replica).by_stages_s() for replica in replicas}
            slowest = max(steps, key=steps.get)
            row = {"plan": plan.name, "stages": len(plan.stages), "replicas": plan.replicas, "microbatch": plan.microbatch,
                   "microbatches": plan.microbatches, "blocking": blocking, "measured_s": plan.measured_s,
                   "measured_reduction_s": plan.measured_reduction_s, "reduction_s": reduction,
                   "simulated_s": steps[slowest] + reduction}
            if blocking == SEARCHED and len(plan.stages) > 1:
                row |= dict(zip(("own_s", "auto_s", "bound_s"), replica_of(slowest).by_layers_s(seconds)))
        rows.append(row)
    return rows


def error(row):
    return abs(row["simulated_s"] / row["measured_s"] - 1)


def error_rows(rows):
    """The cells of each row of the text's table of errors. OPT-350M has its pipelines on `mit` among its steps."""
    groups = {"OPT-350M": ("OPT-350", "mit/"), "its pipelines on `mit`": ("mit/",), "GPT-Neo 2.7B": ("GPT-NEO",)}
    shown = []
    for title, words in groups.items():
        for blocking in SHARES:
            errors = [error(row) for row in rows if row["blocking"] == blocking and row["plan"] not in ODD and
                      any(word in row["plan"] for word in words) and (words != ("mit/",) or row["stages"] > 1)]
            if errors:
                shown.append([f"{title}, {len(errors)}", blocking, f"{statistics.median(errors):.1%}", f"{max(errors):.1%}"])
    return shown


def step_rows(by_plan):
    """The cells of each row of the text's table of all steps, in seconds. by_plan: {plan: {share of blocking: row}}"""
    shown = []
    for name, of_plan in by_plan.items():
        row = next(iter(of_plan.values()))
        shown.append([name, f"{row['stages']} x {row['replicas']}", row["microbatches"], f"{row['measured_s']:.3f}",
                      f"{row['measured_reduction_s']:.3f}", f"{row['reduction_s']:.3f}",
                      *(f"{of_plan[share]['simulated_s'] / row['measured_s']:.2f}" if share in of_plan else "-" for share in SHARES)])
    return shown


def markdown(rows):
    by_plan = {}
    for row in rows:
        by_plan.setdefault(row["plan"], {})[row["blocking"]] = row
    lines = [
        "# Simulated steps against those of Sailor on real GPUs",
        "Steps of OPT-350M and GPT-Neo 2.7B that [Sailor](https://github.com/eth-easl/sailor) measured: `clariden` has nodes of four "
        "GH200, `mit` nodes of two or eight RTX 3090, RTX 2080 and Titan RTX, most of them on a network of 1 Gbit/s. A prediction is "
        "simulated from Sailor's times of layers, sizes and bandwidths alone, and the sum of gradients over replicas is counted as a ring. "
        "*Blocking* is the share of a transfer in which its GPUs do nothing else. It is the one number chosen on these steps; GPT-Neo's "
        "had no part in the choice.", "", made_by(rows), "", "## Errors",
        *table_lines(["steps", "blocking", "median error", "worst"], "lr", error_rows(rows))]
    odd = [name for name in by_plan if name in ODD]
    if odd:
        lines += ["", "Not among them:"] + [f"- {name}: {ODD[name]}" for name in odd]
    divided = [[row["plan"], f"{row['own_s']:.3f}", f"{row['auto_s']:.3f}", f"{row['own_s'] / row['auto_s']:.2f}", f"{row['bound_s']:.3f}"]
               for row in rows if row["auto_s"] is not None]
    lines += ["", "## All steps", "Times in seconds, simulated / measured for each share of blocking.", "",
              *table_lines(["plan", "stages x replicas", "micro-batches", "measured", "sum of gradients, measured", "predicted", *SHARES], "llr",
                           step_rows(by_plan)),
              "", "## Layers divided by `auto`", f"A step of the slowest replica, without the sum of gradients, with blocking {SEARCHED}: "
              "layers as the plan has them, and as `auto` divides them over the same nodes; and what no division can be below.", "",
              *table_lines(["plan", "plan's layers, s", "`auto`, s", "gain", "at least, s"], "lr", divided)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="SAILOR_CHECKOUT", help="a checkout of github.com/eth-easl/sailor")
    parser.add_argument("--seconds", type=float, default=10, help="time of `auto` for each plan (default: 10)")
    add_emplace(parser)
    add_fresh(parser)
    add_out(parser, "sailor_plans")
    options = parser.parse_args()
    checkout = Checkout(options.checkout.resolve())
    table = Table(options.out, COLUMNS, DEPENDS, options.fresh)
    plans = checkout.plans()
    if not plans:
        raise BadInput(f"{options.checkout}: has no plans, expected a checkout of github.com/eth-easl/sailor")
    done = {row["plan"] for row in table.rows}
    for plan in plans:
        if plan.name in done:
            continue
        rows = rows_of(checkout, plan, options.emplace, options.seconds)
        table.add(rows)
        table.save()
        print(f"{plan.name}: measured {plan.measured_s:.3f} s, simulated " +
              ", ".join(f"{row['simulated_s']:.3f} ({row['blocking']})" for row in rows), flush=True)
    names = [plan.name for plan in plans]
    table.rows = sorted((row for row in table.rows if row["plan"] in names), key=lambda row: (names.index(row["plan"]), row["blocking"]))
    table.save(markdown(table.rows))


if __name__ == "__main__":
    run_script(main)
