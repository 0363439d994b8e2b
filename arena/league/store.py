"""Batches of records are stored as rows here, in the caller's transaction.

Each batch adds its records to the chain of its population or match (`arena.league.chain`). Storing
a batch again changes nothing.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from arena.league.chain import (
    ChainContent,
    append,
    chain_of_match,
    chain_of_population,
    said,
)
from arena.league.chain_rows import (
    EVALUATION_GAMES,
    GAME_KINDS,
    MATCH_GAMES,
    ROW_KINDS,
    PlayerNames,
    games_content,
    of_kind,
    player_name,
)
from arena.league.database import League
from arena.league.entries import Entry
from arena.league.matches import Match, insert_match, record_end
from arena.league.new_blocks import NewBlocks
from arena.league.populations import Incarnation
from arena.league.rows import (
    Row,
    game_row,
    insert_sql,
    seat_row,
)
from arena.league.schema import (
    MEMBER,
    PLAYER_KINDS,
    game_key,
    game_seats,
    games,
    match_game_key,
    players,
    snapshots,
)
from arena.league.told_games import ToldGames
from pbt.errors import EngineError
from pbt.records import (
    GameRecord,
    PlayerRef,
)

Given = ToldGames | GameRecord | Entry
"""What a league's writer is given."""
Games = tuple[list[Row], list[Row]]
"""(rows of games, rows of their seats)."""


@dataclass(slots=True)
class _Batch:
    """The rows of one batch by kind, and what it changed in earlier ones.

    told      training games that ended well
    training  the other training games
    games    kind -> its games; those of a training are in `training`
    rows     kind -> rows of other tables that were inserted
    changes  records of changes
    """

    told: list[ToldGames] = field(default_factory=list)
    training: list[GameRecord] = field(default_factory=list)
    games: dict[str, Games] = field(default_factory=lambda: defaultdict(lambda: ([], [])))
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    changes: list[ChainContent] = field(default_factory=list)


