"""Weights on disk by content."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from pbt.errors import LostWeightsError, SnapshotError
from pbt.models.tensor_file import read_tensor_file
from pbt.snapshots import FileSnapshotStore

METADATA = {"member": "m0", "role": "player", "frames": "100"}


def weights(seed: int = 0) -> dict[str, torch.Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return {
        "head.bias": torch.randn(3, generator=stream),
        "body": torch.randn(4, 2, generator=stream),
        "count": torch.tensor(seed),
    }


def test_a_snapshot_is_a_file_of_its_id_with_its_metadata(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path / "snapshots")
    snapshot_id, size = store.put(weights(), METADATA)
    path = tmp_path / "snapshots" / f"{snapshot_id}.safetensors"
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size) == (
        snapshot_id,
        size,
    )
    assert json.loads(read_tensor_file(path).metadata["pbt"]) == METADATA


def test_what_is_loaded_takes_no_memory_until_it_is_changed(tmp_path: Path) -> None:
    """A worker loads frozen opponents again and again, and would keep memory used on the way."""
    store = FileSnapshotStore(tmp_path)
    snapshot_id, size = store.put({"body": torch.ones(16 << 20)}, METADATA)
    before = own_memory()
    loaded = store.load(snapshot_id)
    assert float(loaded["body"].sum()) == 16 << 20
    assert own_memory() - before < size / 4
    loaded["body"].add_(1.0)
    assert torch.equal(store.load(snapshot_id)["body"], torch.ones(16 << 20)), (
        "the file is as it was"
    )


def own_memory() -> int:
    """Bytes that belong to this process alone and to no file."""
    (line,) = [
        line
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        if line.startswith("RssAnon:")
    ]
    return int(line.split()[1]) * 1024


def test_equal_content_is_one_file(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path)
    assert store.put(weights(), METADATA) == store.put(weights(), METADATA)
    assert len(list(tmp_path.iterdir())) == 1
    store.put(weights(1), METADATA)
    assert store.sizes().keys() == {
        path.name.removesuffix(".safetensors") for path in tmp_path.iterdir()
    }


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
    with pytest.raises(LostWeightsError, match="choose another snapshot"):
        FileSnapshotStore(tmp_path).load("0" * 64)


def test_a_folder_that_is_away_is_no_lost_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="moved, removed or unmounted") as told:
        FileSnapshotStore(tmp_path / "none").load("0" * 64)
    assert not isinstance(told.value, LostWeightsError) and not (tmp_path / "none").exists()


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
