#!/usr/bin/env python3
"""Follows docs/adding.md to the letter: adds a toy of each thing in TOYS to a copy of the tree, by the documented steps alone,
builds the programs, trains configs/smoke.yaml with them, and places a graph with the policy that comes of it. Where it may mount,
it does so with the copy in the checkout's place, for that is how the compiler cache knows the files.

A toy is new files (under files/, where they go in the tree) and lines in files that are there. Every file that a toy touches has
to be named in its section of docs/adding.md; KIND and LOSS there stand for its name. Prints what failed; exit code 0 when nothing
did. A build from nothing takes minutes; the compiler cache, whose entries do not depend on where the tree is, makes it short.
"""
import dataclasses
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = pathlib.Path(__file__).resolve().parent / "files"
NAME = "toy"


@dataclasses.dataclass
class Toy:
    section: str   # The heading in docs/adding.md.
    stands_for: str  # What the section calls the new name.
    files: list    # New files, which are under files/.
    lines: list    # (file, text that is there, text that takes its place)


def with_sources(*names):
    return "".join(f" {name}" for name in names)


# To test one more section of docs/adding.md, add its toy.
TOYS = [
    Toy("A policy", "KIND",
        [f"policy/toy/toy_{part}.{suffix}" for part in ("kind", "player", "model") for suffix in ("h", "cc")],
        [("policy/policy_kinds.cc", '#include "policy/sgdp/sgdp_kind.h"\n', '#include "policy/sgdp/sgdp_kind.h"\n#include "policy/toy/toy_kind.h"\n'),
         ("policy/policy_kinds.cc", "&HierarchicalKind(), ", "&HierarchicalKind(), &ToyKind(), "),
         ("policy/CMakeLists.txt", "policy_kinds.cc policy_weights.cc",
          "policy_kinds.cc policy_weights.cc" + with_sources("toy/toy_kind.cc", "toy/toy_model.cc", "toy/toy_player.cc"))]),
    Toy("A placement method", "METHOD",
        [f"simulator/methods/toy_method.{suffix}" for suffix in ("h", "cc")],
        [("simulator/methods/placement_method.cc", '#include "simulator/methods/single_method.h"\n',
          '#include "simulator/methods/single_method.h"\n#include "simulator/methods/toy_method.h"\n'),
         ("simulator/methods/placement_method.cc", 'Entry<CpuMethod>("cpu"),', 'Entry<CpuMethod>("cpu"), Entry<ToyMethod>("toy"),'),
         ("simulator/methods/CMakeLists.txt", "cpu_method.cc", "cpu_method.cc" + with_sources("toy_method.cc"))]),
    Toy("A loss", "LOSS",
        [f"learner/update/objective/toy_loss.{suffix}" for suffix in ("h", "cc")],
        [("learner/update/objective/decision_loss.h", "{ kReinforce, kPpo }", "{ kReinforce, kPpo, kToy }"),
         ("learner/update/objective/decision_loss.h", "kLastLossKind = LossKind::kPpo", "kLastLossKind = LossKind::kToy"),
         ("learner/update/objective/make_loss.cc", '#include "learner/update/objective/reinforce_loss.h"\n',
          '#include "learner/update/objective/reinforce_loss.h"\n#include "learner/update/objective/toy_loss.h"\n'),
         ("learner/update/objective/make_loss.cc", "    case LossKind::kPpo:\n",
          "    case LossKind::kToy:\n      return std::make_unique<ToyLoss>(spec.entropy_weight);\n    case LossKind::kPpo:\n"),
         ("learner/update/objective/policy_gradient.cc", "    case TrainingObjective::kPpo:\n",
          "    case TrainingObjective::kToy:\n      return {LossKind::kToy, 0, entropy_weight};\n    case TrainingObjective::kPpo:\n"),
         ("policy/config/training_config.h", "{ kReinforce, kPpo, kEvolution }", "{ kReinforce, kPpo, kEvolution, kToy }"),
         ("policy/config/training_config.cc", '{TrainingObjective::kPpo, "ppo"},\n',
          '{TrainingObjective::kPpo, "ppo"},\n              {TrainingObjective::kToy, "toy_loss"},\n'),
         ("learner/CMakeLists.txt", "update/objective/reinforce_loss.cc", "update/objective/reinforce_loss.cc update/objective/toy_loss.cc")]),
]


def fail(text):
    print(f"by_the_docs.py: {text}")
    sys.exit(1)


