"""One cut of a whole population: everything needed to go on as if nothing had happened.

A cut has one form, that of a population in one process, whatever the placement it was taken in:
worker and planner states are merged, and slots keep their numbers. Whoever resumes splits it over
shares of its own, in which slots get new numbers.
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
    """The part that is JSON. planner, worker: of the whole run, merged;  batchers: by member."""
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
    """The other part. learners: each member's whole state;  worker: merged; what it calls free
    is left out.
    """
    tensors = {learner_part(name): dict(state) for name, state in learners.items()}
    for role, (slab, filler) in enumerate(zip(slabs, worker["fillers"], strict=True)):
        tensors[f"slab-{role}"] = save_slab(slab, set(filler["pool"]["free"]))
    return tensors


def learner_part(member: str) -> str:
    """Where a checkpoint keeps a member's learner."""
    return f"learner-{member}"


class SplitCut(NamedTuple):
    """What each share's worker is to load, and each member's batcher."""

    workers: list[JsonState]
    batchers: dict[str, JsonState]


def split_cut(
    checkpoint: Checkpoint, slabs: Sequence[Slab], shares: Sequence[Partition]
) -> SplitCut:
    """Spread a cut over shares of these slabs, which are filled. What waits for its batch and finds
    no room is dropped, and counted as "no room".

    Raises: EngineError when there is no room for the open games either, CheckpointError when the
    game changed since.
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


# --- a population in one process ------------------------------------------------------------------


def digest_of(models: Iterable[Mapping[str, Tensor]]) -> str:
    """SHA-256 over every member's weights, in order: equal runs have equal digests. Names are
    those of the model, without a prefix.
    """
    digest = hashlib.sha256()
    for model in models:
        for name, tensor in sorted(model.items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
