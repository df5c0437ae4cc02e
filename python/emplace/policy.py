"""Trained policies."""
import os

from emplace import _core
from emplace.placing import place
from emplace.plan import Plan


class Policy(_core.Policy):
    """A trained policy, which places graphs by itself: without a search, in milliseconds. Immutable."""

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Policy":
        """Reads a policy.safetensors, or the best policy so far of a run directory. Raises BadInput for anything else."""
        return cls(path)

    def place(self, graph: _core.Graph, machine: _core.Machine, *, order: str | None = None, max_groups: int | None = None,
              seed: int = 1, **options: float | str) -> Plan:
        """Places a graph by one greedy episode and, with samples=N, N more that are drawn; never slower than the best single device.

        A planner makes passes instead, first with its complements, and fits any machine. The arguments are those of
        `emplace.place`, which also takes the policy itself: policy=. Raises BadInput for a machine with another number of devices
        than the policy is for.
        """
        return place(graph, machine, method="policy", policy=self, order=order, max_groups=max_groups, seed=seed, **options)
