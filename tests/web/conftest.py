from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from api.tokens import COOKIE, Level, Tokens
from tests.web.browser import Visitor, launched
from tests.web.served import Served

Visit = Callable[..., Visitor]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose league is empty."""
    running = Served(tmp_path_factory.mktemp("empty") / "data")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def trained(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service where the population `first` has trained to its end."""
    running = Served(tmp_path_factory.mktemp("trained") / "data")
    running.train("first")
    running.wait(lambda: running.state("first") == "finished")
    yield running
    running.stop()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Somebody who is logged in already; what their browser complained about fails the test."""
    visitors: list[Visitor] = []

    def make(served: Served, *, level: Level = "admin", width: int = 1280, dark: bool = False) -> Visitor:
        visitor = Visitor(browser, served.url, width=width, dark=dark)
        visitors.append(visitor)
        cookie = Tokens(Path(served.data) / "service").new_cookie(level)
        visitor.context.add_cookies([{"name": COOKIE, "value": cookie, "url": served.url, "sameSite": "Strict", "httpOnly": True}])
        return visitor

    yield partial(make)
    for visitor in visitors:
        visitor.leave()
