"""Pacing: how acting and learning take turns.

One object says when tables play and when learners are given what was played. The engine asks it for
what workers are told, the scheduler of learners for the rest. `runtime.sync` names its kind. Where
something is built for rounds, `runtime.in_rounds` is asked, and `placements.resolve` has the groups
of tables that two kinds need.

In rounds everything that depends on which process is first waits for a barrier: games are counted,
slots are handed over, rounds of PBT are decided and rosters change between two rollouts, and in the
order of tables and members. So equal seeds give equal weights in every placement.
"""

from collections.abc import Collection
from typing import Protocol

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.runtime.control import PlayTurns


class Pacing(Protocol):
    """The rhythm of a run.

    A rollout is a number of turns that every table plays before it stops, and hands over its rows.

    in_rounds         there are rollouts, and all rows of one are one batch of each member
    overlaps          learners train the rows of one rollout while tables play the next
    between_rollouts  no table is in a rollout; always so where there are none. Then learners are
                      given batches, rounds of PBT are decided, workers hear of new win rates and
                      snapshots, and a rest may begin. Of a member that fails in the middle of a
                      rollout, because its learner's process died too often, they hear at once
    words             for people; "" where nothing need be said
    late_after_s      a game in processes of its own that takes longer for a step does not keep the
                      other tables of its worker; None: all tables wait for it
    turn_every_s      a turn of the main process begins at most this often
    """

    in_rounds: bool
    overlaps: bool
    words: str
    late_after_s: float | None
    turn_every_s: float

    @property
    def between_rollouts(self) -> bool: ...

    def next(
        self, workers: Collection[str], *, hold: bool, busy: bool, round: int = 0
    ) -> PlayTurns | None:
        """Return what all workers should hear now; None: nothing new.

        hold   the league or a learner is behind
        busy   a learner has something to do first, or the run comes to rest
        round  learning phases that are over

        Raises: EngineError within a rollout.
        """

    def played(self, worker: str) -> None:
        """Note that a worker has played its rollout."""

    def restart(self) -> None:
        """Note that all workers begin anew: what they were told is forgotten."""


class Asynchronous:
    """Tables play without end, and learners train whatever is full."""

    in_rounds = overlaps = False
    between_rollouts = True
    words = ""
    late_after_s: float | None = 0.25
    # A turn hears all that was said since the last one. Workers of quick games say something all
    # the time, and a main process that woke for each message would take their cores from them.
    turn_every_s = 0.005

    def __init__(self) -> None:
        # Whether the workers hold, as they were told last; None: they were told nothing.
        self._holding: bool | None = None

    def next(
        self, workers: Collection[str], *, hold: bool, busy: bool, round: int = 0
    ) -> PlayTurns | None:
        if hold == self._holding:
            return None
        self._holding = hold
        return PlayTurns(0 if hold else None)

    def played(self, worker: str) -> None:
        """There are no rollouts."""

    def restart(self) -> None:
        self._holding = None


class Rounds:
    """Every table plays a rollout, then all learners train its rows.

    They train before the next rollout begins, or where they overlap, during it.
    """

    in_rounds = True
    late_after_s: float | None = None
    # Everything waits for the next order, so a pause would be lost time.
    turn_every_s = 0.0

    def __init__(self, steps: int, words: str, *, overlaps: bool = False) -> None:
        """steps: turns of a rollout."""
        self.words, self.overlaps, self._steps = words, overlaps, steps
        self._playing: set[str] = set()

    @property
    def between_rollouts(self) -> bool:
        return not self._playing

    def next(
        self, workers: Collection[str], *, hold: bool, busy: bool, round: int = 0
    ) -> PlayTurns | None:
        if self._playing:
            playing = ", ".join(sorted(self._playing))
            raise EngineError(f"a rollout was to begin in the middle of one: {playing} still play")
        if hold or busy:
            return None
        self._playing.update(workers)
        return PlayTurns(self._steps, round)

    def played(self, worker: str) -> None:
        self._playing.discard(worker)

    def restart(self) -> None:
        self._playing.clear()


def rollout_turns(config: RunConfig) -> int:
    """Turns that every table plays in a rollout."""
    steps = config.runtime.sync_steps
    return config.sampling.rollout_steps if steps == "auto" else steps


def new_pacing(config: RunConfig) -> Pacing:
    """Return the pacing that `runtime.sync` names."""
    steps = rollout_turns(config)
    match config.runtime.sync:
        case "async":
            return Asynchronous()
        case "sync":
            return Rounds(steps, "synchronous")
        case "alternating":
            # Its two groups of tables per worker are the placement's (`placements.resolve`).
            return Rounds(steps, "synchronous, alternating")
        case "hts":
            return Rounds(steps, "synchronous, learning one round behind", overlaps=True)
