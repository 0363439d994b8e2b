"""The server: which process has the port, and an end that does not wait for readers."""

import os
import socket
import threading
import time
from pathlib import Path

import httpx2
import pytest
import uvicorn

from api.http.server import Server, listen
from pbt.errors import PbtError
from tests.api.live import live
from tests.api.service import Service


def test_a_port_that_is_taken_names_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PbtError, match=rf"by process {os.getpid()} \("):
            listen("127.0.0.1", port)


def test_a_cookie_is_for_tls_alone_behind_a_proxy_that_speaks_it(tmp_path: Path) -> None:
    with live(tmp_path) as (url, service):
        for proto, secure in (("https", True), ("http", False)):
            code = service.call("POST", "/v1/session/codes")["code"]
            answer = httpx2.post(
                f"{url}/v1/session", json={"code": code}, headers={"x-forwarded-proto": proto}
            )
            assert ("Secure" in answer.headers["set-cookie"]) == secure


def test_an_open_download_and_open_streams_do_not_hold_up_the_end(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader that does not read, and streams without an event."""
    context = service.app.state.context
    (service.data / "large").write_bytes(bytes(50 << 20))

    async def large(scope: object, receive: object, send: object) -> None:
        from starlette.responses import FileResponse

        if scope["type"] == "http" and scope["path"] == "/large":  # type: ignore[index]
            await FileResponse(service.data / "large")(scope, receive, send)  # type: ignore[arg-type]
        elif scope["type"] == "http":  # type: ignore[index]
            await service.app(scope, receive, send)  # type: ignore[arg-type]

    config = uvicorn.Config(large, lifespan="off", log_config=None, timeout_graceful_shutdown=30)
    server, listening = Server(config, context.closing), listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    headers = {"authorization": f"Bearer {service.token('viewer')}"}
    try:
        with (
            httpx2.stream("GET", f"{url}/large", timeout=60) as download,
            httpx2.stream("GET", f"{url}/v1/events", headers=headers, timeout=60) as first,
            httpx2.stream("GET", f"{url}/v1/events", headers=headers, timeout=60) as second,
        ):
            assert {answer.status_code for answer in (download, first, second)} == {200}
            asked = time.monotonic()
            server.handle_exit(15, None)
            thread.join(20)
            assert not thread.is_alive() and time.monotonic() - asked < 15
    finally:
        server.force_exit = True
        thread.join()
        listening.close()
    assert "Traceback" not in caplog.text and "exceeded" not in caplog.text
