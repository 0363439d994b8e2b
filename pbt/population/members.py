"""One member of the population as the controller keeps it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

from msgspec import structs
from torch import Tensor

from pbt.config.schema import RunConfig
from pbt.hyperparams import scheduled_hyperparams, shaping_terms
from pbt.learning.statistics import UpdateStats
from pbt.population.interfaces import SnapshotStore
from pbt.records import Directive, SnapshotRecord
from pbt.saved import SavedMember

NOT_FINITE = "because its loss or its gradient was not finite"


@dataclass
class Member:
    """One policy that learns, with its place in PBT.

    role             name of the role whose seats it plays
    policy           its index in the policy table
    hyperparams      the values in force, flat
    generation       raised by every copy
    round            rounds decided so far
    newest_snapshot  id of its newest playable snapshot, or of the one it copied or began with since
    finished         it reached its stop
    copies           how often it copied another member
    last_event       the newest PBT event in words, for people
    failed           its learner is lost until the run is resumed
    failure          why it failed, in words; "" while it has not
    updates          optimiser steps that its learner took
    refused_updates  optimiser steps that its learner refused, since a loss or a gradient was not
                     finite
    """

    name: str
    role: str
    policy: int
    hyperparams: dict[str, float]
    generation: int = 0
    round: int = 0
    newest_snapshot: str | None = None
    finished: bool = False
    copies: int = 0
    last_event: str = ""
    failed: bool = False
    failure: str = ""
    updates: int = 0
    refused_updates: int = 0

    @property
    def learning(self) -> bool:
        return not self.refused

    @property
    def refused(self) -> str:
        """The reason why its rows are not trained on, empty while they are."""
        return "failed" if self.failed else "finished" if self.finished else ""

    def scheduled(self, config: RunConfig, frames: int) -> Directive | None:
        """Return the directive that puts the values of its schedule in force.

        None where it has no schedule or the values are in force already. frames: of its clock
        """
        override = config.members.get(self.name)
        if override is None or not override.schedule:
            return None
        terms = tuple(shaping_terms(self.hyperparams))
        target = scheduled_hyperparams(config, self.name, terms, frames).flat()
        changed = tuple(name for name, value in target.items() if value != self.hyperparams[name])
        return Directive(self.name, self.round, None, None, target, changed) if changed else None

    def count(self, stats: UpdateStats) -> str | None:
        """Count the steps of an update. Returns a warning when the first of all is refused."""
        first = stats.skipped_steps and not self.refused_updates
        self.updates += stats.taken_steps
        self.refused_updates += stats.skipped_steps
        return f"{self.name}: an update was refused, {NOT_FINITE}" if first else None

    def freeze(
        self,
        store: SnapshotStore,
        reason: str,
        tensors: Mapping[str, Tensor],
        *,
        frames: int,
        version: int,
    ) -> SnapshotRecord:
        """Store its weights; the record says what they are.

        frames, version: its learner's clocks when it had these tensors. Raises: SnapshotError when
        the disk refuses.
        """
        metadata = {
            "member": self.name,
            "role": self.role,
            "frames": str(frames),
            "version": str(version),
            "generation": str(self.generation),
        }
        snapshot_id, size_bytes = store.put(tensors, metadata)
        clocks = (self.generation, version, frames)
        return SnapshotRecord(
            snapshot_id, self.name, self.role, *clocks, reason, self.newest_snapshot, size_bytes
        )

    def state(self) -> SavedMember:
        return SavedMember(**asdict(self))

    @classmethod
    def load(cls, state: SavedMember) -> Self:
        """Read what `state` returned."""
        return cls(**structs.asdict(state) | {"hyperparams": dict(state.hyperparams)})
