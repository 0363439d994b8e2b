"""Populations: created, listed, shown, edited, and the logs of their trainers."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from api.context import Changing, Context, Here
from api.http.json_body import ExactRoute
from api.http.json_response import written
from api.http.problems import EDITS, Problem
from api.reconcile.trainer_process import LOG_NAME, tail
from api.reconcile.trainings import checkpoint_folders, newest_status
from api.routes.assessment_bodies import (
    ListedPopulation,
    PopulationSummaryBody,
    summary_body,
    unmade_summary,
)
from api.routes.bodies import (
    NewPopulationBody,
    PatchBody,
    PopulationBody,
    PopulationName,
    State,
    population_body,
)
from api.routes.creating import Checked, CheckOnly, Made, created
from api.routes.edits import (
    Decided,
    EditingConfig,
    checked,
    config_table,
    edited,
)
from api.routes.pages import Cursor, Limit, Since, Until, read_cursor, write_cursor
from api.routes.webhooks import webhook_troubles
from arena.data.logs import newest_records
from arena.league.idempotency import Answer
from arena.league.supervised import Supervised, get_supervised, list_supervised
from pbt.config.resume import OBJECTIVE, diff_shapes, hyperparameter_keys, is_live
from pbt.config.schema import RunConfig
from pbt.config.start_values import check_start_values
from pbt.config.stored import config_as_stored
from pbt.errors import ConfigError, PlayerError

router = APIRouter(prefix="/v1/populations", tags=["populations"], route_class=ExactRoute)

LAST_LOG_LINES = 20
LIST_PATIENCE_S = 0.3
"""A list spends this time on fits of ratings, and at least one fit."""

Sort = Literal["created", "-created", "name", "-name"]
KINDS: Mapping[str, tuple[type, ...]] = {"created": (float, str), "name": (str,)}
"""Name of an order -> the types of a place in it."""
NamePart = Annotated[
    str | None,
    Query(pattern=r"^[a-z0-9_-]{1,64}$", description="only those with this text in their names"),
]
Lines = Annotated[int, Query(ge=1, le=2000, description="at most this many of each")]


class PopulationList(BaseModel):
    """A page of populations.

    items  in the order that was asked for
    next   the cursor of the next page, null on the last one
    """

    items: list[ListedPopulation]
    next: str | None


class LogRecord(BaseModel):
    """A line of `populations/NAME/logs/train-*.jsonl`. Further fields may follow.

    timestamp   in UTC, as ISO 8601
    level       "info", "warning" or "error"
    logger      the part of the program that wrote it
    population  whose trainer wrote it
    event       what happened, in words
    kind        of event of the training, such as "copy" or "checkpoint"
    member      that it concerns
    frames      of the member's clock
    exception   the traceback of an error
    """

    model_config = ConfigDict(extra="allow")

    timestamp: str
    level: str
    logger: str
    population: str
    event: str
    kind: str | None = None
    member: str | None = None
    frames: int | None = None
    exception: str | None = None


class LogLines(BaseModel):
    """The log of a population.

    lines    output of its trainers
    records  what they noted
    """

    lines: list[str]
    records: list[LogRecord]


@router.get("", operation_id="listPopulations", response_model=PopulationList)
def list_populations(
    here: Here,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    name: NamePart = None,
    since: Since = None,
    until: Until = None,
    sort: Annotated[Sort, Query(description="`created`: oldest first")] = "created",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Populations of this league, with what each does."""
    of, by = f"populations {sort}", sort.removeprefix("-")
    rows = [
        row
        for row in list_supervised(here.league)
        if state in (None, row.state)
        and (name is None or name in row.name)
        and (since is None or row.created_at >= since)
        and (until is None or row.created_at < until)
    ]

    def place(row: Supervised) -> list[Any]:
        return [row.name] if by == "name" else [row.created_at, row.name]

    down = sort.startswith("-")
    after = read_cursor(of, cursor, *KINDS[by])
    if after is not None:
        rows = [row for row in rows if (place(row) < after if down else place(row) > after)]
    page = sorted(rows, key=place, reverse=down)[:limit]
    more = place(page[-1]) if len(rows) > len(page) else None
    return written(PopulationList(items=listed(here, page), next=write_cursor(of, more)))


