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
from pbt.config.schema import RunConfig
from pbt.population.controller import Controller
from pbt.sampling.slots import Partition
from pbt.transport.messages import JsonState
from pbt.transport.slab import Slab


def cut_state(
    config: RunConfig,
    engine: JsonState,
    controller: Controller,
    planner: JsonState,
    worker: JsonState,
    batchers: Mapping[str, JsonState],
) -> JsonState:
    """Return the part of the state that is JSON.

    engine    the engine's own counts
    planner   of the whole run, merged
    worker    of the whole run, merged
    batchers  by member
    """
    return {
        "config": config.model_dump(mode="json"),
        "engine": engine,
        "controller": controller.state(),
        "planner": planner,
        "worker": worker,
        "trainees": dict(batchers),
    }


def cut_tensors(
    learners: Mapping[str, Mapping[str, Tensor]], slabs: Sequence[Slab], worker: JsonState
) -> dict[str, dict[str, Tensor]]:
    """Return the part of the state that is tensors, by file.

    learners  each member's whole learner state
    slabs     by role, as they stand
    worker    merged; the slots that it calls free are left out
    """
    tensors = {learner_part(name): dict(state) for name, state in learners.items()}
    for role, (slab, filler) in enumerate(zip(slabs, worker["fillers"], strict=True)):
        tensors[f"slab-{role}"] = save_slab(slab, set(filler["pool"]["free"]))
    return tensors


def learner_part(member: str) -> str:
    """Return the name under which a checkpoint keeps a member's learner."""
    return f"learner-{member}"


def replay_part(member: str) -> str:
    """Return the name under which a checkpoint keeps the steps that a member replays."""
    return f"replay-{member}"


class SplitCut(NamedTuple):
    """A checkpoint state for other partitions.

    workers   the state that the worker of each partition loads
    batchers  the state that each member's batcher loads
    """

    workers: list[JsonState]
    batchers: dict[str, JsonState]


def split_cut(
    checkpoint: Checkpoint, slabs: Sequence[Slab], shares: Sequence[Partition]
) -> SplitCut:
    """Spread a checkpoint over partitions of these slabs, and fill the slabs.

    Slots that wait for their batch are dropped where there is no room for them, and their rows are
    counted as "no room". Raises: EngineError when there is no room for the open games either,
    CheckpointError when the game changed since.
    """
    trainees = checkpoint.state["trainees"]
    queues = {member: batcher["queue"] for member, batcher in trainees.items()}
    split = split_worker(checkpoint.state["worker"], queues, shares)
    saved = [checkpoint.tensors[f"slab-{role}"] for role in range(len(slabs))]
    for slab, tensors, places in zip(slabs, saved, split.places, strict=True):
        load_slab(slab, tensors, places)
    batchers = {}
    for member, batcher in trainees.items():
        dropped = Counter[str](batcher["dropped"])
        if lost := split.lost.get(member):
            dropped["no room"] += count_valid(saved[queues[member][0][0]], lost)
        batchers[member] = {"queue": split.queues[member], "dropped": dict(dropped)}
    return SplitCut(split.workers, batchers)


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
