"""Sequential probability ratio test of a match: stop once the games decide, with bounded errors.

It decides which of two differences in strength, elo0 or elo1, is the more likely one. The test is
the generalised SPRT (Wald 1945; Van den Bergh, "Comments on normalized Elo", and "A practical
introduction to the GSPRT"). It compares the most likely distribution of units of strength elo1 with
the most likely one of strength elo0. A unit is a seed pair, or a game where nothing is paired. Its
result is the points of A, which have a multinomial distribution, or the mean margin of A, which is
taken as normal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.normalised_elo import NORMALISED_ELO
from pbt.errors import EngineError

EloModel = Literal["normalised", "logistic", "margin"]
UNITS: dict[EloModel, str] = {
    "normalised": "normalised Elo",
    "logistic": "Elo",
    "margin": "normalised Elo of the margin",
}
State = Literal["continue", "accept H0", "accept H1"]
# The count of an outcome that has not occurred, as in fishtest and fastchess: it is still possible.
EMPTY_CELL = 1e-3
# A window beyond this Elo separates no strengths, and the iteration for normalised Elo is tested up
# to here.
MAX_ELO = 1000.0
_TOLERANCE, _ROUNDS = 1e-12, 100


@dataclass(frozen=True, slots=True)
class Sprt:
    """The hypotheses and error rates of a test.

    elo0   H0: A is stronger by this much
    elo1   H1: A is stronger by this much
    alpha  how often H1 is accepted although H0 holds
    beta   how often H0 is accepted although H1 holds
    model  "normalised": the number of pairs that a decision takes depends on elo0 and elo1 alone;
           "logistic": Elo as in ratings; "margin": normalised Elo of the margin, which is the mean
           margin over the deviation of a game, times 800 / ln 10
    Raises: EngineError that names every bound that makes no test.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = "normalised"

    def __post_init__(self) -> None:
        wrong = []
        if not -MAX_ELO <= self.elo0 < self.elo1 <= MAX_ELO:
            wrong.append(
                f"elo0 = {self.elo0}, elo1 = {self.elo1}: expected elo0 below elo1, both "
                f"between {-MAX_ELO:g} and {MAX_ELO:g}"
            )
        if not (self.alpha > 0 and self.beta > 0 and self.alpha + self.beta < 1):
            wrong.append(
                f"alpha = {self.alpha}, beta = {self.beta}: expected both above 0, together below 1"
            )
        if wrong:
            raise EngineError("SPRT " + "; ".join(wrong))

    @property
    def lower(self) -> float:
        """H0 is accepted at or below this log-likelihood ratio."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """H1 is accepted at or above this log-likelihood ratio."""
        return math.log((1 - self.beta) / self.alpha)

    def window(self, games: int) -> float:
        """elo1 - elo0 in deviations of a unit of so many games, as normalised Elo."""
        return math.sqrt(games) * (self.elo1 - self.elo0) / NORMALISED_ELO

    def state(self, llr: float) -> State:
        if llr >= self.upper:
            return "accept H1"
        return "accept H0" if llr <= self.lower else "continue"


class SequentialTest:
    """A running test. It takes results in the planned order, so that arrival times decide nothing.

    sprt   the hypotheses
    games  games of a unit: 2 where they are played in pairs, else 1
    sums   what the likelihood needs of the units that were looked at: [5] pairs by points, or [3]
           games lost, drawn, won; under the model "margin" [3] their number, the sum of margins,
           the sum of squared margins
    llr    log-likelihood ratio of `sums`
    state  decision after `sums`
    """

    def __init__(self, sprt: Sprt, games: int) -> None:
        self.sprt, self.games = sprt, games
        self.sums = np.zeros(3 if sprt.model == "margin" else 2 * games + 1)
        self.llr, self.state = 0.0, sprt.state(0.0)

    @property
    def looked_at(self) -> int:
        """How many units the test has looked at."""
        return int(self.sums[0] if self.sprt.model == "margin" else self.sums.sum())

    def look(self, results: Sequence[float]) -> None:
        """Takes the next units, up to the one that decides.

        results  of each unit the sum of A's points; under the model "margin" A's mean margin
        """
        if self.state != "continue" or not len(results):
            return
        after = self.sums + np.cumsum(self._terms(np.asarray(results, dtype=np.float64)), axis=0)
        ratios = self._ratios(after)
        decided = np.flatnonzero((ratios >= self.sprt.upper) | (ratios <= self.sprt.lower))
        last = int(decided[0]) if len(decided) else -1
        self.sums, self.llr = after[last], float(ratios[last])
        self.state = self.sprt.state(self.llr)

    def _terms(self, results: NDArray[np.float64]) -> NDArray[np.float64]:
        """[units, k] what each unit adds to `sums`."""
        if self.sprt.model == "margin":
            return np.stack([np.ones_like(results), results, results**2], axis=1)
        cells: NDArray[np.float64] = np.eye(len(self.sums))[np.rint(2 * results).astype(int)]
        return cells

    def _ratios(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        sprt = self.sprt
        if sprt.model == "margin":
            return margin_likelihood_ratio(sums, sprt.elo0, sprt.elo1, self.games)
        return log_likelihood_ratio(sums, sprt.elo0, sprt.elo1, sprt.model)


def margin_likelihood_ratio(
    sums: ArrayLike, elo0: float, elo1: float, games: int
) -> NDArray[np.float64]:
    """LLR of elo1 against elo0 for units whose margins are normal, [...], in nats.

    sums   [..., 3] number of units, sum of margins, sum of squared margins
    games  games of a unit; the deviation of a game is that of a unit times sqrt games

    N/2 log((1 + (z - t0)^2) / (1 + (z - t1)^2)), z = mean / deviation with n in it, t0 and t1 the
    strengths in deviations of a unit (Van den Bergh, "Comments on normalized Elo", section 4.2). It
    is the ratio of the likelihoods of the means t0 s and t1 s, s the deviation found, each with its
    most likely variance. It is 0 where all margins are equal.
    """
    number, total, squares = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    count = np.maximum(number, 1.0)
    mean = total / count
    variance = squares / count - mean**2
    varied = variance > _TOLERANCE * squares / count
    z = mean / np.sqrt(np.where(varied, variance, 1.0))
    t0, t1 = (math.sqrt(games) * elo / NORMALISED_ELO for elo in (elo0, elo1))
    ratio = number / 2 * (np.log1p((z - t0) ** 2) - np.log1p((z - t1) ** 2))
    return np.where(varied, ratio, 0.0)


def log_likelihood_ratio(
    counts: ArrayLike, elo0: float, elo1: float, model: EloModel = "normalised"
) -> NDArray[np.float64]:
    """LLR of elo1 against elo0 for units by points, [...], in nats; 0 where no game was played.

    counts  [..., 5] pairs by points, or [..., 3] games lost, drawn, won
    model   "normalised" or "logistic"
    Raises: EngineError on another shape or negative counts.
    """
    counts = np.asarray(counts, dtype=np.float64)
    if counts.shape[-1:] not in ((5,), (3,)) or not np.all(counts >= 0):
        raise EngineError(
            f"counts of shape {counts.shape}: expected five of pairs or three of games per "
            "match, none below 0"
        )
    played = counts.sum(-1) > 0
    counts = np.where(counts == 0, EMPTY_CELL, counts)
    total = counts.sum(-1, keepdims=True)
    observed = counts / total
    if model == "logistic":
        zero, one = (
            _of_score(observed, 1 / (1 + math.exp(-elo / ELO_PER_NAT))) for elo in (elo0, elo1)
        )
    else:
        # Normalised Elo uses the deviation of a game, which is that of a pair times sqrt 2.
        zero, one = (
            _of_t(observed, math.sqrt((counts.shape[-1] - 1) / 2) * elo / NORMALISED_ELO)
            for elo in (elo0, elo1)
        )
    ratio: NDArray[np.float64] = np.sum(counts * (np.log(one) - np.log(zero)), axis=-1)
    return np.where(played, ratio, 0.0)


def _of_score(observed: NDArray[np.float64], score: float) -> NDArray[np.float64]:
    """The most likely distribution with this mean, [..., k] (proposition 1.1)."""
    return _tilted(
        observed, np.broadcast_to(np.linspace(0.0, 1.0, observed.shape[-1]) - score, observed.shape)
    )


def _of_t(observed: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    """The most likely distribution with (mean - 1/2) / deviation = t, [..., k].

    It is found by the iteration of section 4.1, started from a mixture of the uniform distribution
    and certainty that has this t. Other programs start from the uniform distribution, from which
    the iteration has no first step where t is large.
    """
    scores = np.linspace(0.0, 1.0, observed.shape[-1])
    a, b = 1 + t**2, 2 + 4 * t**2 * float(np.mean(scores**2))
    share = (b - math.sqrt(b**2 - 4 * a)) / (2 * a)
    certain = scores == float(t >= 0)
    p = np.broadcast_to(share / len(scores) + (1 - share) * certain, observed.shape)
    for _ in range(_ROUNDS):
        mean = np.sum(p * scores, axis=-1, keepdims=True)
        deviation = np.sqrt(np.sum(p * (scores - mean) ** 2, axis=-1, keepdims=True))
        direction = scores - 0.5 - t * deviation / 2 * (1 + ((scores - mean) / deviation) ** 2)
        before, p = p, _tilted(observed, direction)
        if np.max(np.abs(p - before)) < _TOLERANCE:
            break
    return p


def _tilted(observed: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """observed / (1 + x direction), [..., k], with the x that makes its mean direction 0.

    The root x is found by Newton's method inside a shrinking bracket. Between two poles the mean
    direction falls with x from +infinity to -infinity. Multiplied by the distances to both poles it
    is almost a straight line, so a root next to a pole, which an empty cell causes, is found as
    fast as any other.
    """
    left, right = -1 / direction.max(-1, keepdims=True), -1 / direction.min(-1, keepdims=True)
    low, high, x = left, right, np.zeros_like(left)
    for _ in range(_ROUNDS):
        terms = direction / (1 + x * direction)
        value, slope = (
            np.sum(observed * terms, axis=-1, keepdims=True),
            -np.sum(observed * terms**2, axis=-1, keepdims=True),
        )
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        room = (x - left) * (right - x)
        tried = x - value * room / (slope * room + value * (left + right - 2 * x))
        inside = (np.maximum(low, np.nextafter(left, right)) <= tried) & (
            tried <= np.minimum(high, np.nextafter(right, left))
        )
        step = np.where(inside, tried, (low + high) / 2) - x
        x = x + step
        if np.all(np.abs(step) <= 1e-14 * (right - left)):
            break
    p: NDArray[np.float64] = observed / (1 + x * direction)
    total: NDArray[np.float64] = p.sum(-1, keepdims=True)
    return p / total
