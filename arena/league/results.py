"""Which evaluation games a rating table counts, and what they came to. Training, greedy, voided
and superseded games never enter.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select, text

from arena.league.database import League
from arena.league.matches import settings_of_games
from arena.league.pair_totals import CHOSEN, Source
from arena.league.populations import find_population
from arena.league.rows import to_json, to_player
from arena.league.schema import (
    MAX_NUMBER,
    game_key,
    game_seats,
    incarnations,
    match_game_key,
    matches,
    players,
    populations,
    snapshots,
)
from arena.stats.bradley_terry import PairResult
from arena.stats.plackett_luce import Ranking
from arena.stats.win_matrix import WinMatrix, win_matrix
from pbt.records import PlayerRef

# A player in several seats is its best one.
_SEATS = text(f"""
SELECT g.id, s.player_id, MIN(s.place) AS place
{CHOSEN} CROSS JOIN game_seats s ON s.game_id = g.id
GROUP BY g.id, s.player_id ORDER BY g.id, s.player_id
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
    """Its evaluation games, and matches among its snapshots and players that belong to no
    population; everyone: as `game_results` of its game.

    Raises: PlayerError.
    """
    with league.read() as connection:
        row = find_population(connection, population)
        if everyone:
            return _results(
                league, connection, _everything(connection, row.env_name, row.env_options)
            )
        own = set(
            connection.execute(
                select(snapshots.c.snapshot_id).where(snapshots.c.population_id == row.id)
            ).scalars()
        )
        among = [
            match
            for match in _counted_matches(connection, row.env_name, row.env_options)
            if _snapshots_of(match) <= own
        ]
        return _results(
            league,
            connection,
            [
                *_of_populations(connection, [row.id]),
                *(_games_of_match(match.id) for match in among),
            ],
        )


def game_results(league: League, env_name: str, env_options: Mapping[str, Any]) -> Results:
    """Evaluation games and matches of every population of a game with these options."""
    with league.read() as connection:
        return _results(league, connection, _everything(connection, env_name, to_json(env_options)))


def match_results(league: League, match_ids: Sequence[int]) -> Results:
    """The games of these matches alone."""
    with league.read() as connection:
        return _results(league, connection, [_games_of_match(match_id) for match_id in match_ids])


def rated_games(league: League) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of every game that populations or matches play, by name."""
    with league.read() as connection:
        found = {
            tuple(row)
            for table in (populations, matches)
            for row in connection.execute(select(table.c.env_name, table.c.env_options))
        }
    return [(name, json.loads(options)) for name, options in sorted(found)]


def _everything(connection: Connection, env_name: str, env_options: str) -> list[Source]:
    same = (populations.c.env_name == env_name, populations.c.env_options == env_options)
    ids = list(connection.execute(select(populations.c.id).where(*same)).scalars())
    counted = [match.id for match in _counted_matches(connection, env_name, env_options)]
    return [*_of_populations(connection, ids), *map(_games_of_match, counted)]


def _of_populations(connection: Connection, population_ids: Sequence[int]) -> list[Source]:
    """One for each of their starts.

    Games of a start are numbered in the order they are committed, and only a later start supersedes
    them, so they may be counted once. Those of a population that is being deleted go, too.
    """
    chosen = select(incarnations.c.population_id, incarnations.c.id, populations.c.state).join(
        populations
    )
    starts = connection.execute(
        chosen.where(incarnations.c.population_id.in_(population_ids)).order_by(incarnations.c.id)
    ).all()
    newest = {row.population_id: row.id for row in starts}
    return [
        Source(
            (game_key(row.id, 0), game_key(row.id, MAX_NUMBER)),
            None if row.state == "deleting" else (row.id, newest[row.population_id]),
        )
        for row in starts
    ]


def _games_of_match(match_id: int) -> Source:
    return Source((match_game_key(match_id, 0), match_game_key(match_id, MAX_NUMBER)))


def _counted_matches(connection: Connection, env_name: str, env_options: str) -> list[Any]:
    """A match played again with the same seed gives the same games: the longest of such matches
    counts, the others are no new evidence.
    """
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for match in connection.execute(
        select(matches).where(matches.c.env_name == env_name, matches.c.env_options == env_options)
    ):
        found[match.players, match.seed, settings_of_games(match.settings)].append(match)
    return [
        max(same, key=lambda match: (match.finished_at is not None, match.games, -match.id))
        for same in found.values()
    ]


def _snapshots_of(match: Any) -> set[str]:
    return {name for kind, name in json.loads(match.players) if kind == "snapshot"}


def _results(league: League, connection: Connection, sources: Sequence[Source]) -> Results:
    scope = {"ranges": json.dumps([source.keys for source in sources])}
    named = _players(connection)
    if _seats(connection, scope) > 2:
        rankings = _rankings(connection, scope, named)
        return Results(
            win_matrix(pair for ranking in rankings for pair in _compared(ranking)), rankings
        )
    found = league.pair_totals.of(connection, sources)
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
        PairResult(
            a,
            b,
            ranking.games * (place < other),
            ranking.games * (place == other),
            ranking.games * (place > other),
        )
        for i, (a, place) in enumerate(seated)
        for b, other in seated[i + 1 :]
    ]


def _seats(connection: Connection, scope: Mapping[str, Any]) -> int:
    """Of one of the games; all games of a scope have as many."""
    one = connection.execute(text(f"SELECT g.id {CHOSEN} LIMIT 1"), scope).scalar()
    return int(
        connection.execute(
            select(func.count()).select_from(game_seats).where(game_seats.c.game_id == one)
        ).scalar_one()
    )


def _rankings(
    connection: Connection, scope: Mapping[str, Any], named: Mapping[int, PlayerRef]
) -> list[Ranking[PlayerRef]]:
    """Games that ended alike counted together; one in which a player met nobody else says
    nothing.
    """
    ended: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in connection.execute(_SEATS, scope):
        ended[row.id].append((row.player_id, row.place))
    counted = Counter(tuple(seats) for seats in ended.values() if len(seats) > 1)
    return [
        Ranking(
            tuple(named[player] for player, _ in seats), tuple(place for _, place in seats), games
        )
        for seats, games in sorted(counted.items())
    ]


def _players(connection: Connection) -> dict[int, PlayerRef]:
    return {
        row.id: to_player(row.kind, row.name)
        for row in connection.execute(select(players.c.id, players.c.kind, players.c.name))
    }
