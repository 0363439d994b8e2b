"""Which evaluation games a rating table counts, and what they came to. Training, greedy, voided and superseded games never enter."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select, text

from arena.league.database import League
from arena.league.matches import settings_of_games
from arena.league.populations import find_population
from arena.league.rows import to_json, to_player
from arena.league.schema import MAX_NUMBER, game_key, game_seats, incarnations, match_game_key, matches, players, populations, snapshots
from arena.plackett_luce import Ranking
from arena.ratings import PairResult
from arena.win_matrix import WinMatrix, win_matrix
from pbt.records import PlayerRef

# Ranges of keys, one for each start of a population and for each match: only their evaluation games are touched.
_CHOSEN = """
FROM json_each(:ranges) r
JOIN games g INDEXED BY ix_games_evaluation
    ON g.id BETWEEN json_extract(r.value, '$[0]') AND json_extract(r.value, '$[1]') AND g.kind = 1
    AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
"""
# Both orders of two players are one pair; their games are counted for the one of the smaller number.
_PAIRS = text(f"""
SELECT MIN(a.player_id, b.player_id) AS first, MAX(a.player_id, b.player_id) AS second,
    SUM(CASE WHEN a.player_id < b.player_id THEN a.place < b.place ELSE b.place < a.place END) AS wins,
    SUM(a.place = b.place) AS draws, COUNT(*) AS games
{_CHOSEN} CROSS JOIN game_seats a ON a.game_id = g.id AND a.seat = 0 CROSS JOIN game_seats b ON b.game_id = g.id AND b.seat = 1
WHERE a.player_id <> b.player_id GROUP BY 1, 2 ORDER BY 1, 2
""")
# A player in several seats is its best one.
_SEATS = text(f"""
SELECT g.id, s.player_id, MIN(s.place) AS place
{_CHOSEN} CROSS JOIN game_seats s ON s.game_id = g.id GROUP BY g.id, s.player_id ORDER BY g.id, s.player_id
""")


@dataclass(frozen=True, slots=True)
class Results:
    """What the games of a scope came to.

    matrix    of each player against each it met, by one comparison per opponent and game
    rankings  the games of more than two players, as they ended; empty where games have two seats
    """

    matrix: WinMatrix[PlayerRef]
    rankings: Sequence[Ranking[PlayerRef]]


def population_results(league: League, population: str, *, everyone: bool = False) -> Results:
    """Its evaluation games, and matches among its snapshots and players that belong to no population; everyone: as `game_results` of its game.

    Raises: PlayerError.
    """
    with league.read() as connection:
        row = find_population(connection, population)
        if everyone:
            return _results(connection, _everything(connection, row.env_name, row.env_options))
        own = set(connection.execute(select(snapshots.c.snapshot_id).where(snapshots.c.population_id == row.id)).scalars())
        among = [match for match in _counted_matches(connection, row.env_name, row.env_options) if _snapshots_of(match) <= own]
        return _results(connection, [*_of_populations(connection, [row.id]), *(_games_of_match(match.id) for match in among)])


def game_results(league: League, env_name: str, env_options: Mapping[str, Any]) -> Results:
    """Evaluation games and matches of every population of a game with these options."""
    with league.read() as connection:
        return _results(connection, _everything(connection, env_name, to_json(env_options)))


def match_results(league: League, match_ids: Sequence[int]) -> Results:
    """The games of these matches alone."""
    with league.read() as connection:
        return _results(connection, [_games_of_match(match_id) for match_id in match_ids])


def rated_games(league: League) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of every game that populations or matches play, by name."""
    with league.read() as connection:
        found = {tuple(row) for table in (populations, matches) for row in connection.execute(select(table.c.env_name, table.c.env_options))}
    return [(name, json.loads(options)) for name, options in sorted(found)]


Range = tuple[int, int]
"""First and last possible key of the games of one source."""


