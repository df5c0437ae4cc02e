"""Placing a graph."""
import os
from collections.abc import Mapping, Sequence

from emplace import _core
from emplace.checks import check_limit, check_seed, check_whole
from emplace.placements import order_to_names
from emplace.pipeline import BlockRow
from emplace.plan import Plan
from emplace.progress import SearchBar
from emplace.staging import check_stages, whole_modules

_DEFAULT_SECONDS = 1.0


def place(graph: _core.Graph, machine: _core.Machine, seconds: float | None = None, *, budget: int | None = None,
          method: str | None = None, order: str | None = None, objective: str = "latency",
          policy: _core.Policy | str | os.PathLike | None = None, threads: int | None = None, max_groups: int | None = None,
          seed: int = 1, stages: str | None = None, blocks: Sequence[str] | None = None, progress: bool | None = None,
          **options: float | str) -> Plan:
    """Places a graph as `emplace place` does: never slower than the best single device.

    seconds: wall time that a searching method may take (1 without a budget). budget: number of placements that it may simulate; the
    result is then the same for any number of threads. method: one of `emplace.methods()`; None is "auto". order: one of
    `emplace.orders()`, which also decides in which order each device runs its ops, or "none"; None lets "auto" give an order where
    that is faster. objective: "latency", the time of one step, or "throughput", the time from step to step in a pipeline (methods
    "auto" and "dp"). policy: a trained policy, or the path of its file or run directory; None is the trained planner that comes
    with the package, "none" no policy. threads: None is one for each core. max_groups: ops are placed in at most this many groups,
    or for 0 each by itself; None is as the policy was trained, or 128. stages: a constraint, for runtimes that place modules of a
    captured graph as a whole: "modules" keeps each module on one device, and "contiguous" gives each device blocks that follow each
    other, or none: of all such divisions that fit the memory, with the devices in the machine's order or, where they are of few
    kinds, in any order, the best for the objective; `method` does not matter to it. blocks: names of modules that stay whole with
    what is in them; None: for "contiguous" the model's row of numbered modules (layers.0, layers.1, ...), else none. Half of the
    limits go to a placement without the constraint, whose figures are the plan's free_makespan_us and free_max_load_us. progress: a
    progress bar of tqdm; None: in terminals and notebooks. options: those that some methods alone have, such as samples=8 of
    "policy"; `emplace.method_options()` lists them.

    Ctrl-C ends the search and raises KeyboardInterrupt; what was found so far is dropped. Raises BadInput for a machine that
    cannot hold or run the graph, for stages="contiguous" with the bytes that are missing on each device, and RunFailed where the
    method and all single devices find nothing.
    """
    check_limit("seconds", seconds)
    check_whole("budget", budget, 1, 63, optional=True)
    check_whole("threads", threads, 1, optional=True)
    check_seed("seed", seed)
    if method is None:
        method = "auto"
    wall_s = 0.0 if seconds is None and budget is not None else float(_DEFAULT_SECONDS if seconds is None else seconds)
    check_stages(stages, blocks)
    parts = 1 if stages is None else 2  # Searches that share the limits.
    trained = as_policy(policy)
    with SearchBar(progress, wall_s) as bar:
        def search(given: _core.Graph) -> dict:
            return _core.place(given, machine, method=method, seconds=wall_s / parts, budget=-(-(budget or 0) // parts),
                               order=order or "", objective=objective, policy=trained, method_options=as_texts(options),
                               threads=threads or 0, max_groups=max_groups, seed=seed, progress=bar.show)
        kept = None
        if stages == "contiguous":
            _, kept = BlockRow(graph, blocks).divide(machine, objective=objective, any_order=True, order=order, seconds=wall_s / parts)
        elif stages == "modules":
            kept = search(whole_modules(graph, blocks))
        free = search(graph)
    found = kept or free
    spent = [free, kept] if kept else [free]
    figures = {name: found[name] for name in ("placement", "makespan_us", "single_device_us", "lower_bound_us", "peak_bytes", "feasible",
                                              "found_by")}
    return Plan(graph, machine, **figures, method=method, evaluations=sum(one["evaluations"] for one in spent),
                seconds=sum(one["seconds"] for one in spent), order=order_to_names(found["orders"], graph, machine), stages=stages,
                objective=objective, free_makespan_us=free["makespan_us"] if kept else None,
                free_max_load_us=_core.max_load_us(graph, machine, free["placement"]) if kept else None)


def as_texts(options: Mapping[str, float | str]) -> dict[str, str]:
    """Values of methods' own options, as the commands take them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


def as_policy(policy: _core.Policy | str | os.PathLike | None) -> _core.Policy | None:
    """The policy that an argument `policy` stands for: None for the planner that comes with the package, "none" for none."""
    if policy is None:
        return _core.shipped_policy()
    if policy == "none":
        return None
    return policy if isinstance(policy, _core.Policy) else _core.Policy(policy)
