"""Lineage, rounds and charts: of 64 members, and of a training that copies while it is watched."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bench import large_population
from tests.web.browser import WAIT_MS, saved
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MEMBERS = 64
SCREEN_PX = 800
STILL = """() => {
  const drawn = document.querySelector('.chart canvas').toDataURL();
  window.same = drawn === window.drawn ? window.same + 1 : 0;
  window.drawn = drawn;
  return window.same >= 10;
}"""
"""The first chart has been the same for two seconds."""
TABS = ("ratings", "values", "lineage", "curves", "health")
EAGER = {
    "period_frames": 2000,
    "warmup_frames": 2000,
    "min_games": 10,
    "copy_gap": 0.0,
    "spread_start": 3.0,
}
"""Of two members any lead is enough, so a small training copies often."""


@pytest.fixture(scope="module")
def large(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("large") / "data"
    data.mkdir()
    large_population.write(data, MEMBERS, 200, later=1)
    running = Served(data)
    running.call("GET", f"/v1/ratings?population={large_population.NAME}")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def copying(served: Served) -> Iterator[Served]:
    """`copying` trains, and its members copy each other."""
    served.train(
        "copying", stop_at_frames=50_000_000, population={"members": 4}, pbt=EAGER, **_slowly()
    )
    served.wait(lambda: served.state("copying") == "running")
    served.wait(lambda: copies(served) != [])
    yield served
    served.call("DELETE", "/v1/populations/copying")
    served.wait(lambda: served.call("GET", "/v1/populations")["items"] == [])


def _slowly() -> dict[str, Any]:
    return {"snapshots": {"every_frames": 4000}, "sampling": SMALL["sampling"]}


def copies(served: Served) -> list[tuple[str, str, int]]:
    """(member, copied, round) of every copy, by frames as the page goes through them."""
    history = served.call("GET", "/v1/populations/copying/hyperparameters")["members"]
    found = [
        (point["frames"], member, point["copied_from"], point["round"])
        for member, points in history.items()
        for point in points
        if point["copied_from"] is not None
    ]
    return [(member, copied, number) for _, member, copied, number in sorted(found)]


def picture(page: Page) -> Locator:
    return page.locator(".lineage [role=img]")


def whole(page: Page, tab: str) -> None:
    expect(page.locator("main [role=img]").first).to_be_visible(timeout=WAIT_MS)
    expect(page.locator("main .loading")).to_have_count(0, timeout=WAIT_MS)
    if tab != "lineage":
        expect(page.locator(".uplot canvas").first).to_be_visible(timeout=WAIT_MS)


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (320, False)], ids=["light", "dark", "phone"]
)
def test_64_members_fit_on_three_screens(
    large: Served, visit: Visit, axe: Path, width: int, dark: bool
) -> None:
    """On a phone what is longer has folds."""
    visitor, wrong = visit(large, width=width, dark=dark), list[str]()
    for tab in TABS:
        page = visitor.see(f"populations/large/{tab}")
        whole(page, tab)
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height <= 3 * SCREEN_PX or width < 1000, f"{tab}: {height} pixels"
        assert page.locator("main summary").count() > 0
        assert visitor.too_wide_px <= 0, tab
        visitor.keep(f"many-{tab}-{'dark' if dark else 'light'}-{width}")
        wrong += [f"{tab}: {fault}" for fault in visitor.faults(axe)]
    assert wrong == [], "\n".join(wrong)


def test_a_line_of_64_is_chosen_by_name_in_all_charts(large: Served, visit: Visit) -> None:
    page = visit(large).see("populations/large/curves")
    first = page.locator("section.figure").filter(has_text="win_rate").first
    expect(first.locator(".middle")).to_contain_text("median, middle half of 64")
    ends = [first.locator("button", has_text=word) for word in ("highest", "lowest")]
    for end in ends:
        expect(end).to_have_text(re.compile(r"(high|low)estm\d+"))
    first.get_by_text("Choose of 64 lines").click()
    first.get_by_role("button", name="m13", exact=True).click()
    for title in ("win_rate", "return"):
        chosen = page.locator("section.figure").filter(has=page.locator("h3", has_text=title))
        expect(chosen.locator("ul.legend").first).to_contain_text("m13")
    assert "line=m13" in page.url
    page.reload()
    expect(page.locator("ul.legend").first).to_contain_text("m13", timeout=WAIT_MS)


def test_the_line_at_the_pointer_comes_to_the_front(large: Served, visit: Visit) -> None:
    """Its name appears beside its end: the chart is drawn anew."""
    page = visit(large).see("populations/large/curves")
    whole(page, "curves")
    canvas = page.locator(".chart canvas").first
    # A chart is drawn again while the page still finds its width.
    page.wait_for_function(STILL, polling=200)
    before = canvas.evaluate("one => one.toDataURL()")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "old => document.querySelector('.chart canvas').toDataURL() !== old", arg=before
    )
    page.mouse.move(0, 0)
    page.wait_for_function(
        "old => document.querySelector('.chart canvas').toDataURL() === old", arg=before
    )


def test_a_copy_among_64_tells_its_reason_by_keyboard(large: Served, visit: Visit) -> None:
    visitor = visit(large)
    page = visitor.see("populations/large/lineage")
    whole(page, "lineage")
    assert page.locator(".lineage .arc.plain, .lineage .arc.pale").count() > 50
    expect(page.locator(".lineage line.bold").first).to_be_attached(timeout=WAIT_MS)
    picture(page).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lineage .under")).to_have_text(
        re.compile(r"m\d+ copied m\d+ at .* frames, round \d+")
    )
    told = page.locator(".lineage .under").inner_text()
    page.keyboard.press("Enter")
    reason = page.locator("section.reason")
    expect(reason).to_contain_text(told.split(" at ")[0])
    expect(reason).to_contain_text(re.compile(r"was ahead by [\d.]+ points on 9 common opponents"))
    expect(reason).to_contain_text("the round allows")
    expect(
        reason.get_by_role("region", name="Changed values").locator("tbody tr")
    ).not_to_have_count(0)
    visitor.keep("many-reason")
    page.keyboard.press("Escape")
    expect(reason).to_have_count(0)


def test_a_path_to_any_member_stands_in_the_address(large: Served, visit: Visit) -> None:
    history = large.call("GET", "/v1/populations/large/hyperparameters")["members"]
    member = next(
        name
        for name, points in history.items()
        if any(point["copied_from"] is not None for point in points)
    )
    page = visit(large).see("populations/large/lineage")
    whole(page, "lineage")
    page.get_by_label("Path in bold to").select_option(member)
    expect(page.locator("main")).to_contain_text(re.compile(rf"; {member} copied it at "))
    page.get_by_label("Lanes").select_option("by name")
    assert f"path={member}" in page.url and "order=name" in page.url
    names = page.locator(".lineage text.lane").all_text_contents()
    assert names == [f"m{number}" for number in range(MEMBERS)]
    assert page.locator(".lineage .arc.bold").count() > 0
    arcs = page.locator(".lineage svg path").count()
    page.get_by_text("Numbers", exact=True).click()
    svg = saved(page, "SVG").decode()
    assert svg.startswith("<svg ") and f">m{MEMBERS - 1}</text>" in svg and "NaN" not in svg
    assert svg.count("<path") > arcs > 50
    assert saved(page, "PNG").startswith(b"\x89PNG")


def test_each_round_of_64_is_a_card(large: Served, visit: Visit) -> None:
    page = visit(large).see("populations/large/values")
    whole(page, "values")
    card = large.call("GET", "/v1/populations/large/rounds/20")
    by_deed = {
        did: [one for one in card["members"] if one["did"] == did] for did in ("copied", "kept")
    }
    first = page.locator("details.round").first
    expect(first.locator("summary").first).to_contain_text(f"{len(by_deed['copied'])} copied")
    for one in by_deed["copied"][:5]:
        expect(first).to_contain_text(f"{one['member']} copied {one['copied_from']}")
    for one in by_deed["kept"]:
        expect(first).to_contain_text(one["member"])
    first.get_by_text("All 64, as they were compared").click()
    expect(first.locator("tbody tr")).to_have_count(MEMBERS)
    page.get_by_text("17 earlier rounds").click()
    page.locator("summary", has_text=re.compile(r"Round 1 at")).click()
    expect(page.locator("details.round").last).to_contain_text("Stayed as they were")


def test_the_values_of_the_strongest_stand_against_those_of_all(
    large: Served, visit: Visit
) -> None:
    page = visit(large).see("populations/large/values")
    figure = page.locator("section.figure").filter(has_text="Values of the top quarter")
    expect(figure).to_contain_text("of all 64", timeout=WAIT_MS)
    figure.get_by_text("Numbers").click()
    rows = figure.locator("tbody tr")
    expect(rows).to_have_count(4)
    for row in rows.all():
        top_low, top_high, all_low, all_high = (
            float(text.replace("−", "-")) for text in row.locator("td.right").all_inner_texts()[:4]
        )
        assert all_low <= top_low <= top_high <= all_high


def test_a_live_training_shows_a_copy_and_its_reason(copying: Served, visit: Visit) -> None:
    visitor = visit(copying)
    page = visitor.see("populations/copying/lineage")
    arcs = page.locator(".lineage g.arc")
    expect(arcs).not_to_have_count(0, timeout=WAIT_MS)
    before = arcs.count()
    copying.wait(lambda: len(copies(copying)) > before + 1)
    expect(arcs.nth(before)).to_be_attached(timeout=WAIT_MS)
    member, copied, number = copies(copying)[0]
    picture(page).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lineage .under")).to_contain_text(f"{member} copied {copied} at")
    page.keyboard.press("Enter")
    reason = page.locator("section.reason")
    card = copying.call("GET", f"/v1/populations/copying/rounds/{number}")
    (one,) = (row for row in card["members"] if row["member"] == member)
    expect(reason).to_contain_text(f"{member} copied {copied}")
    expect(reason.locator("dd").first).to_be_visible(timeout=WAIT_MS)
    for place, rate in enumerate((one["objective"], one["lead"]["objective"])):
        told = reason.locator("dd").nth(place).inner_text()
        assert float(told.split(" %")[0]) == pytest.approx(100 * rate, abs=0.051)
    visitor.keep("copying-reason")


def test_a_click_on_a_ring_tells_the_reason(copying: Served, visit: Visit) -> None:
    copying.call("POST", "/v1/populations/copying/pause")
    copying.wait(lambda: copying.state("copying") == "paused")
    page = visit(copying).see("populations/copying/lineage")
    ring = page.locator(".lineage g.arc circle").last
    ring.scroll_into_view_if_needed(timeout=WAIT_MS)
    box = ring.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("section.reason dl")).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("section.reason")).to_have_count(0)


def test_rounds_of_a_training_say_what_was_decided(copying: Served, visit: Visit) -> None:
    page = visit(copying).see("populations/copying/values")
    first = page.locator("details.round").first
    expect(first.get_by_text(re.compile("All \\d, as they were compared"))).to_be_visible(
        timeout=WAIT_MS
    )
    number = int(re.findall(r"Round (\d+)", first.inner_text())[0])
    card = copying.call("GET", f"/v1/populations/copying/rounds/{number}")
    for one in card["members"]:
        expect(first).to_contain_text(one["member"])
        for change in one["changes"]:
            expect(first).to_contain_text(change["name"])
