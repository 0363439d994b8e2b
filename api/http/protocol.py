"""HTTP as uvicorn speaks it, with problems for invalid bytes and with limits on connections.

The number of connections and the time in which a request must arrive are bounded. Without these
limits a client could stop the service by opening connections and sending nothing.
"""

import asyncio
import resource
import uuid
from typing import Any

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from api.http.guard import SECURITY_HEADERS, raw_headers
from api.http.phrases import phrase
from api.http.problems import MEDIA_TYPE, Problem, problem_bytes

log = structlog.stdlib.get_logger("api.http")

# From the first byte of a request, or from the connection, to the last byte of its body, which has
# at most 1 MiB. An upload may take longer, as long as something of it arrives in each such time.
ARRIVAL_S = 30.0
# A further connection is closed at once. Half of the files that this process may open are left for
# everything else.
MOST_CONNECTIONS = 1000


def most_connections() -> int:
    return min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Protocol(H11Protocol):
    """A protocol for `uvicorn.Config(http=...)`. `Guard` answers everything that can be parsed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrival: asyncio.TimerHandle | None = None
        self._arrived = False

    # The type is uvicorn's.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            # No warning: a client that opens many connections would fill the log as well.
            log.debug("too many connections", open=len(self.connections) - 1)
            transport.abort()
            return
        self._arrival = self.loop.call_later(ARRIVAL_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._arrived = True
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
        """Close the connection: the request has not arrived in time."""
        if self._arrived and self._uploads():
            self._arrived = False
            self._arrival = self.loop.call_later(ARRIVAL_S, self._give_up)
            return
        log.debug("a request did not arrive", within_s=ARRIVAL_S)
        self._drop_answer()
        self.transport.close()

    def _uploads(self) -> bool:
        """Whether the guard let the request pass as one whose body may take long."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        return bool(cycle.scope.get("state", {}).get("long_body"))

    def _drop_answer(self) -> None:
        """Drop the answer of a request whose body does not arrive, or is invalid.

        Such a request is being answered already; that answer is not sent.
        """
        # None before the first request, which uvicorn's annotation does not say.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        self._drop_answer()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        request_id = uuid.uuid4().hex[:16]
        status, body = problem_bytes(Problem("bad-request", msg), "", request_id)
        values = {
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
            "connection": "close",
            "x-request-id": request_id,
            **SECURITY_HEADERS,
        }
        reason = phrase(status).encode("latin-1")
        for event in (
            h11.Response(status_code=status, headers=raw_headers(values), reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        log.info("no request", request_id=request_id, problem=msg)
