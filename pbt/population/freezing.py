"""Freezing a member: its weights go into the snapshot store, and a record says what they are."""

from collections.abc import Mapping

from torch import Tensor

from pbt.models.weights import MODEL_PREFIX
from pbt.population.interfaces import SnapshotStore
from pbt.population.members import Member
from pbt.records import SnapshotRecord


def policy_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what acts of a learner's state: the model without the optimiser's moments."""
    return {name: tensor for name, tensor in state.items() if name.startswith(MODEL_PREFIX)}


def store_snapshot(
    store: SnapshotStore,
    member: Member,
    reason: str,
    tensors: Mapping[str, Tensor],
    *,
    frames: int,
    version: int,
) -> SnapshotRecord:
    """Store weights of a member. frames, version: the learner's clocks when it had them.

    Raises: SnapshotError when the disk refuses.
    """
    snapshot_id, size_bytes = store.put(tensors, member.snapshot_metadata(frames, version))
    clocks = (member.generation, version, frames)
    return SnapshotRecord(
        snapshot_id,
        member.name,
        member.role,
        *clocks,
        reason,
        member.newest_snapshot,
        size_bytes,
    )
