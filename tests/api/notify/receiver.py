"""A receiver of webhooks: a real HTTP server on this machine that notes what it gets."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Got:
    """A request that came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def notice(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """answer: status of each answer, by the number of requests so far.  headers: of each answer.
    drip_s: seconds between two bytes of the answer
    """

    port: int = 0
    got: list[Got] = field(default_factory=list)
    answer: Callable[[int], int] = lambda count: 200
    headers: dict[str, str] = field(default_factory=dict)
    drip_s: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?key=hidden"

    @property
    def events(self) -> list[str]:
        return [one.notice["event"] for one in self.got]


def handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Got(self.path, headers, body))
            if receiver.drip_s:
                for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
                    time.sleep(receiver.drip_s)
                    self.wfile.write(bytes([byte]))
                return
            self.send_response(receiver.answer(len(receiver.got)))
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                return  # the service has had enough

    return Handler


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(receiver))
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
