"""How often intervals of ratings by margin hold the truth, in simulated leagues."""

import numpy as np
import pytest

from arena.stats.margin_ratings import fit_margins
from arena.stats.margin_units import MarginResult
from tests.arena.stats.margin_leagues import of, units


@pytest.mark.parametrize(("tau", "skewed"), [(0.0, False), (0.5, False), (0.0, True), (0.5, True)])
def test_intervals_of_ratings_hold_the_truth(tau: float, skewed: bool) -> None:
    """60 leagues of 12 players, 4 to 20 units a pair, half of the pairs met."""
    inside = total = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 9])
        theta = rng.normal(size=12) * 2
        results = []
        for i in range(12):
            for j in range(i):
                if j == 0 or rng.random() < 0.5:
                    number = int(rng.integers(4, 21))
                    noise = rng.exponential(size=number) - 1 if skewed else rng.normal(size=number)
                    mean = theta[i] - theta[j] + tau * rng.normal()
                    results.append(units(str(i), str(j), (mean + noise).tolist()))
        found = fit_margins(results, "0")
        for i, value in enumerate(theta - theta[0]):
            one = of(found, str(i))
            assert one.low is not None and one.high is not None
            if i:
                inside += one.low <= value <= one.high
                total += 1
    print(f"tau {tau}, skewed {skewed}: {100 * inside / total:.1f} %")
    assert 0.925 <= inside / total <= 0.985


def mixed_league(rng: np.random.Generator) -> tuple[list[MarginResult[str]], list[float]]:
    """(results, strengths) of 20 players, of which the last 10 played single games only.

    A seed pair varies by 1. What a deal gives one side is not taken out of a single game, which
    varies by 9. Pairs of players suit each other with a deviation of 0.2.
    """
    theta = rng.normal(size=20) * 2
    results = []
    for i in range(20):
        for j in range(i):
            if j and rng.random() < 0.5:
                continue
            paired = i < 10
            number, deviation = int(rng.integers(10, 30)), 1.0 if paired else 3.0
            mean = theta[i] - theta[j] + 0.2 * rng.normal()
            margins = mean + rng.normal(0, deviation, number)
            results.append(units(str(i), str(j), margins.tolist(), paired=paired))
    return results, (theta - theta[0]).tolist()


def test_intervals_of_players_with_single_games_alone_hold_the_truth() -> None:
    """With one variance for both kinds of units, 97.4 % of the others and 93.6 % of these do."""
    inside = np.zeros((2, 2))
    for seed in range(300):
        results, truth = mixed_league(np.random.default_rng([seed, 31]))
        found = fit_margins(results, "0")
        for i in range(1, 20):
            one = of(found, str(i))
            assert one.low is not None and one.high is not None
            inside[int(i >= 10)] += one.low <= truth[i] <= one.high, 1
    shares = inside[:, 0] / inside[:, 1]
    print(f"with pairs {100 * shares[0]:.1f} %, single games only {100 * shares[1]:.1f} %")
    assert np.all((shares >= 0.94) & (shares <= 0.96))
