"""Whoever reaches the learner's ports and is no actor: sends nonsense, too much, or says nothing."""
import json
import random
import socket
import struct
import time

import checks
from drill import Drill
from outcome import Missed
from training import Training

# ZMTP 3.0 without encryption: a greeting, a READY command, then frames.
GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04" + bytes([5 + 1 + 1 + 11 + 4 + 6]) + b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"


def frame(body: bytes, more=False) -> bytes:
    return bytes([2 | more]) + struct.pack(">Q", len(body)) + body


def say(port: int, data: bytes) -> socket.socket | None:
    """Sends what the learner takes; it may close the connection at any time. None: it was refused, or closed."""
    peer = socket.socket()
    peer.settimeout(0.5)
    try:
        peer.connect(("127.0.0.1", port))
        peer.sendall(data)
        return peer
    except OSError:
        peer.close()
        return None


def attack(port: int, rng: random.Random) -> list[socket.socket | None]:
    """One round of everything on one port. The connections stay open until the caller lets go of them."""
    nonsense = [frame(rng.randbytes(rng.randrange(1, 200)), more=rng.random() < 0.3) for _ in range(200)]
    return [
        say(port, rng.randbytes(4096)),                                                       # No greeting.
        say(port, GREETING[:rng.randrange(1, 64)]),                                            # Half of one, and silence.
        say(port, GREETING + rng.randbytes(64)),                                               # No READY.
        say(port, GREETING + READY + b"\x02" + struct.pack(">Q", 1 << 62) + bytes(4096)),      # A frame of 4 EiB.
        say(port, GREETING + READY + b"\x02" + struct.pack(">Q", 1 << 31) + bytes(4096)),      # And one of 2 GiB.
        say(port, GREETING + READY + b"".join(nonsense)),                                      # Messages without sense.
        say(port, GREETING + READY + b"".join(frame(b"", more=True) for _ in range(20000)) + frame(b"")),  # Of 20,000 parts.
        say(port, GREETING + READY + frame(b"x" * 20) * 20000),                                # More than anyone may send.
    ]


def hostile_peer(drill: Drill) -> str:
    training = Training(drill.folder)
    training.start()
    training.wait_for_version(10)
    before = training.version()
    sent = 0
    deadline = time.monotonic() + 3
    connections: list[socket.socket | None] = []
    while time.monotonic() < deadline or sent < 2 * 8:
        for port in range(training.port, training.port + 2):
            connections += attack(port, drill.rng)
            sent += 8
        connections += [say(training.port, b"") for _ in range(50)]  # And a crowd that says nothing.
        while len(connections) > 300:
            gone = connections.pop(0)
            if gone:
                gone.close()
    rose = training.version() - before
    if rose < 5:
        raise Missed("training to go on meanwhile", f"{rose} updates")
    training.expect_actors_alive()
    training.expect_progress()
    totals = training.finish()
    for connection in connections:
        if connection:
            connection.close()
    if totals["rejected"]:
        raise Missed("no episode of ours rejected", str(totals))
    if len(checks.ledger(training.run_dir)["actors"]) != 3:
        raise Missed("three actors in the ledger", str(checks.ledger(training.run_dir)["actors"]))
    summary = json.loads((training.run_dir / "summary.json").read_text())
    if summary["cut_off"] == 0:
        raise Missed("peers that send nonsense to be cut off", str(summary))
    return (f"{sent} attacks on two ports, {rose} updates meanwhile, {summary['cut_off']} peers cut off, "
            f"{summary['malformed']} messages refused; of ours {totals['produced']} produced, {totals['lost']} lost")
