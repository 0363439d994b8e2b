"""The PBT rounds of a population: what each decided, and what it was decided from."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.json_response import written
from api.routes.bodies import Member, PopulationName
from api.routes.pages import Cursor, Limit, Since, Until, read_cursor, write_cursor
from arena.league.ordered_pages import ListOrder, RoundFilter, Span, round_page
from arena.league.stored_history import StoredCertificate, StoredRound, list_certificates

router = APIRouter(prefix="/v1/populations/{name}/rounds", tags=["members"])


class AgainstBody(BaseModel):
    """The games of a member against one opponent.

    opponent  which opponent
    games     number of games counted
    points    sum of what is ranked
    squares   sum of squared distances from the mean, null where no rule asks for it
    """

    opponent: str
    games: int
    points: float
    squares: float | None


class ScoreBody(BaseModel):
    """What a round knew of one member.

    member      which member
    games       number of training games counted
    objective   mean of what is ranked: wins, margins or returns
    first_game  number of the first game counted
    last_game   number of the last game counted
    squares     sum of squared distances from the mean, null where no rule asks for it
    against     the same games by opponent; empty where members are not compared by opponents
    """

    member: str
    games: int
    objective: float
    first_game: int
    last_game: int
    squares: float | None
    against: list[AgainstBody]


class DirectiveBody(BaseModel):
    """What a round told its member to do.

    member         which member
    round          the number of the round
    copy_from      the member whose weights and values it took over, null without a copy
    copy_snapshot  id of the snapshot that it copied, null without a copy
    hyperparams    all hyperparameters after copying and mutating
    mutated        the names that changed by mutation
    """

    member: str
    round: int
    copy_from: str | None
    copy_snapshot: str | None
    hyperparams: dict[str, float]
    mutated: list[str]


class WiringCheckBody(BaseModel):
    """One comparison of what the parts of a training worked with.

    name      of the check
    compared  how many things were compared
    largest   the largest difference, where rounding may make one; else null
    problem   the first difference that should not be, in words; null without one
    """

    name: str
    compared: int
    largest: float | None
    problem: str | None


class WiringBody(BaseModel):
    """The wiring certificate that began at a round.

    agrees  no check found a difference
    checks  what was compared
    """

    agrees: bool
    checks: list[WiringCheckBody]


class RoundBody(BaseModel):
    """A PBT round of one member, with all that it was decided from.

    member       whose round it is
    round        its number, counted for each member
    frames       of the member's clock
    verdict      the reasons, in words
    directive    what the member was told to do
    scores       what was known of each member
    hyperparams  hyperparameters of each member before the round
    rules        of this round, from the config
    seed         of its random choices; a text, because it has more digits than a JavaScript number
    incarnation  which start of the trainer decided it
    superseded   a resume went back behind it
    created_at   seconds since 1970
    wiring       the certificate that began at this round, null while it is not finished
    """

    member: str
    round: int
    frames: int
    verdict: str
    directive: DirectiveBody
    scores: list[ScoreBody]
    hyperparams: dict[str, dict[str, float]]
    rules: dict[str, bool | int | float | str | list[str]]
    seed: str
    incarnation: int
    superseded: bool
    created_at: float
    wiring: WiringBody | None


class RoundList(BaseModel):
    """A page of the rounds of a population.

    items  in the order that was asked for
    next   the cursor of the next page, null on the last one
    """

    items: list[RoundBody]
    next: str | None


@router.get("", operation_id="listRounds", response_model=RoundList)
def list_rounds(
    here: Here,
    name: PopulationName,
    member: Member = None,
    superseded: Annotated[
        bool, Query(description="also rounds that a resume went back behind")
    ] = False,
    since: Since = None,
    until: Until = None,
    sort: Annotated[
        Literal["created", "-created"], Query(description="`created`: oldest first")
    ] = "created",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Every decision with its reasons, as `arena rounds list --json`."""
    of = f"rounds {sort}"
    wanted = RoundFilter(member, superseded, Span(since, until))
    order, after = ListOrder("created_at", sort == "-created"), read_cursor(of, cursor, float, int)
    page, place = round_page(here.league, name, wanted, order, after, limit)
    certificates = {
        (one.incarnation, one.record.member, one.record.frames): one
        for one in list_certificates(here.league, name, superseded=superseded)
    }
    items = [round_body(each, certificates) for each in page]
    return written({"items": items, "next": write_cursor(of, place)})


def round_body(
    stored: StoredRound, certificates: Mapping[tuple[int, str, int], StoredCertificate]
) -> dict[str, Any]:
    """The values of a `RoundBody`. certificates: by incarnation, member and frames."""
    record = stored.record
    found = certificates.get((stored.incarnation, record.member, record.frames))
    wiring = None
    if found is not None:
        checks = [asdict(check) for check in found.record.checks]
        wiring = {"agrees": not found.record.problems, "checks": checks}
    return {
        **asdict(record),
        "seed": str(record.seed),
        "incarnation": stored.incarnation,
        "superseded": stored.superseded,
        "created_at": stored.created_at,
        "wiring": wiring,
    }
