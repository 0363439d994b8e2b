"""Every message between the main process and the others, in the order of a run. What seats see, do
and learn stays in shared memory.

A slot changes hands by messages alone: SlotFull (worker -> main), Gather (main -> learner),
Gathered (learner -> main), Permits (main -> worker).
"""

from typing import Any, NamedTuple

from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.past import WinRates
from pbt.processes.messages import Failed, Stop
from pbt.transport.messages import GameEnd, JsonState, RolloutPermit, SlotFull


class Assignment(NamedTuple):
    """main -> new process, first of all: what it is to be. `plan` is read by
    `pbt.runtime.process`; descriptors in it are open in the process.
    """

    name: str
    plan: JsonState


class Ready(NamedTuple):
    """Everything is built; nothing happens before Go."""


class Go(NamedTuple):
    """Start, or go on after Pause."""


class Pause(NamedTuple):
    """Come to rest between two turns, send everything that happened, then Paused. Learners finish
    what they were told and need no such message.

    rest: the running number of this attempt, which Paused repeats
    """

    rest: int


class Paused(NamedTuple):
    """state: of the worker's groups (`pbt.checkpoint.workers`) and its planner.

    rest: what Pause said;  needed: snapshots its tables may still seat;  standing: valid rows in
                            its slots
    """

    rest: int
    state: JsonState
    needed: tuple[str, ...]
    standing: int


class Hold(NamedTuple):
    """on: play nothing until told otherwise, since a learner has fallen behind."""

    on: bool


# --- workers --------------------------------------------------------------------------------------


class Permits(NamedTuple):
    """Slots come back."""

    permits: tuple[RolloutPermit, ...]


class Regenerate(NamedTuple):
    """The policy's weights were replaced and are published: from now on its rows are of this
    generation.
    """

    member: str
    policy: int
    generation: int


class SetLearning(NamedTuple):
    """The member learns (again), or sits as a frozen opponent from now on."""

    member: str
    learning: bool


class AddSnapshot(NamedTuple):
    """There is a new opponent."""

    snapshot_id: str
    member: str
    role: str


class RemoveSnapshots(NamedTuple):
    """These are seated no more."""

    snapshot_ids: tuple[str, ...]


class SetWinRates(NamedTuple):
    """What members may expect against snapshots (`pbt.matchmaking.past.WinRates`), for who is
    drawn among the past.
    """

    win_rates: WinRates


class SetEvaluationShare(NamedTuple):
    """So many of the games from now on are played between frozen snapshots."""

    share: float


class CloseWith(NamedTuple):
    """Nobody learns any more: hand out so many evaluation games, then nothing; Quiet when the
    last one is over.
    """

    games: int


class Quiet(NamedTuple):
    """Every game of CloseWith is over."""


class GameError(NamedTuple):
    """A game raised and was voided. place: what makes two errors the same one; text: the
    traceback, for people.
    """

    place: str
    text: str


# --- learners -------------------------------------------------------------------------------------


class Gather(NamedTuple):
    """Copy these slots of the member's role into its next batch, or into this process's shard of
    it.
    """

    member: str
    slots: tuple[int, ...]


class Gathered(NamedTuple):
    """The slots may be filled again."""

    member: str


class Train(NamedTuple):
    """Update on the batch that was gathered first."""

    member: str


class Updated(NamedTuple):
    """Trained and published."""

    member: str
    stats: UpdateStats


class Discard(NamedTuple):
    """Forget every gathered batch."""

    member: str


class Copy(NamedTuple):
    """Take a snapshot's weights, normaliser and moments, publish them, then Copied."""

    member: str
    snapshot_id: str


class Copied(NamedTuple):
    member: str


class SetHyperparams(NamedTuple):
    member: str
    values: dict[str, float]


class MemberError(NamedTuple):
    """A member's learner raised; the others of the process go on."""

    member: str
    text: str


FROM_MAIN: tuple[type[Any], ...] = (
    Assignment,
    Go,
    Pause,
    Hold,
    Stop,
    Permits,
    Regenerate,
    SetLearning,
    AddSnapshot,
    RemoveSnapshots,
    SetWinRates,
    SetEvaluationShare,
    CloseWith,
    Gather,
    Train,
    Discard,
    Copy,
    SetHyperparams,
)
TO_MAIN: tuple[type[Any], ...] = (
    Ready,
    Paused,
    Failed,
    SlotFull,
    GameEnd,
    Quiet,
    GameError,
    Gathered,
    Updated,
    Copied,
    MemberError,
)
