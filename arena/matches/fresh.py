"""What fresh games say of a player: games that count in no rating, so none of them chose it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arena.league.database import League
from arena.league.matches import find_match
from arena.league.rating_models import ANCHOR
from arena.matches.stored import games_of_duel, margins_of
from arena.stats.score import MatchGame, match_statistics
from arena.stats.selection import fresh_headline
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class FreshStrength:
    """The strength of a player above `random`, in all games of some matches together.

    objective  "margin" where margins decide in the matches, else "win"
    value      Elo (`arena.stats.selection.fresh_headline`), or the mean margin; None where the
               games give no finite Elo
    low        lower end of the 95 % interval, None where it has no bound
    high       upper end of the 95 % interval, None where it has no bound
    units      games, or units of `arena.stats.margin`
    matches    how many matches they are from
    """

    objective: ObjectiveKind
    value: float | None
    low: float | None
    high: float | None
    units: int
    matches: int


def fresh_strength(league: League, match_ids: Sequence[int]) -> FreshStrength | None:
    """The strength that matches of one player against `random` show together.

    match_ids  numbers of matches of one objective; `random` may be named first in some of them
    Returns None where no game counts, and at larger tables. Raises: MatchError.
    """
    found = [find_match(league, match_id) for match_id in match_ids]
    games: list[MatchGame] = []
    for match in found:
        own = games_of_duel(league, match)
        games += _after(games, _other_side(own) if match.players[0] == ANCHOR else own)
    if not games:
        return None
    margin = margins_of(games, found[0].objective, None)
    if margin is not None:
        return FreshStrength(
            "margin", margin.mean, margin.low, margin.high, margin.units, len(found)
        )
    line = fresh_headline(match_statistics(games))
    return FreshStrength("win", line.elo, line.low, line.high, line.games, len(found))


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
