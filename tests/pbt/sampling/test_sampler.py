"""The sampler with one group does what the serial loop does.

With several groups, and answers in any order, every game is played as it would be alone.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbt.envs.contract import SeatTurn
from pbt.errors import EngineError
from pbt.inference.client import Inference, LocalInference
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.inference.remote import RemoteInference
from pbt.records import PlayerRef
from pbt.sampling.sampler import Sampler
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import (
    ActionRequest,
    GamePlan,
    RolloutPermit,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.process_board import ProcessBoard
from pbt.transport.slab import Slab
from tests.pbt.inference.serving import LAYOUT, MAKE_GAME, MEMBERS, Plane, load, plane
from tests.pbt.sampling.groups import (
    POLICIES,
    Hesitant,
    games,
    give_back,
    groups_of,
    networks,
    no_row,
)
from tests.pbt.told_games import ends_of


def test_one_group_with_local_inference_is_the_serial_turn() -> None:
    """The same messages in the same order from every turn, the same bits in the slab."""
    slabs = [Slab(LAYOUT, 150) for _ in range(2)]
    (plain,), (group,) = (groups_of(slab, [10], games()) for slab in slabs)
    servers = [networks(slab) for slab in slabs]
    sampler = Sampler([group], LocalInference(servers[1], load), no_row())
    ended = 0
    for _ in range(120):
        for request in plain.requests():
            plain.receive(servers[0].serve(request))
        expected, found = plain.advance(), sampler.turn(1.0)
        assert expected == found and sampler.at_rest() and not sampler.stalled
        for message in expected:
            if isinstance(message, SlotFull):
                plain.permit(RolloutPermit(message.role, message.slot))
            ended += len(ends_of([message]))
        give_back(sampler, found)
    assert all(
        slabs[0].column[name].tobytes() == slabs[1].column[name].tobytes()
        for name in slabs[0].column
    )
    assert ended > 100


def test_local_inference_attaches_and_detaches() -> None:
    server = PolicyServer([Slab(LAYOUT, 2)], 1)
    inference: Inference = LocalInference(server, load)
    inference.attach_player(0, PlayerRef("scripted", "random"), 0)
    none = np.zeros(0, np.int64)
    request = ActionRequest(0, 0, none, none, none.astype(np.uint64), none.astype(np.uint64), False)
    inference.send(4, [request])
    assert (inference.outstanding(4), inference.outstanding(0)) == (1, 0)
    assert [group for group, _ in inference.poll(9.0)] == [4] and inference.outstanding(4) == 0
    inference.detach(0)
    with pytest.raises(EngineError, match="not attached"):
        inference.send(0, [request])


def last_legal(seen: Any, mask: Any, uniforms: Any) -> Any:
    """Actions that depend on their own row only, neither on other rows nor on their order."""
    legal = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
    return np.where(uniforms[:, 0] < 0.5, legal, np.argmax(mask, axis=1))[:, None]


def scripted(slab: Slab) -> PolicyServer:
    server = PolicyServer([slab], POLICIES)
    for policy in range(POLICIES):
        server.attach(policy, ScriptedPolicy(last_legal))
    return server


def played(messages: list[WorkerMessage]) -> dict[tuple[int, int], str]:
    ends = ends_of(messages)
    return {
        (
            end.table,
            end.plan.game_count,
        ): f"{end.trajectory_hash} {[seat.place for seat in end.seats]} {end.frames}"
        for end in ends
    }


@settings(max_examples=25)
@given(
    tables=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    choices=st.lists(st.integers(0, 99), min_size=30, max_size=200),
    burst=st.integers(1, 3),
)
def test_in_whatever_order_answers_come_games_stay_the_same(
    tables: list[int], choices: list[int], burst: int
) -> None:
    slab = Slab(LAYOUT, 300)
    server = scripted(slab)
    groups = groups_of(slab, tables, games())
    inference = Hesitant(server)
    sampler = Sampler(groups, inference, no_row())
    messages: list[WorkerMessage] = []
    for choice in choices:
        for _ in range(burst):
            if inference.kept:
                inference.let(choice)
        new = sampler.turn(1.0)
        assert sampler.at_rest() == (not any(group.asking.outstanding for group in groups))
        give_back(sampler, new)
        messages += new
    inference.let_all()
    messages += sampler.drain(1.0)
    assert sampler.at_rest() and not any(group.in_motion for group in groups)
    alone = Slab(LAYOUT, 300)
    reference = Sampler(
        groups_of(alone, [sum(tables)], games()), LocalInference(scripted(alone), load), no_row()
    )
    expected: list[WorkerMessage] = []
    for _ in range(len(choices) + 5):
        new = reference.turn(1.0)
        give_back(reference, new)
        expected += new
    found = played(messages)
    assert found.items() <= played(expected).items()


def test_a_group_plays_on_while_another_waits() -> None:
    slab = Slab(LAYOUT, 200)
    inference = Hesitant(networks(slab))
    sampler = Sampler(groups_of(slab, [4, 4], games()), inference, no_row())
    sampler.turn(1.0)
    sampler.turn(1.0)
    assert inference.outstanding(0) and inference.outstanding(1)
    for _ in range(20):
        while any(group == 1 for group, _ in inference.kept):
            inference.let(
                next(place for place, (group, _) in enumerate(inference.kept) if group == 1)
            )
        sampler.turn(1.0)
    moves = [sum(table.plan.game_count for table in group.tables) for group in sampler.groups]
    assert inference.outstanding(0) and moves[1] > moves[0] == 4


def test_a_new_generation_waits_for_rows_on_their_way() -> None:
    """It comes before any new request; a group at rest gets it at once."""
    slab = Slab(LAYOUT, 200)
    inference = Hesitant(networks(slab))
    sampler = Sampler(groups_of(slab, [3, 3], games(openings=0)), inference, no_row())
    told: list[tuple[int, int, int]] = []
    for index, group in enumerate(sampler.groups):
        plain = group.regenerate

        def regenerate(
            policy: int,
            generation: int,
            *,
            index: int = index,
            plain: Callable[[int, int], None] = plain,
        ) -> None:
            told.append((index, policy, generation))
            plain(policy, generation)

        group.regenerate = regenerate  # type: ignore[method-assign]
    sampler.turn(1.0)
    sampler.play(0)
    while any(group == 1 for group, _ in inference.kept):
        inference.let(next(place for place, (group, _) in enumerate(inference.kept) if group == 1))
    sampler.turn(1.0)
    assert inference.outstanding(0) and not inference.outstanding(1)
    sampler.regenerate(1, 4)
    assert told == [(1, 1, 4)]
    sampler.regenerate(1, 5)
    sampler.regenerate(0, 2)
    sampler.play(None)
    sampler.turn(1.0)
    assert told == [(1, 1, 4), (1, 1, 5), (1, 0, 2)]
    inference.let_all()
    sampler.turn(1.0)
    assert told[3:] == [(0, 1, 5), (0, 0, 2)], "of two generations the newer"
    seats = sampler.groups[0].seats
    own = seats.policy[seats.learning], seats.generation[seats.learning]
    seated = set(zip(*(column.tolist() for column in own), strict=True))
    assert seated and seated <= {(1, 5), (0, 2)}


def test_the_board_says_where_the_time_goes() -> None:
    slab, board = Slab(LAYOUT, 100), ProcessBoard(1)
    sampler = Sampler(
        groups_of(slab, [3], games()), LocalInference(networks(slab), load), board.row(0)
    )
    started = time.monotonic()
    for _ in range(20):
        sampler.turn(1.0)
    passed, row = time.monotonic() - started, board.row(0).read()
    assert (
        0.9 * passed < row["simulate_s"] + row["infer_s"] + row["wait_s"] <= passed
        and started < row["beat_s"]
    )
    assert row["simulate_s"] > 0 < row["infer_s"] and row["wait_s"] < 0.1 * passed
    assert board.row(0).phase == "simulating"


class SlowGame:
    """Tic-tac-toe whose moves take a while, as those of an engine do."""

    def __init__(self) -> None:
        self._game = MAKE_GAME()
        self.outcome, self.close = self._game.outcome, self._game.close
        self.roles, self.reward_terms = self._game.roles, self._game.reward_terms
        self.seat_names, self.seat_roles = self._game.seat_names, self._game.seat_roles

    def reset(self, seed: int) -> list[SeatTurn]:
        return self._game.reset(seed)

    def step(self, actions: dict[int, tuple[int, ...]]) -> list[SeatTurn]:
        time.sleep(2e-3)
        return self._game.step(actions)


def wait_share(shared: Plane, groups: int) -> float:
    """Share of time spent waiting, by 12 slow tables in `groups` groups with a late server."""
    inference = RemoteInference(0, MEMBERS, [shared.requests], shared.replies)
    one = GamesFrom(
        lambda table: GamePlan(
            0, "training", 1, (SeatPlan(PlayerRef("member", "m0"), 0, 0, False),) * 2, ("n", table)
        )
    )
    sampler = Sampler(
        groups_of(shared.slab, [12 // groups] * groups, one, SlowGame),
        inference,
        shared.board.row(0),
    )
    spent: list[dict[str, float]] = []
    for turns in (5, 30):
        for _ in range(turns * groups):
            sampler.turn(10.0)
        spent.append(shared.board.row(0).read())
    sampler.drain(10.0)
    assert sampler.at_rest()
    wait, simulate, infer = (
        spent[1][name] - spent[0][name] for name in ("wait_s", "simulate_s", "infer_s")
    )
    return wait / (wait + simulate + infer)


def test_two_groups_hide_the_wait_for_actions() -> None:
    """Answers come 5 ms late, and a turn of all tables takes 24 ms of their engines."""
    with plane("sockets", 100, delay_s=5e-3) as shared:
        single, double = wait_share(shared, 1), wait_share(shared, 2)
    assert single > 0.1
    assert double <= 0.5 * single, f"wait share {single:.3f} with one group, {double:.3f} with two"
