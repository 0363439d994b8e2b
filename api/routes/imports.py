"""Imported snapshots: uploaded as weights and a card, listed and removed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from api.context import Change, Changing, Context, Here
from api.http.form import PartPlace, ReceivedPart, read_form
from api.http.media_types import FORM, UPLOAD_PATH, announced_bytes
from api.http.problems import Problem
from api.reconcile.asking import import_upload
from api.routes.bodies import Body
from api.routes.pages import Cursor, Limit, read_cursor, write_cursor
from arena.data.paths import IMPORTED
from arena.data.snapshot_cards import (
    MAX_CARD_BYTES,
    NAME,
    CardError,
    SnapshotCard,
    card_beside,
    existing_card,
    imported_names,
    read_card,
    remove_import,
    weights_folder,
)
from arena.league.chain_notes import note_import
from arena.league.idempotency import Answer, Keyed, answer_once
from pbt.errors import PlayerError

router = APIRouter(prefix=UPLOAD_PATH, tags=["league"])

LISTED = "imports"
NEW_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
"""Matches can name it; on the command line a name may also have dots."""
ImportName = Annotated[
    str, Path(pattern=f"^{NAME.pattern}$", description="name of the import, without `imported/`")
]


class NewImportBody(Body):
    """A snapshot to import, as a form of three parts.

    name     under which it is imported; it plays as `imported/NAME`
    card     what the weights are, as `GET /v1/snapshots/{id}/card` and `arena export` give it
    weights  the safetensors file, as `GET /v1/snapshots/{id}/weights` and `arena export` give it
    """

    name: Annotated[str, Field(pattern=NEW_NAME)]
    card: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    weights: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class ImportBody(BaseModel):
    """A snapshot from another league.

    name         under which it was imported
    player       its name in matches, `imported/NAME`
    card         what the weights are, null where the card is damaged
    has_weights  the file of the weights is there
    problem      what is wrong with the card, null where nothing is
    """

    name: str
    player: str
    card: SnapshotCard | None
    has_weights: bool
    problem: str | None


class ImportList(BaseModel):
    """A page of imported snapshots.

    items  by name
    next   the cursor of the next page, null on the last one
    """

    items: list[ImportBody]
    next: str | None


FORM_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {FORM: {"schema": {"x-model": NewImportBody.__name__}}},
    }
}
BUSY: dict[int | str, dict[str, Any]] = {429: {"description": "another one is being imported"}}


@router.post(
    "",
    operation_id="createImport",
    status_code=201,
    response_model=ImportBody,
    responses=BUSY,
    openapi_extra=FORM_BODY,
)
async def create_import(change: Changing, request: Request) -> Response:
    """Take in a snapshot from another league. It then plays as `imported/NAME`.

    Size, header, shapes, checksum and numbers are checked first, and nothing stays of a file that
    is refused. Games that are files are not run here. 409 where the name is another snapshot's; the
    same snapshot may come again.
    """
    change.here.refuse_when_full()
    uploads = change.here.uploads
    with uploads.folder(announced_bytes(request.headers)) as folder:
        weights = folder / "upload.safetensors"
        places = {
            "name": PartPlace(folder / "name", 1024, "a name"),
            "card": PartPlace(card_beside(weights), MAX_CARD_BYTES, "a snapshot's card"),
            "weights": PartPlace(weights, change.here.settings.max_import_bytes, "weights"),
        }
        parts = await read_form(request, places, uploads.refuse_without_room)
        name = _name(places["name"].path.read_bytes())
        return await run_sync(_import, change, name, weights, parts)


def _name(content: bytes) -> str:
    """Raises: Problem for a name that matches could not name."""
    text = content.decode("utf-8", errors="replace")
    if not _fits(text):
        problem = "expected 1 to 64 of a-z, 0-9, '-' and '_', the first a letter or digit"
        raise Problem("invalid", f"name: {problem}", [("/name", problem)])
    return text


def _fits(name: str) -> bool:
    return NAME.fullmatch(name) is not None and "." not in name


def _import(
    change: Change, name: str, weights: FilePath, parts: Mapping[str, ReceivedPart]
) -> Response:
    """The answer to an upload that has arrived whole."""
    here = change.here

    def act(keyed: Keyed | None) -> Answer:
        import_upload(here.settings, name, weights)
        answer = Answer(201, f"{UPLOAD_PATH}/{name}", import_body(here, name).model_dump_json())
        return answer if keyed is None else answer_once(here.league, keyed, lambda _: answer)

    return change.once([name, parts["card"].sha256, parts["weights"].sha256], act)


@router.get("", operation_id="listImports", response_model=ImportList)
def list_imports(here: Here, limit: Limit = 100, cursor: Cursor = None) -> ImportList:
    """By name. A damaged card is listed with its `problem`."""
    after = read_cursor(LISTED, cursor, str)
    names = [
        name for name in imported_names(here.settings.data) if after is None or name > after[0]
    ]
    more = [names[limit - 1]] if len(names) > limit else None
    return ImportList(items=list(_bodies(here, names[:limit])), next=write_cursor(LISTED, more))


@router.get("/{name}", operation_id="getImport", response_model=ImportBody)
def get_import(here: Here, name: ImportName) -> ImportBody:
    """One imported snapshot."""
    return import_body(here, name)


@router.delete("/{name}", operation_id="removeImport", status_code=204)
def remove(change: Changing, name: ImportName) -> Response:
    """Remove an imported snapshot, also one whose card is damaged. Its games stay."""
    data = change.here.settings.data

    def act(connection: Connection) -> Answer:
        remove_import(data, name)
        note_import(connection, name, None)
        return Answer(204, None, "")

    return change.once(
        "remove", lambda keyed: answer_once(change.here.league, keyed, act), makes_room=True
    )


def _bodies(here: Context, names: Sequence[str]) -> Iterator[ImportBody]:
    """Of those that have not been removed meanwhile."""
    for name in names:
        with suppress(PlayerError):
            yield import_body(here, name)


def import_body(here: Context, name: str) -> ImportBody:
    """The body of an import. Raises: PlayerError when no import has this name."""
    player, data = f"{IMPORTED}/{name}", here.settings.data
    path = existing_card(data, name)
    try:
        card = read_card(path)
    except CardError as error:
        problem = str(error).replace(str(path), player)
        return ImportBody(name=name, player=player, card=None, has_weights=False, problem=problem)
    weights = weights_folder(data) / f"{card.snapshot_id}.safetensors"
    return ImportBody(
        name=name, player=player, card=card, has_weights=here.holds(weights), problem=None
    )
