"""Who sits where in the next game, pure: training games around a learning member, evaluation games
between frozen snapshots.

Who is drawn among the past: `pbt/matchmaking/past.py`.

Every draw comes from the rng that the caller keyed by the game; nothing depends on arrival order.
Seats of one role are interchangeable: no player is likelier to sit at one of them than at another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pbt.errors import EngineError
from pbt.matchmaking.past import UNKNOWN, WEIGHTS, PastRules, WinRates, past_probabilities
from pbt.records import PlayerRef

T = TypeVar("T")

RANDOM = PlayerRef("scripted", "random")

# Relative odds of an evaluation opponent; those that do not exist yet fall away and the rest share
# their place.
RANDOM_ODDS = 0.25
PREDECESSOR_ODDS = 0.25
OTHERS_ODDS = 0.5
SCRIPTED_ODDS = 0.05


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """A live member; learning is False when it is paused, finished or failed: it then plays with
    frozen weights.
    """

    name: str
    role: str
    learning: bool


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A snapshot whose weights are still stored."""

    snapshot_id: str
    member: str
    role: str


def seat_training_game(
    rng: np.random.Generator,
    seat_roles: Sequence[str],
    members: Sequence[MemberEntry],
    snapshots: Sequence[SnapshotEntry],
    past: PastRules,
    win_rates: WinRates,
) -> tuple[PlayerRef, ...]:
    """One player per seat, a learning member among them.

    seat_roles   the role of every seat;  snapshots: newest last
    past         how often another seat is taken by a snapshot of its role, if there are any, and by
                 which
    win_rates    of members against snapshots, for the modes of `past` that ask for them

    A uniformly random seat among those that a learning member can take gets one; every other seat
    gets a snapshot or any live member of its role, uniformly (also the same member again). Raises:
    EngineError when nobody learns, or a role has neither members nor snapshots.
    """
    learners = {
        role: [entry.name for entry in members if entry.role == role and entry.learning]
        for role in seat_roles
    }
    open_seats = [seat for seat, role in enumerate(seat_roles) if learners[role]]
    if not open_seats:
        raise EngineError(
            f"no learning member for any of the roles {sorted(learners)}: a training game needs one"
        )
    candidates = {role: past_candidates(snapshots, role, past) for role in seat_roles}
    learning_seat = open_seats[int(rng.integers(len(open_seats)))]
    players = []
    for seat, role in enumerate(seat_roles):
        if seat == learning_seat:
            players.append(PlayerRef("member", _draw(rng, learners[role])))
            continue
        live = [PlayerRef("member", entry.name) for entry in members if entry.role == role]
        players.append(_draw_opponent(rng, seat, role, live, candidates[role], past.share))
    if past.mode not in WEIGHTS:
        return tuple(players)
    # Whom the past sends depends on who learns, which is known only now.
    learner = players[learning_seat].name
    return tuple(
        player
        if player.kind == "member"
        else _draw_past(rng, candidates[role], learner, past, win_rates)
        for player, role in zip(players, seat_roles, strict=True)
    )


def _draw_opponent(
    rng: np.random.Generator,
    seat: int,
    role: str,
    live: Sequence[PlayerRef],
    past: Sequence[str],
    past_share: float,
) -> PlayerRef:
    """past: ids of the snapshots that may sit there. Raises: EngineError when nobody may."""
    frozen = [PlayerRef("snapshot", snapshot_id) for snapshot_id in past]
    wants_past = rng.random() < past_share
    choices = frozen if frozen and (wants_past or not live) else live
    if not choices:
        raise EngineError(
            f'seat {seat} cannot be filled: role "{role}" has neither live members nor snapshots'
        )
    return _draw(rng, choices)


def past_candidates(snapshots: Sequence[SnapshotEntry], role: str, past: PastRules) -> list[str]:
    """Ids of the snapshots that may take a seat of this role. snapshots: newest last."""
    of_role = [entry for entry in snapshots if entry.role == role]
    return [
        entry.snapshot_id
        for entry in (
            _newest_by_member(of_role) if past.mode == "latest" else of_role[-past.window :]
        )
    ]


def _draw_past(
    rng: np.random.Generator,
    candidates: Sequence[str],
    learner: str,
    past: PastRules,
    win_rates: WinRates,
) -> PlayerRef:
    scores = [win_rates.get(snapshot_id, {}).get(learner, UNKNOWN) for snapshot_id in candidates]
    return PlayerRef("snapshot", candidates[_draw_index(rng, past_probabilities(scores, past))])


def owner_of_table(table: int, tables: int, members: Sequence[str]) -> str | None:
    """Whose training games a table plays where nobody meets anybody: in games with one seat.

    Every member has equally many tables, neighbours among them, so that few processes act for it,
    in large batches. None: the table is left over.
    """
    each = tables // max(1, len(members))
    return members[table // each] if table < each * len(members) else None


def seat_evaluation_game(
    rng: np.random.Generator,
    seat_roles: Sequence[str],
    snapshots: Sequence[SnapshotEntry],
    scripted: Sequence[str],
    games_played: Mapping[str, int],
) -> tuple[PlayerRef, ...] | None:
    """One frozen player per seat, None while no snapshot of these roles exists.

    snapshots     newest last;  scripted: the game's scripted players besides "random", which every
                  game has
    games_played  evaluation games so far by snapshot id (0 where not named)

    The newest snapshot of one member, drawn with odds 1 / (1 + games), sits at a uniformly random
    seat of its role. Every other seat is drawn alone: "random", a scripted player, its predecessor
    (same member, same role), or another member's newest snapshot of that seat's role (the same
    odds).
    """
    newest = _newest_by_member([entry for entry in snapshots if entry.role in seat_roles])
    if not newest:
        return None
    focus = _draw_least_played(rng, newest, games_played)
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
    rng: np.random.Generator,
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
    """In the order of members' names, so that the draw does not depend on who made a snapshot
    last.
    """
    newest = {entry.member: entry for entry in snapshots}
    return [newest[member] for member in sorted(newest)]


def _predecessor(
    snapshots: Sequence[SnapshotEntry], focus: SnapshotEntry, role: str
) -> SnapshotEntry | None:
    """The member's snapshot before `focus` with another id, None where the seat is of another
    role.
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
    rng: np.random.Generator, snapshots: Sequence[SnapshotEntry], games_played: Mapping[str, int]
) -> SnapshotEntry:
    return snapshots[
        _draw_index(
            rng, [1.0 / (1 + games_played.get(entry.snapshot_id, 0)) for entry in snapshots]
        )
    ]


def _draw_index(rng: np.random.Generator, odds: Sequence[float]) -> int:
    edges = np.cumsum(odds)
    return min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), len(odds) - 1)


def _draw(rng: np.random.Generator, choices: Sequence[T]) -> T:
    return choices[int(rng.integers(len(choices)))]
