"""What each caller may do, and from where: for every route of the OpenAPI document."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from api.http.guard import SAFE_METHODS, SECURITY_HEADERS, host_name, required_level
from api.http.listening import listen
from api.http.settings import Settings
from api.http.tokens import COOKIE
from api.openapi import METHODS
from tests.api.live import live
from tests.api.service import Service, serving

SAMPLES = {
    "name": "unknown",
    "operation_id": "1",
    "match_id": "1",
    "snapshot_id": "0" * 64,
    "evaluation_id": "1",
    "member": "m0",
    "game_id": "1",
    "play_id": "0" * 16,
    "job_id": "1",
    "number": "1",
}


def routes(service: Service) -> list[tuple[str, str]]:
    """(method, path with values) of everything documented."""
    paths = service.app.openapi()["paths"]
    return [
        (method.upper(), re.sub(r"{(\w+)}", lambda m: SAMPLES[m[1]], path))
        for path, found in paths.items()
        for method in found
        if method in METHODS
    ]


def ask(service: Service, method: str, path: str, **headers: str) -> Any:
    """Without reading a stream to its end."""
    with service.client.stream(method, path, headers=headers) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


def bearer(service: Service, level: str) -> dict[str, str]:
    return {"authorization": f"Bearer {service.token(level)}"}


def refused(answer: Any, status: int) -> bool:
    return bool(
        answer.status_code == status
        and answer.headers["content-type"] == "application/problem+json"
        and answer.json()["status"] == status
    )


def test_every_route_needs_its_token(shared: Service) -> None:
    found = [route for route in routes(shared) if route[1] != "/v1/events"]
    assert len(found) > 25
    for method, path in found:
        level = required_level(method, path)
        if level == "none":
            assert ask(shared, method, path).status_code != 401 or path == "/v1/session"
            continue
        for wrong in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": shared.token("admin")},
            {"cookie": f"{COOKIE}=admin.99999999999.x.y"},
        ):
            assert refused(ask(shared, method, path, **wrong), 401), (method, path, wrong)
        as_viewer = ask(shared, method, path, **bearer(shared, "viewer"))
        assert as_viewer.status_code != 401
        assert (as_viewer.status_code == 403) == (level == "admin"), (method, path, as_viewer.text)
        assert ask(shared, method, path, **bearer(shared, "admin")).status_code not in (401, 403)


def test_nothing_that_changes_something_is_open_to_a_viewer() -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "ANYTHING"):
        for path in ("/v1/populations", "/nowhere", "/livez", "/v1/session/../populations"):
            assert required_level(method, path) == "admin"
    assert [required_level(method, "/v1/session") for method in ("POST", "DELETE", "PUT")] == [
        "none",
        "viewer",
        "viewer",
    ]


def test_requests_of_other_sites_pages_are_refused(shared: Service) -> None:
    forged = [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1.evil.example"},
        {"origin": "http://localhost"},
    ]
    forged += [
        {"origin": text}
        for text in (
            "http://[",
            "http://[::1",
            "//]",
            "http://127.0.0.1:port",
            "",
            " ",
            "http://127.0.0.1@[v",
        )
    ]
    forged += [{"sec-fetch-site": site} for site in ("cross-site", "same-site", "unknown")]
    for method, path in routes(shared):
        if method not in SAFE_METHODS:
            for headers in forged:
                assert refused(
                    ask(shared, method, path, **headers, **bearer(shared, "admin")), 403
                ), (method, path, headers)
            own = {
                "origin": "http://127.0.0.1",
                "sec-fetch-site": "same-origin",
                **bearer(shared, "admin"),
            }
            assert ask(shared, method, path, **own).status_code not in (401, 403)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "",
        "a b",
        "127.0.0.1, evil.example",
        "[::1",
    ],
)
def test_a_foreign_host_is_refused_everywhere(shared: Service, host: str) -> None:
    for path in ("/livez", "/v1/populations", "/", "/nowhere"):
        assert refused(ask(shared, "GET", path, host=host, **bearer(shared, "admin")), 400)


def test_host_names() -> None:
    found = [
        host_name(host)
        for host in ("LocalHost:80", "[::1]:8642", "[::1]", "a.b", "a:b", "a/b", "127.0.0.1:999999")
    ]
    assert found == ["localhost", "::1", "::1", "a.b", None, None, None]


def test_only_json_changes_anything(shared: Service) -> None:
    path, headers = "/v1/populations", bearer(shared, "admin")
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json-patch+json",
        "",
    ):
        answer = shared.client.post(
            path, content=b'{"name": "a", "config": {}}', headers={**headers, "content-type": kind}
        )
        assert refused(answer, 415), kind
    assert refused(
        shared.client.post(
            path, content=b"{", headers={**headers, "content-type": "application/json"}
        ),
        400,
    )
    long = b" " * (2 << 20)
    for body in (long, iter([long])):  # with a length and without one
        assert refused(
            shared.client.post(
                path, content=body, headers={**headers, "content-type": "application/json"}
            ),
            413,
        )


def test_unknown_parameters_are_refused_by_every_route(shared: Service) -> None:
    for method, path in routes(shared):
        if path != "/v1/session" or method != "POST":
            answer = ask(shared, method, f"{path}?surprise=1", **bearer(shared, "admin"))
            assert answer.status_code == 422, (method, path, answer.text)
    assert refused(
        ask(shared, "GET", "/v1/populations?limit=1&limit=2", **bearer(shared, "admin")), 422
    )


def test_a_probe_may_ask_for_the_head_alone(shared: Service) -> None:
    for path in ("/livez", "/readyz"):
        assert ask(shared, "HEAD", path).status_code == 200
        assert ask(shared, "HEAD", f"{path}?surprise=1").status_code == 422


def test_what_is_not_there_is_a_problem_too(shared: Service) -> None:
    admin = bearer(shared, "admin")
    assert refused(ask(shared, "GET", "/nowhere", **admin), 404)
    assert refused(ask(shared, "PUT", "/v1/populations", **admin), 405)
    assert refused(ask(shared, "GET", "/v1/populations/", **admin), 404)
    assert refused(ask(shared, "GET", "/v1/populations/unknown", **admin), 404)
    assert refused(ask(shared, "GET", "/v1/populations/NOT%20A%20NAME", **admin), 422)


def test_every_answer_carries_the_headers_that_browsers_heed(shared: Service) -> None:
    for path in ("/", "/livez", "/nowhere", "/v1/populations"):
        headers = ask(shared, "GET", path).headers
        found = {
            name: headers.get(name)
            for name in (
                "x-content-type-options",
                "x-frame-options",
                "referrer-policy",
                "cross-origin-resource-policy",
            )
        }
        assert list(found.values()) == ["nosniff", "DENY", "no-referrer", "same-origin"]
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_a_code_becomes_a_cookie_once(service: Service) -> None:
    code = service.call("POST", "/v1/session/codes")["code"]
    answer = service.client.post("/v1/session", json={"code": code})
    assert answer.status_code == 204
    said = answer.headers["set-cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(said.split("; "))
    assert service.token("admin") not in said
    service.client.cookies.clear()
    assert refused(service.client.post("/v1/session", json={"code": code}), 401)
    cookie = {"cookie": said.split(";")[0]}
    assert ask(service, "GET", "/v1/populations", **cookie).status_code == 200
    # By a cookie something is changed only from the service's own pages.
    assert refused(ask(service, "POST", "/v1/session/codes", **cookie), 403)
    assert refused(
        ask(service, "GET", "/v1/populations", **cookie, **{"sec-fetch-site": "cross-site"}), 403
    )
    assert (
        ask(service, "POST", "/v1/session/codes", **cookie, origin="http://127.0.0.1").status_code
        == 201
    )


def test_two_services_of_one_machine_keep_a_browser_logged_in_to_both(
    service: Service, tmp_path: Path
) -> None:
    """Browsers send the cookies of a host to all its ports."""
    with serving(tmp_path / "other") as other:
        jar = []
        for each in (service, other):
            answer = each.client.post(
                "/v1/session", json={"code": each.call("POST", "/v1/session/codes")["code"]}
            )
            jar.append(answer.headers["set-cookie"].split(";")[0])
            each.client.cookies.clear()
        assert len({cookie.partition("=")[0] for cookie in jar}) == 2
        for each in (service, other):
            assert ask(each, "GET", "/v1/populations", cookie="; ".join(jar)).status_code == 200
            left = ask(
                each, "DELETE", "/v1/session", cookie="; ".join(jar), origin="http://127.0.0.1"
            )
            assert (
                left.status_code == 204
                and f"{each.app.state.context.tokens.cookie}=" in left.headers["set-cookie"]
            )
        assert refused(ask(service, "GET", "/v1/populations", cookie=jar[1]), 401)


def test_a_code_for_a_viewer_logs_a_viewer_in(service: Service) -> None:
    assert refused(ask(service, "POST", "/v1/session/codes", **bearer(service, "viewer")), 403)
    service.call("POST", "/v1/session/codes", {"level": "none"}, status=422)
    code = service.call("POST", "/v1/session/codes", {"level": "viewer"})["code"]
    said = service.client.post("/v1/session", json={"code": code}).headers["set-cookie"]
    service.client.cookies.clear()
    cookie = {"cookie": said.split(";")[0]}
    assert ask(service, "GET", "/v1/session", **cookie).json() == {"level": "viewer"}
    assert ask(service, "GET", "/v1/populations", **cookie).status_code == 200
    assert refused(
        ask(service, "POST", "/v1/session/codes", **cookie, origin="http://127.0.0.1"), 403
    )


PUBLIC = [
    ("0.0.0.0", (), False),
    ("0.0.0.0", ("arena",), False),
    ("0.0.0.0", (), True),
    ("10.0.0.1", (), False),
    ("::", (), True),
    ("box", ("box",), False),
]


@pytest.mark.parametrize(("host", "names", "tokens"), PUBLIC)
def test_a_public_address_needs_tokens_and_names(
    tmp_path: Path, host: str, names: tuple[str, ...], tokens: bool
) -> None:
    with pytest.raises(ValidationError, match="is open to other machines"):
        Settings(data=tmp_path, host=host, allowed_hosts=names, tokens_set=tokens)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_machine_alone_needs_neither(tmp_path: Path, host: str) -> None:
    assert host in Settings(data=tmp_path, host=host).hosts
    assert {"arena", "10.0.0.1"} <= Settings(
        data=tmp_path, host="10.0.0.1", allowed_hosts=("Arena",), tokens_set=True
    ).hosts


# --- as bytes, where clients would mend what is sent ----------------------------------------------


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with live(tmp_path_factory.mktemp("raw")) as (url, _):
        yield int(url.rpartition(":")[2])


def raw(port: int, text: bytes) -> int:
    """The status of the answer to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(text)
        answer = connection.recv(4096)
    return int(answer.split(b" ")[1])


