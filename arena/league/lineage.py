"""Where weights come from: the chain of copies behind a policy, and the hyperparameters in force
along it. Pure.

Frames are counted along the chain: those that these very weights were trained for, whichever member
trained them. A copy goes on at the frames its donor's weights had, so a single member that trains
so many frames with these values repeats what the policy went through.
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
    """A member's weights at a moment. generation: copies it had made;  created_at: seconds since
    1970;  snapshot: their id, None while it learns.
    """

    member: str
    frames: int
    generation: int
    created_at: float
    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class RoundDecision:
    """What a PBT round asked of its member, at these frames of its clock, and why; without what
    it was computed from.
    """

    directive: Directive
    frames: int
    verdict: str
    created_at: float


@dataclass(frozen=True, slots=True)
class Edit:
    """A person set values of every member. frames: on the clock of the member furthest on."""

    frames: int
    created_at: float
    values: Values


@dataclass(frozen=True, slots=True)
class Origin:
    """How a member came that joined later. donor: whose weights it began with, None: its own;
    created_at: when
    """

    donor: Weights | None
    created_at: float


@dataclass(frozen=True, slots=True)
class Histories:
    """What a population left behind, of the rounds and snapshots that stand.

    rounds    by member, in order;  snapshots: by id;  edits: in order
    initial   of a member: flat hyperparameters it began with;  schedules: (frames, flat values)
              that its config asked for after that
    origins   of members that joined later
    """

    rounds: Mapping[str, Sequence[RoundDecision]]
    snapshots: Mapping[str, Weights]
    edits: Sequence[Edit]
    initial: Mapping[str, Values]
    schedules: Mapping[str, Sequence[tuple[int, Values]]]
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def copies(self, member: str) -> list[RoundDecision]:
        return [
            decision
            for decision in self.rounds.get(member, ())
            if decision.directive.copy_from is not None
        ]


@dataclass(frozen=True, slots=True)
class LineageStep:
    """What happened at `frames` of the chain.

    member, member_frames  who trained on from here, and where its own clock stood; of an edit about
                           where
    hyperparams            in force from here on, flat;  changed: those that differ from the step
                           before
    round, verdict         the PBT round that decided it, and its reasons
    donor                  whose weights were copied, or begun with
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


@dataclass(frozen=True, slots=True)
class Lineage:
    """steps: oldest first;  frames: of the whole chain"""

    steps: tuple[LineageStep, ...]
    frames: int


def trace(histories: Histories, weights: Weights) -> Lineage:
    """The ancestry of weights. Raises: EngineError when rounds and snapshots do not belong
    together.
    """
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
    """(the round that copied, the weights in the end) of each member's own training between a copy
    and the next, oldest first.

    The round is None for a member's first stretch, before which there may be those of whoever it
    began with.
    """
    found: list[tuple[RoundDecision | None, Weights]] = []
    while weights.generation > 0 or _began_with(histories, weights.member) is not None:
        if weights.generation == 0:
            found.append((None, weights))
            weights = _began_with(histories, weights.member) or weights
            continue
        copies = histories.copies(weights.member)
        if weights.generation > len(copies):
            known = f"its rounds tell of {len(copies)} copies"
            raise EngineError(
                f"{weights.member} at {weights.frames} frames is of generation "
                f"{weights.generation}; {known}: the league is not whole"
            )
        copied = copies[weights.generation - 1]
        found.append((copied, weights))
        weights = _donor(histories, copied)
    return [*reversed([*found, (None, weights)])]


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
    """The steps of one stretch. length: frames of the chain before it;  values: hyperparameters
    in force there.
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
        if copied is None:
            self._add(
                0,
                "join" if end.member in histories.origins else "start",
                histories.initial[end.member],
            )
        else:
            self._add(self.first_frames, "copy", copied.directive.hyperparams, copied)
        for frames, scheduled in histories.schedules.get(end.member, ()):
            if self.first_frames < frames < end.frames:
                self._add(frames, "schedule", scheduled)
        joined_at = (
            histories.origins[end.member].created_at if end.member in histories.origins else -1.0
        )
        since = joined_at if copied is None else copied.created_at
        edits = [edit for edit in histories.edits if since < edit.created_at < end.created_at]
        # What was decided at the very frame at which the weights were taken has trained nothing of
        # them.
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
        at = self._length + frames - self.first_frames
        self.steps.append(
            LineageStep(
                at, self._member, frames, kind, self._values, changed, number, verdict, donor
            )
        )
