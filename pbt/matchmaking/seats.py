"""Seating between frozen players: draws the players of an evaluation game, one for each seat.

`pbt/matchmaking/next_games.py` seats training games. All functions are pure: draws come from the
caller, which keys them by the game, so nothing depends on the order of arrival. Seats of one role
are interchangeable: a player is as likely to sit at one of them as at another.

draws  uniform numbers in [0, 1) of this game, taken one after the other
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from pbt.config.population import MatchmakingConfig
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import PlayerRef

T = TypeVar("T")

RANDOM = PlayerRef("scripted", "random")

# Relative odds of the kinds of opponents in an evaluation game. A kind that does not exist yet is
# left out.
RANDOM_ODDS = 0.25
PREDECESSOR_ODDS = 0.25
OTHERS_ODDS = 0.5
SCRIPTED_ODDS = 0.05
# Share of the evaluation games that one player plays in all seats, where returns count.
SELF_PLAY_SHARE = 0.5


def evaluation_draws(seats: int) -> int:
    """How many draws `seat_evaluation_game` needs at most."""
    return 3 + 2 * seats


def past_candidates(
    snapshots: Sequence[SnapshotEntry], role: str, config: MatchmakingConfig
) -> list[str]:
    """Ids of the snapshots that training games may seat in this role. snapshots: newest last."""
    of_role = [entry for entry in snapshots if entry.role == role]
    latest = config.past_mode == "latest"
    candidates = _newest_by_member(of_role) if latest else of_role[-config.past_window :]
    return [entry.snapshot_id for entry in candidates]


def seat_evaluation_game(
    draws: Iterator[float],
    seat_roles: Sequence[str],
    snapshots: Sequence[SnapshotEntry],
    scripted: Sequence[str],
    games_played: Mapping[str, int],
    self_play: bool = False,
) -> tuple[PlayerRef, ...] | None:
    """Draw one frozen player per seat; None while no snapshot of these roles exists.

    snapshots     newest last
    scripted      the game's scripted players; "random", which every game has, may be left out
    games_played  evaluation games so far by snapshot id, 0 where not named
    self_play     whether one player takes all seats in a part of the games, SELF_PLAY_SHARE

    One member's newest snapshot, drawn with odds 1 / (1 + games), sits at a random seat of its
    role. Each other seat gets one of these, drawn by the odds at the top of this file: "random",
    another scripted player, the snapshot's predecessor (same member and role), or another member's
    newest snapshot of the seat's role (again with odds 1 / (1 + games)).
    """
    newest = _newest_by_member([entry for entry in snapshots if entry.role in seat_roles])
    if not newest:
        return None
    focus = _draw_least_played(draws, newest, games_played)
    if self_play and next(draws) < SELF_PLAY_SHARE:
        return (PlayerRef("snapshot", focus.snapshot_id),) * len(seat_roles)
    focus_seat = _draw(draws, [seat for seat, role in enumerate(seat_roles) if role == focus.role])
    names = [name for name in scripted if name != RANDOM.name]
    older = [entry for entry in snapshots if entry.member == focus.member]
    players = []
    for seat, role in enumerate(seat_roles):
        if seat == focus_seat:
            players.append(PlayerRef("snapshot", focus.snapshot_id))
            continue
        others, own = (
            [one for one in found if one.role == role and one.snapshot_id != focus.snapshot_id]
            for found in (newest, older)
        )
        players.append(_evaluation_opponent(draws, own, others, names, games_played))
    return tuple(players)


def _evaluation_opponent(
    draws: Iterator[float],
    older: Sequence[SnapshotEntry],
    others: Sequence[SnapshotEntry],
    scripted: Sequence[str],
    games_played: Mapping[str, int],
) -> PlayerRef:
    """older: what the member of the least played snapshot made before it, newest last."""
    odds = {
        "random": RANDOM_ODDS,
        "predecessor": PREDECESSOR_ODDS if older else 0.0,
        "others": OTHERS_ODDS if others else 0.0,
        "scripted": SCRIPTED_ODDS * len(scripted),
    }
    kind = list(odds)[_draw_index(draws, list(odds.values()))]
    if kind == "random":
        return RANDOM
    if kind == "scripted":
        return PlayerRef("scripted", _draw(draws, scripted))
    drawn = older[-1] if kind == "predecessor" else _draw_least_played(draws, others, games_played)
    return PlayerRef("snapshot", drawn.snapshot_id)


def _newest_by_member(snapshots: Sequence[SnapshotEntry]) -> list[SnapshotEntry]:
    """The newest snapshot of every member.

    The order is that of members' names, so that draws do not depend on the order of snapshots.
    """
    newest = {entry.member: entry for entry in snapshots}
    return [newest[member] for member in sorted(newest)]


def _draw_least_played(
    draws: Iterator[float], snapshots: Sequence[SnapshotEntry], games_played: Mapping[str, int]
) -> SnapshotEntry:
    odds = [1.0 / (1 + games_played.get(entry.snapshot_id, 0)) for entry in snapshots]
    return snapshots[_draw_index(draws, odds)]


def _draw_index(draws: Iterator[float], odds: Sequence[float]) -> int:
    edges = np.cumsum(odds)
    return int(np.searchsorted(edges, next(draws) * edges[-1], side="right"))


def _draw(draws: Iterator[float], choices: Sequence[T]) -> T:
    return choices[int(next(draws) * len(choices))]
