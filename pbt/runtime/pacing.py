"""Pacing: how acting and learning take turns.

One object says when tables play, when learners are given batches, and in which order full slots are
trained. The engine asks it for what workers are told, the scheduler of learners for the rest.
`runtime.sync` names its kind; no other file asks which kind it is.
"""

from collections.abc import Collection
from typing import Protocol

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.runtime.control import PlayTurns


class Pacing(Protocol):
    """The rhythm of a run.

    A rollout is a number of turns that every table plays before it stops.

    between_rollouts  no table is in a rollout; always so where there are none. Then learners are
                      given batches, so rounds of PBT are decided, workers hear of new win rates and
                      snapshots, and a rest may begin. Of a member that fails in the middle of a
                      rollout, because its learner's process died too often, they hear at once
    by_version        full slots are trained in the order of the weights that acted in their first
                      rows, and of their numbers, else in the order in which they came
    words             for people; "" where nothing need be said
    late_after_s      a game in processes of its own that takes longer for a step does not keep the
                      other tables of its worker; None: all tables wait for it
    turn_every_s      a turn of the main process begins at most this often
    """

    by_version: bool
    words: str
    late_after_s: float | None
    turn_every_s: float

    @property
    def between_rollouts(self) -> bool: ...

    def next(self, workers: Collection[str], *, hold: bool, busy: bool) -> PlayTurns | None:
        """Return what all workers should hear now; None: nothing new.

        hold  the league or a learner is behind
        busy  a learner has something to do, or the run comes to rest

        Raises: EngineError within a rollout.
        """

    def played(self, worker: str) -> None:
        """Note that a worker has played its rollout."""

    def restart(self) -> None:
        """Note that all workers begin anew: what they were told is forgotten."""


class Asynchronous:
    """Tables play without end, and learners train whatever is full."""

    by_version = False
    between_rollouts = True
    words = ""
    late_after_s: float | None = 0.25
    # A turn hears all that was said since the last one. Workers of quick games say something all
    # the time, and a main process that woke for each message would take their cores from them.
    turn_every_s = 0.005

    def __init__(self) -> None:
        # Whether the workers hold, as they were told last; None: they were told nothing.
        self._holding: bool | None = None

    def next(self, workers: Collection[str], *, hold: bool, busy: bool) -> PlayTurns | None:
        if hold == self._holding:
            return None
        self._holding = hold
        return PlayTurns(0 if hold else None)

    def played(self, worker: str) -> None:
        """There are no rollouts."""

    def restart(self) -> None:
        self._holding = None


class Synchronous:
    """Every table plays a rollout, then all learners train what is full, then tables go on.

    Nothing acts while weights change. Slots that are not full after a rollout, as in games of
    turns, go on in the next one with its weights.
    """

    by_version = True
    words = "synchronous"
    late_after_s: float | None = None
    # Everything waits for the next order, so a pause would be lost time.
    turn_every_s = 0.0

    def __init__(self, rollout_steps: int) -> None:
        """rollout_steps: turns of a rollout."""
        self._turns = rollout_steps
        self._playing: set[str] = set()

    @property
    def between_rollouts(self) -> bool:
        return not self._playing

    def next(self, workers: Collection[str], *, hold: bool, busy: bool) -> PlayTurns | None:
        if self._playing:
            playing = ", ".join(sorted(self._playing))
            raise EngineError(f"a rollout was to begin in the middle of one: {playing} still play")
        if hold or busy:
            return None
        self._playing.update(workers)
        return PlayTurns(self._turns)

    def played(self, worker: str) -> None:
        self._playing.discard(worker)

    def restart(self) -> None:
        self._playing.clear()


def new_pacing(config: RunConfig) -> Pacing:
    """Return the pacing that `runtime.sync` names."""
    match config.runtime.sync:
        case "async":
            return Asynchronous()
        case "sync":
            return Synchronous(config.sampling.rollout_steps)
