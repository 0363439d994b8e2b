"""Configs of populations: beside another config, and for a new population."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import Response

from api.context import Changing, Context, Here
from api.http.json_response import written
from api.http.json_values import plain
from api.http.problems import EDITS, Problem
from api.open_values import AnyValue
from api.routes.bodies import NAME_PATTERN, Body, PopulationBody, PopulationName
from api.routes.creating import Checked, CheckOnly, Made, ValueDifferenceBody, created
from api.routes.edits import checked, edited, in_force, member_roles
from arena.league.summaries import list_populations
from arena.league.supervised import get_supervised
from pbt.config.clone import clone_table
from pbt.config.difference import defaults_of, differences, templates_of
from pbt.config.schema import RunConfig
from pbt.config.start_values import check_start_values
from pbt.config.stored import config_as_stored

router = APIRouter(prefix="/v1/populations/{name}", tags=["populations"])

Kind = Literal["template", "population", "defaults"]
Beside = Annotated[
    str | None,
    Query(
        pattern=r"^(defaults|template:[a-z0-9_]{1,64}|population:[a-z0-9_-]{1,64})$",
        description="`template:NAME`, `population:NAME` or `defaults`; without it the nearest "
        "template of its game, else the defaults",
    ),
]


class OtherConfig(BaseModel):
    """A config that another one is compared with.

    kind  "template", "population" or "defaults"
    name  of the template or the population; empty for the defaults
    """

    kind: Kind
    name: str


class ConfigDifferenceBody(BaseModel):
    """A config beside another one.

    population   whose config it is, with the edits that wait
    beside       the other config
    choices      what it can be compared with: templates of its game, the nearest one first, then
                 the defaults, then other populations of its game
    differences  what it has otherwise, in the order of the schema
    """

    population: str
    beside: OtherConfig
    choices: list[OtherConfig]
    differences: list[ValueDifferenceBody]


class CloneBody(Body):
    """A population to create as another one was.

    name   its name
    set    dotted key of the config -> new value, of any key
    start  start training at once
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN, description="letters, digits, '-' and '_'")]
    set: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,200}$")], AnyValue],
        Field(max_length=64),
        AfterValidator(plain),
    ] = {}
    start: bool = False


@router.get(
    "/config-difference", operation_id="getConfigDifference", response_model=ConfigDifferenceBody
)
def config_difference(here: Here, name: PopulationName, beside: Beside = None) -> Response:
    """What the config of a population has otherwise than another one."""
    config = in_force(here, name, get_supervised(here.league, name))
    templates = templates_of(config)
    choices = _choices(here, name, config, templates)
    kind, _, other = (beside or "").partition(":")
    chosen = next(
        (one for one in choices if beside is None or (one.kind, one.name) == (kind, other)), None
    )
    if chosen is None:
        detail = f"no {kind} {other!r} plays {config.env.name}, the game of {name!r}"
        raise Problem("not-found", detail)
    if chosen.kind == "population":
        compared = in_force(here, chosen.name, get_supervised(here.league, chosen.name))
    else:
        compared = templates.get(chosen.name, defaults_of(config))
    found = [ValueDifferenceBody(**asdict(one)) for one in differences(config, compared)]
    return written(
        ConfigDifferenceBody(population=name, beside=chosen, choices=choices, differences=found)
    )


def _choices(
    here: Context, name: str, config: RunConfig, templates: Iterable[str]
) -> list[OtherConfig]:
    """What a config can be compared with. templates: of its game, in order."""
    populations = [
        row.name
        for row in list_populations(here.league)
        if row.env_name == config.env.name and row.name != name
    ]
    return [
        *(OtherConfig(kind="template", name=one) for one in templates),
        OtherConfig(kind="defaults", name=""),
        *(OtherConfig(kind="population", name=one) for one in populations),
    ]


@router.post(
    "/clone",
    operation_id="clonePopulation",
    status_code=201,
    response_model=PopulationBody,
    responses={200: {"model": Checked}},
)
def clone_population(
    change: Changing, name: PopulationName, body: CloneBody, dry_run: CheckOnly = False
) -> Response:
    """Create a population with the config of another one, changed as `set` says.

    It has as many members, which begin with new weights. With `dry_run` it only answers the config
    and what that has otherwise than the original.
    """
    here = change.here

    def made() -> Made:
        original = in_force(here, name, get_supervised(here.league, name))
        table = clone_table(original, member_roles(here.league, name, original))
        began = config_as_stored(table, f"config of {name!r}")
        _, wanted = edited(began, body.set, new=True)
        config, roles = checked(
            here, wanted.model_dump(mode="json"), EDITS, new=True, sets_objective=True
        )
        check_start_values(config, EDITS)
        return Made(config, roles, differences(config, original))

    return created(change, body.name, body, made, start=body.start, dry_run=dry_run)