def copy_tree(tree):
    """The files of the checkout that git knows, as they are now."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, tree / name
        if not source.is_file():
            continue  # Deleted, and not committed yet.
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)


def named_in(section, stands_for):
    """The files that a section of docs/adding.md names: {path without suffix: suffixes}."""
    text = (ROOT / "docs/adding.md").read_text()
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found:
        fail(f"docs/adding.md has no section '{section}'")
    return set(re.findall(r"`([\w./]+)`", found[1].replace(stands_for, NAME)))


def add(toy, tree):
    named = named_in(toy.section, toy.stands_for)
    for name in toy.files:
        # Of a header and its source, the header alone may be named.
        if not {name, name.removesuffix(".cc") + ".h"} & named:
            fail(f"'{toy.section}' in docs/adding.md does not name {name}, which the {NAME} adds")
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes((FILES / name).read_bytes())
    for name, there, instead in toy.lines:
        if name not in named:
            fail(f"'{toy.section}' in docs/adding.md does not name {name}, which the {NAME} changes")
        text = (tree / name).read_text()
        if text.count(there) != 1:
            fail(f"{name} has '{there.strip()}' {text.count(there)} times, expected once")
        (tree / name).write_text(text.replace(there, instead))


def run(what, command, tree, **environment):
    done = subprocess.run([str(part) for part in command], cwd=tree, env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-30:]))
        fail(f"{what} failed")
    return done.stdout


def build(tree):
    run("configuring", ["cmake", "--preset", "dev", "-DEMPLACE_TORCH=OFF", "-DEMPLACE_TESTS=OFF", "-DEMPLACE_BENCH=OFF"], tree)
    jobs = os.environ.get("EMPLACE_JOBS", str(os.cpu_count()))
    run("building", ["cmake", "--build", "build", "-j", jobs, "--target", "emplace", "emplace-actor", "emplace-learner"], tree)


def table_of(policy):
    """(metadata, values of the one tensor `table`) of a policy.safetensors."""
    data = policy.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    begin, end = header["table"]["data_offsets"]
    return header["__metadata__"], struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])


def train(tree):
    run("training", ["launch/cluster.sh", "configs/smoke.yaml", "--dir", tree / "run", "--actors", "1",
                     "--set", f"policy.kind={NAME}", "--set", "policy.rows=3", "--set", f"training.objective={NAME}_loss",
                     "--set", "training.sync=lockstep", "--set", "training.iterations=40", "--set", "training.max_minutes=5"],
        tree, EMPLACE_BIN=str(tree / "build/bin"))
    metadata, table = table_of(tree / "run/policy.safetensors")
    if metadata["kind"] != NAME or metadata["shape.rows"] != "3" or len(table) != 3 * 2:
        fail(f"the trained policy is of {metadata} with {len(table)} parameters, expected a {NAME} of three rows for two devices")
    if not any(table):
        fail("training has changed no parameter")


def place(tree):
    program = tree / "build/bin/emplace"
    run("generating a graph", [program, "generate", "ptb", "--size", "small", "--count", "1", "--seed", "9", "--out", tree / "graphs"], tree)
    said = run("placing", [program, "place", "--graph", tree / "graphs/ptb_00.graph.json", "--devices", "configs/clusters/k80x2.yaml",
                           "--method", "policy", "--policy", tree / "run/policy.safetensors", "--out", tree / "placement.json"], tree)
    if not (tree / "placement.json").is_file():
        fail(f"placing wrote no placement, and said: {said}")
    # With all ops on one device its placement is as good as the best single device, so that it counts.
    said = run("placing by the method", [program, "place", "--graph", tree / "graphs/ptb_00.graph.json",
                                         "--devices", "configs/clusters/k80x2.yaml", "--method", NAME, "--stride", "1000000"], tree)
    if f"found by {NAME}" not in said:
        fail(f"placing by the method and its option found something else: {said}")
    if NAME not in run("inspecting the policy", [program, "inspect", tree / "run/policy.safetensors"], tree):
        fail("`emplace inspect` does not tell the policy's kind")


def own_mounts():
    """Whether this process may mount what no other process sees; runs the script again to have it so, where that is allowed."""
    if os.environ.get("EMPLACE_OWN_MOUNTS"):
        return True
    if os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0:
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, __file__], {**os.environ, "EMPLACE_OWN_MOUNTS": "1"})
    return False


def main():
    mounts = own_mounts()
    with tempfile.TemporaryDirectory(prefix="emplace-adding-") as folder:
        tree = pathlib.Path(folder)
        copy_tree(tree)
        for toy in TOYS:
            add(toy, tree)
        if mounts:
            run("mounting", ["mount", "--bind", tree, ROOT], tree)
            tree = ROOT
        run("tools/check_layers.py", [sys.executable, "tools/check_layers.py", "--quiet"], tree)
        build(tree)
        train(tree)
        place(tree)


if __name__ == "__main__":
    main()
