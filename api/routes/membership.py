"""Adding members to a population and taking them out, also while it trains.

Each is an edit of the config that its trainer puts in force (`arena.training.live_edits`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from api.context import made_from_request
from api.http.problems import Problem
from api.routes.bodies import Body
from api.routes.edits import ConfigEdit, Decided, EditingConfig, member_roles
from arena.league.database import League
from arena.league.idempotency import Answer
from arena.league.stored_snapshots import list_snapshots
from arena.league.supervised import Supervised
from pbt.config.schema import RunConfig
from pbt.config.semantics import member_number

router = APIRouter(prefix="/v1/populations/{name}/members", tags=["members"])

MemberPath = Annotated[
    str, Path(pattern=r"^m(0|[1-9][0-9]{0,3})$", description="name of the member")
]
SNAPSHOT = r"^(m(0|[1-9][0-9]{0,3})|[0-9a-f]{64})$"
MAX_NAMES = 10_000
"""A member's number has four digits at most (pbt.config.values.MemberName)."""


class NewMemberBody(Body):
    """A member to add.

    role     may be left out where the game has only one
    weights  a member's name (its weights and hyperparameters at the moment when the edit is put in
             force), the id of a snapshot of this population, or null for new weights
    """

    role: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    weights: Annotated[str, Field(pattern=SNAPSHOT)] | None = None


class MembershipBody(BaseModel):
    """A requested change. It is in force when `pending_edits` of the population holds it no more.

    population     which population it changes
    member         that joins or leaves
    role           that it plays
    change         "join" or "leave"
    revision       of the population, with this request
    pending_edits  edits that are not in force yet
    effects        what the change does, in words
    """

    population: str
    member: str
    role: str
    change: str
    revision: int
    pending_edits: list[str]
    effects: list[str] = []


@dataclass(kw_only=True)
class Removal(ConfigEdit):
    """A request that takes a member out."""

    member: MemberPath


DRY: dict[int | str, dict[str, Any]] = {200: {"model": MembershipBody}}


@router.post(
    "",
    operation_id="addMember",
    status_code=202,
    response_model=MembershipBody,
    responses=DRY,
)
def add_member(change: EditingConfig, body: NewMemberBody) -> Response:
    """Add a member that learns from now on. It gets the next name that no member ever had.

    Its trainer saves and goes on with it within seconds, or starts with it.
    """

    def decide(row: Supervised, config: RunConfig, roles: dict[str, str]) -> Decided:
        number = 1 + max(map(member_number, roles))
        if number >= MAX_NAMES:
            raise Problem(
                "conflict",
                f"population {row.name!r} has used all its {MAX_NAMES} names; train a new one",
            )
        member = f"m{number}"
        role = chosen_role(body.role, list(dict.fromkeys(roles.values())))
        words = [f"population.joined.{member}.role={json.dumps(role)}"]
        if body.weights is not None:
            check_weights(
                change.here.league,
                row,
                body.weights,
                role,
                {each: roles[each] for each in playing(config, roles)},
            )
            words.append(f"population.joined.{member}.weights={json.dumps(body.weights)}")
        anchor = (
            body.weights if body.weights is not None and not body.weights.startswith("m") else None
        )
        return Decided(words, rendered(member, role, "join"), anchor)

    return edit_members(change, body.model_dump(mode="json"), decide)


@router.delete(
    "/{member}",
    operation_id="removeMember",
    status_code=202,
    response_model=MembershipBody,
    responses=DRY,
)
def remove_member(change: Annotated[Removal, made_from_request(Removal)]) -> Response:
    """Take a member out: it learns no more. Each role must keep a member.

    A last snapshot of it is kept. Its games, snapshots and ratings stay.
    """
    member = change.member

    def decide(row: Supervised, config: RunConfig, roles: dict[str, str]) -> Decided:
        active = playing(config, roles)
        if member not in active:
            raise Problem(
                "not-found",
                f"no member {member!r} plays in population {row.name!r}; there are "
                f"{', '.join(active)}",
            )
        if [roles[other] for other in active].count(roles[member]) == 1:
            raise Problem(
                "conflict",
                (
                    f"{member} is the only one that plays {roles[member]}; add another one "
                    "first, or stop the population"
                ),
            )
        left = json.dumps([*config.population.left, member])
        return Decided([f"population.left={left}"], rendered(member, roles[member], "leave"))

    return edit_members(change, "leave", decide)


def edit_members(
    change: ConfigEdit,
    content: object,
    decide: Callable[[Supervised, RunConfig, dict[str, str]], Decided],
) -> Response:
    """Store an edit that is decided on the newest row and the roles of all members.

    Else two requests at the same time could use one name, or lists that contradict each other.
    """
    return change.edit_decided(
        content,
        lambda row, config: decide(row, config, member_roles(change.here.league, row.name, config)),
    )


def rendered(member: str, role: str, change: str) -> Callable[[Sequence[str], Supervised], Answer]:
    """What makes the answer from the effects and the edited row. change: "join" or "leave"."""

    def render(effects: Sequence[str], row: Supervised) -> Answer:
        body = MembershipBody(
            population=row.name,
            member=member,
            role=role,
            change=change,
            revision=row.revision,
            pending_edits=list(row.overrides),
            effects=list(effects),
        )
        return Answer(202, f"/v1/populations/{row.name}/members", body.model_dump_json())

    return render


def playing(config: RunConfig, roles: dict[str, str]) -> list[str]:
    """The members that have not left."""
    return [member for member in roles if member not in config.population.left]


def chosen_role(requested: str | None, roles: Sequence[str]) -> str:
    """The requested role, or the only one. Raises: Problem that names the roles."""
    if requested is None and len(roles) == 1:
        return roles[0]
    if requested in roles:
        return str(requested)
    problem = "it is missing" if requested is None else f"{requested!r} is no role of this game"
    raise Problem("invalid", f"role: {problem}; there are {', '.join(roles)}", [("/role", problem)])


def check_weights(
    league: League, row: Supervised, weights: str, role: str, there: dict[str, str]
) -> None:
    """Raises: Problem unless the weights fit the role.

    weights  must be a member that plays, or a snapshot of this population that has its weights
    there    member -> role of the members that play
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
                    f"{weights} has no weights yet, because it has not joined yet; ask again when "
                    "it is no more among pending_edits"
                ),
            )
        return
    snapshot = next(
        (
            stored
            for stored in list_snapshots(league, row.name)
            if stored.record.snapshot_id == weights
        ),
        None,
    )
    if snapshot is None or snapshot.record.role != role or snapshot.weights_removed:
        detail = (
            f"weights: no snapshot {weights[:12]} of {row.name!r} that plays {role} and has weights"
        )
        raise Problem("invalid", detail, [("/weights", "no such snapshot")])
