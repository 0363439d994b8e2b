"""How the page reads: answers that are cut off, hidden tabs, views that fail, charts
that change, keys instead of a mouse.
"""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.web.browser import WAIT_MS, Visitor, shows
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
"""What a tab does that is shown again."""
HIDE = (
    "(hidden) => { Object.defineProperty(document, 'hidden', { configurable: true, "
    f"get: () => hidden }}); {LOOK_AGAIN}; }}"
)
PICTURE = "(canvas) => canvas.toDataURL()"


def test_an_answer_that_was_cut_off_is_asked_for_again(trained: Served, visit: Visit) -> None:
    """One view that asks every so often, and one that waits for events."""
    visitor = visit(trained)
    for view, asked, shown in (
        ("populations", "**/v1/populations?*", "first"),
        ("populations/first/values", "**/hyperparameters", "Rounds"),
    ):
        visitor.page.route(
            asked,
            lambda route: route.fulfill(
                status=200, content_type="application/json", body='{"items": ['
            ),
        )
        page = visitor.see(view)
        shows(page, "The service does not answer")
        page.unroute(asked)
        shows(page, shown)
        expect(page.get_by_text("The service does not answer")).to_have_count(0)


def test_a_hidden_tab_asks_nothing(served: Served, visit: Visit) -> None:
    visitor = visit(served)
    visitor.expected.add(404)
    away = visitor.see("populations")
    shows(away, "No populations yet")
    expect(away.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    with away.expect_event("requestfinished"):
        away.evaluate(LOOK_AGAIN)
    away.evaluate(HIDE, True)
    here = visitor.context.new_page()
    here.goto(away.url)
    expect(here.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    away.on("request", note)
    for name in ("one", "two", "three"):
        served.call("POST", "/v1/populations", {"name": name, "config": SMALL})
        shows(here, name)
    assert asked == []
    away.evaluate(HIDE, False)
    shows(away, "three")
    assert asked != []
    for name in ("one", "two", "three"):
        served.call("DELETE", f"/v1/populations/{name}")
    shows(here, "No populations yet")


def test_an_address_with_a_wrong_encoding(served: Served, visit: Visit) -> None:
    shows(visit(served).see("%"), "There is no such page")


def test_a_view_that_fails_leaves_the_rest(served: Served, visit: Visit) -> None:
    visitor = visit(served)
    visitor.failing = True
    page = visitor.page
    page.route("**/v1/system", lambda route: route.fulfill(json={"problems": []}), times=1)
    visitor.see("system")
    shows(page, "This view cannot be shown")
    page.get_by_role("link", name="Populations").click()
    shows(page, "No populations yet")
    page.get_by_role("link", name="System").click()
    shows(page, "Nothing trains here now")


def chart(page: Page) -> Any:
    return page.locator(".uplot canvas").first


def told_at(page: Page, share: float) -> str:
    """What the line below the chart says where the pointer is, at this share of its width."""
    over = page.locator(".u-over").first
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": share * box["width"], "y": box["height"] / 2})
    return page.locator("p.under").first.inner_text()


def choose_right_half(page: Page) -> None:
    """Of a chart, by dragging."""
    box = page.locator(".u-over").first.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], middle, steps=4)
    page.mouse.up()
    expect(page.locator(".u-select").first).to_have_css("width", "0px")


def test_a_chart_draws_what_changed_and_keeps_the_part_that_was_chosen(
    trained: Served, visit: Visit
) -> None:
    """The number of points, the newest and its interval are as they were: only the middle
    differs.
    """
    visitor = visit(trained)
    page = visitor.see("populations/first/curves?key=entropy")
    expect(chart(page)).to_be_visible(timeout=WAIT_MS)
    changes = [0.5, 0.25]

    def answer(route: Route) -> None:
        told = json.loads(
            route.fetch(
                headers={
                    name: text
                    for name, text in route.request.headers.items()
                    if name != "if-none-match"
                }
            ).text()
        )
        values = told["members"]["m0"]["entropy"]["values"]
        told["members"]["m0"]["entropy"]["values"] = [
            value * changes[0] if 0 < index < len(values) - 1 else value
            for index, value in enumerate(values)
        ]
        route.fulfill(json=told)

    page.route("**/v1/populations/first/metrics?keys=entropy*", answer)
    before = chart(page).evaluate(PICTURE)
    page.evaluate(LOOK_AGAIN)
    trained.wait(lambda: chart(page).evaluate(PICTURE) != before)
    whole = told_at(page, 0.02)
    choose_right_half(page)
    part = told_at(page, 0.02)
    assert part != whole
    before = chart(page).evaluate(PICTURE)
    changes.pop(0)
    page.evaluate(LOOK_AGAIN)
    trained.wait(lambda: chart(page).evaluate(PICTURE) != before)
    told_at(page, 0.5)
    assert told_at(page, 0.02) == part
    page.unroute_all(behavior="wait")


