"""Strength over REST: ratings, the win matrix and circles.

Their ETag is the league's revision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Here, made_from_request
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_league
from api.routes.pair_bodies import CyclesBody, WinMatrixBody
from api.routes.rating_bodies import RatingsBody
from arena.cli.matrix import matrix_report
from arena.cli.rating_report import league_report
from arena.data.paths import POPULATION_NAME
from arena.league.ratings import population_table

router = APIRouter(prefix="/v1", tags=["league"])

Population = Annotated[
    str,
    Query(
        pattern=f"^{POPULATION_NAME.pattern}$",
        description="the population whose evaluation games count",
    ),
]
Everyone = Annotated[bool, Query(description="together with all other populations of its game")]


@dataclass(kw_only=True)
class LeagueQuestion:
    """A question about the results of a population."""

    request: Request
    here: Here
    population: Population
    all: Everyone = False
    if_none_match: IfNoneMatch = None

    def answer(self, report: Callable[[], object]) -> Response:
        return tagged_by_league(self.here, self.request, self.if_none_match, report)


Asked = Annotated[LeagueQuestion, made_from_request(LeagueQuestion)]


@router.get("/ratings", operation_id="getRatings", response_model=RatingsBody, responses=KNOWN)
def ratings(asked: Asked) -> Response:
    """The rating table as `arena league --json`; where returns count, the mean returns.

    The players are ordered by the lower end of their interval. `objective` says what the numbers
    count, `unit` what follows each. `rank` is within the `role` of a player; a player of any role
    has the role null.
    """
    return asked.answer(
        lambda: league_report(asked.here.league, asked.population, everyone=asked.all)
    )


@router.get(
    "/win-matrix", operation_id="getWinMatrix", response_model=WinMatrixBody, responses=KNOWN
)
def win_matrix(asked: Asked) -> Response:
    """The matrix as `arena matrix --json`: every two players that met.

    Where margins count, each pair has its mean margin. Where returns count, there are no pairs.
    """

    def report() -> dict[str, Any]:
        table = population_table(asked.here.league, asked.population, everyone=asked.all)
        return matrix_report(asked.population, table)

    return asked.answer(report)


@router.get("/cycles", operation_id="getCycles", response_model=CyclesBody, responses=KNOWN)
def cycles(asked: Asked) -> Response:
    """Circles of players that beat each other, and the share of results that no rating explains.

    `objective` says in what they beat each other. Where returns count, there are no circles.
    """

    def report() -> dict[str, Any]:
        table = league_report(asked.here.league, asked.population, everyone=asked.all)
        return {
            "population": asked.population,
            "objective": table["objective"],
            "cycles": table.get("cycles", []),
            "cyclic_share": table.get("cyclic_share"),
        }

    return asked.answer(report)
