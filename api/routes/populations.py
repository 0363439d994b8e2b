"""Populations: made, looked at, started, stopped, edited, deleted."""

import base64
import json
import subprocess
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from api.context import Context, Here, IfMatch, KeyHeader, revision_of
from api.http.problems import EDITS, Problem
from api.http.written import written
from api.reconcile.process import LOG_NAME, tail
from api.routes.bodies import (
    NAME_PATTERN,
    NewPopulationBody,
    OperationBody,
    PatchBody,
    PopulationBody,
    State,
    operation_body,
    population_body,
)
from api.routes.edits import Decided, config_table, edit_decided, effects, status_of
from arena.data.logs import newest_records
from arena.host import versions
from arena.league.answers import Answer, Keyed
from arena.league.operations import Kind, Operation, ask
from arena.league.population_requests import NewPopulation, create_supervised
from arena.league.supervised import Supervised, get_supervised, list_supervised
from pbt.config.load import config_from_table
from pbt.config.resume import changes, diff_shapes, is_live
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError

router = APIRouter(prefix="/v1/populations", tags=["populations"])

Name = Annotated[str, Path(pattern=NAME_PATTERN)]
LAST_LOG_LINES = 20
CHECK_TIMEOUT_S = 60.0
SHAPING = "learning.shaping."


class PopulationList(BaseModel):
    """next: the cursor of the next page, None on the last one."""

    items: list[PopulationBody]
    next: str | None


class Checked(BaseModel):
    """What a dry run found: the config with all its values."""

    id: str
    config: dict[str, Any]


class LogLines(BaseModel):
    """lines: of its output;  records: what it noted, as `populations/NAME/logs/train-*.jsonl`
    have it: timestamp, level, logger, event and more
    """

    lines: list[str]
    records: list[dict[str, Any]]


