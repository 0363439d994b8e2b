"""`arena matrix`: everybody against everybody, the truth that ratings summarise."""

import csv
import sys
from typing import Annotated, Any

import typer

from arena.cli.output import DataOption, JsonOption, print_json, print_table
from arena.cli.rating_table import circle_lines, rating_text
from arena.cli.tables import tables_of
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.standings import RatingTable, Standing, by_lower_bound
from arena.stats.score import Tally, wilson_interval
from pbt.errors import ConfigError

TOP_PLAYERS = 10
CSV_COLUMNS = ("player", "opponent", "games", "wins", "draws", "losses", "score", "low", "high")
_EXPLAINED = (
    "Score of the row against the column with half its 95 % interval (Wilson's, of "
    "games), and how many games; ordered as `arena league`"
)


def matrix(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A population; else each of them.", show_default=False
        ),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="With all other populations of its game.")
    ] = False,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="GAME",
            help="Instead: everybody who plays this game.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, help="Print the so many best, 0 for all.")
    ] = TOP_PLAYERS,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="One line per pair that met, as CSV on stdout.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """The win matrix: score, games and interval of every two players that met in evaluation
    games and matches.
    """
    if as_csv and as_json:
        raise ConfigError("arena matrix", ["--csv and --json: choose one"])
    with open_league(league_path(data_dir(data)), read_only=True) as opened:
        shown = [
            (scope, scope.table(opened))
            for scope in tables_of(opened, name, env, everyone=everyone)
        ]
    if as_json:
        reports = [matrix_report(scope.title, table) for scope, table in shown]
        print_json(reports if name is None else reports[0])
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, ("table", *CSV_COLUMNS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {"table": scope.title, **pair} for scope, table in shown for pair in pair_reports(table)
        )
    else:
        for number, (scope, table) in enumerate(shown):
            print("\n" * (number > 0), end="")
            print_matrix(scope.title, table, top)


def matrix_report(title: str, table: RatingTable) -> dict[str, Any]:
    """Pairs in one direction; score, low and high are the player's against the opponent."""
    return {
        "table": title,
        "players": [row.label for row in by_lower_bound(table.rows)],
        "pairs": pair_reports(table),
    }


def pair_reports(table: RatingTable) -> list[dict[str, Any]]:
    """Every two that met, once, the stronger by the table first."""
    rows = by_lower_bound(table.rows)
    place = {row.player: index for index, row in enumerate(rows)}
    return [
        {"player": row.label, "opponent": rows[place[other]].label, **_pair_report(tally)}
        for row in rows
        for other, tally in sorted(row.results.items(), key=lambda met: place[met[0]])
        if place[row.player] < place[other]
    ]


def _pair_report(tally: Tally) -> dict[str, float]:
    low, high = wilson_interval(tally.score, tally.games)
    counts = {
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
    }
    return {**counts, "score": tally.score, "low": low, "high": high}


def print_matrix(title: str, table: RatingTable, top: int) -> None:
    """The matrix of the `top` best (0: of all) on stdout; columns are numbered as rows are."""
    rows = by_lower_bound(table.rows)
    if not rows:
        print(f"{title}: no evaluation game and no match between two players yet")
        return
    shown = rows if top == 0 else rows[:top]
    columns = (">", "player", ">Elo [95 %]", *(f">{number}" for number in range(1, len(shown) + 1)))
    cells = [
        (number, row.label, rating_text(row), *(_cell(row, other) for other in shown))
        for number, row in enumerate(shown, start=1)
    ]
    print_table(
        columns,
        cells,
        title=title,
        spare=("Elo [95 %]", *(str(number) for number in range(len(shown), 0, -1))),
    )
    if len(shown) < len(rows):
        print(
            f"... and {len(rows) - len(shown)} more: --top 0 shows all, --csv is easier to "
            "read then"
        )
    print(f"{_EXPLAINED}.")
    for line in circle_lines(table):
        print(line)


def _cell(row: Standing, other: Standing) -> str:
    if row.player == other.player:
        return "-"
    tally = row.results.get(other.player)
    if tally is None:
        return ""
    low, high = wilson_interval(tally.score, tally.games)
    return f"{tally.score:.0%} ± {100 * (high - low) / 2:.0f} ({tally.games})"
