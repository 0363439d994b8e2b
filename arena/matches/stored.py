"""The result of a match of two, computed from its stored games alone.

Neither the players nor their game nor torch are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import SPRT_KEY, Match, stored_games
from arena.stats.score import MatchGame, MatchStatistics, match_statistics
from pbt.records import GameRecord, is_voided


@dataclass(frozen=True, slots=True)
class StoredDuel:
    """The result of a stored match of two.

    statistics  of the first player
    records     the games that count
    errors      number of tries that the environment spoiled
    """

    statistics: MatchStatistics
    records: tuple[GameRecord, ...]
    errors: int


def stored_duel(league: League, match: Match) -> StoredDuel | None:
    """The result so far; None for more than two players, and before the first game that counts."""
    if len(match.players) != 2:
        return None
    placed = [(_place(match, record), record) for record in stored_games(league, match)]
    planned = [(place, record) for place, record in placed if place < match.games]
    whole = {place: record for place, record in planned if not is_voided(record.end_reason)}
    alone = any(len(record.seats) == 1 for record in whole.values())
    games = (
        _lone_games(whole)
        if alone
        else [_game(match, place, record) for place, record in sorted(whole.items())]
    )
    if not games:
        return None
    return StoredDuel(
        match_statistics(games),
        tuple(record for _, record in sorted(whole.items())),
        len(planned) - len(whole),
    )


def _place(match: Match, record: GameRecord) -> int:
    """Index of a game in the plan. All tries of a spoiled game share one index."""
    planned = match.settings[SPRT_KEY]["games"] if SPRT_KEY in match.settings else match.games
    return record.count % int(planned)


def _game(match: Match, place: int, record: GameRecord) -> MatchGame:
    """A game from the first player's side.

    The first player is found by name; a player against itself changes seats from game to game.
    """
    first, second = match.players
    seated = [seat.player for seat in record.seats]
    seat = place % 2 if first == second else seated.index(first)
    return MatchGame(
        _points(record.seats[1 - seat].place, record.seats[seat].place),
        seat == 0,
        record.pair,
        record.trajectory_hash,
    )


def _lone_games(games: dict[int, GameRecord]) -> Sequence[MatchGame]:
    """Games of one seat, compared in pairs: both players play each seed; the higher return wins."""
    return [
        MatchGame(
            _points(games[place].seats[0].returns, other.seats[0].returns),
            True,
            None,
            games[place].trajectory_hash + other.trajectory_hash,
        )
        for place in sorted(games)
        if place % 2 == 0 and (other := games.get(place + 1)) is not None
    ]


def _points(own: float, other: float) -> float:
    """Points of the first of two numbers: 1 if it is higher, 0.5 if they are equal, else 0."""
    return 0.5 if own == other else float(own > other)
