"""Placing a graph."""
import os

from emplace import _core
from emplace.placements import order_to_names
from emplace.plan import Plan
from emplace.progress import SearchBar

_DEFAULT_SECONDS = 1.0


def place(graph: _core.Graph, machine: _core.Machine, seconds: float | None = None, *, budget: int | None = None,
          method: str = "auto", order: str | None = None, objective: str = "latency", policy: _core.Policy | str | os.PathLike | None = None,
          samples: int = 0, threads: int | None = None, max_groups: int | None = None, seed: int = 1,
          progress: bool | None = None) -> Plan:
    """Places a graph as `emplace place` does: never slower than the best single device.

    seconds: wall time that a searching method may take (1 without a budget). budget: number of placements that it may simulate;
    the result is then the same for any number of threads. method: one of `emplace.methods()`. order: one of `emplace.orders()`,
    which also decides in which order each device runs its ops, or "none"; None lets "auto" give an order where that is faster. objective: "latency", the time of one step, or "throughput", the
    time from step to step in a pipeline (method "dp"). policy: a trained policy, or the path of its file or run directory. samples: episodes
    that the method "policy" samples beside the greedy one. threads: None is one for each core. max_groups: ops are placed in at
    most this many groups, or for 0 each by itself; None is as the policy was trained, or 128. progress: a progress bar of tqdm;
    None: in terminals and notebooks.

    Ctrl-C ends the search and raises KeyboardInterrupt; what was found so far is dropped. Raises BadInput for a machine that
    cannot hold or run the graph, and RunFailed where the method and all single devices find nothing.
    """
    check_limit("seconds", seconds)
    check_limit("budget", budget)
    wall_s = 0.0 if seconds is None and budget is not None else float(_DEFAULT_SECONDS if seconds is None else seconds)
    with SearchBar(progress, wall_s) as bar:
        found = _core.place(graph, machine, method=method, seconds=wall_s, budget=budget or 0, order=order or "",
                            objective=objective, policy=as_policy(policy), samples=samples, threads=threads or 0,
                            max_groups=max_groups, seed=seed, progress=bar.show)
    return Plan(graph, machine, found["placement"], found["makespan_us"], found["single_device_us"], found["lower_bound_us"],
                found["peak_bytes"], found["feasible"], method, found["found_by"], found["evaluations"], found["seconds"],
                order_to_names(found["orders"], graph, machine))


def as_policy(policy: _core.Policy | str | os.PathLike | None) -> _core.Policy | None:
    """The policy that an argument `policy` stands for."""
    return policy if policy is None or isinstance(policy, _core.Policy) else _core.Policy(policy)


def check_limit(name: str, value: float | None) -> None:
    """Raises BadInput for a limit that is given and not above 0."""
    if value is not None and not value > 0:
        raise _core.BadInput(f"{name} is {value}, expected a number above 0")
