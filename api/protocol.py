"""HTTP as uvicorn speaks it, but for the bytes that are none: they get a problem, too, and what every answer carries. And no head is endless."""

import uuid
from http import HTTPStatus

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.guard import SECURITY_HEADERS
from api.problems import MEDIA_TYPE, Problem, problem_bytes

MAX_HEAD_BYTES = 1 << 16

log = structlog.stdlib.get_logger("api.http")


class Protocol(HttpToolsProtocol):
    """For `uvicorn.Config(http=...)`. Whatever could be read as a request, `Guard` answers."""

    _head_bytes = 0
    """Of the address and the headers of one request, those behind its body among them."""
    _waiting_bytes = 0
    """That the parser keeps because what they belong to has not ended yet."""

    def data_received(self, data: bytes) -> None:
        self._waiting_bytes += len(data)
        super().data_received(data)
        if self._waiting_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(_TOO_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._waiting_bytes = 0
        self._count(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._waiting_bytes = 0
        if not self.url.startswith(b"/"):  # with a host of its own, which `Guard` would not see
            raise ValueError("the address is no path")
        super().on_headers_complete()
        if self.parser.should_upgrade():  # nothing else is spoken here, and what follows is read as if it were
            self.cycle.keep_alive = False

    def on_chunk_header(self) -> None:
        self._waiting_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._waiting_bytes = 0
        super().on_body(body)

    def _count(self, part: bytes) -> None:
        """Raises: ValueError, which the parser hands on as damage."""
        self._head_bytes += len(part)
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError(_TOO_LONG)

    def send_400_response(self, msg: str) -> None:
        """A request that came whole before these bytes still gets its answer. Of one whose body is none an answer that was begun is not ended."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:  # type: ignore[redundant-expr]  # None before the first request
            if not cycle.more_body:
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started or self.pipeline:
                self.transport.close()
                return
        request_id = uuid.uuid4().hex[:16]
        status, body = problem_bytes(Problem("bad-request", _TOO_LONG if self._head_bytes > MAX_HEAD_BYTES else msg), "", request_id)
        told = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), "connection": "close", "x-request-id": request_id, **SECURITY_HEADERS}
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in told.items()), "\r\n"]
        self.transport.write("\r\n".join(head).encode("latin-1") + body)
        self.transport.close()
        log.debug("no request", request_id=request_id, problem=msg)


_TOO_LONG = f"address and headers have more than {MAX_HEAD_BYTES} bytes"
