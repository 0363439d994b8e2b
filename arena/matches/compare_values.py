"""What a match between a run of A and a run of B is worth, in the objective of the comparison.

Wins count as the score of A: at larger tables, how often a seat of A came before one of B.
Otherwise it is the lead of A over B, and its unit of evidence is a block of games, which share a
seed:

margin  what A wins of B a game; at larger tables, how much more a seat of A gets than one of B
return  how much more A gets than B a game; players that can take every seat are compared in games
        with copies of themselves
"""

from statistics import fmean, variance
from typing import Any

import numpy as np

from arena.matches.match_result import PlayedMatch
from arena.matches.results import duel_games, partner_returns, seat_returns
from arena.stats.margin import unit_margins
from arena.stats.seat_means import block_means
from pbt.objective import ObjectiveKind

VALUE_KEY = {"win": "score", "margin": "margin", "return": "return"}
"""Under which key a meeting keeps what it is worth, by objective."""


def meeting_value(result: PlayedMatch, objective: ObjectiveKind) -> dict[str, Any]:
    """What is kept of a match: its value, and for a lead the variance of that mean.

    The variance is 0 where there is one block of games: what it leaves open is not known then.
    """
    duel = result.plan.seating.duel
    if objective == "win":
        return {VALUE_KEY["win"]: result.duel.score if duel else _score_at_table(result)}
    leads = _margins(result) if objective == "margin" and duel else _return_leads(result)
    return {
        VALUE_KEY[objective]: fmean(leads),
        "variance": variance(leads) / len(leads) if len(leads) > 1 else 0.0,
    }


def _score_at_table(result: PlayedMatch) -> float:
    """How often a seat of A came before one of B in the same game; a tie is half."""
    assert result.table is not None
    standings = result.table.standings
    players = np.array([row.player.player for row in standings.standings])
    return float(np.nanmean(standings.score[np.ix_(players == 0, players == 1)]))


def _margins(result: PlayedMatch) -> list[float]:
    return unit_margins(duel_games(result.plan, dict(enumerate(result.records))))


def _return_leads(result: PlayedMatch) -> list[float]:
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
