"""The result of a match of two, computed from its stored games alone.

Neither the players nor their game nor torch are needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import KIND_KEY, SPRT_KEY, Match, stored_games
from arena.stats.anytime import duel_statistics
from arena.stats.margin import MarginStatistics, margin_statistics, unit_margins
from arena.stats.score import MatchGame, MatchStatistics
from arena.stats.sprt import Sprt
from pbt.objective import ObjectiveKind
from pbt.records import GameRecord, is_voided


@dataclass(frozen=True, slots=True)
class StoredDuel:
    """The result of a stored match of two.

    statistics  of the first player
    margin      of the first player, where margins decide; else None
    records     the games that count
    errors      number of tries that the environment spoiled
    """

    statistics: MatchStatistics
    margin: MarginStatistics | None
    records: tuple[GameRecord, ...]
    errors: int


def stored_duel(league: League, match: Match) -> StoredDuel | None:
    """The result so far; None before the first game that counts, and where places or returns count.

    That is so for more than two players, at larger tables, and where copies of a player cooperate.
    """
    counted, errors = _counted_games(league, match)
    games = _duel_games(match, counted)
    if not games:
        return None
    return StoredDuel(
        duel_statistics(games, stored_test(match)[1]),
        margins_of(games, match.objective, stored_test(match)[1]),
        tuple(record for _, record in sorted(counted.items())),
        errors,
    )


def games_of_duel(league: League, match: Match) -> list[MatchGame]:
    """The games so far, from the first player's side; none where `stored_duel` gives None."""
    return _duel_games(match, _counted_games(league, match)[0])


def _counted_games(league: League, match: Match) -> tuple[dict[int, GameRecord], int]:
    """(the games of a match of two that count, by index; number of tries that were spoiled)."""
    if len(match.players) != 2 or KIND_KEY in match.settings:
        return {}, 0
    placed = [(_place(match, record), record) for record in stored_games(league, match)]
    planned = [(place, record) for place, record in placed if place < match.games]
    whole = {place: record for place, record in planned if not is_voided(record.end_reason)}
    return whole, len(planned) - len(whole)


def _duel_games(match: Match, counted: Mapping[int, GameRecord]) -> list[MatchGame]:
    """The games from the first player's side. counted: by index."""
    if any(len(record.seats) == 1 for record in counted.values()):
        return lone_games(counted)
    return [
        game_from_seat(record, _first_seat(match, place, record))
        for place, record in sorted(counted.items())
    ]


def margins_of(
    games: Sequence[MatchGame], objective: ObjectiveKind, test: Sprt | None
) -> MarginStatistics | None:
    """The statistics of a match of two by margin; None where something else decides.

    test  the sequential test that may stop the match
    """
    if objective != "margin":
        return None
    return margin_statistics(unit_margins(games), test, 1 if games[0].pair is None else 2)


def stored_test(match: Match) -> tuple[int, Sprt | None]:
    """(games planned, sequential test) of a stored match."""
    if SPRT_KEY not in match.settings:
        return match.games, None
    parameters = dict(match.settings[SPRT_KEY])
    games = int(parameters.pop("games"))
    return games, Sprt(**parameters)


def _place(match: Match, record: GameRecord) -> int:
    """Index of a game in the plan. All tries of a spoiled game share one index."""
    return record.count % stored_test(match)[0]


def _first_seat(match: Match, place: int, record: GameRecord) -> int:
    """The seat of the first player, who is found by name.

    A player against itself changes seats from game to game.
    """
    first, second = match.players
    return place % 2 if first == second else [seat.player for seat in record.seats].index(first)


def game_from_seat(record: GameRecord, seat: int) -> MatchGame:
    """A game of two seats, from the side of the player in `seat`. A smaller place is better."""
    return MatchGame(
        _points(record.seats[1 - seat].place, record.seats[seat].place),
        seat == 0,
        record.pair,
        record.trajectory_hash,
        (record.seats[seat].returns - record.seats[1 - seat].returns) / 2,
    )


def lone_pairs(games: Mapping[int, GameRecord]) -> list[tuple[GameRecord, GameRecord]]:
    """Games of one seat by index: those of the first and the second player on each seed."""
    return [
        (games[index], games[index + 1])
        for index in sorted(games)
        if index % 2 == 0 and index + 1 in games
    ]


def lone_games(games: Mapping[int, GameRecord]) -> list[MatchGame]:
    """Games of one seat, compared on each seed that both have played; the higher return wins."""
    return [
        MatchGame(
            _points(own.seats[0].returns, other.seats[0].returns),
            True,
            None,
            own.trajectory_hash + other.trajectory_hash,
        )
        for own, other in lone_pairs(games)
    ]


def _points(own: float, other: float) -> float:
    """Points of the first of two numbers: 1 if it is higher, 0.5 if they are equal, else 0."""
    return 0.5 if own == other else float(own > other)
