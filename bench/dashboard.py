"""Measures how quick the dashboard is when a population is large.

    python -m bench.dashboard --json dashboard.json --members 64 --points 10000 --repeats 20

It writes a large population as trainings write one, serves it, and opens every view with a browser.
Nothing trains. Each view is opened by a browser with an empty cache and timed until its content is
painted (not only the frame around it), and until the first contentful paint. Each interaction is
timed from the event to the paint of its effect; those marked * ask the service. Budget of the 95th
percentile: 1000 ms for a view, 200 ms for an interaction; exit code 1 where one is above it. The
first request for curves after a start of the service reads the whole file, and is reported alone.
--data DIR keeps the population, and measures it again when it is already there.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page

from api.http.tokens import COOKIE, Tokens
from arena.data.paths import league_path
from bench.browser import launched
from bench.dashboard_views import INTERACTIONS, Interaction, View, views
from bench.large_population import METRICS, write
from bench.served import served
from bench.throughput import hardware

VIEW_MS, INTERACTION_MS = 1000.0, 200.0
LOOK_MS = 60_000


PAINTED = """
window.painted = (ready) => new Promise((done, never) => {
    const began = performance.now();
    const look = () => {
        if (ready()) requestAnimationFrame(() => setTimeout(() => done(performance.now())));
        else if (performance.now() - began > 60_000)
            never(new Error(`not within a minute: ${ready}`));
        else requestAnimationFrame(look);
    };
    look();
});
"""
"""A function of the page: it resolves once a frame that meets the condition was painted, with the
time in ms since the navigation.
"""


class Looker:
    """Opens views logged in, each time with an empty cache."""

    def __init__(self, browser: Browser, url: str, data: Path) -> None:
        self._browser, self._url = browser, url
        tokens = Tokens(data / "service")
        self._cookie, _ = tokens.new_session(tokens.named("admin"))

    def open(self, view: View) -> tuple[Page, float, float]:
        """(page, ms until its content was painted, ms until the first contentful paint)"""
        context = self._browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(LOOK_MS)
        context.add_cookies(
            [{"name": COOKIE, "value": self._cookie, "url": self._url, "sameSite": "Strict"}]
        )
        context.add_init_script(PAINTED)
        page = context.new_page()
        page.goto(f"{self._url}/app/{view.path}", wait_until="commit")
        content = float(page.evaluate(f"painted(() => {view.ready})"))
        first = float(
            page.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
            )
        )
        return page, content, first


def act(page: Page, interaction: Interaction, turn: int) -> float:
    """Do an interaction. Returns ms from the event to the paint of its effect."""
    page.evaluate(
        f"() => {{ window.old = {interaction.before}; return painted(() => "
        f"{interaction.settled}); }}"
    )
    program = (
        f"const turn = {turn}; const old = window.old; const began = "
        f"performance.now(); {interaction.act};"
    )
    return float(
        page.evaluate(
            f"async () => {{ {program} return await painted(() => {interaction.until}) - began; }}"
        )
    )


def p95(taken: Sequence[float]) -> float:
    """The 95th percentile, by nearest rank."""
    return sorted(taken)[math.ceil(0.95 * len(taken)) - 1]


def told(taken: Sequence[float], **more: float) -> dict[str, Any]:
    """Times for the report. more: further figures."""
    return {
        "p95_ms": round(p95(taken), 1),
        "median_ms": round(median(taken), 1),
        "max_ms": round(max(taken), 1),
        **more,
    }


def measure(looker: Looker, members: int, repeats: int) -> dict[str, Any]:
    views_by_name = {view.name: view for view in views(members)}
    print("the 95th percentile, the median and the greatest of", repeats, flush=True)
    page, cold_ms, _ = looker.open(views_by_name["curves"])
    page.context.close()
    opened: dict[str, Any] = {}
    for name, view in views_by_name.items():
        content, first = [], []
        for _ in range(repeats):
            page, content_ms, first_ms = looker.open(view)
            page.context.close()
            content.append(content_ms)
            first.append(first_ms)
        opened[name] = told(content, first_paint_p95_ms=round(p95(first), 1))
        print(f"{name:34} {opened[name]}", flush=True)
    timings: dict[str, Any] = {}
    for interaction in INTERACTIONS:
        page, *_ = looker.open(views_by_name[interaction.view])
        # Not timed: code that runs for the first time is slower.
        act(page, interaction, 0)
        timings[interaction.name] = told(
            [act(page, interaction, turn) for turn in range(1, repeats + 1)]
        )
        page.context.close()
        print(f"{interaction.name:34} {timings[interaction.name]}", flush=True)
    return {"curves_after_start_ms": round(cold_ms, 1), "views": opened, "interactions": timings}


def over_budget(figures: dict[str, Any]) -> list[str]:
    """The views and interactions that are above the budget."""
    limits = (("views", VIEW_MS), ("interactions", INTERACTION_MS))
    return [
        f"{name}: {figure['p95_ms']:.0f} ms"
        for kind, limit in limits
        for name, figure in figures[kind].items()
        if figure["p95_ms"] > limit
    ]


def run(data: Path, members: int, points: int, repeats: int) -> dict[str, Any]:
    """Write the population unless it is there, serve it, measure."""
    if not league_path(data).exists():
        data.mkdir(parents=True, exist_ok=True)
        write(data, members, points)
    with served(data, data / "serve.log") as service, launched() as browser:
        return measure(Looker(browser, service.state.url, data), members, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            options.data or Path(folder) / "data", options.members, options.points, options.repeats
        )
    size = {
        "members": options.members,
        "points": options.points,
        "metrics": len(METRICS),
        "repeats": options.repeats,
    }
    if options.json is not None:
        options.json.write_text(
            json.dumps({**size, "hardware": hardware(), **figures}, indent=1) + "\n",
            encoding="utf-8",
        )
    print(
        "curves, first request after a start of the service: "
        f"{figures['curves_after_start_ms']:.0f} ms"
    )
    over = over_budget(figures)
    print("over the budget: " + "; ".join(over) if over else "all within the budget")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
