"""What a match of two came to, from its stored games alone: neither players nor their game are
needed, and no torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import SPRT_KEY, Match, stored_games
from arena.stats.score import MatchGame, MatchStatistics, match_statistics
from pbt.records import GameRecord, is_voided


@dataclass(frozen=True, slots=True)
class StoredDuel:
    """statistics: of the first player;  records: the games that count;  errors: tries that the
    environment spoiled
    """

    statistics: MatchStatistics
    records: tuple[GameRecord, ...]
    errors: int


def stored_duel(league: League, match: Match) -> StoredDuel | None:
    """None for more than two players, and before the first game that counts."""
    if len(match.players) != 2:
        return None
    found = [(_place(match, record), record) for record in stored_games(league, match)]
    inside = [(place, record) for place, record in found if place < match.games]
    whole = {place: record for place, record in inside if not is_voided(record.end_reason)}
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
        len(inside) - len(whole),
    )


def _place(match: Match, record: GameRecord) -> int:
    """In the plan, which a later try of a spoiled game shares with the first."""
    planned = match.settings[SPRT_KEY]["games"] if SPRT_KEY in match.settings else match.games
    return record.count % int(planned)


def _game(match: Match, place: int, record: GameRecord) -> MatchGame:
    """The first player's seat is told by who sits there; a player against itself changes seats
    from game to game.
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
    """One seat: both players on each seed, one game after the other; the higher return wins."""
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
    """Of the one with the higher number."""
    return 0.5 if own == other else float(own > other)
