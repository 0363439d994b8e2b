"""Which members are far enough ahead to be copied, with a probability that holds for a whole run.

Every round of every member is a chance to copy by mistake. The probability of a run is therefore
spent in parts (alpha spending, Lan & DeMets 1983): the r-th round of one of n members gets a share
of 1 / n of it. The shares of a run of any length sum to no more than 1. There are two ways:

  ever less           1 / (r (r + 1))
  over `copy_rounds`  0.9 / R for each of R rounds, and of the rest R / (r (r - 1)) for each later
                      one; for a run that knows its length

The bound holds however the rounds depend on each other. n counts the members of one role, so each
role has a probability of its own; a population that grows spends up to half as much again each time
it doubles.

Within a round the member is compared with every other ranked member, and the level of the round
holds for all these comparisons together (Holm 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pbt.errors import EngineError
from pbt.population.comparison import Gap, compare
from pbt.population.pbt_rules import PbtRules
from pbt.records import MemberScore

# Of a run's probability, what the planned rounds get; the rest is for a run that is prolonged.
PLANNED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of the top that may be copied.

    gap    how far it is ahead
    level  the largest p value of the gap at which it is copied
    least  the lead that it needs, by `copy_gap` and `copy_ratio`
    """

    score: MemberScore
    gap: Gap
    level: float
    least: float

    @property
    def wide_enough(self) -> bool:
        return self.gap.ahead >= self.least

    @property
    def copied(self) -> bool:
        """Whether it may be copied."""
        return self.wide_enough and self.gap.p <= self.level


def round_level(probability: float, members: int, round: int, copy_rounds: int = 0) -> float:
    """Return the part of a run's probability that a member's round gets.

    round: from 1 on; copy_rounds: 0 where the shares become ever less. Raises: EngineError for a
    round that no run has.
    """
    if round < 1:
        raise EngineError(f"round = {round}: rounds of a run are counted from 1")
    if not copy_rounds:
        share = 1 / (round * (round + 1))
    elif round <= copy_rounds:
        share = PLANNED_SHARE / copy_rounds
    else:
        share = (1 - PLANNED_SHARE) * copy_rounds / (round * (round - 1))
    return probability / members * share


def holm_levels(chances: Sequence[float], level: float) -> list[float]:
    """Return for each p value the level that it is compared with (Holm 1979).

    The i-th smallest of m is compared with level / (m - i + 1) while all smaller ones were below
    theirs; all after the first that is not share the level of that one.
    """
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    levels, own = [0.0] * len(chances), 0.0
    passing = True
    for rank, place in enumerate(order):
        if passing:
            own = level / (len(chances) - rank)
        levels[place] = own
        passing = passing and chances[place] <= own
    return levels


def candidates(
    ranked: Sequence[MemberScore], place: int, top: int, rules: PbtRules, level: float
) -> list[Candidate]:
    """Return the top k as candidates for the member at `place` of the ranking, best first.

    All other ranked members count as comparisons: the ranking chose the top by the same games.

    level: of the round
    """
    own = ranked[place]
    others = [score for score in ranked if score is not own]
    gaps = [compare(score, own, rules.objective, rules.equals_sd) for score in others]
    levels = holm_levels([gap.p for gap in gaps], level)
    return [
        Candidate(score, gap, limit, least_lead(score, rules))
        for score, gap, limit in zip(others, gaps, levels, strict=True)
    ][:top]


def drawn_candidate(
    donor: MemberScore, own: MemberScore, rules: PbtRules, level: float
) -> Candidate:
    """Return a donor that was drawn before it is judged, as where each comparison stands alone."""
    gap = compare(donor, own, rules.objective, rules.equals_sd)
    return Candidate(donor, gap, level, least_lead(donor, rules))


def least_lead(donor: MemberScore, rules: PbtRules) -> float:
    """Return the lead that a donor needs, whatever chance may make."""
    return max(rules.copy_gap, rules.copy_ratio * abs(donor.objective))
