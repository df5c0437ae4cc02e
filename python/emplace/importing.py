"""`emplace import`: graphs from models and from other people's formats."""
import argparse
import json
import pathlib
import warnings

import emplace
from emplace._core import BadInput, Graph, check_output_files
from emplace.checks import check_limit
from emplace.command_line import Parser, call_factory, packages_needed
from emplace.reading import Unmapped
from emplace.roofline import kind_files


# What add_subparsers() returns.
_Sources = argparse._SubParsersAction


def _add_source(sources: _Sources, name: str, what: str, help_text: str) -> Parser:
    command = sources.add_parser(name, help=help_text, description=help_text)
    command.add_argument("input", metavar=what)
    command.add_argument("--out", required=True, help="file to write the graph to, *.graph.json or *.graph.json.zst")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    return command


def _add_costs(command: Parser) -> None:
    command.add_argument("--kinds", help="device kinds on which each op gets a cost: their names, files or folders, with commas "
                         "between them (default: all that emplace has)")
    command.add_argument("--name", help="name of the graph")


def _add_training(command: Parser, loss: str) -> None:
    command.add_argument("--train", action="store_true", help=f"make a graph of a training step, forward and backward pass; {loss}")
    command.add_argument("--microbatches", type=int, default=1,
                         help="number of parts in which a training step processes its batch (default: 1)")
    command.add_argument("--replicas", action="store_true", help="each of these parts has parameters of its own, as in data-parallel "
                         "training; that takes more memory, and often less time on devices that are alike")
    command.add_argument("--optimizer", help="with --train, the optimizer that keeps state and updates: sgd, momentum, adam, ...")


def _add_time_unit(command: Parser, default_us: float) -> None:
    command.add_argument("--time-unit-us", type=float, default=default_us,
                         help=f"length of its unit of time in microseconds (default: {default_us})")


def _add_models(sources: _Sources) -> None:
    torch = _add_source(sources, "torch", "FILE.py:FACTORY", "Captures the model that a function of a Python file returns as (model, args).")
    _add_training(torch, "the model returns its loss")
    torch.add_argument("--target", choices=["cpu", "cuda"], help="devices whose kernels the graph calls (default: where the model is)")
    _add_costs(torch)
    fx = _add_source(sources, "fx", "FOLDER_OR_FILE.py", "Captures an FX module that stands in a file of its own, such as model.py of a sample "
                     "of GraphNet. The files weight_meta.py and input_meta.py beside it say the shapes of its arguments. The module's file is "
                     "run.")
    _add_training(fx, "the loss is the module's first output where that is one number, else the sum of the means of its outputs, and each "
                  "micro-batch has the shapes that the files say")
    _add_costs(fx)
    onnx = _add_source(sources, "onnx", "FILE.onnx", "Reads an ONNX model.")
    onnx.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE",
                      help="size of a dimension that the inputs leave open, by name as in batch=8, or by place as in 'x[2]=48'; may be "
                      "repeated")
    _add_costs(onnx)