@pytest.mark.parametrize(
    "view", ["populations/first/curves?key=entropy", "compare?population=first&metric=entropy"]
)
def test_the_address_says_which_part_of_a_chart_is_shown(
    view: str, trained: Served, visit: Visit
) -> None:
    """What is hidden and what was chosen by dragging come back with a reload; a double click
    shows all of it.
    """
    visitor = visit(trained)
    page = visitor.see(view)
    expect(chart(page)).to_be_visible(timeout=WAIT_MS)
    whole = told_at(page, 0.02)
    line = page.locator(".legend button").first
    line.click()
    choose_right_half(page)
    part = told_at(page, 0.02)
    assert part != whole
    page.reload()
    expect(line).to_have_attribute("aria-pressed", "false", timeout=WAIT_MS)
    expect(page.locator(".legend button").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(chart(page)).to_be_visible(timeout=WAIT_MS)
    trained.wait(lambda: told_at(page, 0.02) == part)
    page.locator(".u-over").first.dblclick()
    line.click()
    trained.wait(lambda: "hide=" not in page.url and "zoom=" not in page.url)
    page.reload()
    expect(chart(page)).to_be_visible(timeout=WAIT_MS)
    trained.wait(lambda: told_at(page, 0.02) == whole)


def test_a_training_that_ended_tells_of_no_process_as_if_it_lived(
    trained: Served, visit: Visit
) -> None:
    page = visit(trained).see("populations/first/health")
    shows(page, "as they were at the end")
    expect(page.get_by_role("columnheader", name="restarts")).to_be_visible()
    expect(page.get_by_role("columnheader", name="sign of life")).to_have_count(0)


def test_the_reason_of_a_dash_is_read_without_a_mouse(trained: Served, visit: Visit) -> None:
    trained.call("POST", "/v1/populations", {"name": "waiting", "config": SMALL})
    page = visit(trained).see("populations")
    row = page.locator("tbody tr").filter(has_text="waiting")
    dash = row.locator("td[data-name='progress'] .missing")
    reason = dash.locator(".unseen")
    expect(dash).to_be_visible(timeout=WAIT_MS)
    hidden = reason.bounding_box()
    dash.focus()
    shown = reason.bounding_box()
    assert hidden is not None and shown is not None
    assert hidden["width"] <= 1 and shown["width"] > 30, "it has not trained yet"
    trained.call("DELETE", "/v1/populations/waiting")


def test_a_change_of_view_takes_the_keys_along_and_is_announced(
    trained: Served, visit: Visit
) -> None:
    page = visit(trained).see("populations")
    page.get_by_role("link", name="first", exact=True).click()
    shows(page, "Members")
    expect(page.locator("main")).to_be_focused()
    announced = page.locator("body > #app > p[aria-live]")
    expect(announced).to_have_text("populations · first")
    tab = page.get_by_role("link", name="Ratings")
    tab.focus()
    page.keyboard.press("Enter")
    shows(page, "Rating over frames")
    expect(tab).to_be_focused()
    expect(announced).to_have_text("populations · first · ratings")


def test_a_viewer_logs_in_by_a_link_of_an_admin(trained: Served, browser: Browser) -> None:
    """By the command that a person types."""
    words = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "open",
        "--viewer",
        "--no-browser",
        "--data",
        str(trained.data),
    ]
    link = subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()
    visitor = Visitor(browser, trained.url)
    visitor.page.goto(link)
    shows(visitor.page, "first")
    expect(visitor.page.locator(".level")).to_have_text("viewer")
    expect(visitor.page.get_by_role("button", name=re.compile("Delete|Start|Stop"))).to_have_count(
        0
    )
    visitor.leave()


def test_older_games_are_a_page_further_and_the_address_says_which(
    trained: Served, visit: Visit
) -> None:
    visitor = visit(trained)
    page = visitor.page
    page.route(
        "**/v1/populations/first/games?*",
        lambda route: route.continue_(url=route.request.url.replace("limit=100", "limit=5")),
    )
    visitor.see("populations/first/games")
    numbers = page.locator("main tbody td:first-child")
    expect(numbers).to_have_count(5, timeout=WAIT_MS)
    newest = numbers.all_inner_texts()
    page.get_by_role("button", name="Older games").click()
    expect(numbers.first).not_to_have_text(newest[0])
    older = numbers.all_inner_texts()
    assert set(newest).isdisjoint(older)
    page.reload()
    expect(numbers.first).to_have_text(older[0], timeout=WAIT_MS)
    page.get_by_role("button", name="Newest games").click()
    expect(numbers.first).to_have_text(newest[0])
    page.unroute_all(behavior="wait")


def test_a_match_of_two_who_need_not_have_met(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("matches")
    page.get_by_text("New match").click()
    page.get_by_label("First player").select_option("random")
    page.get_by_label("Second player").select_option("first@best")
    page.get_by_label("Games").fill("20")
    page.get_by_role("button", name="Start the match").click()
    page.wait_for_url("**/evaluations/*")
    expect(page.locator(".chip", has_text="succeeded")).to_be_visible(timeout=2 * WAIT_MS)
    shows(page, "20 of 20")
