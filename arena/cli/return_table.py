"""The table of games of one seat: mean returns, because there is no opponent to win against."""

from collections.abc import Sequence
from typing import Any

from arena.cli.output import print_table
from arena.league.returns import ReturnStanding, best_by_return
from arena.stats.bradley_terry import BEST_MIN_GAMES

RETURN_TEXT = (
    "Mean returns of evaluation games (one seat: there is no opponent), with 95 % "
    "intervals; ordered by the lower end"
)
ID_DIGITS = 8


def print_returns(name: str, table: Sequence[ReturnStanding], top: int) -> None:
    """Print the table. top: print this many rows; 0 prints all."""
    shown = table if top == 0 else table[:top]
    rows = [
        (row.label, row.snapshot.record.snapshot_id[:ID_DIGITS], _return_text(row), str(row.games))
        for row in shown
    ]
    print_table(("player", "id", ">return [95 %]", ">games"), rows, title=f"population {name}")
    if len(shown) < len(table):
        print(f"... and {len(table) - len(shown)} more: --top 0 shows all")
    print(f"{RETURN_TEXT}.")
    best = best_by_return(table)
    if best is None:
        print(
            f"{name}@best: none yet; it takes {BEST_MIN_GAMES} evaluation games, and no "
            "snapshot that has its weights has them: train on"
        )
    else:
        print(
            f"{name}@best is {best.label}: the highest lower end of those with "
            f"{BEST_MIN_GAMES} games or more"
        )


def returns_report(name: str, table: Sequence[ReturnStanding], everyone: bool) -> dict[str, Any]:
    """The same table for programs."""
    best = best_by_return(table)
    players = [
        {
            "player": row.label,
            "kind": "snapshot",
            "id": row.snapshot.record.snapshot_id,
            "games": row.games,
        }
        | {"mean_return": row.mean, "low": row.low, "high": row.high}
        for row in table
    ]
    chosen = best.snapshot.record.snapshot_id if best is not None else None
    return {
        "population": name,
        "everyone": everyone,
        "rating": RETURN_TEXT,
        "best": chosen,
        "players": players,
    }


def _return_text(row: ReturnStanding) -> str:
    return f"{row.mean:.4g}" + (f" [{row.low:.4g}, {row.high:.4g}]" if row.low is not None else "")
