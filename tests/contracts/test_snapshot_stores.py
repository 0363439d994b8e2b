"""The contract of snapshot stores: frozen weights by content, in memory and in files."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from bench.memory import MemoryStore
from pbt.errors import SnapshotError
from pbt.population.interfaces import SnapshotStore
from pbt.snapshots import FileSnapshotStore

METADATA = {"member": "m0", "role": "player", "frames": "100"}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SnapshotStore:
    return MemoryStore() if request.param == "memory" else FileSnapshotStore(tmp_path / "snapshots")


def weights(seed: int = 0) -> dict[str, Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return {
        "head.bias": torch.randn(3, generator=stream),
        "body": torch.randn(4, 2, generator=stream),
        "half": torch.randn(5, generator=stream).bfloat16(),
        "count": torch.tensor(seed),
        "nothing": torch.zeros(0, 3),
    }


def same(one: Mapping[str, Tensor], two: Mapping[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(
        one[name].dtype == two[name].dtype and torch.equal(one[name], two[name]) for name in one
    )


def test_what_is_put_is_loaded(store: SnapshotStore) -> None:
    first, second = (store.put(weights(seed), METADATA)[0] for seed in range(2))
    assert same(store.load(first), weights(0)) and same(store.load(second), weights(1))


def test_an_id_is_that_of_the_content(store: SnapshotStore) -> None:
    first = store.put(weights(), METADATA)
    assert len(first[0]) == 64 and first[1] > 4 * (3 + 8)
    again = store.put(dict(reversed(weights().items())), dict(reversed(METADATA.items())))
    assert again == first, "the order of names is no content"
    assert store.put(weights(1), METADATA)[0] != first[0]
    assert store.put(weights(), {**METADATA, "frames": "101"})[0] != first[0]


def test_all_stores_give_the_same_ids(tmp_path: Path) -> None:
    assert MemoryStore().put(weights(), METADATA) == FileSnapshotStore(tmp_path / "s").put(
        weights(), METADATA
    )


def test_nothing_changes_what_is_stored(store: SnapshotStore) -> None:
    """Learners go on with the tensors that they froze, and with those that they loaded."""
    given = weights()
    snapshot_id, _ = store.put(given, METADATA)
    for tensors in (given, store.load(snapshot_id)):
        for tensor in tensors.values():
            tensor.add_(1)
    assert same(store.load(snapshot_id), weights())


def test_weights_that_are_not_there_are_named(store: SnapshotStore) -> None:
    store.put(weights(), METADATA)
    with pytest.raises(SnapshotError, match="000000000000"):
        store.load("0" * 64)
