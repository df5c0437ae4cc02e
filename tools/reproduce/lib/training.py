"""Trainings for the scripts of this folder: a learner and its actors as processes, several runs side by side, finished runs
kept.

A run is a folder as `emplace-learner` makes it, with reproduce.json beside it: what it was trained with. A finished run is
not trained again, and one that was stopped goes on from its last checkpoint.
"""
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

from lib.networks import ROOT, add_programs, below_root, write_aside_and_rename
from lib.script import BadInput
from lib.table import add_out

FORMAT = "emplace.reproduce/1"
POLL_S = 0.2
CLEAN_END_S = 60  # What a learner that is told to stop may take for its checkpoint.
TAIL_LINES = 20   # Of a log, where a run fails.


@dataclasses.dataclass(frozen=True)
class Task:
    """One run to train."""
    name: str             # Its folder, below that of all runs.
    config: pathlib.Path
    overrides: dict       # "section.key" -> value. A pathlib.Path, alone or in a list, is a file that the run depends on.
    seed: int


def add_arguments(parser, table):
    """What every script that trains understands; table: the name of its result table."""
    cores = os.cpu_count() or 1
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random seeds; there is one training for each (1 2 3)")
    parser.add_argument("--jobs", type=int, default=cores,
                        help=f"number of trainings that run at once, each a learner and an actor (default: the number of cores, {cores})")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="settings",
                        help="replaces a value of the configuration in every training; may be repeated")
    add_out(parser, table)
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs/reproduce", help="folder for the trainings")
    add_programs(parser)
    parser.add_argument("--fresh", action="store_true", help="repeat trainings that are finished")


def exactly(updates):
    """Overrides for so many updates, however long they take and whatever the evaluations say."""
    return {"training.iterations": updates, "training.max_minutes": 0, "evaluation.patience": 0}


def on_graphs(train, test=()):
    """Overrides for training on these graph files. They serve for validation too; the test graphs decide nothing."""
    return {"workload.family": "", "workload.train_graphs": list(train), "workload.validation_graphs": [],
            "workload.test_graphs": list(test)}


def overrides_of(settings):
    """{"section.key": "value"} of texts as --set takes them."""
    overrides = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set {text}: expected section.key=value")
        overrides[key] = value
    return overrides


def shown(value):
    """A value as YAML, for --set. Text stays as it is: it may have come from --set. Paths become absolute, as those of a configuration
    start at its folder."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(json.dumps(str(item.resolve() if isinstance(item, pathlib.Path) else item)) for item in value) + "]"
    if isinstance(value, pathlib.Path):
        return json.dumps(str(value.resolve()))
    return str(value) if value != "" else '""'


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def without_comments(text):
    """A configuration as what it says: to explain it better is no reason to train again."""
    lines = [re.sub(r"(^|\s)#.*", "", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line]


def record_of(task, actors, hardware):
    """What a run depends on, but for the programs. Files count by what they hold."""
    def comparable(value):
        if isinstance(value, list):
            return [comparable(item) for item in value]
        if isinstance(value, pathlib.Path):
            return {"file": str(below_root(value)), "sha256": sha256(value)}
        return shown(value)

    return {"format": FORMAT, "config": without_comments(task.config.read_text()), "seed": task.seed, "actors": actors,
            **({"hardware": hardware} if hardware else {}),
            "overrides": {key: comparable(value) for key, value in sorted(task.overrides.items())}}


def difference(old, new):
    """The first entry that differs, for a message."""
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                return f"{key}.{difference(old[key], new[key])}"
            return key
    return None


def is_finished(run_dir):
    summary = run_dir / "summary.json"
    return summary.exists() and not json.loads(summary.read_text())["interrupted"]


def json_lines(path):
    """The objects of a file of JSON lines; none where there is no file. A last line that is half written is left out."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def rewarded(run_dir, summary):
    """When the run's episodes are rewarded, "each_decision" or "end"."""
    # Finished runs whose learner did not say so yet: of their kinds, Placeto alone is rewarded after each decision.
    earlier = "each_decision" if resolved(run_dir).get("policy.kind", "placeto") == "placeto" else "end"
    return summary.get("rewarded", earlier)


def result_of(run_dir):
    """What a finished run came to:
    "run_dir"; "summary", its summary.json; "seconds" of training, "updates"; "episodes" that came in, and "simulations",
    the placements they went through, each of them simulated; "improvements", {graph: the lines of placements.jsonl}."""
    summary = json.loads((run_dir / "summary.json").read_text())
    ledger = json.loads((run_dir / "ledger.json").read_text())
    episodes = ledger["total"]["produced"]
    updates = [line for line in json_lines(run_dir / "metrics.jsonl") if line["kind"] == "update"]
    # Counts of metrics.jsonl are those of one sitting; the steps of an episode are the same in all.
    steps = updates[-1]["steps"] / updates[-1]["episodes"] if updates else 0
    simulated = steps if rewarded(run_dir, summary) == "each_decision" else 1
    improvements = {}
    for line in json_lines(run_dir / "placements.jsonl"):
        improvements.setdefault(line["graph"], []).append(line)
    return {"run_dir": run_dir, "summary": summary, "seconds": summary["train_seconds"], "updates": summary["updates"],
            "episodes": episodes, "simulations": round(episodes * simulated), "improvements": improvements}


