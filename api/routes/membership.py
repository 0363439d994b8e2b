"""Members into and out of a population, also while it trains: an edit of its config, which its
trainer puts in force (`arena.training.live_edits`).
"""

import json
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from api.context import Context, Here, IfMatch, KeyHeader
from api.http.problems import Problem
from api.routes.bodies import NAME_PATTERN, Body
from api.routes.edits import Decided, edit_decided
from arena.league.answers import Answer
from arena.league.database import League
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_members
from arena.league.supervised import Supervised
from pbt.config.schema import RunConfig
from pbt.config.semantics import member_number

router = APIRouter(prefix="/v1/populations/{name}/members", tags=["members"])

Name = Annotated[str, Path(pattern=NAME_PATTERN)]
MemberPath = Annotated[str, Path(pattern=r"^m(0|[1-9][0-9]{0,3})$")]
SNAPSHOT = r"^(m(0|[1-9][0-9]{0,3})|[0-9a-f]{64})$"
MAX_NAMES = 10_000
"""A member's number has four digits at most (pbt.config.values.MemberName)."""


class NewMemberBody(Body):
    """role: may be left out where there is one.

    weights: a member's name (its learner as it stands when this is put in force, with its
    hyperparameters), the id of a snapshot of this population, or null: weights of its own
    """

    role: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    weights: Annotated[str, Field(pattern=SNAPSHOT)] | None = None


class MembershipBody(BaseModel):
    """A change that is wanted. It is in force when `pending_edits` of the population does not
    hold it any more.
    """

    population: str
    member: str
    role: str
    change: str
    revision: int
    pending_edits: list[str]


class Wanted(BaseModel):
    """One change, as edits of the config. anchor: a snapshot that must stay for it"""

    member: str
    role: str
    change: str
    words: list[str]
    anchor: str | None = None


@router.post("", operation_id="addMember", status_code=202, response_model=MembershipBody)
def add_member(
    request: Request,
    here: Here,
    name: Name,
    body: NewMemberBody,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """One that learns from now on, under the next name that nobody had. Its trainer saves and
    goes on with it within seconds, or starts with it.
    """

    def want(row: Supervised, config: RunConfig, roles: dict[str, str]) -> Wanted:
        number = 1 + max(map(member_number, roles))
        if number >= MAX_NAMES:
            raise Problem(
                "conflict",
                f"population {name!r} has given all its {MAX_NAMES} names; train a new one",
            )
        member = f"m{number}"
        role = chosen_role(body.role, list(dict.fromkeys(roles.values())))
        words = [f"population.joined.{member}.role={json.dumps(role)}"]
        if body.weights is not None:
            check_weights(
                here.league,
                row,
                body.weights,
                role,
                {each: roles[each] for each in playing(config, roles)},
            )
            words.append(f"population.joined.{member}.weights={json.dumps(body.weights)}")
        anchor = (
            body.weights if body.weights is not None and not body.weights.startswith("m") else None
        )
        return Wanted(member=member, role=role, change="join", words=words, anchor=anchor)

    return ask(request, here, name, want, [body.model_dump(mode="json"), if_match], key, if_match)


@router.delete(
    "/{member}", operation_id="removeMember", status_code=202, response_model=MembershipBody
)
def remove_member(
    request: Request,
    here: Here,
    name: Name,
    member: MemberPath,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """It learns no more. A last snapshot of it is kept; its games, snapshots and ratings stay.
    Each role keeps a member.
    """

    def want(row: Supervised, config: RunConfig, roles: dict[str, str]) -> Wanted:
        there = playing(config, roles)
        if member not in there:
            raise Problem(
                "not-found",
                f"no member {member!r} plays in population {name!r}; there are {', '.join(there)}",
            )
        if [roles[other] for other in there].count(roles[member]) == 1:
            raise Problem(
                "conflict",
                (
                    f"{member} is the only one that plays {roles[member]}; add another one "
                    "first, or stop the population"
                ),
            )
        left = json.dumps([*config.population.left, member])
        return Wanted(
            member=member, role=roles[member], change="leave", words=[f"population.left={left}"]
        )

    return ask(request, here, name, want, ["leave", if_match], key, if_match)


def ask(
    request: Request,
    here: Context,
    name: str,
    want: Callable[[Supervised, RunConfig, dict[str, str]], Wanted],
    said: object,
    key: str | None,
    if_match: str | None,
) -> Response:
    """Write down what is wanted: names and lists of members must not cross with those of other
    requests.
    """

    def decide(row: Supervised, config: RunConfig) -> Decided:
        wanted = want(row, config, everybody(here.league, name, config))
        return Decided(wanted.words, rendered(wanted), wanted.anchor)

    return here.change(
        request, key, said, lambda keyed: edit_decided(here, name, decide, keyed, if_match)
    )


def rendered(wanted: Wanted) -> Callable[[Supervised], Answer]:
    def render(row: Supervised) -> Answer:
        body = MembershipBody(
            population=row.name,
            member=wanted.member,
            role=wanted.role,
            change=wanted.change,
            revision=row.revision,
            pending_edits=list(row.overrides),
        )
        return Answer(202, f"/v1/populations/{row.name}/members", body.model_dump_json())

    return render


def everybody(league: League, name: str, config: RunConfig) -> dict[str, str]:
    """Member -> role of all that ever were, and those that are to join."""
    known = {row.name: row.role for row in list_members(league, name)}
    return known | {member: one.role for member, one in config.population.joined.items()}


def playing(config: RunConfig, roles: dict[str, str]) -> list[str]:
    return [member for member in roles if member not in config.population.left]


def chosen_role(asked: str | None, roles: Sequence[str]) -> str:
    """Raises: Problem naming the roles there are."""
    if asked is None and len(roles) == 1:
        return roles[0]
    if asked in roles:
        return str(asked)
    found = "which role is missing" if asked is None else f"{asked!r} is no role of this game"
    raise Problem("invalid", f"role: {found}; there are {', '.join(roles)}", [("/role", found)])


def check_weights(
    league: League, row: Supervised, weights: str, role: str, there: dict[str, str]
) -> None:
    """Raises: Problem unless it is a member that plays or a snapshot of this population, of this
    role.
    """
    if weights.startswith("m"):
        if there.get(weights) != role:
            others = ", ".join(member for member, plays in there.items() if plays == role)
            raise Problem(
                "invalid",
                f"weights: no member {weights} that plays {role}; there are {others}",
                [("/weights", "no such member")],
            )
        if any(word.startswith(f"population.joined.{weights}.") for word in row.overrides):
            raise Problem(
                "conflict",
                (
                    f"{weights} has no weights yet: it joins first; ask again when it is no more "
                    "among pending_edits"
                ),
            )
        return
    found = next(
        (
            stored
            for stored in list_snapshots(league, row.name)
            if stored.record.snapshot_id == weights
        ),
        None,
    )
    if found is None or found.record.role != role or found.weights_removed:
        said = (
            f"weights: no snapshot {weights[:12]} of {row.name!r} that plays {role} and has weights"
        )
        raise Problem("invalid", said, [("/weights", "no such snapshot")])
