"""The tab of win rates: over frames, members against each other, circles, changes."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect

from arena.league.database import League, open_league
from arena.league.populations import create_population, open_incarnation
from arena.league.writer import LeagueWriter
from bench.large_population import write as write_large
from pbt.config.load import config_from_table
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot
from tests.web.browser import WAIT_MS, saved, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FRAMES = (1_000, 100_000)
GAMES = 60


def player(member: int, moment: int) -> PlayerRef:
    return PlayerRef("snapshot", f"{2 * member + moment + 1:064x}")


def write_circle(league: League) -> None:
    """Three members that were even at first; then m0 beats m1, m1 beats m2 and m2 beats m0."""
    config = config_from_table({"env": {"name": "connect_four"}}, "test").model_dump(mode="json")
    members = [(f"m{number}", "player") for number in range(3)]
    population = create_population(league, "round", "connect_four", config, {}, members)
    rng = Random(1)
    with LeagueWriter(league, open_incarnation(league, population, os.getpid())) as writer:
        for member in range(3):
            for moment, frames in enumerate(FRAMES):
                taken = snapshot("a", f"m{member}", frames)
                writer.snapshot(replace(taken, snapshot_id=player(member, moment).name))
        number = 0
        for moment, chance in enumerate((0.5, 0.9)):
            for member in range(3):
                for other in (player((member + 1) % 3, moment), RANDOM):
                    for _ in range(GAMES):
                        won = rng.random() < chance
                        seats = (player(member, moment), other)
                        writer.game(game(number, seats, (1 - won, int(won)), "evaluation"))
                        number += 1


@pytest.fixture(scope="module")
def written(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of two finished populations: a circle of three, and one of 64 members."""
    data = tmp_path_factory.mktemp("written") / "data"
    data.mkdir()
    write_large(data, 64, 20)
    with open_league(data / "league.db") as league:
        write_circle(league)
    running = Served(data)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def live(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service in which a population trains all the time."""
    running = Served(tmp_path_factory.mktemp("live") / "data")
    running.train("going", stop_at_frames=50_000_000, evaluation={"share": 0.5})
    running.wait(lambda: bool(running.call("GET", MATRIX)["pairs"]))
    yield running
    running.stop()


MATRIX = "/v1/populations/going/win-rates/matrix?recent=0"


def point_at(page: Page, title: str, wanted: str) -> None:
    """Move with the arrow keys over the rows of a matrix until it tells of these two."""
    of = page.locator("section.figure").filter(has=page.locator("h3", has_text=title))
    of.locator("canvas").focus()
    side = int(
        re.findall(r"of (\d+) players", str(of.locator("canvas").get_attribute("aria-label")))[0]
    )
    page.keyboard.press("ArrowRight")
    for row in range(side):
        for _ in range(side - 1):
            if wanted in of.locator("p.under").inner_text():
                return
            page.keyboard.press("ArrowLeft" if row % 2 else "ArrowRight")
        if wanted in of.locator("p.under").inner_text():
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{title} never tells of {wanted}")


def test_win_rates_grow_while_the_page_is_looked_at(live: Served, visit: Visit) -> None:
    page = visit(live).see("populations/going/matrix?against=random")
    shows(page, "Win rate against random")
    of = page.locator("section.figure").filter(has=page.locator("h3", has_text="Win rate"))
    of.get_by_text("Numbers").click()
    games = of.locator("tbody tr td:nth-child(7)")
    expect(games.first).to_be_visible(timeout=WAIT_MS)

    def played() -> int:
        return sum(int(text) for text in games.all_inner_texts())

    before = played()
    page.wait_for_function(
        "before => [...document.querySelectorAll('section.figure tbody tr td:nth-child(7)')]"
        ".reduce((sum, cell) => sum + Number(cell.textContent), 0) > before",
        arg=before,
        timeout=WAIT_MS,
    )
    page.get_by_label("Opponent").select_option("others")
    shows(page, "Win rate against all other members")
    assert "against=others" in page.url


def test_a_square_leads_to_the_replay_of_a_game(live: Served, visit: Visit) -> None:
    page = visit(live).see("populations/going/matrix?recent=0")
    point_at(page, "Who beats whom", "m0 against m1: ")
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="m0 against m1", exact=True)
    expect(panel.get_by_role("link", name=re.compile("^game ")).first).to_be_visible(
        timeout=WAIT_MS
    )
    assert page.url.count("pair=") == 2
    panel.get_by_role("link", name=re.compile("^game ")).first.click()
    shows(page, "Arrow keys step")
    page.go_back()
    expect(panel).to_be_visible(timeout=WAIT_MS)
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)


def test_a_viewer_sees_games_and_no_form(live: Served, visit: Visit) -> None:
    address = "populations/going/matrix?recent=0&pair=m0&pair=random"
    page = visit(live, level="viewer").see(address)
    panel = page.get_by_role("region", name="m0 against random", exact=True)
    expect(panel.get_by_role("link", name=re.compile("^game ")).first).to_be_visible(
        timeout=WAIT_MS
    )
    expect(panel.get_by_text("Play more")).to_have_count(0)
    page = visit(live).see(address)
    expect(page.get_by_role("button", name="Start the match")).to_be_visible(timeout=WAIT_MS)


def test_a_circle_is_drawn(written: Served, visit: Visit) -> None:
    page = visit(written).see("populations/round/matrix")
    shows(page, "A circle")
    drawn = page.locator("svg.circle-graph")
    assert sorted(drawn.locator("text").all_text_contents()) == ["m0", "m1", "m2"]
    expect(drawn.locator("line")).to_have_count(3)
    told = page.locator("ul.circles li").first.inner_text()
    assert any(start in told for start in ("m0 › m1 › m2 › m0", "m1 › m2 › m0", "m2 › m0 › m1"))
    page.locator(".figure", has=drawn).get_by_text("Numbers", exact=True).click()
    svg = saved(page, "SVG").decode()
    # Three circles, three arrows and their heads.
    assert svg.count("<path") == 9 and ">m2</text>" in svg and "NaN" not in svg


def test_what_changed_surely_is_told_and_marked(written: Served, visit: Visit) -> None:
    page = visit(written).see("populations/round/matrix")
    found = written.call("GET", "/v1/populations/round/win-rates/changes?first=50500")
    sure = sum(one["sure"] for one in found["pairs"])
    assert sure == len(found["pairs"]) == 6
    shows(page, "6 of 6 changed surely")
    point_at(page, "Which members improved", "m0 against m1: ")
    shows(page, re.compile(r"m0 against m1: [\d.]+ % → [\d.]+ %, \+[\d.]+ points .*surely changed"))
    page.get_by_label("From:").fill("99000")
    shows(page, "6 of 6 changed surely")
    assert "from=" in page.url


def test_an_earlier_moment_has_other_results(written: Served, visit: Visit) -> None:
    page = visit(written).see("populations/round/matrix")
    point_at(page, "Who beats whom", "m0 against m1: ")
    now = written.call("GET", "/v1/populations/round/win-rates/matrix")
    page.get_by_label("Moment:").fill("50000")
    shows(page, "Moment: at 50k frames")
    early = written.call("GET", "/v1/populations/round/win-rates/matrix?frames=50000")
    value = [
        next(
            one["value"] if one["player"] == "m0" else 1 - one["value"]
            for one in matrix["pairs"]
            if {one["player"], one["opponent"]} == {"m0", "m1"}
        )
        for matrix in (now, early)
    ]
    assert abs(value[0] - value[1]) > 0.2
    point_at(page, "Who beats whom", f"m0 against m1: {100 * value[1]:.1f} %")


def test_many_members_are_found_by_name(written: Served, visit: Visit) -> None:
    page = visit(written).see("populations/large/matrix")
    shows(page, "median of all")
    canvas = page.get_by_role("img", name=re.compile("^Matrix of the scores of 65 players"))
    expect(canvas).to_be_visible(timeout=WAIT_MS)
    page.get_by_label("Find").fill("m7, random")
    expect(
        page.get_by_role("img", name=re.compile("^Matrix of the scores of 2 players"))
    ).to_be_visible(timeout=WAIT_MS)
    assert "find=m7" in page.url
    page.get_by_label("Find").fill("missing")
    shows(page, "No player is called missing")


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (320, False)], ids=["light", "dark", "phone"]
)
def test_it_is_whole_and_accessible(
    written: Served, visit: Visit, axe: Path, width: int, dark: bool
) -> None:
    visitor = visit(written, width=width, dark=dark)
    for name, view, text in (
        ("circle", "round/matrix?pair=m0&pair=m1", "6 of 6 changed surely"),
        ("many", "large/matrix?pair=m3&pair=m40", "m3 against m40"),
    ):
        page = visitor.see(f"populations/{view}")
        shows(page, text)
        expect(page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
        visitor.keep(f"win-rates-{name}-{'dark' if dark else 'light'}-{width}")
        assert visitor.too_wide_px <= 0, name
        assert visitor.faults(axe) == [], name
