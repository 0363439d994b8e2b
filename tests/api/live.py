"""The same service behind a real socket, for what a test client inside the process cannot show."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from api.http.listening import listening_on
from api.http.settings import DEFAULT_PORT
from api.serving import url_of, uvicorn_config
from tests.api.service import Service, new_app


@contextmanager
def live(data: Path, **changed: Any) -> Iterator[tuple[str, Service]]:
    """(its address, the service)."""
    port = DEFAULT_PORT if "unix_socket" in changed else 0
    app = new_app(data, port=port, **changed)
    settings = app.state.context.settings
    unix = None if settings.unix_socket is None else str(settings.unix_socket)
    server = uvicorn.Server(uvicorn_config(app, settings))
    with listening_on(settings) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        url = url_of(settings, listening)
        try:
            transport = httpx2.HTTPTransport(uds=unix)
            with httpx2.Client(base_url=url, timeout=30, transport=transport) as client:
                yield url, Service(app, client, data)
        finally:
            server.should_exit = True
            thread.join()
