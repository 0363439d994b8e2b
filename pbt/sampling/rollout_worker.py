"""Stepping games: the only code that does, in training, in evaluation and in matches.

One turn of the crank, whoever turns it::

    for request in worker.requests():          # rows that wait, one request per policy
        worker.receive(server.serve(request))
    for message in worker.advance():           # every table whose actions are complete is stepped
        ...                                    # SlotFull -> learner, GameEnd -> controller

Answers may also come one by one, with `advance` after any of them; what waits by then is handed out
by the next `requests`. docs/slots.md tells the life of a slot; `filling.py` owns its states FREE,
OPEN, PARKED and FROZEN.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

import numpy as np

from pbt.envs.contract import Game, Overlapping, SeatTurn
from pbt.errors import EngineError, EnvCrash, EnvError
from pbt.sampling.filling import SlotFiller
from pbt.sampling.game_errors import MAX_CRASHES, raising_line, told
from pbt.sampling.recording import GameObserver, NullObserver
from pbt.sampling.slots import Partition
from pbt.sampling.starting import start_games
from pbt.sampling.table import Seat, Table, opening_action
from pbt.seeding import seat_key
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GameEnd,
    GamePlan,
    RolloutPermit,
    WorkerMessage,
)
from pbt.transport.slab import Slab

T = TypeVar("T")

# What `watch` is told when no game's code runs.
NO_TABLE = -1


class GameSource(Protocol):
    """Where planned games come from."""

    def next_game(self, table: int, /) -> GamePlan | None:
        """The next game to be played at a table, or None to leave it empty for now."""

    def game_over(self, plan: GamePlan, /) -> None:
        """It was finished or voided."""


@dataclass(frozen=True)
class GamesFrom:
    """A source that need not know when a game is over."""

    next_game: Callable[[int], GamePlan | None]

    def game_over(self, plan: GamePlan, /) -> None:
        """Nothing is kept for it."""


class RolloutWorker:
    """Plays planned games at its share of the tables and fills its share of the slots with what
    the learning seats live through.
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
        watch: Callable[[int], None] | None = None,
        onlooker: GameObserver | None = None,
    ) -> None:
        """seed: of the action noise;  slabs: whole ones, by role, of which others may own the other
        slots.

        equal_errors   so many errors from the same line of a game's code end the run, fewer only
                       void their games
        max_decisions  of all seats in one game; a longer one counts as an error of the game
        on_error       told (place, traceback) of every error instead, by somebody who counts them
                       himself; errors of equal places are equal
        watch          told a table's number right before its game's own code runs, NO_TABLE right
                       after, so that a game that hangs can be named
        onlooker       sees the games that are played
        """
        self._max_decisions, self._on_error, self._watch, self._onlooker = (
            max_decisions,
            on_error,
            watch,
            onlooker or NullObserver(),
        )
        self._make_game, self._games, self._seed = make_game, games, seed
        self.share = share
        self.tables = [Table(number, self._watched(make_game, number)) for number in share.tables]
        self.table = {table.index: table for table in self.tables}
        start_games(self.tables, self._watched)
        self._overlapping = bool(self.tables) and isinstance(self.tables[0].game, Overlapping)
        self.fillers = [
            SlotFiller(slab, slots, self._send)
            for slab, slots in zip(slabs, share.slots, strict=True)
        ]
        roles = self.tables[0].game.seat_roles if self.tables else ()
        self._seats = [len(self.tables) * roles.count(role) for role in range(len(self.fillers))]
        # (policy, role, greedy) -> seats that wait for an action
        self.waiting: dict[tuple[int, int, bool], list[tuple[Table, Seat]]] = {}
        # slots travel in messages, seats do not: who asked for which slot's action, by role
        self._asked: list[dict[int, tuple[Table, Seat]]] = [{} for _ in slabs]
        self._ready: list[Table] = []
        self.idle: list[Table] = list(self.tables)
        self._outbox: list[WorkerMessage] = []
        self._equal_errors, self._errors = equal_errors, Counter[str]()

    # --- the crank --------------------------------------------------------------------------------

    def requests(self) -> list[ActionRequest]:
        """Seat idle tables, then hand out every waiting row, one request per (policy, role,
        greedy).
        """
        self._seat_idle_tables()
        waiting, self.waiting = self.waiting, {}
        return [self._request(*key, asking) for key, asking in waiting.items()]

    def receive(self, ready: ActionsReady) -> None:
        """Take the actions of one request; tables that have all of theirs will be stepped."""
        rows, asked, version = self.fillers[ready.role].rows, self._asked[ready.role], ready.version
        actions = rows.actions[ready.slots, ready.rows].tolist()
        acting = [asked.pop(slot) for slot in ready.slots.tolist()]
        rows.fingerprint(ready.slots, ready.rows, [origin(table, seat) for table, seat in acting])
        for (table, seat), action in zip(acting, actions, strict=True):
            if seat.steps == 0:
                seat.version_start = version
            seat.version_end = version
            seat.pending = seat.learning
            seat.episode_start = False
            self._act(table, seat, tuple(action))

    def advance(self) -> list[WorkerMessage]:
        """Step every table whose actions are complete; returns what happened, in order."""
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
        """A slot comes back from a learner."""
        self.fillers[permit.role].pool.give_back(permit.slot)

    def regenerate(self, policy: int, generation: int) -> None:
        """The policy's weights were replaced: no row of the old generation may reach a learner.
        Only while no action is outstanding.

        Raises: EngineError when one is: its row moves, and the answer would stand where it was.
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
        """Rows that were asked for and not answered yet."""
        return sum(len(asked) for asked in self._asked)

    def free_slots(self) -> int:
        """Free slots of the role that has the fewest."""
        return min(filler.pool.free for filler in self.fillers)

    @property
    def can_turn(self) -> bool:
        """The slots suffice for one more turn, whatever happens in it: every seat may start a
        game in a fresh slot and need the next one at once.
        """
        return all(
            filler.pool.free >= 2 * seats
            for filler, seats in zip(self.fillers, self._seats, strict=True)
        )

    def rows_standing(self) -> int:
        """Valid rows in OPEN and PARKED slots."""
        seats = [seat for table in self.tables for seat in table.seats]
        return sum(
            filler.standing(seat for seat in seats if seat.role == role)
            for role, filler in enumerate(self.fillers)
        )

    @property
    def busy(self) -> bool:
        """A game is being played somewhere."""
        return len(self.idle) < len(self.tables)

    @property
    def in_motion(self) -> bool:
        """Actions are on their way or tables wait to be stepped: no cut may be made now."""
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
        for table in idle:
            plan = self._games.next_game(table.index)
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
        self._onlooker.begins(table)
        self._play(table, lambda: table.game.reset(plan.seed), "reset")

    def _step(self, table: Table) -> None:
        if table.steps >= self._max_decisions:
            self._spoil(
                table,
                EnvError(
                    f"{table.where} did not end within {self._max_decisions} decisions; end "
                    "it, or raise env.max_decisions"
                ),
            )
            return
        actions = table.take_actions()
        table.moves += 1
        self._play(table, lambda: table.game.step(actions), "step")

    def _play(self, table: Table, move: Callable[[], list[SeatTurn]], call: str) -> None:
        """Run the game's own code and take what it says. A game that raises is voided and
        rebuilt; the same error again and again ends the run.
        """
        try:
            turns = self.run_game(move, table, call)
            self._onlooker.sees(table, turns)
            acting = [turn for turn in turns if not turn.over]
            table.due = len(acting)
            for turn in turns:
                seat = table.seats[turn.seat]
                self.fillers[seat.role].take_turn(seat, turn)
            for turn in acting:
                self._ask(table, table.seats[turn.seat], turn)
            if not acting:
                self._finish(table)
        except EnvError as error:
            self._spoil(table, error)

    def _spoil(self, table: Table, error: EnvError) -> None:
        """A game went wrong: void it. Raises: EnvError when the same thing went wrong too often
        and nobody else counts.
        """
        if isinstance(error, EnvCrash) and table.crashes < MAX_CRASHES:
            table.crashes += 1
            self.void(table, f"voided: {error}")
            return
        place = raising_line(error)
        text = told(error)
        if self._on_error is not None:
            self._on_error(place, text)
        else:
            self._errors[place] += 1
            if self._errors[place] >= self._equal_errors:
                raise EnvError(text) from error
        self.void(table, f"voided: {error}")

    def _ask(self, table: Table, seat: Seat, turn: SeatTurn) -> None:
        plan = table.plan
        if table.moves < plan.opening_plies:
            rows = self.fillers[seat.role].rows
            rows.fingerprint([seat.slot], [seat.row], [origin(table, seat)])
            self._act(
                table, seat, opening_action(plan.opening_seed, table.moves, turn, rows.head_sizes)
            )
        else:
            self.waiting.setdefault((seat.policy, seat.role, plan.greedy), []).append((table, seat))

    def _act(self, table: Table, seat: Seat, action: tuple[int, ...]) -> None:
        seat.steps += 1
        table.steps += 1
        table.actions[seat.index] = action
        table.history.append(seat.index)
        table.history.extend(action)
        if len(table.actions) == table.due:
            self._ready.append(table)

    def _finish(self, table: Table) -> None:
        if table.steps == 0:
            raise EnvError(
                f"{table.where} was over before anybody could decide anything; a game needs "
                "at least one decision"
            )
        outcome = self.run_game(table.game.outcome, table, "outcome")
        table.crashes = 0
        if len(outcome.ranking) != len(table.seats) or len(outcome.points or table.seats) != len(
            table.seats
        ):
            raise EnvError(
                f"outcome() ranks {len(outcome.ranking)} seats; expected {len(table.seats)}, "
                "with points for all or for none"
            )
        points = outcome.points or (None,) * len(table.seats)
        for seat, place, own_points in zip(table.seats, outcome.ranking, points, strict=True):
            seat.place, seat.points = place, own_points
            self.fillers[seat.role].leave(seat)
        self._end(table, outcome.reason)

    def void(self, table: Table, reason: str) -> None:
        """Take a spoiled game back: its rows are rewound, its result does not count, its table
        gets a new game object.
        """
        self._onlooker.spoiled(table)
        for seat in table.seats:
            self._asked[seat.role].pop(seat.slot, None)
            self.fillers[seat.role].rewind(seat)
        for key, asking in self.waiting.items():
            self.waiting[key] = [(asker, seat) for asker, seat in asking if asker is not table]
        self.waiting = {key: asking for key, asking in self.waiting.items() if asking}
        self._ready = [other for other in self._ready if other is not table]
        self._end(table, reason)
        # A spoiled game may fail once more at its end; its table has done with it.
        with suppress(Exception):
            self._watched(table.game.close, table.index)
        table.game = self._watched(self._make_game, table.index)

    def _end(self, table: Table, reason: str) -> None:
        plan, history = table.plan, table.packed_history()
        trajectory = hashlib.blake2b(history, digest_size=8).hexdigest()
        frames = sum(seat.frames for seat in table.seats)
        records = tuple(seat.record() for seat in table.seats)
        end = GameEnd(
            table.index,
            plan,
            records,
            table.steps,
            frames,
            reason,
            trajectory,
            history if plan.record_actions else None,
        )
        self._onlooker.ends(end)
        self._send(end)
        table.seats = []
        self.idle.append(table)
        self._games.game_over(plan)

    def run_game(self, ask: Callable[[], T], table: Table, call: str) -> T:
        """Run a game's own code. Raises: EnvError for whatever it raises, which says where it
        happened.
        """
        try:
            return self._watched(ask, table.index)
        except EnvError:
            raise
        except (Exception, SystemExit) as error:
            raise EnvError(
                f"{table.where} raised {type(error).__name__} in {call}() after "
                f"{table.steps} decisions: {error}"
            ) from error

    def _watched(self, ask: Callable[[], T], number: int) -> T:
        if self._watch is None:
            return ask()
        self._watch(number)
        try:
            return ask()
        finally:
            self._watch(NO_TABLE)


def origin(table: Table, seat: Seat) -> tuple[int, int, int, int]:
    """Where the seat's present row comes from: (table, game count, seat, step)."""
    return table.index, table.plan.game_count, seat.index, seat.steps
