"""The dashboard in a real browser before a real service."""

import json
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browser import WAIT_MS, Visitor
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

VIEWS = {
    "populations": "demo",
    "populations/new/population?template=demo": "Template",
    "populations/first": "Members",
    "populations/first/ratings": "Rating over frames",
    "populations/first/matrix": "Who beats whom",
    "populations/first/values": "Rounds",
    "populations/first/lineage": "Who trained on with whose weights",
    "populations/first/curves": "entropy",
    "populations/first/events": "finish",
    "populations/first/config": "stop_at_frames",
    "populations/first/policies/best": "Where it comes from",
    "league": "Who beats whom",
    "matches": "All of the league",
    "compare?metric=entropy": "entropy over frames",
}
"""View -> what it shows once everything has come."""


def shows(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("main")).to_contain_text(text, timeout=WAIT_MS)


def test_a_code_logs_in_once_and_a_used_one_says_what_to_do(served: Served, browser: Browser) -> None:
    visitor = Visitor(browser, served.url)
    visitor.see("populations")
    shows(visitor.page, "Nobody is logged in here")
    code = served.code()
    visitor.page.goto(f"{served.url}/#code={code}")
    shows(visitor.page, "No populations yet")
    assert code not in visitor.page.url
    visitor.page.get_by_role("button", name="Log out").click()
    shows(visitor.page, "Nobody is logged in here")
    visitor.expected.add(401)
    visitor.page.goto("about:blank")
    visitor.page.goto(f"{served.url}/#code={code}")
    shows(visitor.page, "wrong, used or old")
    visitor.leave()


def test_an_empty_league_says_how_to_begin(served: Served, visit: Visit) -> None:
    visitor = visit(served)
    for view, text in {
        "populations": "Make one from a template",
        "league": "Nobody plays yet",
        "matches": "No match was played",
        "compare": "Nothing",
    }.items():
        shows(visitor.see(view), text)
        visitor.keep(f"empty-{view}")
    visitor.expected.add(404)
    shows(visitor.see("populations/nobody"), "nobody")
    shows(visitor.see("nothing/here"), "There is no such page")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (320, False)], ids=["light", "dark", "phone"])
