#!/usr/bin/env python3
"""How does Emplace train beside other actor-learner systems on the same task, on the cores of this computer?

    tools/reproduce/peers.py train --package WHEEL     each system with its best number of workers, for ten minutes, three seeds
    tools/reproduce/peers.py shape --package WHEEL     1, 2, 4, 8 and 16 workers, for a minute each
    tools/reproduce/peers.py faults --package WHEEL    a worker and the learner killed, and the run resumed

peers/README.md says what the task is, and how each system was set. It runs one system at a time and wants a quiet machine. Rows that
are there are not made again.
"""
import argparse
import os
import pathlib
import signal
import time

from lib.networks import ROOT
from lib.peer_runs import GRACE_S, NoEnvironment, Run, busy_cores, figures, judge, make_environment
from lib.results import mean_interval
from lib.script import run_script
from lib.table import TRAINING, Table, add_fresh, add_out, grouped, made_by, table_lines
from lib.training import json_lines, train

# Script in peers/ -> name and version.
SYSTEMS = {"emplace_run": "Emplace", "plain_ppo": "plain PPO", "stable_baselines3_ppo": "Stable-Baselines3 2.9.2",
           "torchrl_ppo": "TorchRL 0.14.1", "rllib_ppo": "RLlib 2.60.0", "sample_factory_appo": "Sample Factory 2.1.1",
           "pufferlib_ppo": "PufferLib 1.0.1"}
EMPLACE = "emplace_run"
KINDS = {EMPLACE: ("worker", "learner"), "sample_factory_appo": ("worker", "learner", "driver")}  # Elsewhere the driver learns.
JUDGE = "plain_ppo"  # Its environment judges weights.
GOALS = {"to_080_s": 0.80, "to_075_s": 0.75, "to_072_s": 0.72}
COLUMNS = {"system": str, "workers": int, "seed": int, "seconds": float, "steps_per_s": float, "trained_per_s": float,
           **dict.fromkeys(GOALS, float), "best": float, "lag_mean": float, "lag_most": float, "resident_mib": float, "start_s": float,
           "other_cores": float, "failed": str}
FAULT_COLUMNS = {"system": str, "killed": str, "outcome": str, "leftover": int, "steps": int, "resumed_steps": int, "same_weights": bool}
DEPENDS = (*TRAINING, "tools/reproduce/peers", "configs/ptb.yaml")
WORKERS = [1, 2, 4, 8, 16]
SHAPE_S, TRAIN_S = 60, 600
FIRST_UPDATE_S = 300   # Within which a system makes its first one.
BEFORE_KILL_S, AFTER_KILL_S = 30, 60
SETTLE_S = 10          # After which processes that are left count as left over.
LEAST_SHARE = 0.05     # Of the steps/s before, with which a run counts as going on.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "shape", "faults"])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="SYSTEM",
                        help="systems to run (default, all: " + ", ".join(SYSTEMS) + ")")
    parser.add_argument("--seeds", type=int, nargs="+", help="random seeds (train: 1 2 3, else 1)")
    parser.add_argument("--workers", type=int, nargs="+", help="numbers of workers (train: the one with the most trained steps/s in the "
                        "rows of shape, faults: 2)")
    parser.add_argument("--seconds", type=float, help=f"seconds of a run (train: {TRAIN_S}, shape: {SHAPE_S})")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT, help="wheel of the Python package emplace (default: the source, which "
                        "is built for each system)")
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs/peers", help="folder for environments and runs")
    add_fresh(parser, others_stay=True)
    add_out(parser, "peers")
    return parser.parse_args()


