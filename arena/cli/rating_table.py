"""The rating table for people and for programs: one row per player, most surely strong first."""

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

from arena.cli.output import print_table
from arena.league.database import League
from arena.league.returns import ReturnStanding, best_by_return, return_standings
from arena.league.standings import ANCHOR, Standing, best_standing, standings
from arena.ratings import BEST_MIN_GAMES
from arena.statistics import Tally

RANK_MAX_HALF_WIDTH = 75.0
RATING_TEXT = "Elo from evaluation games only (Bradley-Terry, random = 0), with 95 % intervals; ordered by the lower end"
RETURN_TEXT = "Mean returns of evaluation games (one seat: nobody wins), with 95 % intervals; ordered by the lower end"
TOP_ROWS = 20
ID_DIGITS = 8
_COLUMNS = (">rank", "player", "id", ">Elo [95 %]", ">games", ">W/D/L", ">score", ">vs random")


def print_league(league: League, name: str, *, everyone: bool = False, top: int = TOP_ROWS) -> None:
    """The table of one population on stdout, and below it who `@best` is.

    everyone: with the other populations of the same game; top: so many rows and no more, 0 for all. Raises: PlayerError.
    """
    table = by_lower_bound(standings(league, name, everyone=everyone))
    if alone := return_standings(league, name) if not table else []:
        _print_returns(name, alone, top)
        return
    if not table:
        print(f"population {name}: {why_no_best(table)}")
        return
    shown = table if top == 0 else table[:top]
    if table[0].snapshot is not None or len(table) > 1:
        print_table(_COLUMNS, _cells(table, shown), title=f"population {name}" + (" and all others of its game" if everyone else ""))
    if len(shown) < len(table):
        print(f"... and {len(table) - len(shown)} more: --top 0 shows all")
    print(f"{RATING_TEXT}.")
    if any(is_provisional(row) for row in shown if row.player != ANCHOR):
        print(f"? = provisional: fewer than {BEST_MIN_GAMES} games, or an interval of {RANK_MAX_HALF_WIDTH:.0f} Elo or more to a side.")
    print(best_text(name, table) if not everyone else best_text(name, standings(league, name)))


def league_report(league: League, name: str, *, everyone: bool = False) -> dict[str, Any]:
    """The same for programs; elo, low and high are null for a player that no chain of games connects to `random`. Raises: PlayerError."""
    table = by_lower_bound(standings(league, name, everyone=everyone))
    if alone := return_standings(league, name) if not table else []:
        return _returns_report(name, alone, everyone)
    best = best_standing(table if not everyone else standings(league, name))
    ranks = _ranks(table)
    players = [
        {
            "rank": ranks[i],
            "player": row.label,
            "kind": row.player.kind,
            "id": row.player.name,
            "elo": row.elo,
            "low": row.low,
            "high": row.high,
            "provisional": is_provisional(row),
            "games": row.total.games,
            "wins": row.total.wins,
            "draws": row.total.draws,
            "losses": row.total.losses,
            "score": row.total.score,
            "score_vs_random": row.against_random.score if row.against_random else None,
            "opponents": len(row.results),
        }
        for i, row in enumerate(table)
    ]
    return {"population": name, "everyone": everyone, "rating": RATING_TEXT, "best": best.player.name if best else None, "players": players}


def _print_returns(name: str, table: Sequence[ReturnStanding], top: int) -> None:
    shown = table if top == 0 else table[:top]
    rows = [(row.label, row.snapshot.record.snapshot_id[:ID_DIGITS], _return_text(row), str(row.games)) for row in shown]
    print_table(("player", "id", ">return [95 %]", ">games"), rows, title=f"population {name}")
    if len(shown) < len(table):
        print(f"... and {len(table) - len(shown)} more: --top 0 shows all")
    print(f"{RETURN_TEXT}.")
    best = best_by_return(table)
    if best is None:
        print(f"{name}@best: nobody yet; it takes {BEST_MIN_GAMES} evaluation games, and no snapshot that has its weights has them: train on")
    else:
        print(f"{name}@best is {best.label}: the highest lower end of those with {BEST_MIN_GAMES} games or more")


