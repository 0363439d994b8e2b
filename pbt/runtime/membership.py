"""Members into and out of a stored cut: whoever resumes from the result goes on with another
population, everybody else as they were.

Places in the policy table belong to names, so open games, part-filled slots and waiting batches of
those who stay hold good. Games in which one who leaves sits are voided when they are resumed
(`pbt.checkpoint.workers`).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor

from pbt.checkpoint.cut import learner_part
from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.workers import count_valid
from pbt.errors import EngineError
from pbt.models.weights import MODEL_PREFIX
from pbt.population.members import Member
from pbt.population.ports import SnapshotStore
from pbt.records import SnapshotRecord
from pbt.runtime.assembly import new_learner
from pbt.runtime.blueprint import Blueprint, MemberPlace
from pbt.transport.messages import JsonState

LEFT = "left"
"""Reason of the rows that are dropped because their member left."""


class Newcomer(NamedTuple):
    """learner: its whole state, clocks at 0;  origin: the snapshot that its weights come from,
    None for weights of its own
    """

    place: MemberPlace
    hyperparams: dict[str, float]
    learner: Mapping[str, Tensor]
    origin: str | None


def members_of(cut: Checkpoint) -> dict[str, Member]:
    """In order."""
    return {entry["name"]: Member.load(entry) for entry in cut.state["controller"]["members"]}


def freeze(cut: Checkpoint, name: str, store: SnapshotStore, *, whole: bool) -> SnapshotRecord:
    """Store a member as it stands in the cut. whole: for a copy, with the optimiser's moments; else
    what acts, its last snapshot for others to meet.

    Raises: SnapshotError when the disk refuses.
    """
    member, state = members_of(cut)[name], cut.tensors[learner_part(name)]
    version, frames = (int(number) for number in state["clocks"][:2])
    tensors = (
        state
        if whole
        else {key: tensor for key, tensor in state.items() if key.startswith(MODEL_PREFIX)}
    )
    snapshot_id, size_bytes = store.put(tensors, member.snapshot_metadata(frames, version))
    reason = "round" if whole else "final"
    return SnapshotRecord(
        snapshot_id,
        name,
        member.role,
        member.generation,
        version,
        frames,
        reason,
        member.newest_snapshot,
        size_bytes,
    )


def beginner(
    blueprint: Blueprint, name: str, weights: Mapping[str, Tensor] | None, origin: str | None
) -> Newcomer:
    """A member at frame 0 of its clock, with the hyperparameters of its config.

    weights: a learner's state, or a model's as a snapshot holds it (the optimiser's moments then
    begin anew); None: weights of its own. Raises: SnapshotError when they do not fit.
    """
    place = next(member for member in blueprint.members if member.name == name)
    learner = new_learner(blueprint, place)
    if weights is not None:
        whole = any(not key.startswith(MODEL_PREFIX) for key in weights)
        rest = (
            {}
            if whole
            else {
                key: tensor
                for key, tensor in learner.tensors().items()
                if not key.startswith(MODEL_PREFIX)
            }
        )
        learner.copy_from({**rest, **weights})
    return Newcomer(place, learner.hyperparams.flat(), learner.state(), origin)


def joined(cut: Checkpoint, newcomer: Newcomer, role: str) -> Checkpoint:
    """role: the name of its role. Raises: EngineError when there is such a member."""
    name = newcomer.place.name
    if name in members_of(cut):
        raise EngineError(f"{name} is a member already")
    member = Member(
        name, role, newcomer.place.policy, newcomer.hyperparams, newest_snapshot=newcomer.origin
    )
    controller, planner = cut.state["controller"], cut.state["planner"]
    state = {
        **cut.state,
        "controller": {**controller, "members": [*controller["members"], member.state()]},
        "planner": {
            **planner,
            "entrants": {**planner["entrants"], name: [member.generation, True]},
        },
        "trainees": {**cut.state["trainees"], name: {"queue": [], "dropped": {}}},
    }
    return Checkpoint(
        cut.number, state, {**cut.tensors, learner_part(name): dict(newcomer.learner)}
    )


def without(cut: Checkpoint, name: str) -> Checkpoint:
    """Its learner goes, and what stands of its rows; scores of the others against it stay.
    Raises: EngineError when there is no such member.
    """
    found = members_of(cut)
    if name not in found:
        raise EngineError(f"{name} is no member; there are {', '.join(found)}")
    controller, planner = cut.state["controller"], cut.state["planner"]
    state = {
        **cut.state,
        "controller": {
            **controller,
            "members": [entry for entry in controller["members"] if entry["name"] != name],
        },
        "planner": {**planner, "entrants": _other(planner["entrants"], name)},
        "trainees": _other(cut.state["trainees"], name),
        "worker": _freed(cut, name, found[name].policy),
    }
    return Checkpoint(cut.number, state, _other(cut.tensors, learner_part(name)))


def _freed(cut: Checkpoint, name: str, policy: int) -> JsonState:
    """The workers' state, where no slot is kept for the policy: those PARKED and those that wait
    for its next batch are FREE, their rows dropped.
    """
    batcher, worker = cut.state["trainees"][name], cut.state["worker"]
    fillers = []
    for role, filler in enumerate(worker["fillers"]):
        parked: list[list[int]] = filler["pool"]["parked"].get(str(policy), [])
        waiting = [full[-1] for full in batcher["queue"] if full[0] == role]
        freed = [slot for slot, _ in parked] + waiting
        dropped = Counter[str](filler["dropped"])
        dropped[LEFT] += _rows(cut.tensors[f"slab-{role}"], parked) + count_valid(
            cut.tensors[f"slab-{role}"], waiting
        )
        # What its own batcher had dropped would be forgotten with it.
        dropped.update(batcher["dropped"] if role == 0 else {})
        pool = {
            "free": [*filler["pool"]["free"], *freed],
            "parked": _other(filler["pool"]["parked"], str(policy)),
        }
        fillers.append(
            {
                **filler,
                "pool": pool,
                "dropped": {reason: count for reason, count in dropped.items() if count},
            }
        )
    return {**worker, "fillers": fillers}


def _rows(slab: Mapping[str, Tensor], parked: list[list[int]]) -> int:
    """Valid rows of PARKED slots, each up to its row."""
    places = {int(slot): index for index, slot in enumerate(slab["slots"].tolist())}
    return sum(int(slab["valid"][places[slot], :row].sum()) for slot, row in parked)


def _other(entries: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: entry for key, entry in entries.items() if key != name}
