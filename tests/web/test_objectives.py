"""The dashboard counts in the objective of a game, and says which one it is."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NUMBER = r"[+−]?\d[\d.]*(e[+−]?\d+)?"


@pytest.fixture(scope="module")
def chips(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service where a population of a game of margins has trained, and played a fresh match."""
    running = Served(tmp_path_factory.mktemp("chips") / "data")
    running.train("chips", env={"name": "leduc_holdem"})
    running.wait(lambda: running.state("chips") == "finished")
    match = {"players": ["chips@best", "random"], "games": 40, "fresh": True}
    running.call("POST", "/v1/evaluations", match)
    running.wait(lambda: running.call("GET", "/v1/evaluations/1")["state"] == "SUCCEEDED")
    yield running
    running.stop()


def test_ratings_are_margins(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("populations/chips/ratings")
    shows(page, "margin a game of each snapshot")
    figure = page.locator("section.figure").filter(has_text="Rating over frames")
    figure.get_by_text("Numbers").click()
    with page.expect_download() as waiting:
        figure.get_by_role("button", name="CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "member,frames,margin a game,low,high,games"
    known = chips.call("GET", "/v1/ratings?population=chips")["players"]
    told = {float(cell) for line in lines[1:] if (cell := line.split(",")[2])}
    assert told and told <= {row["margin"] for row in known}
    table = page.get_by_role("region", name="Ratings")
    expect(table.locator("th", has_text="margin a game")).to_be_visible()
    cells = table.locator("tbody tr td:nth-child(3)").all_inner_texts()
    shown = [text for text in cells if not text.startswith("–")]
    assert shown and all(re.fullmatch(rf"([<>]= )?{NUMBER}", text) for text in shown), cells
    shows(page, re.compile(r"chips@best is chips/m\d@\S+: the highest lower end"))
    shows(page, re.compile(rf"Fresh games against random: margin {NUMBER} \[.*\] a game, 20 units"))


def test_the_list_of_populations_shows_the_best_margin(chips: Served, visit: Visit) -> None:
    page = visit(chips).see("populations")
    cell = page.locator("td[data-name='best rating']").first
    report = chips.call("GET", "/v1/ratings?population=chips")
    best = next(row for row in report["players"] if row["id"] == report["best"])
    expect(cell.locator("strong")).to_have_text(f"{best['margin']:+.3g}".replace("-", "−"))


@pytest.mark.parametrize("path", ["matches/1", "evaluations/1"])
def test_the_margin_of_a_match_stands_first(chips: Served, visit: Visit, path: str) -> None:
    page = visit(chips).see(path)
    shows(page, "they count in none")
    heading = page.get_by_role("region", name="Statistics").locator("h2")
    expect(heading).to_have_text(
        re.compile(rf"Margin of \S+: {NUMBER} a game \[{NUMBER}, {NUMBER}\]"), timeout=WAIT_MS
    )
    expect(page.locator("dl.facts div", has_text="decided by")).to_contain_text("margins")