@router.get("", operation_id="listPopulations", response_model=PopulationList)
def list_populations(
    here: Here,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Oldest first."""
    after = decode_cursor(cursor)
    rows = [row for row in list_supervised(here.league) if state in (None, row.state)]
    rows = [row for row in rows if after is None or [row.created_at, row.name] > after]
    page = sorted(rows, key=lambda row: (row.created_at, row.name))[:limit]
    more = (
        encode_cursor([page[-1].created_at, page[-1].name])
        if len(rows) > len(page) and page
        else None
    )
    return written(PopulationList(items=[brief(here, row) for row in page], next=more))


@router.post(
    "",
    operation_id="createPopulation",
    status_code=201,
    response_model=PopulationBody,
    responses={200: {"model": Checked}},
)
def create_population(
    request: Request,
    here: Here,
    body: NewPopulationBody,
    key: KeyHeader = None,
    dry_run: Annotated[bool, Query(description="check everything, keep nothing")] = False,
) -> Response:
    """Checked whole, also against its game, before anything is kept."""

    def new() -> NewPopulation:
        config, roles = checked(here, body.config)
        return NewPopulation(
            body.name, config.env.name, config.model_dump(mode="json"), versions(), roles
        )

    def render(row: Supervised, config: Mapping[str, Any]) -> Answer:
        shown = population_body(row, None, config=dict(config))
        return Answer(201, f"/v1/populations/{body.name}", shown.model_dump_json())

    def act(keyed: Keyed | None) -> Answer:
        made = new()
        if here.paths(body.name).root.exists() and all(
            row.name != body.name for row in list_supervised(here.league)
        ):
            raise Problem(
                "conflict",
                (
                    f"the files of a population {body.name!r} are there already; `arena delete "
                    f"{body.name}`, or another name"
                ),
            )
        return create_supervised(
            here.league, made, keyed, lambda row: render(row, made.config), start=body.start
        )

    if dry_run:
        return JSONResponse({"id": body.name, "config": new().config})
    return here.change(request, key, body.model_dump(mode="json"), act)


@router.get("/{name}", operation_id="getPopulation", response_model=PopulationBody)
def get_population(here: Here, name: Name) -> Response:
    """With its config, newest checkpoint and the end of its log. ETag: its revision, for
    If-Match.
    """
    row = get_supervised(here.league, name)
    return written(full(here, row), {"etag": f'"{row.revision}"'})


@router.patch("/{name}", operation_id="editPopulation", response_model=PopulationBody)
def edit_population(
    request: Request,
    here: Here,
    name: Name,
    body: PatchBody,
    key: KeyHeader = None,
    if_match: IfMatch = None,
) -> Response:
    """Values that a started population can take. One that runs goes on with them, where they
    need it after a new start of its processes.
    """
    if members := [key for key in body.set if key.partition(".")[0] == "population"]:
        problems = [
            (
                f"/set/{key}",
                "members come and go by POST and DELETE of /v1/populations/{name}/members",
            )
            for key in members
        ]
        raise Problem("invalid", "who plays is no value to set", problems)

    def decide(row: Supervised, before: RunConfig) -> Decided:
        words, after = edited(before, body.set)
        if refused := diff_shapes(before, after):
            raise ConfigError(EDITS, refused)
        # What is taken while it trains is nothing that a game knows of.
        if not all(map(is_live, body.set)):
            checked(here, after.model_dump(mode="json"), EDITS)
        told = effects(row.state, before, after, status_of(here, name))

        def render(changed: Supervised) -> Answer:
            shown = population_body(changed, None, config=after.model_dump(mode="json"))
            return Answer(200, None, shown.model_copy(update={"effects": told}).model_dump_json())

        return Decided(words, render)

    said = [body.model_dump(mode="json"), if_match]
    return here.change(
        request, key, said, lambda keyed: edit_decided(here, name, decide, keyed, if_match)
    )


@router.delete(
    "/{name}", operation_id="deletePopulation", status_code=202, response_model=OperationBody
)
def delete_population(
    request: Request, here: Here, name: Name, key: KeyHeader = None, if_match: IfMatch = None
) -> Response:
    """Its trainer stops, then its rows and files go; games of matches stay."""
    return ask_for(request, here, name, "delete", key, if_match)


@router.get("/{name}/logs", operation_id="getPopulationLogs", response_model=LogLines)
def get_logs(here: Here, name: Name, lines: Annotated[int, Query(ge=1, le=2000)] = 100) -> LogLines:
    """The newest of what its trainers wrote while they were this service's, and of what they
    noted, one record each, whoever started them.
    """
    get_supervised(here.league, name)
    folder = here.paths(name).logs
    return LogLines(lines=tail(folder / LOG_NAME, lines), records=newest_records(folder, lines))


Grace = Annotated[
    float | None,
    Query(gt=0, le=3600, description="seconds until a trainer that has not saved is killed"),
]


@router.post(
    "/{name}/start", operation_id="startPopulation", status_code=202, response_model=OperationBody
)
def start(
    request: Request, here: Here, name: Name, key: KeyHeader = None, if_match: IfMatch = None
) -> Response:
    """From its newest checkpoint, or the first frame."""
    return ask_for(request, here, name, "start", key, if_match)


@router.post(
    "/{name}/stop", operation_id="stopPopulation", status_code=202, response_model=OperationBody
)
def stop(
    request: Request,
    here: Here,
    name: Name,
    key: KeyHeader = None,
    if_match: IfMatch = None,
    grace_s: Grace = None,
) -> Response:
    """Save, then end its processes."""
    return ask_for(request, here, name, "stop", key, if_match, grace_s)


@router.post(
    "/{name}/pause", operation_id="pausePopulation", status_code=202, response_model=OperationBody
)
def pause(
    request: Request, here: Here, name: Name, key: KeyHeader = None, if_match: IfMatch = None
) -> Response:
    """Save, and give the machine back until it is resumed."""
    return ask_for(request, here, name, "pause", key, if_match)


@router.post(
    "/{name}/resume", operation_id="resumePopulation", status_code=202, response_model=OperationBody
)
def resume(
    request: Request, here: Here, name: Name, key: KeyHeader = None, if_match: IfMatch = None
) -> Response:
    """Go on after a pause."""
    return ask_for(request, here, name, "resume", key, if_match)


def ask_for(
    request: Request,
    here: Context,
    name: str,
    kind: Kind,
    key: str | None,
    if_match: str | None,
    grace_s: float | None = None,
) -> Response:
    def render(operation: Operation) -> Answer:
        return Answer(
            202, f"/v1/operations/{operation.id}", operation_body(operation).model_dump_json()
        )

    def act(keyed: Keyed | None) -> Answer:
        return ask(
            here.league,
            name,
            kind,
            render,
            grace_s=grace_s,
            keyed=keyed,
            if_revision=revision_of(if_match),
        )

    return here.change(
        request, key, [kind, grace_s, if_match], act, makes_room=kind in ("stop", "pause", "delete")
    )


# --- shown ----------------------------------------------------------------------------------------


def brief(here: Context, row: Supervised) -> PopulationBody:
    return population_body(row, status_of(here, row.name))


def full(here: Context, row: Supervised) -> PopulationBody:
    paths = here.paths(row.name)
    folders = (
        sorted(path.name for path in paths.checkpoints.iterdir() if path.name.isdigit())
        if paths.checkpoints.is_dir()
        else []
    )
    shown = brief(here, row)
    spec = shown.spec.model_copy(update={"config": config_table(here, row.name)})
    more = {
        "last_checkpoint": folders[-1] if folders else None,
        "last_log_lines": tail(paths.logs / LOG_NAME, LAST_LOG_LINES),
    }
    return shown.model_copy(update={"spec": spec, "status": shown.status.model_copy(update=more)})


# --- checked --------------------------------------------------------------------------------------


def checked(
    here: Context, table: Mapping[str, Any], source: str = "config"
) -> tuple[RunConfig, list[tuple[str, str]]]:
    """The config and its (member, role) pairs. Games only by registered name; a game's own code
    runs in another process.

    Raises: ConfigError with every problem.
    """
    config = config_from_table(table, source)
    try:
        done = subprocess.run(
            list(here.settings.checker),
            input=config.model_dump_json(),
            capture_output=True,
            text=True,
            timeout=CHECK_TIMEOUT_S,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        raise ConfigError(
            source,
            [
                (
                    f"env.name = {config.env.name}: the game could not be made ({error}); try "
                    "`arena env check`"
                )
            ],
        ) from error
    if found["problems"]:
        raise ConfigError(source, found["problems"])
    return config, [(member, role) for member, role in found["roles"]]


def edited(before: RunConfig, values: Mapping[str, Any]) -> tuple[tuple[str, ...], RunConfig]:
    """The edits that change something as words, and the config with them. None takes a shaping term
    out: its weight goes back to the game's own.

    Raises: ConfigError, Problem.
    """
    removed = [key for key, value in values.items() if value is None and key.startswith(SHAPING)]
    words = [
        f"{key}={toml_value(value)}" for key, value in sorted(values.items()) if key not in removed
    ]
    after = config_from_table(before.model_dump(mode="json"), EDITS, words)
    if removed:
        terms = dict(after.learning.shaping)
        if missing := [
            (f"/set/{key}", "no such term")
            for key in removed
            if terms.pop(key.removeprefix(SHAPING), None) is None
        ]:
            raise Problem(
                "invalid",
                (
                    "what is not there cannot be removed; there are "
                    f"{', '.join(after.learning.shaping) or 'none'}"
                ),
                missing,
            )
        kept = ", ".join(
            f"{json.dumps(term)} = {json.dumps(weight)}" for term, weight in terms.items()
        )
        words.append(f"{SHAPING.rstrip('.')}={{{kept}}}")
        after = config_from_table(before.model_dump(mode="json"), EDITS, words)
    # A word that changes nothing would start the trainer again for nothing.
    differ = changes(before, after).keys()
    return tuple(
        word
        for word in words
        if any(f"{key}.".startswith(f"{word.partition('=')[0]}.") for key in differ)
    ), after


def toml_value(value: Any) -> str:
    """As `--set` reads it. JSON's numbers, texts, booleans and lists are TOML's, too; null and
    tables are not.
    """
    if value is None or isinstance(value, Mapping):
        raise Problem(
            "invalid",
            "a value to set is a number, a text, a boolean or a list",
            [("/set", f"{json.dumps(value)} is none of these")],
        )
    return json.dumps(value)


def encode_cursor(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> list[Any] | None:
    """Raises: Problem for one that this service did not make."""
    if cursor is None:
        return None
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        place = None
    if not isinstance(place, list) or [type(part) for part in place] != [float, str]:
        raise Problem(
            "invalid",
            "cursor: not one of this service's; leave it out to begin anew",
            [("cursor", "unknown")],
        )
    return place
