"""The roster of a run in several processes: the main process has it, and sends it to the workers.

It also counts the games that are over, which the workers cannot tell when they have died.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from pbt.matchmaking.roster import EvaluationCounts, Roster
from pbt.runtime import control
from pbt.saved import SavedPlanner, SavedWorker
from pbt.transport.messages import GameEnd, GamesOver

# Win rates and snapshots may wait this long, so that the roster is not sent too often.
SEND_EVERY_S = 0.25


class RosterSender:
    """The Matchmaker of the parallel placements.

    evaluated  evaluation games that have ended
    """

    def __init__(
        self,
        roster: Roster,
        tell: Callable[..., None],
        clock: Callable[[], float] = time.monotonic,
        counts: Iterable[int] = (),
    ) -> None:
        """Connect it.

        tell(message)  tells all workers that run; those that start have it in their assignment
        counts         games begun so far, of every table
        """
        self._roster, self._tell, self._clock = roster, tell, clock
        self._unsent, self._sent_s, self._counts = False, clock(), counts
        self.evaluated = EvaluationCounts()
        # By table, the count of its newest game that is over.
        self._over: dict[int, int] = {}
        # Tables whose evaluation game goes on from a checkpoint.
        self._resumed: set[int] = set()

    @property
    def roster(self) -> Roster:
        return self._roster

    @roster.setter
    def roster(self, roster: Roster) -> None:
        """Follow it from now on, and send it at once where members or shares changed.

        Win rates and snapshots that wait for `send_due` are sent along with that, in a synchronous
        run also within a rollout.
        """
        before, self._roster, self._unsent = self._roster, roster, True
        self.evaluated.follow(before, roster, self._counts)
        if (roster.members, roster.evaluation_share) != (before.members, before.evaluation_share):
            self.send()

    def send(self) -> None:
        """Send the roster, if it has changed."""
        if self._unsent:
            self._unsent, self._sent_s = False, self._clock()
            self._tell(control.SetRoster(self._roster))

    def send_due(self, *, at_once: bool) -> None:
        """Send the roster if it has changed, and unless `at_once`, if it was not sent just now."""
        if at_once or self._clock() - self._sent_s >= SEND_EVERY_S:
            self.send()

    # --- games ------------------------------------------------------------------------------------

    @property
    def closing_begun(self) -> int:
        """Games of the final evaluation that have ended, or go on from a checkpoint."""
        return self.evaluated.closing + (0 if self.roster.learning else len(self._resumed))

    def games_over(self, games: GamesOver) -> None:
        """Count training games that each table ended."""
        self._over.update(zip(games.tables, games.counts, strict=True))
        if self._resumed:
            self._resumed.difference_update(games.tables)

    def game_over(self, end: GameEnd) -> None:
        """Count a training-time game between frozen players, and which games each table ended."""
        self._over[end.table] = end.plan.game_count
        self._resumed.discard(end.table)
        if end.plan.kind == "evaluation":
            self.evaluated.add((seat.player for seat in end.plan.seats), self.roster)

    def void_open_games(self, counts: Sequence[int]) -> int:
        """Note that all open games ended with their workers. Returns how many they were.

        counts: games begun so far, of every table.
        """
        lost = [self._over.get(table, -1) < begun - 1 for table, begun in enumerate(counts)]
        # Games of the final evaluation are played again.
        closing_from = zip(self.evaluated.closing_from, lost, strict=False)
        self.evaluated.closing_from = [count + gone for count, gone in closing_from]
        self._over = {table: begun - 1 for table, begun in enumerate(counts)}
        self._resumed.clear()
        return sum(lost)

    # --- resume -----------------------------------------------------------------------------------

    def state(self, counts: Iterable[int], workers: Collection[SavedWorker]) -> SavedPlanner:
        """Return the state that a planner of all tables would.

        counts: games so far, of every table; workers: those of all tables that play.
        """
        begun = sum((self._played_by(worker) for worker in workers), self.evaluated)
        return begun.saved(counts, self.roster)

    def load(self, state: SavedPlanner, worker: SavedWorker) -> None:
        """Take over a planner's state before the workers start, so none is told.

        worker: all of them as one.
        """
        self._roster = self._roster.resumed(state.roster)
        self._resumed = _evaluating(worker)
        self.evaluated = EvaluationCounts.load(state) - self._played_by(worker)
        playing = set(worker.games.table)
        self._over = {
            number: begun - 1 - (number in playing) for number, begun in enumerate(state.counts)
        }

    def _played_by(self, worker: SavedWorker) -> EvaluationCounts:
        """The evaluation games that its tables play."""
        tables = _evaluating(worker)
        seats = worker.seats.at(tables)
        players = zip(seats.kind, seats.name, strict=True)
        by_snapshot = Counter(name for kind, name in players if kind == "snapshot")
        return EvaluationCounts(by_snapshot, 0 if self.roster.learning else len(tables))


def _evaluating(worker: SavedWorker) -> set[int]:
    """The tables that play an evaluation game."""
    games = zip(worker.games.table, worker.games.kind, strict=True)
    return {table for table, kind in games if kind == "evaluation"}
