"""A real browser before a real service. Whatever it logs as an error, and whatever it asks of
another host, fails the test.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

import bench.browser
import hatch_build
from bench.browser import chromium

WAIT_MS = 60_000
"""Generous: the machine may be busy."""
SCREENSHOTS = Path(
    os.environ.get("SCREENSHOTS") or Path(hatch_build.__file__).parent / "artifacts/screenshots"
)


@contextmanager
def launched() -> Iterator[Browser]:
    """Skips where there is no browser, or no dashboard."""
    if chromium() is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium")
    if not hatch_build.bundle_is_whole():
        pytest.skip("the dashboard is not built from web/ as it stands: python hatch_build.py")
    with bench.browser.launched() as browser:
        yield browser


class Visitor:
    """A person with a browser of their own.

    expected: statuses of refusals that are the point of a test; Chromium logs each as an error
    """

    def __init__(
        self, browser: Browser, url: str, *, width: int = 1280, dark: bool = False
    ) -> None:
        self.url, self.expected = url, set[int]()
        self.down = False
        """The service is killed: connections are refused, reset or end in the middle of an
        answer, whichever they were at.
        """
        self.failing = False
        """A view is made to fail: the page says so, and why."""
        self._said: list[str] = []
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self.context.set_default_timeout(WAIT_MS)
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self._said.append(f"uncaught: {error.error}"))
        self.context.on("request", self._request)
        self.page: Page = self.context.new_page()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        status = re.search(r"the server responded with a status of (\d+)", message.text)
        cut = "net::ERR_" in message.text
        failed = message.text.startswith("a view failed:") and self.failing
        if (status and int(status[1]) in self.expected) or (cut and self.down) or failed:
            return
        self._said.append(message.text)

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("blob", "data") and parts.netloc != urlsplit(self.url).netloc:
            self._said.append(f"asked another host: {request.url}")

    def see(self, view: str) -> Page:
        """Go to a view by its address."""
        self.page.goto(f"{self.url}/app/{view}")
        return self.page

    def keep(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def faults(self, axe: Path) -> list[str]:
        """What axe-core finds serious or critical on this page, in words. axe: its program, run
        beside the page: the policy lets nothing into it.
        """
        self.page.evaluate(axe.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => "
            "violations)"
        )
        return [
            f"{violation['id']}: {node['target']}: {node['failureSummary']}"
            for violation in found
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    @property
    def too_wide_px(self) -> int:
        """By how much the page has to be scrolled sideways."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def leave(self) -> None:
        self.context.close()
        assert self._said == [], "\n".join(self._said)


def shows(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("main")).to_contain_text(text, timeout=WAIT_MS)


def saved(page: Page, button: str) -> bytes:
    """What a button saves as a file."""
    with page.expect_download(timeout=WAIT_MS) as download:
        page.get_by_role("button", name=button, exact=True).click()
    return Path(download.value.path()).read_bytes()
