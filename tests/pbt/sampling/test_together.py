"""Tables that are stepped together stay apart: what goes wrong at one of them, and when."""

from collections.abc import Mapping

import gymnasium
import numpy as np
import pytest

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EngineError, EnvError
from pbt.records import PlayerRef
from pbt.sampling.history import History
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GameEnd,
    GamePlan,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.slab import Slab, role_layout
from tests.pbt.told_games import ends_of

TABLES, ROLLOUT = 3, 4
BOX = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
ROLES = tuple(Role(name, BOX, gymnasium.spaces.Discrete(5)) for name in ("left", "right"))


class Pair:
    """Two seats of two roles, which act at once for `length` moves.

    useless  seed -> the move at which the second seat is given nan as what it sees
    """

    roles, reward_terms = ROLES, ("reward",)
    seat_names, seat_roles = ("a", "b"), (0, 1)

    def __init__(self, length: int, useless: Mapping[int, int], fails: bool) -> None:
        self._length, self._useless, self._fails = length, useless, fails

    def reset(self, seed: int) -> list[SeatTurn]:
        self._moves, self._seed = 0, seed
        if self._fails:
            raise ValueError("no game here")
        return self._turns()

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._moves += 1
        return self._turns()

    def _turns(self) -> list[SeatTurn]:
        over, wrong = self._moves == self._length, self._useless.get(self._seed) == self._moves
        seen = [np.zeros(2, np.float32), np.full(2, np.nan if wrong else 0.0, np.float32)]
        return [SeatTurn(seat, seen[seat], None, (0.0,), over) for seat in range(2)]

    def outcome(self) -> Outcome:
        return Outcome((0, 0))

    def close(self) -> None: ...


class Play:
    """A worker at three tables whose two seats have policies of their own."""

    def __init__(
        self,
        *,
        length: int = 100,
        max_decisions: int = 1000,
        useless: Mapping[int, int] | None = None,
        fails: frozenset[int] = frozenset(),
    ) -> None:
        self.slabs = [Slab(role_layout(role, ("reward",), ROLLOUT, 0), 40) for role in ROLES]
        self.errors, self.long, self.counts = list[str](), list[str](), [0] * TABLES
        numbers = iter(range(10**6))
        self.worker = RolloutWorker(
            lambda: Pair(length, useless or {}, next(numbers) % TABLES in fails),
            Partition.whole(TABLES, [40, 40]),
            self.slabs,
            GamesFrom(self._next),
            1,
            max_decisions=max_decisions,
            on_error=lambda place, text: self.errors.append(text),
            on_long=self.long.append,
        )

    def _next(self, table: int) -> GamePlan | None:
        if self.counts[table] > 1:
            return None
        self.counts[table] += 1
        seats = tuple(SeatPlan(PlayerRef("member", f"m{seat}"), seat, 0, True) for seat in range(2))
        key = ("t", table, self.counts[table])
        return GamePlan(
            self.counts[table], "training", self.counts[table], seats, key, record_actions=True
        )

    def answer(self, request: ActionRequest) -> ActionsReady:
        at = request.slots, request.rows
        self.slabs[request.role].column["actions"][at] = 1 + request.role
        return ActionsReady(request.policy, request.role, *at, 1)

    def turns(self, count: int) -> list[WorkerMessage]:
        messages: list[WorkerMessage] = []
        for _ in range(count):
            for request in self.worker.requests():
                self.worker.receive(self.answer(request))
            messages += self.worker.advance()
        return messages

    @property
    def unaccounted(self) -> int:
        fillers = self.worker.fillers
        produced = sum(filler.produced for filler in fillers)
        dropped = sum(filler.dropped.total() for filler in fillers)
        return produced - dropped - self.worker.rows_standing()


PACKING = GamePacking([ActionSpec.of(role.action_space) for role in ROLES])


def actions(end: GameEnd) -> list[tuple[int, tuple[int, ...]]]:
    assert end.actions is not None
    return PACKING.unpack(end.actions)


def ends(messages: list[WorkerMessage]) -> list[GameEnd]:
    return ends_of(messages)


def test_a_move_that_was_begun_stands_in_the_game_that_is_voided() -> None:
    """One seat has acted and the other forfeits: the stored actions are all that were decided."""
    play = Play()
    play.turns(3)
    first, _ = play.worker.requests()
    play.worker.receive(play.answer(first))
    play.worker.void(1, "forfeited: b", (0, 1))
    (end,) = ends(play.worker.advance())
    assert end.steps == 7 and [seat.place for seat in end.seats] == [0, 1]
    assert actions(end) == [*[(0, (1,)), (1, (2,))] * 3, (0, (1,))]


def test_a_game_without_end_keeps_its_last_move() -> None:
    play = Play(max_decisions=8)
    voided = ends(play.turns(6))[:TABLES]
    assert [end.table for end in voided] == [0, 1, 2]
    for end in voided:
        assert end.steps == 8 and len(actions(end)) == 8 and "did not end within 8" in end.reason
    assert len(play.long) == 1, "only the first game that goes on for long is told of"


def test_an_answer_that_no_seat_waits_for_is_refused() -> None:
    play = Play()
    first, second = play.worker.requests()
    play.worker.void(2, "voided: as told")
    with pytest.raises(EngineError, match=r"actions came for slots \[\d+\] of role 0"):
        play.worker.receive(play.answer(first))
    seats, ready = play.worker.seats, play.answer(second)
    play = Play()
    first, second = play.worker.requests()
    play.worker.receive(ready := play.answer(second))
    with pytest.raises(EngineError, match="which asked for none"):
        play.worker.receive(ready)
    assert seats.steps.sum() == 0


def test_a_useless_number_of_one_seat_keeps_the_slots_of_both() -> None:
    """An observation is useless where the slots of both roles are full: neither is handed over."""
    play = Play(useless={1: ROLLOUT})
    messages = play.turns(ROLLOUT)
    assert not any(isinstance(message, SlotFull) for message in messages)
    assert len(ends(messages)) == TABLES and play.unaccounted == 0
    assert len(play.errors) == TABLES and "seat 1 (b): observation leaf" in play.errors[0]
    full = [one for one in play.turns(ROLLOUT + 1) if isinstance(one, SlotFull)]
    assert len(full) == 2 * TABLES, "the next games fill the slots"


def test_tables_wait_in_their_order_also_where_a_game_could_not_be_begun() -> None:
    play = Play(fails=frozenset({1}))
    play.counts[0] = 2
    play.worker.requests()
    assert play.worker.idle == [0, 1] and play.counts[2] == 1


def test_a_worker_needs_a_table() -> None:
    with pytest.raises(EngineError, match="a worker without tables"):
        RolloutWorker(
            lambda: Pair(1, {}, False), Partition.whole(0, [1, 1]), [], GamesFrom(lambda t: None), 1
        )


def test_a_choice_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(EnvError, match="an action is one of 70,000; expected at most 65,536"):
        History(1, [ActionSpec.of(gymnasium.spaces.Discrete(70_000))])


def test_a_long_game_takes_memory_by_itself() -> None:
    spec = ActionSpec.of(gymnasium.spaces.Discrete(5))
    history = History(1000, [spec])
    held = history._actions.nbytes
    for number in range(5000):
        history.add(np.array([7]), np.array([0]), np.array([[number % 5]]))
    assert history._actions.nbytes == held and history.count[7] == 5000
    assert history.flat(7) == [part for number in range(5000) for part in (0, number % 5)]
    history.clear(np.array([7]))
    assert history.packed(np.array([7])) == [b""] and not history._older
