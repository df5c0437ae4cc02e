"""What the scripts of this folder share: networks given by name or path, machines, and calls of `emplace`."""
import itertools
import json
import os
import pathlib
import re
import subprocess

from lib.script import BadInput

ROOT = pathlib.Path(__file__).resolve().parents[3]


def add_emplace(parser):
    """The option --emplace of a script that calls this program alone."""
    parser.add_argument("--emplace", type=pathlib.Path, default=ROOT / "build/bin/emplace", help="the program emplace (default: that of build/bin)")


def add_programs(parser):
    """The option --programs of a script that calls several of the programs."""
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the built programs (default: build/bin)")


class Network:
    """A name for the table, the kind of device to run on, and graph files."""

    def __init__(self, text, emplace, count, folder):
        """text: a graph, a folder of graphs, or a family or network, which is generated in `folder`; with =KIND, on
        devices of another kind than k80. `count` of its graphs, evenly spaced."""
        place, _, kind = text.partition("=")
        path = pathlib.Path(place)
        self.kind = kind or "k80"
        if path.is_file():
            self.name = graph_name(path)
            self.graphs = [path]
            return
        self.name = path.resolve().name
        if not path.is_dir():
            path = folder / place
            call([emplace, "generate", place, "--out", path])
        files = sorted([*path.glob("*.graph.json"), *path.glob("*.graph.json.zst")])
        if not files:
            raise BadInput(f"{place}: holds no *.graph.json")
        self.graphs = evenly_spaced(files, count)


def graph_name(path):
    return path.name.split(".graph.json")[0]


def evenly_spaced(items, count):
    """`count` of the items, the first and the last among them; all of them where there are no more."""
    if len(items) <= count:
        return items
    if count == 1:
        return items[:1]
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def below_root(word):
    if not isinstance(word, pathlib.Path):
        return word
    path = word.resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def call(command):
    """Standard output of a command; a failure ends the script with the command and its own line. It runs in the project's
    root and gets the paths below it as relative ones, so that no result names the machine it was made on."""
    words = [str(below_root(word)) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        what = f"{' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()}"
        raise BadInput(what) if done.returncode == 2 else SystemExit(what)
    return done.stdout


def cluster_file(folder, kind, devices, bytes_per_us=None):
    """The K80 machine with this many devices; with another kind of device or faster links where these are given."""
    path = ROOT / f"configs/clusters/k80x{devices}.yaml"
    if not path.exists():
        raise BadInput(f"{path}: does not exist, expected a machine of {devices} devices")
    if kind == "k80" and bytes_per_us is None:
        return path
    text = re.sub(r"kind: k80\b", f"kind: {kind}", path.read_text())
    if bytes_per_us is not None:
        text = re.sub(r"bandwidth_bytes_per_us: \d+", f"bandwidth_bytes_per_us: {bytes_per_us}", text)
    changed = folder / f"{kind}x{devices}_{bytes_per_us}.yaml"
    changed.write_text(text)
    return changed


def devices_text(devices, op_overhead_us=0, **connection):
    """A devices file, as JSON, which is YAML. devices: of each one a dictionary with "name", "kind", "memory_bytes" and perhaps "cores".
    op_overhead_us: microseconds to start an op. connection: transfer={...} or topology={...}, with the keys that
    configs/README.md shows."""
    return json.dumps({"devices": devices, "op_overhead_us": op_overhead_us, **connection}, indent=1) + "\n"


def linked_pairs(names, link):
    """A topology with a link between each pair of the devices that have these names. link(a, b): bytes per microsecond, and the latency
    in microseconds, between the devices at these places among the names."""
    links = []
    for a, b in itertools.combinations(range(len(names)), 2):
        bytes_per_us, latency_us = link(a, b)
        links.append({"name": f"{names[a]} {names[b]}", "between": [names[a], names[b]], "bandwidth_bytes_per_us": bytes_per_us,
                      "latency_us": latency_us})
    return {"overhead_us": 0, "nodes": [], "links": links}


def write_aside_and_rename(path, text):
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(text)
    os.replace(aside, path)
