"""Access by tokens with names: requests, sessions and streams, while tokens come and go."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from api.openapi import METHODS
from arena.data.service_tokens import create_token, hash_of, revoke_token
from tests.api.live import live
from tests.api.service import Service


def created(service: Service, name: str, level: Any = "viewer", lasts_s: float = 3600) -> str:
    return create_token(service.data / "service", name, level, time.time() + lasts_s)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def log_in(service: Service, status: int = 204, **body: Any) -> Any:
    answer = service.client.post("/v1/session", json=body)
    service.client.cookies.clear()
    assert answer.status_code == status, answer.text
    return answer


def cookie_of(answer: Any) -> dict[str, str]:
    return {"cookie": answer.headers["set-cookie"].split(";")[0]}


def level(service: Service, headers: dict[str, str]) -> Any:
    return service.client.get("/v1/session", headers=headers).json()["level"]


def test_a_token_works_from_its_making_to_its_revocation(service: Service) -> None:
    viewer, admin = created(service, "ci"), created(service, "ada", "admin")
    assert [level(service, bearer(token)) for token in (viewer, admin)] == ["viewer", "admin"]
    made = service.client.post("/v1/session/codes", headers=bearer(admin))
    assert made.status_code == 201
    assert service.client.post("/v1/session/codes", headers=bearer(viewer)).status_code == 403
    revoke_token(service.data / "service", "ada")
    assert [level(service, bearer(token)) for token in (viewer, admin)] == ["viewer", "none"]
    assert service.client.get("/v1/populations", headers=bearer(admin)).status_code == 401
    log_in(service, status=401, code=made.json()["code"])


def test_the_tokens_of_files_are_named_like_any_other(service: Service) -> None:
    """A new secret is in force at once, and the old one and its sessions are out."""
    old = service.token("admin")
    cookie = cookie_of(log_in(service, token=old))
    assert level(service, cookie) == "admin"
    revoke_token(service.data / "service", "admin")
    assert [level(service, headers) for headers in (bearer(old), cookie)] == ["none", "none"]
    assert level(service, bearer(service.token("admin"))) == "admin"


def test_a_token_becomes_a_session_that_ends_with_it(service: Service) -> None:
    token = created(service, "ada", "admin", lasts_s=600)
    answer = log_in(service, token=token)
    said = answer.headers["set-cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(said.split("; "))
    assert 590 <= int(re.findall(r"Max-Age=(\d+)", said)[0]) <= 600
    assert token not in str(answer.headers) and hash_of(token) not in str(answer.headers)
    cookie = {**cookie_of(answer), "origin": "http://127.0.0.1"}
    again = service.client.post("/v1/session/codes", headers=cookie, json={"level": "viewer"})
    other = {**cookie_of(log_in(service, code=again.json()["code"]))}
    assert [level(service, headers) for headers in (cookie, other)] == ["admin", "viewer"]
    revoke_token(service.data / "service", "ada")
    assert [level(service, headers) for headers in (cookie, other)] == ["none", "none"]
    create_token(service.data / "service", "ada", "admin", None)
    assert [level(service, headers) for headers in (cookie, other)] == ["none", "none"]


def test_what_is_no_token_logs_no_browser_in(service: Service) -> None:
    token, old = created(service, "ci"), created(service, "old", lasts_s=-1)
    for wrong in ("wrong-one", token[:-1], f"Bearer {token}", hash_of(token), old, "ci"):
        refused = log_in(service, status=401, token=wrong)
        assert "set-cookie" not in refused.headers and wrong not in refused.text, wrong
    code = service.call("POST", "/v1/session/codes")["code"]
    log_in(service, status=401, token=code)
    log_in(service, status=401, code=token)
    for body in (
        {},
        {"code": code, "token": token},
        {"token": ""},
        {"token": 1},
        {"token": [token]},
    ):
        assert token not in log_in(service, status=422, **body).text
    log_in(service, code=code)


def test_a_viewers_token_replaces_no_session_of_an_admin(service: Service) -> None:
    """A link that a stranger sends takes no right away; a code of one's own does."""
    viewer, admin = created(service, "guests"), created(service, "ada", "admin")
    own = {**cookie_of(log_in(service, token=admin)), "origin": "http://127.0.0.1"}

    def replaced(**body: str) -> bool:
        answer = service.client.post("/v1/session", json=body, headers=own)
        service.client.cookies.clear()
        assert answer.status_code == 204
        return "set-cookie" in answer.headers

    made = service.client.post("/v1/session/codes", headers=own, json={"level": "viewer"})
    assert not replaced(token=viewer)
    assert replaced(token=service.token("admin")) and replaced(code=made.json()["code"])
    revoke_token(service.data / "service", "ada")
    assert replaced(token=viewer)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:1"},
        {"content-type": "text/plain"},
    ],
)
def test_the_page_of_another_site_logs_no_browser_in(
    shared: Service, headers: dict[str, str]
) -> None:
    """Not even with a good token: the browser would then act for the owner of that token."""
    body = f'{{"token": "{shared.token("viewer")}"}}'.encode()
    sent = {"content-type": "application/json", **headers}
    answer = shared.client.post("/v1/session", content=body, headers=sent)
    assert answer.status_code in (403, 415) and "set-cookie" not in answer.headers


