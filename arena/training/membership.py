"""Who comes and who goes when a population starts again: from a config and its edits to a
changed cut, and word of it to league and opponents.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.training.sink import TrainingSink
from pbt.checkpoint.cut import learner_part
from pbt.checkpoint.files import Checkpoint
from pbt.config.population import Joined, MemberOverride
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import ConfigError
from pbt.population.controller import Controller
from pbt.population.ports import SnapshotStore
from pbt.records import Event, SnapshotRecord
from pbt.runtime.blueprint import Blueprint, blueprint_of
from pbt.runtime.membership import Newcomer, beginner, freeze, joined, members_of, without


@dataclass(frozen=True)
class Arrival:
    """donor: the member whose weights and hyperparameters it has, None without one;  text: how
    it came
    """

    name: str
    donor: str | None
    text: str


@dataclass(frozen=True)
class Membership:
    """What changed, to be told once the changed population is restored.

    arrivals    in order;  donors: frozen as they were copied
    departures  the last snapshots of those who left
    """

    arrivals: tuple[Arrival, ...] = ()
    donors: tuple[SnapshotRecord, ...] = ()
    departures: tuple[SnapshotRecord, ...] = ()

    def tell(self, controller: Controller, sink: TrainingSink) -> None:
        """Behind `Engine.restore`, before `Engine.run`."""
        known = {record.snapshot_id for record in sink.snapshots}
        for record in self.departures:
            if record.snapshot_id not in known:
                controller.add_opponent(record)
            text = (
                f"left; its last snapshot is {record.snapshot_id[:12]}, its games and ratings stay"
            )
            sink.event(Event("leave", record.member, record.frames, text))
        for record in self.donors:
            sink.snapshot(record)
        for arrival in self.arrivals:
            controller.welcome(arrival.name, arrival.donor, arrival.text)


def newcomers(before: RunConfig, after: RunConfig) -> dict[str, Joined]:
    """Those that join by this edit and do not leave by it."""
    there = {*before.population.joined, *after.population.left}
    return {name: one for name, one in after.population.joined.items() if name not in there}


def settled(before: RunConfig, after: RunConfig, cut: Checkpoint) -> RunConfig:
    """`after`, where who takes a member's weights has its hyperparameters as starting values."""
    members = dict(after.members)
    for name, one in newcomers(before, after).items():
        if one.weights.startswith("m"):
            values = members_of(cut)[_donor(one, name, cut)].typed_hyperparams
            plain = {
                "learning_rate": values.learning_rate,
                "entropy_coef": values.entropy_coef,
                "adam_beta1": values.adam_beta1,
            }
            members[name] = MemberOverride(**plain, shaping=dict(values.shaping))
    return after.model_copy(update={"members": members})


def change_members(
    before: RunConfig, after: RunConfig, spec: EnvSpec, cut: Checkpoint, store: SnapshotStore
) -> tuple[Checkpoint, Membership]:
    """The cut of the changed population. after: settled and resolved.

    Raises: ConfigError for weights that nobody has, SnapshotError for such as do not fit or whose
    file is gone.
    """
    blueprint = blueprint_of(after, spec)
    leaving = [name for name in members_of(cut) if name in after.population.left]
    departures = tuple(freeze(cut, name, store, whole=False) for name in leaving)
    coming = newcomers(before, after)
    taken = sorted(
        {_donor(one, name, cut) for name, one in coming.items() if one.weights.startswith("m")}
    )
    donors = {name: freeze(cut, name, store, whole=True) for name in taken}
    changed = cut
    for name, one in coming.items():
        changed = joined(changed, _newcomer(blueprint, name, one, cut, donors, store), one.role)
    for name in leaving:
        changed = without(changed, name)
    arrivals = tuple(
        Arrival(name, one.weights if one.weights in donors else None, _how(one, donors))
        for name, one in coming.items()
    )
    return changed, Membership(arrivals, tuple(donors.values()), departures)


def _newcomer(
    blueprint: Blueprint,
    name: str,
    one: Joined,
    cut: Checkpoint,
    donors: Mapping[str, SnapshotRecord],
    store: SnapshotStore,
) -> Newcomer:
    if one.weights in donors:
        return beginner(
            blueprint, name, cut.tensors[learner_part(one.weights)], donors[one.weights].snapshot_id
        )
    if one.weights:
        return beginner(blueprint, name, store.load(one.weights), one.weights)
    return beginner(blueprint, name, None, None)


def _donor(one: Joined, name: str, cut: Checkpoint) -> str:
    """Raises: ConfigError unless it is a member of the same role."""
    found = members_of(cut)
    if one.weights not in found or found[one.weights].role != one.role:
        there = ", ".join(other.name for other in found.values() if other.role == one.role)
        raise ConfigError(
            "members",
            [
                (
                    f"population.joined.{name}.weights = {one.weights}: no member that plays "
                    f"{one.role}; there are {there}"
                )
            ],
        )
    return one.weights


def _how(one: Joined, donors: Mapping[str, SnapshotRecord]) -> str:
    if one.weights in donors:
        record = donors[one.weights]
        return (
            f"joined as {one.role} with the weights and values of {one.weights} at "
            f"{record.frames} frames"
        )
    return f"joined as {one.role} with " + (
        f"the weights of snapshot {one.weights[:12]}" if one.weights else "weights of its own"
    )
