"""Every message between the main process and the others, in the order of a run.

Messages are small: observations, actions and weights stay in shared memory. A slot changes hands by
messages alone: SlotFull (worker -> main), Gather (main -> learner), Gathered (learner -> main),
Permits (main -> worker).
"""

from typing import Any, NamedTuple, get_args

from pbt.learning.attesting import Attestation
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.roster import Roster
from pbt.processes.messages import Failed, Stop
from pbt.runtime.placements import ProcessPlan
from pbt.saved import SavedWorker
from pbt.transport.messages import GameEnd, GamesOver, JsonState, RolloutPermit, SlotFull


class Assignment(NamedTuple):
    """main -> new process, before all else: what it is to host.

    orders  what its hosts must know; descriptors in it are open in the process
    """

    plan: ProcessPlan
    orders: JsonState


class Ready(NamedTuple):
    """A process has built everything; it does nothing before Go."""


class Go(NamedTuple):
    """Start to work, or go on after Pause."""


class Pause(NamedTuple):
    """Come to rest between two turns, send everything that happened, then Paused.

    It is for workers. Learners rest when they have finished what they were told.

    rest  the running number of this attempt, which Paused repeats
    """

    rest: int


class Paused(NamedTuple):
    """A worker has come to rest.

    rest      the number that Pause gave
    groups    of the worker's tables (`pbt.checkpoint.workers`)
    needed    ids of the snapshots that its tables may still seat
    standing  valid rows in its slots
    """

    rest: int
    groups: list[SavedWorker]
    needed: tuple[str, ...]
    standing: int


class PlayTurns(NamedTuple):
    """Play so many turns of every table, hand over all rows, then say TurnsPlayed.

    A worker plays nothing before the first of these.

    turns  None: play on without end; 0: play nothing, because a learner or the league is behind.
           Neither is answered
    round  learning phases that are over, which is noted in the rows
    """

    turns: int | None
    round: int = 0


class TurnsPlayed(NamedTuple):
    """Every table has played its turns, or the worker has no games to play on."""


# --- workers --------------------------------------------------------------------------------------


class Permits(NamedTuple):
    """Slots are released: their worker may fill them again."""

    permits: tuple[RolloutPermit, ...]


class SetRoster(NamedTuple):
    """Games are planned by this roster from now on.

    Where a member has another generation in it, that member's weights were replaced and published.
    """

    roster: Roster


class CloseWith(NamedTuple):
    """No member learns any more: play this many games of the final evaluation, then nothing.

    The worker answers with Quiet when the last of them is over.
    """

    games: int


class Quiet(NamedTuple):
    """Every game of CloseWith is over."""


class GameError(NamedTuple):
    """A game raised and was voided.

    place  where it raised; two errors with the same place count as the same error
    text   the traceback, for people
    """

    place: str
    text: str


class LongGame(NamedTuple):
    """A game takes so many decisions that it may never end. text: which one, for people."""

    text: str


# --- learners -------------------------------------------------------------------------------------


class Gather(NamedTuple):
    """Copy these slots of the member's role into its next batch, or this process's shard of it.

    lanes  they are all that a rollout brought: pack their rows (`pbt.learning.lanes`)
    """

    member: str
    slots: tuple[int, ...]
    lanes: bool = False


class Gathered(NamedTuple):
    """A learner has copied the slots of one Gather; they may be filled again."""

    member: str


class Train(NamedTuple):
    """Update the member on the oldest batch that was gathered.

    round    learning phases that are over
    publish  at once; else say Trained, and wait for Publish
    """

    member: str
    round: int = 0
    publish: bool = True


class Trained(NamedTuple):
    """A learner has trained one batch, and acts with the weights before it until Publish."""

    member: str


class Publish(NamedTuple):
    """Publish what was trained, then say Updated."""

    member: str


class Updated(NamedTuple):
    """A learner has trained one batch and published its weights."""

    member: str
    stats: UpdateStats


class Discard(NamedTuple):
    """Forget every gathered batch of the member."""

    member: str


class Copy(NamedTuple):
    """Take a snapshot's weights, normaliser and optimiser moments, publish them, then Copied."""

    member: str
    snapshot_id: str


class Copied(NamedTuple):
    """A learner has taken and published what Copy named."""

    member: str


class SetHyperparams(NamedTuple):
    """Train with these values from the next update on."""

    member: str
    values: dict[str, float]


class Attest(NamedTuple):
    """Attest the weights now, and those of so many publications that follow, with Attested."""

    member: str
    publications: int


class Attested(NamedTuple):
    """A learner attests the weights that it published last. It comes before Updated."""

    member: str
    attestation: Attestation


class MemberError(NamedTuple):
    """A member's learner raised; the other learners of its process go on.

    text  the error, for people
    """

    member: str
    text: str


LearnerOrder = Gather | Train | Publish | Discard | Copy | SetHyperparams | Attest
LearnerAnswer = Gathered | Trained | Updated | Attested | Copied | MemberError
"""A learner in the main process is told and says the same; no message is sent then."""

FromMain = (
    Assignment | Go | Pause | PlayTurns | Stop | Permits | SetRoster | CloseWith | LearnerOrder
)
WorkerAnswer = Paused | TurnsPlayed | SlotFull | GamesOver | GameEnd | Quiet | GameError | LongGame
ToMain = Ready | Failed | WorkerAnswer | LearnerAnswer

FROM_MAIN: tuple[type[Any], ...] = get_args(FromMain)
TO_MAIN: tuple[type[Any], ...] = get_args(ToMain)
