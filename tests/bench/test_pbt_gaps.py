"""The measurement of equal members finds what was put into it."""

import math
import random

import pytest

from bench.pbt_demo import runs, strength
from bench.pbt_gaps import Pair, _of_games, summary
from pbt.population.comparison import compare
from pbt.records import GameRecord, PlayerRef, SeatRecord
from tests.pbt.population.rounds import score_games


def test_what_games_do_not_explain_is_left() -> None:
    """20 runs of 30 pairs: gaps of a standard deviation of 0.03 beside an error of 0.02."""
    rng = random.Random(5)
    pairs = [
        Pair(
            f"equal-{run}", 1, 70_000, "m0", "m1", rng.gauss(0.0, math.hypot(0.03, 0.02)), 0.02, 1.0
        )
        for run in range(20)
        for _ in range(30)
    ]
    figures = summary(pairs)
    assert figures["equals_sd"] == pytest.approx(0.03, abs=0.003)
    low, high = figures["equals_sd_interval"]
    assert low < figures["equals_sd"] < high < 0.036
    assert figures["overdispersion"] == pytest.approx(1 + 0.03**2 / 0.02**2, rel=0.15)
    assert figures["tail"]["beyond_2"] == pytest.approx(0.0455, abs=0.03)
    alike = [pair._replace(gap=rng.gauss(0.0, 0.02)) for pair in pairs]
    assert summary(alike)["equals_sd"] < 0.008


def game(number: int, member: str, won: bool) -> GameRecord:
    seats = (
        SeatRecord(PlayerRef("member", member), 0, 0, 0, 0 if won else 1, 0.0),
        SeatRecord(PlayerRef("snapshot", "s"), 0, 0, 0, 1 if won else 0, 0.0),
    )
    return GameRecord(number, 0, number, "training", 1, seats, 2, 2, "rules", "")


@pytest.mark.parametrize(("length", "low", "high"), [(1, 0.5, 1.7), (40, 8.0, 80.0)])
def test_blocks_of_time_show_games_that_depend_on_each_other(
    length: int, low: float, high: float
) -> None:
    """Results come in runs of `length` equal ones; games have numbers with gaps between them."""
    rng, games = random.Random(2), []
    won = {"m0": False, "m1": False}
    for place in range(8000):
        member = ("m0", "m1")[place % 2]
        if place // 2 % length == 0:
            won[member] = rng.random() < 0.5
        games.append(game(3 * place, member, won[member]))
    a, b = (score_games(name, games, "win", "against") for name in ("m0", "m1"))
    found = _of_games(games, a, b, compare(a, b, "win"), 50)
    assert found is not None and low < found < high


def test_runs_come_in_turn_and_strength_is_judged_over_runs() -> None:
    assert runs(3, 1) == [("equal", 1), ("spread", 1), ("equal", 2), ("equal", 3)]
    even = strength([[0.5, 0.52], [0.5, 0.48]], 400)
    assert even["elo"][0] == 0.0 and even["elo"][1] < 0.0 < even["elo"][2]
    assert strength([[0.6, 0.6], [0.6, 0.6]], 4000)["not_inferior"]
    assert not strength([[0.4, 0.4], [0.4, 0.4]], 4000)["not_inferior"]
