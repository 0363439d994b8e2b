"""The PBT rounds of one number, side by side: what they compared, copied and mutated."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.problems import Problem
from api.routes.bodies import PopulationName
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_content
from arena.league.round_cards import Did, MemberRound, rounds_of_number
from pbt.objective import ObjectiveKind

router = APIRouter(prefix="/v1/populations/{name}/rounds", tags=["members"])


class LeadBody(BaseModel):
    """The member that was copied, or might have been. Numbers are rounded as in the verdict.

    member     that member
    objective  the mean of what is ranked over its games
    ahead      how far it was ahead
    opponents  how many common opponents were compared, 0 where all games were
    errors     `ahead` in standard errors, null where it is not known
    p          probability of such a lead by chance, null where no rule asks for it
    level      the largest p at which it would have been copied, null where no rule asks for it
    copied     whether it was copied
    """

    member: str
    objective: float
    ahead: float
    opponents: int
    errors: float | None
    p: float | None
    level: float | None
    copied: bool


class ValueChangeBody(BaseModel):
    """A hyperparameter that a round changed.

    name    its name
    before  the member's own value
    donor   the value of the member that it copied, null without a copy
    after   the value in force from then on
    """

    name: str
    before: float
    donor: float | None
    after: float


class MemberRoundBody(BaseModel):
    """A member's round.

    member        whose round it is
    role          that it plays; ranks are of one role
    frames        of its clock
    created_at    seconds since 1970
    did           `copied`: it took another one's weights and values, which may then have mutated;
                  `mutated`: some values changed; `kept`: it was among the top and kept everything;
                  `unchanged`: chance changed no value; `unranked`: it had too few games
    rank          among the members of its role, from 1 on; null for one that was not ranked
    ranked        how many were ranked; null for one that was not
    objective     the mean of what is ranked over its games; null for one that was not ranked
    on_common     its mean gap to the others over common opponents, null where all games count
    games         that counted, null where the verdict does not say
    reason        why it did or did not copy, in words
    lead          of the member that it copied or might have copied, null without one
    copied_from   the member that it copied, null without a copy
    donor_frames  the clock of that member when its weights were taken, null without a copy
    changes       the values that changed
    verdict       all reasons, in words
    """

    member: str
    role: str
    frames: int
    created_at: float
    did: Did
    rank: int | None
    ranked: int | None
    objective: float | None
    on_common: float | None
    games: int | None
    reason: str
    lead: LeadBody | None
    copied_from: str | None
    donor_frames: int | None
    changes: list[ValueChangeBody]
    verdict: str


class RoundCardBody(BaseModel):
    """The rounds of one number. Each member has its own, at about the same frames of its clock.

    round    the number
    counts   what was ranked: games won, margins or returns
    members  by role, of each the ranked by rank, then the others
    """

    round: int
    counts: ObjectiveKind
    members: list[MemberRoundBody]


@router.get("/{number}", operation_id="getRound", response_model=RoundCardBody, responses=KNOWN)
def round_card(
    here: Here,
    name: PopulationName,
    number: Annotated[int, Path(ge=1, lt=2**53, description="number of the rounds")],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """What the rounds of one number compared, copied and mutated, and why."""
    found = rounds_of_number(here.league, name, number)
    if not found:
        raise Problem("not-found", f"{name}: no member has had round {number}")
    rows = [member_round(one) for one in found]
    card = {"round": number, "counts": found[0].counts, "members": rows}
    return tagged_by_content(if_none_match, card)


def member_round(one: MemberRound) -> dict[str, Any]:
    """The values of a `MemberRoundBody`."""
    values = asdict(one)
    del values["counts"]
    return {**values, **values.pop("told")}
