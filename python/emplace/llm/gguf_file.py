"""The header and the list of tensors of a GGUF file, also of one that is split.

The package `gguf` reads a file's vocabulary number by number, which takes ten seconds; here it is skipped. The tests hold this
reader against that package. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
import mmap
import os
import pathlib
import re
import struct

from emplace._core import BadInput
from emplace.llm.checkpoint import TYPE_SIZES, Checkpoint, Tensor

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMENSIONS = 4
_MAX_COUNT = 1 << 24  # Of tensors and of keys: far more than there are.
_MAX_TEXT = 1 << 16  # Bytes of a name or of a text that is kept.
_MAX_LIST = 1 << 16  # Numbers of a list that is kept, such as one of each layer.
# By the number that stands for a type of value in the metadata: how struct reads it.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
# By the number that stands for a tensor's type (ggml.h): a key of TYPE_SIZES.
_TENSOR_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K",
    13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0",
    35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0",
}
_SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")


class _Bytes:
    """Reads a file's bytes one after the other. Raises BadInput at its end."""

    def __init__(self, path: pathlib.Path, data):
        self.path, self._data, self.at = path, data, 0

    def fail(self, what: str) -> BadInput:
        return BadInput(f"{self.path}: at byte {self.at}: {what}")

    def skip(self, size: int) -> None:
        if size > len(self._data) - self.at:
            raise BadInput(f"{self.path}: ends at byte {len(self._data)}, within its header: the file is cut off")
        self.at += size

    def number(self, code: str):
        size = struct.calcsize("<" + code)
        self.skip(size)
        return struct.unpack_from("<" + code, self._data, self.at - size)[0]

    def text(self) -> str:
        """A name, on one line."""
        size = self.number("Q")
        if size > _MAX_TEXT:
            raise self.fail(f"a text of {size} bytes, expected at most {_MAX_TEXT}")
        self.skip(size)
        try:
            found = self._data[self.at - size:self.at].decode()
        except UnicodeDecodeError:
            raise self.fail("a text that is no UTF-8") from None
        if not found.isprintable():
            raise self.fail(f"a name with characters that cannot be shown, {found[:60]!r}")
        return found

    def value(self):
        """A value of the metadata; None for lists that are of texts or long, which are of no use here."""
        kind = self.number("I")
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            size = self.number("Q")
            self.skip(size)  # Such as a template of a chat, which may be long.
            return self._data[self.at - size:self.at].decode(errors="replace") if size <= _MAX_TEXT else None
        if kind == _LIST:
            return self._list()
        raise self.fail(f"a value of type {kind}, expected 0 to 12")

    def _list(self):
        kind, count = self.number("I"), self.number("Q")
        if kind in _NUMBERS:
            size = struct.calcsize("<" + _NUMBERS[kind])
            self.skip(size * count)
            if count > _MAX_LIST:
                return None
            return list(struct.unpack_from(f"<{count}{_NUMBERS[kind]}", self._data, self.at - size * count))
        if kind != _TEXT:
            raise self.fail(f"a list of values of type {kind}, expected 0 to 8")
        self._skip_texts(count)
        return None

    def _skip_texts(self, count: int) -> None:
        read, data, at, end = struct.Struct("<Q").unpack_from, self._data, self.at, len(self._data)
        for _ in range(count):  # A vocabulary: it has to be fast.
            if at + 8 > end:
                break
            at += 8 + read(data, at)[0]
        if at > end or at + 8 > end:
            self.skip(end + 1 - self.at)
        self.at = at


def _shown(data: bytes) -> str:
    """The first bytes of a file, for an error."""
    return f"'{data.decode()}'" if data.isascii() and data.decode().isprintable() else f"the bytes {data.hex(' ')}"


def _tensor(file: _Bytes) -> tuple[Tensor, int]:
    """A tensor and where its data begin, counted from where all data begin."""
    name = file.text()
    dimensions = file.number("I")
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise file.fail(f"tensor '{name}' has {dimensions} dimensions, expected 1 to {_MAX_DIMENSIONS}")
    shape = tuple(file.number("Q") for _ in range(dimensions))[::-1]
    if min(shape) < 1 or max(shape) >= 2**40:
        raise file.fail(f"tensor '{name}' has the shape {list(shape)}, expected sizes of at least 1 and below 2^40")
    number = file.number("I")
    if number not in _TENSOR_TYPES:
        raise file.fail(f"tensor '{name}' has type {number}, which is not known, expected one of {', '.join(TYPE_SIZES)}")
    return Tensor(name, shape, _TENSOR_TYPES[number]), file.number("Q")


