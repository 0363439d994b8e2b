"""The report of a match at larger tables, or of more than two players, as rows of text.

Where seats have several roles, each role has a table of its own: places and ratings of one role do
not compare with those of another.
"""

from collections.abc import Sequence

from arena.matches.match_result import PlayedMatch
from arena.matches.report_parts import EstimateReport, MeasureReport
from arena.matches.report_schema import StandingReport, TableReport
from arena.matches.verdict import side_names


def table_rows(report: TableReport, result: PlayedMatch) -> list[tuple[str, str]]:
    names = _row_names(report, result)
    # Places and ratings would compare the returns of different roles.
    if report.objective == "return":
        return _lead_rows(report, names)
    return [*_place_rows(report, names), *_lead_rows(report, names)]


def _place_rows(report: TableReport, names: Sequence[str]) -> list[tuple[str, str]]:
    """The standings by places, role by role, then which player came before which."""
    width = max(len(name) for name in names)
    roles = list(dict.fromkeys(row.role for row in report.standings))
    rows = [row for role in roles for row in _standing_rows(report, names, role, width)]
    rows.append(
        ("", "the intervals of Elo take all games as independent, the others only whole blocks")
    )
    return rows + [row for role in roles for row in _before_rows(report, names, role, width)]


def _standing_rows(
    report: TableReport, names: Sequence[str], role: str | None, width: int
) -> list[tuple[str, str]]:
    """The standings of one role, with places of their own. width: of the longest name"""
    anchor = report.anchor if role is None else report.anchor_by_role[role]
    head = "" if role is None else f"role {role}"
    rows = [
        (
            "Place",
            (
                f"{head:{width}}  mean place [95 %]      points [95 %]        first [95 %]         "
                f"Elo, {anchor} = 0    places"
            ),
        )
    ]
    own = [at for at, row in enumerate(report.standings) if row.role == role]
    return rows + [
        (str(place), f"{names[at]:{width}}  {_standing(report.standings[at])}")
        for place, at in enumerate(own, start=1)
    ]


def _before_rows(
    report: TableReport, names: Sequence[str], role: str | None, width: int
) -> list[tuple[str, str]]:
    """How often the players of a role came before those that they met."""
    own = [at for at, row in enumerate(report.standings) if row.role == role]
    met = [
        at
        for at in range(len(names))
        if role is None or any(report.score[row][at] is not None for row in own)
    ]
    heads = "  ".join(f"{names[at]:>{width}}" for at in met)
    rows = [("Before", f"{'%':{width}}  {heads}   (how often the row came before the column)")]
    for row in own:
        cells = [_before(report.score[row][at], width) for at in met]
        rows.append(("", f"{names[row]:{width}}  {'  '.join(cells)}".rstrip()))
    return rows


def _before(score: MeasureReport | None, width: int) -> str:
    return f"{'':>{width}}" if score is None else f"{100 * score.value:{width}.1f}"


def _row_names(report: TableReport, result: PlayedMatch) -> list[str]:
    """The names of the rows; a player against itself is told apart as in `side_names`."""
    assert result.table is not None
    sides = [player.label for player in result.plan.players]
    if result.same_player:
        sides = list(side_names(result))
    takers = [sides[row.player.player] for row in result.table.standings.standings]
    return [
        name if row.role is None else f"{name} as {row.role}"
        for name, row in zip(takers, report.standings, strict=True)
    ]


def _lead_rows(report: TableReport, names: Sequence[str]) -> list[tuple[str, str]]:
    """Mean returns, and leads in the same seats, where copies fill a role's seats."""
    if report.seating != "roles" and report.objective == "win":
        return []
    returns = [
        ("Return", f"{name} {estimate(row.mean_return)}   (mean of a seat)")
        for name, row in zip(names, report.standings, strict=True)
    ]
    units = {"places": "places earlier", "return": "more returned"}
    return returns + [
        (
            "Lead",
            f"{estimate(one.lead, '+.4g')} {units[one.unit]}   (of {names[one.ahead]} over "
            f"{names[one.behind]}, in the same seats on the same seeds)",
        )
        for one in report.leads
    ]


def _standing(row: StandingReport) -> str:
    rating = "not known" if row.rating is None else _rating(row.rating)
    places = " ".join(f"{games:g}" for games in row.places)
    return (
        f"{measure(row.mean_place, '.2f'):21}  {_percent(row.place_points):19}  "
        f"{_percent(row.first):19}  {rating:20}  {places}"
    )


def _rating(elo: MeasureReport) -> str:
    """The rating with its interval; the player that is pinned at 0 has none."""
    return "0" if elo.low == elo.high else measure(elo, "+.0f")


def _percent(measure: MeasureReport) -> str:
    return f"{100 * measure.value:.1f} % [{100 * measure.low:.1f}, {100 * measure.high:.1f}]"


def estimate(mean: EstimateReport, form: str = ".4g") -> str:
    """The mean with its interval, which a single block, or equal ones, do not have."""
    ends = "" if mean.low is None else f" [{mean.low:{form}}, {mean.high:{form}}]"
    return f"{mean.value:{form}}{ends}"


def measure(measure: MeasureReport, form: str) -> str:
    return f"{measure.value:{form}} [{measure.low:{form}}, {measure.high:{form}}]"
