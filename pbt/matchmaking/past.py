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

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.errors import EngineError

WinRates = Mapping[str, Mapping[str, float]]
"""Snapshot id -> member -> the member's expected score against it, UNKNOWN where not named."""
UNKNOWN = 0.5


Weigh = Callable[[Sequence[float], MatchmakingConfig], list[float]]
"""Expected scores -> relative weights. The largest is about 1, so that not all are rounded to 0.
All are 0 where no candidate is wanted.
"""


def _hard(scores: Sequence[float], config: MatchmakingConfig) -> list[float]:
    # Relative to the hardest opponent, so that a large power leaves at least that one.
    worst = max(1.0 - p for p in scores)
    return [((1.0 - p) / worst) ** config.pfsp_power if worst else 0.0 for p in scores]


def _variance(scores: Sequence[float], config: MatchmakingConfig) -> list[float]:
    return [4.0 * p * (1.0 - p) for p in scores]


def _gaussian(scores: Sequence[float], config: MatchmakingConfig) -> list[float]:
    nearest = min((p - 0.5) ** 2 for p in scores)
    return [math.exp(-0.5 * ((p - 0.5) ** 2 - nearest) / config.elo_sigma**2) for p in scores]


WEIGHTS: Mapping[PastMode, Weigh] = {
    "pfsp_hard": _hard,
    "pfsp_variance": _variance,
    "elo_gaussian": _gaussian,
}
"""The modes that ask for expected scores."""


def past_probabilities(scores: Sequence[float], config: MatchmakingConfig) -> list[float]:
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
    weigh = WEIGHTS.get(config.past_mode)
    weights = weigh(scores, config) if weigh is not None else []
    total = math.fsum(weights)
    if not total:
        return [1.0 / len(scores)] * len(scores)
    return [weight / total for weight in weights]
