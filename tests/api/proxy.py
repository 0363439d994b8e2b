"""A reverse proxy that shows a service below a path, as nginx and Caddy do."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class _Passing(BaseHTTPRequestHandler):
    """Passes requests on, and their answers back; `proxy` says from where to where."""

    protocol_version = "HTTP/1.1"
    host, port, root, strips = "", 0, "", False

    def do_GET(self) -> None:
        if not self.path.startswith(f"{self.root}/"):
            self.send_error(404)
            return
        path = self.path[len(self.root) :] if self.strips else self.path
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.close_connection = True
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=30)) as upstream:
            upstream.request(self.command, path, body, {**self.headers})
            # A caller that leaves a stream ends it for the service, too.
            with closing(upstream.getresponse()) as answer, suppress(ConnectionError):
                self._pass_on(answer)

    do_POST = do_DELETE = do_PATCH = do_GET  # noqa: N815  names of the standard library

    def _pass_on(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        while part := answer.read1():
            self.wfile.write(part)
            self.wfile.flush()

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def proxy(service: str, root: str, *, strips: bool) -> Iterator[str]:
    """Its address with the root path. strips: the service gets paths without the root path."""
    place = urlsplit(service)
    to = {"host": place.hostname or "", "port": place.port, "root": root, "strips": strips}
    handler = type("Handler", (_Passing,), to)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}{root}"
        finally:
            server.shutdown()
            thread.join()
