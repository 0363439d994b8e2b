"""The report of a match for programs; `arena.cli.match_text` writes the same report for people."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from math import isnan
from statistics import fmean, pstdev
from typing import Any, Literal

from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S, FORFEIT_PREFIX, PREFIX, printable
from arena.matches.assertions import Assertion, holds
from arena.matches.match_result import PlayedMatch, TableResult, anchor, roles_of
from arena.matches.report_parts import (
    AssertionReport,
    EstimateReport,
    MarginReport,
    MeasureReport,
    PlayerReport,
    ReturnsReport,
    SprtReport,
    TallyReport,
)
from arena.matches.report_schema import (
    AnyReport,
    DuelReport,
    LeadReport,
    MatchReport,
    PartnerReport,
    PartnersReport,
    StandingReport,
    TableReport,
)
from arena.matches.seating import SeatHolder
from arena.matches.verdict import distinct_games, halving_games, verdict, warnings
from arena.players.resolve import ResolvedPlayer
from arena.stats.bradley_terry import Rating
from arena.stats.cross_play import PlayerReturns
from arena.stats.free_for_all import FreeForAll, PlayerPlaces
from arena.stats.intervals import mean_interval
from arena.stats.seat_means import Mean
from arena.stats.sprt import SequentialTest

NO_LOS = (
    "likelihood of superiority is for a fixed number of games, and a sequential test may stop this "
    "match"
)


def match_report(result: PlayedMatch, asserted: Sequence[Assertion] = ()) -> AnyReport:
    """The report of a match. asserted: assertions, which only a duel can have."""
    if result.partners is not None:
        return _partners(result)
    return _table(result, result.table) if result.table is not None else _duel(result, asserted)


def match_json(result: PlayedMatch, asserted: Sequence[Assertion] = ()) -> dict[str, Any]:
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


def _common(result: PlayedMatch) -> Mapping[str, Any]:
    """The fields that every report has."""
    plan, lengths = result.plan, [record.steps for record in result.records]
    return {
        "env": result.a.env_name,
        "env_options": dict(result.a.env_options),
        "objective": plan.objective,
        "seating": plan.seating.kind,
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


def _duel(result: PlayedMatch, asserted: Sequence[Assertion]) -> DuelReport:
    stats, test = result.duel, result.test
    numbers = asdict(stats)
    del numbers["total"], numbers["distinct"], numbers["left_out"]
    return DuelReport(
        **_common(result),
        **numbers,
        **asdict(stats.total),
        a=player_report(result.a),
        b=player_report(result.b),
        no_los=NO_LOS if stats.los is None else None,
        biased=test is not None and test.state != "continue",
        points=stats.total.wins + stats.total.draws / 2,
        first_against_second=TallyReport(**asdict(stats.first_against_second)),
        returns=_returns(result.returns) if result.returns else None,
        margin=None if result.margin is None else MarginReport(**asdict(result.margin)),
        stronger=_stronger(result),
        halving_games=halving_games(result),
        sprt=None if test is None else _sprt(test),
        assertions=tuple(
            AssertionReport(text=one.text, holds=holds(one, stats, test)) for one in asserted
        ),
    )


def _stronger(result: PlayedMatch) -> Literal["a", "b"] | None:
    """The player whose margin is above 0 by its interval, or whose score is above a half."""
    ends: tuple[float | None, float | None] = (result.duel.low, result.duel.high)
    even = 0.5
    if result.margin is not None:
        ends, even = (result.margin.low, result.margin.high), 0.0
    low, high = ends
    if low is not None and low > even:
        return "a"
    return "b" if high is not None and high < even else None


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


def _table(result: PlayedMatch, table: TableResult) -> TableReport:
    places, players = table.standings, result.plan.players
    ratings = {rating.player: rating for rating in table.ratings}
    anchors = {
        role: players[anchor(result.plan, role).player].label for role in roles_of(result.plan)
    }
    return TableReport(
        **_common(result),
        blocks=places.blocks,
        anchor=anchors.get(None),
        anchor_by_role={role: label for role, label in anchors.items() if role is not None},
        standings=tuple(
            _standing(row, players, ratings[row.player], table.returns[row.player])
            for row in places.standings
        ),
        score=_scores(places),
        leads=tuple(_leads(result, table)),
    )


def _standing(
    row: PlayerPlaces[SeatHolder],
    players: Sequence[ResolvedPlayer],
    rating: Rating[SeatHolder],
    returns: Mean,
) -> StandingReport:
    worst, elo, low, high = len(row.places), rating.elo, rating.low, rating.high
    points = [
        (worst - place) / (worst - 1)
        for place in (row.mean_place.value, row.mean_place.high, row.mean_place.low)
    ]
    return StandingReport(
        player=player_report(players[row.player.player]),
        role=row.player.role,
        mean_place=_measured(*astuple(row.mean_place)),
        place_points=_measured(*points),
        first=_measured(*astuple(row.first)),
        places=row.places,
        mean_return=_estimate(returns),
        rating=None if elo is None or low is None or high is None else _measured(elo, low, high),
    )


def _leads(result: PlayedMatch, table: TableResult) -> Iterator[LeadReport]:
    """The leads that are not negative; equal players are named once."""
    order = [row.player for row in table.standings.standings]
    for i, own in enumerate(order):
        for j, other in enumerate(order):
            lead = table.leads.get((own, other))
            if lead is not None and (lead.value > 0 or (lead.value == 0 and i < j)):
                unit: Literal["places", "return"] = (
                    "places" if result.plan.objective == "win" else "return"
                )
                yield LeadReport(ahead=i, behind=j, lead=_estimate(lead), unit=unit)


def _partners(result: PlayedMatch) -> PartnersReport:
    found = result.partners
    assert found is not None
    return PartnersReport(
        **_common(result),
        blocks=found.blocks,
        players=tuple(map(_partner, result.plan.players, found.players)),
        self_play=_estimate(found.self_play),
        cross_play=_estimate(found.cross_play),
        gap=_estimate(found.gap),
    )


def _partner(player: ResolvedPlayer, returns: PlayerReturns) -> PartnerReport:
    return PartnerReport(
        player=player_report(player),
        self_play=_estimate(returns.self_play),
        cross_play=_estimate(returns.cross_play),
        gap=_estimate(returns.gap),
        with_each=tuple(map(_estimate, returns.with_each)),
    )


def _scores(table: FreeForAll[SeatHolder]) -> tuple[tuple[MeasureReport | None, ...], ...]:
    """[player][opponent] in the order of the standings; None where the two never met."""
    ends = zip(table.score.tolist(), table.low.tolist(), table.high.tolist(), strict=True)
    return tuple(
        tuple(
            None if row == column or isnan(cell[0]) else _measured(*cell)
            for column, cell in enumerate(zip(*three, strict=True))
        )
        for row, three in enumerate(ends)
    )


def _measured(value: float, low: float, high: float) -> MeasureReport:
    return MeasureReport(value=value, low=low, high=high)


def _estimate(mean: Mean) -> EstimateReport:
    return EstimateReport(**asdict(mean))
