"""Stored answers of the service, which make repeated requests idempotent.

A request that is sent again with the same key gets the same answer, and its effect happens once.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from arena.league.database import League
from arena.league.rows import from_row
from arena.league.schema import answers
from pbt.errors import PbtError

KEPT_S = 24 * 3600.0


class ReusedKeyError(PbtError):
    """An Idempotency-Key came with another request before."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    status    HTTP status
    location  value of the Location header, None without one
    body      JSON text
    """

    status: int
    location: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request that may be repeated.

    key      the caller's Idempotency-Key, with the route
    request  all that decides the request's effect
    """

    key: str
    request: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.request).hexdigest()


def answer_once(league: League, keyed: Keyed | None, act: Callable[[Connection], Answer]) -> Answer:
    """The answer of `act`, or the stored answer to the same key, in which case `act` is not called.

    keyed: None calls `act` always. Raises: ReusedKeyError when the key came with another request
    before, and what `act` raises.
    """
    now = time.time()
    with league.write() as connection:
        if (stored := _stored(connection, keyed, now)) is not None:
            return stored
        answer = act(connection)
        if keyed is not None:
            values = {
                "request_sha256": keyed.sha256,
                "status": answer.status,
                "location": answer.location,
                "body": answer.body,
                "created_at": now,
            }
            added = insert(answers).values(key=keyed.key, **values)
            connection.execute(added.on_conflict_do_update(index_elements=["key"], set_=values))
            connection.execute(delete(answers).where(answers.c.created_at <= now - KEPT_S))
        return answer


def stored_answer(league: League, keyed: Keyed | None) -> Answer | None:
    """The stored answer to this key, None where there is none or no key.

    Raises: ReusedKeyError when the key came with another request before.
    """
    with league.read() as connection:
        return _stored(connection, keyed, time.time())


def _stored(connection: Connection, keyed: Keyed | None, now: float) -> Answer | None:
    if keyed is None:
        return None
    stored = connection.execute(select(answers).where(answers.c.key == keyed.key)).first()
    if stored is None or stored.created_at <= now - KEPT_S:
        return None
    if stored.request_sha256 != keyed.sha256:
        raise ReusedKeyError(
            "this Idempotency-Key came with another request before; expected a new key with a "
            "new request"
        )
    return from_row(Answer, stored)
