"""What comes of games in whatever order they arrive."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from arena.matches.plan import MatchPlan, plan_match
from arena.matches.results import PlayedGames, duel_games
from arena.players.resolve import ResolvedPlayer
from arena.stats.sprt import SequentialTest, Sprt, log_likelihood_ratio
from pbt.envs.registry import spec
from pbt.records import GameRecord, PlayerRef, SeatRecord
from pbt.transport.messages import GameEnd, SeatPlan

A, B = PlayerRef("scripted", "oneply"), PlayerRef("scripted", "random")
STRONG = Sprt(0.0, 50.0)


def match_plan(games: int) -> MatchPlan:
    env = spec("connect_four")
    players = [ResolvedPlayer(ref, ref.name, "connect_four", {}) for ref in (A, B)]
    return plan_match(env, players, games, 1, greedy=False, batch=64)


def end(
    plan: MatchPlan, index: int, points: float, *, tries: int = 0, voided: bool = False
) -> GameEnd:
    """Game `index` with so many points for A."""
    sitting, planned = plan.game(index)
    own = sitting.index(0)
    places = [0, 0] if points == 0.5 else [int((seat == own) != (points == 1.0)) for seat in (0, 1)]
    seats = tuple(
        SeatRecord((A, B)[player], 0, 0, 0, place, 0.0)
        for player, place in zip(sitting, places, strict=True)
    )
    planned = planned._replace(
        game_count=index + tries * plan.games,
        seats=tuple(SeatPlan((A, B)[player], 0, 0, False) for player in sitting),
    )
    return GameEnd(
        index % 64,
        planned,
        seats,
        7,
        7,
        "voided: it fell over" if voided else "rules",
        f"{index:08x}",
        b"",
    )


def played(
    plan: MatchPlan, points: Sequence[float], order: Sequence[int], chunk: int = 7
) -> tuple[PlayedGames, list[GameRecord]]:
    kept: list[GameRecord] = []
    results = PlayedGames(plan, kept.append, sprt=STRONG)
    for first in range(0, len(order), chunk):
        for index in order[first : first + chunk]:
            results.take(end(plan, index, points[index]))
        results.settle()
        if results.complete:
            break
    return results, kept


def test_a_test_decides_in_the_order_planned_whatever_arrives_first() -> None:
    plan = match_plan(400)
    rng = np.random.default_rng(3)
    points = rng.choice([0.0, 0.5, 1.0], size=400, p=[0.3, 0.1, 0.6]).tolist()
    in_order, _ = played(plan, points, range(400), chunk=1)
    assert in_order.decided
    assert 0 < in_order.end < 400
    for seed in range(5):
        order = list(range(400))
        random.Random(seed).shuffle(order)
        shuffled, _ = played(plan, points, order)
        assert shuffled.test is not None and in_order.test is not None
        assert (shuffled.end, shuffled.test.llr, shuffled.test.state) == (
            in_order.end,
            in_order.test.llr,
            in_order.test.state,
        )
        assert list(shuffled.counted) == list(range(in_order.end))
        assert [record.trajectory_hash for record in shuffled.counted.values()] == [
            record.trajectory_hash for record in in_order.counted.values()
        ]


def test_a_decision_is_the_first_crossing_and_what_is_behind_it_is_not_looked_at() -> None:
    points = np.random.default_rng(1).choice(5, size=300, p=[0.1, 0.1, 0.3, 0.2, 0.3]) / 2
    counts = np.zeros(5)
    for one in points:
        counts[round(2 * one)] += 1
        llr = float(log_likelihood_ratio(counts, STRONG.elo0, STRONG.elo1))
        if STRONG.state(llr) != "continue":
            break
    at_once, one_by_one = SequentialTest(STRONG, 2), SequentialTest(STRONG, 2)
    at_once.look(points.tolist())
    for one in points.tolist():
        one_by_one.look([one])
    for test in (at_once, one_by_one):
        assert test.sums.tolist() == counts.tolist()
        assert test.llr == pytest.approx(llr)
        assert test.state != "continue"


def test_only_whole_pairs_are_kept_and_each_once() -> None:
    plan = match_plan(8)
    kept: list[GameRecord] = []
    results = PlayedGames(plan, kept.append)
    for index in (0, 2, 3, 5, 3, 2):
        results.take(end(plan, index, 1.0))
    assert [record.number for record in kept] == [2, 3] == list(results.counted)
    assert results.left_out == 2
    assert results.whole
    assert not results.complete
    assert results.changed == 0


def test_a_voided_try_is_kept_at_once_and_counted_apart() -> None:
    plan = match_plan(4)
    kept: list[GameRecord] = []
    results = PlayedGames(plan, kept.append)
    results.take(end(plan, 1, 1.0, voided=True))
    results.take(end(plan, 0, 1.0))
    results.take(end(plan, 1, 0.0, tries=1))
    assert [record.number for record in kept] == [1, 0, 5]
    assert results.errors == ("voided: it fell over",)
    assert results.tries[1] == 1
    again = PlayedGames(plan, lambda record: pytest.fail("kept twice"), kept)
    assert (again.errors, again.tries, sorted(again.games)) == (
        results.errors,
        results.tries,
        [0, 1],
    )
    again.take(end(plan, 0, 1.0))
    assert again.changed == 0


def test_games_that_come_out_otherwise_are_counted_and_the_kept_ones_stand() -> None:
    plan = match_plan(4)
    kept: list[GameRecord] = []
    results = PlayedGames(plan, kept.append)
    for index in (0, 1):
        results.take(end(plan, index, 1.0))
    again = PlayedGames(plan, kept.append, list(kept))
    again.take(end(plan, 0, 0.0)._replace(trajectory_hash="ff"))
    assert again.changed == 1
    assert [game.points for game in duel_games(plan, again.counted)] == [1.0, 1.0]
