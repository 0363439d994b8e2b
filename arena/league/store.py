"""Batches of records are stored as rows here, in the caller's transaction.

Storing a batch again changes nothing.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from arena.league.database import League
from arena.league.matches import Match, insert_match
from arena.league.populations import Incarnation
from arena.league.rows import (
    Row,
    certificate_values,
    game_row,
    insert_sql,
    round_values,
    seat_row,
)
from arena.league.schema import (
    MEMBER,
    PLAYER_KINDS,
    events,
    game_key,
    game_seats,
    games,
    match_game_key,
    players,
    rounds,
    snapshots,
    wiring_certificates,
)
from pbt.errors import EngineError
from pbt.records import (
    Event,
    GameRecord,
    PlayerRef,
    RoundRecord,
    SnapshotRecord,
    WiringCertificate,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of another table than `games`.

    It is made in the caller's thread, so that a record that cannot be stored raises there.

    table   name of the table
    values  column -> value
    """

    table: str
    values: dict[str, Any]


Told = RoundRecord | SnapshotRecord | WiringCertificate | Event
"""A record of a training that is no game."""


def entry(record: Told, position: int) -> Entry:
    """The row of a record. position: that of an event in its incarnation.

    Raises: ValueError when a number of a round or certificate is nan or infinite.
    """
    match record:
        case RoundRecord():
            return Entry("rounds", round_values(record))
        case SnapshotRecord():
            return Entry("snapshots", asdict(record))
        case WiringCertificate():
            return Entry("wiring_certificates", certificate_values(record))
        case Event():
            return Entry("events", {**asdict(record), "position": position})


class RowStore:
    """Stores the records of one incarnation or one match.

    It remembers the ids of players and the last game's number, both only of committed rows.
    """

    def __init__(self, source: Incarnation | Match) -> None:
        self._training = isinstance(source, Incarnation)
        self._incarnation_id = source.id if isinstance(source, Incarnation) else None
        self._match_id = None if isinstance(source, Incarnation) else source.id
        self._population_id = source.population_id if isinstance(source, Incarnation) else 0
        self._last_game = source.first_game - 1 if isinstance(source, Incarnation) else -1
        self._new_last_game = self._last_game
        self._player_ids: dict[tuple[str, str], int] = {}
        self._new_player_ids: dict[tuple[str, str], int] = {}

    def committed(self) -> None:
        self._last_game = self._new_last_game
        self._player_ids.update(self._new_player_ids)
        self._new_player_ids.clear()

    def rolled_back(self) -> None:
        self._new_last_game = self._last_game
        self._new_player_ids.clear()

    def write(self, connection: Connection, batch: Sequence[GameRecord | Entry]) -> None:
        """Stores a batch. Raises: EngineError on a record that cannot be a row, and DBAPIError."""
        game_rows: list[Row] = []
        seat_rows: list[Row] = []
        now = time.time()
        for item in batch:
            if isinstance(item, GameRecord):
                self._add_game(connection, item, int(now), game_rows, seat_rows)
                self._new_last_game = item.number
            else:
                self._write_entry(connection, item, now)
        if game_rows:
            added = connection.exec_driver_sql(insert_sql(games, ("id",)), game_rows).rowcount
            if added != len(game_rows):
                _refuse_other_games(connection, game_rows)
            connection.exec_driver_sql(insert_sql(game_seats, ("game_id", "seat")), seat_rows)

    def _add_game(
        self,
        connection: Connection,
        game: GameRecord,
        now: int,
        game_rows: list[Row],
        seat_rows: list[Row],
    ) -> None:
        source = self._incarnation_id
        key = (
            game_key(source, game.number)
            if source is not None
            else match_game_key(self._match_id or 0, game.number)
        )
        game_rows.append(game_row(key, source, self._match_id, game, now))
        for seat, record in enumerate(game.seats):
            player = record.player
            player_id = self._player_ids.get((player.kind, player.name)) or self._find_player(
                connection, player
            )
            seat_rows.append(seat_row(key, seat, player_id, record))

    def _find_player(self, connection: Connection, player: PlayerRef) -> int:
        name = (player.kind, player.name)
        new_id = self._new_player_ids.get(name)
        if new_id is not None:
            return new_id
        kind = PLAYER_KINDS.index(player.kind)
        if kind == MEMBER and not self._training:
            raise EngineError(
                f"player {player.name}: a live member in a match; expected its snapshot"
            )
        values = {
            "kind": kind,
            "name": player.name,
            "population_id": self._population_id if kind == MEMBER else 0,
        }
        connection.execute(insert(players).values(**values).on_conflict_do_nothing())
        of_player = select(players.c.id).where(
            *(players.c[column] == value for column, value in values.items())
        )
        player_id = int(connection.execute(of_player).scalar_one())
        self._new_player_ids[name] = player_id
        return player_id

    def _write_entry(self, connection: Connection, item: Entry, now: float) -> None:
        values = {
            **item.values,
            "incarnation_id": self._incarnation_id,
            "after_game": self._new_last_game,
            "created_at": now,
        }
        if item.table == "snapshots":
            values["population_id"] = self._population_id
            again = {
                "superseded": 0,
                "weights_removed": 0,
                "incarnation_id": self._incarnation_id,
                "after_game": self._new_last_game,
            }
            gone = (snapshots.c.superseded == 1) | (snapshots.c.weights_removed == 1)
            # A resumed training may make the same snapshot again that its resume had superseded.
            keep = insert(snapshots).values(**values)
            connection.execute(
                keep.on_conflict_do_update(
                    index_elements=["population_id", "snapshot_id"], set_=again, where=gone
                )
            )
            return
        table, key = _KEYS[item.table]
        connection.execute(
            insert(table).values(**values).on_conflict_do_nothing(index_elements=key)
        )


_KEYS = {
    "rounds": (rounds, ["incarnation_id", "member", "round"]),
    "events": (events, ["incarnation_id", "position"]),
    "wiring_certificates": (wiring_certificates, ["incarnation_id", "member", "frames"]),
}


def _refuse_other_games(connection: Connection, rows: Sequence[Row]) -> None:
    """Raises: EngineError when a stored game has a number of these rows and is another game.

    A repeated commit finds the same games.
    """
    compared = (
        games.c.id,
        games.c.environment,
        games.c.count,
        games.c.number,
        games.c.seed,
        games.c.trajectory_hash,
    )
    names = games.c.keys()
    places = [names.index(column.name) for column in compared]
    for row in rows:
        stored = connection.execute(select(*compared).where(games.c.id == row[0])).one()
        if tuple(stored) != tuple(row[place] for place in places):
            number = stored.number
            raise EngineError(
                f"game number {number} was given twice: stored from environment "
                f"{stored.environment}, seed {stored.seed}; expected another number"
            )


def store_played(
    league: League,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    seed: int,
    settings: Mapping[str, Any],
    records: Sequence[GameRecord],
) -> Match:
    """Stores a match, its games and its end in one transaction.

    It serves matches that are stored after their end, such as a person's session.
    """
    with league.write() as connection:
        match = insert_match(
            connection,
            env_name,
            env_options,
            players,
            len(records),
            seed,
            settings,
            finished_at=time.time(),
        )
        RowStore(match).write(connection, records)
    return match
