"""Reads the header of a safetensors file and checks it, before any tensor is allocated.

A file may come from anyone. The format is: 8 bytes, little-endian, the length of the header; the
header, a JSON object of name -> dtype, shape, [first, last) byte of the data; the data. Every
promise is checked against the size of the file, in whole numbers that cannot overflow. Nothing here
imports torch.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pbt.errors import SnapshotError

LENGTH_BYTES = 8
MAX_HEADER_BYTES, MAX_FILE_BYTES, MAX_TENSORS, MAX_RANK = 1 << 20, 1 << 31, 4096, 8
ITEM_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "F32": 4,
    "I64": 8,
    "F64": 8,
}
_METADATA = "__metadata__"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of the file.

    first  its first byte in the data
    last   the byte after its last one
    """

    dtype: str
    shape: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A checked header.

    size_bytes  of the whole file
    tensors     by name
    metadata    the header's texts by name
    """

    size_bytes: int
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]


def read_tensor_file(path: Path) -> TensorFile:
    """Check the header against the file. Reads at most MAX_HEADER_BYTES of it.

    Raises: SnapshotError that says what is wrong.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size, f"{path}")
    except OSError as error:
        raise SnapshotError(
            f"{path}: cannot be read ({error.strerror}); expected a snapshot's weights"
        ) from error


def _read(file: BinaryIO, size: int, source: str) -> TensorFile:
    if not LENGTH_BYTES < size <= MAX_FILE_BYTES:
        raise _refusal(source, f"{size} bytes", f"{LENGTH_BYTES + 1} to {MAX_FILE_BYTES}")
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    if not 0 < length <= min(MAX_HEADER_BYTES, size - LENGTH_BYTES):
        raise _refusal(
            source,
            f"a header of {length} bytes",
            f"1 to {min(MAX_HEADER_BYTES, size - LENGTH_BYTES)} in a file of {size}",
        )
    try:
        header = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _refusal(
            source,
            f"a header that is no JSON ({type(error).__name__}: {str(error)[:80]})",
            "a table of tensors",
        ) from None
    if not isinstance(header, dict):
        raise _refusal(source, f"a header that is a {type(header).__name__}", "a table of tensors")
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise _refusal(source, f"{_METADATA} that is no table of texts", "name -> text")
    if not 0 < len(header) <= MAX_TENSORS:
        raise _refusal(source, f"{len(header)} tensors", f"1 to {MAX_TENSORS}")
    tensors = {
        name: _tensor(f"{source}: tensor {name[:80]!r}", entry) for name, entry in header.items()
    }
    _check_cover(source, tensors, size - LENGTH_BYTES - length)
    return TensorFile(size, tensors, metadata)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name stands twice")
    return table


def _tensor(place: str, entry: Any) -> TensorInfo:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        keys = sorted(entry) if isinstance(entry, dict) else type(entry).__name__
        raise _refusal(place, f"{str(keys)[:80]}", "dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise _refusal(place, f"dtype {str(dtype)[:40]!r}", f"one of {', '.join(ITEM_BYTES)}")
    if not _whole_numbers(shape) or len(shape) > MAX_RANK:
        raise _refusal(
            place, f"shape {str(shape)[:80]}", f"at most {MAX_RANK} whole numbers of at least 0"
        )
    if not _whole_numbers(offsets) or len(offsets) != 2:
        raise _refusal(
            place, f"data_offsets {str(offsets)[:80]}", "two whole numbers, first and last byte"
        )
    first, last = offsets
    needed = math.prod(shape) * ITEM_BYTES[dtype]
    if last - first != needed:
        raise _refusal(
            place,
            f"bytes {str(first)[:30]} to {str(last)[:30]}",
            f"{str(needed)[:30]} of them for {dtype} {str(shape)[:80]}",
        )
    return TensorInfo(dtype, tuple(shape), first, last)


def _whole_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= MAX_FILE_BYTES for value in values
    )


def _check_cover(source: str, tensors: Mapping[str, TensorInfo], data_bytes: int) -> None:
    """Check that the tensors lie side by side and fill the data.

    None overlaps another, none reaches beyond the file, and nothing is hidden between them.
    """
    at = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].first, item[1].last)):
        if tensor.first != at:
            raise _refusal(
                f"{source}: tensor {name[:80]!r}",
                f"its first byte at {tensor.first}",
                f"{at}: tensors lie side by side",
            )
        at = tensor.last
    if at != data_bytes:
        raise _refusal(
            source,
            f"{data_bytes} bytes of data",
            f"{at}, as the header says; the file is cut off or has something appended",
        )


def _refusal(place: str, found: str, expected: str) -> SnapshotError:
    return SnapshotError(
        f"{place}: found {found}; expected {expected}: these are no weights written by this "
        "program, and nothing was imported"
    )
