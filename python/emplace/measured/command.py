"""`emplace costs --from`: costs and device kinds from times that others measured."""
import argparse
import json
import pathlib
import subprocess
import warnings
from collections.abc import Collection

from emplace import shipped
from emplace._core import BadInput, RunFailed, check_output_files, write_file
from emplace.command_line import Parser
from emplace.measured import aiconfigurator, sailor, vidur
from emplace.measured.data_sheets import DATA_SHEETS
from emplace.measured.fitting import fit
from emplace.measured.ops import MeasuredOp, cost_table

_READERS = {"vidur": vidur, "aiconfigurator": aiconfigurator}


def _parser() -> Parser:
    parser = Parser(prog="emplace costs", usage="emplace costs --from {sailor,vidur,aiconfigurator} PATH --out FOLDER [options]",
                    description="Reads times that others measured on GPUs. Of vidur (ops of language models) and aiconfigurator (matrix "
                    "products) it writes costs.csv, a table for `emplace costs --costs`, and for each GPU kinds/NAME.yaml, a device kind "
                    "fitted to them, for `emplace import --kinds`. Of sailor (layers of language models) it writes the graph of a training "
                    "step, MODEL.graph.json, for `emplace place`.")
    parser.add_argument("--from", dest="source", choices=["sailor", *_READERS], required=True, metavar="SOURCE",
                        help="who measured: sailor, vidur or aiconfigurator")
    parser.add_argument("path", metavar="PATH", help="a checkout of their repository, or a folder or file of it with measured times")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="folder to write to")
    parser.add_argument("--kinds", metavar="NAMES", help="only these device kinds, with commas between them (default: all measured ones)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    training = parser.add_argument_group("with --from sailor")
    training.add_argument("--model", help="the model, as Sailor names it (default: the only one there is)")
    training.add_argument("--microbatch", type=int, help="sequences in a micro-batch (default: 1)")
    training.add_argument("--microbatches", type=int, help="number of micro-batches in a step (default: 1)")
    training.add_argument("--tensor-parallel", type=int, help="number of GPUs that share each layer (default: 1); a device then stands "
                          "for that many")
    return parser


def run(arguments: list[str]) -> None:
    """The command's work. Raises BadInput."""
    if not any(argument.partition("=")[0] == "--from" for argument in arguments):
        _print_both_helps()
        return
    options = _parser().parse_args(arguments)
    kinds = options.kinds.split(",") if options.kinds is not None else None
    if kinds is not None and "" in kinds:
        raise BadInput(f"--kinds is '{options.kinds}', expected names with commas between them")
    told = _write_graph(options, kinds) if options.source == "sailor" else _write_costs(options, kinds)
    if options.json:
        print(json.dumps(told))
        return
    for line in told["notes"]:
        print(f"  note: {line}")
    print("written to " + ", ".join(told["files"]))


def _print_both_helps() -> None:
    print(subprocess.run([shipped.program(), "costs", "--help"], capture_output=True, text=True, check=True).stdout)
    print("Or, from times that others measured:\n")
    _parser().print_help()


def _write(out: pathlib.Path, files: dict[str, str], read: str) -> list[str]:
    """Writes texts to files of the folder, and returns their paths."""
    paths = {out / name: text for name, text in files.items()}
    _make_ready(paths, read)
    for path, text in paths.items():
        write_file(path, text.encode())
    return [str(path) for path in paths]


def _make_ready(paths: Collection[pathlib.Path], read: str) -> None:
    """Makes the folders of files to write, none of which may be what was read."""
    for folder in {path.parent: None for path in paths}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise BadInput(f"--out: {folder} is no folder") from error
        except OSError as error:
            raise RunFailed(f"{folder}: cannot be made: {error.strerror}") from error
    check_output_files([("--out", str(path)) for path in paths], [("PATH", read)])


def _write_costs(options: argparse.Namespace, kinds: list[str] | None) -> dict:
    for name in ("model", "microbatch", "microbatches", "tensor_parallel"):
        if getattr(options, name) is not None:
            raise BadInput(f"--{name.replace('_', '-')} belongs to --from sailor")
    reader = _READERS[options.source]
    ops: dict[str, list[MeasuredOp]] = {}
    for op in reader.read(options.path, kinds):
        ops.setdefault(op.kind, []).append(op)
    missing = [kind for kind in kinds or () if kind not in ops]
    if missing or not ops:
        where = f" on {missing[0]}" if missing else ""
        raise BadInput(f"{options.path}: has no ops with 16-bit numbers{where}, expected {reader.EXPECTED}")
    files = {"costs.csv": cost_table(op for of_kind in ops.values() for op in of_kind)}
    notes = []
    for kind, of_kind in ops.items():
        if kind in DATA_SHEETS:
            files[f"kinds/{kind}.yaml"] = fit(kind, DATA_SHEETS[kind], of_kind).text(f"the times of {options.source}")
        else:
            notes.append(f"{kind} is in the table alone: its data sheet, which a kind begins with, is not known here")
    return {"ops": sum(map(len, ops.values())), "kinds": list(ops), "notes": notes,
            "files": _write(pathlib.Path(options.out), files, options.path)}


def _write_graph(options: argparse.Namespace, kinds: list[str] | None) -> dict:
    step = sailor.Step(*(1 if value is None else value for value in (options.microbatch, options.microbatches, options.tensor_parallel)))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        graph = sailor.load(options.path, step, model=options.model, kinds=kinds)
    path = pathlib.Path(options.out) / f"{graph.name}.graph.json"
    _make_ready([path], options.path)
    graph.save(path)
    return {"graph": graph.name, "ops": graph.num_ops, "kinds": sorted(graph.ops[0]["cost_us"]),
            "notes": [str(note.message) for note in notes], "files": [str(path)]}
