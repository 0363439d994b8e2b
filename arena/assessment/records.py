"""What an assessment is made from: plain records of a population's history."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arena.assessment.answer import AnchorScore, BestPlayer, PbtAction, StrengthUnit
from arena.stats.changes import LevelChanges, level_changes


@dataclass(frozen=True, slots=True)
class RatedSnapshot:
    """The strength of one snapshot.

    member  that made it
    frames  the member's clock when it was made
    player  its label
    value   strength, in the unit of the history
    low     lower end of the 95 % interval; None where games give none
    high    upper end of the 95 % interval; None where games give none
    games   number of games that count
    scores  against players that do not learn, `random` first
    """

    member: str
    frames: int
    player: str
    value: float
    low: float | None
    high: float | None
    games: int
    scores: tuple[AnchorScore, ...] = ()


@dataclass(frozen=True, eq=False)
class RoleHistory:
    """The strengths of the snapshots of one role.

    role        its name
    snapshots   [k] those that are rated, in any order
    covariance  [k, k] of their values
    best        the best of them; None before one has enough games
    anchors     scores of the best against players that do not learn
    among       number of roles, whose intervals hold together
    """

    role: str
    snapshots: tuple[RatedSnapshot, ...]
    covariance: NDArray[np.float64]
    best: BestPlayer | None
    anchors: tuple[AnchorScore, ...] = ()
    among: int = 1

    @cached_property
    def changes(self) -> LevelChanges | None:
        """How strength changed; None where no member was rated in two stretches."""
        return level_changes(
            [one.member for one in self.snapshots],
            [one.frames for one in self.snapshots],
            np.array([one.value for one in self.snapshots]),
            self.covariance,
            among=self.among,
        )


@dataclass(frozen=True, slots=True, eq=False)
class StrengthHistory:
    """The strengths of a population over its training.

    unit      of all values
    small     a change of strength below this does not matter, in the unit
    anchored  whether `random` is rated, so that it stands at 0
    games     number of evaluation games that count
    roles     by role, in the order of the members
    """

    unit: StrengthUnit
    small: float
    anchored: bool
    games: int
    roles: tuple[RoleHistory, ...]


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """What is known of one member beside strength.

    member          its name
    role            that it plays
    state           as in `arena.assessment.answer.MemberAssessment`
    frames          its clock
    updates         optimiser steps that were taken
    refused         optimiser steps that were refused
    failure         why it failed; "" while it has not
    first_entropy   entropy of its policy when training began, in nats; None where not known
    entropy         entropy of its policy now; None where not known
    frames_per_s    its speed over the newest minutes; None where not known
    last_pbt        the newest action of PBT; None before one
    """

    member: str
    role: str
    state: str
    frames: int
    updates: int = 0
    refused: int = 0
    failure: str = ""
    first_entropy: float | None = None
    entropy: float | None = None
    frames_per_s: float | None = None
    last_pbt: PbtAction | None = None


@dataclass(frozen=True, slots=True)
class PopulationHistory:
    """All that an assessment is made from.

    population   its name
    game         that it plays
    state        what it does, in a word, such as "running" or "finished"
    failure      why its training failed; "" while it has not
    faults       what is wrong with the training as a whole, one sentence each
    warnings     what a reader should know, one sentence each
    goal_frames  at which a member stops; None where that is not known
    copies       how often a member took over the weights of another
    mutations    how often hyperparameters were mutated
    members      in order
    strengths    from evaluation games; None where they cannot be read now
    """

    population: str
    game: str
    state: str
    failure: str
    faults: tuple[str, ...]
    warnings: tuple[str, ...]
    goal_frames: int | None
    copies: int
    mutations: int
    members: tuple[MemberFacts, ...]
    strengths: StrengthHistory | None
