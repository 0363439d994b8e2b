"""What PBT did: copies and why, how the best came to be, hyperparameters over frames. Pure."""

from collections.abc import Mapping, Sequence

from arena.assessment.words import count_text
from arena.league.frames import frames_text
from arena.league.lineage import Lineage, LineageStep
from arena.league.round_words import verdict_for_people
from arena.report.chart import ChartLine, ChartPoint, LineChart, drawn
from arena.report.html import Markup, folded, long_table, table, tag
from arena.report.lanes import MemberCopy, copies_of, lanes
from arena.report.many import of_members
from arena.report.records import PopulationReport
from arena.report.values import Steps, values_over_frames

MOST_ROWS = 300
WIDE = 3.0
"""Values that differ by more than this factor stand on a logarithmic axis."""
KINDS = {
    "start": "starts",
    "join": "joins",
    "mutate": "mutates",
    "edit": "edited by a person, about here",
    "schedule": "schedule of the config",
}


def lineage_section(report: PopulationReport) -> Markup:
    """The copies as a picture and as a table, and the steps behind the best."""
    copies, made = copies_of(report.histories), report.assessment
    rounds = sum(len(own) for own in report.histories.rounds.values())
    did = (
        f"{count_text(rounds, 'round', 'rounds')}, "
        f"{count_text(made.copies, 'copy', 'copies')}, "
        f"{count_text(made.mutations, 'round', 'rounds')} with a mutation."
        if rounds
        else "PBT held no round yet."
    )
    return tag(
        "section",
        tag("h2", "What PBT did"),
        tag(
            "p",
            did,
            " A lane has the colour of the member from which its weights descend; colours repeat "
            "after eight." * bool(copies),
            class_="note",
        ),
        tag(
            "div", lanes(_clocks(report), copies, [way for _, way in report.ways]), class_="charts"
        ),
        _copies(copies) if copies else None,
        [_way(way, player) for player, way in report.ways],
    )


def _clocks(report: PopulationReport) -> dict[str, int]:
    """Member -> its clock, in the order of names."""
    clocks = {one.member: one.frames for one in report.assessment.members}
    return dict(sorted(clocks.items(), key=lambda one: (len(one[0]), one[0])))


def _copies(copies: Sequence[MemberCopy]) -> Markup:
    newest = copies[::-1][:MOST_ROWS]
    rows = [
        (
            one.member,
            frames_text(one.frames),
            f"{one.donor}@{frames_text(one.donor_frames)}",
            verdict_for_people(one.verdict),
            ", ".join(f"{name} {a:.3g} → {b:.3g}" for name, (a, b) in one.changed.items()) or "-",
        )
        for one in newest
    ]
    more = len(copies) - len(newest)
    caption = "Copies, the newest first" + (f"; {more:,} older ones are left out" if more else "")
    heads = ("member", ">at frames", "copied", "why", "values that changed")
    return long_table(heads, rows, caption=caption, class_="words")


def _way(best: Lineage, player: str) -> Markup:
    names = sorted({name for step in best.steps for name in step.hyperparams})
    rows = [
        (
            frames_text(step.frames),
            step.member,
            _words(step),
            *(
                f"{step.hyperparams[name]:.4g}{'*' * (name in step.changed)}"
                if name in step.hyperparams
                else "-"
                for name in names
            ),
        )
        for step in best.steps
    ]
    return folded(
        f"How {player} came to be: {count_text(len(rows), 'step', 'steps')}",
        table(
            (">frames", "member", "what", *(f">{name}" for name in names)),
            rows,
            caption="Frames count the training of these weights, by any member; * = changed here",
        ),
    )


def _words(step: LineageStep) -> str:
    donor = "" if step.donor is None else f"{step.donor.member}@{frames_text(step.donor.frames)}"
    if step.began is not None:
        return f"starts with the weights of {step.began.player}"
    if step.kind == "copy":
        return f"copies {donor}" + (", mutates" if step.changed else "")
    return KINDS[step.kind] + (f" with the weights of {donor}" if donor else "")


def values_section(report: PopulationReport) -> Markup | None:
    """A chart for each hyperparameter that ever differed or changed; the others in words."""
    found = values_over_frames(report.histories, _clocks(report))
    copies = copies_of(report.histories)
    best = None if report.assessment.best is None else report.assessment.best.member
    alike = {
        name: next(iter(members.values()))[0][1]
        for name, members in found.items()
        if len({value for steps in members.values() for _, value in steps}) == 1
    }
    charts = [
        _values_chart(name, members, copies, best)
        for name, members in found.items()
        if name not in alike
    ]
    if not found:
        return None
    fixed = ", ".join(f"{name} = {value:.4g}" for name, value in alike.items())
    return tag(
        "section",
        tag("h2", "Hyperparameters over frames"),
        tag("p", f"The same for all members, all the time: {fixed}.", class_="note")
        if fixed
        else None,
        tag("div", charts, class_="charts") if charts else None,
        _values_table({name: found[name] for name in found if name not in alike}),
    )


def _values_chart(
    name: str, members: Mapping[str, Steps], copies: Sequence[MemberCopy], best: str | None
) -> Markup:
    points = {
        member: [ChartPoint(frames, value) for frames, value in steps]
        for member, steps in members.items()
    }
    lines, band = of_members(points, best, steps=True)
    marks = [
        (one.frames, _at(members[one.member], one.frames))
        for one in copies
        if one.member in members
    ]
    if marks:
        lines = [*lines, ChartLine("a copy", (), marks=marks)]
    values = [value for steps in members.values() for _, value in steps]
    wide = min(values) > 0 and max(values) > WIDE * min(values)
    title = f"{name}" + (" (logarithmic)" if wide else "")
    return drawn(LineChart(title, lines, band, log=wide, text=lambda value: f"{value:.3g}"))


def _values_table(found: Mapping[str, Mapping[str, Steps]]) -> Markup | None:
    if not found:
        return None
    members = list(dict.fromkeys(member for own in found.values() for member in own))
    rows = [
        (
            member,
            *(
                f"{own[member][0][1]:.3g} → {own[member][-1][1]:.3g}" if member in own else "-"
                for own in found.values()
            ),
        )
        for member in members
    ]
    return folded(
        "First and newest values in numbers",
        table(
            ("member", *(f">{name}" for name in found)),
            rows,
            caption="Value at the start → value now",
        ),
    )


def _at(steps: Steps, frames: int) -> float:
    return next((value for at, value in reversed(steps[:-1]) if at <= frames), steps[0][1])
