"""Seating between frozen players: draws the players of an evaluation game, one for each seat.

`pbt/matchmaking/next_games.py` seats training games. All functions are pure: draws come from the
caller, which keys them by the game, so nothing depends on the order of arrival. Seats of one role
are interchangeable: a player is as likely to sit at one of them as at another.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

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


class Draws(Protocol):
    """Draws of one game; numpy's generators are some."""

    def random(self) -> float:
        """The next one, in [0, 1)."""


class DrawsInOrder:
    """Draws that were made beforehand."""

    def __init__(self, draws: Iterable[float]) -> None:
        self._draws = iter(draws)

    def random(self) -> float:
        return next(self._draws)


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
    rng: Draws,
    seat_roles: Sequence[str],
    snapshots: Sequence[SnapshotEntry],
    scripted: Sequence[str],
    games_played: Mapping[str, int],
    self_play: float = 0.0,
) -> tuple[PlayerRef, ...] | None:
    """Draw one frozen player per seat; None while no snapshot of these roles exists.

    snapshots     newest last
    scripted      the game's scripted players; "random", which every game has, may be left out
    games_played  evaluation games so far by snapshot id, 0 where not named
    self_play     probability that one player takes all seats

    One member's newest snapshot, drawn with odds 1 / (1 + games), sits at a random seat of its
    role. Each other seat gets one of these, drawn by the odds at the top of this file: "random",
    another scripted player, the snapshot's predecessor (same member and role), or another member's
    newest snapshot of the seat's role (again with odds 1 / (1 + games)).
    """
    newest = _newest_by_member([entry for entry in snapshots if entry.role in seat_roles])
    if not newest:
        return None
    focus = _draw_least_played(rng, newest, games_played)
    if self_play and rng.random() < self_play:
        return (PlayerRef("snapshot", focus.snapshot_id),) * len(seat_roles)
    focus_seat = _draw(rng, [seat for seat, role in enumerate(seat_roles) if role == focus.role])
    names = [name for name in scripted if name != RANDOM.name]
    players = []
    for seat, role in enumerate(seat_roles):
        if seat == focus_seat:
            players.append(PlayerRef("snapshot", focus.snapshot_id))
        else:
            others = [
                entry
                for entry in newest
                if entry.role == role and entry.snapshot_id != focus.snapshot_id
            ]
            players.append(
                _evaluation_opponent(
                    rng, _predecessor(snapshots, focus, role), others, names, games_played
                )
            )
    return tuple(players)


def _evaluation_opponent(
    rng: Draws,
    predecessor: SnapshotEntry | None,
    others: Sequence[SnapshotEntry],
    scripted: Sequence[str],
    games_played: Mapping[str, int],
) -> PlayerRef:
    options: list[tuple[float, Callable[[], PlayerRef]]] = [(RANDOM_ODDS, lambda: RANDOM)]
    if predecessor is not None:
        options.append((PREDECESSOR_ODDS, lambda: PlayerRef("snapshot", predecessor.snapshot_id)))
    if others:
        options.append(
            (
                OTHERS_ODDS,
                lambda: PlayerRef(
                    "snapshot", _draw_least_played(rng, others, games_played).snapshot_id
                ),
            )
        )
    if scripted:
        options.append(
            (SCRIPTED_ODDS * len(scripted), lambda: PlayerRef("scripted", _draw(rng, scripted)))
        )
    return options[_draw_index(rng, [odds for odds, _ in options])][1]()


def _newest_by_member(snapshots: Sequence[SnapshotEntry]) -> list[SnapshotEntry]:
    """The newest snapshot of every member.

    The order is that of members' names, so that draws do not depend on the order of snapshots.
    """
    newest = {entry.member: entry for entry in snapshots}
    return [newest[member] for member in sorted(newest)]


def _predecessor(
    snapshots: Sequence[SnapshotEntry], focus: SnapshotEntry, role: str
) -> SnapshotEntry | None:
    """The snapshot that the same member made before `focus`.

    None if there is none, or where the seat is of another role.
    """
    if role != focus.role:
        return None
    older = [
        entry
        for entry in snapshots
        if entry.member == focus.member and entry.snapshot_id != focus.snapshot_id
    ]
    return older[-1] if older else None


def _draw_least_played(
    rng: Draws, snapshots: Sequence[SnapshotEntry], games_played: Mapping[str, int]
) -> SnapshotEntry:
    return snapshots[
        _draw_index(
            rng, [1.0 / (1 + games_played.get(entry.snapshot_id, 0)) for entry in snapshots]
        )
    ]


def _draw_index(rng: Draws, odds: Sequence[float]) -> int:
    edges = np.cumsum(odds)
    return min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), len(odds) - 1)


def _draw(rng: Draws, choices: Sequence[T]) -> T:
    return choices[int(rng.random() * len(choices))]
