"""Which evaluation games a rating table counts, and what they came to. Training, greedy, voided and superseded games never enter."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, text

from arena.league.database import League
from arena.league.matches import settings_of_games
from arena.league.populations import find_population
from arena.league.rows import to_json, to_player
from arena.league.schema import MAX_NUMBER, game_key, game_seats, incarnations, match_game_key, matches, players, populations, snapshots
from arena.plackett_luce import Ranking
from arena.ratings import PairResult
from arena.statistics import Tally
from pbt.records import PlayerRef

# Ranges of keys, one for each start of a population and for each match: only their evaluation games are touched.
_CHOSEN = """
FROM json_each(:ranges) r
JOIN games g INDEXED BY ix_games_evaluation
    ON g.id BETWEEN json_extract(r.value, '$[0]') AND json_extract(r.value, '$[1]') AND g.kind = 1
    AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
"""
_PAIRS = text(f"""
SELECT a.player_id AS a, b.player_id AS b, SUM(a.place < b.place) AS wins, SUM(a.place = b.place) AS draws, SUM(a.place > b.place) AS losses
{_CHOSEN} CROSS JOIN game_seats a ON a.game_id = g.id AND a.seat = 0 CROSS JOIN game_seats b ON b.game_id = g.id AND b.seat = 1
WHERE a.player_id <> b.player_id GROUP BY a.player_id, b.player_id ORDER BY a.player_id, b.player_id
""")
# A player in several seats is its best one.
_SEATS = text(f"""
SELECT g.id, s.player_id, MIN(s.place) AS place
{_CHOSEN} CROSS JOIN game_seats s ON s.game_id = g.id GROUP BY g.id, s.player_id ORDER BY g.id, s.player_id
""")

Tallies = Mapping[PlayerRef, Mapping[PlayerRef, Tally]]


@dataclass(frozen=True, slots=True)
class Results:
    """What the games of a scope came to.

    pairs     every two players that met; in games of k > 2 players each comparison weighs 1 / (k - 1), so that a game counts as much for a player
              whatever the table's size
    rankings  the games of more than two players, as they ended; empty where games have two seats
    tallies   of each player against each it met, by one comparison per opponent and game
    """

    pairs: Sequence[PairResult[PlayerRef]]
    rankings: Sequence[Ranking[PlayerRef]]
    tallies: Tallies


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
    if _seats(connection, scope) <= 2:
        pairs = [(named[row.a], named[row.b], row.wins, row.draws, row.losses) for row in connection.execute(_PAIRS, scope)]
        return Results([PairResult(*pair) for pair in pairs], (), _tallies(pairs))
    rankings = _rankings(connection, scope, named)
    compared = [
        (len(ranking.players), a, b, ranking.games * (place < other), ranking.games * (place == other), ranking.games * (place > other))
        for ranking in rankings
        for i, (a, place) in enumerate(zip(ranking.players, ranking.places, strict=True))
        for b, other in list(zip(ranking.players, ranking.places, strict=True))[i + 1 :]
    ]
    weighted = [PairResult(a, b, *(count / (seated - 1) for count in counts)) for seated, a, b, *counts in compared]
    return Results(weighted, rankings, _tallies([tuple(rest) for _, *rest in compared]))


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


def _tallies(pairs: Iterable[tuple[Any, ...]]) -> Tallies:
    """From (a, b, wins, draws, losses of a)."""
    found: dict[PlayerRef, dict[PlayerRef, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for a, b, wins, draws, losses in pairs:
        for own, other, counts in ((a, b, (wins, draws, losses)), (b, a, (losses, draws, wins))):
            total = found[own][other]
            for index, count in enumerate(counts):
                total[index] += count
    return {own: {other: Tally(*total) for other, total in met.items()} for own, met in found.items()}


def _players(connection: Connection) -> dict[int, PlayerRef]:
    return {row.id: to_player(row.kind, row.name) for row in connection.execute(select(players.c.id, players.c.kind, players.c.name))}
