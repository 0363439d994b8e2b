"""The dashboard before a training that goes on, whatever happens to tabs, processes and the
service.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from arena.data.paths import population_paths
from arena.data.status import read_status
from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ON_SCREEN_S = 2.0
EVENTS = 5

NOTE_ROWS = """() => {
    const seen = (window.seen = {});
    const note = () => {
        for (const row of document.querySelectorAll("main tbody tr")) seen[row.lastElementChild.textContent] ??= Date.now() / 1000;
    };
    new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
    note();
}"""  # noqa: E501
"""When each row was first on the page: `window.seen`, by the text of its last column."""


@pytest.fixture(scope="module")
def live(trained: Served) -> Iterator[Served]:
    """`live` trains, beside `first`, which has finished."""
    pbt = {"period_frames": 40_000, "warmup_frames": 0, "min_games": 10}
    trained.train("live", stop_at_frames=50_000_000, snapshots={"every_frames": 20_000}, pbt=pbt)
    trained.wait(lambda: trained.state("live") == "running")
    yield trained
    trained.call("DELETE", "/v1/populations/live")
    trained.wait(
        lambda: "live" not in [one["id"] for one in trained.call("GET", "/v1/populations")["items"]]
    )


def events(live: Served) -> list[dict[str, Any]]:
    """Newest first, as the page shows them."""
    page = live.call("GET", "/v1/populations/live/events?limit=5000")
    found: list[dict[str, Any]] = page["items"]
    return found


def grows(page: Page, number: str) -> None:
    """A number on the page changes, without a reload."""
    place = page.locator(number)
    expect(place).to_have_text(re.compile(r"\d"), timeout=WAIT_MS)
    before = place.inner_text()
    expect(place).not_to_have_text(before, timeout=WAIT_MS)


def test_what_is_committed_is_on_the_screen_within_two_seconds(live: Served, visit: Visit) -> None:
    page = visit(live).see("populations/live/events")
    shows(page, "saved")
    page.evaluate(NOTE_ROWS)
    began = time.time()

    def seen() -> dict[str, float]:
        """Text -> how long after its commit it was on the page."""
        when = page.evaluate("window.seen")
        fresh = [
            event
            for event in events(live)
            if event["created_at"] > began and event["kind"] == "checkpoint"
        ]
        return {
            event["text"]: when[event["text"]] - event["created_at"]
            for event in fresh
            if event["text"] in when
        }

    live.wait(lambda: len(seen()) >= EVENTS)
    late = seen()
    print("commit to screen, s:", ", ".join(f"{seconds:.2f}" for seconds in sorted(late.values())))
    assert max(late.values()) <= ON_SCREEN_S, late


def test_frames_and_speed_go_on_without_a_reload(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    page = visitor.see("populations")
    row = "tbody tr:has-text('live') "
    grows(page, row + "td[data-name='progress'] .note .number")
    visitor.keep("live-populations")
    page.get_by_role("link", name="live", exact=True).click()
    grows(page, ".facts dd >> nth=0")
    grows(page, "tbody tr >> nth=0 >> td[data-name='frames']")
    expect(page.locator(".verdict .far")).to_contain_text(
        re.compile(r"[\d.]+k? frames/s"), timeout=WAIT_MS
    )
    visitor.keep("live-overview")


def test_the_ratings_take_every_game(live: Served, visit: Visit) -> None:
    """The page follows: later it counts more games, and as many as the service."""
    visitor = visit(live)
    page = visitor.see("populations/live/ratings")
    games = page.locator("section:has(.note) td:nth-child(6)")
    expect(games.first).to_be_visible(timeout=WAIT_MS)

    def total() -> int:
        return sum(int(text) for text in games.all_inner_texts())

    before = total()
    live.wait(lambda: total() > before)
    visitor.keep("live-ratings")
    now = sum(row["games"] for row in live.call("GET", "/v1/ratings?population=live")["players"])
    live.wait(lambda: total() >= now)


def test_an_edit_is_in_force_while_it_trains(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    page = visitor.see("populations/live/config")
    form = page.get_by_role("form", name="Edits")
    form.get_by_label("Stop at frames").fill("40_000_000")
    form.get_by_label("PBT period").fill("80000")
    form.get_by_label("Evaluation share").fill("0.25")
    form.get_by_label("Snapshot every").fill("60000")
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("at its next rest")
    page.get_by_text("The whole config, as JSON").click()
    expect(page.locator("pre")).to_contain_text('"share": 0.25', timeout=WAIT_MS)
    expect(page.locator("pre")).to_contain_text('"stop_at_frames": 40000000')
    expect(page.locator("main")).not_to_contain_text("Not in force yet", timeout=WAIT_MS)
    visitor.keep("live-edited")
    page.get_by_role("link", name="Events").click()
    for text in (
        "stop_at_frames: 50000000 -> 40000000",
        "pbt.period_frames: 40000 -> 80000",
        "evaluation.share: 0.2 -> 0.25",
    ):
        shows(page, text)
    assert not [event for event in events(live) if event["kind"] == "resume"], (
        "taken without a new start"
    )


def test_its_processes_are_seen_and_one_that_died_is_told(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    page = visitor.see("populations/live/health")
    shows(page, "Nothing is wrong")
    worker = page.locator("tbody tr").filter(has_text="worker").first
    expect(worker).to_contain_text(re.compile(r"simulate \d+ %"))
    visitor.keep("live-health")
    status = read_status(population_paths(live.data, "live").status)
    assert status is not None
    os.kill(
        next(process.pid for process in status.processes if "worker" in process.roles),
        signal.SIGKILL,
    )
    expect(page.get_by_role("list", name="Warnings")).to_contain_text(
        "was started again once", timeout=2 * WAIT_MS
    )
    visitor.keep("live-warned")
    shows(visitor.see("populations"), "was started again once")
    shows(visitor.see("system"), re.compile(r"live\s*worker"))


def test_compared_while_one_of_them_trains(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    page = visitor.see("compare?population=first&population=live&metric=entropy&x=time")
    for name in ("first/m0", "first/m1", "live/m0", "live/m1"):
        expect(page.locator(".legend button", has_text=name)).to_be_visible(timeout=WAIT_MS)
    page.get_by_text("Numbers").click()
    rows = page.locator("tbody tr").filter(has_text="live/m0")
    before = rows.last.inner_text()
    expect(rows.last).not_to_have_text(before, timeout=WAIT_MS)
    visitor.keep("live-compare")


def test_the_interval_of_a_match_shrinks_while_it_is_watched(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    made = live.call(
        "POST",
        "/v1/evaluations",
        {"players": ["random", "oneply"], "env": "connect_four", "games": 2000},
    )
    page = visitor.see(f"evaluations/{made['id']}")
    expect(page.locator(".chip", has_text="succeeded")).to_be_visible(timeout=2 * WAIT_MS)
    page.get_by_text("Numbers").click()
    cells = [
        text.split("\t")
        for text in page.locator("section.figure", has_text="Score as games came in")
        .locator("tbody tr")
        .all_inner_texts()
    ]
    widths = [
        float(high.removesuffix(" %")) - float(low.removesuffix(" %")) for _, _, low, high in cells
    ]
    assert len(widths) >= 3 and widths[-1] < 0.5 * widths[0], widths
    visitor.keep("live-match")


def test_seven_tabs_share_one_stream(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    shows(visitor.see("populations/live"), "Members")
    for _ in range(6):
        visitor.context.new_page().goto(f"{live.url}/app/populations/live")
    for page in visitor.context.pages:
        expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
        grows(page, ".facts dd >> nth=0")
    live.wait(lambda: "\narena_sse_clients 1.0\n" in live.text("/metrics"))
    # The reader leaves: another tab takes its turn.
    visitor.context.pages[0].close()
    for page in visitor.context.pages:
        expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    live.wait(lambda: "\narena_sse_clients 1.0\n" in live.text("/metrics"))
    visitor.page = visitor.context.pages[0]


def test_a_session_that_ends_while_it_trains(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    visitor.expected.add(401)
    page = visitor.see("populations/live")
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    visitor.context.clear_cookies()
    shows(page, "You are not logged in")
    page.goto(f"{live.url}/#code={live.code()}")
    shows(page, "live")


def test_live_on_a_phone(live: Served, visit: Visit) -> None:
    visitor = visit(live, width=320)
    for view in ("populations", "populations/live", "populations/live/health"):
        page = visitor.see(view)
        expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
        shows(page, "running")
        expect(page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
        visitor.keep(f"live-{view.replace('/', '-')}-320")
        assert visitor.too_wide_px <= 0, view


def test_paused_and_resumed_from_the_page(live: Served, visit: Visit) -> None:
    page = visit(live).see("populations/live")
    page.get_by_role("button", name="Pause live").click()
    expect(page.locator(".heading .chip")).to_have_text("paused", timeout=2 * WAIT_MS)
    page.get_by_role("button", name="Resume live").click()
    expect(page.locator(".heading .chip")).to_have_text("running", timeout=2 * WAIT_MS)
    grows(page, ".facts dd >> nth=0")


def test_a_service_that_was_killed_comes_back_without_gap_or_duplicate(
    live: Served, visit: Visit
) -> None:
    """Nothing is reloaded: the page says how old it is, then shows every event once, those of
    the time between among them.
    """
    visitor = visit(live)
    page = visitor.see("populations/live/events")
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    shows(page, "saved")
    visitor.down = True
    live.kill()
    expect(page.locator(".badge.stale")).to_be_visible(timeout=WAIT_MS)
    shows(page, "saved")
    visitor.keep("stale")
    live.start()
    live.wait(lambda: live.state("live") == "running")
    expect(page.locator(".badge.live")).to_be_visible(timeout=WAIT_MS)
    visitor.down = False
    resumed = next(event for event in events(live) if event["kind"] == "resume")
    shows(page, resumed["text"])
    newest = events(live)[0]["text"]
    live.wait(lambda: events(live)[0]["text"] != newest)
    shows(page, events(live)[0]["text"])
    shown = page.locator("tbody tr td:last-child").all_inner_texts()
    told = [event["text"] for event in events(live)]
    first = told.index(shown[0])
    assert shown == told[first : first + len(shown)], "each event once, in their order"