class Bench:
    """Graphs and environments, made when they are first wanted."""

    def __init__(self, arguments):
        self._runs, self._package = arguments.runs.resolve(), arguments.package.resolve()
        run = self._runs / "graphs"
        train(run, ROOT / "configs/ptb.yaml", {"training.iterations": 1}, seed=1)
        self.graphs = run / "graphs"

    def interpreter(self, system):
        name = JUDGE if system == EMPLACE else system
        return make_environment(self._runs / "environments", name, self._package)

    def folder(self, *words):
        path = self._runs / "_".join(map(str, words))
        suffix = 0
        while path.exists():
            suffix += 1
            path = path.with_name(path.name.split("~")[0] + f"~{suffix}")
        return path

    def measure(self, system, workers, seed, seconds):
        """A row."""
        row = {"system": system, "workers": workers, "seed": seed, "seconds": seconds}
        try:
            interpreter, judging = self.interpreter(system), self.interpreter(JUDGE)
        except NoEnvironment as error:
            return {**row, "failed": f"does not install: {error}"}
        row["other_cores"] = busy_cores()
        run = Run(system, interpreter, self.folder(system, workers, seed), self.graphs, seed, workers, seconds)
        try:
            ended = run.watch(lambda: not run.alive(), seconds + GRACE_S)
        finally:
            run.end()
        if not any("steps" in line for line in run.lines()):
            return {**row, "failed": f"does not run: {run.failure()}" if ended else "made no update"}
        judged = judge(judging, run.folder, self.graphs)
        return {**row, **figures(run.lines(), judged, run.began, GOALS), "resident_mib": run.resident_mib}

    def kill(self, system, workers, kind):
        """A row of the table of faults: what happens when a process of this kind is killed, and when the run is resumed."""
        row = {"system": system, "killed": kind}
        try:
            interpreter = self.interpreter(system)
        except NoEnvironment as error:
            return {**row, "outcome": f"does not install: {error}"}
        folder = self.folder("fault", system, kind)
        run = Run(system, interpreter, folder, self.graphs, 1, workers, 10 * FIRST_UPDATE_S)
        try:
            if not run.watch(lambda: run.steps() > 0 or not run.alive(), FIRST_UPDATE_S) or not run.alive():
                return {**row, "outcome": f"made no update: {run.failure()}"}
            first = run.steps()
            run.watch(lambda: not run.alive(), BEFORE_KILL_S)
            row["steps"] = run.steps()
            before_per_s = (row["steps"] - first) / BEFORE_KILL_S
            if not (victims := run.pids(kind)):
                return {**row, "outcome": "has no such process"}
            os.kill(victims[0], signal.SIGKILL)
            killed = time.time()
            if run.watch(lambda: not run.alive(), AFTER_KILL_S):
                row["outcome"] = f"ends after {time.time() - killed:.0f} s"
                time.sleep(SETTLE_S)
            else:
                share = (run.steps() - row["steps"]) / AFTER_KILL_S / before_per_s if before_per_s else 0
                row["outcome"] = f"goes on with {share:.0%} of the steps/s" if share > LEAST_SHARE else f"hangs for {AFTER_KILL_S} s or more"
                row["steps"] = run.steps()
            row["leftover"] = 0 if run.alive() else len(run.leftover())
        finally:
            run.end()
        resumed = Run(system, interpreter, folder, self.graphs, 1, workers, BEFORE_KILL_S, resume=True)
        try:
            resumed.watch(lambda: not resumed.alive() or resumed.steps() > 0, FIRST_UPDATE_S)
        finally:
            resumed.end()
        return {**row, **resumption(json_lines(folder / "log.jsonl"), folder)}


def resumption(lines, folder):
    """Where a run has gone on, and whether with weights that it had written; None where it does not write those with which it goes on."""
    found = next((line for line in lines if "resumed_steps" in line), None)
    if found is None:
        return {}
    same = None
    if found["weights"]:
        written = {(folder / line["weights"]).read_bytes() for line in lines if line.get("weights") and line is not found}
        same = (folder / found["weights"]).read_bytes() in written
    return {"resumed_steps": found["resumed_steps"], "same_weights": same}


def best_workers(rows, system):
    """The number with which a system trained most steps/s in a minute; 2 where it was not measured."""
    of_system = [row for row in rows if row["system"] == system and row["seconds"] == SHAPE_S and row["trained_per_s"]]
    return max(of_system, key=lambda row: row["trained_per_s"])["workers"] if of_system else 2


