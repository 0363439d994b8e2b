"""Populations and their starts (incarnations) in the league: making, resuming and finding them."""

import difflib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from arena.league.chain import append, chain_head, chain_of_population, newest_record, said
from arena.league.chain_rows import MEMBERS, POPULATION, STARTS, record_rows
from arena.league.database import League, insert_row
from arena.league.rows import to_json
from arena.league.schema import incarnations, members, populations
from arena.league.superseding import CheckpointRows, supersede
from pbt.config.game_options import game_options
from pbt.errors import PlayerError
from pbt.seeding import STREAMS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One start of a population.

    id             id in the league
    population_id  the population
    number         1, 2, ... within the population
    first_game     number of its first game
    """

    id: int
    population_id: int
    number: int
    first_game: int


@dataclass(frozen=True, slots=True)
class NewPopulation:
    """The fields of a new population, as `create_population` takes them.

    name          name of the population
    env           registered name of the game
    config        the resolved config
    versions      package -> version
    member_roles  (member, role) in order
    """

    name: str
    env: str
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    member_roles: Sequence[tuple[str, str]]


def create_population(
    league: League,
    name: str,
    env: str,
    config: Mapping[str, Any],
    versions: Mapping[str, str],
    member_roles: Sequence[tuple[str, str]] = (),
) -> int:
    """Makes a population in state "created" and returns its id.

    env           registered name of the game; its options are those in the config
    config        the resolved config
    versions      package -> version
    member_roles  (member, role) in order
    Raises: PlayerError when the name is taken, or cannot be part of a player's name.
    """
    if not _NAME.fullmatch(name):
        raise PlayerError(
            f"population name {name!r}: expected letters, digits, '.', '_' and '-', at most "
            "64, the first a letter or digit"
        )
    with league.write() as connection:
        if is_taken(connection, name):
            raise PlayerError(
                f"population {name!r} exists already; resume it with `arena train --resume "
                f'{name}` (in Python arena.resume("{name}")), '
                "or choose another name"
            )
        new = NewPopulation(name, env, config, versions, member_roles)
        return insert_population(connection, new)


def is_taken(connection: Connection, name: str) -> bool:
    """Whether a population has this name."""
    return connection.execute(_NAMED, {"name": name}).first() is not None


def insert_population(connection: Connection, new: NewPopulation) -> int:
    """As `create_population`, in the caller's transaction and without a check of the name."""
    population_id = insert_row(
        connection,
        populations,
        name=new.name,
        env_name=new.env,
        env_options=to_json(game_options(new.config.get("env", {}))),
        config=to_json(new.config),
        versions=to_json(new.versions),
        state="created",
        created_at=time.time(),
    )
    owner = chain_of_population(population_id)
    record_rows(connection, owner, POPULATION, populations.c.id == population_id)
    _insert_members(connection, population_id, new.member_roles)
    return population_id


def _insert_members(
    connection: Connection,
    population_id: int,
    member_roles: Sequence[tuple[str, str]],
    first: int = 0,
) -> None:
    """Inserts members. first: the position of the first of them."""
    rows = [
        {"population_id": population_id, "name": name, "role": role, "position": position}
        for position, (name, role) in enumerate(member_roles, start=first)
    ]
    if not rows:
        return
    connection.execute(insert(members), rows)
    new = (members.c.population_id == population_id, members.c.position >= first)
    record_rows(connection, chain_of_population(population_id), MEMBERS, *new)


