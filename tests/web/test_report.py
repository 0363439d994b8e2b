"""The report of a population is a file that a browser opens without a network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.browser import Visitor, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Reader(Visitor):
    """A person without a network with the file; it notes all that the file asks for."""

    def __init__(self, browser: Browser, file: Path, *, width: int, dark: bool) -> None:
        super().__init__(browser, "file://", width=width, dark=dark)
        self.context.set_offline(True)
        self.asked: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())


def test_the_button_gives_a_file_that_opens_without_a_network(
    trained: Served, visit: Visit, browser: Browser, axe: Path, tmp_path: Path
) -> None:
    visitor = visit(trained, level="viewer")
    page = visitor.see("populations/first")
    shows(page, "Overview")
    with page.expect_download() as kept:
        page.get_by_role("link", name="Report").click()
    assert kept.value.suggested_filename == "first-report.html"
    file = tmp_path / kept.value.suggested_filename
    kept.value.save_as(file)
    sentence = trained.call("GET", "/v1/populations/first/assessment")["sentence"]
    for width, dark in ((1280, False), (1280, True), (320, False)):
        reader = Reader(browser, file, width=width, dark=dark)
        expect(reader.page.get_by_text(sentence)).to_be_visible()
        for title in ("Strength", "Who beats whom", "What PBT did", "Config"):
            expect(reader.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        assert reader.asked == [file.as_uri()]
        assert reader.too_wide_px == 0
        reader.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = 1)")
        assert reader.too_wide_px == 0
        assert reader.faults(axe) == []
        reader.leave()
