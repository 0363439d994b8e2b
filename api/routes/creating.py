"""What every request that makes a population does once its config is there."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from api.context import Change
from api.http.problems import Problem
from api.open_values import ConfigTable
from api.routes.bodies import Body, population_body
from arena.data.adopted_weights import adopt_weights
from arena.data.paths import PopulationPaths
from arena.league.idempotency import Answer, Keyed
from arena.league.population_requests import create_supervised
from arena.league.populations import NewPopulation
from arena.league.supervised import Supervised, list_supervised
from arena.machine import versions
from pbt.config.difference import ValueDifference
from pbt.config.resume import hyperparameter_keys
from pbt.config.schema import RunConfig
from pbt.errors import SnapshotError

CheckOnly = Annotated[bool, Query(description="check everything, but create nothing")]


class ValueDifferenceBody(BaseModel):
    """A value that one config has otherwise than another.

    key      dotted
    value    as TOML writes it; "-" where there is none
    other    the value of the other config
    decided  the other config leaves the value open, and it was decided when the population was made
             or first started
    """

    key: str
    value: str
    other: str
    decided: bool


class Checked(BaseModel):
    """The result of a dry run.

    id           the population's name
    config       the config with all its values
    differences  of a clone: what it has otherwise than its original
    """

    id: str
    config: ConfigTable
    differences: list[ValueDifferenceBody] = []


@dataclass(frozen=True)
class Made:
    """A config that was checked against its game.

    roles        (member, role) of its members
    differences  of a clone: what it has otherwise than its original
    """

    config: RunConfig
    roles: list[tuple[str, str]]
    differences: Sequence[ValueDifference] = ()


def created(
    change: Change, name: str, body: Body, made: Callable[[], Made], *, start: bool, dry_run: bool
) -> Response:
    """Create a population, or answer what a dry run found.

    made: checks the config; it raises an error for one that is refused.
    """
    here = change.here

    def render(row: Supervised, config: RunConfig) -> Answer:
        table, keys = config.model_dump(mode="json"), hyperparameter_keys(config)
        shown = population_body(row, None, table, keys)
        return Answer(201, f"/v1/populations/{name}", shown.model_dump_json())

    def act(keyed: Keyed | None) -> Answer:
        found = made()
        if here.paths(name).root.exists() and all(
            row.name != name for row in list_supervised(here.league)
        ):
            raise Problem(
                "conflict",
                (
                    f"files of a population {name!r} exist already; remove them with `arena "
                    f"delete {name}`, or choose another name"
                ),
            )
        table = found.config.model_dump(mode="json")
        new = NewPopulation(name, found.config.env.name, table, versions(), found.roles)
        answer = create_supervised(
            here.league, new, keyed, lambda row: render(row, found.config), start=start
        )
        _adopt(here.paths(name), found.config)
        return answer

    if dry_run:
        found = made()
        config = found.config.model_dump(mode="json")
        differences = [asdict(one) for one in found.differences]
        return JSONResponse({"id": name, "config": config, "differences": differences})
    return change.once(body.model_dump(mode="json"), act)


def _adopt(paths: PopulationPaths, config: RunConfig) -> None:
    """Copy the weights that members begin with: the population that they are from may be deleted
    before the first start. Where that fails, the trainer tries again, and says what is wrong.
    """
    with suppress(SnapshotError):
        adopt_weights(paths, [one.weights for one in config.population.began.values()])
