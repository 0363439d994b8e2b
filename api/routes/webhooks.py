"""The webhook of a population: set, shown and removed. The notifier sends it."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from api.context import Context, Here
from api.http.json_response import written
from api.http.problems import Problem
from api.notify.addresses import MOST_LETTERS, TargetError, refuse_host, target_of
from api.notify.outbox import WebhookView, troubles
from api.notify.stored import EVENTS, EventName, Notice, WebhookSettings
from api.routes.bodies import Body, PopulationName
from api.routes.edits import ChangingPopulation
from arena.league.idempotency import Answer, Keyed, answer_once
from arena.league.supervised import ConflictError, find_supervised
from pbt.errors import PbtError

router = APIRouter(prefix="/v1/populations/{name}/webhook", tags=["webhooks"])


def _printable(secret: str) -> str:
    if not secret.isprintable():
        raise ValueError("expected printable letters")
    return secret


class NewWebhookBody(Body):
    """A webhook to set.

    url     where notices are posted to; its host must be one that the service's settings allow
    events  what is told
    secret  signs each notice, in the header X-Arena-Signature; null for no signature
    """

    url: Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
    events: Annotated[list[EventName], Field(min_length=1, max_length=len(EVENTS))] = list(EVENTS)
    secret: (
        Annotated[str, Field(min_length=8, max_length=200), AfterValidator(_printable)] | None
    ) = None


class NoticeBody(BaseModel):
    """A notice, and how its sending stands.

    id        the same for all attempts, as in the notice itself
    event     what happened
    time      when, in seconds since 1970
    details   more about it
    tries     attempts so far
    problem   why the last attempt failed, null where none did
    next_at   when the next attempt is due, null where none follows; seconds since 1970
    ended_at  when it was taken or given up, null while it waits; seconds since 1970
    """

    id: str
    event: EventName
    time: float
    details: dict[str, Any]
    tries: int
    problem: str | None
    next_at: float | None
    ended_at: float | None


class WebhookBody(BaseModel):
    """A webhook. Its path and its secret are never shown.

    target   where it goes, without the path
    events   what it tells
    signed   whether notices are signed
    waiting  notices that were not taken yet, oldest first
    ended    the newest notices that were taken or given up, oldest first
    """

    target: str
    events: list[EventName]
    signed: bool
    waiting: list[NoticeBody]
    ended: list[NoticeBody]


@router.get("", operation_id="getWebhook", response_model=WebhookBody)
def get_webhook(here: Here, name: PopulationName) -> Response:
    """The webhook of a population, and what became of its newest notices."""
    with here.league.read() as connection:
        find_supervised(connection, name)
    try:
        view = here.notifier.view(name)
    except PbtError as error:
        raise Problem("conflict", str(error)) from error
    if view is None:
        raise Problem("not-found", f"population {name!r} has no webhook")
    return written(webhook_body(name, view))


@router.put("", operation_id="setWebhook", response_model=WebhookBody)
def set_webhook(change: ChangingPopulation, body: NewWebhookBody) -> Response:
    """Set the webhook, or another one in its place. What happened before is not told."""
    here, name = change.here, change.name
    hook = WebhookSettings(
        body.url, tuple(one for one in EVENTS if one in body.events), body.secret
    )
    try:
        refuse_host(target_of(body.url), here.settings.webhook_hosts)
    except TargetError as error:
        raise Problem("invalid", f"url: {error}", [("/url", str(error))]) from error

    def act(connection: Connection) -> Answer:
        if find_supervised(connection, name).desired == "deleted":
            raise ConflictError(f"population {name!r} is being deleted")
        shown = webhook_body(name, here.notifier.put(name, hook))
        return Answer(200, None, shown.model_dump_json())

    return _once(change, body.model_dump(mode="json"), act)


@router.delete("", operation_id="removeWebhook", status_code=204)
def remove_webhook(change: ChangingPopulation) -> Response:
    """Remove the webhook. What waits is not sent any more."""
    here, name = change.here, change.name

    def act(connection: Connection) -> Answer:
        find_supervised(connection, name)
        if not here.notifier.remove(name):
            raise Problem("not-found", f"population {name!r} has no webhook")
        return Answer(204, None, "")

    return _once(change, None, act)


def _once(change: ChangingPopulation, content: object, act: Any) -> Response:
    def answered(keyed: Keyed | None) -> Answer:
        return answer_once(change.here.league, keyed, act)

    return change.once(content, answered)


def webhook_troubles(here: Context, name: str) -> list[str]:
    """What is wrong with the webhook of a population, one sentence each."""
    try:
        view = here.notifier.view(name)
    except PbtError as error:
        return [str(error)]
    return [] if view is None else troubles(view)


def webhook_body(name: str, view: WebhookView) -> WebhookBody:
    return WebhookBody(
        target=view.target,
        events=list(view.events),
        signed=view.signed,
        waiting=[_notice_body(name, one) for one in view.waiting],
        ended=[_notice_body(name, one) for one in view.ended],
    )


def _notice_body(name: str, notice: Notice) -> NoticeBody:
    return NoticeBody(
        id=notice.id_of(name),
        event=notice.event,
        time=notice.time,
        details=dict(notice.details),
        tries=notice.tries,
        problem=notice.problem or None,
        next_at=None if notice.ended_at is not None else notice.next_at,
        ended_at=notice.ended_at,
    )
