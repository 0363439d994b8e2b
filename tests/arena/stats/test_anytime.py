"""Confidence sequences against slow twins, and how often they hold when a test stops the match."""

import math
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammaln

from arena.stats.anytime import duel_statistics, margin_sequence, score_sequence
from arena.stats.score import elo_of_score, match_statistics, pair_interval
from arena.stats.sprt import SequentialTest, Sprt
from tests.arena.stats.test_score import published_sample
from tests.arena.stats.test_sprt import pair_law

RUNS = 200


def capital(results: list[float], mean: float, shares: list[float]) -> float:
    """The mean capital of gamblers; each bets a share of its own on one result after another."""
    capitals = [1.0] * len(shares)
    for result in results:
        capitals = [
            own * (1 + share * (result - mean) / mean)
            for own, share in zip(capitals, shares, strict=True)
        ]
    return sum(capitals) / len(capitals)


@pytest.mark.parametrize("counts", [(3, 5, 20, 9, 13), (0, 0, 2, 0, 9), (10, 0, 3), (0, 1, 0)])
def test_its_ends_are_where_the_gamblers_have_forty_times_their_stake(
    counts: tuple[int, ...],
) -> None:
    effect = 0.2
    shares = [0.14, 0.28, 0.56, 0.95]
    results = [
        score
        for score, number in zip(np.linspace(0, 1, len(counts)), counts, strict=True)
        for _ in range(number)
    ]
    low, high = score_sequence(counts, effect)
    mean = float(np.mean(results))
    assert 0 <= low < mean < high <= 1
    assert capital(results, low, shares) == pytest.approx(40.0, rel=1e-6)
    assert capital([1 - one for one in results], 1 - high, shares) == pytest.approx(40.0, rel=1e-6)


def test_without_a_point_nothing_bounds_the_score_below() -> None:
    low, high = score_sequence((30, 0, 0, 0, 0), 0.1)
    assert (low, high < 0.5) == (0.0, True)
    low, high = score_sequence((0, 0, 0, 0, 30), 0.1)
    assert (low > 0.5, high) == (True, 1.0)
    assert score_sequence((0, 0, 0, 0, 0), 0.1) == (0.0, 1.0)


def test_the_capital_is_a_martingale() -> None:
    """At the true mean, the next result leaves it as it is in the mean."""
    law = pair_law(40.0, 0.3)
    scores = np.linspace(0, 1, 5)
    mean, shares = float(law @ scores), [0.1, 0.5, 0.95]
    before = [0.25, 0.5, 1.0, 0.75]
    after = sum(
        chance * capital([*before, float(score)], mean, shares)
        for chance, score in zip(law, scores, strict=True)
    )
    assert after == pytest.approx(capital(before, mean, shares), rel=1e-12)


def slow_margin_capital(margins: list[float], mean: float, effect: float) -> float:
    """The likelihood of strengths ~ N(0, effect^2) over that of 0, sigma integrated out."""
    own = np.array(margins) - mean
    number, squares, total = len(own), float(own @ own), float(own.sum())

    def marginal(theta: float) -> float:
        """Integral over sigma of the likelihood / sigma, by t = 1 / sigma."""

        def of(precision: float) -> float:
            exponent = (
                -(squares * precision**2 - 2 * theta * total * precision + number * theta**2) / 2
            )
            return float(precision ** (number - 1) * math.exp(exponent))

        return quad(of, 0, 60 / math.sqrt(squares), limit=200)[0]

    mixed = quad(
        lambda theta: (
            marginal(theta)
            * math.exp(-(theta**2) / (2 * effect**2))
            / (effect * math.sqrt(2 * math.pi))
        ),
        -8 * effect,
        8 * effect,
        limit=200,
    )[0]
    plain = 0.5 * math.exp(gammaln(number / 2)) * (2 / squares) ** (number / 2)
    return float(mixed / plain)


