"""Pages of games and matches, newest first, and a short revision of all that ratings depend on."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, select, text

from arena.league.database import League
from arena.league.game_rows import Conditions, GameFilter, StoredGame, conditions, read_seats
from arena.league.matches import Match, to_match
from arena.league.populations import find_population
from arena.league.rows import to_game
from arena.league.schema import MAX_NUMBER, game_key, games, incarnations, match_game_key, matches

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
        newest_first = connection.execute(_STARTS, {"population_id": population_id}).all()
        for start in newest_first if where is not None else ():
            first, behind = game_key(start.id, 0), game_key(start.id + 1, 0)
            if before is not None:
                behind = min(behind, before)
            rows = connection.execute(
                _newest(where or ()),
                {"first": first, "behind": behind, "most": limit + 1 - len(newest)},
            ).all()
            seats = read_seats(connection, sorted(row.id for row in rows))
            newest += [
                (
                    row.id,
                    StoredGame(
                        to_game(row, seats[row.id]),
                        start.number,
                        None,
                        bool(row.superseded),
                        row.committed_at,
                    ),
                )
                for row in rows
            ]
            if len(newest) > limit:
                break
    return _page(newest, limit)


_STARTS = (
    select(incarnations.c.id, incarnations.c.number)
    .where(incarnations.c.population_id == bindparam("population_id"))
    .order_by(incarnations.c.number.desc())
)


@lru_cache(maxsize=32)
def _newest(where: Conditions) -> Select[Any]:
    """The newest `most` games with keys from `first` to before `behind`."""
    mine = games.c.id >= bindparam("first"), games.c.id < bindparam("behind")
    return select(games).where(*mine, *where).order_by(games.c.id.desc()).limit(bindparam("most"))


def match_game_page(league: League, match_id: int, before: int | None, limit: int) -> GamePage:
    """A page of a match's games, as `population_game_page`; empty where there is no such match."""
    first, last = match_game_key(match_id, 0), match_game_key(match_id, MAX_NUMBER)
    with league.read() as connection:
        mine = select(games).where(games.c.id >= first, games.c.id <= last)
        if before is not None:
            mine = mine.where(games.c.id < before)
        rows = connection.execute(mine.order_by(games.c.id.desc()).limit(limit + 1)).all()
        seats = read_seats(connection, sorted(row.id for row in rows))
    newest = [
        (
            row.id,
            StoredGame(
                to_game(row, seats[row.id]), None, match_id, bool(row.superseded), row.committed_at
            ),
        )
        for row in rows
    ]
    return _page(newest, limit)


def _page(newest: list[tuple[int, StoredGame]], limit: int) -> GamePage:
    """The page of at most one game more than `limit`."""
    page = newest[:limit]
    return GamePage(page, page[-1][0] if len(newest) > limit else None)


def match_page(
    league: League, env_name: str | None, *, finished: bool | None, before: int | None, limit: int
) -> tuple[list[Match], int | None]:
    """(a page of matches, newest first; the number before which the next page begins or None)."""
    query = select(matches).order_by(matches.c.id.desc()).limit(limit + 1)
    if env_name is not None:
        query = query.where(matches.c.env_name == env_name)
    if finished is not None:
        query = query.where(
            matches.c.finished_at.is_not(None) if finished else matches.c.finished_at.is_(None)
        )
    if before is not None:
        query = query.where(matches.c.id < before)
    with league.read() as connection:
        rows = connection.execute(query).all()
    return [to_match(row) for row in rows[:limit]], rows[limit - 1].id if len(
        rows
    ) > limit else None
