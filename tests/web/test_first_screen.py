"""The first screen of a population, and the list of populations: is it learning, which player is
the best, what did PBT do, is anything broken.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from arena.data.paths import population_paths
from arena.data.status import read_status, write_status
from tests.web.browser import WAIT_MS, Visitor, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

QUESTIONS = ("Is it learning?", "Who is best?", "What did PBT do?", "Is anything broken?")
SHORT = {"stop_at_frames": 6_000, "evaluation": {"share": 0.2, "final_games": 30}}


@pytest.fixture(scope="module")
def several(trained: Served) -> Iterator[Served]:
    """Beside `first`, which has finished: `alone`, of one seat, and `hurt`, a member of which died
    while updates of the other were refused.
    """
    trained.train("alone", **{**SHORT, "env": {"name": "cartpole"}})
    trained.train("hurt", **SHORT)
    trained.wait(lambda: all(trained.state(name) == "finished" for name in ("alone", "hurt")))
    path = population_paths(trained.data, "hurt").status
    status = read_status(path)
    assert status is not None
    well, ill = status.members
    well = replace(well, updates=4, refused_updates=36)
    ill = replace(ill, state="failed", failure="its weights are not finite")
    write_status(path, replace(status, members=(well, ill)))
    yield trained
    for name in ("alone", "hurt"):
        trained.call("DELETE", f"/v1/populations/{name}")


def assessed(served: Served, name: str) -> Any:
    return served.call("GET", f"/v1/populations/{name}/assessment")


def met_random(member: Any) -> str:
    """What its row says; the newest snapshot of a short training may have met only others."""
    games = member["score_games"]
    return f"{games} games against random" if games else "it has not met that player yet"


def verdict(page: Page) -> Any:
    return page.get_by_role("region").filter(has=page.locator(".sentence"))


def whole(visitor: Visitor, axe: Path, name: str) -> None:
    """Nothing is too wide, and axe finds nothing serious."""
    expect(visitor.page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
    visitor.keep(name)
    assert visitor.too_wide_px <= 0, name
    assert visitor.faults(axe) == []


def test_the_verdict_of_a_training_changes_while_it_is_watched(
    trained: Served, visit: Visit, axe: Path
) -> None:
    trained.train("watched", stop_at_frames=50_000_000, snapshots={"every_frames": 4_000})
    visitor = visit(trained)
    page = visitor.see("populations/watched")
    said = page.locator(".verdict .sentence")
    expect(said).to_have_text(re.compile(r"\w"), timeout=WAIT_MS)
    first = said.inner_text()
    expect(said).not_to_have_text(first, timeout=WAIT_MS)
    for question in QUESTIONS:
        expect(page.locator(".answers dt", has_text=question)).to_be_visible()
    expect(page.locator(".answers dd a")).to_have_count(1, timeout=WAIT_MS)
    rates = page.get_by_role("region", name="Members").locator("td[data-name='win rate'] strong")
    expect(rates.first).to_have_text(re.compile(r"^\d+\.\d %$"), timeout=WAIT_MS)
    # What stands on the page is what the service says, a moment later.
    trained.wait(lambda: said.inner_text() == assessed(trained, "watched")["brief"])
    whole(visitor, axe, "first-screen-live")
    page.get_by_role("button", name="Stop watched").click()
    expect(page.locator(".heading .chip")).to_have_text("stopped", timeout=2 * WAIT_MS)
    trained.call("DELETE", "/v1/populations/watched")


def test_a_finished_population_shows_its_result_first(
    several: Served, visit: Visit, axe: Path
) -> None:
    visitor = visit(several)
    page = visitor.see("populations/first")
    told = assessed(several, "first")
    expect(page.locator(".verdict .sentence")).to_have_text(told["brief"], timeout=WAIT_MS)
    best = page.locator(".answers div", has_text="Who is best?")
    expect(best.get_by_role("link")).to_have_text(told["best"]["player"].removeprefix("first/"))
    expect(best).to_contain_text(f"best of {told['best']['of']}")
    expect(page.get_by_role("heading", name="Rating over frames")).to_be_visible()
    expect(page.get_by_role("heading", name="Win rate against random")).to_be_visible()
    rows = page.get_by_role("region", name="Members").locator("tbody tr")
    expect(rows).to_have_count(len(told["members"]))
    strongest = told["members"][0]
    expect(rows.first).to_contain_text(strongest["member"])
    expect(rows.first).to_contain_text(met_random(strongest))
    shows(page, "What happened last")
    log = page.locator("details", has=page.get_by_text("Log", exact=True))
    expect(log).not_to_have_attribute("open", "")
    whole(visitor, axe, "first-screen-finished")
    best.get_by_role("link").click()
    shows(page, "Where it comes from")


def test_the_order_of_the_members_stands_in_the_address(several: Served, visit: Visit) -> None:
    page = visit(several).see("populations/first")
    rows = page.get_by_role("region", name="Members").locator("tbody tr")
    expect(rows).to_have_count(2, timeout=WAIT_MS)
    page.get_by_label("Sort by").select_option("name")
    expect(rows.first).to_contain_text("m0")
    assert "sort=name" in page.url
    page.reload()
    expect(page.get_by_label("Sort by")).to_have_value("name", timeout=WAIT_MS)
    expect(rows.last).to_contain_text("m1")


def test_a_planted_fault_is_told_with_the_member(several: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(several)
    page = visitor.see("populations/hurt")
    expect(page.locator(".verdict h2")).to_contain_text("broken", timeout=WAIT_MS)
    assert assessed(several, "hurt")["conclusion"] == "broken"
    answer = page.locator(".answers div", has_text="Is anything broken?")
    expect(answer.locator("strong")).to_have_text("Yes")
    expect(answer).to_contain_text("its weights are not finite")
    expect(answer.get_by_role("link", name="m1")).to_be_visible()
    found = page.get_by_role("list", name="Findings")
    expect(found).to_contain_text("36 of")
    expect(found.get_by_role("link", name="m0")).to_be_visible()
    page.get_by_label("Sort by").select_option("health")
    rows = page.get_by_role("region", name="Members").locator("tbody tr")
    expect(rows.first).to_contain_text("dead")
    expect(rows.nth(1)).to_contain_text("refusing")
    whole(visitor, axe, "first-screen-broken")
    row = visitor.see("populations?find=hurt").locator("tbody tr")
    expect(row).to_contain_text("broken", timeout=WAIT_MS)


def test_one_seat_counts_in_returns_everywhere(several: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(several)
    page = visitor.see("populations/alone")
    shows(page, "mean return")
    expect(page.get_by_role("heading", name="Return over frames")).to_be_visible(timeout=WAIT_MS)
    expect(page.locator("td[data-name='win rate']")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("Elo")
    whole(visitor, axe, "first-screen-one-seat")
    row = visitor.see("populations?find=alone").locator("tbody tr")
    expect(row.locator("td[data-name='best']")).to_contain_text("mean return", timeout=WAIT_MS)
    games = visitor.see("populations/alone/games").locator("td[data-name='return']")
    expect(games.first).to_have_text(re.compile(r"^\d+$"), timeout=WAIT_MS)
    expect(page.locator("main")).not_to_contain_text("drawn")
    for view in ("ratings", "matrix", "policies/best"):
        page = visitor.see(f"populations/alone/{view}")
        expect(page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
        shows(page, re.compile("[Rr]eturn"))
        expect(page.locator("main")).not_to_contain_text(re.compile("No evaluation games yet|Elo"))


def test_the_list_is_searched_and_sorted_and_asks_once(several: Served, visit: Visit) -> None:
    visitor = visit(several)
    page, asked = visitor.page, list[str]()
    page.on("request", lambda request: asked.append(request.url))
    visitor.see("populations?sort=name")
    names = page.locator("tbody td[data-name='name'] a")
    expect(names).to_have_count(3, timeout=WAIT_MS)
    assert names.all_inner_texts() == ["alone", "first", "hurt"]
    expect(page.locator("td[data-name='name']").nth(1)).to_contain_text("connect_four, 2 members")
    of_rows = [url for url in asked if "/v1/" in url and re.search("alone|first|hurt", url)]
    assert of_rows == []
    page.get_by_label("Sort by").select_option("trouble")
    expect(names.first).to_have_text("hurt")
    page.get_by_label("Search").fill("ALO")
    expect(names).to_have_text(["alone"])
    page.reload()
    expect(names).to_have_text(["alone"], timeout=WAIT_MS)
    expect(page.get_by_label("Search")).to_have_value("ALO")
    page.get_by_label("Search").fill("nothing-like-this")
    page.get_by_role("button", name="Show all").click()
    expect(names).to_have_count(3)