def add_members(
    league: League,
    population: str,
    member_roles: Sequence[tuple[str, str]],
    left: Sequence[str] = (),
) -> None:
    """Adds members that joined later, and records those that left. Raises: PlayerError.

    A member that has a row keeps it.
    member_roles  (member, role) of all members that joined, in order
    left          the members that learn no more
    """
    with league.write() as connection:
        population_id = int(find_population(connection, population).id)
        stored = list(
            connection.execute(
                select(members.c.name).where(members.c.population_id == population_id)
            ).scalars()
        )
        new = [(name, role) for name, role in member_roles if name not in stored]
        _insert_members(connection, population_id, new, first=len(stored))
        owner = chain_of_population(population_id)
        newest = newest_record(connection, owner, "left")
        if list(left) != (newest.content.said["members"] if newest else []):
            append(connection, owner, [said("left", len(left), members=list(left))])


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
    """Starts the population, for the first time or again from a checkpoint.

    What older incarnations wrote after the checkpoint becomes superseded in the same transaction.

    last_game    number of the last game that the checkpoint knows; -1 supersedes all games
    last_rounds  member -> its last round that the checkpoint knows; members without one are absent
    known        the events and snapshots that the checkpoint knows; None for an older checkpoint,
                 which does not say: then those stand that came before the next game ended
    """
    with league.write() as connection:
        older, owner = starts_of(connection, population_id), chain_of_population(population_id)
        ids = [row.id for row in older]
        late = supersede(connection, population_id, ids, last_game, last_rounds or {}, known)
        append(connection, owner, late)
        number = older[-1].number + 1 if older else 1
        incarnation_id = insert_row(
            connection,
            incarnations,
            population_id=population_id,
            number=number,
            pid=pid,
            started_at=time.time(),
            first_game=last_game + 1,
            from_checkpoint=from_checkpoint,
            streams=STREAMS,
        )
        record_rows(connection, owner, STARTS, incarnations.c.id == incarnation_id)
        this = populations.c.id == population_id
        connection.execute(update(populations).where(this).values(state="running"))
        return Incarnation(incarnation_id, population_id, number, last_game + 1)


def set_state(league: League, population_id: int, state: str) -> None:
    """Stores the state of a population, a word for people, such as running or finished."""
    with league.write() as connection:
        connection.execute(
            update(populations).where(populations.c.id == population_id).values(state=state)
        )


_NAMED = select(populations).where(populations.c.name == bindparam("name"))


def find_population(connection: Connection, name: str) -> Any:
    """The row of a population. Raises: PlayerError that names the nearest name, or all of them."""
    row = connection.execute(_NAMED, {"name": name}).first()
    if row is not None:
        return row
    names = list(
        connection.execute(select(populations.c.name).order_by(populations.c.name)).scalars()
    )
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        raise PlayerError(f"no population {name!r} in this league; did you mean {near[0]!r}?")
    choices = (
        f"there are: {', '.join(names)}"
        if names
        else "there are none yet; train one with `arena train`"
    )
    raise PlayerError(f"no population {name!r} in this league; {choices}")


_STARTS = (
    select(incarnations)
    .where(incarnations.c.population_id == bindparam("population_id"))
    .order_by(incarnations.c.number)
)


def streams_of(league: League, name: str) -> dict[int, int]:
    """Number of each start -> its `pbt.seeding.STREAMS`. Raises: PlayerError."""
    with league.read() as connection:
        starts = starts_of(connection, find_population(connection, name).id)
    # Starts of programs that had one kind only noted none.
    return {start.number: start.streams or 1 for start in starts}


def start_times(league: League, name: str) -> list[float]:
    """When each start of a population began, in seconds since the epoch. Raises: PlayerError."""
    with league.read() as connection:
        starts = starts_of(connection, find_population(connection, name).id)
    return [start.started_at for start in starts]


def starts_of(connection: Connection, population_id: int) -> Sequence[Any]:
    """The rows of a population's starts, oldest first."""
    return connection.execute(_STARTS, {"population_id": population_id}).all()


def population_head(league: League, name: str) -> str:
    """The head of a population's chain, in hexadecimal. Raises: PlayerError."""
    with league.read() as connection:
        population_id = int(find_population(connection, name).id)
    return chain_head(league, chain_of_population(population_id))[1]


def stored_config(league: League, name: str) -> dict[str, Any]:
    """The resolved config that the population was made with. Raises: PlayerError."""
    with league.read() as connection:
        config: dict[str, Any] = json.loads(find_population(connection, name).config)
    return config


def stored_versions(league: League, name: str) -> dict[str, str]:
    """Package -> version, when the population was made. Raises: PlayerError."""
    with league.read() as connection:
        installed: dict[str, str] = json.loads(find_population(connection, name).versions)
    return installed
