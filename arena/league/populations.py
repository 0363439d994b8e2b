"""The life of a population in the league: made, started and started again, deleted."""

import difflib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from arena.league.database import League
from arena.league.rows import to_json
from arena.league.schema import (
    MEMBER,
    events,
    folded_results,
    folds,
    game_key,
    game_seats,
    games,
    incarnations,
    members,
    players,
    populations,
    rounds,
    snapshots,
)
from pbt.errors import PlayerError

DELETE_GAMES = 5_000
CHUNK = 500
# These tell of a process, not of the run it made: no resume takes them back.
LASTING_EVENTS = ("resume", "edit", "checkpoint")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One start of a population. id: the league's own;  number: 1, 2, ... within the population;
    first_game: the number its first game gets.
    """

    id: int
    population_id: int
    number: int
    first_game: int


@dataclass(frozen=True, slots=True)
class CheckpointRows:
    """Which events and snapshots a checkpoint knows: of incarnation (id) `incarnation` the first
    `events`, of older ones what stands.
    """

    incarnation: int
    events: int
    snapshots: frozenset[str]


NOTHING_KNOWN = CheckpointRows(0, 0, frozenset())


@dataclass(frozen=True, slots=True)
class Deletion:
    """What goes, or went, with a population: rows by kind. size_bytes is an estimate from the
    share of the file's game rows.
    """

    games: int
    snapshots: int
    rounds: int
    events: int
    incarnations: int
    size_bytes: int


def create_population(
    league: League,
    name: str,
    env: str,
    config: Mapping[str, Any],
    versions: Mapping[str, str],
    member_roles: Sequence[tuple[str, str]] = (),
) -> int:
    """Returns the new population's id; its state is "created".

    env           registered name of the game; its options are taken from config["env"]["options"]
    config        the resolved configuration;  versions: package -> version
    member_roles  (member, role) in order
    Raises: PlayerError when the name is taken, or cannot be part of a player's name.
    """
    if not _NAME.fullmatch(name):
        raise PlayerError(
            f"population name {name!r}: expected letters, digits, '.', '_' and '-', at most "
            "64, the first a letter or digit"
        )
    options = to_json(config.get("env", {}).get("options", {}))
    with league.write() as connection:
        if connection.execute(select(populations.c.id).where(populations.c.name == name)).first():
            raise PlayerError(
                f"population {name!r} exists already; resume it with `arena train --resume "
                f"{name}`, or choose another --name"
            )
        values = {
            "name": name,
            "env_name": env,
            "env_options": options,
            "config": to_json(config),
            "versions": to_json(versions),
        }
        row = connection.execute(
            insert(populations).values(**values, state="created", created_at=time.time())
        )
        assert row.inserted_primary_key is not None
        population_id = int(row.inserted_primary_key[0])
        if member_roles:
            rows = [
                {"population_id": population_id, "name": member, "role": role, "position": i}
                for i, (member, role) in enumerate(member_roles)
            ]
            connection.execute(insert(members), rows)
    return population_id


def add_members(league: League, population: str, member_roles: Sequence[tuple[str, str]]) -> None:
    """Those that joined later, (member, role) in order; who has a row already keeps it. Raises:
    PlayerError.
    """
    with league.write() as connection:
        population_id = int(find_population(connection, population).id)
        there = list(
            connection.execute(
                select(members.c.name).where(members.c.population_id == population_id)
            ).scalars()
        )
        new = [(name, role) for name, role in member_roles if name not in there]
        for position, (name, role) in enumerate(new, start=len(there)):
            connection.execute(
                insert(members).values(
                    population_id=population_id, name=name, role=role, position=position
                )
            )


def open_incarnation(
    league: League,
    population_id: int,
    pid: int,
    *,
    from_checkpoint: str | None = None,
    last_game: int = -1,
    last_rounds: Mapping[str, int] | None = None,
    known: CheckpointRows | None = None,
) -> Incarnation:
    """Start the population (again). What an older incarnation wrote behind the checkpoint is marked
    superseded in the same transaction.

    last_game    number of the last game the checkpoint knows; -1 before any, which supersedes
                 everything
    last_rounds  member -> its last round the checkpoint knows; a member not named has had none
    known        its events and snapshots; None for a checkpoint that does not say: then those stand
                 that came before the next game ended
    """
    with league.write() as connection:
        older = select(incarnations.c.id, incarnations.c.number).where(
            incarnations.c.population_id == population_id
        )
        found = connection.execute(older.order_by(incarnations.c.number)).all()
        ids = [row.id for row in found]
        _supersede(connection, ids, last_game, last_rounds or {})
        if known is None:
            _supersede_by_game(connection, ids, last_game)
        else:
            _supersede_unknown(connection, population_id, ids, known)
        number = found[-1].number + 1 if found else 1
        values = {
            "population_id": population_id,
            "number": number,
            "pid": pid,
            "started_at": time.time(),
            "first_game": last_game + 1,
        }
        row = connection.execute(
            insert(incarnations).values(**values, from_checkpoint=from_checkpoint)
        )
        connection.execute(
            update(populations).where(populations.c.id == population_id).values(state="running")
        )
        assert row.inserted_primary_key is not None
        return Incarnation(int(row.inserted_primary_key[0]), population_id, number, last_game + 1)


def _supersede(
    connection: Connection,
    incarnation_ids: Sequence[int],
    last_game: int,
    last_rounds: Mapping[str, int],
) -> None:
    for incarnation_id in incarnation_ids:
        first, end = game_key(incarnation_id, last_game + 1), game_key(incarnation_id + 1, 0)
        connection.execute(
            update(games).where(games.c.id >= first, games.c.id < end).values(superseded=1)
        )
        known = (
            connection.execute(
                select(rounds.c.member).where(rounds.c.incarnation_id == incarnation_id).distinct()
            )
            .scalars()
            .all()
        )
        for member in known:
            late = (
                rounds.c.incarnation_id == incarnation_id,
                rounds.c.member == member,
                rounds.c.round > last_rounds.get(member, -1),
            )
            connection.execute(update(rounds).where(*late).values(superseded=1))


def _supersede_by_game(
    connection: Connection, incarnation_ids: Sequence[int], last_game: int
) -> None:
    for table in (snapshots, events):
        later = [table.c.incarnation_id.in_(incarnation_ids), table.c.after_game > last_game]
        if table is events:
            later.append(events.c.kind.not_in(LASTING_EVENTS))
        connection.execute(update(table).where(*later).values(superseded=1))


def _supersede_unknown(
    connection: Connection,
    population_id: int,
    incarnation_ids: Sequence[int],
    known: CheckpointRows,
) -> None:
    cut = (events.c.incarnation_id == known.incarnation) & (events.c.position >= known.events)
    later = (
        events.c.incarnation_id.in_(incarnation_ids),
        (events.c.incarnation_id > known.incarnation) | cut,
    )
    connection.execute(
        update(events).where(*later, events.c.kind.not_in(LASTING_EVENTS)).values(superseded=1)
    )
    standing = select(snapshots.c.id, snapshots.c.snapshot_id).where(
        snapshots.c.population_id == population_id, snapshots.c.superseded == 0
    )
    unknown = [
        row.id for row in connection.execute(standing) if row.snapshot_id not in known.snapshots
    ]
    for start in range(0, len(unknown), CHUNK):
        connection.execute(
            update(snapshots)
            .where(snapshots.c.id.in_(unknown[start : start + CHUNK]))
            .values(superseded=1)
        )


def set_state(league: League, population_id: int, state: str) -> None:
    """state: a word for people, such as running, stopped, finished, failed."""
    with league.write() as connection:
        connection.execute(
            update(populations).where(populations.c.id == population_id).values(state=state)
        )


_NAMED = select(populations).where(populations.c.name == bindparam("name"))


def find_population(connection: Connection, name: str) -> Any:
    """The row of a population. Raises: PlayerError naming the nearest name, or all there are."""
    row = connection.execute(_NAMED, {"name": name}).first()
    if row is not None:
        return row
    names = list(
        connection.execute(select(populations.c.name).order_by(populations.c.name)).scalars()
    )
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        raise PlayerError(f"no population {name!r} in this league; did you mean {near[0]!r}?")
    there = (
        f"there are: {', '.join(names)}"
        if names
        else "there are none yet; train one with `arena train`"
    )
    raise PlayerError(f"no population {name!r} in this league; {there}")


def stored_config(league: League, name: str) -> dict[str, Any]:
    """The resolved configuration the population was made with. Raises: PlayerError."""
    with league.read() as connection:
        config: dict[str, Any] = json.loads(find_population(connection, name).config)
    return config


def delete_population(league: League, name: str, *, dry_run: bool = False) -> Deletion:
    """Remove a population and everything of it, in small transactions so that other trainings go on
    meanwhile; returns what goes.

    Killed half-way it can be repeated. Games of matches stay: they belong to the match. Raises:
    PlayerError.
    """
    with league.read() as connection:
        population_id = int(find_population(connection, name).id)
        ids = list(
            connection.execute(
                select(incarnations.c.id).where(incarnations.c.population_id == population_id)
            ).scalars()
        )
        deletion = _count(connection, population_id, ids)
    if dry_run:
        return deletion
    set_state(league, population_id, "deleting")
    for incarnation_id in ids:
        while _delete_some_games(league, incarnation_id):
            pass
    with league.write() as connection:
        for table in (rounds, events, snapshots):
            connection.execute(delete(table).where(table.c.incarnation_id.in_(ids)))
        connection.execute(
            delete(players).where(
                players.c.kind == MEMBER, players.c.population_id == population_id
            )
        )
        for table in (folded_results, folds, members, incarnations):
            connection.execute(delete(table).where(table.c.population_id == population_id))
        connection.execute(delete(populations).where(populations.c.id == population_id))
    return deletion


def _delete_some_games(league: League, incarnation_id: int) -> bool:
    with league.write() as connection:
        mine = (
            games.c.id >= game_key(incarnation_id, 0),
            games.c.id < game_key(incarnation_id + 1, 0),
        )
        last = connection.execute(
            select(
                func.max(
                    select(games.c.id)
                    .where(*mine)
                    .order_by(games.c.id)
                    .limit(DELETE_GAMES)
                    .subquery()
                    .c.id
                )
            )
        ).scalar()
        if last is None:
            return False
        first = game_key(incarnation_id, 0)
        connection.execute(
            delete(game_seats).where(game_seats.c.game_id >= first, game_seats.c.game_id <= last)
        )
        connection.execute(delete(games).where(games.c.id >= first, games.c.id <= last))
        return True


def _count(connection: Connection, population_id: int, incarnation_ids: Sequence[int]) -> Deletion:
    def count(table: Any) -> int:
        return int(
            connection.execute(
                select(func.count())
                .select_from(table)
                .where(table.c.incarnation_id.in_(incarnation_ids))
            ).scalar_one()
        )

    mine = count(games)
    return Deletion(
        mine,
        count(snapshots),
        count(rounds),
        count(events),
        len(incarnation_ids),
        game_bytes(connection, mine),
    )


def game_bytes(connection: Connection, count: int) -> int:
    """About how many bytes `count` games take, by their share of all game rows in the file."""
    all_games = int(connection.execute(select(func.count()).select_from(games)).scalar_one())
    used = connection.exec_driver_sql(
        "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM "
        "pragma_page_size)"
    ).scalar_one()
    return int(used * count / all_games) if all_games else 0
