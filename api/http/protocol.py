"""HTTP as uvicorn speaks it, but for two things. Bytes that are none get a problem, too, and what
every answer carries. And connections are bounded, in their number and in the time that a request
takes to arrive: else the service would end where somebody opens enough of them and says nothing.
"""

import asyncio
import resource
import uuid
from http import HTTPStatus
from typing import Any

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.http.guard import SECURITY_HEADERS
from api.http.problems import MEDIA_TYPE, Problem, problem_bytes

log = structlog.stdlib.get_logger("api.http")

# From the first byte of a request, or the connection, to the last byte of the body, which has 1 MiB
# at most.
ARRIVAL_S = 30.0
# One more is closed at once. Half of the files that a process may open stay for everything else.
MOST_CONNECTIONS = 1000


def most_connections() -> int:
    return min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Protocol(H11Protocol):
    """For `uvicorn.Config(http=...)`. Whatever could be read as a request, `Guard` answers."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._arrival: asyncio.TimerHandle | None = None

    # as uvicorn has it
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            # No warning: whoever opens them would fill the log as well.
            log.debug("too many connections", open=len(self.connections) - 1)
            transport.abort()
            return
        self._arrival = self.loop.call_later(ARRIVAL_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        begun = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if not (begun or self.conn.their_state is h11.SEND_BODY):
            self._stop_waiting()
        elif self._arrival is None:
            self._arrival = self.loop.call_later(ARRIVAL_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _give_up(self) -> None:
        """The request has not come whole, and is waited for no longer."""
        log.debug("a request did not arrive", within_s=ARRIVAL_S)
        self._drop_answer()
        self.transport.close()

    def _drop_answer(self) -> None:
        """A request whose body does not come, or is none, is being answered already: that answer
        is not sent any more.
        """
        # None before the first request
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        self._drop_answer()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        request_id = uuid.uuid4().hex[:16]
        status, body = problem_bytes(Problem("bad-request", msg), "", request_id)
        told = {
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
            "connection": "close",
            "x-request-id": request_id,
            **SECURITY_HEADERS,
        }
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()
        ]
        reason = HTTPStatus(status).phrase.encode("latin-1")
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        log.info("no request", request_id=request_id, problem=msg)