def _everything(connection: Connection, env_name: str, env_options: str) -> list[Range]:
    same = (populations.c.env_name == env_name, populations.c.env_options == env_options)
    ids = list(connection.execute(select(populations.c.id).where(*same)).scalars())
    counted = [match.id for match in _counted_matches(connection, env_name, env_options)]
    return [*_of_populations(connection, ids), *map(_games_of_match, counted)]


def _of_populations(connection: Connection, population_ids: Sequence[int]) -> list[Range]:
    starts = connection.execute(select(incarnations.c.id).where(incarnations.c.population_id.in_(population_ids))).scalars()
    return [(game_key(start, 0), game_key(start, MAX_NUMBER)) for start in starts]


def _games_of_match(match_id: int) -> Range:
    return match_game_key(match_id, 0), match_game_key(match_id, MAX_NUMBER)


def _counted_matches(connection: Connection, env_name: str, env_options: str) -> list[Any]:
    """A match played again with the same seed gives the same games: the longest of such matches counts, the others are no new evidence."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for match in connection.execute(select(matches).where(matches.c.env_name == env_name, matches.c.env_options == env_options)):
        found[match.players, match.seed, settings_of_games(match.settings)].append(match)
    return [max(same, key=lambda match: (match.finished_at is not None, match.games, -match.id)) for same in found.values()]


def _snapshots_of(match: Any) -> set[str]:
    return {name for kind, name in json.loads(match.players) if kind == "snapshot"}


def _results(connection: Connection, ranges: Sequence[Range]) -> Results:
    scope = {"ranges": json.dumps(ranges)}
    named = _players(connection)
    if _seats(connection, scope) > 2:
        rankings = _rankings(connection, scope, named)
        return Results(win_matrix(pair for ranking in rankings for pair in _compared(ranking)), rankings)
    found = np.fromiter(chain.from_iterable(connection.execute(_PAIRS, scope)), np.int64).reshape(-1, 5)
    ids, places = np.unique(found[:, :2], return_inverse=True)
    first, second = places.reshape(-1, 2).T
    wins, draws = np.zeros((2, len(ids), len(ids)))
    wins[first, second] = found[:, 2]
    wins[second, first] = found[:, 4] - found[:, 2] - found[:, 3]
    draws[first, second] = draws[second, first] = found[:, 3]
    return Results(WinMatrix(tuple(named[player] for player in ids.tolist()), wins, draws), ())


def _compared(ranking: Ranking[PlayerRef]) -> list[PairResult[PlayerRef]]:
    """Every two of a table."""
    seated = list(zip(ranking.players, ranking.places, strict=True))
    return [
        PairResult(a, b, ranking.games * (place < other), ranking.games * (place == other), ranking.games * (place > other))
        for i, (a, place) in enumerate(seated)
        for b, other in seated[i + 1 :]
    ]


def _seats(connection: Connection, scope: Mapping[str, Any]) -> int:
    """Of one of the games; all games of a scope have as many."""
    one = connection.execute(text(f"SELECT g.id {_CHOSEN} LIMIT 1"), scope).scalar()
    return int(connection.execute(select(func.count()).select_from(game_seats).where(game_seats.c.game_id == one)).scalar_one())


def _rankings(connection: Connection, scope: Mapping[str, Any], named: Mapping[int, PlayerRef]) -> list[Ranking[PlayerRef]]:
    """Games that ended alike counted together; one in which a player met nobody else says nothing."""
    ended: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in connection.execute(_SEATS, scope):
        ended[row.id].append((row.player_id, row.place))
    counted = Counter(tuple(seats) for seats in ended.values() if len(seats) > 1)
    return [
        Ranking(tuple(named[player] for player, _ in seats), tuple(place for _, place in seats), games) for seats, games in sorted(counted.items())
    ]


def _players(connection: Connection) -> dict[int, PlayerRef]:
    return {row.id: to_player(row.kind, row.name) for row in connection.execute(select(players.c.id, players.c.kind, players.c.name))}
