"""`arena populations`: every population of a data directory: state, size and best rating."""

import time
from pathlib import Path
from typing import Any

from arena.cli.league import NO_POPULATION
from arena.cli.output import DataOption, JsonOption, print_json, print_table
from arena.cli.rating_table import rating_text
from arena.data.lock import holder
from arena.data.paths import PopulationPaths, data_dir, league_path, population_paths
from arena.data.status import read_status
from arena.league.database import League, open_league
from arena.league.deletion import file_sizes
from arena.league.frames import frames_text
from arena.league.ratings import (
    RatingTable,
    Standing,
    best_of_roles,
    best_standing,
    population_table,
)
from arena.league.summaries import PopulationSummary, list_populations, roles_of
from arena.words import bytes_text
from pbt.errors import PbtError


def populations(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List what has been trained: the state and size of each population, and its best rating."""
    folder = data_dir(data)
    rows: list[dict[str, Any]] = []
    if league_path(folder).exists():
        with open_league(league_path(folder), read_only=True) as opened:
            rows = [_population(opened, folder, summary) for summary in list_populations(opened)]
    if as_json:
        print_json(rows)
    elif not rows:
        print(NO_POPULATION.format(folder))
    else:
        columns = (
            "name",
            "state",
            "game",
            ">members",
            ">frames",
            ">games",
            ">best rating",
            ">files",
            ">rows",
            "made",
        )
        print_table(
            columns,
            [_population_cells(row) for row in rows],
            spare=("rows", "made", "files", "members", "games"),
        )


def _population(league: League, data: Path, summary: PopulationSummary) -> dict[str, Any]:
    paths = population_paths(data, summary.name)
    pid = holder(paths.lock)
    state = summary.state
    if state == "running" and pid is None:
        state = "killed"
    elif pid is not None:
        state = "running"
    table, roles = population_table(league, summary.name), roles_of(league, summary.name)
    best = best_standing(table.rows) if len(roles) < 2 else None
    by_role = {role: _best(table, row) for role, row in best_of_roles(table.rows).items()}
    return {
        "name": summary.name,
        "state": state,
        "pid": pid,
        "env": summary.env_name,
        "members": summary.members,
        "frames": max(summary.frames, _frames_reported(paths)),
        "games": summary.games,
        "best": None if best is None else _best(table, best),
        "best_by_role": {role: by_role.get(role) for role in roles},
        "file_bytes": sum(file_sizes(paths.root)),
        "row_bytes": summary.size_bytes,
        "created_at": summary.created_at,
        "starts": summary.incarnations,
    }


def _frames_reported(paths: PopulationPaths) -> int:
    """Frames of the member that learned most, as its trainer wrote last; 0 where it wrote none."""
    try:
        status = read_status(paths.status)
    except PbtError:  # a damaged file, which a training writes anew
        return 0
    return max((row.frames for row in status.members), default=0) if status is not None else 0


def _best(table: RatingTable, row: Standing) -> dict[str, Any]:
    return {
        "player": row.label,
        ("elo" if table.objective == "win" else table.objective): row.rating,
        "low": row.low,
        "high": row.high,
        "text": rating_text(row, table),
    }


def _population_cells(row: dict[str, Any]) -> tuple[str, ...]:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created_at"]))
    state = f"running ({row['pid']})" if row["pid"] else row["state"]
    roles = row["best_by_role"]
    best = (
        ", ".join(f"{role} {best['text'] if best else '-'}" for role, best in roles.items())
        if len(roles) > 1
        else row["best"]["text"]
        if row["best"]
        else "-"
    )
    sizes = bytes_text(row["file_bytes"]), bytes_text(row["row_bytes"])
    return (
        row["name"],
        state,
        row["env"],
        str(row["members"]),
        frames_text(row["frames"]),
        str(row["games"]),
        best,
        *sizes,
        made,
    )
