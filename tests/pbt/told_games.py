"""Games as messages tell of them, one by one: several that are over come in one message."""

import math
from collections.abc import Iterable

from pbt.population.controller import Controller
from pbt.population.scores import ScoreWindow
from pbt.records import GameRecord, is_voided
from pbt.transport.messages import UNKNOWN_VERSION, GameEnd, GamePlan, GamesOver, SeatPlan


def ends_of(messages: Iterable[object]) -> list[GameEnd]:
    """The games that messages tell of, in order; plans without what a message leaves out."""
    ends = list[GameEnd]()
    for message in messages:
        if isinstance(message, GameEnd):
            ends.append(message)
        elif isinstance(message, GamesOver):
            ends += map(alone, message.records(0), (message.lineups[n] for n in message.lineup))
    return ends


def alone(record: GameRecord, seats: tuple[SeatPlan, ...] | None = None) -> GameEnd:
    """The message about a game. seats: None: of its players, without policies."""
    if seats is None:
        seats = tuple(SeatPlan(seat.player, 0, seat.generation, True) for seat in record.seats)
    plan = GamePlan(record.count, "training", record.seed, seats, (), record.opening_plies)
    ended = record.steps, record.frames, record.end_reason, record.trajectory_hash
    return GameEnd(record.environment, plan, record.seats, *ended, None)


def together(ends: list[GameEnd]) -> GamesOver:
    """The message about training games that ended well."""
    seats = [seat for end in ends for seat in end.seats]
    firsts = [UNKNOWN_VERSION if s.version_start is None else s.version_start for s in seats]
    return GamesOver(
        tables=[end.table for end in ends],
        counts=[end.plan.game_count for end in ends],
        seeds=[end.plan.seed for end in ends],
        openings=[end.plan.opening_plies for end in ends],
        lineups=[end.plan.seats for end in ends],
        lineup=list(range(len(ends))),
        steps=[end.steps for end in ends],
        frames=[end.frames for end in ends],
        reasons=[end.reason for end in ends],
        hashes=[end.trajectory_hash for end in ends],
        generations=[seat.generation for seat in seats],
        first_versions=firsts,
        last_versions=[seat.version_end for seat in seats],
        places=[seat.place for seat in seats],
        returns=[seat.returns for seat in seats],
        points=[math.nan if seat.points is None else seat.points for seat in seats],
        answers=[],
    )


def tell(controller: Controller, end: GameEnd) -> None:
    """Tell a controller of a game, as a worker does."""
    if end.plan.kind == "training" and not is_voided(end.reason):
        controller.on_games(together([end]))
    else:
        controller.on_game(end)


def count_game(window: ScoreWindow, record: GameRecord) -> None:
    """Tell a window of a game, as a controller does."""
    if record.kind == "training" and not is_voided(record.end_reason):
        window.add_games(together([alone(record)]), record.number)
