"""Newton's method where the curvature that it is given is only about the true one."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.meetings import Meetings
from arena.stats.newton import maximum
from arena.stats.rating_fit import fit_meetings
from pbt.errors import EngineError

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Bowl:
    """-level - sum(steepness x^2) / 2, which tells `told` times its steepness."""

    values: Vector
    steepness: Vector
    told: float
    level: float

    @property
    def value(self) -> float:
        return float(-self.level - self.steepness @ self.values**2 / 2)

    @property
    def gradient(self) -> Vector:
        return -self.steepness * self.values

    @property
    def curvature(self) -> Vector:
        return np.diag(self.told * self.steepness)


@pytest.mark.parametrize("told", [0.2, 0.45, 0.55, 1.0, 3.0])
@pytest.mark.parametrize("level", [0.0, 1e3, 1e7])
def test_it_converges_where_steps_are_too_long_or_too_short(told: float, level: float) -> None:
    steepness = np.array([1e-2, 1.0, 30.0])
    start = np.array([2.0, -3.0, 1.0])
    best = maximum(lambda x: Bowl(x, steepness, told, level), start, "what is needed")
    assert np.abs(best.values).max() < 1e-6


def test_what_has_no_maximum_is_told() -> None:
    with pytest.raises(EngineError, match="2 parameters did not converge; .* needs a win"):
        maximum(lambda x: Bowl(x, np.array([-1.0, 1.0]), 1.0, 0.0), np.ones(2), "a win")


def league_of_few_games(seed: int) -> tuple[int, Meetings]:
    """(players, meetings): every player meets another at least once, most in one to three games."""
    rng = np.random.default_rng(seed)
    players = int(rng.integers(55, 66))
    wanted, most, spread = int(players * rng.uniform(1.0, 1.6)), int(rng.integers(1, 4)), 2.5
    spread, ties = rng.uniform(0.1, spread), float(rng.choice([0, 0, 0.02]))
    strength, seat = rng.normal(0, spread, players), rng.normal(0, 0.5)
    met = {(int(rng.integers(later)), later) for later in range(1, players)}
    while len(met) < wanted:
        one, other = sorted(rng.choice(players, 2, replace=False).tolist())
        met.add((one, other))
    first, second = np.array(sorted(met)).T
    single = np.zeros((len(first), 2, 3))
    for pair in range(len(first)):
        for _ in range(rng.integers(1, most + 1)):
            side = rng.integers(2)
            lead = strength[first[pair]] - strength[second[pair]] + seat * (1 - 2 * side)
            win = 1 / (1 + np.exp(-lead))
            law = [win * (1 - ties), ties, (1 - win) * (1 - ties)]
            single[pair, side, rng.choice(3, p=law)] += 1
    return players, Meetings(first, second, np.zeros((len(first), 3, 3)), single)


@pytest.mark.parametrize("seed", [1604, 2678])
def test_leagues_of_few_games_are_rated(seed: int) -> None:
    """Of 2 000 such leagues Newton's method alone did not converge within 300 steps for these."""
    players, meetings = league_of_few_games(seed)
    names = list(range(players))
    assert fit_meetings(names, meetings, None) is not None
    assert fit_meetings(names, meetings, 0) is not None
