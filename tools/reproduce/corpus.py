#!/usr/bin/env python3
"""Captures some hundred graphs of models of torchvision, timm and transformers, for inference and for training in 1 to 8 micro-batches,
into a folder that `emplace generate instances --corpus` and the key `corpus` of instances take.

Runs in an environment with the package `emplace`, torch, torchvision, timm and transformers; nothing is downloaded:
  pip install . torch==2.11.0 torchvision==0.26.0 timm==1.0.31 transformers==5.24.0
  python tools/reproduce/corpus.py corpus/
Each model is a process of its own, and has three graphs. It can be stopped at any time, and the same command goes on. What cannot be
captured is a line here and in FOLDER/skipped.txt, and is not tried again while it is there.
"""
import argparse
import pathlib
import sys

from lib.corpus_models import make, models
from lib.script import first_line, run_apart, run_script


def ways(index):
    """(name, micro-batches) of the graphs of a model; 0 micro-batches: inference. Models take turns with the number of micro-batches."""
    parts = (2, 4, 8)[index % 3]
    return ("inference", 0), ("training", 1), (f"training_mb{parts}", parts)


def files(folder, index, part, library, model):
    """(file, micro-batches) of the graphs of a model."""
    return [(folder / part / f"{library}_{model}_{way}.graph.json.zst", parts) for way, parts in ways(index)]


def capture(library, model, path, parts):
    """Writes one graph; returns its number of ops."""
    import emplace
    made, args, kwargs = make(library, model, parts > 0)
    optimizer = {"optimizer": "adamw"} if parts else {}
    graph = emplace.torch.capture(made, args, kwargs, train=parts > 0, microbatches=max(parts, 1), name=path.name.partition(".")[0], **optimizer)
    graph.save(path)
    return graph.num_ops


def capture_all(library, model, wanted):
    """In a process of its own: a line for each graph."""
    for path, parts in wanted:
        try:
            print(f"{path.name}: {capture(library, model, path, parts):,} ops", flush=True)
        except Exception as error:  # Whatever a model raises, the others go on.
            print(f"{path.name}: skipped: {type(error).__name__}: {first_line(error)}", flush=True)


def run_model(wanted, library, model, timeout):
    """The lines of a model by a process of its own."""
    lines, failed = run_apart(["--model", library, model, *(f"{parts}:{path}" for path, parts in wanted)], timeout)
    told = [line for line in lines if any(line.startswith(f"{path.name}: ") for path, _ in wanted)]
    missing = [path.name for path, _ in wanted if not any(line.startswith(f"{path.name}: ") for line in told)]
    return told + [f"{name}: skipped: {failed}" for name in missing]


def main():
    if sys.argv[1:2] == ["--model"]:  # The process of one model.
        library, model, *wanted = sys.argv[2:]
        capture_all(library, model, [(pathlib.Path(path), int(parts)) for parts, _, path in (text.partition(":") for text in wanted)])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder of the corpus; made if it is missing")
    parser.add_argument("--limit", type=int, help="end when the folder has so many graphs (default: all)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for one model (default: 300)")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    skipped_file = options.folder / "skipped.txt"
    skipped = {line.partition(":")[0] for line in skipped_file.read_text().splitlines()} if skipped_file.exists() else set()
    for index, (part, library, model) in enumerate(models()):
        count = sum(1 for _ in options.folder.glob("*/*.graph.json.zst"))
        if options.limit is not None and count >= options.limit:
            break
        (options.folder / part).mkdir(exist_ok=True)
        wanted = [(path, parts) for path, parts in files(options.folder, index, part, library, model)
                  if not path.exists() and path.name not in skipped]
        for line in run_model(wanted, library, model, options.timeout) if wanted else ():
            print(line, flush=True)
            if ": skipped: " in line:
                with skipped_file.open("a") as out:
                    out.write(line + "\n")
    for part in ("train", "validation", "test"):
        print(f"{part}: {sum(1 for _ in options.folder.glob(part + '/*.graph.json.zst'))} graphs")


if __name__ == "__main__":
    run_script(main)
