"""A learner that cannot keep up: its queues push back, and nothing is lost but by a kill."""
import time

import checks
from drill import Drill
from outcome import Missed
from training import Training

MOST_IN_A_CONNECTION = 80  # Episodes of smoke.yaml: twice what was seen.

def expect_pushed_back(training: Training) -> float:
    """Returns for how many seconds the front end had no room."""
    blocked = training.newest_metrics()["blocked_s"]
    if not blocked > 0:
        raise Missed("a full queue that holds up its front end", f"blocked_s {blocked}")
    return blocked


def expect_only_tails_lost(training: Training, totals: dict) -> str:
    """Nothing that was sent is missing in between. What a connection held when its actor ended may be: ZeroMQ does not see
    to its last 8 KiB (github.com/zeromq/libzmq, issues 1922 and 3774), here some forty episodes. Returns how many."""
    if totals["rejected"]:
        raise Missed("no episode rejected", str(totals))
    for (actor, _), entry in checks.incarnations(checks.checkpoints(training.run_dir)[-1]).items():
        tail = entry["produced"] - entry["highest"]
        if entry["gaps"] or tail > MOST_IN_A_CONNECTION or checks.used(entry) + tail != entry["produced"]:
            raise Missed(f"no episode of {actor} lost but up to {MOST_IN_A_CONNECTION} at its end", str(entry))
    return f"{totals['produced']} produced, {totals['lost']} of them lost in closing connections"


def queue_full(drill: Drill) -> str:
    training = Training(drill.folder, sets=["learner.buffer=1", "actor.send_queue=2", "learner.actor_timeout_s=10"])
    training.start()
    training.wait_for_version(5)
    training.freeze(training.learner, 3)
    training.expect_actors_alive()
    training.expect_progress()
    blocked = expect_pushed_back(training)
    totals = training.finish()
    return f"one place in the queue, and 3 s without a learner; pushed back for {blocked:.1f} s; {expect_only_tails_lost(training, totals)}"


def slow_learner(drill: Drill) -> str:
    training = Training(drill.folder, sets=["training.epochs=20"])
    training.start()
    training.wait_for_version(2)
    first, began = training.newest_metrics(), time.monotonic()
    training.expect_progress(3)
    newest, seconds = training.newest_metrics(), time.monotonic() - began
    blocked = expect_pushed_back(training)
    # Every update takes in what the buffer and the batches before it have room for, whatever the actors could make.
    taken_in = (newest["episodes"] - first["episodes"]) / (newest["update"] - first["update"])
    if taken_in > 64:
        raise Missed("actors to be held to what is trained on, 16 episodes an update", f"{taken_in:.0f} an update")
    totals = training.finish()
    return (f"{(newest['update'] - first['update']) / seconds:.1f} updates/s; {taken_in:.0f} episodes taken in an update; "
            f"pushed back for {blocked:.1f} s; {expect_only_tails_lost(training, totals)}")
