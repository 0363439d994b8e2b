"""Seating: draws the players of the next game, one for each seat.

A training game is drawn around a learning member, an evaluation game from frozen players only.
`pbt/matchmaking/past.py` has the probabilities of snapshots. All functions are pure: draws come
from the rng, which the caller keys by the game, so nothing depends on the order of arrival. Seats
of one role are interchangeable: a player is as likely to sit at one of them as at another.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from pbt.errors import EngineError
from pbt.matchmaking.past import UNKNOWN, WEIGHTS, PastRules, WinRates, past_probabilities
from pbt.matchmaking.roster import MemberEntry, SnapshotEntry
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


def seat_training_game(
    rng: np.random.Generator,
    seat_roles: Sequence[str],
    members: Sequence[MemberEntry],
    snapshots: Sequence[SnapshotEntry],
    past: PastRules,
    win_rates: WinRates,
) -> tuple[PlayerRef, ...]:
    """Draw one player per seat, a learning member among them.

    snapshots  newest last
    past       how often snapshots take the other seats, and which ones
    win_rates  expected scores of members against snapshots, for the modes of `past` that need them

    One seat, drawn uniformly from those whose role has a learning member, gets a learning member.
    Every other seat gets a snapshot, or uniformly a live member, of its role (perhaps the same one
    again). Raises EngineError when no member learns, or a role has neither members nor snapshots.
    """
    learners = _learners_by_role(seat_roles, members)
    open_seats = [seat for seat, role in enumerate(seat_roles) if learners[role]]
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
    # In these modes the choice of a snapshot depends on the learning member, so all snapshots are
    # drawn again.
    learner = players[learning_seat].name
    return tuple(
        player
        if player.kind == "member"
        else _draw_past(rng, candidates[role], learner, past, win_rates)
        for player, role in zip(players, seat_roles, strict=True)
    )


def _learners_by_role(
    seat_roles: Sequence[str], members: Sequence[MemberEntry]
) -> dict[str, list[str]]:
    """Names of the learning members of every role. Raises EngineError when there are none."""
    learners = {
        role: [entry.name for entry in members if entry.role == role and entry.learning]
        for role in seat_roles
    }
    if not any(learners.values()):
        raise EngineError(
            f"no learning member for any of the roles {sorted(learners)}: a training game needs one"
        )
    return learners


def _draw_opponent(
    rng: np.random.Generator,
    seat: int,
    role: str,
    live: Sequence[PlayerRef],
    past: Sequence[str],
    past_share: float,
) -> PlayerRef:
    """Draw the player of a seat from its live members or from the ids of `past`.

    Raises EngineError when both are empty.
    """
    frozen = [PlayerRef("snapshot", snapshot_id) for snapshot_id in past]
    wants_past = rng.random() < past_share
    choices = frozen if frozen and (wants_past or not live) else live
    if not choices:
        raise EngineError(
            f'seat {seat} cannot be filled: role "{role}" has neither live members nor snapshots'
        )
    return _draw(rng, choices)


def past_candidates(snapshots: Sequence[SnapshotEntry], role: str, past: PastRules) -> list[str]:
    """Ids of the snapshots that training games may seat in this role. snapshots: newest last."""
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
    """The member that owns a table in games with one seat, where players do not meet.

    Every member owns equally many neighbouring tables, so that few processes act for it, in large
    batches. None for the tables that are left over.
    """
    each = tables // max(1, len(members))
    return members[table // each] if table < each * len(members) else None


def seat_evaluation_game(
    rng: np.random.Generator,
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
