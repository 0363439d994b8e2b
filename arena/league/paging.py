"""Pages of games, newest first, and a short revision of all that ratings depend on."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select, text

from arena.league.database import League
from arena.league.game_rows import Conditions, GameFilter, StoredGame, conditions, read_games
from arena.league.populations import find_population, starts_of
from arena.league.schema import games, keys_of_match, keys_of_start

# The newest rated game of each start and each match: it changes with added games, new starts (which
# supersede games), ended matches and deletions.
_REVISION = text("""
SELECT 'i', i.id, 0,
  (SELECT MAX(g.id) FROM games g
   WHERE kind = 1 AND g.id >= i.id << 36 AND g.id < (i.id + 1) << 36)
FROM incarnations i
UNION ALL
SELECT 'm', m.id, m.finished_at,
  (SELECT MAX(g.id) FROM games g
   WHERE g.id >= (1 << 62) + (m.id << 36) AND g.id < (1 << 62) + ((m.id + 1) << 36))
FROM matches m
""")


@dataclass(frozen=True, slots=True)
class GamePage:
    """One page of games.

    games  (key, game), newest first
    next   the `before` of the next page, None on the last page
    """

    games: list[tuple[int, StoredGame]]
    next: int | None


def league_revision(league: League) -> str:
    """16 hexadecimal digits that change whenever a rating may change."""
    with league.read() as connection:
        rows = [list(row) for row in connection.execute(_REVISION)]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def population_game_page(
    league: League, population: str, wanted: GameFilter, before: int | None, limit: int
) -> GamePage:
    """A page of a population's games.

    wanted  which games; its `first` and `last` are ignored
    before  only games with smaller keys; None: from the newest
    limit   most games of a page
    Raises: PlayerError.
    """
    newest: list[tuple[int, StoredGame]] = []
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        where = conditions(connection, population_id, wanted)
        for start in reversed(starts_of(connection, population_id)) if where is not None else ():
            keys, most = keys_of_start(start.id), limit + 1 - len(newest)
            newest += _newest(connection, keys, before, most, where or (), start.number)
            if len(newest) > limit:
                break
    return _page(newest, limit)


def match_game_page(
    league: League, match_id: int, wanted: GameFilter, before: int | None, limit: int
) -> GamePage:
    """A page of a match's games, as `population_game_page`; empty where there is no such match."""
    with league.read() as connection:
        where = conditions(connection, 0, wanted)
        if where is None:
            return GamePage([], None)
        newest = _newest(connection, keys_of_match(match_id), before, limit + 1, where)
    return _page(newest, limit)


def _newest(
    connection: Connection,
    keys: tuple[int, int],
    before: int | None,
    most: int,
    where: Conditions = (),
    incarnation: int | None = None,
) -> list[tuple[int, StoredGame]]:
    """(key, game) of the newest `most` games in a range of keys, newest first."""
    first, last = keys
    bounds = {"first": first, "last": last if before is None else min(last, before - 1)}
    return read_games(connection, _newest_first(where), incarnation, {**bounds, "most": most})


@lru_cache(maxsize=32)
def _newest_first(where: Conditions) -> Select[Any]:
    """The newest `most` games with keys from `first` to `last`."""
    mine = games.c.id.between(bindparam("first"), bindparam("last"))
    return select(games).where(mine, *where).order_by(games.c.id.desc()).limit(bindparam("most"))


def _page(newest: list[tuple[int, StoredGame]], limit: int) -> GamePage:
    """The page of at most one game more than `limit`."""
    page = newest[:limit]
    return GamePage(page, page[-1][0] if len(newest) > limit else None)
