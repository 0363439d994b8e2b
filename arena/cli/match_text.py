"""The report of a match as text; its verdict is the last line."""

from collections.abc import Sequence
from pathlib import Path

from arena.cli.match_tables import estimate, measure, table_rows
from arena.data.paths import data_text
from arena.matches.assertions import Assertion
from arena.matches.match_result import PlayedMatch
from arena.matches.report import match_report
from arena.matches.report_parts import (
    AssertionReport,
    MarginReport,
    ReturnsReport,
    SprtReport,
    TallyReport,
)
from arena.matches.report_schema import (
    AnyReport,
    DuelReport,
    PartnerReport,
    PartnersReport,
    TableReport,
)
from arena.matches.verdict import side_names
from arena.stats.intervals import with_interval
from arena.stats.sprt import UNITS
from arena.words import number_of


def match_lines(
    result: PlayedMatch, asserted: Sequence[Assertion] = (), data: Path | None = None
) -> list[str]:
    """The report, one text per line. data: the data directory, if the user named one."""
    report, where = match_report(result, asserted), data_text(data)
    rows = (
        _duel_rows(report, result)
        if isinstance(report, DuelReport)
        else table_rows(report, result)
        if isinstance(report, TableReport)
        else _partner_rows(report, result)
    )
    rows.append(("Games", _games(report)))
    if isinstance(report, DuelReport) and report.sprt is not None:
        rows.append(("SPRT", _sprt(report.sprt, paired=report.pair_counts is not None)))
    rows += [("Note", note) for note in report.notes]
    if isinstance(report, DuelReport):
        rows += [("Assert", _assertion(one)) for one in report.assertions]
    if report.match is not None:
        rows.append(
            (
                "Saved",
                f"match {report.match}"
                + (f"; go on with: {report.resume}{where}" if report.resume else ""),
            )
        )
    if report.head is not None:
        rows.append(("Proof", f"arena verify match:{report.match} --head {report.head}{where}"))
    rows.append(("Interim" if report.interim else "Verdict", report.verdict))
    return [_headline(result), *(f"{name:<8} {text}" for name, text in rows)]


