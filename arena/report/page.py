"""The page of a report: one file that asks no host for anything. Pure."""

from pathlib import Path

from arena.assessment.words import count_text, time_text
from arena.league.frames import frames_text
from arena.report.html import Markup, folded, joined, table, tag
from arena.report.matrix_section import matrix_section
from arena.report.pbt_section import lineage_section, values_section
from arena.report.records import PopulationReport
from arena.report.strength_section import opponents_section, strength_section
from arena.report.words import moment_text

STYLE = Path(__file__).with_name("page.css")
# No script, and nothing from any host, whatever the texts of a population say.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LEVELS = {"good": "good", "info": "note", "warn": "warning", "bad": "fault"}


def page(report: PopulationReport) -> str:
    """The report as an HTML document."""
    title = f"{report.assessment.population}: report"
    body = tag(
        "main",
        _top(report),
        strength_section(report),
        opponents_section(report),
        matrix_section(report),
        lineage_section(report),
        values_section(report),
        _config(report),
        _origin(report),
    )
    # The style is a file of the program, so it is not escaped.
    style = Markup(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    head = joined(
        [
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="color-scheme" content="light dark">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
            tag("title", title),
            style,
        ]
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _top(report: PopulationReport) -> Markup:
    """The name, the verdict in words, and what a reader should know."""
    made = report.assessment
    goal = "" if made.goal_frames is None else f" of {frames_text(made.goal_frames)}"
    facts = [
        ("game", made.game),
        ("state", made.state),
        ("members", str(len(made.members))),
        ("frames of a member", f"{frames_text(made.frames)}{goal}"),
        ("trained for", "-" if report.ran_s is None else time_text(report.ran_s)),
        ("made", moment_text(report.created_at)),
        ("this report", moment_text(report.made_at)),
    ]
    findings = [
        tag("li", tag("b", _LEVELS[one.level]), f" {one.text}", class_=one.level)
        for one in made.findings
        if one.text not in made.sentence
    ]
    return tag(
        "header",
        tag("h1", made.population),
        tag("p", made.sentence, class_=f"verdict {made.conclusion}"),
        tag("dl", [tag("div", tag("dt", what), tag("dd", said)) for what, said in facts]),
        tag("ul", findings, class_="findings") if findings else None,
    )


def _config(report: PopulationReport) -> Markup:
    """The config beside its template; all of it is folded."""
    config = report.config
    template = "the defaults" if config.beside is None else f"the template {config.beside}"
    columns = ("key", "value", config.beside or "default")
    chosen, decided = (
        [(one.key, one.value, one.other) for one in config.differences if one.decided is decided]
        for decided in (False, True)
    )
    heading = f"{count_text(len(chosen), 'value differs', 'values differ')} from {template}"
    left_open = f"Decided when the population began, and left open by {template}"
    return tag(
        "section",
        tag("h2", "Config"),
        table(columns, chosen, caption=heading, class_="code"),
        table(columns, decided, caption=left_open, class_="code") if decided else None,
        folded(
            "The whole config, as TOML",
            tag("pre", config.toml, tabindex=0, role="region", aria_label="The config"),
        ),
    )


def _origin(report: PopulationReport) -> Markup:
    """Versions, machine, and the head of the chain of digests."""
    names = list(dict.fromkeys([*report.versions, *report.versions_now]))
    rows = [
        (name, report.versions.get(name, "-"), report.versions_now.get(name, "-")) for name in names
    ]
    machine = "; ".join(f"{what}: {said}" for what, said in report.machine.items())
    placement = f" Placement of its newest training: {report.placement}." * bool(report.placement)
    return tag(
        "section",
        tag("h2", "Versions, machine and proof"),
        table(
            ("package", "when it was made", "of this report"),
            rows,
            caption="Versions when the population was made, and of the program that wrote this",
        ),
        tag("p", f"The machine that wrote this report: {machine}.{placement}"),
        _proof(report),
    )


def _proof(report: PopulationReport) -> Markup:
    proof, name = report.proof, report.assessment.population
    if not proof.checked:
        said = tag("p", "Its rows were not compared with the chain, which may take minutes.")
    elif proof.problems:
        count = count_text(len(proof.problems), "difference", "differences")
        listed = [tag("li", one) for one in proof.problems[:20]]
        said = tag("div", tag("p", f"Its rows do not agree with the chain: {count}."))
        said = tag("div", said, tag("ul", listed), class_="bad")
    else:
        said = tag("p", "Its rows were compared with the chain, and agree.", class_="good")
    command = f"arena verify {name} --head {proof.head}"
    return joined(
        [
            tag(
                "p",
                f"Every row stands in a chain of digests of {proof.records:,} records. Its head "
                "when this report was written:",
            ),
            tag("p", tag("code", proof.head)),
            said,
            tag("p", "To verify all of it, with games and files: ", tag("code", command)),
        ]
    )
