"""Is the dashboard quick when a population is large? Writes one as trainings write it, serves it,
and looks at every page with a browser.

    python -m bench.dashboard --json dashboard.json [--members 64 --points 10000 --repeats 20]
    [--data DIR]

Nothing trains. Each view is opened by a browser that has never been there: until its content is
painted (not only the frame around it), and until the first contentful paint. Each interaction is
timed from the event to the paint of what it changes; those marked * ask the service. Budget, for
the 95th percentile: 1000 ms for a view, 200 ms for an interaction; exit code 1 where one is above
it. The first look at curves after a start of the service reads the whole file, and stands alone.
--data keeps what was written, and measures it again when it is there.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page

from api.http.tokens import COOKIE, Tokens
from arena.data.paths import league_path
from bench.browser import launched
from bench.large_population import METRICS, NAME, write
from bench.service import served
from bench.throughput import hardware

VIEW_MS, INTERACTION_MS = 1000.0, 200.0
LOOK_MS = 60_000


# --- what is looked at ----------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """ready: what holds once its content is there, in JavaScript."""

    name: str
    path: str
    ready: str


@dataclass(frozen=True)
class Interaction:
    """On a view: act, a statement of JavaScript that causes an event; until: what holds when its
    effect is there.

    before    done first, and not timed; what it gives is called `old` afterwards;  settled: what
              holds before the event
    """

    name: str
    view: str
    act: str
    until: str
    before: str = "0"
    settled: str = "true"


def many(selector: str, number: int = 1) -> str:
    return f"document.querySelectorAll({json.dumps(selector)}).length >= {number}"


MATRIX = "document.querySelector('canvas.matrix')?.width > 300"


def views(members: int) -> list[View]:
    base = f"populations/{NAME}"
    return [
        View("populations", "populations", many("td[data-name='best rating'] strong")),
        View("overview", base, many("tbody tr", members)),
        View(
            "ratings",
            f"{base}/ratings",
            f"{many('.uplot canvas', 2)} && {many('tbody tr', members)}",
        ),
        View("matrix", f"{base}/matrix", MATRIX),
        View("values", f"{base}/values", f"{many('.uplot canvas', 2)} && {many('tbody tr')}"),
        View("lineage", f"{base}/lineage", many(".lineage path")),
        View("curves", f"{base}/curves", many(".uplot canvas", 4)),
        View("health", f"{base}/health", many(".uplot canvas", 2)),
        View("events", f"{base}/events", many("tbody tr", 100)),
        View("policy", f"{base}/policies/m3", many(".uplot canvas")),
        View("compare", f"compare?population={NAME}&metric=entropy", many(".uplot canvas")),
        View("league", f"league?population={NAME}", MATRIX),
        View("system", "system", many("tbody tr")),
    ]


UNDER = "document.querySelector('p.under').textContent"
CHART = "document.querySelector('.uplot')"
TITLE = "document.querySelector('.figure h3').textContent"


def _choose(label: str, value: str) -> str:
    """A value of a select, by the text of its label."""
    found = (
        "[...document.querySelectorAll('label')].find((one) => "
        f"one.textContent.trim().startsWith({json.dumps(label)})).querySelector('select')"
    )
    return (
        f"const box = {found}; box.value = {value}; box.dispatchEvent(new Event('change', "
        "{ bubbles: true }))"
    )


def _pointer(selector: str, x: str, y: str) -> str:
    """A movement of the pointer."""
    element = f"document.querySelector({json.dumps(selector)})"
    return (
        f"const box = {element}.getBoundingClientRect(); "
        f"{element}.dispatchEvent(new MouseEvent('mousemove', {{ bubbles: true, clientX: "
        f"box.x + {x}, clientY: box.y + {y} }}))"
    )


PRESSED = "document.querySelectorAll('.chips [aria-pressed=true]').length"
FIGURES = "[...document.querySelectorAll('.figure')]"
NAMED = (
    f"{FIGURES}.every((one) => one.querySelector('.legend') || "
    "one.querySelectorAll('summary').length > 1)"
)
"""Each has curves: it names them below the chart, or folded where they are many."""
DRAWN = (
    "[...document.querySelectorAll('.chart')].every((one) => "
    "one.getBoundingClientRect().top > innerHeight || one.querySelector('canvas'))"
)
KINDS = "new Set([...document.querySelectorAll('tbody tr')].map((row) => row.cells[1].textContent))"

INTERACTIONS = (
    Interaction(
        "matrix: an arrow key",
        "matrix",
        (
            "document.querySelector('canvas.matrix').dispatchEvent(new KeyboardEvent('keydown', "
            "{ key: turn % 2 ? 'ArrowRight' : 'ArrowDown' }))"
        ),
        f"{UNDER} !== old",
        UNDER,
    ),
    Interaction(
        "matrix: the pointer",
        "matrix",
        _pointer("canvas.matrix", "(turn % 2 ? 120 : 220)", "140"),
        f"{UNDER} !== old",
        UNDER,
    ),
    Interaction(
        "curves: the pointer",
        "curves",
        _pointer(".u-over", "(turn % 2 ? 80 : 200)", "60"),
        f"{UNDER} !== old",
        UNDER,
    ),
    Interaction(
        "curves: hide or show a line",
        "curves",
        "document.querySelector('.legend button').click()",
        f"{CHART} !== null && {CHART} !== old",
        f"(document.querySelector('.figure details').open = true, {CHART})",
        many(".legend button"),
    ),
    Interaction(
        "curves: one metric more or less *",
        "curves",
        (
            "[...document.querySelectorAll('.chips button')].find((one) => one.textContent === "
            "'metric_' + turn % 14).click()"
        ),
        f"{PRESSED} !== old && {FIGURES}.length === {PRESSED} && {NAMED} && {DRAWN}",
        PRESSED,
    ),
    # The title changes with the lines, in one frame.
    Interaction(
        "compare: another metric *",
        "compare",
        _choose("Metric", "'metric_' + turn % 14"),
        f"{TITLE} !== old && {CHART} !== null",
        TITLE,
    ),
    Interaction(
        "compare: frames or time",
        "compare",
        _choose("Over", "turn % 2 ? 'frames' : 'time'"),
        f"{CHART} !== null && {CHART} !== old",
        CHART,
    ),
    Interaction(
        "ratings: the numbers of a chart",
        "ratings",
        "[...document.querySelectorAll('.figure summary')].pop().click()",
        "document.querySelectorAll('.figure details[open] tbody tr').length !== old",
        "document.querySelectorAll('.figure details[open] tbody tr').length",
    ),
    Interaction(
        "a tab, and back *",
        "lineage",
        (
            "[...document.querySelectorAll('.tabs a')].find((one) => one.textContent === (turn % "
            "2 ? 'Lineage' : 'Overview')).click()"
        ),
        (
            "turn % 2 ? document.querySelector('.lineage path') : "
            "document.querySelectorAll('main tbody tr').length >= 2"
        ),
    ),
    Interaction(
        "events: one kind",
        "events",
        _choose("Kind", "turn % 2 ? '' : 'checkpoint'"),
        f"(turn % 2) === Number({KINDS}.size > 1) && {KINDS}.size > 0",
    ),
)

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
"""Resolves with the moment, in ms since the navigation, at which a frame that shows it was
painted.
"""


class Looker:
    """Opens views in a browser that has never been there, logged in."""

    def __init__(self, browser: Browser, url: str, data: Path) -> None:
        self._browser, self._url = browser, url
        self._cookie = Tokens(data / "service").new_cookie("admin")

    def open(self, view: View) -> tuple[Page, float, float]:
        """The page, ms until its content was painted, ms until the first contentful paint."""
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
    """ms from the event to the paint."""
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
    """By nearest rank."""
    return sorted(taken)[math.ceil(0.95 * len(taken)) - 1]


def told(taken: Sequence[float], **more: float) -> dict[str, Any]:
    return {
        "p95_ms": round(p95(taken), 1),
        "median_ms": round(median(taken), 1),
        "max_ms": round(max(taken), 1),
        **more,
    }


def measure(looker: Looker, members: int, repeats: int) -> dict[str, Any]:
    known = {view.name: view for view in views(members)}
    print("the 95th percentile, the median and the greatest of", repeats, flush=True)
    page, cold_ms, _ = looker.open(known["curves"])
    page.context.close()
    opened: dict[str, Any] = {}
    for name, view in known.items():
        content, first = [], []
        for _ in range(repeats):
            page, content_ms, first_ms = looker.open(view)
            page.context.close()
            content.append(content_ms)
            first.append(first_ms)
        opened[name] = told(content, first_paint_p95_ms=round(p95(first), 1))
        print(f"{name:34} {opened[name]}", flush=True)
    done: dict[str, Any] = {}
    for interaction in INTERACTIONS:
        page, *_ = looker.open(known[interaction.view])
        act(
            page, interaction, 0
        )  # code that runs for the first time is not what people feel afterwards
        done[interaction.name] = told(
            [act(page, interaction, turn) for turn in range(1, repeats + 1)]
        )
        page.context.close()
        print(f"{interaction.name:34} {done[interaction.name]}", flush=True)
    return {"curves_after_start_ms": round(cold_ms, 1), "views": opened, "interactions": done}


def over_budget(found: dict[str, Any]) -> list[str]:
    limits = (("views", VIEW_MS), ("interactions", INTERACTION_MS))
    return [
        f"{name}: {one['p95_ms']:.0f} ms"
        for kind, limit in limits
        for name, one in found[kind].items()
        if one["p95_ms"] > limit
    ]


def run(data: Path, members: int, points: int, repeats: int) -> dict[str, Any]:
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
        found = run(
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
            json.dumps({**size, "hardware": hardware(), **found}, indent=1) + "\n", encoding="utf-8"
        )
    print(
        f"curves, first look after a start of the service: {found['curves_after_start_ms']:.0f} ms"
    )
    over = over_budget(found)
    print("over the budget: " + "; ".join(over) if over else "all within the budget")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
