"""`emplace flags`: what another program takes to run a language model as it is placed."""
import json

import numpy as np

from emplace import _core
from emplace._core import BadInput, Graph, Machine, check_output_files
from emplace.checks import check_limit
from emplace.command_line import Parser
from emplace.llm.layout import host_devices, served
from emplace.llm.placing import place_for
from emplace.llm.runtimes import RUNTIMES, check_runtime, flags
from emplace.plan import Plan
from emplace.simulation import missing_bytes


def _parser() -> Parser:
    parser = Parser(prog="emplace flags", description="Write the arguments or the file with which another program runs a language model "
                    "as it is placed. Without --placement, the model is placed as that program can run it.")
    parser.add_argument("runtime", metavar="RUNTIME", help=f"the program, one of: {', '.join(RUNTIMES)}")
    parser.add_argument("--graph", required=True, help="graph of `emplace import llm`")
    parser.add_argument("--devices", required=True, help="file with the devices and links, YAML")
    parser.add_argument("--placement", help="placement to be written so; it has to be one that the program can do")
    parser.add_argument("--seconds", type=float, default=1.0, help="time in which to look for a placement (default: 1)")
    parser.add_argument("--objective", choices=["latency", "throughput"], default="latency",
                        help="what is minimized: latency, the time of a step, or throughput, the time from step to step in a pipeline "
                        "(default: latency)")
    parser.add_argument("--out", help="file to write it to (default: it is printed)")
    parser.add_argument("--placement-out", help="file to write the placement to, JSON")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def run(arguments: list[str]) -> None:
    """The command's work. Raises BadInput."""
    options = _parser().parse_args(arguments)
    check_runtime(options.runtime)
    check_limit("--seconds", options.seconds)
    if options.runtime == "ktransformers" and (given := next((name for name in ("placement", "placement_out") if getattr(options, name)), None)):
        raise BadInput(f"--{given.replace('_', '-')}: ktransformers divides the experts of a layer, which no placement of the graph says; "
                       "expected none")
    outputs = [(name, path) for name, path in [("--out", options.out), ("--placement-out", options.placement_out)] if path]
    check_output_files(outputs, [("--graph", options.graph), ("--devices", options.devices), ("--placement", options.placement or "")])
    graph, machine = Graph.load(options.graph), Machine.load(options.devices)
    if options.placement:
        plan = Plan.load(options.placement, graph, machine)
        if not plan.feasible:
            raise BadInput(f"{options.placement}: does not fit the memory: it lacks {missing_bytes(machine, plan.peak_bytes)}")
    else:
        plan = place_for(options.runtime, graph, machine, options.seconds, objective=options.objective)
    text = flags(options.runtime, plan)
    if options.out:
        _core.write_file(options.out, text.encode())
    if options.placement_out:
        plan.save(options.placement_out)
    if options.json:
        print(json.dumps({"runtime": options.runtime, "flags": text, "makespan_us": plan.makespan_us, "max_load_us": plan.max_load_us,
                          "free_makespan_us": plan.free_makespan_us, "lower_bound_us": plan.lower_bound_us,
                          "peak_bytes": plan.peak_bytes.tolist(), "seconds": plan.seconds,
                          "llm": {key: value for key, value in plan.serving.items() if key != "text"}}))
        return
    print(text if not options.out else f"written to {options.out}\n", end="")
    for line in _remarks(options.runtime, plan):
        print(f"# {line}")


def _not_counted(runtime: str, plan: Plan) -> list[str]:
    """Lines with what a prediction leaves out that the runtime does."""
    if runtime in ("megatron", "torchtitan"):
        return [f"not counted: gradients and the state of an optimizer, which {runtime} also holds where it trains"]
    step = served(plan.graph)
    if runtime == "llama.cpp" and (step.get("steps_in_flight", 1) > 1 or (step["phase"] != "prefill" and plan.max_load_us < plan.makespan_us)):
        return ["not counted: llama.cpp makes a token of every stream in one step, and does not have one step in each stage at a time: many "
                "streams get what one step gives"]
    hosts = set(host_devices(plan.machine))
    sent = int(plan.graph.param_bytes[np.isin(plan.placement, list(hosts))].sum())
    if runtime == "accelerate" and sent and len(hosts) < len(plan.machine):
        return [f"not counted: accelerate computes no layer on a processor beside a GPU; for each step it sends the {sent / 1e9:.2f} GB "
                "that are on one to a GPU, and the figures here are for computing where they are"]
    return []


def _remarks(runtime: str, plan: Plan) -> list[str]:
    """Lines with what is predicted of a plan."""
    free = f", {plan.free_makespan_us / 1e3:.3f} ms without what {runtime} asks for" if plan.free_makespan_us else ""
    return [*_not_counted(runtime, plan), f"predicted: {plan.makespan_us / 1e3:.3f} ms a step{free}, {plan.lower_bound_us / 1e3:.3f} ms at least",
            *plan.serving["text"].splitlines(),
            *(f"{device.name}: {peak / 1e9:.2f} of {device.memory_bytes / 1e9:.2f} GB, {(device.memory_bytes - peak) / 1e9:.2f} left"
              for device, peak in zip(plan.machine.devices, plan.peak_bytes.tolist(), strict=True))]