def plan(arguments, rows):
    """(system, workers, seed, seconds), in turns: what slows the machine for a while slows all systems."""
    shape = arguments.what == "shape"
    for seed in arguments.seeds or ([1] if shape else [1, 2, 3]):
        numbers = arguments.workers or (WORKERS if shape else [None])
        for workers in numbers:
            for system in arguments.systems:
                yield system, workers or best_workers(rows, system), seed, arguments.seconds or (SHAPE_S if shape else TRAIN_S)


def mean_of(rows, name, form):
    values = [row[name] for row in rows]
    if any(value is None for value in values):
        reached = sum(value is not None for value in values)
        return "-" if not reached else f"{reached} of {len(values)} runs"
    return mean_interval(values).text(form)


def train_lines(rows):
    shown = []
    for (system, workers), of_system in grouped(rows, "system", "workers").items():
        if failed := [row["failed"] for row in of_system if row["failed"]]:
            shown.append([SYSTEMS[system], workers, len(of_system), failed[0], *[None] * 8])
            continue
        lag = "not said" if of_system[0]["lag_mean"] is None else f"{mean_of(of_system, 'lag_mean', '{:.1f}')} ({max(row['lag_most'] for row in of_system):.0f})"
        cells = [mean_of(of_system, name, "{:,.0f}") for name in ("steps_per_s", "trained_per_s", *GOALS)]
        shown.append([SYSTEMS[system], workers, len(of_system), *cells, mean_of(of_system, "best", "{:.3f}"), lag,
                      mean_of(of_system, "resident_mib", "{:,.0f}"), mean_of(of_system, "start_s", "{:.1f}")])
    return table_lines(["system", "workers", "seeds", "steps/s", "trained steps/s", *(f"s to {goal:.2f}" for goal in GOALS.values()), "best",
                        "lag, mean (most)", "MiB", "start, s"], "lr", shown)


def shape_lines(rows):
    numbers = sorted({row["workers"] for row in rows})
    shown = []
    for (system,), of_system in grouped(rows, "system").items():
        by_workers = {row["workers"]: row for row in of_system}
        cells = [f"{by_workers[number]['trained_per_s']:,.0f}" if number in by_workers and by_workers[number]["trained_per_s"] is not None else "-"
                 for number in numbers]
        shown.append([SYSTEMS[system], *cells])
    return table_lines(["system", *numbers], "lr", shown)


def behind_lines(rows):
    """Where Emplace is not the first, by means over seeds."""
    def means(name, least):
        found = {}
        for (system,), of_system in grouped([row for row in rows if not row["failed"]], "system").items():
            values = [row[name] for row in of_system]
            if all(value is not None for value in values):
                found[system] = mean_interval(values).mean
        return sorted(found.items(), key=lambda item: item[1] if least else -item[1])

    if {row["system"] for row in rows} <= {EMPLACE}:
        return ["- No other system has run so long yet."]
    lines = []
    for name, text, least, form in (("steps_per_s", "environment steps/s", False, "{:,.0f}"), ("trained_per_s", "trained steps/s", False, "{:,.0f}"),
                                    *((goal, f"seconds to {limit:.2f}", True, "{:.0f}") for goal, limit in GOALS.items()),
                                    ("best", "the best policy", True, "{:.3f}"), ("lag_mean", "mean lag, versions", True, "{:.1f}"),
                                    ("resident_mib", "MiB", True, "{:,.0f}"), ("start_s", "seconds until the first update", True, "{:.1f}")):
        order = means(name, least)
        own = dict(order).get(EMPLACE)
        ahead = [f"{SYSTEMS[system]} {form.format(value)}" for system, value in order
                 if system != EMPLACE and own is not None and (value < own if least else value > own)]
        if ahead:
            lines.append(f"- {text}: {form.format(own)}; ahead are {', '.join(ahead)}")
    return lines or ["- Nowhere, in this table."]


