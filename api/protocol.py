"""HTTP as uvicorn speaks it, but for the bytes that are none: they get a problem, too, and what every answer carries."""

import uuid
from http import HTTPStatus

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.guard import SECURITY_HEADERS
from api.problems import MEDIA_TYPE, Problem, problem_bytes

log = structlog.stdlib.get_logger("api.http")


class Protocol(H11Protocol):
    """For `uvicorn.Config(http=...)`. Whatever could be read as a request, `Guard` answers."""

    def send_400_response(self, msg: str) -> None:
        """Of a body that is none, the request is being answered already: that answer is not sent any more."""
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]  # None before the first request
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        request_id = uuid.uuid4().hex[:16]
        status, body = problem_bytes(Problem("bad-request", msg), "", request_id)
        told = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), "connection": "close", "x-request-id": request_id, **SECURITY_HEADERS}
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
        reason = HTTPStatus(status).phrase.encode("latin-1")
        for event in (h11.Response(status_code=status, headers=headers, reason=reason), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        log.debug("no request", request_id=request_id, problem=msg)