@router.post(
    "",
    operation_id="createPopulation",
    status_code=201,
    response_model=PopulationBody,
    responses={200: {"model": Checked}},
)
def create_population(
    change: Changing,
    body: NewPopulationBody,
    dry_run: CheckOnly = False,
) -> Response:
    """Create a population. Its config is checked first, also against its game."""

    def made() -> Made:
        config, roles = checked(change.here, body.config, new=True, sets_objective=True)
        check_start_values(config, "config")
        return Made(config, roles)

    return created(change, body.name, body, made, start=body.start, dry_run=dry_run)


@router.get("/{name}", operation_id="getPopulation", response_model=PopulationBody)
def get_population(here: Here, name: PopulationName) -> Response:
    """One population with its config, newest checkpoint and the end of its log.

    ETag: its revision, for If-Match.
    """
    row = get_supervised(here.league, name)
    return written(full(here, row), {"etag": f'"{row.revision}"'})


def _refuse_members(body: PatchBody) -> None:
    """Raises: Problem for an edit of the members, which have routes of their own."""
    if members := [key for key in body.set if key.partition(".")[0] == "population"]:
        hint = "add and remove members by POST and DELETE of /v1/populations/{name}/members"
        problems = [(f"/set/{key}", hint) for key in members]
        raise Problem("invalid", "the members are not changed by an edit", problems)


@router.patch("/{name}", operation_id="editPopulation", response_model=PopulationBody)
def edit_population(change: EditingConfig, body: PatchBody) -> Response:
    """Set values that a started population can take.

    A running training goes on with them; for some of them its processes start again. `effects` of
    the answer tells what the edit does, and with `dry_run` what it would do.
    """
    _refuse_members(body)

    def decide(row: Supervised, before: RunConfig) -> Decided:
        words, after = edited(before, body.set)
        if refused := diff_shapes(before, after):
            raise ConfigError(EDITS, refused)
        # Values that a running training can take do not concern the game.
        if not all(map(is_live, body.set)):
            checked(
                change.here,
                after.model_dump(mode="json"),
                EDITS,
                sets_objective=OBJECTIVE in body.set,
            )

        def render(effects: Sequence[str], changed: Supervised) -> Answer:
            shown = full(change.here, changed, effects)
            return Answer(200, None, shown.model_dump_json())

        return Decided(words, render)

    return change.edit_decided(body.model_dump(mode="json"), decide)


@router.get("/{name}/logs", operation_id="getPopulationLogs", response_model=LogLines)
def get_logs(here: Here, name: PopulationName, lines: Lines = 100) -> Response:
    """The newest output and the newest records of its trainers.

    Output is kept only of trainers that this service started, records of all of them.
    """
    get_supervised(here.league, name)
    folder = here.paths(name).logs
    shown = tail(folder / LOG_NAME, lines)
    return written({"lines": shown, "records": newest_records(folder, lines)})


# --- shown ----------------------------------------------------------------------------------------


def listed(here: Context, rows: Sequence[Supervised]) -> list[ListedPopulation]:
    """The populations of a page.

    Ratings that no request asked for before are fitted as long as LIST_PATIENCE_S lasts; the others
    come with a later request.
    """
    began = time.monotonic()
    items = []
    for row in rows:
        body = population_body(row, newest_status(here.paths(row.name)))
        summary = unmade_summary(body)
        if time.monotonic() - began < LIST_PATIENCE_S or here.assessor.known(row.name):
            with suppress(PlayerError):  # it was removed meanwhile
                summary = summary_body(here.assessor.assess(row.name, row))
        items.append(ListedPopulation(**dict(body), summary=PopulationSummaryBody(**summary)))
    return items


def full(here: Context, row: Supervised, effects: Sequence[str] = ()) -> PopulationBody:
    """The body of one population that is shown alone. effects: of the edit that it answers."""
    paths = here.paths(row.name)
    folders = checkpoint_folders(paths.checkpoints)
    config, keys, damage = None, list[str](), []
    try:
        config = config_table(here, row.name)
        keys = hyperparameter_keys(config_as_stored(config, f"stored config of {row.name!r}"))
    except Problem as problem:
        damage = [problem.detail]
    except ConfigError as error:
        damage = [str(error)]
    body = population_body(
        row,
        newest_status(paths),
        config=config,
        hyperparameters=keys,
        last_checkpoint=folders[-1].name if folders else None,
        last_log_lines=tail(paths.logs / LOG_NAME, LAST_LOG_LINES),
    )
    body.status.warnings += damage + webhook_troubles(here, row.name)
    body.effects = list(effects)
    return body
