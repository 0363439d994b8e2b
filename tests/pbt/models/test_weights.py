"""Weights as bytes: deterministic, checked, never executable."""

import json
import pickle  # noqa: TID251 - to show that it is refused
from pathlib import Path

import pytest
import torch

from pbt.errors import SnapshotError
from pbt.models.tensor_file import read_tensor_file
from pbt.models.weights import check_shapes, map_weights, to_bytes

TENSORS = {
    "b": torch.arange(6.0).view(2, 3),
    "a": torch.tensor([1, 2]),
    "c": torch.tensor(0.5, dtype=torch.float64),
    "t": torch.arange(6.0).view(2, 3).T,
}
METADATA = {name: f"value of {name}" for name in "zyxwvu"}


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(to_bytes(TENSORS, METADATA))
    tensors = map_weights(path)
    assert json.loads(read_tensor_file(path).metadata["pbt"]) == METADATA
    assert tensors.keys() == TENSORS.keys()
    assert all(
        torch.equal(tensors[name], TENSORS[name]) and tensors[name].dtype == TENSORS[name].dtype
        for name in TENSORS
    )


def test_equal_content_gives_equal_bytes_whatever_the_order() -> None:
    first = to_bytes(TENSORS, METADATA)
    for _ in range(20):
        assert to_bytes(dict(reversed(TENSORS.items())), dict(reversed(METADATA.items()))) == first
    assert to_bytes({**TENSORS, "c": torch.tensor(0.25, dtype=torch.float64)}, METADATA) != first


@pytest.mark.parametrize(
    "content",
    [b"", b"short", to_bytes(TENSORS)[:-3], pickle.dumps([1])],
    ids=range(4),
)
def test_damaged_bytes_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m0"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="m0: does not read as safetensors"):
        map_weights(path)


def test_every_misfit_is_named() -> None:
    expected = {"a": torch.zeros(2, 3), "b": torch.zeros(1), "d": torch.zeros(4)}
    found = {"a": torch.zeros(3, 2), "c": torch.zeros(1), "d": torch.zeros(4, dtype=torch.float64)}
    with pytest.raises(SnapshotError) as error:
        check_shapes(expected, found, "snapshot 12")
    text = str(error.value)
    for part in (
        "snapshot 12",
        "a: found float32 [3, 2], expected float32 [2, 3]",
        "b: found nothing",
        "c: found float32 [1], expected nothing",
        "d: found float64",
    ):
        assert part in text
    check_shapes(expected, dict(expected), "itself")
