"""What a match between a run of A and a run of B is worth, in the objective of the comparison.

Wins count as the score of A. Otherwise it is the lead of A over B, and its unit of evidence is a
block of games, which share a seed:

margin  what A wins of B a game
return  how much more A gets than B a game; players that can take every seat are compared in games
        with copies of themselves
"""

from statistics import fmean, variance
from typing import Any

from arena.matches.match_result import MatchResult
from arena.matches.results import duel_games, partner_returns, seat_returns
from arena.stats.margin import unit_margins
from arena.stats.seat_means import block_means
from pbt.objective import ObjectiveKind

VALUE_KEY = {"win": "score", "margin": "margin", "return": "return"}
"""Under which key a meeting keeps what it is worth, by objective."""


def meeting_value(result: MatchResult, objective: ObjectiveKind) -> dict[str, Any]:
    """What is kept of a match: its value, and for a lead the variance of that mean.

    The variance is 0 where there is one block of games: what it leaves open is not known then.
    """
    if objective == "win":
        return {VALUE_KEY["win"]: result.duel.score}
    leads = _margins(result) if objective == "margin" else _return_leads(result)
    return {
        VALUE_KEY[objective]: fmean(leads),
        "variance": variance(leads) / len(leads) if len(leads) > 1 else 0.0,
    }


def _margins(result: MatchResult) -> list[float]:
    return unit_margins(duel_games(result.plan, dict(enumerate(result.records))))


def _return_leads(result: MatchResult) -> list[float]:
    """How much more A got than B, by block of games."""
    plan, games = result.plan, dict(enumerate(result.records))
    if plan.seating.alone:
        return [own - other for own, other in result.returns]
    if plan.seating.kind == "partners":
        selves = block_means(partner_returns(plan, games))
        own, other = selves[0, 0], selves[1, 1]
        return [value - other[block] for block, value in own.items()]
    leads: dict[int, dict[int, list[float]]] = {}
    for holder, blocks in block_means(seat_returns(plan, games)).items():
        for block, value in blocks.items():
            leads.setdefault(block, {0: [], 1: []})[holder.player].append(value)
    return [fmean(both[0]) - fmean(both[1]) for both in leads.values()]
