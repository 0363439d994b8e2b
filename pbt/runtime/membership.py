"""Members join or leave a population in its checkpoint; the run then resumes from the result.

Places in the policy table belong to names, so open games, part-filled slots and waiting batches of
the other members stay valid. Games in which a member that left sits are voided at the resume
(`pbt.checkpoint.workers`).
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from msgspec.structs import replace
from torch import Tensor

from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.state import learner_part, replay_part
from pbt.checkpoint.workers import count_valid
from pbt.errors import EngineError
from pbt.models.weights import MODEL_PREFIX, policy_tensors
from pbt.population.interfaces import SnapshotStore
from pbt.population.members import Member
from pbt.records import SnapshotRecord
from pbt.runtime.assembly import new_learner
from pbt.runtime.blueprint import Blueprint, MemberPlace
from pbt.saved import SavedEntrant, SavedFiller, SavedPool, SavedQueue, SavedWorker

K = TypeVar("K")
V = TypeVar("V")
LEFT = "left"
"""The reason under which rows are counted that are dropped because their member left."""


class Newcomer(NamedTuple):
    """A member that joins.

    place        in the blueprint of the population that it joins
    hyperparams  flat
    learner      the learner's whole state, clocks at 0
    origin       the snapshot that its weights come from, None for weights of its own
    """

    place: MemberPlace
    hyperparams: dict[str, float]
    learner: Mapping[str, Tensor]
    origin: str | None


def members_of(cut: Checkpoint) -> dict[str, Member]:
    """Return the members of a checkpoint, in order."""
    return {saved.name: Member.load(saved) for saved in cut.state.controller.members}


def freeze(cut: Checkpoint, name: str, store: SnapshotStore, *, whole: bool) -> SnapshotRecord:
    """Store a member as it stands in a checkpoint.

    whole: with the optimiser's moments, for another member to copy; else its policy alone, as the
    last snapshot that others meet. Raises: SnapshotError when the disk refuses.
    """
    member, state = members_of(cut)[name], cut.tensors[learner_part(name)]
    version, frames = (int(number) for number in state["clocks"][:2])
    tensors, reason = (state, "round") if whole else (policy_tensors(state), "final")
    return member.freeze(store, reason, tensors, frames=frames, version=version)


def beginner(
    blueprint: Blueprint, name: str, weights: Mapping[str, Tensor] | None, origin: str | None
) -> Newcomer:
    """Return a member at frame 0 of its clock, with the hyperparameters of its configuration.

    weights  a learner's state, or a model as a snapshot holds it (the optimiser's moments then
             begin anew); None for weights of its own
    origin   the snapshot that the weights come from, None for weights of its own

    Raises: SnapshotError when the weights do not fit.
    """
    place = next(member for member in blueprint.members if member.name == name)
    learner = new_learner(blueprint, place)
    if weights is not None:
        state = dict(weights)
        if all(key.startswith(MODEL_PREFIX) for key in weights):
            state |= {
                key: tensor
                for key, tensor in learner.tensors().items()
                if not key.startswith(MODEL_PREFIX)
            }
        learner.copy_from(state)
        learner.algorithm.explore(learner.model, learner.hyperparams.values, 0)
    return Newcomer(place, learner.hyperparams.flat(), learner.state(), origin)


def joined(cut: Checkpoint, newcomer: Newcomer, role: str) -> Checkpoint:
    """Return a checkpoint with one member more. role: the name of the newcomer's role.

    Raises: EngineError when the checkpoint has a member of that name.
    """
    name = newcomer.place.name
    if name in members_of(cut):
        raise EngineError(f"{name} is a member already")
    member = Member(
        name, role, newcomer.place.policy, newcomer.hyperparams, newest_snapshot=newcomer.origin
    )
    state, roster = cut.state, cut.state.planner.roster
    entrants = {**roster.entrants, name: SavedEntrant(member.generation, True)}
    state = replace(
        state,
        controller=replace(state.controller, members=[*state.controller.members, member.state()]),
        planner=replace(state.planner, roster=replace(roster, entrants=entrants)),
        queues={**state.queues, name: SavedQueue([], {})},
    )
    return Checkpoint(
        cut.number, state, {**cut.tensors, learner_part(name): dict(newcomer.learner)}
    )


def without(cut: Checkpoint, name: str) -> Checkpoint:
    """Return a checkpoint without a member, its learner and its rows.

    The scores of the others against it stay. Raises: EngineError when there is no such member.
    """
    members = members_of(cut)
    if name not in members:
        raise EngineError(f"{name} is no member; there are {', '.join(members)}")
    state, roster = cut.state, cut.state.planner.roster
    stay = [saved for saved in state.controller.members if saved.name != name]
    state = replace(
        state,
        controller=replace(state.controller, members=stay),
        planner=replace(
            state.planner, roster=replace(roster, entrants=_other(roster.entrants, name))
        ),
        queues=_other(state.queues, name),
        worker=_freed(cut, name, members[name].policy),
    )
    tensors = _other(_other(cut.tensors, learner_part(name)), replay_part(name))
    return Checkpoint(cut.number, state, tensors)


def _freed(cut: Checkpoint, name: str, policy: int) -> SavedWorker:
    """Return the workers' state with no slot kept for a policy.

    Its PARKED slots and those that wait for its next batch become FREE, and their rows count as
    dropped.
    """
    left, worker = cut.state.queues[name], cut.state.worker
    fillers = []
    for role, filler in enumerate(worker.fillers):
        parked = [slot for slot, _ in filler.pool.parked.get(policy, ())]
        freed = parked + [full.slot for full in left.queue if full.role == role]
        dropped = Counter(filler.dropped)
        dropped[LEFT] += count_valid(cut.tensors[f"slab-{role}"], freed)
        # The counts of the member's own batcher leave with it, so they are kept here.
        dropped.update(left.dropped if role == 0 else {})
        pool = SavedPool([*filler.pool.free, *freed], _other(filler.pool.parked, policy))
        counted = {reason: count for reason, count in dropped.items() if count}
        fillers.append(SavedFiller(pool, filler.produced, counted))
    return replace(worker, fillers=fillers)


def _other(entries: Mapping[K, V], key: K) -> dict[K, V]:
    return {other: entry for other, entry in entries.items() if other != key}