def _add_llm(sources: _Sources) -> None:
    llm = _add_source(sources, "llm", "MODEL", "Makes the graph of a step of a large language model, from the header of a GGUF file, a "
                      "config.json, a folder with one, or a model.safetensors.index.json beside one. Weights are not read.")
    llm.add_argument("--context", type=int, help="tokens for which each stream's cache has room (default: what the model was made for, "
                     "at most 8192)")
    llm.add_argument("--streams", "--batch", type=int, default=1, help="requests that are served at once (default: 1)")
    llm.add_argument("--steps-in-flight", type=int, default=1, help="steps that are under way at once in a pipeline, one in each stage, "
                     "for --streams requests each; the caches of all are kept in memory (default: 1)")
    llm.add_argument("--phase", choices=["decode", "prefill", "both"], default="decode", help="decode: a step that makes one more token "
                     "for each stream; prefill: the step of the prompt; both: a prompt and then --tokens steps (default: decode)")
    llm.add_argument("--prompt", type=int, help="tokens of a prompt, with --phase prefill or both (default: 512)")
    llm.add_argument("--tokens", type=int, help="tokens that follow a prompt, with --phase both (default: 16)")
    llm.add_argument("--kv-type", default="F16", help="type of the numbers in the cache, by its name in GGUF (default: F16)")
    llm.add_argument("--weight-type", help="type that the matrices of a config.json are to have, by its name in GGUF, such as Q4_K "
                     "(default: as the file says)")
    llm.add_argument("--together", choices=["attention", "layers", "nothing"], default="attention", help="what goes to one device as a "
                     "whole: attention, all of a layer but the products of its feed-forward network or experts; layers, a whole layer; or "
                     "nothing (default: attention)")
    llm.add_argument("--each-expert", action="store_true", help="make an op for each expert, not one for all of a layer")
    llm.add_argument("--stream-weights", action="store_true", help="make the weights of feed-forward networks ops of their own: where they "
                     "are on another device than what computes with them, they are sent there for each step")
    llm.add_argument("--routing", help="JSON file with the share of tokens that each expert of a layer gets, such as "
                     '{"blk.3": [0.4, 0.3, 0.2, 0.1]} (default: all the same)')
    llm.add_argument("--chunk", type=int, default=512, help="tokens of a prompt that are processed at once (default: 512)")
    llm.add_argument("--chunks-in-flight", type=int, default=4, help="chunks of a prompt for which each device keeps room while they arrive: "
                     "llama.cpp has 4 where several cards have all layers, else 1 (default: 4)")
    _add_costs(llm)


def _add_formats(sources: _Sources) -> None:
    trace = _add_source(sources, "trace", "TRACE.json", "Reads an execution trace of PyTorch with the times of its profile, or a trace of "
                        "MLCommons Chakra in JSON, which has times itself. The files may be compressed by gzip.")
    trace.add_argument("--times", help="profile of the same run of PyTorch, as export_chrome_trace of torch.profiler writes it")
    trace.add_argument("--kind", help="device kind on which it ran (default: any)")
    partitioning = _add_source(sources, "partitioning", "FILE.json", "Reads a workload of dnn-partitioning (NeurIPS 2020).")
    partitioning.add_argument("--bandwidth", type=float, required=True, metavar="BYTES_PER_US",
                              help="bandwidth that turns the times of its transfers into bytes")
    _add_time_unit(partitioning, 1000)
    pipedream = _add_source(sources, "pipedream", "graph.txt", "Reads a profile of PipeDream (SOSP 2019).")
    pipedream.add_argument("--inference", action="store_true", help="the forward pass alone")
    pipedream.add_argument("--kind", help="device kind that was profiled (default: any)")
    stg = _add_source(sources, "stg", "FILE.stg", "Reads a task graph of the Standard Task Graph Set, without communication.")
    _add_time_unit(stg, 1)
    _add_source(sources, "wfcommons", "FILE.json", "Reads a recorded workflow of WfCommons, WfFormat 1.5, such as those of WfInstances.")


def _parser() -> Parser:
    parser = Parser(prog="emplace import", description="Make a graph of a model, or read one in another tool's format.",
                    epilog="Measured costs come into a graph by `emplace costs`, which needs no Python.")
    sources = parser.add_subparsers(dest="source", required=True, metavar="SOURCE", parser_class=Parser)
    for add in (_add_models, _add_llm, _add_formats):
        add(sources)
    return parser


def _dims(texts: list[str]) -> dict[str, int]:
    dims = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not (size.isascii() and size.isdigit()):
            raise BadInput(f"--dim is '{text}', expected NAME=SIZE with a whole number from 0 on")
        dims[name] = int(size)
    return dims


