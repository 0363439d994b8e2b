"""The commands that the program recommends after a training. Each works as it is printed."""

from contextlib import closing
from pathlib import Path

from arena.data.paths import data_dir, data_text, league_path
from arena.league.database import League, open_league
from arena.league.snapshot_names import best_names, find_snapshot
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_members, roles_of
from arena.players.resolve import RANDOM, resolve_players
from pbt.errors import PlayerError


def next_steps(name: str, data: Path | None) -> str:
    """The commands for a population whose training is finished.

    data  the data directory, if the user named one

    Where members play several roles, the match of the best of each and `random` seats every choice
    of players for the roles. In games of one seat players do not meet.
    """
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        names = [*measured_players(league, name), RANDOM]
    where = data_text(data)
    table = f"arena league {name}{where}"
    if names == [RANDOM]:
        return table
    spec, players = resolve_players(names, data, allow_files=True)
    with closing(spec.make(**players[0].env_options)) as game:
        compare = "match" if len(game.seat_roles) > 1 else "evaluate"
    return f"{table}; arena {compare} {' '.join(names)}{where}"


def measured_players(league: League, name: str) -> list[str]:
    """The names of a population's best players, one for each role.

    The first member that has a snapshot stands for a role that has no best yet; a role without any
    is left out.
    """
    first = _first_members(league, name)
    named = zip(roles_of(league, name), best_names(league, name), strict=True)
    return [
        best if _is_there(league, best) else f"{name}/{first[role]}"
        for role, best in named
        if role in first
    ]


def _is_there(league: League, player: str) -> bool:
    try:
        find_snapshot(league, player)
    except PlayerError:
        return False
    return True


def _first_members(league: League, name: str) -> dict[str, str]:
    """Role -> its first member that has a snapshot with weights."""
    playing = {
        snapshot.record.member
        for snapshot in list_snapshots(league, name)
        if not snapshot.weights_removed
    }
    first: dict[str, str] = {}
    for member in list_members(league, name):
        if member.name in playing:
            first.setdefault(member.role, member.name)
    return first
