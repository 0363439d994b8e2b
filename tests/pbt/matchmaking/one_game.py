"""Training games one by one, for tests that look at single draws."""

import json
from collections.abc import Sequence
from functools import cache

import numpy as np

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.matchmaking.next_games import TrainingSeats
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.roster import MemberEntry, Roster, SnapshotEntry
from pbt.records import PlayerRef


def past_rules(
    share: float, window: int, mode: PastMode = "uniform", **more: float
) -> MatchmakingConfig:
    """How the past is drawn, also by numbers that no config may hold."""
    return MatchmakingConfig.model_construct(
        past_share=share, past_window=window, past_mode=mode, **more
    )


def seat_training_game(
    rng: np.random.Generator,
    seat_roles: Sequence[str],
    members: Sequence[MemberEntry],
    snapshots: Sequence[SnapshotEntry],
    past: MatchmakingConfig,
    win_rates: WinRates,
) -> tuple[PlayerRef, ...]:
    """One game of a table that no member owns."""
    rates = json.dumps(win_rates)
    seats = _training_seats(tuple(seat_roles), tuple(members), tuple(snapshots), past, rates)
    return seats.seat(rng.random((1, 1 + 2 * len(seat_roles))), np.array([0]))[0].players


@cache
def _training_seats(
    seat_roles: tuple[str, ...],
    members: tuple[MemberEntry, ...],
    snapshots: tuple[SnapshotEntry, ...],
    past: MatchmakingConfig,
    win_rates: str,
) -> TrainingSeats:
    roster = Roster(members, 1000, 0.0, snapshots, json.loads(win_rates))
    return TrainingSeats(seat_roles, roster, past, 0)


def owners_of(tables: int, members: Sequence[MemberEntry]) -> list[str | None]:
    """The owner of every table in a game with one seat."""
    roster = Roster(tuple(members), 1, 0.0)
    seats = TrainingSeats([members[0].role], roster, past_rules(0.0, 1), tables)
    owned = seats.owned(np.arange(tables)).tolist()
    return [members[place].name if place >= 0 else None for place in owned]
