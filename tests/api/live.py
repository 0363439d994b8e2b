"""The same service behind a real socket, for what a test client inside the process cannot show."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from api.http.protocol import Protocol
from tests.api.service import Service, new_app


@contextmanager
def live(data: Path, **changed: Any) -> Iterator[tuple[str, Service]]:
    """(its address, the service)."""
    app = new_app(data, **changed)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx2.Client(base_url=url, timeout=30) as client:
            yield url, Service(app, client, data)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
