"""Fresh matches: their games count in no rating, so they did not choose the player they measure.

Those against `random` are the headline of `@best`. A person could look for a flattering one: with
few games, with greedy actions, with a test that stops when it is ahead, or with one seed after
another. So only matches of one kind count, and all of them count together.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import or_, select

from arena.league.database import League
from arena.league.matches import FRESH_KEY, SPRT_KEY, Match, players_text, to_match
from arena.league.rating_models import ANCHOR
from arena.league.schema import matches
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef

# 200 seed pairs; as many games where games are not paired.
HEADLINE_GAMES = 400


def no_headline(players: tuple[PlayerRef, ...], games: int, settings: Mapping[str, Any]) -> str:
    """Why a fresh match of this plan is no part of a headline, as a clause; "" where it is one.

    games     how many are planned
    settings  as `arena.league.matches.Match.settings`
    """
    if len(players) != 2 or ANCHOR not in players or players[0] == players[1]:
        return "a headline is against random, of one player"
    if settings.get("greedy"):
        return "a headline is of sampled actions, as ratings are"
    if SPRT_KEY in settings:
        return "a sequential test stops where it is ahead, which flatters"
    if games < HEADLINE_GAMES:
        return f"a headline has {HEADLINE_GAMES} games or more, and this match {games}"
    return ""


def headline_matches(league: League, player: PlayerRef, objective: ObjectiveKind) -> list[Match]:
    """The finished fresh matches of a player against `random` that make its headline, by number.

    Of matches with one seed the longest is there: their games are the same games.

    objective  what decides in them: numbers of another one do not compare with those of a table
    """
    orders = ((player, ANCHOR), (ANCHOR, player))
    pair = or_(*(matches.c.players == players_text(order) for order in orders))
    with league.read() as connection:
        rows = connection.execute(select(matches).where(pair, matches.c.finished_at.is_not(None)))
        found = [to_match(row) for row in rows]
    of_seed: dict[int, Match] = {}
    for match in sorted(found, key=lambda match: (match.games, -match.id)):
        fresh = match.settings.get(FRESH_KEY) and match.objective == objective
        if fresh and not no_headline(match.players, match.games, match.settings):
            of_seed[match.seed] = match
    return sorted(of_seed.values(), key=lambda match: match.id)
