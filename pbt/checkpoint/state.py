"""The checkpoint state of a run: everything that is needed to go on as if nothing had happened.

It is a cut through all components at one moment at which nothing is in motion. It has one form for
all placements, that of a population in one process: the states of workers and planners are merged
when it is taken, and slots keep their numbers. A resume splits it over partitions of its own, in
which slots get new numbers.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.resharding import split_worker
from pbt.checkpoint.workers import count_valid, load_slab, save_slab
from pbt.sampling.slots import Partition
from pbt.saved import SavedQueue, SavedWorker
from pbt.transport.slab import Slab


def cut_tensors(
    learners: Mapping[str, Mapping[str, Tensor]], slabs: Sequence[Slab], worker: SavedWorker
) -> dict[str, dict[str, Tensor]]:
    """Return the part of the state that is tensors, by file.

    learners  each member's whole learner state
    slabs     by role, as they stand
    worker    merged; the slots that it calls free are left out
    """
    tensors = {learner_part(name): dict(state) for name, state in learners.items()}
    for role, (slab, filler) in enumerate(zip(slabs, worker.fillers, strict=True)):
        tensors[f"slab-{role}"] = save_slab(slab, set(filler.pool.free))
    return tensors


def learner_part(member: str) -> str:
    """Return the name under which a checkpoint keeps a member's learner."""
    return f"learner-{member}"


def replay_part(member: str) -> str:
    """Return the name under which a checkpoint keeps the steps that a member replays."""
    return f"replay-{member}"


class SplitCut(NamedTuple):
    """A checkpoint state for other partitions.

    workers  what the worker of each partition loads
    queues   what each member's batcher loads
    """

    workers: list[SavedWorker]
    queues: dict[str, SavedQueue]


def split_cut(
    checkpoint: Checkpoint, slabs: Sequence[Slab], shares: Sequence[Partition]
) -> SplitCut:
    """Spread a checkpoint over partitions of these slabs, and fill the slabs.

    Slots that wait for their batch are dropped where there is no room for them, and their rows are
    counted as "no room". Raises: EngineError when there is no room for the open games either,
    CheckpointError when the game changed since.
    """
    stored = checkpoint.state.queues
    waiting = {member: own.queue for member, own in stored.items()}
    split = split_worker(checkpoint.state.worker, waiting, shares)
    saved = [checkpoint.tensors[f"slab-{role}"] for role in range(len(slabs))]
    for slab, tensors, places in zip(slabs, saved, split.places, strict=True):
        load_slab(slab, tensors, places)
    queues = {}
    for member, own in stored.items():
        dropped = Counter(own.dropped)
        if lost := split.lost.get(member):
            dropped["no room"] += count_valid(saved[own.queue[0].role], lost)
        queues[member] = SavedQueue(split.queues[member], dict(dropped))
    return SplitCut(split.workers, queues)


def digest_of(models: Iterable[Mapping[str, Tensor]]) -> str:
    """Return a SHA-256 over every member's weights, in order; equal runs have equal digests.

    models: tensors by the model's own names, without a prefix.
    """
    digest = hashlib.sha256()
    for model in models:
        for name, tensor in sorted(model.items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
