"""Comparing methods."""
import html
import math
import os
import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from emplace import _core
from emplace.checks import check_limit, check_seed, check_whole
from emplace.placing import as_policy, as_texts

_DEFAULT_BUDGET = 100


@dataclass(frozen=True)
class EvaluationRow:
    """What one method found for one graph with one seed."""
    graph: str
    method: str
    seed: int
    makespan_us: float  # Of the method's own placement; infinity: it found none.
    feasible: bool  # Whether that placement fits the memory.
    placed_us: float  # minimized_us of what `place` hands out: that, or the best single device's where it is better.
    single_device_us: float  # Infinity: no single device may run every op.
    evaluations: int  # Simulated placements.
    seconds: float  # Wall time of the method.
    max_load_us: float  # Load of the busiest device of the method's own placement; infinity: it found none.
    objective: str  # Of the evaluation: "latency" or "throughput".

    @property
    def minimized_us(self) -> float:
        """What the objective minimizes: makespan_us, or for "throughput" max_load_us."""
        return self.max_load_us if self.objective == "throughput" else self.makespan_us

    @property
    def ratio(self) -> float:
        """minimized_us / best single device: lower is better. NaN where there is no legal placement, or no single device for all
        ops."""
        return self.minimized_us / self.single_device_us if max(self.minimized_us, self.single_device_us) < math.inf else math.nan


@dataclass(frozen=True)
class Evaluation:
    """The rows of an evaluation, graph by graph; in a notebook, a table."""
    rows: list[EvaluationRow]

    def ratios(self) -> dict[str, float]:
        """By method, the geometric mean of minimized_us / best single device over the rows in which both exist, and of several seeds the
        mean of theirs, as `emplace evaluate` has it; NaN: there are none."""
        means = {}
        for method in dict.fromkeys(row.method for row in self.rows):
            of_seed: dict[int, list[float]] = {}
            for row in self.rows:
                if row.method == method and row.ratio > 0:
                    of_seed.setdefault(row.seed, []).append(row.ratio)
            means[method] = statistics.fmean(map(statistics.geometric_mean, of_seed.values())) if of_seed else math.nan
        return means

    def _repr_html_(self) -> str:
        lines = [(row.graph, row.method, row.seed, _shown(row.minimized_us / 1e3), _shown(row.ratio),
                  "yes" if row.feasible else "no", row.evaluations, f"{row.seconds:.3f}") for row in self.rows]
        minimized = "load ms" if any(row.objective == "throughput" for row in self.rows) else "makespan ms"
        head = ("graph", "method", "seed", minimized, "/ 1 device", "fits", "evaluations", "seconds")
        table = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in line) + "</tr>" for line in [head, *lines])
        return f"<table>{table}</table>"


def _shown(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def evaluate(graphs: _core.Graph | Sequence[_core.Graph], machine: _core.Machine, methods: Sequence[str], *,
             seconds: float | None = None, budget: int | None = None, seeds: Sequence[int] = (1,),
             order: str | None = None, objective: str = "latency", policy: _core.Policy | str | os.PathLike | None = None,
             max_groups: int | None = None, jobs: int | None = None, **options: float | str) -> Evaluation:
    """Runs each method on each graph, once for each seed.

    With `seconds`, every searching method has this time for each graph, and runs come one after the other, each on `jobs` threads
    (None: one for each core). Else runs are side by side on `jobs` threads, and each simulates `budget` placements (default: 100). A
    method that cannot minimize the objective minimizes the latency, and one that lacks an option of `options` runs
    without it. The other arguments are those of `place`. Ctrl-C ends it and raises KeyboardInterrupt.
    """
    check_limit("seconds", seconds)
    check_whole("budget", budget, 1, 63, optional=True)
    if isinstance(methods, str):
        raise _core.BadInput(f"methods is '{methods}', expected a list of names, such as ['{methods}']")
    methods, seeds = list(methods), list(seeds)
    _check_each_once("methods", methods)
    _check_each_once("seeds", seeds)
    for seed in seeds:
        check_seed("seeds", seed)
    check_whole("jobs", jobs, 1, optional=True)
    if not budget and not seconds:
        budget = _DEFAULT_BUDGET
    trained = as_policy(policy)
    cores = len(os.sched_getaffinity(0))
    texts = as_texts(options)
    _core.check_method_options(texts, methods)
    having = {name: option.methods for name, option in _core.method_options().items()}
    keys = [(graph, method, seed) for graph in ([graphs] if isinstance(graphs, _core.Graph) else graphs)
            for method in methods for seed in seeds]

    def run(key: tuple, tick: Callable[[], None]) -> EvaluationRow:
        graph, method, seed = key
        try:
            found = _core.place(graph, machine, method=method, seconds=seconds or 0.0, budget=budget or 0, order=order or "",
                                objective=objective if _core.can_minimize(method, objective) else "latency", policy=trained,
                                method_options={name: text for name, text in texts.items() if method in having[name]},
                                threads=(jobs or 0) if seconds else 1, max_groups=max_groups, seed=seed, tick=tick)
        except _core.RunFailed:
            return EvaluationRow(graph.name, method, seed, makespan_us=math.inf, feasible=False, placed_us=math.inf, single_device_us=math.inf,
                                 evaluations=0, seconds=0.0, max_load_us=math.inf, objective=objective)
        return EvaluationRow(graph.name, method, seed, makespan_us=found["method_makespan_us"], feasible=found["method_feasible"],
                             placed_us=found["max_load_us" if objective == "throughput" else "makespan_us"],
                             single_device_us=found["single_device_us"], evaluations=found["evaluations"], seconds=found["seconds"],
                             max_load_us=found["method_max_load_us"], objective=objective)

    return Evaluation(_run_all(run, keys, 1 if seconds else min(jobs or cores, len(keys))))


def _run_all(run: Callable[[tuple, Callable[[], None]], EvaluationRow], keys: list[tuple], workers: int) -> list[EvaluationRow]:
    """run(key, tick) for each key, on this many threads. tick raises KeyboardInterrupt once nobody waits for results any more."""
    ended = threading.Event()

    def tick() -> None:
        if ended.is_set():
            raise KeyboardInterrupt  # Of the main thread, which alone gets it.
    if workers <= 1:
        return [run(key, tick) for key in keys]
    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(run, key, tick) for key in keys]
        # Now and then, for a signal that another thread gets does not end a wait.
        while (state := wait(running, timeout=0.1, return_when=FIRST_EXCEPTION)).not_done and not any(one.exception() for one in state.done):
            pass
        return [one.result() for one in running]
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)


def _check_each_once(name: str, values: Sequence) -> None:
    """Raises BadInput for a value that comes twice: it would count twice in means."""
    seen = set()
    for value in values:
        if value in seen:
            raise _core.BadInput(f"{name} has {value!r} twice, expected each once")
        seen.add(value)