def test_the_log_names_tokens_and_tells_none(service: Service) -> None:
    viewer, admin = created(service, "ci"), created(service, "ada", "admin")
    with structlog.testing.capture_logs() as lines:
        cookie = cookie_of(log_in(service, token=admin))
        log_in(service, status=401, token=viewer[:-1])
        service.client.post("/v1/populations", json={}, headers=bearer(viewer))
        service.client.post("/v1/populations", json={}, headers=bearer(admin))
        own = {**cookie, "origin": "http://127.0.0.1"}
        service.client.post("/v1/populations", json={}, headers=own)
        service.client.get("/v1/populations", headers=bearer("wrong"))
        service.client.delete("/v1/session", headers=own)
        service.client.post("/v1/populations", json={}, headers=own)
    told = [(line["status"], line["by"]) for line in lines if line["event"] == "request"]
    assert told == [
        (204, "session of ada"),
        (401, "-"),
        (403, "ci"),
        (422, "ada"),
        (422, "session of ada"),
        (401, "-"),
        (204, "session of ada"),
        (401, "-"),
    ]
    for secret in (viewer, admin, hash_of(admin), cookie["cookie"].partition("=")[2]):
        assert secret[:20] not in str(lines)


def test_no_answer_tells_a_viewer_of_tokens(service: Service) -> None:
    token = created(service, "a-name-to-be-found")
    paths = service.app.openapi()["paths"]
    assert not [path for path in paths if "token" in path]
    for path, found in paths.items():
        if "get" in found.keys() & METHODS and "{" not in path and path != "/v1/events":
            answer = service.client.get(path, headers=bearer(token))
            for word in (token, hash_of(token), "a-name-to-be-found"):
                assert word not in answer.text, path


def test_streams_end_when_their_token_is_revoked_or_expires(tmp_path: Path) -> None:
    """Streams of a token and of its session; those of another token stay."""
    with live(tmp_path) as (url, service), ExitStack() as stack:
        tokens = [created(service, "gone"), created(service, "stays")]
        headers = [cookie_of(log_in(service, token=tokens[0])), *map(bearer, tokens)]
        streams = [
            stack.enter_context(httpx2.stream("GET", f"{url}/v1/events", headers=one, timeout=30))
            for one in headers
        ]
        told = [stream.iter_lines() for stream in streams]
        assert [next(each) for each in told] == [": open"] * 3
        revoke_token(service.data / "service", "gone")
        assert all(":" in line for each in told[:2] for line in each if line)
        again = [httpx2.get(f"{url}/v1/populations", headers=one, timeout=30) for one in headers]
        assert [answer.status_code for answer in again] == [401, 401, 200]
        service.create("one")
        assert any(line.startswith("event: population") for line in told[2])
        with httpx2.stream("GET", f"{url}/v1/events", headers=headers[2], timeout=30) as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": open"
            service.app.state.context.tokens._clock = lambda: time.time() + 3600
            assert all(":" in line for line in lines if line)
