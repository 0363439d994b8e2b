"""Opponents from the past: the probability that each candidate snapshot is drawn, by mode.

uniform        all candidates alike
latest         the newest snapshot of each member, all alike
pfsp_hard      (1 - p)^k, favours opponents that the learner loses to; prioritized fictitious
               self-play (Vinyals et al. 2019)
pfsp_variance  p (1 - p), favours opponents of equal strength (same source)
elo_gaussian   exp(-(p - 1/2)^2 / (2 sigma^2)) with sigma = 1/6, favours opponents of a similar
               rating (Jaderberg et al. 2019, on capture the flag)

p is the learning member's expected score against the snapshot, in [0, 1]. All functions are pure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.errors import EngineError

WinRates = Mapping[str, Mapping[str, float]]
"""Snapshot id -> member -> the member's expected score against it, UNKNOWN where not named."""
UNKNOWN = 0.5


@dataclass(frozen=True, slots=True)
class PastRules:
    """How often snapshots are opponents in training games, and which ones.

    share   probability that a seat other than the learning one is taken by a snapshot
    window  a snapshot is drawn from this many newest ones of the seat's role
    mode    how it is drawn, see the top of this file
    power   k of pfsp_hard
    sigma   of elo_gaussian
    """

    share: float
    window: int
    mode: PastMode = "uniform"
    power: float = 2.0
    sigma: float = 1 / 6

    @classmethod
    def from_config(cls, config: MatchmakingConfig) -> "PastRules":
        return cls(
            config.past_share,
            config.past_window,
            config.past_mode,
            config.pfsp_power,
            config.elo_sigma,
        )


Weigh = Callable[[Sequence[float], PastRules], list[float]]
"""Expected scores -> relative weights. The largest is about 1, so that not all are rounded to 0.
All are 0 where no candidate is wanted.
"""


def _hard(scores: Sequence[float], rules: PastRules) -> list[float]:
    # Relative to the hardest opponent, so that a large power leaves at least that one.
    worst = max(1.0 - p for p in scores)
    return [((1.0 - p) / worst) ** rules.power if worst else 0.0 for p in scores]


def _variance(scores: Sequence[float], rules: PastRules) -> list[float]:
    return [4.0 * p * (1.0 - p) for p in scores]


def _gaussian(scores: Sequence[float], rules: PastRules) -> list[float]:
    nearest = min((p - 0.5) ** 2 for p in scores)
    return [math.exp(-0.5 * ((p - 0.5) ** 2 - nearest) / rules.sigma**2) for p in scores]


WEIGHTS: Mapping[PastMode, Weigh] = {
    "pfsp_hard": _hard,
    "pfsp_variance": _variance,
    "elo_gaussian": _gaussian,
}
"""The modes that ask for expected scores."""


def past_probabilities(scores: Sequence[float], rules: PastRules) -> list[float]:
    """The probability of each candidate; they sum to 1.

    All are alike where the mode wants no candidate, for instance because all are always beaten.
    scores: of the learning member against each candidate, at least one.
    Raises EngineError when a score is no number in [0, 1].
    """
    for p in scores:
        if not 0.0 <= p <= 1.0:
            raise EngineError(
                f"expected score {p} against a snapshot: expected a number from 0 to 1"
            )
    weigh = WEIGHTS.get(rules.mode)
    weights = weigh(scores, rules) if weigh is not None else []
    total = math.fsum(weights)
    if not total:
        return [1.0 / len(scores)] * len(scores)
    return [weight / total for weight in weights]
