"""What fresh games say of a player: games that count in no rating, so none of them chose it."""

from dataclasses import dataclass

from arena.league.database import League
from arena.league.matches import find_match
from arena.matches.stored import stored_duel
from arena.stats.selection import fresh_headline
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class FreshStrength:
    """The strength of the first player of a match above the second one.

    objective  "margin" where margins decide in the match, else "win"
    value      Elo (`arena.stats.selection.fresh_headline`), or the mean margin; None where the
               games give no finite Elo
    low        lower end of the 95 % interval, None where it has no bound
    high       upper end of the 95 % interval, None where it has no bound
    units      games, or units of `arena.stats.margin`
    """

    objective: ObjectiveKind
    value: float | None
    low: float | None
    high: float | None
    units: int


def fresh_strength(league: League, match_id: int) -> FreshStrength | None:
    """The strength that a match shows; None before its first game. Raises: MatchError."""
    found = stored_duel(league, find_match(league, match_id))
    if found is None:
        return None
    if found.margin is not None:
        margin = found.margin
        return FreshStrength("margin", margin.mean, margin.low, margin.high, margin.units)
    headline = fresh_headline(found.statistics)
    return FreshStrength("win", headline.elo, headline.low, headline.high, headline.games)
