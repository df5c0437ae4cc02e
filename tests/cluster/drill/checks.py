"""What has to hold of a run directory after any fault."""
import json
import math
import pathlib
import struct

from outcome import Missed

PARTS = ("trained", "stale", "rejected", "lost")
BYTES_OF = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def ledger(run_dir: pathlib.Path) -> dict:
    return json.loads((run_dir / "ledger.json").read_text())


def expect_balance(run_dir: pathlib.Path) -> dict:
    """produced = trained + stale + rejected + lost, by actor and in all. Returns the totals."""
    books = ledger(run_dir)
    for name, counts in [("all", books["total"]), *books["actors"].items()]:
        if counts["produced"] != sum(counts[part] for part in PARTS):
            raise Missed("a ledger that balances", f"{name}: {counts}")
    for part in ("produced", *PARTS):
        in_all = sum(counts[part] for counts in books["actors"].values())
        if in_all != books["total"][part]:
            raise Missed(f"actors' {part} to add up to {books['total'][part]}", str(in_all))
    if books["total"]["trained"] == 0:
        raise Missed("episodes trained on", str(books["total"]))
    return books["total"]


def expect_whole_safetensors(path: pathlib.Path):
    data = path.read_bytes()
    try:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        end = 0
        for entry in sorted(tensors, key=lambda entry: entry["data_offsets"]):
            first, last = entry["data_offsets"]
            if first != end or last - first != BYTES_OF[entry["dtype"]] * math.prod(entry["shape"]):
                raise ValueError(f"a tensor of {entry['shape']} {entry['dtype']} at {first}..{last}")
            end = last
        if len(data) != 8 + length + end:
            raise ValueError(f"{len(data)} bytes, and its header speaks of {8 + length + end}")
    except (ValueError, KeyError, struct.error) as error:
        raise Missed(f"{path.name} to be whole", f"{path}: {error}") from None


def expect_whole_files(run_dir: pathlib.Path, temporaries=False):
    """Nothing half-written; with `temporaries`, what was being written aside may be there (a learner was killed)."""
    for path in run_dir.rglob("*"):
        if path.name.startswith(".") and path.name.endswith(".tmp"):
            if not temporaries:
                raise Missed("nothing left that was written aside", str(path))
            continue
        if any(part.startswith(".") and part.endswith(".tmp") for part in path.relative_to(run_dir).parts):
            continue
        if path.suffix == ".json":
            try:
                json.loads(path.read_text())
            except ValueError as error:
                raise Missed(f"{path.name} to be whole", f"{path}: {error}") from None
        elif path.suffix == ".safetensors":
            expect_whole_safetensors(path)


def expect_whole_lines(run_dir: pathlib.Path):
    """Of a run that has ended cleanly: every line is an object, also where a killed learner had left half a line."""
    for path in run_dir.glob("*.jsonl"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                json.loads(line)
            except ValueError as error:
                raise Missed(f"{path.name}:{number} to be an object", f"{line[:80]!r}: {error}") from None


def checkpoints(run_dir: pathlib.Path) -> list[pathlib.Path]:
    """Oldest first."""
    return sorted((run_dir / "checkpoints").glob("update_*"))


def incarnations(checkpoint: pathlib.Path) -> dict:
    """(actor, incarnation) -> its entry in the checkpoint's ledger."""
    state = json.loads((checkpoint / "state.json").read_text())
    return {(actor["name"], entry["incarnation"]): entry for actor in json.loads(state["ledger"]) for entry in actor["incarnations"]}


def used(entry: dict) -> int:
    return entry["trained"] + entry["stale"] + entry["rejected"]
