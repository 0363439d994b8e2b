"""What fresh games say of a player: games that count in no rating, so none of them chose it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from arena.league.database import League
from arena.league.matches import Match, find_match, stored_games
from arena.league.rating_models import ANCHOR
from arena.matches.stored import games_of_duel, margins_of
from arena.stats.free_for_all import RankedGame, free_for_all
from arena.stats.intervals import mean_interval
from arena.stats.score import MatchGame, elo_of_score, match_statistics
from arena.stats.selection import fresh_headline
from pbt.objective import ObjectiveKind
from pbt.records import GameRecord, PlayerRef, is_voided


@dataclass(frozen=True, slots=True)
class FreshStrength:
    """The strength of a player in all games of some matches with `random` together.

    objective  what decides in the matches; "win" where margins would at larger tables
    value      Elo above `random` (`arena.stats.selection.fresh_headline`), mean margin, or mean
               return; None where the games give no finite Elo
    low        lower end of the 95 % interval, None where it has no bound
    high       upper end of the 95 % interval, None where it has no bound
    units      games, units of `arena.stats.margin_units`, or seeds where returns count
    matches    how many matches they are from
    seated     what the games are: "against random", "with itself in all seats", or "beside random"
    """

    objective: ObjectiveKind
    value: float | None
    low: float | None
    high: float | None
    units: int
    matches: int
    seated: str = "against random"


def fresh_strength(league: League, match_ids: Sequence[int]) -> FreshStrength | None:
    """The strength that matches of one player with `random` show together.

    match_ids  numbers of matches of one objective; `random` may be named first in some of them
    Returns None where no game counts. Raises: MatchError.
    """
    found = [find_match(league, match_id) for match_id in match_ids]
    if not found:
        return None
    player = next(one for one in found[0].players if one != ANCHOR)
    if found[0].objective == "return":
        return _by_returns(league, found, player)
    games: list[MatchGame] = []
    for match in found:
        own = games_of_duel(league, match)
        games += _after(games, _other_side(own) if match.players[0] == ANCHOR else own)
    if not games:
        return _at_larger_tables(league, found, player)
    margin = margins_of(games, found[0].objective, None)
    if margin is not None:
        return FreshStrength(
            "margin", margin.mean, margin.low, margin.high, margin.units, len(found)
        )
    line = fresh_headline(match_statistics(games))
    return FreshStrength("win", line.elo, line.low, line.high, line.games, len(found))


def _by_returns(
    league: League, matches: Sequence[Match], player: PlayerRef
) -> FreshStrength | None:
    """The mean return of the player's seats, over seeds.

    Only games with itself in all seats count where there are such, as in a table of returns.
    """
    played = [
        (number, record)
        for number, record in _numbered(league, matches)
        if any(seat.player == player for seat in record.seats)
    ]
    alone = [
        (number, record)
        for number, record in played
        if all(seat.player == player for seat in record.seats)
    ]
    by_seed: dict[int, list[float]] = {}
    for number, record in alone or played:
        own = fmean(seat.returns for seat in record.seats if seat.player == player)
        by_seed.setdefault(number, []).append(own)
    if not by_seed:
        return None
    values = [fmean(own) for own in by_seed.values()]
    low, high = mean_interval(values) or (None, None)
    seated = "with itself in all seats" if alone else "beside random"
    return FreshStrength("return", fmean(values), low, high, len(values), len(matches), seated)


def _at_larger_tables(
    league: League, matches: Sequence[Match], player: PlayerRef
) -> FreshStrength | None:
    """Elo of how often a seat of the player came before one of `random`, by places."""
    games = [
        RankedGame(
            tuple(seat.player for seat in record.seats),
            tuple(seat.place for seat in record.seats),
            number,
        )
        for number, record in _numbered(league, matches)
        if {seat.player for seat in record.seats} == {player, ANCHOR}
    ]
    if not games:
        return None
    table = free_for_all(games, block_games=max(Counter(game.block for game in games).values()))
    at = [row.player for row in table.standings].index(player)
    value, low, high = (
        elo_of_score(float(ends[at, 1 - at])) for ends in (table.score, table.low, table.high)
    )
    return FreshStrength("win", value, low, high, len(games), len(matches))


def _numbered(league: League, matches: Sequence[Match]) -> list[tuple[int, GameRecord]]:
    """(number of its seed among those of all matches, game) of every game that counts."""
    found, start = [], 0
    for match in matches:
        own = [one for one in stored_games(league, match) if not is_voided(one.end_reason)]
        numbers = [one.count % match.games if one.pair is None else one.pair for one in own]
        found += [(start + number, one) for number, one in zip(numbers, own, strict=True)]
        start += 1 + max(numbers, default=-1)
    return found


def _other_side(games: Sequence[MatchGame]) -> list[MatchGame]:
    """The same games from the side of the second player."""
    return [
        replace(game, points=1 - game.points, a_first=not game.a_first, margin=-game.margin)
        for game in games
    ]


def _after(before: Sequence[MatchGame], games: Sequence[MatchGame]) -> list[MatchGame]:
    """The games with numbers of pairs that none of the games before them has."""
    start = 1 + max((game.pair for game in before if game.pair is not None), default=-1)
    return [game if game.pair is None else replace(game, pair=start + game.pair) for game in games]
