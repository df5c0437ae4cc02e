"""A network that is slow, stalls, or breaks."""
import time

from drill import Drill
from faults_processes import ending
from namespaces import TwoHosts
from programs import BIN, Program
from relay import Relay
from training import ACTOR_TIMEOUT_S, SOON, Training

RELAY_HOST = "127.0.0.2"  # An address of this machine like 127.0.0.1, with ports of its own.


def relay_faults(drill: Drill, lockstep=False) -> str:
    """Needs no rights: what goes between learner and actors passes through this process."""
    training = Training(drill.folder, lockstep, host=RELAY_HOST)
    with Relay(RELAY_HOST, "127.0.0.1", training.port) as relay:
        training.start()
        training.wait_for_version(5)
        relay.delay_s = 0.02
        training.expect_progress(5)
        relay.delay_s = 0.0
        since = len(training.log())
        relay.stall()
        time.sleep(ACTOR_TIMEOUT_S + 0.5)
        relay.flow()
        training.wait_for_log("is heard again", since, "actors to be heard again after a stall")
        stalled = training.expect_progress(3)
        relay.cut()
        time.sleep(drill.rng.uniform(0.5, ACTOR_TIMEOUT_S + 0.5))
        training.expect_actors_alive()
        relay.heal()
        cut = training.expect_progress(3)
        told = ending(drill, training)
    return f"20 ms each way; a stall, went on after {stalled:.1f} s; all connections cut, went on after {cut:.1f} s; {told}"


def relay_faults_lockstep(drill: Drill) -> str:
    return relay_faults(drill, lockstep=True)


def hosts_cut(drill: Drill) -> str:
    """Two hosts, encrypted, as namespaces; the link between them goes down and comes back."""
    keys = drill.folder / "keys"
    Program("keygen", [BIN / "emplace", "keygen", keys], drill.folder).expect_exit(0, SOON)
    with TwoHosts(drill.folder) as hosts:
        training = Training(drill.folder, host=hosts.learner_address, learner_prefix=hosts.on_learner, actor_prefix=hosts.on_actors,
                            sets=["network.bind=0.0.0.0", f"network.advertise={hosts.learner_address}", f"network.keys={keys}/learner.keys"],
                            actor_environment={"EMPLACE_KEYS": str(keys / "actor-0.keys")})
        training.start()
        training.wait_for_version(5)
        since = len(training.log())
        hosts.set_link("down")
        training.wait_for_log("silent for", since, "the learner to notice that its actors are cut off")
        training.expect_actors_alive()
        hosts.set_link("up")
        after = training.expect_progress()
        slow = hosts.slow_down("delay 20ms 5ms loss 2%")
        training.expect_progress()
        told = ending(drill, training)
    shown = "then 20 ms of delay and 2% loss" if slow is None else f"no delay and loss here ({slow})"
    return f"encrypted; link down, went on {after:.1f} s after it was up; {shown}; {told}"
