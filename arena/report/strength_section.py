"""What a report says of strength: the members, their curves, and results against others. Pure."""

from collections.abc import Iterable, Sequence

from arena.assessment.answer import Assessment, MemberAssessment
from arena.assessment.records import RatedSnapshot, RoleHistory
from arena.assessment.words import value_text
from arena.league.frames import frames_text
from arena.report.chart import ChartPoint, LineChart, drawn
from arena.report.html import Markup, folded, long_table, table, tag
from arena.report.many import of_members
from arena.report.records import FixedOpponent, MetPoint, PopulationReport
from arena.report.words import STRENGTH, met_text, share_text, strength_text

MOST_ROWS = 300


def strength_section(report: PopulationReport) -> Markup:
    """Strength over frames with intervals, by role, and the members as they are now."""
    made, strengths = report.assessment, report.strengths
    rated = [] if strengths is None else [role for role in strengths.roles if role.snapshots]
    several = len(made.roles) > 1
    charts = [_strength_chart(report, role, f"{role.role}: " if several else "") for role in rated]
    none = None if charts else tag("p", "No snapshot has a rating yet.", class_="note")
    snapshots = [one for role in rated for one in role.snapshots]
    return tag(
        "section",
        tag("h2", "Strength"),
        none,
        tag("div", charts, class_="charts") if charts else None,
        _members(made, several=several),
        _snapshots(report, snapshots) if snapshots else None,
    )


def _strength_chart(report: PopulationReport, role: RoleHistory, prefix: str) -> Markup:
    unit = report.assessment.unit
    over = " over random" if report.strengths is not None and report.strengths.anchored else ""
    best = None if role.best is None else role.best.member
    points = (
        (one.member, ChartPoint(one.frames, one.value, one.low, one.high))
        for one in sorted(role.snapshots, key=lambda one: one.frames)
    )
    lines, band = of_members(_by_member(points), best)
    title = f"{prefix}{STRENGTH[unit]}{over} of snapshots, with 95 % intervals"
    return drawn(
        LineChart(
            title,
            lines,
            band,
            reference=0.0 if unit != "return" else None,
            text=lambda value: value_text(value, unit),
        )
    )


def _by_member(points: Iterable[tuple[str, ChartPoint]]) -> dict[str, list[ChartPoint]]:
    found: dict[str, list[ChartPoint]] = {}
    for member, point in points:
        found.setdefault(member, []).append(point)
    return dict(sorted(found.items(), key=lambda one: (len(one[0]), one[0])))


def _members(made: Assessment, *, several: bool) -> Markup:
    against = next((one.score_against for one in made.members if one.score_against), "")
    heads = ["member", *(["role"] if several else []), f">{STRENGTH[made.unit]} [95 %]"]
    heads += [f">against {against} [95 %]"] if against else []
    heads += [">frames", "newest of PBT", "health"]
    rows = [_member_row(one, made, several=several, against=bool(against)) for one in made.members]
    caption = "Members by the strength of their newest rated snapshot"
    return long_table(heads, rows, caption=caption, class_="members")


def _member_row(
    one: MemberAssessment, made: Assessment, *, several: bool, against: bool
) -> list[object]:
    row: list[object] = [one.member, *([one.role] if several else [])]
    row.append(strength_text(one.value, one.low, one.high, made.unit))
    if against:
        score = one.score
        row.append("-" if score is None else share_text(score, one.score_low, one.score_high))
    pbt = "-"
    if one.last_pbt is not None:
        pbt = f"{one.last_pbt.text} at {frames_text(one.last_pbt.frames)}"
    return [*row, frames_text(one.frames), pbt, one.health_text]


def _snapshots(report: PopulationReport, rated: Sequence[RatedSnapshot]) -> Markup:
    unit = report.assessment.unit
    newest = sorted(rated, key=lambda one: (one.frames, one.player), reverse=True)
    rows = [
        (one.player, strength_text(one.value, one.low, one.high, unit), f"{one.games:,}")
        for one in newest[:MOST_ROWS]
    ]
    more = len(newest) - len(rows)
    return folded(
        f"All {len(newest)} rated snapshots in numbers",
        table(
            ("snapshot", f">{STRENGTH[unit]} [95 %]", ">games"),
            rows,
            caption="Rated snapshots, the newest first",
        ),
        tag("p", f"{more:,} older ones are left out.", class_="note") if more else None,
    )


def opponents_section(report: PopulationReport) -> Markup | None:
    """Win rates, or margins, against players that do not learn; None where there are none."""
    made, margins = report.assessment, report.assessment.unit == "margin"
    if made.unit == "return":
        return None
    charts = [_opponent_chart(one, made, margins=margins) for one in report.opponents]
    words = (
        "Mean margin a game against players that do not learn, with Student's 95 % interval."
        if margins
        else "Score = (wins + draws / 2) / games, with Wilson's 95 % interval."
    )
    none = tag("p", "No snapshot has met such a player yet.", class_="note")
    return tag(
        "section",
        tag("h2", "Against players that do not learn"),
        tag("p", words, class_="note") if charts else none,
        tag("div", charts, class_="charts") if charts else None,
        _anchors(made) if made.anchors else None,
        [_opponent_numbers(one, margins=margins) for one in report.opponents],
    )


def _opponent_chart(one: FixedOpponent, made: Assessment, *, margins: bool) -> Markup:
    points = (
        (point.member, ChartPoint(point.frames, point.value, point.low, point.high))
        for point in one.points
    )
    lines, band = of_members(_by_member(points), None if made.best is None else made.best.member)
    what = "Mean margin a game" if margins else "Score"
    return drawn(
        LineChart(
            f"{what} against {one.player}, with 95 % intervals",
            lines,
            band,
            bounds=() if margins else (0.0, 1.0),
            reference=0.0 if margins else 0.5,
            text=(lambda value: f"{value + 0.0:+.3g}")
            if margins
            else (lambda value: f"{100 * value:.0f} %"),
        )
    )


def _anchors(made: Assessment) -> Markup:
    assert made.best is not None
    of = f", chosen among {made.best.of}" if made.best.of > 1 else ""
    rows = [
        (one.player, share_text(one.score, one.low, one.high), f"{one.games:,}")
        for one in made.anchors
    ]
    return table(
        ("opponent", ">score [95 %]", ">games"),
        rows,
        caption=f"The best, {made.best.player}{of}; intervals hold for all candidates at once",
    )


def _opponent_numbers(one: FixedOpponent, *, margins: bool) -> Markup:
    newest: Sequence[MetPoint] = one.points[::-1][:MOST_ROWS]
    rows = [
        (
            point.member,
            frames_text(point.frames),
            met_text(point.value, point.low, point.high, margins=margins),
            f"{point.games:,}",
        )
        for point in newest
    ]
    head = ">margin [95 %]" if margins else ">score [95 %]"
    caption = f"Snapshots against {one.player}, the newest first"
    return folded(
        f"Against {one.player} in numbers",
        table(
            ("member", ">frames", head, ">units" if margins else ">games"), rows, caption=caption
        ),
    )
