"""A disk that fills up, and files that it gives back damaged."""
import pathlib
import random
import shutil
import subprocess

import checks
from drill import Drill
from outcome import Missed, Skipped
from training import SOON, Training

TMPFS_BYTES = 6 << 20


def expect_one_line(program, text: str) -> str:
    told = program.complaints()
    if len(told) != 1 or text not in told[0]:
        raise Missed(f"one line with '{text}'", " / ".join(told) or "nothing")
    return told[0]


def fill(disk: pathlib.Path, leave: int):
    """All of it but `leave` bytes. What was there as filler before goes on counting."""
    filler = disk / f"filler-{leave}"
    free = shutil.disk_usage(disk).free - leave
    with open(filler, "wb", buffering=0) as out:
        try:
            while free > 0:
                free -= out.write(bytes(free))
        except OSError:
            pass  # Someone else was faster: full all the same.


def disk_full(drill: Drill) -> str:
    disk = drill.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={TMPFS_BYTES}", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        raise Skipped(f"no small file system can be mounted ({(mounted.stderr.splitlines() or ['it does not say why'])[0]})")
    try:
        return fill_and_resume(drill, disk)
    except Missed:
        shutil.copytree(disk, drill.folder / "disk-as-it-was", ignore=shutil.ignore_patterns("filler-*"))
        raise
    finally:
        drill.end_programs()
        subprocess.run(["umount", "-l", disk], check=False)


def fill_and_resume(drill: Drill, disk: pathlib.Path) -> str:
    training = Training(drill.folder, sets=["checkpoint.every=1"])
    training.run_dir = disk / "run"
    training.start()
    places = []
    # Room for a part of a checkpoint (the first of its files takes 40 KB); for next to nothing; for nothing.
    for leave in (56 << 10, 12 << 10, 0):
        training.wait_for_version(training.version() + 5)
        kept = {path.name for path in checks.checkpoints(training.run_dir)}
        fill(disk, leave)
        training.learner.expect_exit(1, SOON)
        told = expect_one_line(training.learner, "No space left on device")
        places.append(told.removeprefix(f"emplace-learner: {training.run_dir}/").split(":")[0])
        checks.expect_whole_files(training.run_dir)
        now = checks.checkpoints(training.run_dir)
        if not now or min(kept) > now[-1].name:
            raise Missed("the checkpoints from before to be there", f"before {sorted(kept)}, now {[path.name for path in now]}")
        for filler in disk.glob("filler-*"):
            filler.unlink()
        training.expect_actors_alive()
        since = len(training.log())
        training.start_learner(resume=True)
        training.wait_for_log(f"resumed after update {int(now[-1].name[len('update_'):])}", since, "the run to go on from the newest checkpoint")
        training.expect_progress()
    totals = training.finish()
    return f"exit code 1 and one line (at {', '.join(places)}), nothing half-written; resumed with room; {totals['lost']} lost"


def damage(path: pathlib.Path, how: str, rng: random.Random):
    data = bytearray(path.read_bytes())
    if how == "truncated":
        del data[rng.randrange(len(data) - 2):]
    else:
        # Not the closing newline, the one byte that says nothing.
        data[rng.randrange(len(data) - 1)] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def checkpoint_damaged(drill: Drill) -> str:
    training = Training(drill.folder)
    training.start()
    training.wait_for_version(25)
    training.finish()
    *_, before, newest = checks.checkpoints(training.run_dir)
    whole = drill.folder / "whole"
    training.run_dir.rename(whole)
    cases = [(name, how) for name in ("policy.safetensors", "optimizer.safetensors", "state.json") for how in ("truncated", "changed")]
    stop_at_once = ["training.iterations=1"]  # Which are done already.
    for name, how in cases:
        shutil.copytree(whole, training.run_dir)
        damage(training.run_dir / "checkpoints" / newest.name / name, how, drill.rng)
        learner = training.launch_learner(resume=True, sets=stop_at_once)
        learner.expect_exit(0, SOON)
        errors = learner.errors()
        if "checkpoint is damaged, trying the one before" not in errors or f"resumed after update {int(before.name[len('update_'):])}" not in errors:
            raise Missed(f"with {name} {how}, the run to resume from {before.name} and say so", errors.strip() or "nothing")
        checks.expect_balance(training.run_dir)
        checks.expect_whole_files(training.run_dir / "checkpoints" / before.name)
        shutil.rmtree(training.run_dir)
    shutil.copytree(whole, training.run_dir)
    for checkpoint in checks.checkpoints(training.run_dir):
        damage(checkpoint / drill.rng.choice(cases)[0], drill.rng.choice(cases)[1], drill.rng)
    learner = training.launch_learner(resume=True, sets=stop_at_once)
    learner.expect_exit(2, SOON)
    expect_one_line(learner, "every checkpoint in it is damaged")
    return f"{len(cases)} ways to damage the newest: the one before is taken, and the log says so; all damaged: exit code 2 and one line"
