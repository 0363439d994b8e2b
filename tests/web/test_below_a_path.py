"""The dashboard below a path of another site, in a real browser behind a proxy."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.api.proxy import proxy
from tests.web.browser import Visitor, shows
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_dashboard_stays_below_the_root_path(browser: Browser, tmp_path: Path) -> None:
    served = Served(tmp_path / "data", words=("--root-path", "/arena"))
    try:
        with proxy(served.url.removesuffix("/arena"), "/arena", strips=True) as site:
            visitor = Visitor(browser, site)
            page = visitor.page
            page.goto(f"{site}/#code={served.code()}")
            shows(page, "No populations yet")
            expect(page.get_by_text("connected", exact=True)).to_be_visible()
            assert page.url == f"{site}/app/populations"
            page.get_by_role("link", name="System").click()
            shows(page, "Nothing trains here now")
            assert page.url == f"{site}/app/system"
            page.reload()
            shows(page, "Nothing trains here now")
            visitor.expected.add(401)  # of what the page asked just before
            page.get_by_role("button", name="Log out").click()
            shows(page, "You are not logged in")
            visitor.leave()
    finally:
        served.stop()
