"""The plan of which frozen weights to keep."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Protocol


class RetainedSnapshot(Protocol):
    """What the plan reads of a SnapshotRecord."""

    @property
    def snapshot_id(self) -> str: ...

    @property
    def member(self) -> str: ...


def plan_retention(snapshots: Sequence[RetainedSnapshot], keep_newest: int, thinned_every: int, keep_ids: Collection[str]) -> tuple[str, ...]:
    """The ids whose weights may go, oldest first.

    snapshots      every snapshot the population ever made, oldest first, also those whose weights are gone: positions must not move, or each run
                   of the plan would thin the tail again
    keep_newest    so many newest of the whole population stay;  thinned_every: of each member's, the first and every k-th after it stay
    keep_ids       the best, anchors, and whatever is seated, in a checkpoint, or the source of a copy not yet applied

    Each member's newest stays too: a member that finished early remains an opponent. Parents need not stay: nothing plays them.
    """
    kept = set(keep_ids) | {snapshot.snapshot_id for snapshot in snapshots[max(0, len(snapshots) - keep_newest) :]}
    by_member: dict[str, list[str]] = defaultdict(list)
    for snapshot in snapshots:
        by_member[snapshot.member].append(snapshot.snapshot_id)
    for ids in by_member.values():
        kept |= {*ids[::thinned_every], ids[-1]}
    return tuple(dict.fromkeys(snapshot.snapshot_id for snapshot in snapshots if snapshot.snapshot_id not in kept))
