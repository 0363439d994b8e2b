"""Retention removes the weights that its plan names, and no others."""

from hypothesis import given
from hypothesis import strategies as st

from arena.league.retention import plan_retention
from pbt.records import SnapshotRecord


def row(snapshot_id: str, member: str) -> SnapshotRecord:
    return SnapshotRecord(snapshot_id, member, "player", 0, 0, 0, "schedule", None, 1)


def rows(*members: str) -> list[SnapshotRecord]:
    return [row(f"{index}", member) for index, member in enumerate(members)]


def test_retention_by_hand() -> None:
    snapshots = rows("a", "b", "a", "b", "a", "b", "a", "b", "a", "a", "a", "a")
    assert plan_retention(snapshots, 3, 3, {"3"}) == ("2", "4", "5", "8")


histories = st.lists(st.sampled_from("abcd"), max_size=40).map(lambda members: rows(*members))


@given(histories, st.integers(1, 10), st.integers(1, 6), st.sets(st.integers(0, 39).map(str)))
def test_retention_keeps_what_it_promises(
    snapshots: list[SnapshotRecord], keep_newest: int, thinned_every: int, keep_ids: set[str]
) -> None:
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
def test_retention_run_often_removes_no_more_than_once_at_the_end(
    snapshots: list[SnapshotRecord], keep_newest: int, thinned_every: int
) -> None:
    removed: set[str] = set()
    for count in range(len(snapshots) + 1):
        removed |= set(plan_retention(snapshots[:count], keep_newest, thinned_every, set()))
    assert removed == set(plan_retention(snapshots, keep_newest, thinned_every, set()))


def test_weights_shared_by_two_rows_stay_while_one_needs_them() -> None:
    assert plan_retention(
        [row("x", "a"), row("y", "a"), row("x", "b"), row("z", "a")], 1, 100, set()
    ) == ("y",)
