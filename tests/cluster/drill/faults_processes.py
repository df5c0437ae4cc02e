"""Processes that die, freeze, or come in an odd order."""
import random
import re
import signal
import time

import checks
from drill import Drill
from outcome import Missed
from programs import Program, wait_until
from training import ACTOR_TIMEOUT_S, LOCKSTEP_UPDATES, SOON, Training


def moments(training: Training, rng: random.Random, number: int) -> list[int]:
    """Versions at which to strike, ascending: in lockstep spread over the run, else soon after one another."""
    last = LOCKSTEP_UPDATES - 20 if training.lockstep else 60 * number
    return sorted(rng.sample(range(5, last), number))


def ending(drill: Drill, training: Training) -> str:
    totals = training.finish()
    if training.lockstep:
        drill.expect_reference_policy(training)
        return f"{totals['trained']} trained, {totals['lost']} lost, the policy equals that of an undisturbed run with one actor"
    return ", ".join(f"{totals[key]} {key}" for key in ("produced", "trained", "stale", "lost"))


def actors_killed(drill: Drill, lockstep=False) -> str:
    training = Training(drill.folder, lockstep)
    training.start()
    strikes = 5
    for version in moments(training, drill.rng, strikes):
        training.wait_for_version(version)
        name = drill.rng.choice(sorted(training.actors))
        training.actors[name].kill()
        training.start_actor(name)
    if not lockstep:
        training.expect_progress(20)
    return f"{strikes} kills; {ending(drill, training)}"


def actors_killed_lockstep(drill: Drill) -> str:
    return actors_killed(drill, lockstep=True)


def kill_while_it_writes(training: Training):
    """The learner, when a checkpoint is seen half-written; or else at some moment."""
    folder = training.run_dir / "checkpoints"
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and training.learner.alive():
        if folder.exists() and any(entry.name.startswith(".update_") for entry in folder.iterdir()):
            break
    training.learner.kill()


def expect_all_joined(training: Training, since: int) -> float:
    """`since`: of the log. Returns the seconds until the last actor had joined."""
    began = time.monotonic()
    wait_until(lambda: training.log()[since:].count(" joins as ") >= len(training.actors), SOON, "every actor to join")
    return time.monotonic() - began


def expect_resumed_from_newest(training: Training, newest: int, since: int):
    log = training.log()[since:]
    if f"resumed after update {newest}" not in log:
        raise Missed(f"the run to resume after update {newest}, its newest checkpoint", log.strip() or "an empty log")


def expect_spool_arrived(training: Training, before: dict, spool: int) -> int:
    """What the actors held while the learner was away has come: of each incarnation of then, its last episode, and most of
    what its queue held. `before`: the entries in the checkpoint that was resumed from. Returns how many came."""
    after = checks.incarnations(checks.checkpoints(training.run_dir)[-1])
    came_in_all = 0
    for name in training.actors:
        earlier = sorted(number for actor, number in after if actor == name)[:-1]
        if not earlier:
            raise Missed(f"{name} to join the resumed learner anew", "one incarnation")
        key = (name, earlier[-1])
        came = checks.used(after[key]) - (checks.used(before[key]) if key in before else 0)
        # An actor whose learner was away only for a moment made fewer than its queue holds.
        if after[key]["highest"] != after[key]["produced"] or came < min(spool, after[key]["produced"]) // 2:
            raise Missed(f"the {spool} episodes that {name} held to arrive", f"{came}, the last one is {after[key]['highest']} of {after[key]['produced']}")
        came_in_all += came
    return came_in_all


def learner_killed(drill: Drill, lockstep=False) -> str:
    spool = 48  # Episodes: an actor fills it while the learner is away.
    sets = ["checkpoint.every=2"] if lockstep else ["checkpoint.every=1", f"actor.send_queue={spool}", "training.max_lag=1000"]
    training = Training(drill.folder, lockstep, sets)
    training.start()
    slowest = 0.0
    strikes = 3
    before: dict = {}
    for strike, version in enumerate(moments(training, drill.rng, strikes)):
        training.wait_for_version(version)
        if training.learner.process.poll() == 0:
            break
        if strike != 1:
            kill_while_it_writes(training)
        else:
            time.sleep(drill.rng.uniform(0, 0.1))
            training.learner.kill()
        checks.expect_whole_files(training.run_dir, temporaries=True)
        newest = checks.checkpoints(training.run_dir)
        before = checks.incarnations(newest[-1]) if newest else {}
        since = len(training.log())
        time.sleep(1.2 if strike == strikes - 1 else drill.rng.uniform(0, 0.5))
        training.expect_actors_alive()
        training.start_learner(resume=True)
        if newest:
            expect_resumed_from_newest(training, int(newest[-1].name[len("update_"):]), since)
        slowest = max(slowest, expect_all_joined(training, since))
        training.expect_progress(3)
    seen = f"{strikes} kills, every actor back {slowest:.1f} s after the learner at most"
    if lockstep:
        return f"{seen}; {ending(drill, training)}"
    training.expect_progress(10)
    told = ending(drill, training)
    return f"{seen}, with {expect_spool_arrived(training, before, spool)} episodes kept meanwhile; {told}"


def learner_killed_lockstep(drill: Drill) -> str:
    return learner_killed(drill, lockstep=True)


