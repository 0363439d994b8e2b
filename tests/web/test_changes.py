"""What a person changes from the page: populations made, broken, edited, deleted."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import SMALL, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_population_that_failed_says_why(trained: Served, visit: Visit) -> None:
    trained.call("POST", "/v1/populations", {"name": "broken", "config": SMALL})
    config = trained.data / "populations/broken/config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({**SMALL, "learning": {"batch_steps": -1}}))
    visitor = visit(trained)
    page = visitor.see("populations/broken")
    page.get_by_role("button", name="Start broken").click()
    expect(page.locator(".heading .chip")).to_have_text("failed", timeout=2 * WAIT_MS)
    expect(page.get_by_role("alert")).to_contain_text("stored config of 'broken' has 1 problem")
    expect(page.locator("pre")).to_contain_text(
        "learning.batch_steps = -1: must be a whole number", timeout=WAIT_MS
    )
    visitor.keep("failed")
    shows(visitor.see("populations"), "stored config of 'broken'")
    trained.call("DELETE", "/v1/populations/broken")


def test_a_population_from_its_template_to_its_deletion(served: Served, visit: Visit) -> None:
    """Made with a wrong value first, watched while it trains, stopped, deleted; never reloaded."""
    visitor = visit(served)
    visitor.expected |= {404, 422}
    page = visitor.see("populations/new/population?template=demo")
    page.get_by_label("Name").fill("second")
    page.get_by_text("The whole config", exact=True).click()
    page.get_by_label("The whole config as JSON").fill(
        json.dumps({**SMALL, "stop_at_frames": 50_000_000})
    )
    page.get_by_label("Members").fill("0")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".field.invalid")).to_contain_text("Members")
    expect(page.get_by_label("Members")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Members")).to_have_accessible_description(re.compile("members"))
    visitor.keep("new-wrong")
    page.get_by_label("Members").fill("2")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".heading .chip")).to_have_text("running", timeout=WAIT_MS)
    page.get_by_role("button", name="Stop second").click()
    expect(page.locator(".heading .chip")).to_have_text("stopped", timeout=2 * WAIT_MS)
    page.get_by_role("link", name="pbt-arena").click()
    page.get_by_role("button", name="Delete second").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    visitor.keep("confirm")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert served.state("second") == "stopped"
    page.get_by_role("button", name="Delete second").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete second").click()
    shows(page, "No populations yet")


def test_edits_of_a_population_at_rest_wait_for_its_start(trained: Served, visit: Visit) -> None:
    visitor = visit(trained)
    visitor.expected.add(422)
    page = visitor.see("populations/first/config")
    form = page.get_by_role("form", name="Edits")
    form.get_by_label("Evaluation share").fill("7")
    expect(form.locator(".field.invalid")).to_contain_text("Evaluation share")
    expect(form.get_by_label("Evaluation share")).to_have_accessible_description(
        re.compile(r"evaluation\.share")
    )
    expect(form.get_by_role("button", name="Save")).to_be_disabled()
    visitor.keep("edit-wrong")
    form.get_by_label("Evaluation share").fill("0.3")
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("Its next start takes it")
    shows(page, "Not in force yet: evaluation.share=0.3")
    expect(form.get_by_label("Evaluation share")).to_have_value("0.3")
    assert trained.call("GET", "/v1/populations/first")["spec"]["pending_edits"] == [
        "evaluation.share=0.3"
    ]
    form.get_by_label("Stop at frames").fill("90_000_000")
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("it is finished; start it to train on.")


def test_an_edit_decided_on_an_old_look_is_refused(trained: Served, visit: Visit) -> None:
    """Another person saves between the look and the click; the page does not know of it yet."""
    visitor = visit(trained)
    visitor.expected.add(412)
    page = visitor.see("populations/first/config")
    form = page.get_by_role("form", name="Edits")
    form.get_by_label("PBT period").fill("3000")

    def another_edit_first(route: Any) -> None:
        trained.call("PATCH", "/v1/populations/first", {"set": {"pbt.period_frames": 2500}})
        route.continue_()

    page.route(
        "**/v1/populations/first",
        lambda route: (
            another_edit_first(route) if route.request.method == "PATCH" else route.continue_()
        ),
    )
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("It was changed meanwhile")
    page.unroute_all(behavior="wait")
