"""A learner that cannot keep up: its queues push back, and nothing is lost but by a kill."""
import time

import checks
from drill import Drill
from outcome import Missed
from training import Training


def expect_pushed_back(training: Training) -> float:
    """Returns for how many seconds the front end had no room."""
    blocked = training.newest_metrics()["blocked_s"]
    if not blocked > 0:
        raise Missed("a full queue that holds up its front end", f"blocked_s {blocked}")
    return blocked


def expect_nothing_lost(totals: dict):
    if totals["lost"] or totals["rejected"]:
        raise Missed("no episode lost or rejected", str(totals))


def queue_full(drill: Drill) -> str:
    training = Training(drill.folder, sets=["learner.buffer=1", "actor.send_queue=2", "learner.actor_timeout_s=10"])
    training.start()
    training.wait_for_version(5)
    training.freeze(training.learner, 3)
    training.expect_actors_alive()
    training.expect_progress()
    blocked = expect_pushed_back(training)
    totals = training.finish()
    expect_nothing_lost(totals)
    return f"one place in the queue, and 3 s without a learner; pushed back for {blocked:.1f} s; {totals['produced']} produced, none lost"


def slow_learner(drill: Drill) -> str:
    training = Training(drill.folder, sets=["training.epochs=150"])
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
    expect_nothing_lost(totals)
    return (f"{(newest['update'] - first['update']) / seconds:.1f} updates/s; {taken_in:.0f} episodes taken in an update; "
            f"pushed back for {blocked:.1f} s; {totals['produced']} produced, none lost")
