"""The rating table for programs: one entry per player, and the circles that no rating explains."""

from dataclasses import asdict
from typing import Any

from arena.cli.rating_distances import to_best, to_middle
from arena.cli.rating_table import is_weightless, leader, predicted_score, rating_words
from arena.cli.return_table import returns_report
from arena.league.best_of_many import BestOfMany, best_of_many, best_return_of_many
from arena.league.circles import circles_of
from arena.league.database import League
from arena.league.ratings import (
    RatingTable,
    Standing,
    best_of_roles,
    best_standing,
    by_lower_bound,
    by_role,
    is_provisional,
    ranks_of,
)
from arena.league.summaries import roles_of
from arena.matches.fresh import fresh_strength
from arena.python.ratings import PopulationScope
from pbt.records import PlayerRef


def league_report(league: League, name: str, *, everyone: bool = False) -> dict[str, Any]:
    """The table of one population. Raises: PlayerError.

    elo, low and high are null for a player that no chain of games connects to the others. "best" is
    null where members play several roles: each role has its own in "best_by_role".
    """
    rated, roles = PopulationScope(name, everyone).rated(league), roles_of(league, name)
    if rated.returns is not None:
        returns = rated.returns
        return {
            **returns_report(name, returns.rows, everyone, roles),
            "best_of_many": {
                role: _claim_report(league, best_return_of_many(league, name, returns, role))
                for role in roles
            },
        }
    own_table = rated.own or rated.table
    own = own_table.rows
    best, by_role = best_standing(own) if len(roles) < 2 else None, best_of_roles(own)
    return {
        "population": name,
        "everyone": everyone,
        "best": best.player.name if best else None,
        "best_by_role": {
            role: by_role[role].player.name if role in by_role else None for role in roles
        },
        "best_of_many": {
            role: _claim_report(league, best_of_many(league, name, own_table, role))
            for role in roles
        },
        **standings_report(rated.table),
    }


def _claim_report(league: League, claim: BestOfMany) -> dict[str, Any]:
    """The claim, with the strength in its fresh games as `arena.matches.fresh.FreshStrength`."""
    strength = fresh_strength(league, claim.fresh)
    return {**asdict(claim), "fresh_strength": None if strength is None else asdict(strength)}


def standings_report(table: RatingTable) -> dict[str, Any]:
    """The entries and the circles, whose share and p are as in `arena.stats.cycles.CyclicShare`.

    Where players play several roles, rank and the numbers against the best are those of the table
    of the player's role; a player that plays any role has none.
    """
    rows = by_lower_bound(table.rows)
    circles = circles_of(table)
    names = {row.player: row.label for row in rows}
    cycles = [
        {"players": [names[cycle.a], names[cycle.b], names[cycle.c]], "p": cycle.p}
        for cycle in circles.cycles
    ]
    placed: dict[PlayerRef, dict[str, Any]] = {}
    for role, own in by_role(rows).items():
        best, top, middle = leader(own), to_best(table, own), to_middle(table, own)
        for rank, row in zip(ranks_of(own, role), own, strict=True):
            inside = role in (None, row.role)
            placed[row.player] = {
                "rank": rank if inside else None,
                **_row_report(table, row, best if inside else None),
                "to_best": top.report(row) if top and inside else None,
                "to_middle": middle.report(row) if middle and inside else None,
            }
    players = [placed[row.player] for row in rows]
    return {
        "rating": rating_words(table),
        "objective": table.objective,
        "unit": table.rated.unit,
        "model": {"name": table.rated.model, **table.rated.facts},
        "players": players,
        "cycles": cycles,
        "cyclic_share": {"share": circles.share.share, "p": circles.share.p},
    }


def _row_report(table: RatingTable, row: Standing, best: Standing | None) -> dict[str, Any]:
    direct = row.results.get(best.player) if best is not None else None
    return {
        "player": row.label,
        "kind": row.player.kind,
        "id": row.player.name,
        "role": row.role,
        ("elo" if table.objective == "win" else table.objective): row.rating,
        "low": row.low,
        "high": row.high,
        "provisional": is_provisional(row),
        "weights_removed": is_weightless(row),
        "games": row.total.games,
        **asdict(row.total),
        "score": row.total.score,
        "score_vs_best": direct.score if direct else None,
        "games_vs_best": direct.games if direct else 0,
        "predicted_vs_best": predicted_score(table, row, best),
        "score_vs_random": row.against_random.score if row.against_random else None,
        "opponents": len(row.results),
    }
