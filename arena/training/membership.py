"""Changes the members of a population when it starts again.

An edited config makes a changed checkpoint; league and opponents are told once it is restored.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.data.edit_effects import EditStanding
from arena.training.sink import TrainingSink
from pbt.checkpoint.files import Checkpoint
from pbt.checkpoint.state import learner_part
from pbt.config.population import Joined, MemberOverride
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import ConfigError
from pbt.hyperparams import Hyperparams
from pbt.population.controller import Controller
from pbt.population.interfaces import SnapshotStore
from pbt.records import Event, SnapshotRecord
from pbt.runtime.blueprint import Blueprint, blueprint_of
from pbt.runtime.membership import Newcomer, beginner, freeze, joined, members_of, without


@dataclass(frozen=True)
class Arrival:
    """A member that joins.

    name   of the member
    donor  the member whose weights and hyperparameters it has; None without one
    text   how it joined, for the events
    """

    name: str
    donor: str | None
    text: str


@dataclass(frozen=True)
class Membership:
    """The changed members, to be told to league and opponents once the population is restored.

    arrivals    the members that join, in order
    donors      snapshots of the members whose weights were copied
    departures  the last snapshots of the members that left
    """

    arrivals: tuple[Arrival, ...] = ()
    donors: tuple[SnapshotRecord, ...] = ()
    departures: tuple[SnapshotRecord, ...] = ()

    def tell(self, controller: Controller, sink: TrainingSink) -> None:
        """Tell league and opponents; called after `Engine.restore` and before `Engine.run`."""
        known_ids = {record.snapshot_id for record in sink.snapshots}
        for record in self.departures:
            if record.snapshot_id not in known_ids:
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
    """Name -> entry of the members that join by this edit and do not leave by it."""
    known = {*before.population.joined, *after.population.left}
    return {name: entry for name, entry in after.population.joined.items() if name not in known}


def standing_at(checkpoint: Checkpoint | None, after: RunConfig) -> EditStanding:
    """How a population stands in its newest checkpoint. after: its config with the edits."""
    if checkpoint is None:
        return EditStanding("stopped")
    there = members_of(checkpoint)
    clocks = {
        name: int(checkpoint.tensors[learner_part(name)]["clocks"][1])
        for name, member in there.items()
        if not member.failed
    }
    roles = {name: member.role for name, member in there.items()}
    roles |= {name: one.role for name, one in after.population.joined.items()}
    roles = {
        name: role
        for name, role in roles.items()
        if name in there or name not in after.population.left
    }
    learning = [name for name in roles if name not in there or there[name].learning]
    values = {name: member.hyperparams for name, member in there.items()}
    return EditStanding("stopped", clocks, learning, roles, values)


def settled(before: RunConfig, after: RunConfig, checkpoint: Checkpoint) -> RunConfig:
    """`after`, with the hyperparameters of new members that take another member's weights.

    They start with that member's hyperparameters, and learn by its algorithm.
    """
    members = dict(after.members)
    for name, entry in newcomers(before, after).items():
        if entry.weights.startswith("m"):
            donor = members_of(checkpoint)[_donor(entry, name, checkpoint)]
            own = before.members.get(donor.name)
            algorithm = None if own is None else own.algorithm
            values = Hyperparams.from_flat(donor.hyperparams).in_section()
            members[name] = MemberOverride(algorithm=algorithm, **values)
    return after.model_copy(update={"members": members})


def change_members(
    before: RunConfig, after: RunConfig, spec: EnvSpec, checkpoint: Checkpoint, store: SnapshotStore
) -> tuple[Checkpoint, Membership]:
    """The checkpoint of the changed population, and what changed. after: settled and resolved.

    Raises: ConfigError for weights of a member that does not exist, SnapshotError for weights that
    do not fit or whose file is gone.
    """
    blueprint = blueprint_of(after, spec)
    leaving = [name for name in members_of(checkpoint) if name in after.population.left]
    departures = tuple(freeze(checkpoint, name, store, whole=False) for name in leaving)
    joining = newcomers(before, after)
    donor_names = sorted(
        {
            _donor(entry, name, checkpoint)
            for name, entry in joining.items()
            if entry.weights.startswith("m")
        }
    )
    donors = {name: freeze(checkpoint, name, store, whole=True) for name in donor_names}
    changed = checkpoint
    for name, entry in joining.items():
        changed = joined(
            changed, _newcomer(blueprint, name, entry, checkpoint, donors, store), entry.role
        )
    for name in leaving:
        changed = without(changed, name)
    arrivals = tuple(
        Arrival(name, entry.weights if entry.weights in donors else None, _how(entry, donors))
        for name, entry in joining.items()
    )
    return changed, Membership(arrivals, tuple(donors.values()), departures)


def _newcomer(
    blueprint: Blueprint,
    name: str,
    entry: Joined,
    checkpoint: Checkpoint,
    donors: Mapping[str, SnapshotRecord],
    store: SnapshotStore,
) -> Newcomer:
    if entry.weights in donors:
        return beginner(
            blueprint,
            name,
            checkpoint.tensors[learner_part(entry.weights)],
            donors[entry.weights].snapshot_id,
        )
    if entry.weights:
        return beginner(blueprint, name, store.load(entry.weights), entry.weights)
    return beginner(blueprint, name, None, None)


def _donor(entry: Joined, name: str, checkpoint: Checkpoint) -> str:
    """The member whose weights a new one takes. Raises: ConfigError unless it has the same role."""
    members = members_of(checkpoint)
    if entry.weights not in members or members[entry.weights].role != entry.role:
        candidates = ", ".join(other.name for other in members.values() if other.role == entry.role)
        raise ConfigError(
            "members",
            [
                f"population.joined.{name}.weights = {entry.weights}: no member that plays "
                f"{entry.role}; there are {candidates}"
            ],
        )
    return entry.weights


def _how(entry: Joined, donors: Mapping[str, SnapshotRecord]) -> str:
    if entry.weights in donors:
        record = donors[entry.weights]
        return (
            f"joined as {entry.role} with the weights and values of {entry.weights} at "
            f"{record.frames} frames"
        )
    return f"joined as {entry.role} with " + (
        f"the weights of snapshot {entry.weights[:12]}" if entry.weights else "weights of its own"
    )
