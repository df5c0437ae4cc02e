"""What placement methods come to on graphs: rows as `emplace evaluate` makes them, what they sum up to over graphs and seeds,
and whether a goal is met.

A row has the columns EVALUATED. What does not exist is None.
"""
import json
import math
import random
import statistics
import sys
import typing

from lib.networks import call
from lib.script import BadInput
from lib.table import table_lines

# Student's t for 95%, two-sided, by degrees of freedom from 1 on; beyond, the normal distribution's is near enough.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
           2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]
NORMAL = 1.96
NEAR = 1.01  # Times within 1% of each other.
RESAMPLES = 2000
EQUAL = 1e-9  # Times that differ by less, relatively, are the same.
ROUNDED_EQUAL = 1e-6  # The same where one of them may be rounded, as a lower bound is.
# Columns of a table of placements, among others. single_device_us: a step of this graph on the best single device.
EVALUATED = {"graph": str, "method": str, "seed": int, "makespan_us": float, "feasible": bool, "evaluations": int, "seconds": float,
             "single_device_us": float}


class Interval(typing.NamedTuple):
    """A mean with its 95% confidence interval; low = high = mean with one value."""
    mean: float
    low: float
    high: float
    count: int

    def text(self, form="{:.3f}"):
        if not math.isfinite(self.mean):
            return "OOM" if self.mean > 0 else "-"
        middle = form.format(self.mean)
        return middle if self.count < 2 else f"{middle} ({form.format(self.low)}..{form.format(self.high)})"


def mean_interval(values):
    """Over seeds. An infinite value, a placement that does not fit, makes the mean infinite; of nothing, NaN."""
    values = list(values)
    if not values:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = sum(values) / len(values)
    if len(values) == 1 or not math.isfinite(mean):
        return Interval(mean, mean, mean, len(values))
    freedom = len(values) - 1
    student = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
    half = student * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half, len(values))


def resampled_interval(groups):
    """The geometric mean of ratios with its 95% interval by resampling groups: the bootstrap's percentiles. groups: of the logarithms of
    ratios, such as those on one graph; at least one."""
    def mean(chosen):
        logs = [log for group in chosen for log in group]
        return math.exp(sum(logs) / len(logs))

    rng = random.Random(1)
    means = sorted(mean(rng.choices(groups, k=len(groups))) for _ in range(RESAMPLES))
    return Interval(mean(groups), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)], len(groups))


def time_of(row):
    """Makespan, us; infinite where there is no placement that fits."""
    return row["makespan_us"] if row["feasible"] else math.inf


def method_in_time(row):
    """A row's method, with the time that a search was given."""
    return f"auto, {row['given_s']:g} s" if row["given_s"] else row["method"]


def better(first, second):
    """The faster row; one that fits beats one that does not."""
    return second if time_of(second) < time_of(first) else first


