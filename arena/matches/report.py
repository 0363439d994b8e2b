"""What a match says, as the model for programs; `arena.cli.match_text` says the same to people."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S, FORFEIT_PREFIX, PREFIX, printable
from arena.matches.assertions import Assertion, holds
from arena.matches.play import MatchResult
from arena.matches.report_schema import (
    AssertionReport,
    DuelReport,
    MatchReport,
    MeasureReport,
    PlayerReport,
    ReturnsReport,
    SprtReport,
    StandingReport,
    TableReport,
    TallyReport,
)
from arena.players.resolve import RANDOM, ResolvedPlayer
from arena.stats.free_for_all import Measure
from arena.stats.score import Tally, mean_interval
from arena.stats.sprt import SequentialTest

FEW_DISTINCT = 0.5
_OPENINGS = "more opening plies (evaluation.opening_plies) would help"


def match_report(
    result: MatchResult, asserted: Sequence[Assertion] = ()
) -> DuelReport | TableReport:
    """asserted: about a match of two."""
    return _table(result) if result.table is not None else _duel(result, asserted)


def match_json(result: MatchResult, asserted: Sequence[Assertion] = ()) -> dict[str, Any]:
    """By the schema docs/schemas/match.json."""
    found: dict[str, Any] = MatchReport(match_report(result, asserted)).model_dump(mode="json")
    return found


def verdict(result: MatchResult) -> str:
    """One sentence, with the confidence it was said with."""
    if result.table is not None:
        return _table_verdict(result)
    stats, test = result.duel, result.test
    if test is not None and test.state != "continue":
        found = _at_least(test.sprt.elo0) if test.state == "accept H1" else _below(test.sprt.elo1)
        return (
            f"{side_names(result)[0]} is {found} (sequential test, {_unit(test)}{_doubt(result)})"
        )
    if result.same_player:
        return _verdict_on_one(result)
    if result.plan.seating.alone:
        return _verdict_alone(result)
    if stats.low > 0.5:
        return f"{side_names(result)[0]} is stronger (95 %{_doubt(result)})"
    if stats.high < 0.5:
        return f"{side_names(result)[1]} is stronger (95 %{_doubt(result)})"
    return _undecided(result)


def _at_least(elo0: float) -> str:
    """What it means that a strength of `elo0` or less was rejected."""
    if elo0 < 0:
        return f"weaker by less than {-elo0:g}, if at all"
    return f"stronger by more than {elo0:g}" if elo0 else "stronger"


def _below(elo1: float) -> str:
    """What it means that a strength of `elo1` or more was rejected."""
    if elo1 > 0:
        return f"stronger by less than {elo1:g}, if at all"
    return f"weaker by more than {-elo1:g}" if elo1 else "weaker"


def _verdict_on_one(result: MatchResult) -> str:
    stats, interval = result.duel, _lead_interval(result)
    off = ["the score off 50 %"] if not stats.low <= 0.5 <= stats.high else []
    off += (
        ["the lead off 0"] if interval is not None and not interval[0] <= 0 <= interval[1] else []
    )
    return "the same player twice: " + (
        f"{' and '.join(off)}, which chance does in one match of twenty"
        if off
        else "even, as expected"
    )


def _verdict_alone(result: MatchResult) -> str:
    """In games of one seat who wins more seeds and who returns more in the mean are two
    questions, and both are answered.
    """
    stats, names, interval = result.duel, side_names(result), _lead_interval(result)
    winner = names[0] if stats.low > 0.5 else names[1] if stats.high < 0.5 else None
    leader = (
        None
        if interval is None
        else names[0]
        if interval[0] > 0
        else names[1]
        if interval[1] < 0
        else None
    )
    if winner is None and leader is None:
        return _undecided(result)
    if winner == leader:
        return (
            f"{winner} is stronger: it wins more seeds and returns more in the mean (95 "
            f"%{_doubt(result)})"
        )
    wins = f"{winner} wins more seeds" if winner else "who wins more seeds is not decided"
    means = (
        f"{leader} returns more in the mean"
        if leader
        else "who returns more in the mean is not decided"
    )
    return f"{wins}, {means} (95 %{_doubt(result)})"


def _lead_interval(result: MatchResult) -> tuple[float, float] | None:
    """Of how much more the first player returned on the same seed; None where nothing varies,
    and in games of more seats.
    """
    return mean_interval([own - other for own, other in result.returns])


def _undecided(result: MatchResult) -> str:
    return f"not decided (95 %); four times the games, {halving_games(result)}, halve the interval"


def side_names(result: MatchResult) -> tuple[str, str]:
    """Of the two players, told apart where they are called alike."""
    a, b = result.a.label, result.b.label
    return (a, b) if a != b else (f"{a} (first)", f"{b} (second)")


def _unit(test: SequentialTest) -> str:
    return "normalised Elo" if test.sprt.model == "normalised" else "Elo"


def _table_verdict(result: MatchResult) -> str:
    table = result.table
    assert table is not None
    best, second = table.standings[:2]
    name = result.plan.players[best.player].label
    if best.mean_place.high < second.mean_place.low:
        return f"{name} comes first (95 %{_doubt(result)})"
    return f"{name} leads; intervals overlap, so the first place is not decided (95 %)"


def player_json(player: ResolvedPlayer) -> dict[str, Any]:
    """As in the report of a match."""
    return player_report(player).model_dump()


def player_report(player: ResolvedPlayer) -> PlayerReport:
    return PlayerReport(
        name=player.label,
        kind=player.ref.kind,
        id=player.ref.name,
        population=player.population,
        member=player.member,
        role=player.role,
        frames=player.frames,
    )


def halving_games(result: MatchResult) -> int:
    """Four times the games halve an interval."""
    return 4 * len(result.records)


def resume_command(match_id: int, players: Sequence[ResolvedPlayer]) -> str:
    """What goes on with a match. The players are part of it where one of them is a program: what
    is stored is never run.
    """
    programs = [player.program for player in players if player.program is not None]
    if not programs:
        return f"arena match --resume {match_id}"
    names = [
        player.label if player.program is None else PREFIX + shlex.join(player.program.command)
        for player in players
    ]
    patience = programs[0].move_timeout_s
    waiting = "" if patience == DEFAULT_MOVE_TIMEOUT_S else f" --move-timeout {patience:g}"
    return f"arena match {' '.join(map(_shell_word, names))} --resume {match_id}{waiting}"


def _shell_word(text: str) -> str:
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{printable(escaped)}'"


def warnings(result: MatchResult) -> list[str]:
    """What makes the numbers doubtful."""
    found = list(result.notes)
    if _repeats(result):
        distinct, games = _distinct(result), len(result.records)
        cure = (
            "play without --greedy"
            if result.plan.greedy
            else _OPENINGS
            if result.plan.opening_plies
            else "these players hardly ever vary"
        )
        found.append(
            f"only {distinct} of {games} games are distinct, so the interval is too narrow; {cure}"
        )
    if result.left_out:
        units = "pairs" if result.table is None else "blocks"
        found.append(f"games of unfinished {units} are left out: {result.left_out}")
    if result.test is not None and result.test.state != "continue":
        found.append(
            "the sequential test chose when to stop, so score and Elo lean the way it "
            "decided; a match of fixed length estimates them"
        )
    if forfeits := [
        record.end_reason
        for record in result.records
        if record.end_reason.startswith(FORFEIT_PREFIX)
    ]:
        found.append(
            f"forfeited games count as lost; first: {forfeits[0].removeprefix(FORFEIT_PREFIX)}"
        )
    if result.errors:
        found.append(f"the game raised; first: {result.errors[0]}")
    return found


def _repeats(result: MatchResult) -> bool:
    """Most of its games were played before. Of short games with chance many are alike, and yet
    each was drawn anew.
    """
    return _distinct(result) < FEW_DISTINCT * len(result.records) and (
        result.plan.greedy or not result.plan.chance
    )


def _doubt(result: MatchResult) -> str:
    """What a verdict rests on, where that cannot be taken for granted."""
    return ", if games that are alike were independent" if _repeats(result) else ""


def _distinct(result: MatchResult) -> int:
    return len({record.trajectory_hash for record in result.records})


def _common(result: MatchResult) -> Mapping[str, Any]:
    plan, lengths = result.plan, [record.steps for record in result.records]
    return {
        "env": result.a.env_name,
        "env_options": dict(result.a.env_options),
        "seed": plan.seed,
        "greedy": plan.greedy,
        "opening_plies": plan.opening_plies,
        "paired": plan.seating.paired,
        "games": len(result.records),
        "planned": plan.games,
        "interim": result.interim,
        "distinct": _distinct(result),
        "mean_length": fmean(lengths),
        "length_deviation": pstdev(lengths),
        "errors": len(result.errors),
        "forfeits": sum(record.end_reason.startswith(FORFEIT_PREFIX) for record in result.records),
        "games_per_s": result.games_per_s,
        "match": result.match_id,
        "resume": resume_command(result.match_id, plan.players)
        if result.interim and result.match_id is not None
        else None,
        "verdict": verdict(result),
        "notes": tuple(warnings(result)),
    }


def _duel(result: MatchResult, asserted: Sequence[Assertion]) -> DuelReport:
    stats, test = result.duel, result.test
    return DuelReport(
        **_common(result),
        a=player_report(result.a),
        b=player_report(result.b),
        score=stats.score,
        low=stats.low,
        high=stats.high,
        interval=stats.interval,
        elo=stats.elo,
        elo_low=stats.elo_low,
        elo_high=stats.elo_high,
        nelo=stats.nelo,
        nelo_low=stats.nelo_low,
        nelo_high=stats.nelo_high,
        los=stats.los,
        biased=test is not None and test.state != "continue",
        wins=stats.total.wins,
        draws=stats.total.draws,
        losses=stats.total.losses,
        points=stats.total.wins + stats.total.draws / 2,
        pair_counts=stats.pair_counts,
        even_pairs=stats.even_pairs,
        as_first=_tally(stats.as_first),
        as_second=_tally(stats.as_second),
        first_against_second=_tally(stats.first_against_second),
        returns=_returns(result.returns) if result.returns else None,
        stronger="a" if stats.low > 0.5 else "b" if stats.high < 0.5 else None,
        halving_games=halving_games(result),
        sprt=None if test is None else _sprt(test),
        assertions=tuple(
            AssertionReport(text=one.text, holds=holds(one, stats, test)) for one in asserted
        ),
    )


def _tally(tally: Tally) -> TallyReport:
    return TallyReport(**asdict(tally))


def _returns(returns: Sequence[tuple[float, float]]) -> ReturnsReport:
    own, other = zip(*returns, strict=True)
    leads = [a - b for a, b in returns]
    interval = mean_interval(leads)
    lead = (
        None
        if interval is None
        else MeasureReport(value=fmean(leads), low=interval[0], high=interval[1])
    )
    return ReturnsReport(mean_a=fmean(own), mean_b=fmean(other), mean_lead=fmean(leads), lead=lead)


def _sprt(test: SequentialTest) -> SprtReport:
    sprt = test.sprt
    return SprtReport(
        **asdict(sprt),
        llr=test.llr,
        lower=sprt.lower,
        upper=sprt.upper,
        state=test.state,
        looked_at=test.looked_at,
    )


def _table(result: MatchResult) -> TableReport:
    table, players = result.table, result.plan.players
    assert table is not None
    ratings = {rating.player: rating for rating in result.ratings}
    standings = []
    for row in table.standings:
        rating, worst = ratings[row.player], len(players)
        rated = rating.elo is not None and rating.low is not None and rating.high is not None
        points = [
            (worst - place) / (worst - 1)
            for place in (row.mean_place.value, row.mean_place.high, row.mean_place.low)
        ]
        standings.append(
            StandingReport(
                player=player_report(players[row.player]),
                mean_place=_measure(row.mean_place),
                place_points=MeasureReport(value=points[0], low=points[1], high=points[2]),
                first=_measure(row.first),
                places=row.places,
                rating=MeasureReport.model_validate(
                    {"value": rating.elo, "low": rating.low, "high": rating.high}
                )
                if rated
                else None,
            )
        )
    ends = zip(table.score.tolist(), table.low.tolist(), table.high.tolist(), strict=True)
    score = tuple(
        tuple(
            None if row == column else MeasureReport(value=found[0], low=found[1], high=found[2])
            for column, found in enumerate(zip(*three, strict=True))
        )
        for row, three in enumerate(ends)
    )
    return TableReport(
        **_common(result),
        blocks=table.blocks,
        anchor=anchor(result).label,
        standings=tuple(standings),
        score=score,
    )


def anchor(result: MatchResult) -> ResolvedPlayer:
    """Whose rating is 0."""
    return next((player for player in result.plan.players if player.ref.name == RANDOM), result.a)


def _measure(measure: Measure) -> MeasureReport:
    return MeasureReport(**asdict(measure))
