"""What `bench/dashboard.py` measures: views of the dashboard, and interactions on them."""

import json
from dataclasses import dataclass

from bench.large_population import NAME


@dataclass(frozen=True)
class View:
    """A view of the dashboard.

    name   in the report
    path   its address below /app/
    ready  a JavaScript condition that is true once its content is there
    """

    name: str
    path: str
    ready: str


@dataclass(frozen=True)
class Interaction:
    """An action of a person on a view. All but `name` and `view` are JavaScript.

    name     in the report; a name with * asks the service
    view     name of the view
    act      a statement that causes the event
    until    a condition that is true once the effect is there
    before   an expression that is evaluated first and not timed; its value is called `old` later
    settled  a condition that is true before the event
    """

    name: str
    view: str
    act: str
    until: str
    before: str = "0"
    settled: str = "true"


def many(selector: str, number: int = 1) -> str:
    """A condition: the page has that many such elements or more."""
    return f"document.querySelectorAll({json.dumps(selector)}).length >= {number}"


SHOWN_MEMBERS, SHOWN_PLAYERS, SHOWN_EVENTS = 10, 20, 25
"""Rows that a long table shows before it is unfolded."""
MATRIX = "document.querySelector('canvas.matrix')?.width > 300"


def views(members: int) -> list[View]:
    """All views that are measured. members: of the population."""
    base = f"populations/{NAME}"
    return [
        View("populations", "populations", many("td[data-name='best'] strong")),
        View(
            "overview",
            base,
            f"{many('.uplot canvas', 2)} && {many('tbody tr', min(members, SHOWN_MEMBERS))}",
        ),
        View(
            "ratings",
            f"{base}/ratings",
            f"{many('.uplot canvas', 2)} && {many('tbody tr', min(members, SHOWN_PLAYERS))}",
        ),
        View("matrix", f"{base}/matrix", MATRIX),
        View("values", f"{base}/values", f"{many('.uplot canvas', 2)} && {many('details.round')}"),
        View("lineage", f"{base}/lineage", many(".lineage path")),
        View("curves", f"{base}/curves", many(".uplot canvas", 4)),
        View("health", f"{base}/health", many(".uplot canvas", 2)),
        View("events", f"{base}/events", many("tbody tr", SHOWN_EVENTS)),
        View("policy", f"{base}/policies/m3", many(".uplot canvas")),
        View("compare", f"compare?population={NAME}&metric=entropy", many(".uplot canvas")),
        View("league", f"league?population={NAME}", MATRIX),
        View("system", "system", many("tbody tr")),
    ]


UNDER = "document.querySelector('p.under').textContent"
UNDER_MATRIX = "document.querySelector('p.under[aria-live]').textContent"
CHART = "document.querySelector('.uplot')"
TITLE = "document.querySelector('.figure h3').textContent"


def _choose(label: str, value: str) -> str:
    """A statement that chooses a value of a select box, found by the text of its label."""
    select = (
        "[...document.querySelectorAll('label')].find((one) => "
        f"one.textContent.trim().startsWith({json.dumps(label)})).querySelector('select')"
    )
    return (
        f"const box = {select}; box.value = {value}; box.dispatchEvent(new Event('change', "
        "{ bubbles: true }))"
    )


def _pointer(selector: str, x: str, y: str) -> str:
    """A statement that moves the pointer to a place in an element."""
    element = f"document.querySelector({json.dumps(selector)})"
    return (
        f"const box = {element}.getBoundingClientRect(); "
        f"{element}.dispatchEvent(new MouseEvent('mousemove', {{ bubbles: true, clientX: "
        f"box.x + {x}, clientY: box.y + {y} }}))"
    )


FRONT = "document.querySelectorAll('.legend [aria-pressed=true]').length"
PRESSED = "document.querySelectorAll('.chips [aria-pressed=true]').length"
FIGURES = "[...document.querySelectorAll('.figure')]"
NAMED = (
    f"{FIGURES}.every((one) => one.querySelector('.legend') || "
    "one.querySelectorAll('summary').length > 1)"
)
"""A condition: every figure names its curves, below the chart or, if they are many, folded."""
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
        f"{UNDER_MATRIX} !== old",
        UNDER_MATRIX,
    ),
    Interaction(
        "matrix: the pointer",
        "matrix",
        _pointer("canvas.matrix", "(turn % 2 ? 120 : 220)", "140"),
        f"{UNDER_MATRIX} !== old",
        UNDER_MATRIX,
    ),
    Interaction(
        "curves: the pointer",
        "curves",
        _pointer(".u-over", "(turn % 2 ? 80 : 200)", "60"),
        f"{UNDER} !== old",
        UNDER,
    ),
    Interaction(
        "curves: bring a line to the front",
        "curves",
        "document.querySelector('.legend button').click()",
        f"{FRONT} !== old",
        FRONT,
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
    # The title changes in the same frame as the lines.
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
