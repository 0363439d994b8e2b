"""What the service says to those who do not quite speak HTTP, byte by byte over a real socket."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest

from api.http import protocol
from tests.api.live import live

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = (
    b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
MAX_HEAD_BYTES = 1 << 16
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with live(tmp_path_factory.mktemp("service") / "data") as (url, _):
        yield "127.0.0.1", int(urlsplit(url).port or 0)


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=LIMIT_S) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """What comes until the service closes."""
    found = b""
    try:
        while part := connection.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass  # it closed with something of ours unread
    return found


def status_of_one(connection: socket.socket) -> int:
    """Of the next answer, which is read whole and no further."""
    answer = HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def statuses(answers: bytes) -> list[int]:
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def send_until_closed(connection: socket.socket, part: bytes, most_bytes: int) -> int:
    """How many bytes went out before the service had enough."""
    sent = 0
    try:
        while sent < most_bytes:
            connection.sendall(part)
            sent += len(part)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(GET + b"X-Long: ", id="one header without an end"),
        pytest.param(b"GET /", id="an address without an end"),
        pytest.param(
            CHUNKED + b"2\r\n{}\r\n0\r\nX-Late: ", id="a header behind the body without an end"
        ),
    ],
)
def test_what_never_ends_is_not_kept(address: tuple[str, int], begun: bytes) -> None:
    with connected(address) as connection:
        connection.sendall(begun)
        assert send_until_closed(connection, b"a" * 4096, 64 << 20) < 16 << 20


@pytest.mark.parametrize(
    "begun", [GET, CHUNKED + b"2\r\n{}\r\n0\r\n"], ids=["before the body", "behind the body"]
)
def test_headers_without_number_are_not_kept(address: tuple[str, int], begun: bytes) -> None:
    with connected(address) as connection:
        connection.sendall(begun)
        assert send_until_closed(connection, b"X-A: b\r\n" * 512, 64 << 20) < 16 << 20


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(GET, id="half a head"),
        pytest.param(
            b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            id="half a body",
        ),
        pytest.param(GET + b"\r\n" + GET, id="a second request that stops in its head"),
    ],
)
def test_who_does_not_finish_a_request_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(protocol, "ARRIVAL_S", 0.5)
    with connected(address) as connection:
        connection.sendall(begun)
        assert statuses(everything(connection)) == (
            [200] if begun.startswith(GET + b"\r\n") else []
        )


def test_who_comes_slowly_but_in_time_is_answered(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose connection is older than a request may take."""
    monkeypatch.setattr(protocol, "ARRIVAL_S", 1.5)
    with connected(address) as connection:
        for _ in range(3):
            connection.sendall(GET)
            time.sleep(0.75)
            connection.sendall(b"\r\n")
            assert status_of_one(connection) == 200


def test_a_connection_outlives_the_time_a_request_has(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "ARRIVAL_S", 0.5)
    with connected(address) as connection:
        connection.sendall(GET + b"\r\n")
        assert status_of_one(connection) == 200
        time.sleep(1.0)
        connection.sendall(GET + b"\r\n")
        assert status_of_one(connection) == 200, (
            "a connection that waits for its next request is left to uvicorn, which gives it 5 s"
        )


def test_one_connection_too_many_is_closed_and_the_others_are_served(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(address) as first, connected(address) as second:
        for connection in (first, second):
            connection.sendall(GET + b"\r\n")
            assert status_of_one(connection) == 200
        monkeypatch.setattr(protocol, "MOST_CONNECTIONS", 2)
        with connected(address) as third:
            assert everything(third) == b""
        first.sendall(GET + b"\r\n")
        assert status_of_one(first) == 200
    monkeypatch.undo()
    with connected(address) as later:
        later.sendall(GET + b"\r\n")
        assert status_of_one(later) == 200


def test_a_head_that_is_too_long_is_refused(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(GET + b"X-A: b\r\n" * (MAX_HEAD_BYTES // 4) + b"\r\n")
        answer = everything(connection)
    assert statuses(answer) == [400]
    assert b"application/problem+json" in answer


def test_a_long_head_within_the_limit_is_read(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(
            GET + b"X-Long: " + b"a" * (MAX_HEAD_BYTES - 1000) + b"\r\nConnection: close\r\n\r\n"
        )
        assert statuses(everything(connection)) == [200]


def test_bodies_are_no_heads(address: tuple[str, int]) -> None:
    """Chunks of one byte are six of the connection's."""
    body = b'{"code": "' + b"x" * MAX_HEAD_BYTES + b'"}'
    with connected(address) as connection:
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
        connection.sendall(
            CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + chunks + b"0\r\n\r\n"
        )
        assert statuses(everything(connection)) in ([401], [422])


def test_damage_behind_a_request_leaves_it_its_answer(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(GET + b"\r\n" + b"\x00\x01 no HTTP\r\n\r\n")
        assert statuses(everything(connection)) == [200, 400]


def test_requests_in_a_row_are_answered_in_their_order(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(
            GET
            + b"\r\n"
            + GET.replace(b"/livez", b"/nowhere")
            + b"\r\n"
            + GET
            + b"Connection: close\r\n\r\n"
        )
        assert statuses(everything(connection)) == [200, 401, 200]


def test_whoever_waits_for_a_word_before_its_body_gets_it(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        head = CHUNKED.replace(
            b"Transfer-Encoding: chunked\r\n",
            b"Content-Length: 15\r\nExpect: 100-continue\r\nConnection: close\r\n",
        )
        connection.sendall(head)
        assert connection.recv(1 << 12).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b'{"code": "abc"}')
        assert statuses(everything(connection)) in ([401], [422])
