"""Uploads over a real socket: broken off, slow, two at a time, and of a service that is killed."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.http import protocol
from tests.api.http.test_protocol import everything, statuses
from tests.api.live import live
from tests.api.service import Service
from tests.served import Served, wait

PATH = "/v1/imports"
LENGTH = 100_000_000
START = (
    b'--x\r\ncontent-disposition: form-data; name="name"\r\n\r\nrival\r\n'
    b'--x\r\ncontent-disposition: form-data; name="weights"; filename="w"\r\n\r\n'
)
CONTENT = b"w" * (3 << 20)
LIMIT_S = 30.0


def files(data: Path) -> list[Path]:
    # A folder may go while it is looked through, which os.walk takes for an empty one.
    walked = os.walk(data / "service/uploads")
    return [Path(folder) / name for folder, _, names in walked for name in names]


@contextmanager
def begun(url: str, token: str) -> Iterator[socket.socket]:
    """A connection on which an upload has begun, and its weights have arrived in part."""
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {LENGTH}\r\n\r\n"
    )
    address = ("127.0.0.1", int(urlsplit(url).port or 0))
    with socket.create_connection(address, timeout=LIMIT_S) as connection:
        connection.sendall(head.encode() + START + CONTENT)
        yield connection


def some(data: Path) -> Callable[[], bool]:
    """Whether a part of the weights lies in its file."""
    return lambda: any(path.stat().st_size > 1 << 20 for path in files(data))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, Service]]:
    with live(tmp_path / "data") as found:
        yield found


def test_an_upload_that_is_broken_off_leaves_nothing(
    running: tuple[str, Service], capfd: pytest.CaptureFixture[str]
) -> None:
    url, service = running
    with begun(url, service.token("admin")):
        service.wait(some(service.data))
    service.wait(lambda: not files(service.data))
    service.wait(lambda: not any((service.data / "service/uploads").iterdir()))
    assert service.call("GET", PATH)["items"] == []
    assert "fault" not in "".join(capfd.readouterr())


def test_one_upload_is_taken_at_a_time(running: tuple[str, Service]) -> None:
    url, service = running
    form = {"name": (None, "rival"), "card": ("c", b"{}"), "weights": ("w", b"w")}
    headers = {"authorization": f"Bearer {service.token('admin')}"}
    with begun(url, service.token("admin")):
        service.wait(some(service.data))
        answer = service.client.post(PATH, files=form, headers=headers)
        assert answer.status_code == 429 and answer.headers["retry-after"] == "5"
    service.wait(lambda: service.client.post(PATH, files=form, headers=headers).status_code == 422)


def test_a_slow_upload_is_waited_for_and_a_silent_one_is_not(
    running: tuple[str, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, service = running
    monkeypatch.setattr(protocol, "ARRIVAL_S", 0.5)
    with begun(url, service.token("admin")) as connection:
        service.wait(some(service.data))
        for _ in range(8):
            time.sleep(0.2)
            connection.sendall(b"w")
        assert files(service.data), "1.6 seconds, which is more than three times as long"
        assert statuses(everything(connection)) == []
    service.wait(lambda: not files(service.data))


def test_an_upload_without_a_token_is_not_waited_for(
    running: tuple[str, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered at once; what still comes is thrown away, for no longer than of any body."""
    url, service = running
    monkeypatch.setattr(protocol, "ARRIVAL_S", 0.5)
    with begun(url, "wrong") as connection:
        assert statuses(everything(connection)) == [401]
    assert not files(service.data)


def test_an_announced_length_that_is_too_long_is_refused_before_anything_arrives(
    tmp_path: Path,
) -> None:
    with live(tmp_path / "data", max_import_bytes=LENGTH - 1) as (url, service):
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {service.token('admin')}\r\n"
            f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {LENGTH}\r\n\r\n"
        )
        address = ("127.0.0.1", int(urlsplit(url).port or 0))
        with socket.create_connection(address, timeout=LIMIT_S) as connection:
            connection.sendall(head.encode())
            answer = everything(connection)
        assert statuses(answer) == [413]
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["type"].endswith("too-large")


def test_a_killed_service_leaves_no_upload_after_its_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    served = Served(data, words=("--soft-disk-gb", "0", "--hard-disk-gb", "0"))
    try:
        with begun(served.url, (data / "service/admin.token").read_text().strip()):
            wait(some(data), LIMIT_S, served.log)
            served.kill()
        assert files(data)
        served.start()
        assert not files(data) and served.call("GET", PATH)["items"] == []
    finally:
        served.stop()