def _check_files(options: argparse.Namespace) -> None:
    read = options.input.rpartition(":")[0] if options.source == "torch" else options.input
    inputs = [("the input", read), *((f"--{name}", getattr(options, name, None) or "") for name in ("times", "routing"))]
    if options.source == "llm":
        inputs += [("the input", path) for path in emplace.llm.loading.files_of(options.input)]
    if options.source == "fx":
        folder = pathlib.Path(read) if pathlib.Path(read).is_dir() else pathlib.Path(read).parent
        inputs += [("the input", folder / name) for name in ("model.py", "weight_meta.py", "input_meta.py")]
    inputs += [("--kinds", path) for path in kind_files(getattr(options, "kinds", None) or "")]
    check_output_files([("--out", options.out)], inputs)


def _load_fx(options: argparse.Namespace) -> Graph:
    model, args = emplace.torch.read_fx(options.input, train=options.train, microbatches=options.microbatches)
    path = pathlib.Path(options.input).resolve()
    name = options.name or (path.parent.name if path.name == "model.py" else path.stem)
    return emplace.torch.capture(model, args, train=options.train, microbatches=options.microbatches, replicas=options.replicas,
                                 optimizer=options.optimizer, kinds=options.kinds, name=name)


def _load(options: argparse.Namespace) -> Graph:
    if options.source == "torch":
        model, args, kwargs = call_factory(options.input)
        return emplace.torch.capture(model, args, kwargs, train=options.train, microbatches=options.microbatches,
                                     replicas=options.replicas, optimizer=options.optimizer, kinds=options.kinds, name=options.name,
                                     target=options.target)
    if options.source == "fx":
        return _load_fx(options)
    if options.source == "onnx":
        return emplace.onnx.load(options.input, dims=_dims(options.dim), kinds=options.kinds, name=options.name)
    if options.source == "llm":
        return emplace.llm.load(options.input, context=options.context, streams=options.streams,
                                steps_in_flight=options.steps_in_flight, phase=options.phase, prompt=options.prompt,
                                tokens=options.tokens, kv_type=options.kv_type, weight_type=options.weight_type,
                                each_expert=options.each_expert, together=options.together, stream_weights=options.stream_weights,
                                routing=options.routing, chunk=options.chunk, chunks_in_flight=options.chunks_in_flight, kinds=options.kinds,
                                name=options.name)
    from emplace import formats
    if options.source == "trace":
        return formats.load_trace(options.input, options.times, kind=options.kind)
    if options.source == "partitioning":
        check_limit("--bandwidth", options.bandwidth)
        check_limit("--time-unit-us", options.time_unit_us)
        return formats.load_partitioning(options.input, bandwidth_bytes_per_us=options.bandwidth, time_unit_us=options.time_unit_us)
    if options.source == "stg":
        check_limit("--time-unit-us", options.time_unit_us)
        return formats.load_stg(options.input, time_unit_us=options.time_unit_us)
    if options.source == "wfcommons":
        return formats.load_wfcommons(options.input)
    return formats.load_pipedream(options.input, train=not options.inference, kind=options.kind)


def run(arguments: list[str]) -> None:
    """The command's work. Raises BadInput."""
    options = _parser().parse_args(arguments)
    _check_files(options)
    with packages_needed(f"import {options.source}"), warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", Unmapped)
        graph = _load(options)
    unmapped = [str(note.message) for note in notes if issubclass(note.category, Unmapped)]
    graph.save(options.out)
    summary = {"graph": graph.name, "ops": graph.num_ops, "gflop": graph.flops.sum() / 1e9,
               "param_bytes": graph.parameter_bytes, "out": options.out, "unmapped": unmapped}
    if options.source == "llm":
        summary["cache_bytes"] = int(graph.param_bytes[[kind == "llm.attn" for kind in graph.op_types]].sum())
    if options.json:
        print(json.dumps(summary))
        return
    held = f"{summary['param_bytes'] / 1e6:.1f} MB of parameters"
    if options.source == "llm":
        caches = summary["cache_bytes"]
        held = f"{(summary['param_bytes'] - caches) / 1e6:.1f} MB of weights and {caches / 1e6:.1f} MB of caches"
    print(f"{graph.name}: {graph.num_ops} ops, {summary['gflop']:.3f} GFLOP, {held}")
    for note in unmapped:
        print(f"  note: {note}")
    print(f"  written to {options.out}")
