"""The statistics of a stored match, whether a command or the service played it."""

from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_league
from api.routes.matches import MatchId, the_match
from arena.guests.program import FORFEIT_PREFIX
from arena.matches.report_parts import MarginReport
from arena.matches.stored import StoredDuel, stored_duel
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1/matches", tags=["league"])


class TallyBody(BaseModel):
    """Games won, drawn and lost.

    wins    games won
    draws   games drawn
    losses  games lost
    """

    wins: int
    draws: int
    losses: int


class MatchStatisticsBody(BaseModel):
    """The statistics of the first of two players.

    objective             what decides between the players
    margin                null unless margins decide
    games                 number of games that count
    score                 (wins + draws / 2) / games
    low, high             an end of the score's 95 % interval
    interval              what the interval is: computed from "pairs" or from "games", or a
                          "sequence", which holds at any stop
    elo                   of the score, null where the score has no finite one
    elo_low, elo_high     an end of its 95 % interval, null where it has no bound
    nelo                  normalised Elo; null below 50 pairs, and in a match with a sequential test
    nelo_low, nelo_high   an end of its 95 % interval, null as nelo and where it has no bound
    los                   likelihood of superiority, null in a match with a sequential test
    wins                  games that it won
    draws                 games drawn
    losses                games that it lost
    pair_counts           number of pairs by its points: 0, 0.5, 1, 1.5, 2; null without pairs
    even_pairs            of the pairs worth 1 point: [each won once, both drawn]
    as_first              its games in the first seat
    as_second             its games in the second seat
    first_against_second  all games, from the side of the player in the first seat
    distinct              number of different games among them, by their actions
    errors                tries that the environment spoiled; they were played again
    forfeits              games that were lost by a program's fault
    mean_length           of a game, in decisions of all seats
    length_deviation      standard deviation of the length
    """

    objective: ObjectiveKind
    margin: MarginReport | None
    games: int
    score: float
    low: float
    high: float
    interval: str
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    nelo: float | None
    nelo_low: float | None
    nelo_high: float | None
    los: float | None
    wins: int
    draws: int
    losses: int
    pair_counts: list[int] | None
    even_pairs: list[int] | None
    as_first: TallyBody
    as_second: TallyBody
    first_against_second: TallyBody
    distinct: int
    errors: int
    forfeits: int
    mean_length: float
    length_deviation: float


@router.get(
    "/{match_id}/statistics",
    operation_id="getMatchStatistics",
    response_model=MatchStatisticsBody | None,
    responses=KNOWN,
)
def statistics(
    request: Request, here: Here, match_id: MatchId, if_none_match: IfNoneMatch = None
) -> Response:
    """The statistics of the complete pairs that are stored. ETag: the league's revision.

    null for more than two players, at larger tables, and before the first game that counts.
    """
    match = the_match(here, match_id)
    return tagged_by_league(
        here,
        request,
        if_none_match,
        lambda: statistics_table(stored_duel(here.league, match), match.objective),
    )


def statistics_table(duel: StoredDuel | None, objective: ObjectiveKind) -> dict[str, Any] | None:
    """The values of a `MatchStatisticsBody`."""
    if duel is None:
        return None
    table, lengths = asdict(duel.statistics), [record.steps for record in duel.records]
    return {
        **table.pop("total"),
        **{
            name: value for name, value in table.items() if name in MatchStatisticsBody.model_fields
        },
        "objective": objective,
        "margin": None if duel.margin is None else asdict(duel.margin),
        "games": duel.statistics.total.games,
        "first_against_second": asdict(duel.statistics.first_against_second),
        "errors": duel.errors,
        "forfeits": sum(record.end_reason.startswith(FORFEIT_PREFIX) for record in duel.records),
        "mean_length": fmean(lengths),
        "length_deviation": pstdev(lengths),
    }
