"""What is told of games that are over, or were voided."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from pbt.envs.contract import Outcome
from pbt.records import SeatRecord
from pbt.sampling.seats import Indices, Seats
from pbt.sampling.table import Table
from pbt.transport.messages import GameEnd, GamesOver, SeatPlan, began_version, lineups_of


def endings(tables: Sequence[Table], outcomes: Mapping[int, Outcome]) -> list[GameEnd | GamesOver]:
    """The messages about games that were played to their end, in their order.

    There is none about games that decorrelate.

    tables    of one worker
    outcomes  by position
    """
    told = list[GameEnd | GamesOver]()
    scored = [table for table in tables if not table.plan.decorrelates]
    for together, own in groupby(scored, key=_told_together):
        alike = list(own)
        theirs = [outcomes[table.position] for table in alike]
        if together:
            told.append(games_over(alike, theirs))
        else:
            told += map(game_end, alike, theirs)
    return told


def _told_together(table: Table) -> bool:
    plan = table.plan
    return plan.kind == "training" and not plan.record_actions and plan.pair is None


def games_over(tables: Sequence[Table], outcomes: Sequence[Outcome]) -> GamesOver:
    """The message about training games of one worker, at least one, none of them voided."""
    state = tables[0].state
    positions = np.array([table.position for table in tables], np.int64)
    seats, own = state.seats, state.seats.at(positions)
    lineups, lineup = lineups_of(table.plan for table in tables)
    return GamesOver(
        tables=[table.index for table in tables],
        counts=[table.plan.game_count for table in tables],
        seeds=[table.plan.seed for table in tables],
        openings=[table.plan.opening_plies for table in tables],
        lineups=lineups,
        lineup=lineup,
        steps=state.steps[positions].tolist(),
        frames=seats.frames[own].reshape(-1, seats.per_table).sum(axis=1).tolist(),
        reasons=[outcome.reason for outcome in outcomes],
        hashes=[_hash(history) for history in state.history.packed(positions)],
        generations=seats.began_generation[own].tolist(),
        first_versions=seats.version_start[own].tolist(),
        last_versions=seats.version_end[own].tolist(),
        places=[place for outcome in outcomes for place in outcome.ranking],
        returns=seats.returns[own].tolist(),
        points=_points(outcomes, seats.per_table),
        answers=_answers(seats, own, lineups, lineup),
    )


def _points(outcomes: Sequence[Outcome], seats: int) -> list[float]:
    """The points of `GamesOver`. seats: of a game."""
    if all(outcome.points is None for outcome in outcomes):
        return []
    none = (math.nan,) * seats
    return [points for outcome in outcomes for points in outcome.points or none]


def _answers(
    seats: Seats, own: Indices, lineups: Sequence[tuple[SeatPlan, ...]], lineup: Sequence[int]
) -> list[tuple[int, int, int]]:
    """The answers of `GamesOver`. own: the seats of the games."""
    places, versions, weights = seats.answers.among(own)
    if not len(places):
        return []
    live = np.array([[plan.player.kind == "member" for plan in plans] for plans in lineups])
    kept = (weights != 0) | ~live[lineup].reshape(-1)[places]
    columns = (column[kept].tolist() for column in (places, versions, weights))
    return list(zip(*columns, strict=True))


def game_end(table: Table, outcome: Outcome) -> GameEnd:
    """The message about one game."""
    state, plan, position = table.state, table.plan, np.array([table.position])
    seats, own = state.seats, state.seats.at(position)
    columns = (seats.began_generation, seats.version_start, seats.version_end)
    rows = zip(*(column[own].tolist() for column in columns), strict=True)
    points = outcome.points or (None,) * len(own)
    (history,) = state.history.packed(position)
    facts = zip(plan.seats, rows, outcome.ranking, seats.returns[own].tolist(), points, strict=True)
    answers = [seats.answers.of(seat) for seat in table.seats]
    return GameEnd(
        table.index,
        plan,
        tuple(_record(*of_seat) for of_seat in facts),
        table.steps,
        int(seats.frames[own].sum()),
        outcome.reason,
        _hash(history),
        history if plan.record_actions else None,
        tuple(map(_witness, plan.seats, answers)),
    )


def _hash(history: bytes) -> str:
    return hashlib.blake2b(history, digest_size=8).hexdigest()


def _record(
    plan: SeatPlan,
    row: tuple[int, int, int],
    place: int,
    returns: float,
    points: float | None,
) -> SeatRecord:
    generation, first, last = row
    began = began_version(first, plan.player.kind == "member")
    return SeatRecord(plan.player, generation, began, last, place, returns, points)


def _witness(plan: SeatPlan, answers: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The answers of `GameEnd.answers`."""
    if plan.player.kind != "member":
        return tuple(answers)
    return tuple(one for one in answers if one[1])