class RowStore:
    """Stores the records of one incarnation or one match.

    It remembers the ids of players and the last game's number, both only of committed rows.

    owner           whose chain it adds to
    training_games  how many training games the last commit stored
    """

    def __init__(self, source: Incarnation | Match) -> None:
        self._training = isinstance(source, Incarnation)
        self._incarnation_id = source.id if isinstance(source, Incarnation) else None
        self._match_id = None if isinstance(source, Incarnation) else source.id
        self._population_id = source.population_id if isinstance(source, Incarnation) else 0
        self.owner = (
            chain_of_population(source.population_id)
            if isinstance(source, Incarnation)
            else chain_of_match(source.id)
        )
        self._last_game = source.first_game - 1 if isinstance(source, Incarnation) else -1
        self._new_last_game = self._last_game
        self._player_ids: dict[tuple[str, str], int] = {}
        self._new_player_ids: dict[tuple[str, str], int] = {}
        self._names = PlayerNames()
        self.training_games = 0

    def committed(self) -> None:
        self._last_game = self._new_last_game
        self._player_ids.update(self._new_player_ids)
        self._new_player_ids.clear()

    def rolled_back(self) -> None:
        self._new_last_game = self._last_game
        self._new_player_ids.clear()

    def write(self, connection: Connection, batch: Sequence[Given]) -> None:
        """Stores a batch. Raises: EngineError on a record that cannot be a row, and DBAPIError."""
        now, stored = time.time(), _Batch()
        for item in batch:
            match item:
                case ToldGames():
                    stored.told.append(item)
                    self._new_last_game = item.first + item.size - 1
                case GameRecord():
                    if self._training and item.kind == "training":
                        stored.training.append(item)
                    else:
                        self._add_game(connection, item, int(now), stored)
                    self._new_last_game = item.number
                case Entry():
                    self._write_entry(connection, item, now, stored)
        contents = self._insert_blocks(connection, stored, int(now))
        contents += self._insert_games(connection, stored.games)
        contents += [ROW_KINDS[kind].content(rows) for kind, rows in stored.rows.items()]
        append(connection, self.owner, (*contents, *stored.changes), now)

    def _add_game(self, connection: Connection, game: GameRecord, now: int, stored: _Batch) -> None:
        source = self._incarnation_id
        key = (
            game_key(source, game.number)
            if source is not None
            else match_game_key(self._match_id or 0, game.number)
        )
        game_rows, seat_rows = stored.games[EVALUATION_GAMES if self._training else MATCH_GAMES]
        game_rows.append(game_row(key, source, self._match_id, game, now))
        for seat, record in enumerate(game.seats):
            player_id = self._player_id(connection, record.player)
            seat_rows.append(seat_row(key, seat, player_id, record))

    def _insert_blocks(
        self, connection: Connection, stored: _Batch, now: int
    ) -> list[ChainContent]:
        if self._incarnation_id is None:
            return []
        taken = [row[0] for row in stored.games.get(EVALUATION_GAMES, ((), ()))[0]]
        id_of = partial(self._player_id, connection)
        blocks = NewBlocks(connection, self._incarnation_id, id_of, self._names)
        contents = blocks.insert(stored.told, stored.training, taken, now)
        self.training_games = sum(content.count for content in contents)
        return contents

    def _player_id(self, connection: Connection, player: PlayerRef) -> int:
        known = self._player_ids.get((player.kind, player.name))
        return known or self._find_player(connection, player)

    def _insert_games(
        self, connection: Connection, by_kind: Mapping[str, Games]
    ) -> list[ChainContent]:
        """Inserts games and their seats. Returns the records of those that were not stored yet.

        Raises: EngineError when a game has the number of another one.
        """
        new = {kind: _new_games(connection, kind, rows) for kind, rows in by_kind.items()}
        for table, key, part in ((games, ("id",), 0), (game_seats, ("game_id", "seat"), 1)):
            rows = sorted(
                chain.from_iterable(given[part] for given in by_kind.values()), key=_FIRST
            )
            if rows:
                connection.exec_driver_sql(insert_sql(table, key), rows)
            if part == 0 and sum(len(found[0]) for found in new.values()) < len(rows):
                _refuse_other_games(connection, rows)
        return [games_content(kind, *rows, self._names) for kind, rows in new.items() if rows[0]]

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
        self._names[player_id] = player_name(kind, player.name)
        return player_id

    def _write_entry(self, connection: Connection, item: Entry, now: float, stored: _Batch) -> None:
        values = {
            **item.values,
            "incarnation_id": self._incarnation_id,
            "after_game": self._new_last_game,
            "created_at": now,
        }
        if item.kind == "snapshots":
            values["population_id"] = self._population_id
        table = ROW_KINDS[item.kind].table
        added = connection.execute(
            insert(table).values(**values).on_conflict_do_nothing(index_elements=item.key)
        )
        if added.rowcount:
            stored.rows[item.kind].append({**values, "id": added.lastrowid})
        elif item.kind == "snapshots":
            self._make_again(connection, values, stored)

    def _make_again(
        self, connection: Connection, values: Mapping[str, Any], stored: _Batch
    ) -> None:
        """Brings back a snapshot that was superseded, or whose weights were removed.

        A resumed training may make the same snapshot again that its resume had superseded.
        """
        gone = (snapshots.c.superseded == 1) | (snapshots.c.weights_removed == 1)
        row = connection.execute(
            select(snapshots).where(
                snapshots.c.population_id == self._population_id,
                snapshots.c.snapshot_id == values["snapshot_id"],
                gone,
            )
        ).first()
        if row is None:
            return
        after = {name: values[name] for name in ("incarnation_id", "after_game")}
        connection.execute(
            update(snapshots)
            .where(snapshots.c.id == row.id)
            .values(superseded=0, weights_removed=0, **after)
        )
        before = {name: row._mapping[name] for name in after}
        stored.changes.append(
            said(
                "made again",
                1,
                changes=[["snapshots", row.id, before, after]],
                marks=[
                    ["snapshots", flag, 0, str(row.id)]
                    for flag in ("superseded", "weights_removed")
                ],
            )
        )


_FIRST = itemgetter(0)
_BETWEEN = {
    kind: select(games.c.id).where(
        games.c.id.between(bindparam("first"), bindparam("last")), of_kind(kind)
    )
    for kind in GAME_KINDS
}


def _new_games(connection: Connection, kind: str, given: Games) -> Games:
    """Those of the given games of one kind that are not stored yet, each once, by key."""
    game_rows, seat_rows = (sorted(rows, key=_FIRST) for rows in given)
    ends = {"first": game_rows[0][0], "last": game_rows[-1][0]}
    stored = set(connection.execute(_BETWEEN[kind], ends).scalars())
    keys = {row[0] for row in game_rows}
    if len(keys) == len(game_rows) and not stored & keys:
        return game_rows, seat_rows
    new_games, new_seats = (
        [row for row in {row[:2]: row for row in rows}.values() if row[0] not in stored]
        for rows in (game_rows, seat_rows)
    )
    return new_games, new_seats


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
        record_end(connection, match)
    return match
