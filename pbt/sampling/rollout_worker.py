"""The rollout worker steps games: no other code does, in training, in evaluation and in matches.

One turn of its loop::

    for ready in server.serve_all(worker.requests()):   # the waiting rows, by policy
        worker.receive(ready)
    for message in worker.advance():           # steps every table whose actions are complete
        ...                                    # SlotFull -> learner, GamesOver -> controller

Answers may also come one by one, with `advance` after any of them; the next `requests` then hands
out the rows that wait by then. docs/slots.md tells the life of a slot; `filling.py` has its states.

Tables are stepped together, and everything about them and their seats stands in columns. A table is
known by its position among those of the worker, a seat by its entry in `Seats`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Game, Outcome
from pbt.envs.groups import Decisions, Failures, Turns
from pbt.errors import EngineError, EnvError
from pbt.sampling.asking import Asking
from pbt.sampling.bookkeeping import books_of
from pbt.sampling.decorrelation import begun_again
from pbt.sampling.ending import endings, game_end
from pbt.sampling.filling import SlotFiller, fill_slots
from pbt.sampling.filming import GameObserver
from pbt.sampling.game_code import GameCode
from pbt.sampling.native_group import group_of
from pbt.sampling.openings import draw_openings
from pbt.sampling.reproductions import Reproductions
from pbt.sampling.seats import Indices
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GameSource
from pbt.sampling.starting import start_games
from pbt.sampling.table import new_tables
from pbt.seeding import seat_keys
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GamePlan,
    RolloutPermit,
    WorkerMessage,
)
from pbt.transport.slab import Slab


class RolloutWorker:
    """Plays planned games at its tables and fills its slots with the rows of the learning seats.

    It is made with:

    make_game      makes the game of one table
    share          the worker's partition of tables and slots
    slabs          the whole slabs, by role; other workers may own the other slots
    games          plans the games
    seed           of the action noise
    equal_errors   number of errors from the same line of a game's code that ends the run; fewer
                   only void their games
    max_decisions  most decisions of all seats in one game; a longer game counts as an error
    on_error       called with (place, text) of every error, which is then not counted here; errors
                   of equal places are equal
    on_game_code   called with a table's number right before its game's own code runs, and with
                   NO_TABLE right after, so that a hanging game can be named; with the first of
                   several tables where one call steps them all
    on_long        called with a text about the first game that takes a tenth of max_decisions
    observer       is shown the games
    reproductions  keeps games that went wrong
    levels         see `Table.levels`
    patience_s     how long the tables of one step are waited for; later ones are left out until
                   they are done. None: all are waited for, as equal runs need it
    round          learning phases that are over, which is noted in the rows; None: no rounds
    """

    round: int | None = None

    def __init__(
        self,
        make_game: Callable[[], Game],
        share: Partition,
        slabs: Sequence[Slab],
        games: GameSource,
        seed: int,
        *,
        equal_errors: int = 2,
        max_decisions: int = 100_000,
        on_error: Callable[[str, str], None] | None = None,
        on_game_code: Callable[[int], None] | None = None,
        on_long: Callable[[str], None] | None = None,
        observer: GameObserver | None = None,
        reproductions: Reproductions | None = None,
        levels: NDArray[np.float64] | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._games, self._seed, self._observer = games, seed, observer or GameObserver()
        self._code = GameCode(
            make_game, equal_errors, on_error, on_game_code, max_decisions, on_long, reproductions
        )
        if not share.tables:
            raise EngineError("a worker without tables has nothing to play; a bug worth reporting")
        self.share = share
        self.tables = new_tables(share.tables, self._code.make, levels)
        self.table = {table.index: table for table in self.tables}
        start_games(self.tables, self._code.call)
        self.state, self.seats = self.tables[0].state, self.tables[0].state.seats
        self.fillers = [
            SlotFiller(slab, slots, role, self.seats)
            for role, (slab, slots) in enumerate(zip(slabs, share.slots, strict=True))
        ]
        writers = [filler.rows for filler in self.fillers]
        self._books = books_of(self.state, writers)
        self.group = group_of(self.tables, self._code, writers, self._observer, patience_s)
        self._ready, self._outbox = list[Indices](), list[WorkerMessage]()
        self._role_seats = [np.flatnonzero(self.seats.role == role) for role in range(len(slabs))]
        self.asking = Asking(self.state, [slab.slots for slab in slabs])
        self.idle: list[int] = list(range(len(self.tables)))

    # --- one turn ---------------------------------------------------------------------------------

    def requests(self) -> list[ActionRequest]:
        """Seat idle tables; one request per (policy, role, greedy) for all rows that wait."""
        self._seat_idle_tables()
        return self.asking.requests()

    def receive(self, ready: ActionsReady) -> None:
        """Take the actions of one request. Tables that have all of theirs are stepped next."""
        rows, seats = self.fillers[ready.role].rows, self.asking.answered(ready)
        changed = self._books.answered(seats, ready.version, ready.weights)
        self.seats.note_answers(changed, ready.version, ready.weights)
        actions = rows.actions[ready.slots, ready.rows]
        self.seats.action[seats, : actions.shape[1]] = actions
        if self.round is not None:
            rows.note_round(ready.slots, ready.rows, self.round)
        self._complete(seats)

    def advance(self, timeout_s: float = 0.0) -> list[WorkerMessage]:
        """Step every table whose actions are complete; returns the messages, in order.

        timeout_s  how long to wait for tables that were late before, if there are any
        """
        if self.group.late:
            come, turns = self.group.resume(timeout_s)
            if len(come):
                self._take(come, turns, {})
        while self._ready:
            ready, self._ready = self._ready, []
            self._step(np.concatenate(ready))
        outbox, self._outbox = self._outbox, []
        return outbox

    def permit(self, permit: RolloutPermit) -> None:
        """Take back a slot that a learner released."""
        self.fillers[permit.role].pool.give_back(permit.slot)

    def regenerate(self, policy: int, generation: int) -> None:
        """The policy's weights were replaced: drop its rows, so that none reaches a learner.

        Raises EngineError while actions are outstanding, since the rows move and the answers would
        be written to their old places.
        """
        if self.asking.outstanding:
            raise EngineError(
                f"policy {policy} got another generation while {self.asking.outstanding} actions "
                "were on their way"
            )
        for filler in self.fillers:
            filler.discard_parked(policy)
        seats = self.seats
        playing = np.repeat(self.state.playing, seats.per_table)
        for seat in np.flatnonzero(playing & seats.learning & (seats.policy == policy)).tolist():
            self.fillers[seats.role[seat]].empty(seat, generation)

    def cut(self, generations: Mapping[int, int]) -> list[WorkerMessage]:
        """End a rollout: hand over every row (`SlotFiller.cut`). generations: of the policies.

        Raises: EngineError in the middle of a turn.
        """
        if self.in_motion:
            raise EngineError("a rollout was to end in the middle of a turn; a bug worth reporting")
        playing = np.repeat(self.state.playing, self.seats.per_table)
        return [
            full
            for filler, seats in zip(self.fillers, self._role_seats, strict=True)
            for full in filler.cut(seats[playing[seats]], generations)
        ]

    @property
    def can_turn(self) -> bool:
        """The slots suffice for one more turn, whatever happens in it.

        Every seat may start a game in a fresh slot and need the next slot at once.
        """
        return all(
            filler.pool.free >= 2 * len(seats)
            for filler, seats in zip(self.fillers, self._role_seats, strict=True)
        )

    def rows_standing(self) -> int:
        """Number of valid rows in OPEN and PARKED slots."""
        return sum(
            filler.standing(seats)
            for filler, seats in zip(self.fillers, self._role_seats, strict=True)
        )

    @property
    def busy(self) -> bool:
        """A game is being played at one of the tables."""
        return len(self.idle) < len(self.tables)

    @property
    def in_motion(self) -> bool:
        """Actions are outstanding, or tables are to be stepped or late: no checkpoint now."""
        return bool(self._ready or self._outbox or self.asking.outstanding or self.group.late)

    # --- games ------------------------------------------------------------------------------------

    def _seat_idle_tables(self) -> None:
        idle, self.idle = self.idle, []
        plans = self._games.next_games([self.tables[one].index for one in idle]) if idle else ()
        order = {position: place for place, position in enumerate(idle)}
        begun = [one for one, plan in zip(idle, plans, strict=True) if plan is not None]
        self.idle = [one for one, plan in zip(idle, plans, strict=True) if plan is None]
        if begun:
            self._begin(np.array(begun, np.int64), [plan for plan in plans if plan is not None])
            # Tables whose game could not be begun wait where they waited before.
            self.idle.sort(key=order.__getitem__)

    def _begin(self, positions: Indices, plans: Sequence[GamePlan]) -> None:
        tables = [self.tables[position] for position in positions.tolist()]
        for table, plan in zip(tables, plans, strict=True):
            table.plan = plan
        keys = seat_keys(self._seed, [plan.noise for plan in plans], self.seats.per_table)
        self.state.begin(positions, plans, keys)
        seats = self.seats.at(positions)
        for own, filler in zip(self._by_role(seats), self.fillers, strict=True):
            filler.sit(own)
        for table in tables:
            self._observer.begins(table)
        self._take(positions, self.group.begin(positions), {})

    def _step(self, positions: Indices) -> None:
        """Step tables whose actions are complete."""
        endless = self._code.endless(self.tables, positions, self.state.steps[positions])
        stepped = positions
        if endless:
            stepped = positions[~np.isin(positions, list(endless))]
        tables, seats = self._books.decide(stepped)
        numbers = seats - tables * self.seats.per_table
        decisions = Decisions(tables, numbers, self.seats.action[seats])
        self.state.history.add(*decisions)
        turns = self.group.step(stepped, decisions)
        if self.group.late:
            positions = positions[~np.isin(positions, list(self.group.late))]
        self._take(positions, turns, endless)

    def _take(self, positions: Indices, turns: Turns, wrong: Failures) -> None:
        """Take the turns of tables that were begun or stepped, and tell what came of them.

        wrong: games that went wrong before; those of the group join them
        """
        taken = self._books.take(turns, positions)
        for filler, produced in zip(self.fillers, taken.produced.tolist(), strict=True):
            filler.produced += produced
        full = fill_slots(self.fillers, self.seats, turns, taken, self.group.observe)
        wrong = {**wrong, **self.group.failures}
        if wrong:
            taken = self._books.without(wrong, taken, positions)
        self.asking.wait(taken.waiting)
        if len(taken.opening):
            self._open(taken.opening)
        # Both kinds of messages are sent in the order in which the tables were stepped.
        self._outbox += full
        if len(taken.ended):
            self._finish(taken.ended, wrong)

    def _open(self, seats: Indices) -> None:
        """Act for seats whose games are in their openings."""
        for own, filler in zip(self._by_role(seats), self.fillers, strict=True):
            draw_openings(self.tables, self.state, own, filler.rows)
        self._complete(seats)

    def _by_role(self, seats: Indices) -> list[Indices]:
        return [seats[self.seats.role[seats] == role] for role in range(len(self.fillers))]

    def _complete(self, seats: Indices) -> None:
        """Note that seats have chosen; tables that have all of their actions are stepped next."""
        complete = self._books.act(seats)
        if len(complete):
            self._ready.append(complete)

    def _finish(self, positions: Indices, wrong: Failures) -> None:
        """End the games of these tables. wrong: those of them that went wrong."""
        played = positions if not wrong else positions[~np.isin(positions, list(wrong))]
        outcomes = dict(zip(played.tolist(), self.group.outcomes(played), strict=True))
        good = {at: one for at, one in outcomes.items() if isinstance(one, Outcome)}
        bad = {at: one for at, one in outcomes.items() if isinstance(one, EnvError)}
        seats = self.seats.at(np.array(list(good), np.int64))
        for left, filler in zip(self._by_role(seats), self.fillers, strict=True):
            filler.leave(left)
        for is_good, own in groupby(positions.tolist(), key=good.__contains__):
            if is_good:
                self._end_well(list(own), good)
            else:
                for position in own:
                    self._spoil(position, bad.get(position) or wrong[position])

    def _end_well(self, positions: list[int], outcomes: Mapping[int, Outcome]) -> None:
        """End games that were played to their end, and whose slots were taken."""
        if again := begun_again(self.tables, positions):
            self._begin(np.array([*again], np.int64), [*again.values()])
            positions = [position for position in positions if position not in again]
        tables = [self.tables[position] for position in positions]
        self._outbox += endings(tables, outcomes)
        self.state.playing[positions] = False
        self.idle += positions
        if self._observer.looks:
            for table in tables:
                self._observer.ends(game_end(table, outcomes[table.position]))
        for table in tables:
            self._games.game_over(table.plan)

    def _spoil(self, position: int, error: EnvError) -> None:
        """Void a game that went wrong. Raises EnvError when the error must end the run."""
        self._books.note_begun_move(position)
        self.void(position, f"voided: {error}{self._code.note(self.tables[position], error)}")

    def void(self, position: int, reason: str, places: Sequence[int] | None = None) -> None:
        """Void a spoiled game: its rows are dropped and its table gets a new game object.

        places  by seat, of a game that was forfeited; None: 0 for all
        """
        table = self.tables[position]
        self._observer.spoiled(table)
        self._books.note_begun_move(position)
        self.asking.leave_out(position)
        for seat in table.seats:
            self.fillers[self.seats.role[seat]].rewind(seat)
        self._ready = [kept for ready in self._ready if len(kept := ready[ready != position])]
        end = game_end(table, Outcome(tuple(places or (0,) * len(table.seats)), None, reason))
        self._observer.ends(end)
        self._outbox.append(end)
        self.state.playing[position] = False
        self.seats.due[table.seats.start : table.seats.stop] = False
        self.idle.append(position)
        self._games.game_over(table.plan)
        self.group.renew(position)
