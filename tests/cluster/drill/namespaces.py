"""Two hosts on one machine: network namespaces with a link between them. Needs root and iproute2."""
import os
import pathlib
import shutil
import subprocess

from outcome import Skipped
from programs import Program, wait_until

LINK = "emplace"  # The name of either end.


class TwoHosts:
    """In a with block. The namespaces have no names: each lasts as long as the process that holds it, so that none is left
    even when the drill is killed, and the link goes with them."""

    learner_address = "10.213.97.1"
    actors_address = "10.213.97.2"

    def __init__(self, folder: pathlib.Path):
        self._folder = folder

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skipped("network namespaces need root")
        for command, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux")):
            if not shutil.which(command):
                raise Skipped(f"there is no {command} command (Debian package {package})")
        self._learner = self._hold("learner-host")
        self._actors = self._hold("actors-host")
        self.on_learner = ("nsenter", f"--net=/proc/{self._learner.pid}/ns/net")
        self.on_actors = ("nsenter", f"--net=/proc/{self._actors.pid}/ns/net")
        done = self._run(self.on_learner, "ip", "link", "add", LINK, "type", "veth", "peer", "name", LINK, "netns", self._actors.pid)
        if done.returncode != 0:
            self.__exit__()
            raise Skipped(f"no link between network namespaces here ({done.stderr.strip()})")
        for host, address in ((self.on_learner, self.learner_address), (self.on_actors, self.actors_address)):
            self._run(host, "ip", "link", "set", "lo", "up").check_returncode()
            self._run(host, "ip", "address", "add", f"{address}/24", "dev", LINK).check_returncode()
            self._run(host, "ip", "link", "set", LINK, "up").check_returncode()
        return self

    def __exit__(self, *_):
        self._learner.kill()
        self._actors.kill()

    def _hold(self, name: str) -> Program:
        holder = Program(name, ["unshare", "--net", "sleep", "infinity"], self._folder)
        ours = os.readlink("/proc/self/ns/net")

        def holds():
            if not holder.alive():
                raise Skipped(f"no network namespaces here ({' / '.join(holder.complaints())})")
            return os.readlink(f"/proc/{holder.pid}/ns/net") != ours
        wait_until(holds, 10, "a network namespace")
        return holder

    def _run(self, host: tuple, *command) -> subprocess.CompletedProcess:
        return subprocess.run([*host, *map(str, command)], capture_output=True, text=True, timeout=20)

    def set_link(self, state: str):
        """"down" or "up"."""
        self._run(self.on_actors, "ip", "link", "set", LINK, state).check_returncode()

    def slow_down(self, how: str) -> str | None:
        """`how`: as tc's netem takes it. Returns why it could not be had."""
        if not shutil.which("tc"):
            return "there is no tc command"
        for host in (self.on_learner, self.on_actors):
            done = self._run(host, "tc", "qdisc", "add", "dev", LINK, "root", "netem", *how.split())
            if done.returncode != 0:
                return f"netem: {done.stderr.strip().splitlines()[0]}"
        return None
