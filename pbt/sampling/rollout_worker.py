"""The rollout worker steps games: no other code does, in training, in evaluation and in matches.

One turn of its loop::

    for request in worker.requests():          # the waiting rows, one request per policy
        worker.receive(server.serve(request))
    for message in worker.advance():           # steps every table whose actions are complete
        ...                                    # SlotFull -> learner, GameEnd -> controller

Answers may also come one by one, with `advance` after any of them; the next `requests` then hands
out the rows that wait by then. docs/slots.md tells the life of a slot; `filling.py` owns its states
FREE, OPEN, PARKED and FROZEN.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Action, Game, Overlapping, SeatTurn
from pbt.errors import EngineError, EnvError, NumberError
from pbt.sampling.filling import SlotFiller
from pbt.sampling.filming import GameObserver
from pbt.sampling.game_code import GameCode
from pbt.sampling.reproductions import Reproductions
from pbt.sampling.slots import Partition
from pbt.sampling.starting import start_games
from pbt.sampling.table import Seat, Table, new_tables, opening_action
from pbt.seeding import seat_key
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GamePlan,
    RolloutPermit,
    WorkerMessage,
)
from pbt.transport.slab import Slab


class GameSource(Protocol):
    """Plans the games of a worker."""

    def next_games(self, tables: Sequence[int], /) -> Sequence[GamePlan | None]:
        """The next game of each table, or None to leave the table empty for now."""

    def game_over(self, plan: GamePlan, /) -> None:
        """The game was finished or voided."""


@dataclass(frozen=True)
class GamesFrom:
    """A source that plans games by a function and need not know when a game is over."""

    next_game: Callable[[int], GamePlan | None]

    def next_games(self, tables: Sequence[int], /) -> list[GamePlan | None]:
        return [self.next_game(table) for table in tables]

    def game_over(self, plan: GamePlan, /) -> None:
        """There is nothing to do."""


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
    on_game_code      called with a table's number right before its game's own code runs, and with
                   NO_TABLE right after, so that a hanging game can be named
    on_long        called with a text about the first game that takes a tenth of max_decisions
    observer       is shown the games
    reproductions  keeps games that went wrong
    levels         see `Table.levels`
    """

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
    ) -> None:
        self._games, self._seed, self._observer = games, seed, observer or GameObserver()
        self._code = GameCode(
            make_game, equal_errors, on_error, on_game_code, max_decisions, on_long, reproductions
        )
        self.run_game = self._code.run  # bound once, since it is called at every step
        self.share = share
        self.tables = new_tables(share.tables, self._code.make, levels)
        self.table = {table.index: table for table in self.tables}
        start_games(self.tables, self._code.call)
        self._overlapping = bool(self.tables) and isinstance(self.tables[0].game, Overlapping)
        self.fillers = [
            SlotFiller(slab, slots, self._send)
            for slab, slots in zip(slabs, share.slots, strict=True)
        ]
        roles = self.tables[0].game.seat_roles if self.tables else ()
        self._seats = [len(self.tables) * roles.count(role) for role in range(len(self.fillers))]
        # (policy, role, greedy) -> seats that wait for an action
        self.waiting: dict[tuple[int, int, bool], list[tuple[Table, Seat]]] = {}
        # By role: slot -> the seat whose action was requested. Messages name slots, not seats.
        self._asked: list[dict[int, tuple[Table, Seat]]] = [{} for _ in slabs]
        self._ready: list[Table] = []
        self.idle: list[Table] = list(self.tables)
        self._outbox: list[WorkerMessage] = []

    # --- one turn ---------------------------------------------------------------------------------

    def requests(self) -> list[ActionRequest]:
        """Seat idle tables, then request actions for all rows that wait.
        There is one request per (policy, role, greedy).
        """
        self._seat_idle_tables()
        waiting, self.waiting = self.waiting, {}
        return [self._request(*key, asking) for key, asking in waiting.items()]

    def receive(self, ready: ActionsReady) -> None:
        """Take the actions of one request. Tables that have all of theirs are stepped next."""
        rows, version, weights = self.fillers[ready.role].rows, ready.version, ready.weights
        requested = self._asked[ready.role]
        actions = rows.spec.listed(rows.actions[ready.slots, ready.rows])
        acting = [requested.pop(slot) for slot in ready.slots.tolist()]
        rows.fingerprint(ready.slots, ready.rows, [table.origin(seat) for table, seat in acting])
        for (table, seat), action in zip(acting, actions, strict=True):
            if not seat.acted:
                seat.acted, seat.version_start = True, version
            seat.version_end = version
            if seat.weights != weights:
                seat.weights = weights
                seat.answers.append((version, weights))
            seat.pending = seat.learning
            seat.episode_start = False
            self._act(table, seat, action)

    def advance(self) -> list[WorkerMessage]:
        """Step every table whose actions are complete; returns the messages, in order."""
        while self._ready:
            ready, self._ready = self._ready, []
            if self._overlapping:
                for table in ready:
                    cast(Overlapping, table.game).begin(table.actions)
            for table in ready:
                self._step(table)
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
        if self.outstanding:
            raise EngineError(
                f"policy {policy} got another generation while {self.outstanding} actions "
                "were on their way"
            )
        for filler in self.fillers:
            filler.discard_parked(policy)
        for table in self.tables:
            for seat in table.seats:
                if seat.policy == policy and seat.learning:
                    self.fillers[seat.role].empty(seat, generation)

    @property
    def outstanding(self) -> int:
        """Number of rows whose actions were requested and have not come yet."""
        return sum(len(asked) for asked in self._asked)

    @property
    def can_turn(self) -> bool:
        """The slots suffice for one more turn, whatever happens in it.

        Every seat may start a game in a fresh slot and need the next slot at once.
        """
        return all(
            filler.pool.free >= 2 * seats
            for filler, seats in zip(self.fillers, self._seats, strict=True)
        )

    def rows_standing(self) -> int:
        """Number of valid rows in OPEN and PARKED slots."""
        seats = [seat for table in self.tables for seat in table.seats]
        return sum(
            filler.standing(seat for seat in seats if seat.role == role)
            for role, filler in enumerate(self.fillers)
        )

    @property
    def busy(self) -> bool:
        """A game is being played at one of the tables."""
        return len(self.idle) < len(self.tables)

    @property
    def in_motion(self) -> bool:
        """Actions are outstanding or tables wait to be stepped: no checkpoint state now."""
        return bool(self._ready or self._outbox or any(self._asked))

    def _send(self, message: WorkerMessage) -> None:
        self._outbox.append(message)

    def _request(
        self, policy: int, role: int, greedy: bool, asking: list[tuple[Table, Seat]]
    ) -> ActionRequest:
        slots = [seat.slot for _, seat in asking]
        self._asked[role].update(zip(slots, asking, strict=True))
        rows = np.array([seat.row for _, seat in asking], np.int64)
        keys = np.array([seat.key for _, seat in asking], np.uint64)
        steps = np.array([seat.steps for _, seat in asking], np.uint64)
        return ActionRequest(policy, role, np.array(slots, np.int64), rows, keys, steps, greedy)

    # --- one game ---------------------------------------------------------------------------------

    def _seat_idle_tables(self) -> None:
        idle, self.idle = self.idle, []
        plans = self._games.next_games([table.index for table in idle]) if idle else ()
        for table, plan in zip(idle, plans, strict=True):
            if plan is None:
                self.idle.append(table)
            else:
                self._start(table, plan)

    def _start(self, table: Table, plan: GamePlan) -> None:
        table.clear(plan)
        for index, seat_plan in enumerate(plan.seats):
            role = table.game.seat_roles[index]
            seat = Seat(index, role, *seat_plan, key=seat_key(self._seed, *plan.noise, index))
            self.fillers[role].sit(seat)
            table.seats.append(seat)
        self._observer.begins(table)
        self._play(table, table.begin, "reset")

    def _step(self, table: Table) -> None:
        if table.steps >= self._code.patience and (error := self._code.length_error(table)):
            self._spoil(table, error)
            return
        actions = table.take_actions()
        table.moves += 1
        self._play(table, lambda: table.game.step(actions), "step")

    def _play(self, table: Table, move: Callable[[], list[SeatTurn]], call: str) -> None:
        """Call the table's game and take its turns. A game that raises is voided and replaced."""
        try:
            turns = self.run_game(move, table, call)
            self._observer.sees(table, turns)
            acting = [turn for turn in turns if not turn.over]
            table.due = len(acting)
            for turn in turns:
                self._take(table, table.seats[turn.seat], turn)
            for turn in acting:
                self._ask(table, table.seats[turn.seat], turn)
            if not acting:
                self._finish(table)
        except EnvError as error:
            self._spoil(table, error)

    def _take(self, table: Table, seat: Seat, turn: SeatTurn) -> None:
        """Write a seat's turn. Raises NumberError, which says where a useless number came from."""
        try:
            self.fillers[seat.role].take_turn(seat, turn)
        except NumberError as error:
            named = f"seat {seat.index} ({table.game.seat_names[seat.index]})"
            raise NumberError(f"{table.where}, step {table.moves}, {named}: {error}") from None

    def _spoil(self, table: Table, error: EnvError) -> None:
        """Void a game that went wrong. Raises EnvError when the error must end the run."""
        hint = self._code.note(table, error)
        self.void(table, f"voided: {error}{hint}")

    def _ask(self, table: Table, seat: Seat, turn: SeatTurn) -> None:
        plan = table.plan
        if table.moves < plan.opening_plies:
            rows = self.fillers[seat.role].rows
            rows.fingerprint([seat.slot], [seat.row], [table.origin(seat)])
            action = opening_action(plan.opening_seed, table.moves, turn, rows.spec)
            self._act(table, seat, action)
        else:
            self.waiting.setdefault((seat.policy, seat.role, plan.greedy), []).append((table, seat))

    def _act(self, table: Table, seat: Seat, action: Action) -> None:
        seat.steps += 1
        table.steps += 1
        table.actions[seat.index] = action
        table.history.append(seat.index)
        table.history.extend(action)
        if len(table.actions) == table.due:
            self._ready.append(table)

    def _finish(self, table: Table) -> None:
        outcome = self._code.outcome(table)
        points = outcome.points or (None,) * len(table.seats)
        for seat, place, own_points in zip(table.seats, outcome.ranking, points, strict=True):
            seat.place, seat.points = place, own_points
            self.fillers[seat.role].leave(seat)
        self._end(table, outcome.reason)

    def void(self, table: Table, reason: str) -> None:
        """Void a spoiled game: its rows are dropped and its table gets a new game object."""
        self._observer.spoiled(table)
        for seat in table.seats:
            self._asked[seat.role].pop(seat.slot, None)
            self.fillers[seat.role].rewind(seat)
        for key, asking in self.waiting.items():
            self.waiting[key] = [(asker, seat) for asker, seat in asking if asker is not table]
        self.waiting = {key: asking for key, asking in self.waiting.items() if asking}
        self._ready = [other for other in self._ready if other is not table]
        self._end(table, reason)
        self._code.replace(table)

    def _end(self, table: Table, reason: str) -> None:
        end = table.end(reason)
        self._observer.ends(end)
        self._send(end)
        table.seats = []
        self.idle.append(table)
        self._games.game_over(end.plan)
