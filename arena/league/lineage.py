"""The lineage of weights: the chain of copies behind a policy, with the hyperparameters along it.

Frames are counted along the chain: they are the frames for which these weights were trained, by any
member. A copy continues at the frames of its donor's weights, so one member that trains for this
many frames with these hyperparameters repeats the policy's training. The functions are pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pbt.errors import EngineError
from pbt.records import Directive

Values = Mapping[str, float]
Kind = Literal["start", "join", "copy", "mutate", "edit", "schedule"]


@dataclass(frozen=True, slots=True)
class Weights:
    """A member's weights at one moment.

    member      the member
    frames      its clock
    generation  how many copies it had taken
    created_at  seconds since the epoch
    snapshot    id of the snapshot, None while the member learns
    """

    member: str
    frames: int
    generation: int
    created_at: float
    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class RoundDecision:
    """The decision of a PBT round, without the inputs it was computed from.

    directive   what the member was to do
    frames      the member's clock
    verdict     the reasons, in words
    created_at  seconds since the epoch
    """

    directive: Directive
    frames: int
    verdict: str
    created_at: float


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit by a person, which set hyperparameters of every member.

    frames      on the clock of the member with most frames
    created_at  seconds since the epoch
    values      hyperparameter -> its new value
    """

    frames: int
    created_at: float
    values: Values


@dataclass(frozen=True, slots=True)
class Origin:
    """How a member that joined later began.

    donor       the weights it began with, None for new ones
    created_at  when it joined, in seconds since the epoch
    """

    donor: Weights | None
    created_at: float


@dataclass(frozen=True, slots=True)
class FirstWeights:
    """Weights of another population, or an import, that a member of a new population began with.

    player     what they were called then: "first/m2@1.2M"
    snapshot   their id
    optimizer  whether the optimiser's moments came along
    """

    player: str
    snapshot: str
    optimizer: bool


@dataclass(frozen=True, slots=True)
class Histories:
    """The history of a population: rounds and snapshots that are not superseded, and edits.

    rounds     member -> decisions of its rounds, in order
    snapshots  id -> weights
    edits      in order
    initial    member -> hyperparameters it began with, flat
    schedules  member -> (frames, hyperparameters) that its config sets later, flat
    origins    member -> how it began, for members that joined later
    began      member -> the weights that it began with, for first members that had none of their
               own
    """

    rounds: Mapping[str, Sequence[RoundDecision]]
    snapshots: Mapping[str, Weights]
    edits: Sequence[Edit]
    initial: Mapping[str, Values]
    schedules: Mapping[str, Sequence[tuple[int, Values]]]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    began: Mapping[str, FirstWeights] = field(default_factory=dict)

    def copies(self, member: str) -> list[RoundDecision]:
        return [
            decision
            for decision in self.rounds.get(member, ())
            if decision.directive.copy_from is not None
        ]


@dataclass(frozen=True, slots=True)
class LineageStep:
    """One step of a lineage.

    frames         where it happened, counted along the chain
    member         the member that trained from here on
    member_frames  the member's own clock; for an edit about where it stood
    kind           what happened
    hyperparams    in force from here on, flat
    changed        names of those that differ from the step before
    round          the PBT round that decided it, None for other steps
    verdict        the round's reasons, "" for other steps
    donor          the weights that were copied, or that the member joined with; else None
    began          the weights of another population that the member started with; else None. Their
                   frames are not counted
    """

    frames: int
    member: str
    member_frames: int
    kind: Kind
    hyperparams: Values
    changed: tuple[str, ...] = ()
    round: int | None = None
    verdict: str = ""
    donor: Weights | None = None
    began: FirstWeights | None = None


@dataclass(frozen=True, slots=True)
class Lineage:
    """The lineage of weights.

    steps   oldest first
    frames  length of the whole chain
    """

    steps: tuple[LineageStep, ...]
    frames: int


def trace(histories: Histories, weights: Weights) -> Lineage:
    """The lineage of weights. Raises: EngineError when rounds and snapshots do not fit together."""
    steps: list[LineageStep] = []
    length = 0
    for copied, end in _stretches(histories, weights):
        stretch = _Stretch(histories, copied, end, length, steps[-1].hyperparams if steps else {})
        steps += stretch.steps
        length += end.frames - stretch.first_frames
    return Lineage(tuple(steps), length)


