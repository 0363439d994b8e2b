"""Games as a table and as CSV: one line per game, its seats separated by ";"."""

import csv
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TextIO

from arena.cli.output import print_table
from arena.league.database import League
from arena.league.game_rows import GameFilter, StoredGame, population_games
from arena.league.summaries import list_populations
from pbt.records import PlayerRef, SeatRecord

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


def newest_games(
    league: League, population: str, wanted: GameFilter, limit: int
) -> list[StoredGame]:
    """The newest `limit`, oldest first. Raises: PlayerError."""
    played = next(
        (summary.games for summary in list_populations(league) if summary.name == population), 0
    )
    width = limit
    while True:
        first = max(0, played - width)
        found = deque(
            population_games(league, population, replace(wanted, first=first)), maxlen=limit
        )
        if len(found) == limit or first == 0:
            return list(found)
        width *= 8


def write_games_csv(games: Iterable[StoredGame], out: TextIO) -> None:
    """With a header; players as member names, snapshot ids and scripted names."""
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
                f"{seat.version_start}-{seat.version_end}" if seat.player.kind == "member" else ""
                for seat in record.seats
            ),
        )
        head = (
            record.number,
            game.incarnation,
            record.kind,
            *seats,
            record.seed,
            record.steps,
            record.frames,
            record.end_reason,
        )
        writer.writerow(
            (
                *head,
                record.opening_plies,
                int(record.greedy),
                record.pair,
                record.trajectory_hash,
                game.committed_at,
            )
        )


def print_games(games: Sequence[StoredGame]) -> None:
    """A table on stdout."""
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
    """Alone at the table everybody comes first; there it is the return that says something."""
    if len(seats) == 1:
        points = "" if seats[0].points is None else f", points {seats[0].points:g}"
        return f"{_player_text(seats[0].player)} (return {seats[0].returns:.4g}{points})"
    return ", ".join(f"{_player_text(seat.player)} ({seat.place + 1})" for seat in seats)


def _player_text(player: PlayerRef) -> str:
    return player.name[:ID_DIGITS] if player.kind == "snapshot" else player.name


def _joined(values: Iterable[object]) -> str:
    return ";".join(map(str, values))
