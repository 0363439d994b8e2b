"""Chromium, in which the dashboard is measured, tested and pictured; and the dashboard's views."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, sync_playwright

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class View:
    """A view of the dashboard.

    page   the component of `web/src/app.tsx` that draws it
    path   its address below /app/; {population}, {match}, {evaluation}, {game} and {play} are
           replaced by existing ones
    shows  a text that it shows once everything has loaded
    """

    page: str
    path: str
    shows: str


VIEWS = {
    "populations": View("Populations", "populations", "{population}"),
    "new": View("NewPopulation", "populations/new/population?template=demo", "Template"),
    "imports": View("Imports", "populations/new/import", "Snapshots from other leagues"),
    "overview": View("Population", "populations/{population}", "Members"),
    "ratings": View("Population", "populations/{population}/ratings", "Rating over frames"),
    "matrix": View("Population", "populations/{population}/matrix", "Who beats whom"),
    "values": View("Population", "populations/{population}/values", "Rounds"),
    "lineage": View(
        "Population", "populations/{population}/lineage", "Which member took over whose weights"
    ),
    "curves": View("Population", "populations/{population}/curves", "entropy"),
    "games": View("Population", "populations/{population}/games", "ended by"),
    "health": View("Population", "populations/{population}/health", "trained on"),
    "events": View("Population", "populations/{population}/events", "Kind"),
    "config": View("Population", "populations/{population}/config", "Compared with"),
    "policy": View("Policy", "populations/{population}/policies/best", "Where it comes from"),
    "league": View("League", "league?population={population}", "Matches of "),
    "matches": View("Matches", "matches", "All of the league"),
    "new-match": View("Matches", "matches?new=1&population={population}", "Second player"),
    "match": View("Match", "matches/{match}", "Pairs by the points of"),
    "evaluation": View("MatchRequest", "evaluations/{evaluation}", "Pairs by the points of"),
    "game": View("Game", "games/{game}", "Arrow keys step"),
    "sit-down": View("SitDown", "play?population={population}", "Your name"),
    "play": View("Play", "play/{play}", "You begin."),
    "compare": View(
        "Compare", "compare?population={population}&metric=entropy", "entropy (nats) over frames"
    ),
    "compare-time": View(
        "Compare",
        "compare?population={population}&metric=entropy&x=time",
        "entropy (nats) over time",
    ),
    "system": View("System", "system", "The service is ready"),
}
"""Name -> view, for each view of the dashboard and each tab of a population."""


def chromium() -> str | None:
    """Path of the machine's Chromium; None where there is none."""
    return next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )


@contextmanager
def launched() -> Iterator[Browser]:
    """A running browser, closed at the end. Raises: SystemExit where the machine has none."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on PATH; install one: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
