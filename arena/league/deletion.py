"""Removing a population: its rows, then its folder. Killed at any moment, the same call finishes
the work.
"""

import difflib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from arena.data.lock import PopulationLock, holder
from arena.data.paths import league_path, population_names, population_paths
from arena.league.database import open_league
from arena.league.populations import Deletion, delete_population
from arena.league.queries import list_populations
from pbt.errors import HeldError, PlayerError


@dataclass(frozen=True)
class DeletionPlan:
    """What goes with a population. rows: None when the league knows it no more;  folders: those
    there are;  size_bytes: of the files.
    """

    name: str
    rows: Deletion | None
    folders: tuple[Path, ...]
    files: int
    size_bytes: int


def plan_deletion(data: Path, name: str) -> DeletionPlan:
    """Look, change nothing. Raises: PlayerError when there is nothing of that name, ConfigError
    when it cannot be one.
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
    """Remove what `plan_deletion` lists. Raises: HeldError while a process trains it,
    PlayerError when there is nothing of that name.
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
        # One step takes the folder from sight; a kill while its files go leaves nothing that looks
        # like a population.
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
    """Bytes of every file below a folder; files that vanish meanwhile are passed over."""
    sizes = []
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.lstat(os.path.join(parent, name)).st_size)
            except FileNotFoundError:
                continue
    return sizes


def _aside(data: Path, name: str) -> Path:
    """No population can have a name with a dot in it."""
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
    there = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names) or 'none yet'}"
    return f"no population {name!r} in {data}; {there}"