def _headline(result: PlayedMatch) -> str:
    plan, played = result.plan, len(result.records)
    together = plan.seating.block
    games = number_of(plan.games, "game")
    games = games if played == plan.games else f"{played} of {games}"
    if plan.seating.alone:
        games += f" on {number_of(plan.games // 2, 'seed')}" if plan.seating.paired else ""
    elif plan.seating.paired:
        blocks = number_of(plan.games // together, "seed pair" if together == 2 else "block")
        games += f" in {blocks}" + (f" of {together}" if together != 2 else "")
    actions = "greedy actions" if plan.greedy else "sampled actions"
    plies = "ply" if plan.opening_plies == 1 else "plies"
    openings = f", {plan.opening_plies} random {plies} to open" if plan.opening_plies else ""
    names = " vs ".join(player.label for player in plan.players)
    return f"{names}   {result.a.env_name}, {games}, {actions}{openings}, seed {plan.seed}"


def _duel_rows(report: DuelReport, result: PlayedMatch) -> list[tuple[str, str]]:
    counted = report.wins + report.draws + report.losses
    first, second = side_names(result)
    above = f"({first} above {second})"
    rows = [] if report.margin is None else [("Margin", _margin(report.margin, above))]
    rows += [
        (
            "Score",
            (
                f"{_score(report)}   won {report.wins}, drawn {report.draws}, lost "
                f"{report.losses}   points {report.points:g} / {counted}"
            ),
        ),
        (
            "Elo",
            (f"{_elo(report, result)}   nElo {_nelo(report)}   {_los(report)}{above}"),
        ),
    ]
    if report.pair_counts is not None and report.even_pairs is not None:
        lost, won = sum(report.pair_counts[:2]), sum(report.pair_counts[3:])
        split, drawn = report.even_pairs
        counts = ", ".join(str(count) for count in report.pair_counts)
        rows.append(
            (
                "Pairs",
                f"Ptnml(0-2) [{counts}]   WL/DD {split}/{drawn}   pairs won/lost {won}/{lost}",
            )
        )
    if report.returns is not None:
        rows += _return_rows(report.returns, first, second)
    else:
        seats = (
            f"first {_wdl(report.as_first)}   second {_wdl(report.as_second)}   first vs "
            f"second {_wdl(report.first_against_second)}"
        )
        rows.append(("Seats", f"{seats}   (won-drawn-lost)"))
    return rows


def _margin(margin: MarginReport, above: str) -> str:
    """The mean margin of a game with its interval."""
    ends = "no interval"
    if margin.low is not None and margin.high is not None:
        ends = f"[{margin.low:+.3g}, {margin.high:+.3g}]"
    stop = " at any stop" if margin.interval == "sequence" else ""
    return f"{margin.mean:+.3g} {ends}{stop} a game   {_los(margin)}{above}; this decides"


def _los(report: DuelReport | MarginReport) -> str:
    """The likelihood of superiority; none with a sequential test, which it does not allow for."""
    return "" if report.los is None else f"LOS {100 * report.los:.1f} %   "


def _elo(report: DuelReport, result: PlayedMatch) -> str:
    text = result.duel.elo_text
    bounded = result.duel.elo_low is not None or result.duel.elo_high is not None
    return f"{text} at any stop" if report.interval == "sequence" and bounded else text


def _score(report: DuelReport) -> str:
    score = f"{100 * report.score:.1f} % [{100 * report.low:.1f}, {100 * report.high:.1f}]"
    return f"{score} at any stop" if report.interval == "sequence" else score


def _nelo(report: DuelReport) -> str:
    """Normalised Elo; "not available" below 50 pairs, and in a match with a sequential test."""
    if report.nelo is None:
        return "not available"
    if report.nelo_low is None and report.nelo_high is None:
        return f"{report.nelo:+.1f}, without bounds"
    if report.nelo_low is None:
        return f"below {report.nelo_high:+.0f}"
    if report.nelo_high is None:
        return f"above {report.nelo_low:+.0f}"
    return with_interval(report.nelo, report.nelo_low, report.nelo_high)


def _return_rows(returns: ReturnsReport, first: str, second: str) -> list[tuple[str, str]]:
    lead = (
        f"{returns.mean_lead:+.4g}, on every seed"
        if returns.lead is None
        else measure(returns.lead, "+.4g")
    )
    return [
        (
            "Return",
            (
                f"{first} {returns.mean_a:.4g}   {second} {returns.mean_b:.4g}   (means; Score "
                "counts the seeds on which the first returned more)"
            ),
        ),
        ("Lead", f"{lead}   (of {first}: how much more it returned on the same seed)"),
    ]


def _partner_rows(report: PartnersReport, result: PlayedMatch) -> list[tuple[str, str]]:
    """Self-play, cross-play and their gap, then the matrix of mean returns."""
    names = (
        list(side_names(result))
        if len(report.players) == 2
        else [one.player.name for one in report.players]
    )
    width = max(len(name) for name in [*names, "all"])
    everyone: list[tuple[str, PartnerReport | PartnersReport]] = [
        *zip(names, report.players, strict=True),
        ("all", report),
    ]
    rows = [
        (
            "Return" if place == 0 else "",
            f"{name:{width}}  self-play {estimate(one.self_play)}   cross-play "
            f"{estimate(one.cross_play)}   gap {estimate(one.gap, '+.4g')}",
        )
        for place, (name, one) in enumerate(everyone)
    ]
    heads = "  ".join(f"{name:>{width}}" for name in names)
    explained = "(return of the row's player beside the column's)"
    rows.append(("With", f"{'':{width}}  {heads}   {explained}"))
    for name, one in zip(names, report.players, strict=True):
        cells = "  ".join(f"{mean.value:{width}.4g}" for mean in one.with_each)
        rows.append(("", f"{name:{width}}  {cells}"))
    return rows


def _games(report: AnyReport) -> str:
    speed = (
        ""
        if report.games_per_s is None
        else f", {report.games_per_s:.{0 if report.games_per_s >= 100 else 1}f} games/s"
    )
    again = " (played again)" if report.errors else ""
    length = f"{report.mean_length:.1f} ± {report.length_deviation:.1f} decisions"
    return (
        f"{length}, distinct {report.distinct}/{report.games}, forfeits "
        f"{report.forfeits}, errors {report.errors}{again}{speed}"
    )


def _sprt(sprt: SprtReport, *, paired: bool) -> str:
    looked_at = number_of(sprt.looked_at, "pair" if paired else "game")
    unit = UNITS[sprt.model].replace("normalised Elo", "nElo")
    state = {"continue": "not decided", "accept H0": "H0 accepted", "accept H1": "H1 accepted"}[
        sprt.state
    ]
    bounds = f"[{sprt.lower:.2f}, {sprt.upper:.2f}]"
    return (
        f"{state} after {looked_at}: LLR {sprt.llr:.2f} in {bounds}, {unit} "
        f"{sprt.elo0:g} against {sprt.elo1:g}"
    )


def _assertion(one: AssertionReport) -> str:
    return f"{one.text}: " + {True: "holds", False: "does not hold", None: "not decided"}[one.holds]


def _wdl(tally: TallyReport) -> str:
    return f"{tally.wins}-{tally.draws}-{tally.losses}"
