"""The gap between two members' results over the opponents that both met, as pure functions.

Only common opponents count, so a member gains nothing by meeting weak ones.

With n_a and n_b games and means x_a and x_b against each common opponent the gap is
sum w (x_a - x_b) / sum w, where w = n_a n_b / (n_a + n_b) (Cochran 1954). Its significance is
Welch's t, one-sided (Jaderberg et al. 2017, section 4.1.1, compare returns by it), with two samples
for each opponent. A win rate has the variance of (wins + 1) / (games + 2) (Agresti & Caffo 2000),
so it is never 0. A mean return has the sample variance of its games, to which the variance that is
pooled over all opponents of the member is added with the weight of 2 games, so that an opponent met
once or twice has one too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pbt.objective import ObjectiveKind
from pbt.records import Against, MemberScore

# Games that the pooled variance counts for, beside those against one opponent.
POOLED_GAMES = 2.0


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
    error      standard error of `ahead`, inf where unknown; with `equals_sd` it is that of
               members that learn alike
    """

    ahead: float
    p: float
    opponents: int
    error: float

    @property
    def errors(self) -> float | None:
        """`ahead` in standard errors, None where the error is unknown or 0."""
        return self.ahead / self.error if 0.0 < self.error < math.inf else None


def compare(
    a: MemberScore, b: MemberScore, objective: ObjectiveKind, equals_sd: float = 0.0
) -> Gap:
    """Return how far a is ahead of b over their common opponents.

    All games are compared where the two have no common opponent, or where the scores do not keep
    opponents apart.

    equals_sd: standard deviation of the gap between members that learn alike, however many games
    they have; chance makes it as well
    """
    mine, theirs = _samples(a, objective), _samples(b, objective)
    common = [(mine[name], theirs[name]) for name in mine if name in theirs]
    pairs = common or [(_whole(a, objective), _whole(b, objective))]
    weights = [x.games * y.games / (x.games + y.games) for x, y in common] or [1.0]
    total = math.fsum(weights)
    parts = list(zip(weights, pairs, strict=True))
    ahead = math.fsum(weight * (x.mean - y.mean) for weight, (x, y) in parts) / total
    samples = [(weight / total, sample) for weight, pair in parts for sample in pair]
    of_games = math.fsum(weight * weight * sample.variance for weight, sample in samples)
    variance = of_games + equals_sd * equals_sd
    return Gap(ahead, _chance(ahead, samples, variance), len(common), math.sqrt(variance))


def standings(scores: Sequence[MemberScore], objective: ObjectiveKind) -> dict[str, float]:
    """Return each member's mean gap to the others, 0 for a member alone."""
    others = max(1, len(scores) - 1)
    return {
        own.member: math.fsum(
            compare(own, other, objective).ahead for other in scores if other is not own
        )
        / others
        for own in scores
    }


def _samples(score: MemberScore, objective: ObjectiveKind) -> dict[str, Sample]:
    """Return a member's games by opponent."""
    if objective == "win":
        return {part.opponent: _rate(part.games, part.points) for part in score.against}
    pooled = _pooled(score.against)
    return {part.opponent: _mean(part, pooled) for part in score.against}


def _rate(games: int, wins: float) -> Sample:
    shrunk = (wins + 1.0) / (games + 2.0)
    return Sample(games, wins / games, shrunk * (1.0 - shrunk) / games)


def _pooled(against: Sequence[Against]) -> float:
    """Return the variance of one game within opponents, inf where no opponent was met twice."""
    free = sum(part.games - 1 for part in against)
    if free == 0 or any(part.squares is None for part in against):
        return math.inf
    return math.fsum(part.squares for part in against if part.squares is not None) / free


def _mean(part: Against, pooled: float) -> Sample:
    squares = math.inf if part.squares is None else part.squares
    of_one = (squares + POOLED_GAMES * pooled) / (part.games - 1 + POOLED_GAMES)
    return Sample(part.games, part.points / part.games, of_one / part.games)


def _whole(score: MemberScore, objective: ObjectiveKind) -> Sample:
    """Return all games of a member; without sums of squares the variance of returns is unknown."""
    if objective == "win" and score.games:
        variance = _rate(score.games, score.objective * score.games).variance
    elif score.squares is None or score.games < 2:
        variance = math.inf
    else:
        variance = score.squares / (score.games - 1) / score.games
    return Sample(score.games, score.objective, variance)


def _chance(ahead: float, samples: Sequence[tuple[float, Sample]], variance: float) -> float:
    """Return P(T >= ahead / error), where T has Student's distribution.

    Its degrees of freedom are Welch's and Satterthwaite's; what games do not make of the variance
    is known, so it has no end of them. samples: each with its weight in the gap; variance: of the
    gap.
    """
    if math.isinf(variance) or ahead == 0.0:
        return 0.5
    if variance == 0.0:
        return 0.0 if ahead > 0.0 else 1.0
    # The parts are divided by the variance first: the squares of small parts would underflow.
    parts = math.fsum(
        (weight * weight * sample.variance / variance) ** 2 / max(1, sample.games - 1)
        for weight, sample in samples
    )
    # Every process of a run loads this module, and only the main one compares: the import would
    # cost each of them a tenth of its start.
    from scipy.special import stdtr

    return float(stdtr(1.0 / parts if parts else math.inf, -ahead / math.sqrt(variance)))
