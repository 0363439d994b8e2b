"""The table where returns are what counts: mean returns, alone or with copies of itself.

Where players play several roles, each role has a table, with ranks of its own.
"""

from collections.abc import Sequence
from typing import Any

from arena.cli.output import print_table
from arena.league.returns import ReturnStanding, best_by_return, return_ranks
from arena.stats.bradley_terry import BEST_MIN_GAMES

ORDERED = "with 95 % intervals; ordered by the lower end"
ALONE_TEXT = f"Mean returns of evaluation games (one seat: there is no opponent), {ORDERED}"
TOGETHER_TEXT = (
    "Mean returns of evaluation games: return with itself in all seats, "
    f"cross-play beside other players, gap the difference; {ORDERED}"
)
BESIDE_TEXT = f"Mean returns of evaluation games, all of them beside other players, {ORDERED}"
MIXED_TEXT = (
    f"Mean returns of evaluation games beside other players, {ORDERED}; games with itself in "
    f"all seats rank none until each snapshot that has {BEST_MIN_GAMES} games has "
    f"{BEST_MIN_GAMES} of them"
)
ID_DIGITS = 8


def returns_words(table: Sequence[ReturnStanding]) -> str:
    """What the numbers are."""
    if all(row.cross_play is None for row in table):
        return ALONE_TEXT
    together = any(row.cross_play != (row.games, row.mean) for row in table)
    if together:
        return TOGETHER_TEXT
    return MIXED_TEXT if any(row.left_out for row in table) else BESIDE_TEXT


def print_returns(
    name: str, table: Sequence[ReturnStanding], top: int, roles: Sequence[str]
) -> None:
    """Print the table, one for each role where there are several.

    top  print this many rows of each role; 0 prints all
    """
    crossed = returns_words(table) == TOGETHER_TEXT
    columns = (">rank", "player", "id", ">return [95 %]", ">games") + (
        (">cross-play", ">its games", ">gap") if crossed else ()
    )
    of_roles = [(role, f", role {role}") for role in roles] if len(roles) > 1 else [(None, "")]
    for number, (role, heading) in enumerate(of_roles):
        print("\n" * (number > 0), end="")
        own = [row for row in table if role in (None, row.role)]
        shown = own if top == 0 else own[:top]
        rows = [
            ("?" if rank is None else str(rank), *_cells(row))
            + (_crossed_cells(row) if crossed else ())
            for rank, row in zip(return_ranks(own), shown, strict=False)
        ]
        print_table(columns, rows, title=f"population {name}{heading}")
        if len(shown) < len(own):
            print(f"... and {len(own) - len(shown)} more: --top 0 shows all")
    print(f"{returns_words(table)}.")
    if any(rank is None for rank in return_ranks(table)):
        print(f"? = provisional: fewer than {BEST_MIN_GAMES} games.")


def returns_report(
    name: str, table: Sequence[ReturnStanding], everyone: bool, roles: Sequence[str]
) -> dict[str, Any]:
    """The same table for programs. cross_play and gap are null without games beside others.

    rank is within the role, null for a player with too few games.
    """
    by_role = {role: best_by_return(table, role) for role in roles}
    best = {role: row and row.snapshot.record.snapshot_id for role, row in by_role.items()}
    return {
        "population": name,
        "everyone": everyone,
        "rating": returns_words(table),
        "objective": "return",
        "unit": "a game",
        "best": next(iter(best.values()), None) if len(roles) < 2 else None,
        "best_by_role": best,
        "players": [
            {
                "rank": rank,
                "player": row.label,
                "kind": "snapshot",
                "id": row.snapshot.record.snapshot_id,
                "role": row.role,
                "frames": row.snapshot.record.frames,
                "games": row.games,
                "mean_return": row.mean,
                "low": row.low,
                "high": row.high,
                "cross_play": None if row.cross_play is None else row.cross_play[1],
                "cross_play_games": 0 if row.cross_play is None else row.cross_play[0],
                "gap": row.gap,
            }
            for rank, row in zip(return_ranks(table), table, strict=True)
        ],
    }


def _cells(row: ReturnStanding) -> tuple[str, ...]:
    mean = f"{row.mean:.4g}"
    interval = "" if row.low is None else f" [{row.low:.4g}, {row.high:.4g}]"
    return (
        row.label,
        row.snapshot.record.snapshot_id[:ID_DIGITS],
        mean + interval,
        str(row.games),
    )


def _crossed_cells(row: ReturnStanding) -> tuple[str, ...]:
    if row.cross_play is None:
        return "", "0", ""
    games, mean = row.cross_play
    return f"{mean:.4g}", str(games), "" if row.gap is None else f"{row.gap:+.4g}"