def _return_text(row: ReturnStanding) -> str:
    return f"{row.mean:.4g}" + (f" [{row.low:.4g}, {row.high:.4g}]" if row.low is not None else "")


def _returns_report(name: str, table: Sequence[ReturnStanding], everyone: bool) -> dict[str, Any]:
    best = best_by_return(table)
    players = [
        {"player": row.label, "kind": "snapshot", "id": row.snapshot.record.snapshot_id, "games": row.games}
        | {"mean_return": row.mean, "low": row.low, "high": row.high}
        for row in table
    ]
    chosen = best.snapshot.record.snapshot_id if best is not None else None
    return {"population": name, "everyone": everyone, "rating": RETURN_TEXT, "best": chosen, "players": players}


def by_lower_bound(table: Sequence[Standing]) -> list[Standing]:
    """Most surely strong first; players without a rating last."""
    return sorted(table, key=lambda row: (-row.low if row.low is not None else math.inf, row.label))


def is_provisional(row: Standing) -> bool:
    """Whether too little is known of a player to give it a rank."""
    if row.low is None or row.high is None:
        return True
    return row.total.games < BEST_MIN_GAMES or (row.high - row.low) / 2 >= RANK_MAX_HALF_WIDTH


def best_text(name: str, table: Sequence[Standing]) -> str:
    """Who is `@best`, or why nobody is."""
    found = best_standing(table)
    if found is None:
        return f"{name}@best: nobody yet; {why_no_best(table)}"
    who = f"{found.label} ({found.player.name[:ID_DIGITS]})"
    return f"{name}@best is {who}: the highest lower end, {found.low:+.0f}, of those with {BEST_MIN_GAMES} games or more"


def why_no_best(table: Sequence[Standing]) -> str:
    """What is missing, and what to do."""
    snapshots = [row for row in table if row.snapshot is not None]
    if not snapshots:
        return "no evaluation game was played yet; they begin when the first snapshots are there: train on"
    played = [row for row in snapshots if row.total.games >= BEST_MIN_GAMES]
    if not played:
        most = max(snapshots, key=lambda row: row.total.games)
        return f"it takes {BEST_MIN_GAMES} evaluation games, and {most.label} has most, {most.total.games}: train on"
    if all(row.low is None for row in played):
        return f"no chain of games connects the players to random: arena match {played[0].label} random"
    return "the weights of every player with enough games were removed: train on"


def _cells(table: Sequence[Standing], shown: Sequence[Standing]) -> list[tuple[str, ...]]:
    ranks = _ranks(table)
    return [
        (
            str(rank) if rank is not None else "" if row.player == ANCHOR else "?",
            row.label if row.snapshot is not None or row.player.kind == "scripted" else "(deleted)",
            row.player.name[:ID_DIGITS] if row.player.kind == "snapshot" else "",
            rating_text(row),
            str(row.total.games),
            f"{row.total.wins}/{row.total.draws}/{row.total.losses}",
            _percent(row.total),
            _percent(row.against_random),
        )
        for rank, row in zip(ranks, shown, strict=False)
    ]


def _ranks(table: Sequence[Standing]) -> list[int | None]:
    """1, 2, ... over the rows that are not provisional; the anchor is a mark, not a competitor."""
    counter = count(1)
    return [None if row.player == ANCHOR or is_provisional(row) else next(counter) for row in table]


def rating_text(row: Standing) -> str:
    """`+312 [+250, +374]`, 0 for the anchor, or a dash."""
    if row.player == ANCHOR:
        return "0"
    if row.elo is None or row.low is None or row.high is None:
        return "-"
    return f"{row.elo:+.0f} [{row.low:+.0f}, {row.high:+.0f}]"


def _percent(tally: Tally | None) -> str:
    return f"{tally.score:.1%}" if tally is not None else ""
