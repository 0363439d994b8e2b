"""A group of games in C does for a worker what the same games in Python do."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.twins import TWINS
from pbt.envs.contract import Game, SeatTurn
from pbt.envs.native_games import NativeGame, NativeRules
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import GameRecord, PlayerRef
from pbt.sampling.filming import GameObserver
from pbt.sampling.looped_games import LoopedGames
from pbt.sampling.native_group import NativeGroup
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.sampling.table import Table
from pbt.transport.messages import (
    GameEnd,
    GamePlan,
    GamesOver,
    RolloutPermit,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.slab import Slab, role_layout
from tests.pbt.told_games import ends_of

TABLES, TURNS = 5, 250


class Looking(GameObserver):
    """Notes what it is shown."""

    looks = True

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.ended: list[GameEnd] = []

    def ends(self, end: GameEnd) -> None:
        self.ended.append(end)

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        for turn in turns:
            mask = None if turn.over or turn.mask is None else turn.mask.tolist()
            facts = turn.seat, list(turn.rewards), turn.over, turn.tics
            seen = None if turn.observation is None else turn.observation.tobytes()
            self.seen.append((table.index, *facts, seen, mask))


@pytest.fixture(params=TWINS)
def rules(request: pytest.FixtureRequest) -> NativeRules:
    found = TWINS[request.param][0]
    if found.code() is None:
        pytest.skip("there is no C compiler here")
    return found


def counted(table: int, count: int) -> GamePlan:
    """Games with and without openings, of players that learn and do not."""
    seats = tuple(
        SeatPlan(PlayerRef("member", "m0"), 0, 0, (table + count + seat) % 3 > 0)
        for seat in range(2)
    )
    key = ("t", table, count)
    return GamePlan(
        count, "training", 7, seats, key, count % 3, table, record_actions=count % 2 > 0
    )


def played(
    make: Callable[[], Game], act: Any | None = None
) -> tuple[RolloutWorker, Slab, Looking, list[WorkerMessage]]:
    game, counts = make(), [0] * TABLES

    def next_game(table: int) -> GamePlan:
        counts[table] += 1
        return counted(table, counts[table])

    layout = role_layout(game.roles[0], game.reward_terms, 4, 0)
    slab, observer = Slab(layout, 12 * TABLES), Looking()
    server = PolicyServer([slab], 1)
    server.attach(0, ScriptedPolicy(act or layout.actions.random_act))
    share = Partition.whole(TABLES, [slab.slots])
    worker = RolloutWorker(
        make, share, [slab], GamesFrom(next_game), 1, equal_errors=10**6, observer=observer
    )
    messages: list[WorkerMessage] = []
    for _ in range(TURNS):
        for request in worker.requests():
            worker.receive(server.serve(request))
        for message in worker.advance():
            messages.append(message)
            if isinstance(message, SlotFull):
                worker.permit(RolloutPermit(message.role, message.slot))
    return worker, slab, observer, messages


def test_messages_rows_and_what_is_shown_are_those_of_the_twin(rules: NativeRules) -> None:
    native = played(lambda: NativeGame(rules))
    twin = played(TWINS[rules.name][1])
    assert isinstance(native[0].group, NativeGroup) and isinstance(twin[0].group, LoopedGames)
    assert native[3] == twin[3] and len(ends_of(native[3])) > TABLES
    assert native[2].seen == twin[2].seen
    # Games that were told together have the records that they have alone.
    told = list[GameRecord]()
    for message in native[3]:
        if isinstance(message, GamesOver):
            told += message.records(len(told))
        elif isinstance(message, GameEnd):
            told.append(message.record(len(told)))
    assert told == [end.record(number) for number, end in enumerate(native[2].ended)]
    assert {record.actions is None for record in told} == {True, False}
    for name, column in native[1].column.items():
        np.testing.assert_array_equal(column, twin[1].column[name], err_msg=name)


def test_a_forbidden_action_voids_its_game_and_nothing_is_shown_of_it(rules: NativeRules) -> None:
    """The last row of every request gets such an action, so the other tables play on."""

    def act(seen: Any, mask: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        chosen = np.argmax(mask, axis=1)[:, None]
        chosen[-1] = 10**6
        return chosen

    worker, _, observer, messages = played(lambda: NativeGame(rules), act)
    ends = ends_of(messages)
    voided = [end for end in ends if end.reason.startswith("voided")]
    assert len(voided) >= TURNS // 2 and all("which the rules forbid" in e.reason for e in voided)
    for end in voided:
        assert end.reason.startswith(f"voided: game {end.plan.game_count} at table {end.table} ")
    assert {seat for _, seat, *_ in observer.seen} == {0, 1}
    (filler,) = worker.fillers
    assert filler.produced == filler.dropped.total() + worker.rows_standing() + sum(
        4 for one in messages if isinstance(one, SlotFull)
    )
