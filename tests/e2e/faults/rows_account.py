"""Where every row of experience went, counted from a checkpoint: produced = trained + dropped +
standing, the last by looking into the slots.
"""

import numpy as np

from pbt.checkpoint.files import Checkpoint
from tests.e2e.faults.running import Run

Slots = set[tuple[int, int]]


def row_problems(run: Run) -> list[str]:
    """What does not add up in the newest checkpoint; when the run was finished or stopped, also
    what the last status says otherwise.
    """
    checkpoint, status = run.newest_checkpoint(), run.status()
    if checkpoint is None or status is None:
        return ["no checkpoint, or no status of the last start"]
    state = checkpoint.state
    produced = sum(filler.produced for filler in state.worker.fillers)
    trained = state.engine.rows_trained
    counts = [own.dropped for own in (*state.worker.fillers, *state.queues.values())]
    dropped = {
        reason: sum(count.get(reason, 0) for count in counts)
        for count in counts
        for reason in count
    }
    standing = standing_rows(checkpoint)
    account = f"produced {produced}, trained {trained}, dropped {dropped}, standing {standing}"
    problems = []
    if (
        produced != trained + sum(dropped.values()) + standing
        or min([trained, standing, *dropped.values()]) < 0
    ):
        problems.append(
            f"checkpoint {checkpoint.number}: {account}: "
            f"{produced - trained - sum(dropped.values()) - standing} rows too many"
        )
    rows = status.rows
    if not rows.trained:
        problems.append("no row was trained")
    told = (rows.produced, rows.trained, sum(rows.dropped.values()), rows.standing)
    if status.ended in ("finished", "stopped and saved") and told != (
        produced,
        trained,
        sum(dropped.values()),
        standing,
    ):
        problems.append(f"the last status says {rows}, its checkpoint {account}")
    return problems


def standing_rows(checkpoint: Checkpoint) -> int:
    """Valid rows in the slots of seats that learn, in parked slots, and in full ones that wait
    for their batch.
    """
    worker = checkpoint.state.worker
    used: Slots = {
        (full.role, full.slot) for own in checkpoint.state.queues.values() for full in own.queue
    }
    for role, filler in enumerate(worker.fillers):
        used |= {(role, slot) for entries in filler.pool.parked.values() for slot, _ in entries}
    used |= {
        (seat["role"], seat["slot"])
        for seat in worker.seats.rows()
        if seat["learning"] and seat["slot"] >= 0
    }
    rows = 0
    for role in range(len(worker.fillers)):
        saved = checkpoint.tensors[f"slab-{role}"]
        places = np.isin(saved["slots"].numpy(), [slot for owner, slot in used if owner == role])
        rows += int(saved["valid"].numpy()[places].sum())
    return rows
