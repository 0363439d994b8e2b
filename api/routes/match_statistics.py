"""The block of numbers of a stored match, whoever played it and when."""

from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.routes.league import MatchId, the_match
from api.routes.tagged import KNOWN, IfNoneMatch, tagged_by_league
from arena.guests.program import FORFEIT_PREFIX
from arena.matches.stored import StoredDuel, stored_duel

router = APIRouter(prefix="/v1/matches", tags=["league"])


class TallyBody(BaseModel):
    wins: int
    draws: int
    losses: int


class MatchStatisticsBody(BaseModel):
    """Of the first of two players, with the names of docs/schemas/match.json."""

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
    los: float
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
    """From the whole pairs that are stored; null for more than two players, and before the first
    game that counts. ETag: the league's revision.
    """
    match = the_match(here, match_id)
    return tagged_by_league(
        here, request, if_none_match, lambda: statistics_table(stored_duel(here.league, match))
    )


def statistics_table(found: StoredDuel | None) -> dict[str, Any] | None:
    if found is None:
        return None
    table, lengths = asdict(found.statistics), [record.steps for record in found.records]
    return {
        **table.pop("total"),
        **{
            name: value for name, value in table.items() if name in MatchStatisticsBody.model_fields
        },
        "games": found.statistics.total.games,
        "first_against_second": asdict(found.statistics.first_against_second),
        "errors": found.errors,
        "forfeits": sum(record.end_reason.startswith(FORFEIT_PREFIX) for record in found.records),
        "mean_length": fmean(lengths),
        "length_deviation": pstdev(lengths),
    }
