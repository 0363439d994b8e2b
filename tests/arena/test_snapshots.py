"""Weights on disk by content, and which of them retention removes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from arena.snapshots import FileSnapshotStore, plan_retention
from pbt.errors import SnapshotError
from pbt.models.weights import from_bytes
from pbt.population.ports import SnapshotStore

METADATA = {"member": "m0", "role": "player", "frames": "100"}


def weights(seed: int = 0) -> dict[str, torch.Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return {"head.bias": torch.randn(3, generator=stream), "body": torch.randn(4, 2, generator=stream), "count": torch.tensor(seed)}


def test_what_is_put_is_loaded(tmp_path: Path) -> None:
    store: SnapshotStore = FileSnapshotStore(tmp_path / "snapshots")
    snapshot_id, size = store.put(weights(), METADATA)
    path = tmp_path / "snapshots" / f"{snapshot_id}.safetensors"
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size) == (snapshot_id, size)
    loaded = store.load(snapshot_id)
    assert loaded.keys() == weights().keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in weights().items())
    assert from_bytes(path.read_bytes(), "file")[1] == METADATA


def test_equal_content_is_one_file(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    first = store.put(weights(), METADATA)
    again = store.put(dict(reversed(weights().items())), dict(reversed(METADATA.items())))
    assert again == first
    assert len(list(tmp_path.iterdir())) == 1
    assert store.put(weights(1), METADATA) != first
    assert store.put(weights(), {**METADATA, "frames": "101"}) != first
    assert store.sizes().keys() == {path.name.removesuffix(".safetensors") for path in tmp_path.iterdir()}


def test_damaged_weights_are_refused_and_mended_by_putting_them_again(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    snapshot_id, _ = store.put(weights(), METADATA)
    content = bytearray(store.path(snapshot_id).read_bytes())
    content[-1] ^= 1
    store.path(snapshot_id).write_bytes(content)
    with pytest.raises(SnapshotError, match=r"is damaged: .*; restore it from a backup"):
        store.load(snapshot_id)
    store.put(weights(), METADATA)
    assert torch.equal(store.load(snapshot_id)["body"], weights()["body"])


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="choose another snapshot"):
        FileSnapshotStore(tmp_path / "none").load("0" * 64)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("bad", ["../league", "", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_only_whole_ids_name_files(tmp_path: Path, bad: str) -> None:
    with pytest.raises(SnapshotError, match="expected 64 lower-case hexadecimal digits"):
        FileSnapshotStore(tmp_path).load(bad)


def test_removal_frees_bytes_and_can_be_repeated(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    (kept, _), (gone, size) = store.put(weights(0), METADATA), store.put(weights(1), METADATA)
    assert store.remove([gone, gone]) == size
    assert store.remove([gone]) == 0
    assert store.sizes().keys() == {kept}


def test_a_killed_writers_leftovers_are_no_snapshots(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    snapshot_id, _ = store.put(weights(), METADATA)
    leftover = tmp_path / f"{'1' * 64}.safetensors.99.part"
    leftover.write_bytes(b"half")
    assert store.sizes().keys() == {snapshot_id}
    store.remove_leftovers()
    assert not leftover.exists()
    assert store.sizes().keys() == {snapshot_id}


@dataclass(frozen=True)
class Row:
    snapshot_id: str
    member: str


def rows(*members: str) -> list[Row]:
    return [Row(f"{index}", member) for index, member in enumerate(members)]


def test_retention_by_hand() -> None:
    snapshots = rows("a", "b", "a", "b", "a", "b", "a", "b", "a", "a", "a", "a")
    assert plan_retention(snapshots, 3, 3, {"3"}) == ("2", "4", "5", "8")


histories = st.lists(st.sampled_from("abcd"), max_size=40).map(lambda members: rows(*members))


@given(histories, st.integers(1, 10), st.integers(1, 6), st.sets(st.integers(0, 39).map(str)))
def test_retention_keeps_what_it_promises(snapshots: list[Row], keep_newest: int, thinned_every: int, keep_ids: set[str]) -> None:
    removed = plan_retention(snapshots, keep_newest, thinned_every, keep_ids)
    assert list(removed) == sorted(removed, key=int)
    for index, snapshot in enumerate(snapshots):
        own = [other for other in snapshots if other.member == snapshot.member]
        kept = (
            snapshot.snapshot_id in keep_ids
            or index >= len(snapshots) - keep_newest
            or own.index(snapshot) % thinned_every == 0
            or own[-1] == snapshot
        )
        assert (snapshot.snapshot_id not in removed) == kept


@given(histories, st.integers(1, 5), st.integers(1, 6))
def test_retention_run_often_removes_no_more_than_once_at_the_end(snapshots: list[Row], keep_newest: int, thinned_every: int) -> None:
    removed: set[str] = set()
    for count in range(len(snapshots) + 1):
        removed |= set(plan_retention(snapshots[:count], keep_newest, thinned_every, set()))
    assert removed == set(plan_retention(snapshots, keep_newest, thinned_every, set()))


def test_weights_shared_by_two_rows_stay_while_one_needs_them() -> None:
    assert plan_retention([Row("x", "a"), Row("y", "a"), Row("x", "b"), Row("z", "a")], 1, 100, set()) == ("y",)
