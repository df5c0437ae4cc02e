"""A learner whose limit of open files is used up by others."""
import socket
import time

import checks
from drill import Drill
from outcome import Missed
from training import Training

LIMIT = 200  # Of open files: 100 that a learner keeps for itself, and two for each of 50 actors.


def hold(port: int) -> socket.socket:
    """A connection over which nothing is ever said."""
    idle = socket.socket()
    idle.setblocking(False)
    idle.connect_ex(("127.0.0.1", port))
    return idle


def idle_connections(drill: Drill) -> str:
    training = Training(drill.folder, learner_prefix=("prlimit", f"--nofile={LIMIT}:{LIMIT}"))
    training.start()
    training.wait_for_version(10)
    connections = []
    began, before = time.monotonic(), training.version()
    try:
        while time.monotonic() < began + 5:
            while len(connections) < 3 * LIMIT:  # For those that the learner has closed there are others.
                connections.append(hold(training.port + len(connections) % 2))
            time.sleep(0.5)
            connections.pop(0).close()
        training.expect_progress()
        rose = training.version() - before
        newest = int(checks.checkpoints(training.run_dir)[-1].name[len("update_"):])
        if newest < before + rose // 2:
            raise Missed("checkpoints to be written meanwhile", f"version {before + rose}, the newest checkpoint is of {newest}")
    finally:
        for connection in connections:
            connection.close()
    if "connections are open" not in training.log():
        raise Missed("the log to tell of the limit", training.log()[-500:])
    training.start_actor("actor-late")  # There is room again.
    training.expect_actors_back()
    totals = training.finish()
    return f"{3 * LIMIT} idle connections for 5 s at {LIMIT} open files, {rose} updates and a checkpoint of update {newest} meanwhile; {totals['lost']} lost"
