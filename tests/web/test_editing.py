"""A person edits a population that trains: what it does is told first, then it happens."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def live(trained: Served) -> Iterator[Served]:
    """`edited` trains."""
    pbt = {"period_frames": 40_000, "warmup_frames": 0, "min_games": 10}
    trained.train("edited", stop_at_frames=50_000_000, pbt=pbt)
    trained.wait(lambda: len(population(trained)["status"]["members"]) == 2)
    yield trained
    for name in ("edited", "edited-2"):
        trained.call("DELETE", f"/v1/populations/{name}")


def population(live: Served, name: str = "edited") -> Any:
    return live.call("GET", f"/v1/populations/{name}")


def test_an_edit_tells_what_it_does_and_then_does_it(live: Served, visit: Visit, axe: Path) -> None:
    visitor = visit(live)
    visitor.expected.add(422)
    page = visitor.see("populations/edited/config")
    form = page.get_by_role("form", name="Edits")
    told = form.get_by_role("status", name="What it does")
    save = form.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    form.get_by_label("PBT period").fill("400_000")
    expect(told).to_contain_text(
        "Its trainer takes it at its next rest, without a new start.", timeout=WAIT_MS
    )
    expect(told).to_contain_text(
        re.compile(r"the next round after [\d,]+ frames \(m\d\), in place")
    )
    assert population(live)["spec"]["pending_edits"] == []
    visitor.keep("edit-told")
    assert visitor.faults(axe) == []
    form.get_by_text("PBT rules, shares and learning").click()
    form.get_by_label("Share of the past").fill("0.5")
    # What needs a new start is checked against its game, in a process of its own.
    expect(told).to_contain_text(
        "starts again with the new values; what was learned and played", timeout=WAIT_MS
    )
    expect(told).to_contain_text("frozen snapshots take 50 % of the opponents' seats")
    form.get_by_label("Any other key").fill("model.hidden")
    form.get_by_label("Its value").fill("8")
    expect(form.locator(".field.invalid")).to_contain_text("Any other key", timeout=WAIT_MS)
    expect(told).not_to_contain_text("This is what it does")
    expect(save).to_be_disabled()
    form.get_by_label("Any other key").fill("")
    form.get_by_label("Share of the past").fill("0.2")
    save.click()
    expect(form.locator(".good")).to_contain_text(
        "Its trainer takes it at its next rest", timeout=WAIT_MS
    )
    live.wait(
        lambda: (
            population(live)["spec"]["config"]["pbt"]["period_frames"] == 400_000
            and population(live)["spec"]["pending_edits"] == []
        )
    )
    assert population(live)["status"]["state"] == "running"


def test_a_member_joins_and_one_leaves_while_the_others_train(live: Served, visit: Visit) -> None:
    visitor = visit(live)
    page = visitor.see("populations/edited/config")
    form = page.get_by_role("form", name="Members")
    told = form.get_by_role("status", name="What it does")
    form.get_by_label("Change").select_option("a new member joins")
    form.get_by_label("Weights").select_option("a copy of m0")
    expect(told).to_contain_text("M2 joins as player with a copy of m0", timeout=WAIT_MS)
    expect(told).to_contain_text("gets 33.3 % of its frames rather than 50 %")
    form.get_by_role("button", name="Add the member").click()
    expect(form.locator(".good")).to_contain_text("joins as player with a copy of m0")

    def learning() -> list[str]:
        rows = population(live)["status"]["members"]
        return [row["name"] for row in rows if row["state"] == "learning" and row["frames"]]

    live.wait(lambda: learning() == ["m0", "m1", "m2"])
    form.get_by_label("Change").select_option("m1 leaves")
    expect(told).to_contain_text(
        re.compile(r"M1 leaves at [\d,]+ frames for good"), timeout=WAIT_MS
    )
    expect(told).to_contain_text("PBT copies nothing then")
    visitor.keep("member-leaves")
    form.get_by_role("button", name="Take m1 out").click()
    live.wait(lambda: learning() == ["m0", "m2"])


def test_a_clone_is_its_original_but_for_what_was_changed(
    live: Served, visit: Visit, axe: Path
) -> None:
    visitor = visit(live)
    page = visitor.see("populations/edited")
    page.get_by_role("link", name="Clone").click()
    shows(page, "It is as edited so far.")
    expect(page.get_by_label("Name")).to_have_value("edited-2")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Members").fill("3")
    table = page.get_by_role("region", name="Differences from edited")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_contain_text("population.members")
    visitor.keep("clone")
    assert visitor.faults(axe) == []
    page.get_by_label("Start it at once").uncheck()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="edited-2")).to_be_visible(timeout=WAIT_MS)
    config = population(live, "edited-2")["spec"]["config"]
    assert (config["seed"], config["population"]["members"]) == (7, 3)
    assert (
        config["pbt"]["period_frames"] == population(live)["spec"]["config"]["pbt"]["period_frames"]
    )
    page = visitor.see("populations/edited-2/config?beside=population:edited")
    table = page.get_by_role("region", name="Differences from population edited")
    expect(table).to_contain_text("seed")
    expect(table.get_by_role("row").filter(has_text="learning.")).to_have_count(0)
    page.get_by_label("Compared with").select_option("the defaults")
    shows(page, "sampling.rollout_steps")
    page.get_by_text("The whole config, as JSON").click()
    expect(page.locator("pre")).to_contain_text('"seed": 7')
    visitor.keep("config-difference")


def test_a_viewer_sees_differences_and_no_form(live: Served, visit: Visit) -> None:
    visitor = visit(live, level="viewer", width=360)
    page = visitor.see("populations/edited/config")
    shows(page, "Compared with")
    expect(page.get_by_role("form")).to_have_count(0)
    expect(page.get_by_role("link", name="Clone")).to_have_count(0)
    assert visitor.too_wide_px == 0