def learner_killed_at_its_end(drill: Drill) -> str:
    """Told to stop, and killed while it still waits for actors to say goodbye: nothing that it has learned is lost."""
    training = Training(drill.folder, sets=["checkpoint.every=1000000", "checkpoint.seconds=0", "evaluation.every=1000000"])
    training.start()
    training.wait_for_version(20)
    for actor in training.actors.values():
        actor.send(signal.SIGSTOP)  # They say no goodbye.
    training.learner.send(signal.SIGTERM)
    stops = re.compile(r"training stops after (\d+) updates")
    wait_until(lambda: stops.search(training.learner.out.read_text()), SOON, "the learner to stop training")
    last = int(stops.search(training.learner.out.read_text()).group(1))
    checkpoint = training.run_dir / "checkpoints" / f"update_{last:08}"
    wait_until(checkpoint.exists, SOON, f"a checkpoint of update {last}")
    if f"evaluation of version {last}:" in training.learner.out.read_text():
        raise Missed("the checkpoint first", "it came after the goodbyes and the last evaluation")
    training.learner.kill()
    for actor in training.actors.values():
        actor.kill()
    since = len(training.log())
    training.start_learner(resume=True)
    for name in sorted(training.actors):
        training.start_actor(name)
    expect_resumed_from_newest(training, last, since)
    training.expect_progress(3)
    return f"killed at its end, went on after update {last}; {ending(drill, training)}"


def learner_killed_at_start(drill: Drill) -> str:
    """Again and again, while it starts and actors wait: before and after there is a run to resume."""
    training = Training(drill.folder)
    for number in range(3):
        training.start_actor(f"actor-{number}")
    strikes = 6
    resumed = 0
    for strike in range(strikes):
        resume = (training.run_dir / "config.yaml").exists()
        resumed += resume
        learner = training.launch_learner(resume)
        if strike >= strikes // 2:  # While it begins to train, and not while it loads itself.
            wait_until(lambda: (training.run_dir / "learner.json").exists() or not learner.alive(), SOON, "the learner to listen")
        time.sleep(drill.rng.uniform(0, 0.6))
        if not learner.alive():
            raise Missed("the learner to start", " / ".join(learner.complaints()) or f"exit code {learner.process.returncode}")
        learner.kill()
        if training.run_dir.exists():
            checks.expect_whole_files(training.run_dir, temporaries=True)
    since = len(training.log())
    training.start_learner(resume=(training.run_dir / "config.yaml").exists())
    # One whose Hello went to a learner that died over it waits for up to 8 s before the next.
    joined = expect_all_joined(training, since)
    training.expect_progress(10)
    training.expect_actors_alive()
    return f"{strikes} kills, {resumed} of resumed runs; all joined within {joined:.1f} s; {ending(drill, training)}"


def actor_frozen(drill: Drill, lockstep=False) -> str:
    training = Training(drill.folder, lockstep)
    training.start()
    training.wait_for_version(10)
    since = len(training.log())
    frozen = training.actors["actor-1"]
    frozen.send(signal.SIGSTOP)
    training.wait_for_log("silent for", since, "the learner to notice a frozen actor")
    if not lockstep or training.learner.alive():
        training.expect_progress(5)
    time.sleep(drill.rng.uniform(0, 0.5))
    frozen.send(signal.SIGCONT)
    if lockstep and training.version() >= LOCKSTEP_UPDATES:
        raise Missed("the run to last until the actor is back", "it is over")
    training.wait_for_log("is heard again", since, "the learner to hear it again")
    return f"counted as gone, training went on, heard again; {ending(drill, training)}"


def actor_frozen_lockstep(drill: Drill) -> str:
    return actor_frozen(drill, lockstep=True)


def learner_frozen(drill: Drill, lockstep=False) -> str:
    training = Training(drill.folder, lockstep)
    training.start()
    training.wait_for_version(10)
    seconds = ACTOR_TIMEOUT_S + 1
    training.freeze(training.learner, seconds)
    training.expect_actors_alive()
    after = training.expect_progress()
    return f"still for {seconds} s, went on after {after:.1f} s; {ending(drill, training)}"


def learner_frozen_lockstep(drill: Drill) -> str:
    return learner_frozen(drill, lockstep=True)


def actors_first(drill: Drill) -> str:
    """The wait between tries is at most 2 s (connections) and 8 s (Hello to a learner that is there), however long it was."""
    training = Training(drill.folder)
    for number in range(3):
        training.start_actor(f"actor-{number}")
    wait = 10
    time.sleep(wait)
    for actor in training.actors.values():
        if not actor.alive():
            raise Missed(f"{actor.name} to wait", f"exit code {actor.process.returncode}: {' / '.join(actor.complaints())}")
    training.start_learner()
    joined = expect_all_joined(training, 0)
    if joined > 10:
        raise Missed("them to join within 10 s", f"{joined:.1f} s")
    training.expect_progress()
    return f"{wait} s before the learner; all joined within {joined:.1f} s; {ending(drill, training)}"


def patience_ends(drill: Drill) -> str:
    """An actor that has been welcomed gives a silent learner up after actor.patience_s, with exit code 1 and one line."""
    training = Training(drill.folder, sets=["actor.patience_s=1.5"])
    training.start(actors=1)
    training.wait_for_version(3)
    training.learner.kill()
    actor: Program = training.actors["actor-0"]
    actor.expect_exit(1, SOON)
    told = actor.complaints()
    if len(told) != 1 or "silent" not in told[0]:
        raise Missed("one line that says why", " / ".join(told) or "nothing")
    training.start_actor("actor-0")
    training.start_learner(resume=True)
    training.expect_progress()
    return f"exit code 1, '{told[0].split(': ', 1)[1]}'; {ending(drill, training)}"
