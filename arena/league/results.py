"""Results of the games that a rating table counts.

A table counts evaluation games of populations and games of matches. It never counts training,
greedy, voided or superseded games.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from sqlalchemy import Connection, select, text

from arena.league.database import League, count_rows
from arena.league.matches import FRESH_KEY, settings_of_games
from arena.league.pair_totals import CHOSEN, Source, Totals
from arena.league.populations import find_population
from arena.league.rows import to_json, to_player
from arena.league.schema import (
    game_seats,
    incarnations,
    keys_of_match,
    keys_of_start,
    matches,
    players,
    populations,
    snapshots,
)
from arena.stats.bradley_terry import PairResult
from arena.stats.margin_units import MarginResult
from arena.stats.meetings import Meetings
from arena.stats.plackett_luce import Ranking
from arena.stats.ranks import mid_ranks
from arena.stats.win_matrix import WinMatrix, meetings_of, win_matrix
from pbt.records import PlayerRef

_SEATS = text(f"""
SELECT g.id, s.player_id, s.place
{CHOSEN} CROSS JOIN game_seats s ON s.game_id = g.id
ORDER BY g.id, s.player_id, s.place
""")


@dataclass(frozen=True, slots=True)
class Results:
    """The results of the games of a scope.

    matrix    each player against each opponent, one comparison per opponent and game
    meetings  games of two seats by players (as the matrix orders them), seats and seed pairs
    margins   how much players won against each opponent, in games of two seats: of every two
              players first their seed pairs, then their single games, where they have such
    rankings  results of games of more than two players; empty where games have two seats
    """

    matrix: WinMatrix[PlayerRef]
    meetings: Meetings
    margins: Sequence[MarginResult[PlayerRef]]
    rankings: Sequence[Ranking[PlayerRef]]


def population_results(league: League, population: str, *, everyone: bool = False) -> Results:
    """The results of a population.

    They are those of its evaluation games, and of matches among its snapshots and players of no
    population. everyone: take `game_results` of its game instead. Raises: PlayerError.
    """
    with league.read() as connection:
        row = find_population(connection, population)
        if everyone:
            return _results(
                league, connection, _everything(connection, row.env_name, row.env_options)
            )
        own = _own_snapshots(connection, row.id)
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
                *(Source(keys_of_match(match.id)) for match in among),
            ],
        )


def matches_among(league: League, population: str) -> list[int]:
    """Numbers of the matches among a population's snapshots and players of no population.

    They are those that its ratings count, those that repeat them, and those of fresh games.
    Raises: PlayerError.
    """
    with league.read() as connection:
        row = find_population(connection, population)
        own = _own_snapshots(connection, row.id)
        same = (matches.c.env_name == row.env_name, matches.c.env_options == row.env_options)
        rows = connection.execute(select(matches).where(*same).order_by(matches.c.id)).all()
    return [match.id for match in rows if _snapshots_of(match) <= own]


def _own_snapshots(connection: Connection, population_id: int) -> set[str]:
    mine = select(snapshots.c.snapshot_id).where(snapshots.c.population_id == population_id)
    return set(connection.execute(mine).scalars())


def game_results(league: League, env_name: str, env_options: Mapping[str, Any]) -> Results:
    """The results of all populations and matches of a game with these options."""
    with league.read() as connection:
        return _results(league, connection, _everything(connection, env_name, to_json(env_options)))


def match_results(league: League, match_ids: Sequence[int]) -> Results:
    """The results of these matches alone."""
    with league.read() as connection:
        return _results(
            league, connection, [Source(keys_of_match(match_id)) for match_id in match_ids]
        )


def rated_games(league: League) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of every game that populations or matches play, sorted by name."""
    with league.read() as connection:
        played = {
            tuple(row)
            for table in (populations, matches)
            for row in connection.execute(select(table.c.env_name, table.c.env_options))
        }
    return [(name, json.loads(options)) for name, options in sorted(played)]


def _everything(connection: Connection, env_name: str, env_options: str) -> list[Source]:
    same = (populations.c.env_name == env_name, populations.c.env_options == env_options)
    ids = list(connection.execute(select(populations.c.id).where(*same)).scalars())
    counted = _counted_matches(connection, env_name, env_options)
    return [
        *_of_populations(connection, ids),
        *(Source(keys_of_match(match.id)) for match in counted),
    ]


