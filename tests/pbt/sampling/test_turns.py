"""A worker's turn in pieces: answers one by one, slots that run out, games watched from outside."""

from collections.abc import Mapping

import gymnasium
import numpy as np
import pytest

from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EngineError
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import PlayerRef
from pbt.sampling.game_code import NO_TABLE
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, RolloutPermit, SeatPlan, SlotFull
from pbt.transport.slab import Slab, role_layout
from tests.pbt.told_games import ends_of

T = 2
ROLE = Role("player", gymnasium.spaces.Box(0, 100, (1,), np.float32), gymnasium.spaces.Discrete(2))


class Both:
    """Two seats act together, six times."""

    roles, reward_terms, seat_roles, seat_names = (ROLE,), ("reward",), (0, 0), ("a", "b")

    def reset(self, seed: int) -> list[SeatTurn]:
        self._left = 6
        return self._turns()

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        assert set(actions) == {0, 1}
        self._left -= 1
        return self._turns()

    def _turns(self) -> list[SeatTurn]:
        return [
            SeatTurn(seat, np.zeros(1), None, (0.0,), terminated=self._left == 0) for seat in (0, 1)
        ]

    def outcome(self) -> Outcome:
        return Outcome((0, 0))

    def close(self) -> None:
        pass


class Tables:
    """A worker of tables 3 and 5, whose seats play policies 0 and 1; `games` per table."""

    def __init__(self, slots: int = 40, games: int = 1) -> None:
        self.slab = Slab(role_layout(ROLE, ("reward",), T, 0), 100 + slots)
        self.server = PolicyServer([self.slab], 2)
        for policy in (0, 1):
            self.server.attach(
                policy,
                ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), 1), np.int64)),
            )
        self._left = dict.fromkeys((3, 5), games)
        self.seen: list[int] = []
        share = Partition((3, 5), (range(100, 100 + slots),))
        self.worker = RolloutWorker(
            Both, share, [self.slab], GamesFrom(self._plan), 1, on_game_code=self.seen.append
        )

    def _plan(self, table: int) -> GamePlan | None:
        if not self._left[table]:
            return None
        self._left[table] -= 1
        seats = tuple(
            SeatPlan(PlayerRef("member", f"m{policy}"), policy, 0, True) for policy in (0, 1)
        )
        return GamePlan(self._left[table], "training", 1, seats, ("noise", table))


def test_answers_may_come_one_by_one_and_a_table_moves_when_it_has_all_of_its_own() -> None:
    tables = Tables()
    worker = tables.worker
    first, second = worker.requests()
    assert worker.asking.outstanding == 4 and worker.requests() == [], (
        "what was asked is not asked again"
    )
    worker.receive(tables.server.serve(first))
    worker.advance()
    assert (
        worker.asking.outstanding == 2
        and worker.requests() == []
        and {table.moves for table in worker.tables} == {0}
    )
    worker.receive(
        tables.server.serve(
            second._replace(
                **{name: getattr(second, name)[:1] for name in ("slots", "rows", "keys", "steps")}
            )
        )
    )
    worker.advance()
    assert [table.moves for table in worker.tables] == [1, 0] and worker.asking.outstanding == 1
    again = worker.requests()
    assert [request.policy for request in again] == [0, 1] and worker.asking.outstanding == 3, (
        "the table that moved asks while the other waits"
    )
    assert set(worker.seats.slot[list(worker.tables[0].seats)].tolist()) == {
        int(slot) for request in again for slot in request.slots
    }


def test_games_keep_the_tables_number_of_the_whole_run_and_slots_the_share() -> None:
    tables = Tables()
    messages = []
    for _ in range(8):
        for request in tables.worker.requests():
            assert request.slots.min() >= 100
            tables.worker.receive(tables.server.serve(request))
        messages += tables.worker.advance()
    assert sorted(end.table for end in ends_of(messages)) == [3, 5]
    full = [message.slot for message in messages if isinstance(message, SlotFull)]
    assert len(full) == 12 and set(tables.slab.column["origin"][full][..., 0].ravel()) == {3, 5}


def test_weights_are_not_replaced_while_an_answer_is_on_its_way() -> None:
    tables = Tables()
    request, *_ = tables.worker.requests()
    with pytest.raises(
        EngineError, match="policy 0 got another generation while 4 actions were on their way"
    ):
        tables.worker.regenerate(0, 1)
    assert len(request.slots) == 2


@pytest.mark.parametrize("drop", ["void", "regenerate"])
def test_rows_that_are_dropped_are_marked_valid_no_more(drop: str) -> None:
    """Readers of the slots, such as a checkpoint, count the rows that stand and no others."""
    tables = Tables()
    worker = tables.worker
    for request in worker.requests():
        worker.receive(tables.server.serve(request))
    assert all(not isinstance(message, SlotFull) for message in worker.advance()), (
        "every row still stands here"
    )
    assert int(tables.slab.column["valid"].sum()) == worker.rows_standing() > 0
    if drop == "void":
        worker.void(0, "voided: as told")
    else:
        worker.regenerate(0, 1)
    (filler,) = worker.fillers
    assert (
        filler.dropped.total() > 0
        and filler.produced == filler.dropped.total() + worker.rows_standing()
    )
    assert int(tables.slab.column["valid"].sum()) == worker.rows_standing()


@pytest.mark.parametrize("slots", [12, 14, 21, 33])
def test_a_worker_whose_slots_are_all_away_stands_still_until_some_come_back(slots: int) -> None:
    """Every turn that `can_turn` allows finds the slots it needs, whatever the seats do in it."""
    tables = Tables(slots, games=1000)
    worker, away = tables.worker, list[SlotFull]()
    pool = worker.fillers[0].pool
    for wave in range(20):
        turns = 0
        while worker.can_turn:
            for request in worker.requests():
                worker.receive(tables.server.serve(request))
            away += [message for message in worker.advance() if isinstance(message, SlotFull)]
            turns += 1
        assert away and pool.free < 8
        assert turns or wave
        for full in away[: 1 + wave % len(away)]:
            worker.permit(RolloutPermit(0, full.slot))
        del away[: 1 + wave % len(away)]
    for full in away:
        worker.permit(RolloutPermit(0, full.slot))
    # Four seats sit in slots of their own, or in none between two games.
    assert pool.free >= slots - 4 and worker.can_turn == (pool.free >= 8)


def test_the_number_of_a_table_is_told_around_everything_its_game_does() -> None:
    tables = Tables()
    assert tables.seen == [3, NO_TABLE, 5, NO_TABLE], "games are made"
    for _ in range(8):
        for request in tables.worker.requests():
            tables.worker.receive(tables.server.serve(request))
        tables.worker.advance()
    # made, reset, six steps, outcome
    assert tables.seen.count(3) == tables.seen.count(5) == 9
    assert tables.seen[1::2] == [NO_TABLE] * 18