def markdown(rows):
    longest = max(row["seconds"] for row in rows)
    trained = [row for row in rows if row["seconds"] == longest and longest > SHAPE_S]
    shapes = [row for row in rows if row["seconds"] <= SHAPE_S and row["seed"] == min(one["seed"] for one in rows)]
    lines = ["# Actor-learner systems on the same task",
             "ptb's 20 training graphs, two K80s, 32 groups. Ratios are makespan / one device on 12 validation graphs, greedy, geometric mean. "
             "Emplace's policy is a graph network of 11,792 parameters, that of all others a perceptron of 11,714: differences of ratios are not those "
             "of systems alone. Intervals are those of 95% over seeds (Student's t). Seconds count from the start of the process. A trained step is an "
             "environment step that an update has learned from, counted once. *MiB* is the greatest resident memory of all processes, shared pages once; "
             "*start* the seconds until the first update.", ""]
    if trained:
        lines += ["## Where Emplace is behind", *behind_lines(trained), "", f"## {longest:.0f} seconds on two cores", *train_lines(trained), ""]
    if shapes:
        lines += ["## Trained steps/s by the number of workers", *shape_lines(shapes), ""]
    disturbed = max((row["other_cores"] for row in rows if row["other_cores"] is not None), default=0)
    processors = " and ".join(sorted({row["call"].processor for row in rows}))
    lines += [f"On {processors}. Before a run, other work took {disturbed:.2f} cores at most.", made_by(rows)]
    return "\n".join(lines) + "\n"


def faults_markdown(rows):
    shown = []
    for row in rows:
        lost = "-" if row["resumed_steps"] is None or row["steps"] is None else f"{max(0, row['steps'] - row['resumed_steps']):,}"
        same = {None: "-", True: "yes", False: "no"}[row["same_weights"]]
        shown.append([SYSTEMS[row["system"]], row["killed"], row["outcome"], "-" if row["leftover"] is None else row["leftover"],
                      "-" if row["steps"] is None else format(row["steps"], ","), lost, same])
    return "\n".join([
        "# What happens when a process is killed", "`kill -9`, with two workers. *left over*: processes 10 seconds after the run ended. *lost*: environment "
        "steps between the last ones before the kill and those of the checkpoint from which `--resume` went on; a checkpoint is written every 5 "
        "seconds, by Emplace every 50 updates. *same weights*: whether it went on with those that it had written; Emplace does not write those, "
        "and its own tests compare them bit by bit.", "",
        *table_lines(["system", "killed", "outcome", "left over", "steps before", "lost", "same weights"], "lllrrrl", shown),
        "", made_by(rows)]) + "\n"


def measure_faults(arguments):
    table = Table(arguments.out.with_name(arguments.out.stem + "_faults.csv"), FAULT_COLUMNS, DEPENDS)
    bench = Bench(arguments)
    for system in arguments.systems:
        for kind in KINDS.get(system, ("worker", "driver")):
            if arguments.fresh or not any((row["system"], row["killed"]) == (system, kind) for row in table.rows):
                row = bench.kill(system, (arguments.workers or [2])[0], kind)
                table.remove(system=system, killed=kind)
                table.add([row])
                table.save(faults_markdown(table.rows))
                print(row, flush=True)


def main():
    arguments = parse_arguments()
    if arguments.what == "faults":
        measure_faults(arguments)
        return
    table = Table(arguments.out, COLUMNS, DEPENDS)
    bench = Bench(arguments)
    for system, workers, seed, seconds in plan(arguments, table.rows):
        key = {"system": system, "workers": workers, "seed": seed, "seconds": seconds}
        if not arguments.fresh and any(all(row[name] == value for name, value in key.items()) for row in table.rows):
            continue
        row = bench.measure(**key)
        table.remove(**key)
        table.add([row])
        table.rows.sort(key=lambda one: (list(SYSTEMS).index(one["system"]), one["seconds"], one["workers"], one["seed"]))
        table.save(markdown(table.rows))
        print(row, flush=True)


if __name__ == "__main__":
    run_script(main)
