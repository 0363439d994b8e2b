"""Pages of games, newest first, and a short revision of all that ratings depend on."""

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import text

from arena.league.database import League
from arena.league.game_choice import GameFilter, choice_of
from arena.league.game_rows import StoredGame, newest_games
from arena.league.populations import find_population, starts_of
from arena.league.schema import keys_of_match, keys_of_start

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
        choice = choice_of(connection, population_id, wanted)
        if choice is None:
            return GamePage([], None)
        for start in reversed(starts_of(connection, population_id)):
            first, last = _up_to(keys_of_start(start.id), before)
            most = limit + 1 - len(newest)
            newest += newest_games(connection, first, last, choice, most, start.number)
            if len(newest) > limit:
                break
    return _page(newest, limit)


def match_game_page(
    league: League, match_id: int, wanted: GameFilter, before: int | None, limit: int
) -> GamePage:
    """A page of a match's games, as `population_game_page`; empty where there is no such match."""
    with league.read() as connection:
        choice = choice_of(connection, 0, wanted)
        if choice is None:
            return GamePage([], None)
        first, last = _up_to(keys_of_match(match_id), before)
        newest = newest_games(connection, first, last, choice, limit + 1)
    return _page(newest, limit)


def _up_to(keys: tuple[int, int], before: int | None) -> tuple[int, int]:
    """The part of a range of keys before a key, None for all."""
    first, last = keys
    return first, last if before is None else min(last, before - 1)


def _page(newest: list[tuple[int, StoredGame]], limit: int) -> GamePage:
    """The page of at most one game more than `limit`."""
    page = newest[:limit]
    return GamePage(page, page[-1][0] if len(newest) > limit else None)