def _stretches(
    histories: Histories, weights: Weights
) -> list[tuple[RoundDecision | None, Weights]]:
    """The stretches of a chain, oldest first: the training of one member from a copy to the next.

    A stretch is (the round that copied, the weights at its end). The round is None for a member's
    first stretch; the stretches of the member's donor, if it had one, stand before it.
    """
    newest_first: list[tuple[RoundDecision | None, Weights]] = []
    while weights.generation > 0 or _began_with(histories, weights.member) is not None:
        if weights.generation == 0:
            newest_first.append((None, weights))
            weights = _began_with(histories, weights.member) or weights
            continue
        copies = histories.copies(weights.member)
        if weights.generation > len(copies):
            raise EngineError(
                f"{weights.member} at {weights.frames} frames is of generation "
                f"{weights.generation}; its rounds tell of {len(copies)} copies: the league is "
                "not whole"
            )
        copied = copies[weights.generation - 1]
        newest_first.append((copied, weights))
        weights = _donor(histories, copied)
    return [*reversed([*newest_first, (None, weights)])]


def _began_with(histories: Histories, member: str) -> Weights | None:
    return histories.origins[member].donor if member in histories.origins else None


def _donor(histories: Histories, copied: RoundDecision) -> Weights:
    snapshot = copied.directive.copy_snapshot or ""
    if snapshot not in histories.snapshots:
        raise EngineError(
            f"round {copied.directive.round} of {copied.directive.member} copied snapshot "
            f"{snapshot}, which has no row in the league"
        )
    return histories.snapshots[snapshot]


class _Stretch:
    """The steps of one stretch of a chain.

    copied  the round that copied, None for a member's first stretch
    end     the weights at its end
    length  frames of the chain before it
    values  hyperparameters in force there
    """

    def __init__(
        self,
        histories: Histories,
        copied: RoundDecision | None,
        end: Weights,
        length: int,
        values: Values,
    ) -> None:
        self.steps: list[LineageStep] = []
        self.first_frames = 0 if copied is None else copied.frames
        self._histories, self._member, self._last_frames, self._length, self._values = (
            histories,
            end.member,
            end.frames,
            length,
            values,
        )
        origin = histories.origins.get(end.member)
        if copied is None:
            values_then = histories.initial[end.member]
            self._add(0, "start" if origin is None else "join", values_then)
        else:
            self._add(self.first_frames, "copy", copied.directive.hyperparams, copied)
        for frames, scheduled in histories.schedules.get(end.member, ()):
            if self.first_frames < frames < end.frames:
                self._add(frames, "schedule", scheduled)
        joined_at = -1.0 if origin is None else origin.created_at
        since = joined_at if copied is None else copied.created_at
        edits = [edit for edit in histories.edits if since < edit.created_at < end.created_at]
        # A decision at the frame at which the weights were taken did not train them.
        rounds = [
            each
            for each in histories.rounds.get(end.member, ())
            if each.created_at > since and each.frames < end.frames
        ]
        dated: list[RoundDecision | Edit] = [*edits, *rounds]
        for item in sorted(dated, key=lambda item: item.created_at):
            self._take(item)

    def _take(self, item: RoundDecision | Edit) -> None:
        if isinstance(item, Edit):
            at = min(max(item.frames, self.steps[-1].member_frames), self._last_frames)
            self._add(
                at,
                "edit",
                {
                    **self._values,
                    **{name: value for name, value in item.values.items() if name in self._values},
                },
            )
        elif item.directive.mutated and item.directive.copy_from is None:
            self._add(item.frames, "mutate", item.directive.hyperparams, item)

    def _add(
        self, frames: int, kind: Kind, values: Values, decision: RoundDecision | None = None
    ) -> None:
        changed = (
            tuple(name for name, value in values.items() if self._values.get(name) != value)
            if self._values
            else ()
        )
        self._values = dict(values)
        number, verdict = (
            (decision.directive.round, decision.verdict) if decision is not None else (None, "")
        )
        donor = (
            _donor(self._histories, decision) if decision is not None and kind == "copy" else None
        )
        donor = _began_with(self._histories, self._member) if kind == "join" else donor
        began = self._histories.began.get(self._member) if kind == "start" else None
        at = self._length + frames - self.first_frames
        self.steps.append(
            LineageStep(
                at, self._member, frames, kind, self._values, changed, number, verdict, donor, began
            )
        )
