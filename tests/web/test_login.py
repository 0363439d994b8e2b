"""Logging a browser in, by a pasted token and by a link that only reads; and being logged out."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Request, Route, expect

from arena.data.service_tokens import create_token, revoke_token
from tests.web.browser import WAIT_MS, Visitor, shows
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def arena_token(served: Served, *words: str) -> Any:
    """What `arena token` prints as JSON."""
    command = [sys.executable, "-P", "-m", "arena", "token", *words, "--json"]
    done = subprocess.run(
        [*command, "--data", str(served.data)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_pasted_token_logs_in_until_it_is_revoked(
    served: Served, browser: Browser, axe: Path
) -> None:
    token = arena_token(served, "create", "ada", "--level", "admin")["token"]
    visitor = Visitor(browser, served.url)
    visitor.expected.add(401)
    page = visitor.see("populations")
    shows(page, "You are not logged in")
    assert visitor.faults(axe) == []
    visitor.keep("login")
    field = page.get_by_label("Token")
    field.fill("not-a-token")
    page.get_by_role("button", name="Log in").click()
    shows(page, "This token is wrong, expired or revoked.")
    field.fill(f"  {token}\n")
    field.press("Enter")
    shows(page, "No populations yet")
    expect(page.locator("header .level")).to_have_text("admin")
    assert token not in page.url + page.content()
    kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"
    assert token not in page.evaluate(kept) and "arena_session" not in page.evaluate(kept)
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    arena_token(served, "revoke", "ada")
    shows(page, "You are not logged in")
    visitor.leave()


def test_a_link_reads_and_its_secret_stays_behind(served: Served, browser: Browser) -> None:
    """In two browsers, one after the other; neither address, request nor referrer tells it."""
    made = arena_token(served, "link", "guests", "--expires", "1h")["url"]
    address, _, token = made.partition("#token=")
    assert address == f"{served.url}/" and len(token) > 40
    sent: list[str] = []

    def note(request: Request) -> None:
        headers = {**request.headers, "cookie": ""}
        sent.append(f"{request.url} {headers}")

    for width in (1280, 320):
        visitor = Visitor(browser, served.url, width=width)
        visitor.expected.add(401)
        visitor.context.on("request", note)
        visitor.page.goto(made)
        shows(visitor.page, "opulations")
        expect(visitor.page.locator("header .level")).to_have_text("viewer")
        assert visitor.page.url == f"{served.url}/app/populations"
        assert visitor.page.evaluate("history.length") <= 2
        if width == 320:
            assert visitor.too_wide_px <= 0
            revoke_token(served.data / "service", "guests")
            shows(visitor.page, "You are not logged in")
            visitor.page.goto("about:blank")
            visitor.page.goto(made)
            shows(visitor.page, "This token is wrong, expired or revoked.")
            assert visitor.too_wide_px <= 0
        visitor.leave()
    assert sent and not [line for line in sent if token in line]


def test_a_link_takes_nothing_from_an_admin(served: Served, visit: Visit) -> None:
    """Neither to the right to change, nor in the address."""
    token = create_token(served.data / "service", "other", "viewer", None)
    visitor = visit(served)
    visitor.page.goto(f"{served.url}/app/system#token={token}")
    shows(visitor.page, "Nothing trains here now")
    expect(visitor.page.locator("header .level")).to_have_text("admin")
    assert visitor.page.url == f"{served.url}/app/system"
    revoke_token(served.data / "service", "other")


def test_nothing_is_asked_while_the_session_ends(served: Served, visit: Visit) -> None:
    """A change arrives after the service has ended the session and before the page knows it: what
    the page asked then would be refused, and a refusal is an error in the browser's console.
    """
    visitor = visit(served)
    page = visitor.see("populations")
    shows(page, "No populations yet")
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)

    def late(route: Route) -> None:
        answer = route.fetch()
        served.call("POST", "/v1/populations", {"name": "late", "config": SMALL})
        served.call("DELETE", "/v1/populations/late")
        page.wait_for_timeout(3000)
        route.fulfill(response=answer)

    page.route(
        "**/v1/session", lambda route: late(route) if leaves(route.request) else route.continue_()
    )
    with page.expect_response(lambda answer: leaves(answer.request)):
        page.get_by_role("button", name="Log out").click()
    shows(page, "You are not logged in")


def test_a_session_that_cannot_be_ended_goes_on(served: Served, visit: Visit) -> None:
    visitor = visit(served)
    visitor.down = True
    page = visitor.see("populations")
    shows(page, "No populations yet")
    page.route(
        "**/v1/session",
        lambda route: route.abort() if leaves(route.request) else route.continue_(),
    )
    with page.expect_event("requestfailed", lambda request: leaves(request)):
        page.get_by_role("button", name="Log out").click()
    shows(page, "No populations yet")
    expect(page.locator("header .level")).to_have_text("admin")


def leaves(request: Request) -> bool:
    return request.method == "DELETE"