@pytest.mark.parametrize(
    "text",
    [b"GARBAGE\r\n\r\n", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n"],
)
def test_bytes_that_are_no_request_get_a_problem_too(port: int, text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(text)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = {
        name.lower(): value
        for name, value in (
            line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:]
        )
    }
    problem = json.loads(body)
    assert (headers["content-type"], problem["status"], problem["type"]) == (
        "application/problem+json",
        400,
        "urn:pbt-arena:problem:bad-request",
    )
    assert problem["request_id"] == headers["x-request-id"] and headers["connection"] == "close"
    assert SECURITY_HEADERS.items() <= headers.items()


def test_bytes_that_no_client_would_send(port: int) -> None:
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    end = b"Connection: close\r\n\r\n"
    cases = {
        b"GET /livez HTTP/1.1\r\n" + host + end: 200,
        b"GET /livez HTTP/1.1\r\n" + end: 400,
        b"GET /livez HTTP/1.1\r\nHost: evil\r\n" + end: 400,
        b"GET /livez HTTP/1.1\r\n" + host + b"Host: evil\r\n" + end: 400,
        b"GET http://evil/livez HTTP/1.1\r\n" + host + end: 401,
        b"GET /livez/../v1/populations HTTP/1.1\r\n" + host + end: 401,
        b"GET //v1/populations HTTP/1.1\r\n" + host + end: 401,
        b"GET /v1/populations/%2e%2e%2f%2e%2e HTTP/1.1\r\n" + host + end: 401,
        b"POST /v1/session/../populations HTTP/1.1\r\n" + host + end: 401,
        b"GET /livez\xff HTTP/1.1\r\n" + host + end: 400,
        b"GARBAGE\r\n\r\n": 400,
    }
    assert {text: raw(port, text) for text in cases} == cases


def test_small_answers_do_not_wait_for_one_another() -> None:
    """A head and a body are two packets; without this the second waits for the reader's delayed
    word on the first, 40 ms.
    """

    async def accepted() -> int:
        delays: list[int] = []

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            delays.append(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        with listen("127.0.0.1", 0) as listening:
            server = await asyncio.start_server(met, sock=listening)
            async with server:
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                await reader.read()
                writer.close()
        return delays[0]

    assert asyncio.run(accepted()) == 1
