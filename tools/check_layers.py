#!/usr/bin/env python3
"""Prints which folder includes which, and fails where an include points against the layers.

common <- simulator <- policy <- actor, learner, api <- tools, python; launch holds no code. Inside policy/ each kind has a folder, which
only the lists of kinds name. Heavy packages stay in their own corner.
The commands of emplace-hardware place graphs, too: they alone in actor/ may include api, and nothing includes them.
tools/bench measures everything, so it alone may include everything, what tests compare with too, and nothing includes it.
Usage: tools/check_layers.py [--quiet]
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAY_INCLUDE = {
    "common": {"common"},
    "simulator": {"common", "simulator"},
    "policy": {"common", "simulator", "policy"},
    "actor": {"common", "simulator", "policy", "actor"},
    "learner": {"common", "simulator", "policy", "learner"},
    "actor/hardware/commands": {"common", "simulator", "policy", "actor", "api", "actor/hardware/commands"},
    "api": {"common", "simulator", "policy", "api"},
    "tools": {"common", "simulator", "policy", "api", "tools"},
    "python": {"common", "simulator", "policy", "api", "python"},
    "tools/bench": {"common", "simulator", "policy", "actor", "learner", "api", "tests", "tools/bench"},
}
# Header pattern -> patterns of the only files that may include it.
CORNERS = {
    r"zmq\.hpp|capnp/|kj/": ("common/wire/",),
    r"nanobind/": ("python/bindings/",),
    r"cuda_runtime": ("policy/placeto/cuda/", "learner/ranks/nccl_collective", "tools/bench/cuda/"),
    r"Eigen/": ("learner/update/evolution/cma",),
    r"nccl\.h": ("learner/ranks/nccl_collective",),
    # Of a kind that is computed with LibTorch: KIND_network, KIND_model and KIND_player. Placeto has kernels of its own.
    r"torch/|ATen/|c10/": ("policy/torch/", r"policy/(?!placeto/)(\w+)/\1_(network|model|player)\b",
                           "tools/bench/libtorch/", "actor/hardware/"),
}
# The only files outside a kind's folder that may name the kind: the list of all, that of those on LibTorch, and that of those with
# kernels for a GPU. tools/bench measures kernels of kinds.
KIND_LISTS = ("policy/policy_kinds.cc", "policy/torch_kinds.cc", "policy/models.cc", "tools/bench/")
# Where a kind's name as a string is an error: but for the name of the kind by default. A look-up by key, ["planner"], is none.
NAME_FOLDERS = ("policy", "actor", "learner", "api", "tools", "python")
NAMES_DEFAULT = "policy/policy_shape.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def folder_of(name: str) -> str:
    """The most special folder of the table that holds the file; its first folder where none does."""
    holders = [folder for folder in MAY_INCLUDE if name.startswith(folder + "/")]
    return max(holders, key=len, default=name.split("/")[0])


def kind_folders() -> list[str]:
    """The folders of kinds: those that have a KIND_kind.h."""
    return sorted(path.parent.relative_to(ROOT).as_posix() + "/" for path in (ROOT / "policy").glob("*/*_kind.h"))


def sources():
    """(folder of the table, name, text) of each file."""
    for folder in MAY_INCLUDE:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in {".h", ".cc", ".cu"} and folder_of(name) == folder:
                yield folder, name, path.read_text()


def wrong_includes(folder: str, name: str, text: str, kinds: list[str]):
    allowed = MAY_INCLUDE[folder]
    for included in INCLUDE.findall(text):
        if folder_of(included) in {*MAY_INCLUDE, "tests"} - allowed:
            yield f"{name}: includes {included}; {folder}/ may include {', '.join(sorted(allowed))}"
        for kind in kinds:
            if included.startswith(kind) and not name.startswith((kind, *KIND_LISTS)):
                yield f"{name}: includes {included}, which only {kind} and {', '.join(KIND_LISTS)} may"
        for pattern, corners in CORNERS.items():
            if re.match(pattern, included) and not any(re.match(corner, name) for corner in corners):
                yield f"{name}: includes {included}, which only {', '.join(corners)} may"


def wrong_names(name: str, text: str, kinds: list[str]):
    if not name.startswith(NAME_FOLDERS) or name.startswith((*kinds, *KIND_LISTS, NAMES_DEFAULT)):
        return
    names = "|".join(kind.rstrip("/").split("/")[-1] for kind in kinds)
    for kind in re.findall(rf'(?<!\[)"({names})"', text):
        yield f"{name}: names the kind {kind}, which only policy/{kind}/ and {', '.join(KIND_LISTS)} may"


def main() -> int:
    kinds = kind_folders()
    matrix = collections.Counter()
    problems = []
    for folder, name, text in sources():
        matrix.update((folder, folder_of(included)) for included in INCLUDE.findall(text))
        problems += [*wrong_includes(folder, name, text, kinds), *wrong_names(name, text, kinds)]
    if "--quiet" not in sys.argv[1:]:
        folders = list(MAY_INCLUDE)
        print(f"{'includes of':12}" + "".join(f"{f:>12}" for f in folders))
        for row in folders:
            print(f"{row:12}" + "".join(f"{matrix[row, column] or '.':>12}" for column in folders))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
