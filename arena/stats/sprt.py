"""Sequential test of a match: stop as soon as the pairs say which of two strengths is the likelier,
with both errors bounded.

Generalised SPRT on the pentanomial (Wald 1945; Van den Bergh, "Comments on normalized Elo",
sections 1 and 4.1, and "A practical introduction to the GSPRT"): log-likelihood of the likeliest
distribution of pairs of strength elo1 over that of the likeliest of strength elo0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.score import NORMALISED_ELO
from pbt.errors import EngineError

EloModel = Literal["normalised", "logistic"]
State = Literal["continue", "accept H0", "accept H1"]
# Outcomes nobody has seen yet are possible all the same: fishtest and fastchess count an empty cell
# as this.
EMPTY_CELL = 1e-3
# Windows beyond it tell nothing apart, and the iteration for normalised Elo is tested up to here.
MAX_ELO = 1000.0
_TOLERANCE, _ROUNDS = 1e-12, 100


@dataclass(frozen=True, slots=True)
class Sprt:
    """H0: A is elo0 stronger, H1: elo1.  alpha, beta: how often H1 is accepted although H0 holds,
    and the reverse.

    model  "normalised": how many pairs a decision takes depends on the window alone; "logistic":
           Elo as of ratings
    Raises: EngineError on bounds that make no test, all of them named.
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
        """At or below it H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """At or above it H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int]) -> float:
        """counts: pairs by A's points in them: 0, 0.5, 1, 1.5, 2; or games lost, drawn, won
        where nothing is paired.
        """
        return float(log_likelihood_ratio(counts, self.elo0, self.elo1, self.model))

    def state(self, llr: float) -> State:
        if llr >= self.upper:
            return "accept H1"
        return "accept H0" if llr <= self.lower else "continue"


class SequentialTest:
    """A test under way. It is given what was played in the order planned, so that what arrives
    first decides nothing.

    counts  [5] pairs by points, or [3] games lost, drawn, won, looked at so far;  llr, state: after
            the last of them
    """

    def __init__(self, sprt: Sprt, cells: int) -> None:
        self.sprt = sprt
        self.counts = np.zeros(cells)
        self.llr, self.state = 0.0, sprt.state(0.0)

    @property
    def looked_at(self) -> int:
        """Pairs (or games)."""
        return int(self.counts.sum())

    def look(self, cells: Sequence[int]) -> None:
        """The next pairs (or games), by cell of `counts`. Those behind a decision are not looked
        at.
        """
        if self.state != "continue" or not cells:
            return
        after = self.counts + np.cumsum(np.eye(len(self.counts))[list(cells)], axis=0)
        ratios = log_likelihood_ratio(after, self.sprt.elo0, self.sprt.elo1, self.sprt.model)
        decided = np.flatnonzero((ratios >= self.sprt.upper) | (ratios <= self.sprt.lower))
        last = int(decided[0]) if len(decided) else -1
        self.counts, self.llr = after[last], float(ratios[last])
        self.state = self.sprt.state(self.llr)


def log_likelihood_ratio(
    counts: ArrayLike, elo0: float, elo1: float, model: EloModel = "normalised"
) -> NDArray[np.float64]:
    """LLR of elo1 against elo0, [...], in nats; 0 where nothing was played.

    counts  [..., 5] pairs by points, or [..., 3] games lost, drawn, won
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
    found = counts / total
    if model == "logistic":
        zero, one = (
            _of_score(found, 1 / (1 + math.exp(-elo / ELO_PER_NAT))) for elo in (elo0, elo1)
        )
    else:
        # Normalised Elo goes by the deviation of a game, which is that of a pair times sqrt 2.
        zero, one = (
            _of_t(found, math.sqrt((counts.shape[-1] - 1) / 2) * elo / NORMALISED_ELO)
            for elo in (elo0, elo1)
        )
    ratio: NDArray[np.float64] = np.sum(counts * (np.log(one) - np.log(zero)), axis=-1)
    return np.where(played, ratio, 0.0)


def _of_score(found: NDArray[np.float64], score: float) -> NDArray[np.float64]:
    """Likeliest distribution with this mean, [..., k] (proposition 1.1)."""
    return _tilted(
        found, np.broadcast_to(np.linspace(0.0, 1.0, found.shape[-1]) - score, found.shape)
    )


def _of_t(found: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    """Likeliest distribution with (mean - 1/2) / deviation = t, [..., k], by the iteration of
    section 4.1.

    It starts from a distribution that has this t: between the uniform one and certainty. From the
    uniform one alone, as others start, it has no first step where t is large.
    """
    scores = np.linspace(0.0, 1.0, found.shape[-1])
    a, b = 1 + t**2, 2 + 4 * t**2 * float(np.mean(scores**2))
    share = (b - math.sqrt(b**2 - 4 * a)) / (2 * a)
    p = np.broadcast_to(share / len(scores) + (1 - share) * (scores == float(t >= 0)), found.shape)
    for _ in range(_ROUNDS):
        mean = np.sum(p * scores, axis=-1, keepdims=True)
        deviation = np.sqrt(np.sum(p * (scores - mean) ** 2, axis=-1, keepdims=True))
        direction = scores - 0.5 - t * deviation / 2 * (1 + ((scores - mean) / deviation) ** 2)
        before, p = p, _tilted(found, direction)
        if np.max(np.abs(p - before)) < _TOLERANCE:
            break
    return p


def _tilted(found: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """found / (1 + x direction) with the x that makes its mean direction 0, [..., k]: Newton's
    method inside a shrinking bracket.

    The mean direction falls with x from +infinity to -infinity between two poles. Times the
    distances to both it is almost a straight line, so a root next to a pole, as an empty cell makes
    it, is found as fast as any.
    """
    left, right = -1 / direction.max(-1, keepdims=True), -1 / direction.min(-1, keepdims=True)
    low, high, x = left, right, np.zeros_like(left)
    for _ in range(_ROUNDS):
        terms = direction / (1 + x * direction)
        value, slope = (
            np.sum(found * terms, axis=-1, keepdims=True),
            -np.sum(found * terms**2, axis=-1, keepdims=True),
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
    p: NDArray[np.float64] = found / (1 + x * direction)
    total: NDArray[np.float64] = p.sum(-1, keepdims=True)
    return p / total
