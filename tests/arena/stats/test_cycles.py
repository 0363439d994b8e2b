"""Win matrix, cycles and the cyclic share, against what is known of made-up leagues."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binomtest

from arena.stats.bradley_terry import PairResult
from arena.stats.cycles import cyclic_share, significant_cycles, superior
from arena.stats.win_matrix import WinMatrix, win_matrix
from pbt.errors import EngineError
from tests.arena.stats.test_bradley_terry import leagues, plain

ROCK_PAPER_SCISSORS = [
    PairResult(a, b, 30.0, 0.0, 0.0)
    for a, b in (("rock", "scissors"), ("scissors", "paper"), ("paper", "rock"))
]


def league(
    log_odds: NDArray[np.float64], games: int, rng: np.random.Generator | None
) -> WinMatrix[int]:
    """All players against all others, `games` each; without a generator exactly by the odds."""
    results = []
    for i, j in itertools.combinations(range(len(log_odds)), 2):
        win = float(expit(log_odds[i, j]))
        wins = float(rng.binomial(games, win)) if rng else games * win
        results.append(PairResult(i, j, wins, 0.0, games - wins))
    return win_matrix(results)


def rated(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    return strength[:, None] - strength[None, :]


def test_rock_paper_scissors_are_three_equal_ratings_and_one_cycle() -> None:
    against_random = [
        PairResult(a, "random", 10.0, 0.0, 10.0) for a in ("rock", "paper", "scissors")
    ]
    ratings = plain(ROCK_PAPER_SCISSORS + against_random, "random")
    assert ratings.elo == pytest.approx([0.0] * 4, abs=1e-6)
    matrix = win_matrix(ROCK_PAPER_SCISSORS + against_random)
    cycles = significant_cycles(matrix)
    assert [(cycle.a, cycle.b, cycle.c) for cycle in cycles] == [("rock", "scissors", "paper")]
    assert cycles[0].p == pytest.approx(2.0**-30 * 12, rel=0.2)
    share = cyclic_share(matrix)
    assert share.share == pytest.approx(1.0)
    assert share.p < 1e-4


def test_the_matrix_counts_games_from_both_sides() -> None:
    matrix = win_matrix(
        [
            PairResult("a", "b", 3, 2, 1),
            PairResult("b", "a", 1, 0, 0),
            PairResult("c", "a", 0, 4, 0),
        ]
    )
    assert matrix.players == ("a", "b", "c")
    assert matrix.games.tolist() == [[0, 7, 4], [7, 0, 0], [4, 0, 0]]
    assert matrix.score == pytest.approx(
        np.array([[0.5, 4 / 7, 0.5], [3 / 7, 0.5, 0.5], [0.5, 0.5, 0.5]])
    )
    assert win_matrix([PairResult("a", "b", 3, 2, 1)], players=["c", "b"]).games.tolist() == [
        [0, 0],
        [0, 0],
    ]
    assert win_matrix([]).score.shape == (0, 0)
    for bad in (
        PairResult("a", "a", 1, 0, 0),
        PairResult("a", "b", -1, 0, 0),
        PairResult("a", "b", math.nan, 0, 0),
    ):
        with pytest.raises(EngineError, match="expected two players and finite counts"):
            win_matrix([bad])


def test_p_is_the_sign_test_with_holms_correction() -> None:
    """Three pairs make six hypotheses; draws decide nothing."""
    matrix = win_matrix(
        [
            PairResult("a", "b", 20, 9, 4),
            PairResult("b", "c", 15, 0, 5),
            PairResult("c", "a", 11, 3, 10),
        ]
    )
    raw = [
        binomtest(wins, wins + losses, alternative="greater").pvalue
        for wins, losses in ((20, 4), (15, 5), (11, 10))
    ]
    found = superior(matrix)
    assert found[0, 1] == pytest.approx(6 * raw[0])
    assert found[1, 2] == pytest.approx(5 * raw[1])
    assert (found[2, 0], found[0, 2]) == (1.0, 1.0)
    assert np.all(np.diag(found) == 1)


def test_a_ladder_has_no_cycle_and_chance_makes_few() -> None:
    ladder = league(rated(np.arange(6) * 0.8), 200, np.random.default_rng(3))
    assert significant_cycles(ladder) == []
    rng = np.random.default_rng(4)
    flagged = sum(
        bool(significant_cycles(league(np.zeros((8, 8)), 50, rng), level=0.05)) for _ in range(200)
    )
    assert flagged == 0


def test_every_cycle_of_a_tournament_is_listed_once() -> None:
    """Five players in a circle, each beating the next two, make n (n^2 - 1) / 24 = 5 cycles.

    No tournament of five players has more.
    """
    odds = np.array(
        [
            [0 if i == j else 2.0 if (j - i) % 5 in (1, 2) else -2.0 for j in range(5)]
            for i in range(5)
        ]
    )
    cycles = significant_cycles(league(odds, 200, None))
    assert len(cycles) == 5
    assert len({frozenset((cycle.a, cycle.b, cycle.c)) for cycle in cycles}) == 5
    for cycle in cycles:
        assert (cycle.b - cycle.a) % 5 in (1, 2)
        assert (cycle.c - cycle.b) % 5 in (1, 2)
        assert (cycle.a - cycle.c) % 5 in (1, 2)


def test_the_share_of_a_known_mixture() -> None:
    """Ratings 0.1, 0, -0.1 and a cycle of 0.1 have a known share.

    The share is 3 * 0.01 of 3 * 0.01 + 0.01 + 0.01 + 0.04, as all pairs are near even and so
    weighted alike.
    """
    circle = np.array([[0.0, 0.1, -0.1], [-0.1, 0.0, 0.1], [0.1, -0.1, 0.0]])
    found = cyclic_share(league(rated(np.array([0.1, 0.0, -0.1])) + circle, 10_000_000, None))
    assert found.share == pytest.approx(1 / 3, abs=0.003)
    assert found.p < 1e-9


def test_the_share_is_that_of_plain_least_squares_where_chance_is_out_of_play() -> None:
    rng = np.random.default_rng(5)
    odds = np.triu(rng.normal(0, 1, (7, 7)), 1)
    odds -= odds.T
    games = 10_000_000
    first, second = np.triu_indices(7, 1)
    design = np.zeros((len(first), 7))
    design[np.arange(len(first)), first], design[np.arange(len(first)), second] = 1, -1
    flow = odds[first, second]
    root = np.sqrt(games * expit(flow) * expit(-flow))
    strength = np.linalg.lstsq(design * root[:, None], flow * root, rcond=None)[0]
    residual, total = np.sum((root * (flow - design @ strength)) ** 2), np.sum((root * flow) ** 2)
    assert cyclic_share(league(odds, games, None)).share == pytest.approx(
        residual / total, abs=1e-4
    )


def test_ratings_far_apart_are_no_circle() -> None:
    """100-0 of the best against the worst is not cyclic, though the games do not show its odds."""
    for gap in (0.5, 2.0, 5.0, 20.0):
        found = [
            cyclic_share(league(rated(np.arange(6) * gap), 100, np.random.default_rng(seed)))
            for seed in range(40)
        ]
        assert float(np.mean([result.share for result in found])) < 0.02
        assert sum(result.p < 0.01 for result in found) <= 3


@pytest.mark.parametrize("gap", [1.0, 3.0, 4.6, 8.0])
def test_a_pair_that_never_surprises_is_no_circle(gap: float) -> None:
    """The virtual game of each pair goes as the ratings expect.

    With a drawn virtual game instead, six players 4.6 apart would have a share of 0.18 with
    p = 1e-8.
    """
    found = cyclic_share(league(rated(np.arange(6) * gap), 100, None))
    assert found.share < 0.01
    assert found.p > 0.2


def test_chance_is_judged_with_draws_too() -> None:
    """Half of all games drawn, the rest as a ladder says: of 400 leagues some 5 % have p < 0.05."""
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(400):
        results = []
        for i, j in itertools.combinations(range(6), 2):
            score = float(expit(0.3 * (i - j)))
            win = max(score - 0.25, 0.02)
            wins, draws, losses = rng.multinomial(
                400, [win, 2 * (score - win), 1 - 2 * score + win]
            )
            results.append(PairResult(i, j, float(wins), float(draws), float(losses)))
        alarms += cyclic_share(win_matrix(results)).p < 0.05
    print(f"ladder with draws: {alarms} of 400 leagues have p < 0.05")
    assert 8 <= alarms <= 33


def test_equal_players_are_no_circle() -> None:
    rng = np.random.default_rng(6)
    found = [cyclic_share(league(np.zeros((6, 6)), 40, rng)) for _ in range(300)]
    alarms = sum(result.p < 0.05 for result in found)
    print(f"equal players: {alarms} of 300 leagues have p < 0.05")
    assert alarms <= 27


@given(leagues())
@settings(max_examples=60, deadline=None)
def test_nothing_is_ever_nan(results: list[PairResult[str]]) -> None:
    matrix = win_matrix(results)
    found = cyclic_share(matrix)
    assert 0 <= found.share <= 1
    assert 0 <= found.p <= 1
    assert np.all(np.isfinite(superior(matrix)))
    assert all(math.isfinite(cycle.p) for cycle in significant_cycles(matrix, 0.5))


def test_leagues_too_small_for_a_circle() -> None:
    for results in (
        [],
        [PairResult("a", "b", 5, 0, 0)],
        [PairResult("a", "b", 5, 0, 0), PairResult("c", "d", 0, 7, 0)],
    ):
        matrix = win_matrix(results)
        assert significant_cycles(matrix) == []
        assert (cyclic_share(matrix).share, cyclic_share(matrix).p) == (0.0, 1.0)
