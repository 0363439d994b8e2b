"""Matches: planned games between named players, outside any training."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, update

from arena.league.database import League
from arena.league.rows import to_json
from arena.league.schema import matches
from pbt.records import PlayerRef


@dataclass(frozen=True, slots=True)
class Match:
    """players: in the order given, A first;  games: how many are planned;  settings: whatever else decided the games (greedy, opening plies, ...).

    created_at, finished_at: seconds since 1970; finished_at is None until all games are in
    """

    id: int
    env_name: str
    env_options: Mapping[str, Any]
    players: tuple[PlayerRef, ...]
    games: int
    seed: int
    settings: Mapping[str, Any]
    created_at: float
    finished_at: float | None


def create_match(
    league: League,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    games: int,
    seed: int,
    settings: Mapping[str, Any],
) -> Match:
    """Write the plan before the first game is played, so that early results cannot change it."""
    created_at = time.time()
    values = {
        "env_name": env_name,
        "env_options": to_json(env_options),
        "players": to_json([[player.kind, player.name] for player in players]),
        "games": games,
        "seed": seed,
        "settings": to_json(settings),
        "created_at": created_at,
    }
    with league.write() as connection:
        row = connection.execute(insert(matches).values(**values))
        assert row.inserted_primary_key is not None
        match_id = int(row.inserted_primary_key[0])
    return Match(match_id, env_name, env_options, tuple(players), games, seed, settings, created_at, None)


def finish_match(league: League, match_id: int) -> None:
    with league.write() as connection:
        connection.execute(update(matches).where(matches.c.id == match_id).values(finished_at=time.time()))