class Results:
    """Rows by method, graph and seed."""

    def __init__(self, rows):
        self.rows = rows
        self.single_us = {row["graph"]: row["single_device_us"] for row in rows}
        self.by_key = {(row["method"], row["graph"], row["seed"]): row for row in rows}

    def methods(self):
        return list(dict.fromkeys(row["method"] for row in self.rows))

    def seeds(self, method):
        return sorted({row["seed"] for row in self.rows if row["method"] == method})

    def graphs_of(self, methods):
        """Graphs that all of these methods have a row for."""
        return [graph for graph in self.single_us
                if all(any(key[:2] == (method, graph) for key in self.by_key) for method in methods)]

    def row(self, method, graph, seed):
        """That of the seed; of a method that has not been run with it, since it draws nothing, that of its first."""
        found = self.by_key.get((method, graph, seed))
        if found is None:
            seeds = [key[2] for key in self.by_key if key[:2] == (method, graph)]
            found = self.by_key[method, graph, min(seeds)]
        return found

    def time(self, method, graph, seed):
        return time_of(self.row(method, graph, seed))

    def best_time(self, methods, graph, seed):
        return min(self.time(method, graph, seed) for method in methods)

    def median_ratio(self, method):
        """Over graphs of time / best single device, for each seed: an Interval."""
        medians = []
        for seed in self.seeds(method):
            ratios = [time_of(row) / self.single_us[row["graph"]] for row in self.rows
                      if row["method"] == method and row["seed"] == seed and self.single_us[row["graph"]]]
            if ratios:
                medians.append(statistics.median(ratios))
        return mean_interval(medians)

    def gap(self, method, optimized):
        """How much slower it is than the best of the `optimized` methods on the same graph: the median over graphs that have
        them all, for each seed of the method: an Interval of fractions."""
        graphs = self.graphs_of([method, *optimized])
        medians = []
        for seed in self.seeds(method) if graphs else []:
            gaps = [self.time(method, graph, seed) / self.best_time(optimized, graph, seed) - 1
                    if math.isfinite(self.time(method, graph, seed)) else math.inf for graph in graphs]
            medians.append(statistics.median(gaps))
        return mean_interval(medians)

    def share_not_beaten(self, method, others):
        """The share of graphs on which it is as fast as the best of the others, or faster, for each seed: an Interval. Where
        it does not fit, it is beaten."""
        graphs = self.graphs_of([method, *others])
        shares = []
        for seed in self.seeds(method) if graphs else []:
            kept = [graph for graph in graphs if math.isfinite(self.time(method, graph, seed)) and
                    self.time(method, graph, seed) <= self.best_time(others, graph, seed) * (1 + EQUAL)]
            shares.append(len(kept) / len(graphs))
        mean, low, high, count = mean_interval(shares)
        return Interval(mean, max(low, 0.0), min(high, 1.0), count)

    def slowest_seconds(self, method):
        """Of all graphs and seeds, what the method took on one graph; NaN: it has no rows."""
        return max((row["seconds"] for row in self.rows if row["method"] == method), default=math.nan)

    def summary(self):
        """By method, what `emplace evaluate` says of it."""
        wins = self.wins()
        summaries = {}
        for method in self.methods():
            rows = [row for row in self.rows if row["method"] == method]
            means = []
            for seed in self.seeds(method):
                ratios = [row["makespan_us"] / self.single_us[row["graph"]] for row in rows
                          if row["seed"] == seed and row["makespan_us"] and self.single_us[row["graph"]]]
                if ratios:
                    means.append(statistics.geometric_mean(ratios))
            mean = mean_interval(means)
            summaries[method] = {
                "graphs": len({row["graph"] for row in rows}), "runs": len(rows),
                "feasible": sum(row["feasible"] for row in rows), "wins": wins.get(method, 0),
                "geometric_mean_ratio_to_single": mean.mean if means else None,
                "ci95": [mean.low, mean.high] if means else [None, None],
                "seconds": sum(row["seconds"] for row in rows), "evaluations": sum(row["evaluations"] for row in rows)}
        return summaries

    def wins(self):
        """Graphs on which no other method is faster, by the geometric mean over seeds; what does not fit each time cannot
        win."""
        wins = {}
        for graph in self.single_us:
            standing = {}
            for method in self.methods():
                times = [time_of(row) for row in self.rows if (row["method"], row["graph"]) == (method, graph)]
                if times and all(math.isfinite(time) for time in times):
                    standing[method] = statistics.geometric_mean(times)
            for method, time in standing.items():
                if time <= min(standing.values()) * (1 + EQUAL):
                    wins[method] = wins.get(method, 0) + 1
        return wins


def evaluated(emplace, graphs, devices, methods, **options):
    """What `emplace evaluate --json` prints, read. options as it has them, such as max_groups=8; a list goes with commas, a flag is True."""
    command = [emplace, "evaluate", "--graphs", *graphs, "--devices", devices, "--methods", ",".join(methods), "--json"]
    for name, value in options.items():
        command.append("--" + name.replace("_", "-"))
        if value is not True:
            command.append(",".join(map(str, value)) if isinstance(value, list) else value)
    return json.loads(call(command))


