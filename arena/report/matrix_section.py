"""The matrix of a report: results of players against each other, as a coloured table. Pure."""

from arena.report.html import Markup, tag
from arena.report.records import MatrixFacts, MetPoint, PopulationReport
from arena.report.words import met_text

FEW = 8
"""Up to so many players a cell has room for its interval."""


def matrix_section(report: PopulationReport) -> Markup | None:
    """Who beats whom; None where returns count, and no player beats another."""
    if report.assessment.unit == "return":
        return None
    facts, margins = report.matrix, report.assessment.unit == "margin"
    if facts is None:
        words = "No two of the members' newest snapshots have met yet."
        return tag("section", tag("h2", "Who beats whom"), tag("p", words, class_="note"))
    what = "mean margin a game" if margins else "score in per cent"
    words = (
        f"The {what} of the row against the column, by the newest rated snapshot of each member, "
        "the strongest first. Blue: the row wins; orange: the column; the deeper, the more clearly."
    )
    if len(facts.players) <= FEW:
        words += " Behind ± stands half of the 95 % interval."
    if facts.left_out:
        words += f" {facts.left_out} weaker members are left out."
    return tag(
        "section",
        tag("h2", "Who beats whom"),
        tag("p", words, class_="note"),
        _table(facts, margins=margins),
    )


def _table(facts: MatrixFacts, *, margins: bool) -> Markup:
    most = max((abs(one.value) for one in facts.cells.values()), default=1.0) or 1.0
    count = len(facts.players)
    heads = [
        tag("th", str(at + 1), scope="col", title=facts.players[at], class_="number")
        for at in range(count)
    ]
    rows = []
    for row, player in enumerate(facts.players):
        cells = []
        for column in range(count):
            met = facts.cells.get((row, column))
            cells.append(_cell(met, row == column, most, margins=margins, few=count <= FEW))
        rows.append(tag("tr", tag("th", f"{row + 1} {player}", scope="row"), cells))
    whole = tag(
        "table",
        tag("caption", "Row against column"),
        tag("thead", tag("tr", tag("th", "player", scope="col"), heads)),
        tag("tbody", rows),
        class_="matrix",
    )
    return tag("div", whole, class_="wide", tabindex=0, role="region", aria_label="The matrix")


def _cell(met: MetPoint | None, own: bool, most: float, *, margins: bool, few: bool) -> Markup:
    """own: on the diagonal. most: the largest margin."""
    if met is None:
        return tag("td", "·" if own else "", class_="number")
    above = met.value / most if margins else 2 * met.value - 1
    depth = round(60 * min(1.0, abs(above)))
    side = "win" if above >= 0 else "loss"
    value = f"{met.value + 0.0:+.2g}" if margins else f"{100 * met.value:.0f}"
    half = None
    if few and met.low is not None and met.high is not None:
        width = (met.high - met.low) / 2 * (1 if margins else 100)
        half = tag("small", f" ± {width:.2g}" if margins else f" ± {width:.0f}")
    whole = met_text(met.value, met.low, met.high, margins=margins)
    return tag(
        "td",
        value,
        half,
        class_=f"number {side}",
        style=f"--depth:{depth}%",
        title=f"{whole}, {met.games:,} {'units' if margins else 'games'}",
    )
