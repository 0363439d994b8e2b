"""How far one member is ahead of another, pure: over opponents that both met, so that nobody gains
by meeting weak ones.

With n_a and n_b games and rates p_a and p_b against each common opponent the gap is sum w (p_a -
p_b) / sum w, w = n_a n_b / (n_a + n_b) (Cochran 1954). Its significance is Welch's t, one-sided
(Jaderberg et al. 2017, section 4.1.1, compare returns by it), each opponent bringing two samples;
the variance of a rate is that of (wins + 1) / (games + 2) (Agresti & Caffo 2000), so it is never 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr

from pbt.population.scores import Objective
from pbt.records import MemberScore


@dataclass(frozen=True, slots=True)
class Sample:
    """Games of one member: how many, their mean, and the variance of that mean (inf where
    unknown).
    """

    games: int
    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class Gap:
    """ahead: the difference of the means;  p: of a gap as large by chance, one-sided;
    opponents: how many were common, 0: compared on all games
    """

    ahead: float
    p: float
    opponents: int


def compare(a: MemberScore, b: MemberScore, objective: Objective) -> Gap:
    """How far a is ahead of b, over their common opponents, or over all games where they have
    none (or none were kept apart).
    """
    mine, theirs = ({found.opponent: found for found in score.against} for score in (a, b))
    common = [
        (_rate(mine[name].games, mine[name].points), _rate(theirs[name].games, theirs[name].points))
        for name in mine
        if name in theirs
    ]
    if not common:
        ahead = a.objective - b.objective
        return Gap(ahead, _chance(ahead, [(1.0, _whole(score, objective)) for score in (a, b)]), 0)
    weights = [x.games * y.games / (x.games + y.games) for x, y in common]
    total = math.fsum(weights)
    ahead = (
        math.fsum(
            weight * (x.mean - y.mean) for weight, (x, y) in zip(weights, common, strict=True)
        )
        / total
    )
    samples = [
        (weight / total, sample)
        for weight, pair in zip(weights, common, strict=True)
        for sample in pair
    ]
    return Gap(ahead, _chance(ahead, samples), len(common))


def standings(scores: Sequence[MemberScore], objective: Objective) -> dict[str, float]:
    """Member -> its mean gap to the others, 0 without others."""
    others = max(1, len(scores) - 1)
    return {
        own.member: math.fsum(
            compare(own, other, objective).ahead for other in scores if other is not own
        )
        / others
        for own in scores
    }


def _rate(games: int, wins: float) -> Sample:
    shrunk = (wins + 1.0) / (games + 2.0)
    return Sample(games, wins / games, shrunk * (1.0 - shrunk) / games)


def _whole(score: MemberScore, objective: Objective) -> Sample:
    """All games of a member. Without their squares the variance of returns is unknown."""
    if objective == "wins" and score.games:
        return _rate(score.games, score.objective * score.games)
    if score.squares is None or score.games < 2:
        return Sample(score.games, score.objective, math.inf)
    return Sample(score.games, score.objective, score.squares / (score.games - 1) / score.games)


def _chance(ahead: float, samples: Sequence[tuple[float, Sample]]) -> float:
    """P(T >= ahead / error), T of Student's law with Welch's and Satterthwaite's degrees of
    freedom. samples: each with its weight in the gap.
    """
    parts = [
        (weight * weight * sample.variance, max(1, sample.games - 1)) for weight, sample in samples
    ]
    variance = math.fsum(part for part, _ in parts)
    if math.isinf(variance) or ahead == 0.0:
        return 0.5
    if variance == 0.0:
        return 0.0 if ahead > 0.0 else 1.0
    # As shares of the variance, whose squares are no smaller than floats can be.
    freedom = 1.0 / math.fsum((part / variance) ** 2 / free for part, free in parts)
    return float(stdtr(freedom, -ahead / math.sqrt(variance)))
