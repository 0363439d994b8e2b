"""Matches that are stored after their end, such as a person's session, in one transaction."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from arena.league.database import League
from arena.league.matches import Match, insert_match
from arena.league.store import RowStore
from pbt.records import GameRecord, PlayerRef


def store_played(
    league: League,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    seed: int,
    settings: Mapping[str, Any],
    records: Sequence[GameRecord],
) -> Match:
    """Stores a match, its games and its end in one transaction."""
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
