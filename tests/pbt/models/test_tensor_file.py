"""Headers of safetensors files: those of the library are read, false ones are refused at once."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pbt.errors import SnapshotError
from pbt.models.tensor_file import MAX_HEADER_BYTES, read_tensor_file
from pbt.models.weights import to_bytes

GOOD = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def written(path: Path, header: Any, data: bytes = bytes(24), length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def test_what_the_library_writes_is_read_alike(tmp_path: Path) -> None:
    tensors = {
        "a": torch.zeros(3, 4),
        "b": torch.zeros(0, 7, dtype=torch.int64),
        "c": torch.tensor(True),
        "d": torch.zeros(5, dtype=torch.bfloat16),
    }
    (tmp_path / "file").write_bytes(to_bytes(tensors, {"member": "m0"}))
    found = read_tensor_file(tmp_path / "file")
    assert {name: (info.dtype, info.shape) for name, info in found.tensors.items()} == {
        "a": ("F32", (3, 4)),
        "b": ("I64", (0, 7)),
        "c": ("BOOL", ()),
        "d": ("BF16", (5,)),
    }
    assert json.loads(found.metadata["pbt"]) == {"member": "m0"}


HOSTILE: dict[str, tuple[Any, bytes, int | None, str]] = {
    "huge header": ({"t": GOOD}, bytes(24), 1 << 62, "a header of 4611686018427387904 bytes"),
    "header beyond the file": ({"t": GOOD}, b"", 10_000, "a header of 10000 bytes"),
    "no header": (b"", bytes(24), 0, "a header of 0 bytes"),
    "no JSON": (b"\x80\x04\x95pickled", bytes(24), None, "no JSON"),
    "deep JSON": (b"[" * 50_000, bytes(24), None, "no JSON"),
    "a list": ([1], bytes(24), None, "a header that is a list"),
    "no tensors": ({"__metadata__": {}}, b"x", None, "0 tensors"),
    "a name twice": (
        b'{"t": %s, "t": %s}' % ((json.dumps(GOOD).encode(),) * 2),
        bytes(24),
        None,
        "stands twice",
    ),
    "wrong dtype": ({"t": {**GOOD, "dtype": "F4"}}, bytes(24), None, "dtype 'F4'"),
    "dtype no text": ({"t": {**GOOD, "dtype": ["F32"]}}, bytes(24), None, "dtype"),
    "offset overflow": (
        {"t": {**GOOD, "data_offsets": [2**64 - 24, 2**64]}},
        bytes(24),
        None,
        "data_offsets",
    ),
    "backwards": ({"t": {**GOOD, "data_offsets": [24, 0]}}, bytes(24), None, "bytes 24 to 0"),
    "negative": ({"t": {**GOOD, "shape": [-2, -3]}}, bytes(24), None, "shape"),
    "shape bomb": (
        {"t": {**GOOD, "shape": [2**31, 2**31, 2**31]}},
        bytes(24),
        None,
        "bytes 0 to 24",
    ),
    "shape that wraps to 6": (
        {"t": {**GOOD, "shape": [2**31, 2**31, 4, 6]}},
        bytes(24),
        None,
        "bytes 0 to 24",
    ),
    "shape of text": ({"t": {**GOOD, "shape": "23"}}, bytes(24), None, "shape"),
    "shape of truth": ({"t": {**GOOD, "shape": [True, 6]}}, bytes(24), None, "shape"),
    "fractions": ({"t": {**GOOD, "shape": [2.0, 3]}}, bytes(24), None, "shape"),
    "rank bomb": ({"t": {**GOOD, "shape": [1] * 1000 + [6]}}, bytes(24), None, "shape"),
    "missing": ({"t": {"dtype": "F32", "shape": [2, 3]}}, bytes(24), None, "['dtype', 'shape']"),
    "another key": ({"t": {**GOOD, "code": "x"}}, bytes(24), None, "code"),
    "truncated": ({"t": GOOD}, bytes(20), None, "20 bytes of data"),
    "appended": ({"t": GOOD}, bytes(30), None, "30 bytes of data"),
    "overlap": (
        {"t": GOOD, "u": {**GOOD, "data_offsets": [12, 36]}},
        bytes(36),
        None,
        "first byte at 12",
    ),
    "gap": (
        {"t": GOOD, "u": {**GOOD, "data_offsets": [30, 54]}},
        bytes(54),
        None,
        "first byte at 30",
    ),
    "metadata of numbers": (
        {"__metadata__": {"pbt": 1}, "t": GOOD},
        bytes(24),
        None,
        "__metadata__",
    ),
    "too many": (
        {f"t{i}": {**GOOD, "shape": [0], "data_offsets": [0, 0]} for i in range(5000)},
        b"",
        None,
        "5000 tensors",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_lies_is_refused(tmp_path: Path, kind: str) -> None:
    header, content, length, said = HOSTILE[kind]
    path = written(tmp_path / "file", header, content, length)
    tracemalloc.start()
    with pytest.raises(SnapshotError) as refused:
        read_tensor_file(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said in str(refused.value)
    assert len(str(refused.value)) < 700
    assert peak < 20 * MAX_HEADER_BYTES


def test_too_small_and_too_large(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345678")
    with pytest.raises(SnapshotError, match="found 8 bytes; expected 9 to"):
        read_tensor_file(tmp_path / "file")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SnapshotError, match="found 1099511627776 bytes"):
        read_tensor_file(tmp_path / "sparse")
    with pytest.raises(SnapshotError, match="cannot be read"):
        read_tensor_file(tmp_path / "none")


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_noise_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "noise").write_bytes(content)
    with pytest.raises(SnapshotError):
        read_tensor_file(tmp_path / "noise")