def evaluate(arguments, graphs, devices, methods, seeds, **options):
    """Rows that `emplace evaluate` finds; options as evaluated() has them."""
    return rows_of(evaluated(arguments.programs / "emplace", graphs, devices, methods, seeds=list(seeds), **options))


def rows_of(document):
    """Rows of what `emplace evaluate --json` prints."""
    rows = []
    for row in document["results"]:
        row["single_device_us"] = document["graphs"][row["graph"]]["single_device_us"]
        rows.append({name: row[name] for name in EVALUATED})
    return rows


def renamed(rows, method):
    return [{**row, "method": method} for row in rows]


def found_row(arguments, method, task_seed, graph, path, devices, run):
    """The row of the best placement that a training on one graph, a file, has come through. It is simulated again: what is shown
    comes from the placement that the run holds. `graph` is a row of another method on the same graph."""
    row = {"graph": graph["graph"], "method": method, "seed": task_seed, "makespan_us": None, "feasible": False,
           "evaluations": run["simulations"], "seconds": run["seconds"], "single_device_us": graph["single_device_us"]}
    folder = run["run_dir"] / "placements"
    if not folder.is_dir():  # Of a learner that keeps none: that nothing fits would be the wrong thing to say.
        raise BadInput(f"{folder}: does not exist, expected the placements that training has found")
    improvements = run["improvements"].get(graph["graph"])
    if not improvements:
        return row
    placement = folder / f"{graph['graph']}.placement.json"
    simulated = json.loads(call([arguments.programs / "emplace", "simulate", "--graph", path, "--devices", devices,
                                 "--placement", placement, "--json"]))
    claimed = improvements[-1]["makespan_us"]
    if abs(simulated["makespan_us"] - claimed) > 1e-6 * claimed:
        sys.exit(f"{placement}: takes {simulated['makespan_us']} us, expected {claimed}, as placements.jsonl has it")
    return {**row, "makespan_us": simulated["makespan_us"], "feasible": True}


def samples_to_near(improvements):
    """Episodes of a training until its best placement was within 1% of the last best one; None: none was found. improvements: the
    lines of placements.jsonl about one graph."""
    if not improvements:
        return None
    limit = improvements[-1]["makespan_us"] * NEAR
    return next(line["episodes"] for line in improvements if line["makespan_us"] <= limit)


def verdict(text, interval, limit, at_most, form="{:.1%}"):
    """A row of goal_table(); judged by the mean over seeds."""
    wanted = f"{'at most' if at_most else 'at least'} {form.format(limit)}"
    if interval.count == 0:
        return [text, "not measured", wanted, None]
    met = interval.mean <= limit if at_most else interval.mean >= limit
    return [text, interval.text(form), wanted, "met" if met else "missed"]


def goals_on_unseen(results, policy, sampled, heuristics, must_not_lose):
    """Rows of goal_table() about a policy on graphs that it has not seen."""
    rows = [verdict(f"not slower than {other}, share of graphs", results.share_not_beaten(policy, [other]), 0.9, False)
            for other in must_not_lose]
    together = ", ".join(must_not_lose[:-1]) + " and " + must_not_lose[-1]
    rows.append(verdict(f"not slower than {together} at once, share of graphs",
                        results.share_not_beaten(policy, must_not_lose), 0.9, False))
    rows.append(verdict("not slower than the best of all heuristics (" + ", ".join(heuristics) + "), share of graphs",
                        results.share_not_beaten(policy, heuristics), 0.5, False))
    slowest = results.slowest_seconds(sampled)
    rows.append(verdict(f"{sampled}: seconds on the slowest graph",
                        mean_interval([] if math.isnan(slowest) else [slowest]), 1, True, "{:.3g}"))
    return rows


def goal_table(rows):
    """Lines of a table: goal, measured, wanted, met or missed."""
    return table_lines(["goal", "measured", "wanted", None], "lrrl", rows)
