"""The penalised likelihood of ties and seats written out game by game, and leagues to fit."""

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from arena.stats.design import Layout
from arena.stats.meetings import Meetings

Vector = NDArray[np.float64]


def random_meetings(rng: np.random.Generator, players: int, ties: bool = True) -> Meetings:
    """A league in which every player met the next one, and others; few games each."""
    first, second = np.triu_indices(players, 1)
    kept = (second == first + 1) | (rng.random(len(first)) < 0.5)
    turned = rng.random(kept.sum()) < 0.5
    first, second = first[kept], second[kept]
    paired = rng.integers(0, 3, (len(first), 3, 3)).astype(float)
    single = rng.integers(0, 5, (len(first), 2, 3)).astype(float)
    if not ties:
        paired[:, 1] = paired[:, :, 1] = single[:, :, 1] = 0.0
    paired[:, 0, 0] += 1
    single[:, :, 2] += 1
    return Meetings(
        np.where(turned, second, first), np.where(turned, first, second), paired, single
    )


def games(meetings: Meetings) -> list[list[tuple[int, int, int]]]:
    """Every cluster as a list of games (first seat, second seat, outcome of the first seat).

    Outcomes: 1 a win, 0 a tie, -1 a loss.
    """
    clusters = []
    for i, j, paired, single in zip(
        meetings.first.tolist(),
        meetings.second.tolist(),
        meetings.paired,
        meetings.single,
        strict=True,
    ):
        for one in range(3):
            for other in range(3):
                pair = [(i, j, 1 - one), (j, i, other - 1)]
                clusters += [pair] * int(paired[one, other])
            clusters += [[(i, j, 1 - one)]] * int(single[0, one])
            clusters += [[(j, i, one - 1)]] * int(single[1, one])
    return clusters


def counted(meetings: Meetings) -> Counter[tuple[int, int, int]]:
    """How often a game (first seat, second seat, outcome) was played."""
    return Counter(game for cluster in games(meetings) for game in cluster)


def seated(meetings: Meetings) -> Counter[tuple[int, int]]:
    """How often a player had the first seat against another one."""
    return Counter(game[:2] for cluster in games(meetings) for game in cluster)


def log_chances(beta: Vector, layout: Layout, first: int, second: int) -> dict[int, float]:
    """Logarithms of the chances of 1, 0 and -1."""
    d = beta[first] - beta[second]
    if layout.seat:
        d += beta[layout.players]
    if layout.slope:
        d += beta[layout.players + 1] * (beta[first] + beta[second]) / 2
    return outcomes(float(d), float(beta[-1]) if layout.ties else -math.inf)


def outcomes(d: float, log_nu: float) -> dict[int, float]:
    """Logarithms of the chances of 1, 0 and -1."""
    weights = {1: math.exp(d / 2), 0: math.exp(log_nu), -1: math.exp(-d / 2)}
    total = math.log(sum(weights.values()))
    return {outcome: math.log(weight) - total for outcome, weight in weights.items() if weight}


def scores(beta: Vector, layout: Layout, first: int, second: int) -> dict[int, Vector]:
    """Derivatives of `log_chances` by all parameters, by central differences."""
    found: dict[int, list[float]] = {}
    for place in range(layout.size):
        step = np.zeros(layout.size)
        step[place] = 1e-5
        up, down = (log_chances(beta + sign * step, layout, first, second) for sign in (1, -1))
        for outcome in up:
            found.setdefault(outcome, []).append((up[outcome] - down[outcome]) / 2e-5)
    return {outcome: np.array(score) for outcome, score in found.items()}


def of_one_game(chance: dict[int, float], score: dict[int, Vector]) -> NDArray[np.float64]:
    """The expected outer product of the score of one game."""
    parts = [math.exp(chance[o]) * np.outer(score[o], score[o]) for o in chance]
    return np.asarray(np.sum(parts, axis=0))


def information(beta: Vector, layout: Layout, meetings: Meetings) -> NDArray[np.float64]:
    """[size, size] the expected outer product of the scores, summed over all games."""
    total = np.zeros((layout.size, layout.size))
    for (first, second), number in seated(meetings).items():
        chance = log_chances(beta, layout, first, second)
        total += number * of_one_game(chance, scores(beta, layout, first, second))
    return total


def level_information(beta: Vector, layout: Layout, meetings: Meetings) -> NDArray[np.float64]:
    """[free, free] the information that these chances have in the model without gamma1."""
    level = layout.level
    total = np.zeros((level.size, level.size))
    for (first, second), number in seated(meetings).items():
        chance = log_chances(beta, layout, first, second)
        # Any parameters with these chances have the same scores.
        same = np.zeros(level.size)
        same[first] = chance[1] - chance[-1]
        if level.ties:
            same[-1] = chance[0] - (chance[1] + chance[-1]) / 2
        total += number * of_one_game(chance, scores(same, level, first, second))
    return total[np.ix_(level.free, level.free)]


def penalised(beta: Vector, layout: Layout, meetings: Meetings) -> float:
    """The log-likelihood and 1/2 log|I|."""
    likelihood = math.fsum(
        number * log_chances(beta, layout, first, second)[outcome]
        for (first, second, outcome), number in counted(meetings).items()
    )
    return likelihood + float(np.linalg.slogdet(level_information(beta, layout, meetings))[1] / 2)


def most_likely(layout: Layout, meetings: Meetings, start: Vector) -> Vector:
    """[size] the parameters at the maximum of `penalised`; start [free]."""

    def beta(values: Vector) -> Vector:
        whole = np.zeros(layout.size)
        whole[layout.free] = values
        return whole

    def height(values: Vector) -> float:
        return penalised(beta(values), layout, meetings)

    found = minimize(lambda values: -height(values), start, method="BFGS", options={"gtol": 1e-4}).x
    # Two steps of Newton's method, by differences, for the last digits.
    for _ in range(2):
        steps = 1e-4 * np.eye(len(found))
        slope = np.array([(height(found + h) - height(found - h)) / 2e-4 for h in steps])
        bend = [
            [
                height(found + g + h)
                - height(found + g - h)
                - height(found - g + h)
                + height(found - g - h)
                for g in 100 * steps
            ]
            for h in 100 * steps
        ]
        found = found - np.linalg.solve(np.array(bend) / 4e-4, slope)
    return beta(found)
