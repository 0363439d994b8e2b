"""The table where returns are what counts: mean returns, alone or with copies of itself."""

from collections.abc import Sequence
from typing import Any

from arena.cli.output import print_table
from arena.league.returns import ReturnStanding, best_by_return
from arena.stats.bradley_terry import BEST_MIN_GAMES

ORDERED = "with 95 % intervals; ordered by the lower end"
BY_ROLE = "with 95 % intervals; of each role ordered by the lower end"
ALONE_TEXT = f"Mean returns of evaluation games (one seat: there is no opponent), {ORDERED}"
TOGETHER_TEXT = (
    "Mean returns of evaluation games: return with itself in all seats where it was so seated, "
    f"cross-play beside other players, gap the difference; {ORDERED}"
)
BESIDE_TEXT = "Mean returns of evaluation games, all of them beside other players, "
ID_DIGITS = 8


def returns_words(table: Sequence[ReturnStanding], roles: Sequence[str]) -> str:
    """What the numbers are. roles: all that members of the population play."""
    if all(row.cross_play is None for row in table):
        return ALONE_TEXT
    if _sat_together(table):
        return TOGETHER_TEXT
    return BESIDE_TEXT + (BY_ROLE if len(roles) > 1 else ORDERED)


def _sat_together(table: Sequence[ReturnStanding]) -> bool:
    """Whether any player sat in all seats of a game."""
    return any(row.cross_play != (row.games, row.mean) for row in table)


def print_returns(
    name: str, table: Sequence[ReturnStanding], top: int, roles: Sequence[str]
) -> None:
    """Print the table, and below it which player is `@best`, of each role where there are several.

    roles  all that members of the population play
    top    print this many rows; 0 prints all
    """
    several = len(roles) > 1
    crossed = returns_words(table, roles) == TOGETHER_TEXT
    ordered = _by_role(table, roles) if several else table
    shown = ordered if top == 0 else ordered[:top]
    columns = ("player", *(("role",) if several else ()), "id", ">return [95 %]", ">games") + (
        (">cross-play", ">its games", ">gap") if crossed else ()
    )
    rows = [_cells(row, role=several) + (_crossed_cells(row) if crossed else ()) for row in shown]
    print_table(columns, rows, title=f"population {name}")
    if len(shown) < len(table):
        print(f"... and {len(table) - len(shown)} more: --top 0 shows all")
    print(f"{returns_words(table, roles)}.")
    for role in roles if len(roles) > 1 else (None,):
        print(_best_text(name if role is None else f"{name}/{role}", best_by_return(table, role)))


def _by_role(table: Sequence[ReturnStanding], roles: Sequence[str]) -> list[ReturnStanding]:
    """The rows role by role, since returns of different roles cannot be compared."""
    return sorted(table, key=lambda row: roles.index(row.snapshot.record.role))


def _best_text(name: str, best: ReturnStanding | None) -> str:
    if best is None:
        return (
            f"{name}@best: none yet; it takes {BEST_MIN_GAMES} evaluation games, and no "
            "snapshot that has its weights has them: train on"
        )
    return (
        f"{name}@best is {best.label}: the highest lower end of those with "
        f"{BEST_MIN_GAMES} games or more"
    )


def returns_report(
    name: str, table: Sequence[ReturnStanding], everyone: bool, roles: Sequence[str]
) -> dict[str, Any]:
    """The same table for programs. cross_play and gap are null without games beside others."""
    by_role = {role: best_by_return(table, role) for role in roles}
    best = {role: row and row.snapshot.record.snapshot_id for role, row in by_role.items()}
    return {
        "population": name,
        "everyone": everyone,
        "rating": returns_words(table, roles),
        "objective": "return",
        "unit": "a game",
        "best": next(iter(best.values()), None) if len(roles) < 2 else None,
        "best_by_role": best,
        "players": [
            {
                "player": row.label,
                "kind": "snapshot",
                "id": row.snapshot.record.snapshot_id,
                "role": row.snapshot.record.role,
                "frames": row.snapshot.record.frames,
                "games": row.games,
                "mean_return": row.mean,
                "low": row.low,
                "high": row.high,
                "cross_play": None if row.cross_play is None else row.cross_play[1],
                "cross_play_games": 0 if row.cross_play is None else row.cross_play[0],
                "gap": row.gap,
            }
            for row in (_by_role(table, roles) if len(roles) > 1 else table)
        ],
    }


def _cells(row: ReturnStanding, *, role: bool) -> tuple[str, ...]:
    """role: whether the role is shown."""
    mean = f"{row.mean:.4g}"
    interval = "" if row.low is None else f" [{row.low:.4g}, {row.high:.4g}]"
    return (
        row.label,
        *((row.snapshot.record.role,) if role else ()),
        row.snapshot.record.snapshot_id[:ID_DIGITS],
        mean + interval,
        str(row.games),
    )


def _crossed_cells(row: ReturnStanding) -> tuple[str, ...]:
    if row.cross_play is None:
        return "", "0", ""
    games, mean = row.cross_play
    return f"{mean:.4g}", str(games), "" if row.gap is None else f"{row.gap:+.4g}"
