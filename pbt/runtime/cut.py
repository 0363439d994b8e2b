"""One cut of a whole population: everything needed to go on as if nothing had happened.

A cut has one form, that of a population in one process, whatever the placement it was taken in: worker and planner states are merged, and slots
keep their numbers. Whoever resumes splits it over shares of its own, in which slots get new numbers.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from pbt.checkpoints import Checkpoint
from pbt.config.schema import RunConfig
from pbt.population.controller import Controller
from pbt.runtime.assembly import Population
from pbt.sampling.saving import count_valid, load_slab, load_worker, save_slab, save_worker
from pbt.sampling.slots import Share
from pbt.sampling.splitting import merge_workers, split_worker
from pbt.transport.messages import JsonState
from pbt.transport.slab import Slab


def cut_state(
    config: RunConfig, engine: JsonState, controller: Controller, planner: JsonState, worker: JsonState, batchers: Mapping[str, JsonState]
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


def cut_tensors(learners: Mapping[str, Mapping[str, Tensor]], slabs: Sequence[Slab], worker: JsonState) -> dict[str, dict[str, Tensor]]:
    """The other part. learners: each member's whole state;  worker: merged; what it calls free is left out."""
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


def split_cut(checkpoint: Checkpoint, slabs: Sequence[Slab], shares: Sequence[Share]) -> SplitCut:
    """Spread a cut over shares of these slabs, which are filled. What waits for its batch and finds no room is dropped, and counted as "no room".

    Raises: EngineError when there is no room for the open games either, CheckpointError when the game changed since.
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


# --- a population in one process -------------------------------------------------------------------------------------------------------------


class InOneProcess(Protocol):
    """The engine around such a population. state, load: of its own counts."""

    population: Population

    def state(self) -> JsonState: ...

    def load(self, state: JsonState) -> None: ...


def take_cut(engine: InOneProcess, number: int) -> Checkpoint:
    """The state between two turns of the crank."""
    population = engine.population
    worker = merge_workers([save_worker(population.worker)])
    batchers = {trainee.name: trainee.batcher.state() for trainee in population.trainees}
    learners = {trainee.name: trainee.learner.state() for trainee in population.trainees}
    state = cut_state(population.config, engine.state(), population.controller, population.planner.state(), worker, batchers)
    return Checkpoint(number, state, cut_tensors(learners, population.slabs, worker))


def restore_cut(engine: InOneProcess, checkpoint: Checkpoint) -> int:
    """Put a freshly assembled population into a saved state. Returns how many open games could not be replayed and were voided."""
    population, state = engine.population, checkpoint.state
    split = split_cut(checkpoint, population.slabs, [population.worker.share])
    population.planner.load(state["planner"])
    voided = load_worker(population.worker, split.workers[0], population.planner, replayable=population.spec.replayable)
    for trainee in population.trainees:
        trainee.learner.load_state(checkpoint.tensors[learner_part(trainee.name)])
        trainee.batcher.load(split.batchers[trainee.name])
        trainee.publish()
    population.controller.load(state["controller"])
    for trainee in population.trainees:
        trainee.learner.set_hyperparams(population.controller.members[trainee.name].typed_hyperparams)
    engine.load(state["engine"])
    return voided


def weights_digest(population: Population) -> str:
    """As `digest_of`, of every member's present weights."""
    return digest_of(trainee.learner.model.state_dict() for trainee in population.trainees)


def digest_of(models: Iterable[Mapping[str, Tensor]]) -> str:
    """SHA-256 over every member's weights, in order: equal runs have equal digests. Names are those of the model, without a prefix."""
    digest = hashlib.sha256()
    for model in models:
        for name, tensor in sorted(model.items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
