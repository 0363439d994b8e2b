"""The server: which process has the port, and an end that does not wait for readers."""

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import httpx2
import pytest
import uvicorn

from api.http.listening import listen
from api.http.server import Server
from api.routes import events
from pbt.errors import PbtError
from tests.api.live import live
from tests.api.service import Service, serving


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
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that does not read, and streams without an event, which are woken."""
    monkeypatch.setattr(events, "LOOK_EVERY_S", 60.0)
    context = service.app.state.context
    (service.data / "large").write_bytes(bytes(50 << 20))

    async def large(scope: object, receive: object, send: object) -> None:
        from starlette.responses import FileResponse

        if scope["type"] == "http" and scope["path"] == "/large":  # type: ignore[index]
            answer = FileResponse(service.data / "large")
            await answer(scope, receive, send)  # type: ignore[arg-type]
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


def test_large_answers_are_compressed_for_those_that_take_it(tmp_path: Path) -> None:
    with live(tmp_path) as (url, service):
        headers = {"authorization": f"Bearer {service.token('viewer')}"}
        packed, plain = (
            httpx2.get(
                f"{url}/openapi.json",
                headers={**headers, "accept-encoding": encoding},
                timeout=60,
            )
            for encoding in ("gzip", "identity")
        )
        assert packed.headers["content-encoding"] == "gzip"
        assert int(packed.headers["content-length"]) < len(plain.content) / 4
        assert "content-encoding" not in plain.headers and packed.json() == plain.json()
        small = httpx2.get(f"{url}/readyz", headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in small.headers
        with httpx2.stream("GET", f"{url}/v1/events", headers=headers) as stream:
            assert "content-encoding" not in stream.headers


def test_a_service_that_only_reads_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "data") as service:
        service.create("one")
    shutil.rmtree(tmp_path / "data/service")
    before = content(tmp_path / "data")
    monkeypatch.setenv("ARENA_TOKEN", "a token that is long enough")
    with serving(tmp_path / "data", read_only=True) as service:
        headers = {"authorization": "Bearer a token that is long enough"}
        for path in ("/readyz", "/v1/populations/one", "/v1/system", "/v1/matches", "/metrics"):
            assert service.client.get(path, headers=headers).status_code == 200, path
        for path in ("/v1/populations/one/start", "/v1/populations", "/v1/plays"):
            refused = service.client.post(path, headers=headers, json={})
            assert (refused.status_code, "only reads" in refused.text) == (403, True)
        code = service.client.post("/v1/session/codes", headers=headers).json()["code"]
        assert service.client.post("/v1/session", json={"code": code}).status_code == 204
    assert content(tmp_path / "data") == before


def content(folder: Path) -> dict[str, bytes]:
    """Of every file but SQLite's own, which come and go with its readers."""
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".db-wal", ".db-shm")
    }
