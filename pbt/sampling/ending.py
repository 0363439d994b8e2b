"""What is told of games that are over, or were voided."""

import hashlib
from collections.abc import Sequence

import numpy as np

from pbt.envs.contract import Outcome
from pbt.records import SeatRecord
from pbt.sampling.seats import UNKNOWN_VERSION
from pbt.sampling.table import Table
from pbt.transport.messages import GameEnd, SeatPlan


def game_ends(tables: Sequence[Table], outcomes: Sequence[Outcome]) -> list[GameEnd]:
    """The messages about the games of these tables, which are all of one worker."""
    if not tables:
        return []
    state = tables[0].state
    positions = np.array([table.position for table in tables], np.int64)
    seats, own = state.seats, state.seats.at(positions)
    columns = (seats.began_generation, seats.version_start, seats.version_end, seats.returns)
    rows = list(zip(*(column[own].tolist() for column in columns), strict=True))
    frames = seats.frames[own].reshape(-1, seats.per_table).sum(axis=1).tolist()
    steps, histories = state.steps[positions].tolist(), state.history.packed(positions)
    ends = []
    for at, (table, outcome) in enumerate(zip(tables, outcomes, strict=True)):
        history, plan = histories[at], table.plan
        mine = rows[at * seats.per_table : (at + 1) * seats.per_table]
        points = outcome.points or (None,) * len(mine)
        answers = [seats.answers[seat] for seat in table.seats]
        ends.append(
            GameEnd(
                table.index,
                plan,
                tuple(map(_record, plan.seats, mine, outcome.ranking, points)),
                steps[at],
                frames[at],
                outcome.reason,
                hashlib.blake2b(history, digest_size=8).hexdigest(),
                history if plan.record_actions else None,
                tuple(map(_witness, plan.seats, answers)),
            )
        )
    return ends


def _record(
    plan: SeatPlan, row: tuple[int, int, int, float], place: int, points: float | None
) -> SeatRecord:
    generation, first, last, returns = row
    known = None if first == UNKNOWN_VERSION else first
    began = known if plan.player.kind == "member" else 0
    return SeatRecord(plan.player, generation, began, last, place, returns, points)


def _witness(plan: SeatPlan, answers: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The answers of `GameEnd.answers`."""
    if plan.player.kind != "member":
        return tuple(answers)
    return tuple(one for one in answers if one[1])