def _of_populations(connection: Connection, population_ids: Sequence[int]) -> list[Source]:
    """One source for each start of these populations.

    The games of a start are numbered in the order they are committed, and only a later start
    supersedes them, so counts of them may be cached. The games of a population that is being
    deleted vanish, so counts of them may not.
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
            keys_of_start(row.id),
            None if row.state == "deleting" else (row.id, newest[row.population_id]),
        )
        for row in starts
    ]


def _counted_matches(connection: Connection, env_name: str, env_options: str) -> list[Any]:
    """The matches of a game that count: all but fresh ones.

    A match that is played again with the same seed gives the same games. The longest of such
    matches counts, and the others are no new evidence.
    """
    repeats: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for match in connection.execute(
        select(matches).where(matches.c.env_name == env_name, matches.c.env_options == env_options)
    ):
        if not json.loads(match.settings).get(FRESH_KEY):
            repeats[match.players, match.seed, settings_of_games(match.settings)].append(match)
    return [
        max(same, key=lambda match: (match.finished_at is not None, match.games, -match.id))
        for same in repeats.values()
    ]


def _snapshots_of(match: Any) -> set[str]:
    return {name for kind, name in json.loads(match.players) if kind == "snapshot"}


def _results(league: League, connection: Connection, sources: Sequence[Source]) -> Results:
    scope = {"ranges": json.dumps([source.keys for source in sources])}
    player_of = _players(connection)
    if _seats(connection, scope) > 2:
        rankings = _rankings(connection, scope, player_of)
        matrix = win_matrix(pair for ranking in rankings for pair in _compared(ranking))
        return Results(matrix, meetings_of(matrix), (), rankings)
    return _of_two_seats(league.pair_totals.of(connection, sources), player_of)


def _of_two_seats(totals: Totals, player_of: Mapping[int, PlayerRef]) -> Results:
    ids = np.unique(np.concatenate([totals.first, totals.second]))
    players = tuple(player_of[player] for player in ids.tolist())
    first, second = np.searchsorted(ids, totals.first), np.searchsorted(ids, totals.second)
    meetings = Meetings(first, second, totals.paired, totals.single)
    wins, draws = np.zeros((2, len(ids), len(ids)))
    wins[first, second], draws[first, second], wins[second, first] = meetings.outcomes.T
    draws[second, first] = draws[first, second]
    numbers = np.stack([totals.paired.sum((1, 2)), totals.single.sum((1, 2))], axis=1)
    margins = [
        MarginResult(players[a], players[b], int(units), total, squares, paired=kind == 0)
        for a, b, own, sums in zip(
            first, second, numbers.tolist(), totals.margins.tolist(), strict=True
        )
        for kind, (units, (total, squares)) in enumerate(zip(own, sums, strict=True))
        if units
    ]
    return Results(WinMatrix(players, wins, draws), meetings, margins, ())


def _compared(ranking: Ranking[PlayerRef]) -> list[PairResult[PlayerRef]]:
    """The results of every two players of a table.

    A player in several seats counts with the mean of their places: with the best of them, copies of
    one player would beat a single equal one.
    """
    places: dict[PlayerRef, list[float]] = defaultdict(list)
    for player, place in zip(ranking.players, mid_ranks(ranking.places).tolist(), strict=True):
        places[player].append(place)
    seated = [(player, fmean(own)) for player, own in places.items()]
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
    """How many seats the games of a scope have; all have equally many."""
    one = connection.execute(text(f"SELECT g.id {CHOSEN} LIMIT 1"), scope).scalar()
    return count_rows(connection, game_seats, game_seats.c.game_id == one)


def _rankings(
    connection: Connection, scope: Mapping[str, Any], player_of: Mapping[int, PlayerRef]
) -> list[Ranking[PlayerRef]]:
    """The results of the games; games with equal results are counted together.

    A player may hold several seats. A game in which it met only itself says nothing and is left
    out.
    """
    ended: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in connection.execute(_SEATS, scope):
        ended[row.id].append((row.player_id, row.place))
    counted = Counter(
        tuple(seats) for seats in ended.values() if len({player for player, _ in seats}) > 1
    )
    return [
        Ranking(
            tuple(player_of[player] for player, _ in seats),
            tuple(place for _, place in seats),
            games,
        )
        for seats, games in sorted(counted.items())
    ]


def _players(connection: Connection) -> dict[int, PlayerRef]:
    return {
        row.id: to_player(row.kind, row.name)
        for row in connection.execute(select(players.c.id, players.c.kind, players.c.name))
    }
