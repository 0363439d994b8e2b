"""Bytes that are no HTTP, or almost: the service answers with a refusal or closes, never with a
fault of its own, and goes on.

ARENA_FUZZ: how many requests (default 100).
"""

import os
import random
import re
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import structlog

from tests.api.live import live

REQUESTS = int(os.environ.get("ARENA_FUZZ", "100"))
DOCUMENTED = {200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 501}
PATHS = (
    "/",
    "/livez",
    "/v1/populations",
    "/v1/populations/x/start",
    "/v1/evaluations",
    "/v1/session",
    "/v1/../etc/passwd",
    "/%00",
    "/v1/\xff",
    "*",
    "//",
)
ODD = (
    b"http://[",
    b"http://[::1",
    b"//]",
    b"http://127.0.0.1@[v",
    b"null",
    b"arena_session=",
    b"arena_session=a.b.c.d",
    b"arena_session=admin.x.y.z; arena_session=",
    b'="; ;=;\\"',
    b"Bearer",
    b"Bearer \xff\xfe",
    b"Basic Og==",
    b"W/",
    b'"\xb2"',
    b"",
)
GROWTH_BYTES = 50 << 20
PATIENCE_S, LIMIT_S = 0.3, 20.0


def plain(rng: random.Random, token: str) -> bytes:
    """A request that is well formed as HTTP: what is wrong with it comes from the others."""
    method = rng.choice(
        ["GET", "GET", "GET", "GET", "POST", "PATCH", "DELETE", "PUT", "BREW", "get"]
    )
    body = rng.choice(
        ['{"name": "x"}', "{", "[]", '"\\ud800"', "null", "9" * 400, '{"name": {"a": ' * 50, ""]
    ).encode()
    head = (
        f"{method} {rng.choice(PATHS)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
        f"Bearer {token}\r\n"
    )
    return (
        head.encode("latin-1")
        + b"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        % len(body)
        + body
    )


def flip(rng: random.Random, text: bytes) -> bytes:
    damaged = bytearray(text)
    for _ in range(rng.randint(1, 8)):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def cut(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text))]


def noise(rng: random.Random, text: bytes) -> bytes:
    return rng.randbytes(rng.randint(1, 2000))


def long_head(rng: random.Random, text: bytes) -> bytes:
    return text.replace(
        b"\r\n", b"\r\nX-Long: " + b"a" * rng.choice([10_000, 100_000]) + b"\r\n", 1
    )


def many_heads(rng: random.Random, text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\r\n" + b"X-A: b\r\n" * 500, 1)


def two_lengths(rng: random.Random, text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n", 1)


def chunks(rng: random.Random, text: bytes) -> bytes:
    return re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", text) + rng.choice(
        [b"zz\r\n", b"ffffffffff\r\n", b"-1\r\nx\r\n0\r\n\r\n"]
    )


def wrong_length(rng: random.Random, text: bytes) -> bytes:
    return re.sub(
        rb"Content-Length: \d+",
        b"Content-Length: " + rng.choice([b"99999999999", b"-5", b"abc", b"2097152"]),
        text,
    )


def other_host(rng: random.Random, text: bytes) -> bytes:
    return text.replace(
        b"Host: localhost",
        rng.choice(
            [b"Host: evil.example", b"Host:", b"Host: a\r\nHost: localhost", b"X: y", b"Host: [::"]
        ),
    )


def odd_headers(rng: random.Random, text: bytes) -> bytes:
    """Headers are parsed before any token is checked, so any client may send these."""
    name = rng.choice(
        [
            b"Origin",
            b"Cookie",
            b"Authorization",
            b"Sec-Fetch-Site",
            b"If-Match",
            b"Idempotency-Key",
            b"Last-Event-ID",
        ]
    )
    value = rng.choice([*ODD, rng.randbytes(rng.randint(0, 60)).translate(None, b"\r\n\x00")])
    kept = re.sub(rb"Authorization: [^\r]*\r\n", b"", text) if name == b"Authorization" else text
    return kept.replace(b"\r\n", b"\r\n" + name + b": " + value + b"\r\n", 1)


def nothing(rng: random.Random, text: bytes) -> bytes:
    return text


DAMAGE: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    nothing,
    nothing,
    nothing,
    flip,
    cut,
    noise,
    long_head,
    many_heads,
    two_lengths,
    chunks,
    wrong_length,
    other_host,
    odd_headers,
    odd_headers,
)


def answer(address: tuple[str, int], request: bytes) -> int | None:
    """The status, None where the connection was closed without one.

    When no answer comes, the sending side is closed, so that the service sees that nothing follows.
    """
    with socket.create_connection(address) as connection:
        try:
            connection.sendall(request)
            connection.settimeout(PATIENCE_S)
            try:
                head = connection.recv(1 << 12)
            except TimeoutError:
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(LIMIT_S)
                head = connection.recv(1 << 12)
        except TimeoutError:
            raise
        except OSError:  # it was refused before it was read to its end
            return None
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    assert found is not None or not head, head[:200]
    return int(found[1]) if found else None


def test_a_body_that_is_none_is_refused_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The head could be read, so the request is being answered when the rest turns out to be no
    HTTP.
    """
    with live(tmp_path / "data") as (url, service), structlog.testing.capture_logs() as told:
        address = ("127.0.0.1", int(urlsplit(url).port or 0))
        for token in ("", service.token("admin")):
            head = (
                "GET /nothing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                f"{token}\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            assert [
                answer(address, head.encode() + damage) for damage in (b"zz\r\n", b"-1\r\nx\r\n")
            ] == [400, 400]
        assert service.client.get("/livez").status_code == 200
    assert [entry for entry in told if entry["log_level"] == "error"] == []
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_bytes_are_a_fault_of_the_service(tmp_path: Path) -> None:
    rng = random.Random(7)
    with live(tmp_path / "data") as (url, service), structlog.testing.capture_logs() as told:
        address = ("127.0.0.1", int(urlsplit(url).port or 0))
        tokens = ("", service.token("viewer"), service.token("admin"))
        seen: Counter[int | None] = Counter()
        memory = 0
        for number in range(REQUESTS):
            request = rng.choice(DAMAGE)(rng, plain(rng, rng.choice(tokens)))
            status = answer(address, request)
            assert status is None or status in DOCUMENTED, (number, status, request[:500])
            seen[status] += 1
            if number == REQUESTS // 5:
                memory = psutil.Process().memory_info().rss
        assert psutil.Process().memory_info().rss - memory < GROWTH_BYTES
        assert service.client.get("/readyz").status_code == 200
        # Refusals of several kinds, and requests that were let through: the damage was neither
        # everything nor nothing.
        assert {400, 401, 404} <= seen.keys() and (seen[200] or seen[201] or seen[202])
        answers = ", ".join(
            f"{count} of {status or 'a closed connection'}"
            for status, count in sorted(seen.items(), key=lambda item: item[0] or 0)
        )
        print(f"{REQUESTS} requests: {answers}")
    assert [entry for entry in told if entry["log_level"] == "error"] == []