def test_every_view(trained: Served, visit: Visit, width: int, dark: bool) -> None:
    visitor = visit(trained, width=width, dark=dark)
    for view, text in VIEWS.items():
        shows(visitor.see(view), text if view != "populations" else "first")
        expect(visitor.page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
        visitor.keep(f"{re.sub(r'[^a-z]+', '-', view)}-{'dark' if dark else 'light'}-{width}")
        assert visitor.too_wide_px <= 0, view


def test_numbers_stand_beside_every_chart_and_go_into_files(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    page = visitor.see("populations/first/ratings")
    figure = page.locator("section.figure").filter(has_text="Rating over frames")
    figure.get_by_text("Numbers").click()
    expect(figure.locator("tbody tr").first).to_be_visible()
    rows = figure.locator("tbody tr").count()
    with page.expect_download() as waiting:
        figure.get_by_role("button", name="CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "member,frames,Elo,low,high,games" and len(lines) == rows + 1 > 4
    known = {row["id"]: row for row in trained.call("GET", "/v1/ratings?population=first")["players"]}
    assert {float(line.split(",")[2]) for line in lines[1:]} <= {row["elo"] for row in known.values()}


def test_an_address_restores_its_view(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("populations/first/curves")
    page.get_by_role("button", name="grad_norm").click()
    expect(page.locator("h3", has_text="grad_norm")).to_be_visible()
    address = page.url
    page.reload()
    expect(page.locator("h3", has_text="grad_norm")).to_be_visible()
    page.get_by_role("link", name="Events").click()
    shows(page, "finish")
    page.go_back()
    assert page.url == address
    expect(page.locator("h3", has_text="grad_norm")).to_be_visible()


def test_markup_in_an_address_stays_text(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected |= {404, 422}
    page = visitor.see("league?population=%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D1%3E")
    expect(page.locator("option", has_text="<img")).to_have_count(1)
    expect(page.get_by_role("alert").first).to_be_visible()
    assert page.locator("main img").count() == 0 and page.title() != "1"


def test_a_match_from_the_matrix_by_keyboard(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    page = visitor.see("populations/first/matrix")
    page.locator("canvas").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    while "games" not in (told := page.locator("p.under").inner_text()):
        assert "have not met" in told or "itself" in told
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_label("Games").fill("40")
    page.get_by_role("button", name="Start the match").click()
    expect(page.locator(".chip", has_text="succeeded")).to_be_visible(timeout=WAIT_MS)
    shows(page, "Score of")
    shows(page, "40 of 40")
    visitor.keep("evaluation")
    page.get_by_role("link", name="Its games").click()
    expect(page.locator("tbody tr")).to_have_count(40)
    shows(page, re.compile(r"first/m\d@\S+ won"))


def test_a_viewer_sees_everything_and_can_change_nothing(trained: Served, visit: Visit) -> None:
    page = visit(trained, level="viewer").see("populations")
    shows(page, "finished")
    assert page.get_by_role("button").all_inner_texts() == ["Log out"]


def test_an_expired_session_asks_to_log_in(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected.add(401)
    shows(visitor.see("populations"), "first")
    visitor.context.clear_cookies()
    shows(visitor.page, "Nobody is logged in here")


def test_seven_tabs_share_one_stream(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    shows(visitor.see("populations"), "first")
    for _ in range(6):
        visitor.context.new_page().goto(f"{trained.url}/app/populations")
    for page in visitor.context.pages:
        expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    trained.wait(lambda: "\narena_sse_clients 1.0\n" in trained.text("/metrics"))


def test_a_page_outlives_a_restart_of_the_service(trained: Served, visit: Visit) -> None:
    """Without a reload: it says how old it is, and then what happened since."""
    visitor = visit(trained)
    visitor.expected.add(404)  # a row may ask once more for what was just deleted
    page = visitor.see("populations")
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    visitor.down = True
    trained.stop()
    expect(page.locator(".badge.stale")).to_be_visible(timeout=WAIT_MS)
    shows(page, "first")
    visitor.keep("stale")
    trained.start()
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    visitor.down = False
    trained.call("POST", "/v1/populations", {"name": "later", "config": SMALL})
    shows(page, "later")
    trained.call("DELETE", "/v1/populations/later")
    expect(page.locator("main")).not_to_contain_text("later", timeout=WAIT_MS)


def test_a_population_from_its_template_to_its_deletion(served: Served, visit: Visit) -> None:
    """Made with a wrong value first, watched while it trains, stopped, deleted; never reloaded."""
    visitor = visit(served)
    visitor.expected |= {404, 422}
    page = visitor.see("populations/new/population?template=demo")
    page.get_by_label("Name").fill("second")
    page.get_by_text("The whole config", exact=True).click()
    page.get_by_label("The whole config as JSON").fill(json.dumps({**SMALL, "stop_at_frames": 50_000_000}))
    page.get_by_label("Members").fill("0")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".field.invalid")).to_contain_text("Members")
    visitor.keep("new-wrong")
    page.get_by_label("Members").fill("2")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".chip")).to_have_text("running", timeout=WAIT_MS)
    grows(page)
    page.get_by_role("button", name="Stop second").click()
    expect(page.locator(".chip")).to_have_text("stopped", timeout=2 * WAIT_MS)
    page.get_by_role("link", name="pbt-arena").click()
    page.get_by_role("button", name="Delete second").click()
    visitor.keep("confirm")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert served.state("second") == "stopped"
    page.get_by_role("button", name="Delete second").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete second").click()
    shows(page, "No populations yet")


def grows(page: Page) -> None:
    """Frames on the page, without a reload."""
    frames = page.locator(".facts dd").first
    expect(frames).to_have_text(re.compile(r"\d"), timeout=WAIT_MS)
    before = frames.inner_text()
    expect(frames).not_to_have_text(before, timeout=WAIT_MS)


def test_no_page_may_run_code_that_stands_in_it(served: Served, visit: Visit) -> None:
    page = visit(served).see("populations")
    shows(page, "opulations")
    policy = page.request.get(page.url).headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
