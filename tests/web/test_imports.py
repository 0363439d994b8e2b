"""A snapshot from another league, taken in from the page: chosen, refused, checked, removed."""

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from arena.cli.app import run
from arena.data.snapshot_cards import card_beside
from tests.arena.tiny_populations import UNRATED, train
from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Weights and card of a policy of another league."""
    data, weights = tmp_path / "there", tmp_path / "Best One.safetensors"
    train(data, "first", UNRATED)
    assert run(["export", "first/m1", "--out", str(weights), "--data", str(data)]) == 0
    return weights, card_beside(weights)


def test_a_snapshot_is_imported_and_removed(
    served: Served, visit: Visit, files: tuple[Path, Path], axe: Path
) -> None:
    weights, card = files
    visitor = visit(served)
    visitor.expected |= {422}
    page = visitor.see("populations")
    page.get_by_role("link", name="Import").click()
    shows(page, "Nothing was imported yet")
    form = page.get_by_role("form", name="Import a snapshot")
    form.get_by_label("Weights").set_input_files(weights)
    expect(form.get_by_label("Name")).to_have_value("best-one")
    form.get_by_label("Card").set_input_files(weights)
    form.get_by_role("button", name="Import").click()
    expect(form.locator(".field.invalid")).to_contain_text("Card", timeout=WAIT_MS)
    expect(form.get_by_label("Card")).to_have_attribute("aria-invalid", "true")
    visitor.keep("import-wrong")
    assert visitor.faults(axe) == []
    form.get_by_label("Card").set_input_files(card)
    form.get_by_label("Name").fill("rival")
    form.get_by_role("button", name="Import").click()
    expect(form).to_contain_text("it plays as imported/rival", timeout=WAIT_MS)
    row = page.get_by_role("row", name="imported/rival")
    expect(row).to_contain_text("connect_four")
    expect(row).to_contain_text("first/m1")
    visitor.keep("imported")
    assert visitor.faults(axe) == []
    assert [one["name"] for one in served.call("GET", "/v1/imports")["items"]] == ["rival"]
    row.get_by_role("button", name="Remove rival").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove rival").click()
    shows(page, "Nothing was imported yet")
    assert served.call("GET", "/v1/imports")["items"] == []


def test_an_upload_can_be_cancelled(served: Served, visit: Visit, files: tuple[Path, Path]) -> None:
    """The answer is held back; what was sent is then as far as it comes."""
    visitor = visit(served)
    visitor.down = True
    page = visitor.see("populations/new/import")
    held: list[Route] = []
    page.route("**/v1/imports", lambda route: hold(route, held))
    form = page.get_by_role("form", name="Import a snapshot")
    form.get_by_label("Weights").set_input_files(files[0])
    form.get_by_label("Card").set_input_files(files[1])
    form.get_by_role("button", name="Import").click()
    form.get_by_role("button", name="Cancel").click()
    expect(form).to_contain_text("The upload was cancelled")
    assert served.call("GET", "/v1/imports")["items"] == []


def hold(route: Route, held: list[Route]) -> None:
    """Let everything pass but the upload."""
    if route.request.method == "POST":
        held.append(route)
    else:
        route.continue_()


def test_a_viewer_sees_what_was_imported_and_no_form(served: Served, visit: Visit) -> None:
    page = visit(served, level="viewer").see("populations/new/import")
    shows(page, "Nothing was imported yet")
    expect(page.get_by_role("form")).to_have_count(0)