def _read_one(path: pathlib.Path) -> tuple[dict, list[Tensor]]:
    try:
        with path.open("rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                raise BadInput(f"{path}: is empty, expected a GGUF file")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _parse(path, data)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error


def _parse(path: pathlib.Path, data) -> tuple[dict, list[Tensor]]:
    file = _Bytes(path, data)
    if data[:4] != MAGIC:
        raise BadInput(f"{path}: begins with {_shown(bytes(data[:4]))}, expected '{MAGIC.decode()}': it is no GGUF file")
    file.skip(4)
    version = file.number("I")
    if version not in _VERSIONS:
        raise BadInput(f"{path}: is of version {version} of GGUF, expected 2 or 3, and numbers whose lowest byte is first")
    num_tensors, num_values = file.number("Q"), file.number("Q")
    if max(num_tensors, num_values) > _MAX_COUNT:
        raise file.fail(f"{num_tensors} tensors and {num_values} values, expected at most {_MAX_COUNT}")
    metadata: dict = {}
    names: set[str] = set()  # Also of what is not kept.
    for _ in range(num_values):
        name = file.text()
        if name in names:
            raise file.fail(f"key '{name}' is given twice, expected once")
        names.add(name)
        value = file.value()
        if value is not None:
            metadata[name] = value
    found = [_tensor(file) for _ in range(num_tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or isinstance(alignment, bool) or alignment < 1:
        raise BadInput(f"{path}: general.alignment is {alignment!r}, expected a number of bytes")
    begin = -(-file.at // alignment) * alignment
    end = max((begin + offset + tensor.bytes for tensor, offset in found), default=0)
    if end > len(data):
        raise BadInput(f"{path}: ends at byte {len(data)}, its tensors at byte {end}: the file is cut off")
    return metadata, [tensor for tensor, _ in found]


def parts(path: pathlib.Path) -> list[pathlib.Path]:
    """The files of the model: one, or all of a split one of which `path` is any."""
    split = _SPLIT_NAME.fullmatch(path.name)
    if not split:
        return [path]
    count = int(split[3])
    if not 1 <= int(split[2]) <= count <= 10000:
        raise BadInput(f"{path}: is part {int(split[2])} of {count} by its name, expected part 1 to {count}")
    return [path.with_name(f"{split[1]}-{part:05d}-of-{count:05d}.gguf") for part in range(1, count + 1)]


def _read_part(path: pathlib.Path, number: int, count: int) -> tuple[dict, list[Tensor]]:
    """A file, by whose name it is this part of so many. Raises BadInput where the file says otherwise."""
    metadata, tensors = _read_one(path)
    index, total = metadata.get("split.no"), metadata.get("split.count")
    if isinstance(index, int) and isinstance(total, int) and total > 1 and (index + 1, total) != (number, count):
        raise BadInput(f"{path}: is part {index + 1} of {total} of a model, expected a name that ends in -{index + 1:05d}-of-{total:05d}.gguf, "
                       "and the other parts beside it")
    return metadata, tensors


def read_gguf(path: str | os.PathLike) -> Checkpoint:
    """Reads a GGUF file, or all files of a split model of which `path` is one. Raises BadInput where it is none, or is cut off."""
    given, names = pathlib.Path(path), parts(pathlib.Path(path))
    # The given one comes first: by its header one knows whether the names of the others are right.
    read = {part: _read_part(part, names.index(part) + 1, len(names)) for part in sorted(names, key=lambda part: part != given)}
    files = [read[part] for part in names]
    metadata = files[0][0]
    tensors = [tensor for _, part in files for tensor in part]
    names = [tensor.name for tensor in tensors]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"{path}: tensor '{twice}' is there twice")
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture.isprintable():
        raise BadInput(f"{path}: general.architecture is {'missing' if architecture is None else repr(architecture)}, expected the name of "
                       "an architecture")
    prefix = architecture + "."
    own = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    name = " ".join(re.findall(r"[\w().-]+", str(metadata.get("general.name") or "")))
    return Checkpoint(name or pathlib.Path(path).stem, architecture, own, tensors, os.fspath(path))
