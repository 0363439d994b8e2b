"""Deletion of a population: its rows in the league, then its folder.

When a deletion is killed, the same call finishes it. Rows are deleted in small transactions, so
that other trainings can write meanwhile.
"""

import difflib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, func, select
from sqlalchemy import delete as delete_from

from arena.data.lock import PopulationLock, holder
from arena.data.paths import league_path, population_names, population_paths
from arena.league.block_rows import blocks_between, delete_blocks, games_in_blocks
from arena.league.chain import chain_of_population, end_chain
from arena.league.database import League, count_rows, open_league
from arena.league.game_rows import game_bytes
from arena.league.populations import find_population, set_state, starts_of
from arena.league.schema import (
    MEMBER,
    events,
    folded_results,
    folds,
    game_seats,
    games,
    incarnations,
    keys_of_start,
    members,
    players,
    populations,
    rounds,
    snapshots,
    wiring_certificates,
)
from arena.league.summaries import list_populations
from pbt.errors import HeldError, PlayerError

DELETE_GAMES = 5_000


@dataclass(frozen=True, slots=True)
class Deletion:
    """The rows that a deletion removes, by kind.

    games         games of its trainings; those of matches stay
    snapshots     snapshots
    rounds        PBT rounds
    events        events
    incarnations  starts
    size_bytes    estimated from the games' part of all game rows in the file
    """

    games: int
    snapshots: int
    rounds: int
    events: int
    incarnations: int
    size_bytes: int


@dataclass(frozen=True)
class DeletionPlan:
    """All that the deletion of a population removes.

    name        name of the population
    rows        its rows, None when the league does not have it any more
    folders     its folders that exist
    files       how many files are in them
    size_bytes  size of these files
    """

    name: str
    rows: Deletion | None
    folders: tuple[Path, ...]
    files: int
    size_bytes: int


def plan_deletion(data: Path, name: str) -> DeletionPlan:
    """What a deletion would remove; it changes nothing.

    Raises: PlayerError when nothing has this name, ConfigError when it cannot be a name.
    """
    folders = tuple(
        folder
        for folder in (population_paths(data, name).root, _aside(data, name))
        if folder.exists()
    )
    rows = None
    if name in _stored_names(data):
        with open_league(league_path(data), read_only=True) as league:
            rows = delete_population(league, name, dry_run=True)
    if rows is None and not folders:
        raise PlayerError(_unknown(data, name))
    sizes = [size for folder in folders for size in file_sizes(folder)]
    return DeletionPlan(name, rows, folders, len(sizes), sum(sizes))


def delete(data: Path, name: str) -> None:
    """Removes what `plan_deletion` lists.

    Raises: HeldError while a process trains the population, PlayerError when nothing has its name.
    """
    plan = plan_deletion(data, name)
    paths = population_paths(data, name)
    refuse_held(data, name)
    with PopulationLock(paths.lock, name):
        if plan.rows is not None:
            with open_league(league_path(data)) as league:
                delete_population(league, name)
        aside = _aside(data, name)
        _remove(aside)
        # The folder is renamed in one step, so a kill while its files are removed leaves nothing
        # that looks like a population.
        paths.root.rename(aside)
        _remove(aside)


def refuse_held(data: Path, name: str) -> None:
    """Raises: HeldError with the pid of the process that trains the population."""
    pid = holder(population_paths(data, name).lock)
    if pid is not None:
        raise HeldError(
            f"population {name!r} is held by process {pid}; stop it with `arena stop "
            f"{name}`, then delete it"
        )


def file_sizes(folder: Path) -> list[int]:
    """The size in bytes of every file below a folder; files that vanish meanwhile are skipped."""
    sizes = []
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.lstat(os.path.join(parent, name)).st_size)
            except FileNotFoundError:
                continue
    return sizes


def _aside(data: Path, name: str) -> Path:
    """The folder of a deleted population. No population can have a name with a dot in it."""
    return data / "populations" / f".{name}.deleted"


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _stored_names(data: Path) -> list[str]:
    if not league_path(data).exists():
        return []
    with open_league(league_path(data), read_only=True) as league:
        return [population.name for population in list_populations(league)]


def _unknown(data: Path, name: str) -> str:
    names = sorted({*_stored_names(data), *population_names(data)})
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names) or 'none yet'}"
    return f"no population {name!r} in {data}; {hint}"


def delete_population(league: League, name: str, *, dry_run: bool = False) -> Deletion:
    """Deletes the rows of a population and returns how many there are. Raises: PlayerError.

    Games of matches stay, because they belong to the match. dry_run: only count.
    """
    with league.read() as connection:
        population_id = int(find_population(connection, name).id)
        ids = [start.id for start in starts_of(connection, population_id)]
        deletion = _count(connection, ids)
    if dry_run:
        return deletion
    set_state(league, population_id, "deleting")
    for incarnation_id in ids:
        while _delete_some_games(league, incarnation_id):
            pass
        while _delete_some_blocks(league, incarnation_id):
            pass
    with league.write() as connection:
        for table in (rounds, wiring_certificates, events, snapshots):
            connection.execute(delete_from(table).where(table.c.incarnation_id.in_(ids)))
        connection.execute(
            delete_from(players).where(
                players.c.kind == MEMBER, players.c.population_id == population_id
            )
        )
        for table in (folded_results, folds, members, incarnations):
            connection.execute(delete_from(table).where(table.c.population_id == population_id))
        connection.execute(delete_from(populations).where(populations.c.id == population_id))
        end_chain(connection, chain_of_population(population_id), name)
    return deletion


def _delete_some_games(league: League, incarnation_id: int) -> bool:
    with league.write() as connection:
        first, last_possible = keys_of_start(incarnation_id)
        oldest = (
            select(games.c.id)
            .where(games.c.id.between(first, last_possible))
            .order_by(games.c.id)
            .limit(DELETE_GAMES)
            .subquery()
        )
        last = connection.execute(select(func.max(oldest.c.id))).scalar()
        if last is None:
            return False
        for table, key in ((game_seats, game_seats.c.game_id), (games, games.c.id)):
            connection.execute(delete_from(table).where(key.between(first, last)))
        return True


def _delete_some_blocks(league: League, incarnation_id: int) -> bool:
    with league.write() as connection:
        blocks = list(islice(blocks_between(connection, *keys_of_start(incarnation_id)), 20))
        delete_blocks(connection, [block.id for block in blocks])
        return bool(blocks)


def _count(connection: Connection, incarnation_ids: Sequence[int]) -> Deletion:
    counts = {
        table.name: count_rows(connection, table, table.c.incarnation_id.in_(incarnation_ids))
        for table in (games, snapshots, rounds, events)
    }
    in_blocks = (games_in_blocks(connection, *keys_of_start(start)) for start in incarnation_ids)
    counts["games"] += sum(in_blocks)
    return Deletion(
        **counts,
        incarnations=len(incarnation_ids),
        size_bytes=game_bytes(connection, counts["games"]),
    )