def settings_in(text):
    """{"section.key": text} of a configuration, its sections written in one line or in several."""
    values = {}
    section = ""
    for line in without_comments(text):
        found = re.match(r"( *)([a-z_]+):(?: (.*?))?$", line)
        if not found:
            continue
        if not found[1] and (found[3] is None or found[3].startswith("{")):
            section = found[2] + "."
            values.update((section + key, value.strip('"')) for key, value in re.findall(r"([a-z_]+): ([^,}]+)", found[3] or ""))
        elif found[3] is not None:
            values[(section if found[1] else "") + found[2]] = found[3].strip('"')
    return values


def resolved(run_dir):
    """The resolved configuration of a run: {"section.key": text}."""
    return settings_in((run_dir / "config.yaml").read_text())


def graphs_of(run_dir, part):
    """The files of a run's graphs; part: "train", "validation" or "test"."""
    folder = run_dir / "graphs"
    return [folder / name for name in json.loads((folder / "split.json").read_text())[part]]


def devices_of(run_dir):
    """The devices file of a run."""
    return pathlib.Path(resolved(run_dir)["workload.devices"])


def prepare(task, run_dir, actors, hardware, fresh):
    """Makes the folder ready and says whether to go on with the run in it; None: it is finished."""
    if not task.config.is_file():
        raise BadInput(f"{task.config}: does not exist, expected a configuration")
    mark = run_dir / "reproduce.json"
    record = record_of(task, actors, hardware)
    if run_dir.exists() and not mark.exists() and any(run_dir.iterdir()):
        raise BadInput(f"{run_dir}: is not a run of these scripts, expected another --runs")
    if fresh and run_dir.exists():
        shutil.rmtree(run_dir)
    begun = (run_dir / "config.yaml").exists()
    if begun:
        changed = difference(json.loads(mark.read_text()), record)
        if changed is not None:
            raise BadInput(f"{run_dir}: was trained with another '{changed}'; --fresh trains it again, --runs elsewhere")
        if is_finished(run_dir):
            return None
    (run_dir / "logs").mkdir(parents=True, exist_ok=True)
    write_aside_and_rename(mark, json.dumps(record, indent=1) + "\n")
    return begun


def start(command, log):
    """A process that dies with us, even if we are killed outright, and that Ctrl-C reaches through us alone."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *map(str, command)], stdin=subprocess.DEVNULL,
                            stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=ROOT)


def end(processes):
    """Ends what still runs, in this order. A learner leaves a checkpoint."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(CLEAN_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def fail(what, log):
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
    sys.exit(f"{what}; the end of {log}:\n{tail}")


def train(run_dir, config, overrides, seed, actors=1, hardware=0, programs=ROOT / "build/bin", fresh=False, stop=None):
    """Trains a run, or takes what it came to if it is finished: result_of(). `hardware` actors measure their rewards beside
    `actors` that simulate. On a failure SystemExit, with the end of the log; once `stop`, an Event, is set KeyboardInterrupt,
    after the run has written a checkpoint."""
    task = Task(run_dir.name, config, overrides, seed)
    resume = prepare(task, run_dir, actors, hardware, fresh)
    if resume is None:
        return result_of(run_dir)
    address = run_dir / "learner.json"
    address.unlink(missing_ok=True)
    programs = programs.resolve()
    command = [programs / "emplace-learner", "--config", config.resolve(), "--dir", run_dir.resolve(), "--set", f"seed={seed}"]
    for key, value in overrides.items():
        command += ["--set", f"{key}={shown(value)}"]
    if resume:
        command.append("--resume")
    actor_commands = {**{f"actor-{i}": [programs / "emplace-actor"] for i in range(actors)},
                      **{f"hardware-{i}": [programs / "emplace-hardware", "actor"] for i in range(hardware)}}
    logs = [run_dir / f"logs/{name}.out" for name in ("learner", *actor_commands)]
    processes = []

    def wait_until(done):
        while not done():
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            for process, log in zip(processes, logs):
                if process.poll() not in (None, 0):
                    fail(f"{run_dir}: {log.stem} ended with exit code {process.returncode}", log)
            time.sleep(POLL_S)

    with open(logs[0], "w") as log:
        processes.append(start(command, log))
    try:
        wait_until(lambda: (address.exists() and address.read_text()) or processes[0].poll() == 0)
        if processes[0].poll() is None:
            target = json.loads(address.read_text())["address"]
            for (name, words), path in zip(actor_commands.items(), logs[1:], strict=True):
                with open(path, "w") as log:
                    processes.append(start([*words, "--learner", target, "--name", name], log))
        wait_until(lambda: processes[0].poll() == 0)
    finally:
        end(processes)
    if not is_finished(run_dir):
        fail(f"{run_dir}: the learner ended before the run was over", logs[0])
    return result_of(run_dir)


def train_all(tasks, arguments, fresh=None):
    """{task.name: result_of()} of these tasks, `arguments.jobs` of them at a time, each with one actor. `arguments` are those
    of add_arguments(); `fresh` comes before theirs."""
    stop = threading.Event()
    fresh = arguments.fresh if fresh is None else fresh
    settings = overrides_of(arguments.settings)
    results = {}

    def run(task):
        overrides = {**settings, **task.overrides}
        return train(arguments.runs / task.name, task.config, overrides, task.seed, programs=arguments.programs,
                     fresh=fresh, stop=stop)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {pool.submit(run, task): task.name for task in tasks}
        try:
            for future in concurrent.futures.as_completed(futures):
                name = futures[future]
                results[name] = future.result()
                print(f"{len(results)}/{len(tasks)} {name}: {results[name]['updates']} updates, "
                      f"{results[name]['seconds']:.0f} s of training", flush=True)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return results
