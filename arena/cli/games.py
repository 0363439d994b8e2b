"""`arena games`: the games of a population as a table, as CSV or as JSON.

One line per game. In CSV the values of its seats are separated by ";".
"""

import csv
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Annotated, TextIO

import typer

from arena.cli.output import (
    MOST_ROWS,
    DataOption,
    JsonOption,
    NameArgument,
    print_json,
    print_table,
)
from arena.data.paths import data_dir, league_path
from arena.league.database import League, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import StoredGame, population_games
from arena.league.summaries import list_populations
from pbt.errors import ConfigError
from pbt.records import GameKind, PlayerRef, SeatRecord

TABLE_GAMES = 20
ID_DIGITS = 8
CSV_COLUMNS = (
    "number",
    "incarnation",
    "kind",
    "players",
    "places",
    "returns",
    "points",
    "versions",
    "seed",
    "steps",
    "frames",
    "end_reason",
    "opening_plies",
    "greedy",
    "pair",
    "trajectory_hash",
    "committed_at",
)

CsvOption = Annotated[
    bool, typer.Option("--csv", help="Print CSV: all games, or the newest with --limit.")
]
KindOption = Annotated[
    str | None,
    typer.Option(
        metavar="training|evaluation", help="Only games of this kind.", show_default=False
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_ROWS,
        help=f"Show only this many of the newest games; {TABLE_GAMES} without --csv.",
        show_default=False,
    ),
]


def games(
    name: NameArgument,
    as_csv: CsvOption = False,
    kind: KindOption = None,
    limit: LimitOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the games of a population, oldest first."""
    if as_csv and as_json:
        raise ConfigError("arena games", ["--csv and --json: choose one"])
    games_filter = GameFilter(kind=_game_kind(kind))
    with open_league(league_path(data_dir(data)), read_only=True) as opened:
        if as_csv and limit is None:
            write_games_csv(population_games(opened, name, games_filter), sys.stdout)
            return
        newest = newest_games(opened, name, games_filter, limit or TABLE_GAMES)
    if as_csv:
        write_games_csv(newest, sys.stdout)
    elif as_json:
        print_json(
            [
                {
                    **asdict(game.record),
                    "actions": None,
                    "incarnation": game.incarnation,
                    "committed_at": game.committed_at,
                }
                for game in newest
            ]
        )
    elif newest:
        print_games(newest)
    else:
        print(f"population {name}: no such games yet")


def _game_kind(word: str | None) -> GameKind | None:
    match word:
        case None | "training" | "evaluation":
            return word
    raise ConfigError("arena games", [f"--kind {word}: expected training or evaluation"])


def newest_games(
    league: League, population: str, games_filter: GameFilter, limit: int
) -> list[StoredGame]:
    """The newest `limit` games, oldest first. Raises: PlayerError."""
    played = next(
        (summary.games for summary in list_populations(league) if summary.name == population), 0
    )
    width = limit
    while True:
        first = max(0, played - width)
        newest = deque(
            population_games(league, population, replace(games_filter, first=first)), maxlen=limit
        )
        if len(newest) == limit or first == 0:
            return list(newest)
        width *= 8


def write_games_csv(games: Iterable[StoredGame], out: TextIO) -> None:
    """Write a header and one line per game.

    Players are written as member names, snapshot ids and names of scripted players.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for game in games:
        record = game.record
        seats = (
            _joined(seat.player.name for seat in record.seats),
            _joined(seat.place for seat in record.seats),
            _joined(seat.returns for seat in record.seats),
            _joined("" if seat.points is None else seat.points for seat in record.seats),
            _joined(
                _versions_text(seat) if seat.player.kind == "member" else ""
                for seat in record.seats
            ),
        )
        writer.writerow(
            (
                record.number,
                game.incarnation,
                record.kind,
                *seats,
                record.seed,
                record.steps,
                record.frames,
                record.end_reason,
                record.opening_plies,
                int(record.greedy),
                record.pair,
                record.trajectory_hash,
                game.committed_at,
            )
        )


def _versions_text(seat: SeatRecord) -> str:
    """The learner's versions at the first and the last action, such as "17-19" or "unknown-19"."""
    first = "unknown" if seat.version_start is None else seat.version_start
    return f"{first}-{seat.version_end}"


def print_games(games: Sequence[StoredGame]) -> None:
    """Print a table on stdout."""
    columns = (">number", "kind", "seats (place)", ">steps", "end", ">seed")
    rows = [
        (
            g.record.number,
            g.record.kind,
            _seats_text(g.record.seats),
            g.record.steps,
            g.record.end_reason,
            g.record.seed,
        )
        for g in games
    ]
    print_table(columns, rows, spare=("seed", "steps"))


def _seats_text(seats: Sequence[SeatRecord]) -> str:
    """The seats with their places; for a single seat its return, because its place is always 1."""
    if len(seats) == 1:
        points = "" if seats[0].points is None else f", points {seats[0].points:g}"
        return f"{_player_text(seats[0].player)} (return {seats[0].returns:.4g}{points})"
    return ", ".join(f"{_player_text(seat.player)} ({seat.place + 1})" for seat in seats)


def _player_text(player: PlayerRef) -> str:
    return player.name[:ID_DIGITS] if player.kind == "snapshot" else player.name


def _joined(values: Iterable[object]) -> str:
    return ";".join(map(str, values))
