import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import hatch_build
from api.http.tokens import COOKIE, Tokens
from arena.data.service_tokens import TokenLevel
from tests.web.browser import Visitor, launched
from tests.web.served import Served
from tests.web.sources import Sources, run

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
    """A service where the population `first` has trained to its end, and played a match."""
    running = Served(tmp_path_factory.mktemp("trained") / "data")
    running.train("first")
    running.wait(lambda: running.state("first") == "finished")
    running.call("POST", "/v1/evaluations", {"players": ["first@best", "random"], "games": 40})
    running.wait(lambda: running.call("GET", "/v1/evaluations/1")["state"] == "SUCCEEDED")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Sources:
    """A copy of the dashboard's sources with the tools for types and tests, so that the
    checkout's own packages stay as the build left them.
    """
    found = hatch_build.npm()
    if found is None:
        pytest.skip("no Node.js 20.19 or newer")
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(
        repository / "web",
        folder / "web",
        ignore=shutil.ignore_patterns("node_modules", "generated"),
    )
    shutil.copytree(repository / "docs/schemas", folder / "docs/schemas")
    made = Sources(folder / "web", *found)
    run(made, "ci", "--ignore-scripts", "--prefer-offline")
    return made


@pytest.fixture(scope="session")
def axe(sources: Sources) -> Path:
    return sources.folder / "node_modules/axe-core/axe.min.js"


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A person with a session; what their browser complained about fails the test."""
    visitors: list[Visitor] = []

    def make(
        served: Served, *, level: TokenLevel = "admin", width: int = 1280, dark: bool = False
    ) -> Visitor:
        visitor = Visitor(browser, served.url, width=width, dark=dark)
        visitors.append(visitor)
        tokens = Tokens(Path(served.data) / "service")
        cookie, _ = tokens.new_session(tokens.named(level))
        visitor.context.add_cookies(
            [
                {
                    "name": COOKIE,
                    "value": cookie,
                    "url": served.url,
                    "sameSite": "Strict",
                    "httpOnly": True,
                }
            ]
        )
        return visitor

    yield partial(make)
    for visitor in visitors:
        visitor.leave()
