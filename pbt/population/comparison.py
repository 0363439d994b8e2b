"""The gap between two members' results over the opponents that both met, as pure functions.

Only common opponents count, so a member gains nothing by meeting weak ones.

With n_a and n_b games and rates p_a and p_b against each common opponent the gap is
sum w (p_a - p_b) / sum w, where w = n_a n_b / (n_a + n_b) (Cochran 1954). Its significance is
Welch's t, one-sided (Jaderberg et al. 2017, section 4.1.1, compare returns by it), with two samples
for each opponent. The variance of a rate is that of (wins + 1) / (games + 2) (Agresti & Caffo
2000), so it is never 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr

from pbt.population.scores import Objective
from pbt.records import MemberScore


@dataclass(frozen=True, slots=True)
class Sample:
    """Games of one member.

    games     how many they are
    mean      of their results
    variance  of that mean, inf where unknown
    """

    games: int
    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one member is ahead of another.

    ahead      the difference of their means
    p          probability of a gap as large by chance, one-sided
    opponents  how many common opponents were compared, 0 where all games were
    """

    ahead: float
    p: float
    opponents: int


def compare(a: MemberScore, b: MemberScore, objective: Objective) -> Gap:
    """Return how far a is ahead of b over their common opponents.

    All games are compared where the two have no common opponent, or where the scores do not keep
    opponents apart.
    """
    mine, theirs = ({games.opponent: games for games in score.against} for score in (a, b))
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
    """Return each member's mean gap to the others, 0 for a member alone."""
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
    """Return all games of a member; without sums of squares the variance of returns is unknown."""
    if objective == "wins" and score.games:
        return _rate(score.games, score.objective * score.games)
    if score.squares is None or score.games < 2:
        return Sample(score.games, score.objective, math.inf)
    return Sample(score.games, score.objective, score.squares / (score.games - 1) / score.games)


def _chance(ahead: float, samples: Sequence[tuple[float, Sample]]) -> float:
    """Return P(T >= ahead / error), where T has Student's distribution.

    Its degrees of freedom are Welch's and Satterthwaite's. samples: each with its weight in the
    gap.
    """
    parts = [
        (weight * weight * sample.variance, max(1, sample.games - 1)) for weight, sample in samples
    ]
    variance = math.fsum(part for part, _ in parts)
    if math.isinf(variance) or ahead == 0.0:
        return 0.5
    if variance == 0.0:
        return 0.0 if ahead > 0.0 else 1.0
    # The parts are divided by the variance first: the squares of small parts would underflow.
    freedom = 1.0 / math.fsum((part / variance) ** 2 / free for part, free in parts)
    return float(stdtr(freedom, -ahead / math.sqrt(variance)))
