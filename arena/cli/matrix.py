"""`arena matrix`: the score of every player against every other one, which ratings summarise."""

import csv
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from arena.cli.output import MOST_ROWS, DataOption, JsonOption, print_json, print_table
from arena.cli.rating_scopes import EveryoneOption, GameOption, TableName
from arena.cli.rating_table import circle_lines, rating_head, rating_text, why_empty
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.ratings import RatingTable, Standing, by_lower_bound
from arena.python.ratings import scopes_of
from arena.stats.intervals import wilson_interval
from arena.stats.margin_cycles import PairMargin, pair_margins
from arena.stats.score import Tally
from pbt.errors import ConfigError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef

Margins = Mapping[tuple[PlayerRef, PlayerRef], PairMargin[PlayerRef]]

TOP_PLAYERS = 10
_MARGIN = ("margin", "margin_low", "margin_high", "units")
CSV_COLUMNS = (
    *("player", "opponent", "games", "wins", "draws", "losses", "score", "low", "high"),
    *_MARGIN,
)
_EXPLAINED: Mapping[ObjectiveKind, str] = {
    "win": "Score of the row against the column with half its 95 % interval (Wilson's, of "
    "games), and how many games; ordered as `arena league`",
    "margin": "Mean margin a game of the row against the column with half its 95 % interval "
    "(Student's t), and how many units (seed pairs, or games outside one); ordered as "
    "`arena league`",
}


TopOption = Annotated[
    int,
    typer.Option(min=0, max=MOST_ROWS, help="Print this many of the best players; 0 prints all."),
]
CsvOption = Annotated[
    bool, typer.Option("--csv", help="Print CSV, one line per pair of players that met.")
]


def matrix(
    name: TableName = None,
    everyone: EveryoneOption = False,
    env: GameOption = None,
    top: TopOption = TOP_PLAYERS,
    as_csv: CsvOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the matrix: score, games and interval of every two players that met.

    They met in evaluation games and in matches. Where margins count, it shows mean margins.
    """
    if as_csv and as_json:
        raise ConfigError("arena matrix", ["--csv and --json: choose one"])
    with open_league(league_path(data_dir(data)), read_only=True) as opened:
        shown = [
            (scope, scope.table(opened))
            for scope in scopes_of(opened, name, env, everyone=everyone)
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
    """The matrix for programs: each pair once; the numbers are the player's.

    low and high belong to the score. margin, its ends and units are null unless margins count.
    Where returns count, there are no pairs.
    """
    return {
        "table": title,
        "objective": table.objective,
        "players": [row.label for row in by_lower_bound(table.rows)],
        "pairs": pair_reports(table),
    }


def pair_reports(table: RatingTable) -> list[dict[str, Any]]:
    """Every two players that met, once; the one that the table ranks higher comes first."""
    rows = by_lower_bound(table.rows)
    place = {row.player: index for index, row in enumerate(rows)}
    margins = margins_by_pair(table)
    return [
        {
            "player": row.label,
            "opponent": rows[place[other]].label,
            **_pair_report(tally),
            **_margin_report(margins.get((row.player, other))),
        }
        for row in rows
        for other, tally in sorted(row.results.items(), key=lambda met: place[met[0]])
        if place[row.player] < place[other]
    ]


def _pair_report(tally: Tally) -> dict[str, float]:
    low, high = wilson_interval(tally.score, tally.games)
    numbers = {"games": tally.games, **asdict(tally), "score": tally.score}
    return {**numbers, "low": low, "high": high}


def _margin_report(margin: PairMargin[PlayerRef] | None) -> dict[str, float | None]:
    if margin is None:
        return dict.fromkeys(_MARGIN)
    numbers = (margin.mean, margin.low, margin.high, margin.units)
    return dict(zip(_MARGIN, numbers, strict=True))


def margins_by_pair(table: RatingTable) -> Margins:
    """The margins between every two players, from both sides; none where the table has none."""
    if table.objective != "margin":
        return {}
    pairs = pair_margins(table.margins)
    return {(one.a, one.b): one for pair in pairs for one in (pair, pair.turned())}


def print_matrix(title: str, table: RatingTable, top: int) -> None:
    """Print the matrix of the `top` best players (0: of all); columns are numbered as the rows."""
    rows = by_lower_bound(table.rows)
    if not rows:
        print(f"{title}: {why_empty(table)}")
        return
    margins = margins_by_pair(table)
    shown = rows if top == 0 else rows[:top]
    head = rating_head(table)
    columns = (">", "player", f">{head}", *(f">{number}" for number in range(1, len(shown) + 1)))
    cells = [
        (
            number,
            row.label,
            rating_text(row, table),
            *(_cell(row, other, margins) for other in shown),
        )
        for number, row in enumerate(shown, start=1)
    ]
    print_table(
        columns,
        cells,
        title=title,
        spare=(head, *(str(number) for number in range(len(shown), 0, -1))),
    )
    if len(shown) < len(rows):
        print(
            f"... and {len(rows) - len(shown)} more: --top 0 shows all, --csv is easier to "
            "read then"
        )
    print(f"{_EXPLAINED[table.objective]}.")
    for line in circle_lines(table):
        print(line)


def _cell(row: Standing, other: Standing, margins: Margins) -> str:
    if row.player == other.player:
        return "-"
    margin = margins.get((row.player, other.player))
    if margin is not None:
        half = "" if margin.high is None else f" ± {margin.high - margin.mean:.2g}"
        return f"{margin.mean:+.3g}{half} ({margin.units})"
    tally = row.results.get(other.player)
    if tally is None:
        return ""
    low, high = wilson_interval(tally.score, tally.games)
    return f"{tally.score:.0%} ± {100 * (high - low) / 2:.0f} ({tally.games})"
