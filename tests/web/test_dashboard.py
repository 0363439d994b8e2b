"""The dashboard in a real browser before a real service, of which nothing trains just now."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.matches import create_match, finish_match
from arena.league.writer import LeagueWriter
from bench.browser import VIEWS
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game
from tests.web.browser import WAIT_MS, Visitor, shows
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MARKUP = "<img src=x onerror=document.title='taken'>"

EMPTY = {
    "populations": "Make one from a template",
    "league": "No population plays yet",
    "matches": "No match was played",
    "play": "There is no opponent yet",
    "compare": "Nothing",
    "system": "Nothing trains here now",
}


def test_a_code_logs_in_once_and_a_used_one_says_what_to_do(
    served: Served, browser: Browser
) -> None:
    visitor = Visitor(browser, served.url)
    visitor.see("populations")
    shows(visitor.page, "You are not logged in")
    code = served.code()
    visitor.page.goto(f"{served.url}/#code={code}")
    shows(visitor.page, "No populations yet")
    assert code not in visitor.page.url
    visitor.page.get_by_role("button", name="Log out").click()
    shows(visitor.page, "You are not logged in")
    visitor.expected.add(401)
    visitor.page.goto("about:blank")
    visitor.page.goto(f"{served.url}/#code={code}")
    shows(visitor.page, "wrong, used or old")
    visitor.keep("logged-out")
    visitor.leave()


@pytest.mark.parametrize("view", EMPTY)
def test_an_empty_league_says_how_to_begin(view: str, served: Served, visit: Visit) -> None:
    visitor = visit(served)
    shows(visitor.see(view), EMPTY[view])
    visitor.keep(f"empty-{view}")


def test_what_is_not_there_is_said(served: Served, visit: Visit) -> None:
    visitor = visit(served)
    visitor.expected.add(404)
    shows(visitor.see("populations/missing"), "no population 'missing'")
    shows(visitor.see("matches/7"), "there is no match 7")
    shows(visitor.see("nothing/here"), "There is no such page")


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (320, False)], ids=["light", "dark", "phone"]
)
def test_every_view_is_whole_and_accessible(
    trained: Served, visit: Visit, axe: Path, width: int, dark: bool
) -> None:
    """Nothing is wider than the screen, and axe finds nothing serious."""
    visitor, wrong = visit(trained, width=width, dark=dark), list[str]()
    with trained.views() as views:
        for name, (path, text) in views.items():
            shows(visitor.see(path), text)
            expect(visitor.page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
            visitor.keep(f"{name}-{'dark' if dark else 'light'}-{width}")
            assert visitor.too_wide_px <= 0, name
            wrong += [f"{name}: {fault}" for fault in visitor.faults(axe)]
    assert wrong == [], "\n".join(wrong)


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
    known = {
        row["id"]: row for row in trained.call("GET", "/v1/ratings?population=first")["players"]
    }
    assert {float(line.split(",")[2]) for line in lines[1:]} <= {
        row["elo"] for row in known.values()
    }


def test_every_chart_has_its_numbers(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    for view in ("", "ratings", "matrix", "lineage", "curves"):
        page = visitor.see(f"populations/first/{view}")
        shows(page, VIEWS[view or "overview"].shows)
        pictures = page.locator("main [role=img]:not(.spark)")
        expect(pictures.first).to_be_visible(timeout=WAIT_MS)
        expect(page.locator("main .loading")).to_have_count(0, timeout=WAIT_MS)
        figures = page.locator("section.figure")
        assert (
            figures.count()
            == pictures.count()
            == figures.filter(has=page.locator("summary", has_text="Numbers")).count()
        )


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


def test_curves_over_time_count_minutes_not_frames(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("compare?metric=entropy")
    shows(page, "entropy (nats) over frames")
    page.get_by_role("combobox", name="Over").select_option("time of training")
    shows(page, "entropy (nats) over time")
    assert "x=time" in page.url
    page.get_by_text("Numbers").click()
    seconds = [float(text) for text in page.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    told = trained.call("GET", "/v1/populations/first/metrics?keys=entropy&points=400&times=true")[
        "members"
    ]
    assert seconds == pytest.approx(
        [second for _, curves in sorted(told.items()) for second in curves["entropy"]["seconds"]],
        rel=0.01,
    )


def test_a_score_against_an_anchor(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("populations/first/ratings")
    figure = page.locator("section.figure").filter(has_text="Win rate against random")
    figure.get_by_text("Numbers").click()
    expect(figure.locator("tbody tr").first).to_be_visible()
    cells = figure.locator("tbody tr td:nth-child(6)")

    def stored() -> list[int]:
        pairs = trained.call("GET", "/v1/win-matrix?population=first")["pairs"]
        met = [pair for pair in pairs if "random" in (pair["player"], pair["opponent"])]
        return sorted(pair["games"] for pair in met)

    # The population may be at work for another test; the page follows.
    trained.wait(lambda: sorted(map(int, cells.all_inner_texts())) == stored())


def test_weights_are_taken_along(trained: Served, visit: Visit) -> None:
    page = visit(trained).see("populations/first/policies/best")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download weights").click()
    best = trained.call("GET", "/v1/populations/first/lineage?player=best")["snapshot"]
    sizes = {
        one["id"]: one["size_bytes"]
        for one in trained.call("GET", "/v1/populations/first/snapshots")["items"]
    }
    assert waiting.value.path().stat().st_size == sizes[best]
    file = waiting.value.suggested_filename
    with page.expect_download() as waiting:
        page.get_by_role("link", name="and their card").click()
    assert waiting.value.suggested_filename == f"{file}.json"
    assert json.loads(waiting.value.path().read_text())["snapshot_id"] == best


def test_a_number_that_is_not_there_is_a_dash_with_its_reason(
    trained: Served, visit: Visit
) -> None:
    trained.call("POST", "/v1/populations", {"name": "waiting", "config": SMALL})
    row = visit(trained).see("populations").locator("tbody tr").filter(has_text="waiting")
    dash = row.locator("td[data-name='progress'] .missing")
    expect(dash).to_contain_text("–")
    expect(dash).to_have_attribute("title", "it has not trained yet")
    trained.call("DELETE", "/v1/populations/waiting")


def test_markup_in_an_address_stays_text(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected |= {404, 422}
    page = visitor.see("league?population=%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D1%3E")
    expect(page.locator("option", has_text="<img")).to_have_count(1)
    expect(page.get_by_role("alert").first).to_be_visible()
    assert page.locator("main img").count() == 0 and page.title() != "1"


def test_markup_in_names_stays_text(trained: Served, visit: Visit) -> None:
    """The name of a guest, in a match and in the league's table, and the config of a population
    can hold anything.
    """
    guest = PlayerRef("guest", MARKUP)
    with open_league(league_path(trained.data)) as league:
        match = create_match(
            league,
            "connect_four",
            {},
            [guest, RANDOM],
            4,
            1,
            {"greedy": False, "opening_plies": 0, "paired": True, "batch": 4},
        )
        with LeagueWriter(league, match) as writer:
            for number in range(4):
                players = (guest, RANDOM) if number % 2 == 0 else (RANDOM, guest)
                writer.game(game(number, players, kind="evaluation", pair=number // 2))
        finish_match(league, match, 4)
    trained.call(
        "POST", "/v1/populations", {"name": "marked", "config": {**SMALL, "description": MARKUP}}
    )
    visitor = visit(trained)
    for view in (
        "matches",
        f"matches/{match.id}",
        "league?population=first&all=1",
        "populations/marked/config",
    ):
        page = visitor.see(view)
        shows(page, MARKUP)
        assert page.locator("main img").count() == 0 and page.title() != "taken"
    trained.call("DELETE", "/v1/populations/marked")


def test_a_match_from_the_matrix_by_keyboard(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    page = visitor.see("populations/first/matrix")
    figure = page.locator("section.figure").filter(has_text="Who beats whom")
    figure.locator("canvas").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    while " won, " not in (told := figure.locator("p.under").inner_text()):
        assert "have not met" in told or "itself" in told
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("spinbutton", name="Games").fill("40")
    page.get_by_role("button", name="Start the match").click()
    expect(page.locator(".chip", has_text="succeeded")).to_be_visible(timeout=WAIT_MS)
    shows(page, "Score of")
    shows(page, "40 of 40")
    visitor.keep("evaluation")
    page.get_by_role("link", name="Its games").click()
    page.get_by_text("15 more games").click()
    expect(page.locator("tbody tr").filter(has_text=re.compile("won|drawn"))).to_have_count(40)
    shows(page, re.compile(r"first/m\d@\S+ won"))


def test_a_stored_match_says_what_it_said_when_it_was_played(trained: Served, visit: Visit) -> None:
    report = trained.call("GET", "/v1/evaluations/1")["report"]
    page = visit(trained).see("matches/1")
    shows(page, f"Score of {report['a']['name']}: {100 * report['score']:.1f} %")
    shows(page, f"[{100 * report['low']:.1f} %, {100 * report['high']:.1f} %]")
    counts = page.locator(".pairs td.number").all_inner_texts()
    assert [int(text) for text in counts] == report["pair_counts"]


def test_a_viewer_sees_everything_and_can_change_nothing(trained: Served, visit: Visit) -> None:
    visitor = visit(trained, level="viewer")
    for view in ("populations", "overview", "config", "league", "matches", "system"):
        page = visitor.see(VIEWS[view].path.format(population="first"))
        shows(page, VIEWS[view].shows.format(population="first"))
        expect(page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
        changing = page.get_by_role("button").filter(
            has_not_text=re.compile("Log out|CSV|JSON|Shown|^m\\d")
        )
        assert changing.all_inner_texts() == [], view
        assert page.locator("form").count() == 0, view


def test_an_expired_session_asks_to_log_in(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected.add(401)
    shows(visitor.see("populations"), "first")
    visitor.context.clear_cookies()
    shows(visitor.page, "You are not logged in")


def test_all_of_it_without_a_mouse(trained: Served, visit: Visit) -> None:
    """From the top of the page into the content, through the tabs, to a chart's numbers."""
    page = visit(trained).see("populations/first/ratings")
    expect(page.locator("main [role=img]").first).to_be_visible(timeout=WAIT_MS)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName === 'SUMMARY'"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("details[open] table").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_on_a_phone_the_current_tab_and_section_are_in_sight(trained: Served, visit: Visit) -> None:
    page = visit(trained, width=320).see("populations/first/config")
    shows(page, "Compared with")
    for bar in (page.locator("nav.tabs"), page.get_by_role("navigation", name="Sections")):
        outer, inner = bar.bounding_box(), bar.locator("[aria-current]").bounding_box()
        assert outer is not None and inner is not None
        assert (
            outer["x"] - 1 <= inner["x"]
            and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        )


def test_no_page_may_run_code_that_stands_in_it(served: Served, visit: Visit) -> None:
    page = visit(served).see("populations")
    shows(page, "opulations")
    policy = page.request.get(page.url).headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
