"""`emplace apply`: a model run as planned, its step timed beside the plain model's."""
import contextlib
import json
import statistics
from collections.abc import Callable, Iterator

import emplace
from emplace._core import BadInput, RunFailed
from emplace.command_line import Parser, call_factory, packages_needed
from emplace.plan import Plan
from emplace.reading import described
from emplace.timing import times_us

_WARMUP = 2  # Steps before those that are timed.


def _parser() -> Parser:
    parser = Parser(prog="emplace apply", description="Run a PyTorch model as placed on the devices of this machine, and time its step.")
    parser.add_argument("input", metavar="FILE.py:FACTORY", help="function of a Python file that returns (model, args) or (model, args, kwargs)")
    parser.add_argument("--devices", required=True, help="devices file; devices are called cuda:0, cpu:0, ...")
    parser.add_argument("--placement", help="placement of the model's graph, as `emplace place` writes it (default: placed now)")
    parser.add_argument("--seconds", type=float, default=1, help="time to place the graph for, without --placement (default: 1)")
    parser.add_argument("--train", action="store_true", help="forward and backward pass; the model returns its loss")
    parser.add_argument("--target", choices=["cpu", "cuda"], help="devices whose kernels the graph has (default: cuda where a device is called "
                                                          "cuda:i, else that of the model)")
    parser.add_argument("--microbatches", type=int, default=1, help="number of parts in which a step processes its batch (default: 1)")
    parser.add_argument("--steps", type=int, default=10, help="number of steps to time, after two that are not (default: 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _plain_step(model, args: tuple, kwargs: dict, train: bool) -> Callable[[], object]:
    import torch
    from emplace.torch.tracing import loss_of

    def step() -> None:
        with torch.set_grad_enabled(train):
            output = model(*args, **kwargs)
            if train:
                loss_of(output).backward()
            if torch.cuda.is_initialized():
                torch.cuda.synchronize()  # Else only the launches of its kernels are timed.
    return step


def _planned_times_us(model, args: tuple, kwargs: dict, plan: Plan, steps: int) -> list[float]:
    with emplace.torch.apply(model, args, plan, kwargs=kwargs) as step:
        return times_us(lambda: step(*args, **kwargs), steps, _WARMUP)


def _auto_plan(model, graph: emplace.Graph, machine: emplace.Machine) -> Plan | None:
    """What accelerate would do; None where it is not installed, or would do nothing that can be run."""
    from emplace.torch.memory_map import placement_of_auto_map
    placement = placement_of_auto_map(model, graph, machine)
    try:
        return None if placement is None else Plan.of(graph, machine, placement)
    except BadInput:
        return None


@contextlib.contextmanager
def _failures_of(place: str) -> Iterator[None]:
    """Raises RunFailed, in one line, where a step fails."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        raise RunFailed(f"{place}: the step failed: {described(error)}") from error


def run(arguments: list[str]) -> None:
    """The command's work. Raises BadInput, and RunFailed where a step fails."""
    options = _parser().parse_args(arguments)
    if options.steps < 1:
        raise BadInput(f"--steps is {options.steps}, expected at least 1")
    machine = emplace.Machine.load(options.devices)
    model, args, kwargs = call_factory(options.input)
    target = options.target or ("cuda" if any(device.name.startswith("cuda:") for device in machine.devices) else None)
    with packages_needed("apply"):
        graph = emplace.torch.capture(model, args, kwargs, train=options.train, microbatches=options.microbatches, target=target)
    if options.placement:
        plan = Plan.load(options.placement, graph, machine)
    else:
        plan = emplace.place(graph, machine, seconds=options.seconds)
    with _failures_of(options.input):
        plain = times_us(_plain_step(model, args, kwargs, options.train), options.steps, _WARMUP)
        times = _planned_times_us(model, args, kwargs, plan, options.steps)
    quarter, _, three_quarters = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    result = {"graph": graph.name, "ops": graph.num_ops, "predicted_us": plan.makespan_us, "measured_us": statistics.median(times),
              "spread_us": three_quarters - quarter, "plain_us": statistics.median(plain), "steps": options.steps}
    auto = _auto_plan(model, graph, machine)
    if auto:
        result["auto_predicted_us"] = auto.makespan_us
        with _failures_of(options.input):
            result["auto_measured_us"] = statistics.median(_planned_times_us(model, args, kwargs, auto, options.steps))
    if options.json:
        print(json.dumps(result))
        return
    print(plan)
    print(f"  predicted step time  {plan.makespan_us / 1e3:.3f} ms")
    print(f"  measured             {result['measured_us'] / 1e3:.3f} ms, the median of {options.steps} steps, of which the "
          f"middle half is within {result['spread_us'] / 1e3:.3f} ms")
    if auto:
        print(f"  accelerate's auto    {result['auto_measured_us'] / 1e3:.3f} ms measured, {auto.makespan_us / 1e3:.3f} ms predicted")
    print(f"  the plain model      {result['plain_us'] / 1e3:.3f} ms where it is, with the whole batch at once")
