"""The report of a match for programs; `arena.cli.match_text` writes the same report for people."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from statistics import fmean, pstdev
from typing import Any

from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S, FORFEIT_PREFIX, PREFIX, printable
from arena.matches.assertions import Assertion, holds
from arena.matches.match_result import MatchResult
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
from arena.matches.verdict import distinct_games, halving_games, verdict, warnings
from arena.players.resolve import RANDOM, ResolvedPlayer
from arena.stats.bradley_terry import Rating
from arena.stats.free_for_all import FreeForAll, PlayerPlaces
from arena.stats.intervals import mean_interval
from arena.stats.sprt import SequentialTest


def match_report(
    result: MatchResult, asserted: Sequence[Assertion] = ()
) -> DuelReport | TableReport:
    """The report of a match. asserted: assertions, which only a match of two can have."""
    return _table(result) if result.table is not None else _duel(result, asserted)


def match_json(result: MatchResult, asserted: Sequence[Assertion] = ()) -> dict[str, Any]:
    """The report as plain values; their schema is docs/schemas/match.json."""
    report: dict[str, Any] = MatchReport(match_report(result, asserted)).model_dump(mode="json")
    return report


def player_json(player: ResolvedPlayer) -> dict[str, Any]:
    """A player as plain values, as in the report of a match."""
    return player_report(player).model_dump()


def player_report(player: ResolvedPlayer) -> PlayerReport:
    """A player, as in the report of a match."""
    return PlayerReport(
        name=player.label,
        kind=player.ref.kind,
        id=player.ref.name,
        population=player.population,
        member=player.member,
        role=player.role,
        frames=player.frames,
    )


def resume_command(match_id: int, players: Sequence[ResolvedPlayer]) -> str:
    """The command that goes on with a match.

    It names the players where one of them is a program, since a stored command is never run.
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
    """The text quoted for a shell, on one line."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{printable(escaped)}'"


def _common(result: MatchResult) -> Mapping[str, Any]:
    """The fields that every report has."""
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
        "distinct": distinct_games(result),
        "mean_length": fmean(lengths),
        "length_deviation": pstdev(lengths),
        "errors": len(result.errors),
        "forfeits": sum(record.end_reason.startswith(FORFEIT_PREFIX) for record in result.records),
        "games_per_s": result.games_per_s,
        "match": result.match_id,
        "head": result.head,
        "resume": resume_command(result.match_id, plan.players)
        if result.interim and result.match_id is not None
        else None,
        "verdict": verdict(result),
        "notes": tuple(warnings(result)),
    }


def _duel(result: MatchResult, asserted: Sequence[Assertion]) -> DuelReport:
    stats, test = result.duel, result.test
    numbers = asdict(stats)
    del numbers["total"], numbers["distinct"], numbers["left_out"]
    return DuelReport(
        **_common(result),
        **numbers,
        **asdict(stats.total),
        a=player_report(result.a),
        b=player_report(result.b),
        biased=test is not None and test.state != "continue",
        points=stats.total.wins + stats.total.draws / 2,
        first_against_second=TallyReport(**asdict(stats.first_against_second)),
        returns=_returns(result.returns) if result.returns else None,
        stronger="a" if stats.low > 0.5 else "b" if stats.high < 0.5 else None,
        halving_games=halving_games(result),
        sprt=None if test is None else _sprt(test),
        assertions=tuple(
            AssertionReport(text=one.text, holds=holds(one, stats, test)) for one in asserted
        ),
    )


def _returns(returns: Sequence[tuple[float, float]]) -> ReturnsReport:
    own, other = zip(*returns, strict=True)
    leads = [a - b for a, b in returns]
    interval = mean_interval(leads)
    lead = _measured(fmean(leads), *interval) if interval is not None else None
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
    return TableReport(
        **_common(result),
        blocks=table.blocks,
        anchor=anchor(result).label,
        standings=tuple(_standing(row, players, ratings[row.player]) for row in table.standings),
        score=_scores(table),
    )


def _standing(
    row: PlayerPlaces[int], players: Sequence[ResolvedPlayer], rating: Rating[int]
) -> StandingReport:
    worst, elo, low, high = len(players), rating.elo, rating.low, rating.high
    points = [
        (worst - place) / (worst - 1)
        for place in (row.mean_place.value, row.mean_place.high, row.mean_place.low)
    ]
    return StandingReport(
        player=player_report(players[row.player]),
        mean_place=_measured(*astuple(row.mean_place)),
        place_points=_measured(*points),
        first=_measured(*astuple(row.first)),
        places=row.places,
        rating=None if elo is None or low is None or high is None else _measured(elo, low, high),
    )


def _scores(table: FreeForAll[int]) -> tuple[tuple[MeasureReport | None, ...], ...]:
    """[player][opponent] in the order of the standings; None on the diagonal."""
    ends = zip(table.score.tolist(), table.low.tolist(), table.high.tolist(), strict=True)
    return tuple(
        tuple(
            None if row == column else _measured(*cell)
            for column, cell in enumerate(zip(*three, strict=True))
        )
        for row, three in enumerate(ends)
    )


def anchor(result: MatchResult) -> ResolvedPlayer:
    """The player whose rating is 0."""
    return next((player for player in result.plan.players if player.ref.name == RANDOM), result.a)


def _measured(value: float, low: float, high: float) -> MeasureReport:
    return MeasureReport(value=value, low=low, high=high)