def test_a_margin_is_in_its_sequence_while_the_mixture_is_below_twenty() -> None:
    margins = [1.0, 3.0, -0.5, 2.0, 2.5, 0.4, 1.7, 3.1, 0.9, 2.2]
    mean, deviation = float(np.mean(margins)), float(np.std(margins))
    ends = margin_sequence(10, mean, deviation, 0.9)
    assert ends is not None
    for end in ends:
        assert slow_margin_capital(margins, end, 0.9) == pytest.approx(20.0, rel=1e-4)
    assert ends[0] < mean < ends[1]
    assert margin_sequence(2, 1.0, 0.5, 0.1) is None
    assert margin_sequence(50, 1.0, 0.0, 0.1) is None


def stop(test: SequentialTest, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """The results that the test looked at."""
    for start in range(0, len(drawn), 50):
        test.look(drawn[start : start + 50].tolist())
    assert test.state != "continue"
    return drawn[: test.looked_at]


@pytest.mark.parametrize(("nelo", "draws"), [(0.0, 0.0), (50.0, 0.5), (100.0, 0.0), (400.0, 0.0)])
def test_it_holds_the_score_at_the_stop_of_a_test(nelo: float, draws: float) -> None:
    """An interval for a fixed number of games does not."""
    rng, law = np.random.default_rng(12), pair_law(nelo, draws)
    truth = float(law @ np.linspace(0, 1, 5))
    held = ordinary = 0
    for _ in range(RUNS):
        test = SequentialTest(Sprt(0, 100), 2)
        stop(test, rng.choice(5, size=1500, p=law) / 2)
        counts = [round(count) for count in test.sums]
        low, high = score_sequence(counts, test.sprt.window(2))
        held += low <= truth <= high
        low, high = pair_interval(counts)
        ordinary += low <= truth <= high
    print(f"nElo {nelo}, draws {draws}: sequence {held / RUNS}, fixed {ordinary / RUNS}")
    assert held >= 0.95 * RUNS


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("nelo", [0.0, 50.0, 100.0, 400.0])
def test_it_holds_the_margin_at_the_stop_of_a_test(nelo: float, skewed: bool) -> None:
    rng = np.random.default_rng(13)
    sprt = Sprt(0, 100, model="margin")
    truth = sprt.window(2) * nelo / 100
    held = 0
    for _ in range(RUNS):
        noise = rng.exponential(size=1500) - 1 if skewed else rng.normal(size=1500)
        test = SequentialTest(sprt, 2)
        seen = stop(test, 7 * (truth + noise))
        ends = margin_sequence(len(seen), float(seen.mean()), float(seen.std()), sprt.window(2))
        held += ends is None or ends[0] <= 7 * truth <= ends[1]
    print(f"nElo {nelo}, skewed {skewed}: {held / RUNS}")
    assert held >= 0.95 * RUNS


def test_it_holds_at_all_looks_together() -> None:
    """Even players: the sequence ever leaves out 1/2 in fewer than 5 % of long matches."""
    rng, ever = np.random.default_rng(14), 0
    for _ in range(60):
        cells = rng.choice(5, size=400, p=pair_law(0.0, 0.3))
        looks = list(accumulate(np.eye(5, dtype=int)[cells]))
        ever += any(
            not low <= 0.5 <= high
            for low, high in (score_sequence(look.tolist(), 0.2) for look in looks[9::20])
        )
    assert ever <= 0.05 * 60


def test_a_match_with_a_test_has_a_sequence_for_an_interval() -> None:
    games, test = published_sample(), Sprt(0, 50)
    fixed = duel_statistics(games, None)
    assert fixed == match_statistics(games)
    found = duel_statistics(games, test)
    assert fixed.pair_counts is not None
    assert (found.low, found.high) == score_sequence(fixed.pair_counts, test.window(2))
    assert found.low < fixed.low < fixed.score == found.score < fixed.high < found.high
    assert (found.elo_low, found.elo_high) == (elo_of_score(found.low), elo_of_score(found.high))
    assert (found.interval, found.nelo, found.elo) == ("sequence", None, fixed.elo)
    alone = [replace(game, pair=None) for game in games]
    found = duel_statistics(alone, test)
    assert (found.low, found.high) == score_sequence((73, 219, 108), test.window(1))
