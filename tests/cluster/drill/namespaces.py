"""Two hosts on one machine: network namespaces with a link between them. Needs root and iproute2."""
import os
import shutil
import subprocess

from outcome import Skipped


def ip(*arguments: str):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=20)


class TwoHosts:
    """In a with block; its end removes them, link and all."""

    learner_address = "10.213.97.1"
    actors_address = "10.213.97.2"

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skipped("network namespaces need root")
        if not shutil.which("ip"):
            raise Skipped("there is no ip command (Debian package iproute2)")
        self.learner = f"emplace-learner-{os.getpid()}"
        self.actors = f"emplace-actors-{os.getpid()}"
        self.on_learner = ("ip", "netns", "exec", self.learner)
        self.on_actors = ("ip", "netns", "exec", self.actors)
        try:
            for name in (self.learner, self.actors):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("-n", self.learner, "link", "add", "emplace", "type", "veth", "peer", "name", "emplace", "netns", self.actors)
            for name, address in ((self.learner, self.learner_address), (self.actors, self.actors_address)):
                ip("-n", name, "address", "add", f"{address}/24", "dev", "emplace")
                ip("-n", name, "link", "set", "emplace", "up")
        except subprocess.CalledProcessError as error:
            self.remove()
            raise Skipped(f"no network namespaces here ({error.stderr.strip()})") from None
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for name in (self.learner, self.actors):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def set_link(self, state: str):
        """"down" or "up"."""
        ip("-n", self.actors, "link", "set", "emplace", state)

    def slow_down(self, how: str) -> str | None:
        """`how`: as tc's netem takes it. Returns why it could not be had."""
        if not shutil.which("tc"):
            return "there is no tc command"
        for name in (self.learner, self.actors):
            done = subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "emplace", "root", "netem", *how.split()],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return f"netem: {done.stderr.strip()}"
        return None
