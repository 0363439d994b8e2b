"""The seatings of a match: which player sits in which seat in the games of a block.

A block is the smallest set of games that is balanced: each player sits in each seat that it can
take equally often. Its games share one seed where the game can be replayed. All blocks of a match
are seated alike, so a match stays balanced after any whole block. The functions are pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Literal, NamedTuple

from arena.matches.balance import MOST_GAMES, Sitting, alone_among, turns
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind

Kind = Literal["alone", "turns", "fixed", "copies", "groups", "roles", "partners"]
"""What the games of a block are.

alone     one seat: each player has a game of its own
turns     as many players as seats; they change seats in turn
fixed     two players with roles that leave one seating only
copies    fewer players than seats: copies of them fill the table
groups    more players than seats: every two meet equally often
roles     players by role; a player's copies fill all seats of its role, against every choice of
          players for the other roles
partners  each player with itself in all seats, and one of it with copies of each other player
"""
STORED_BEFORE: tuple[Kind, ...] = ("alone", "turns", "fixed")
"""Kinds whose matches are stored without their kind, as they were when there were no others."""


class Entrant(NamedTuple):
    """A player of a match. role: the only role that it plays, None: any."""

    label: str
    role: str | None

    def plays(self, role: str) -> bool:
        return self.role is None or self.role == role


class SeatHolder(NamedTuple):
    """What took a seat: results are counted by it.

    player  index of the player
    role    the seat's role, None in games with one role
    """

    player: int
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Seating:
    """The players' seats in the games of a block.

    sittings    the player of each seat, by game of the block
    paired      the games of a block share their seed
    notes       what a reader of the results should know
    kind        what the games of a block are
    seat_roles  the role of each seat
    """

    sittings: tuple[Sitting, ...]
    paired: bool
    notes: tuple[str, ...] = ()
    kind: Kind = "turns"
    seat_roles: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """The game has one seat: each player has a game of its own on every seed."""
        return len(self.sittings[0]) == 1

    @property
    def duel(self) -> bool:
        """Two players meet, one in each seat, or are compared on the seeds of one seat."""
        return len(self.sittings[0]) <= 2 and self.kind in STORED_BEFORE

    @property
    def block(self) -> int:
        """Number of games that count as evidence only together."""
        return len(self.sittings) if self.paired or self.kind not in ("turns", "fixed") else 1

    def sitting(self, index: int) -> Sitting:
        """The player of each seat in game `index` of the match."""
        return self.sittings[index % len(self.sittings)]

    def taken(self, index: int) -> tuple[SeatHolder, ...]:
        """As `sitting`, with the seats' roles where the game has several."""
        several = len(set(self.seat_roles)) > 1
        roles = self.seat_roles if several else (None,) * len(self.sittings[0])
        return tuple(map(SeatHolder, self.sitting(index), roles))


class Arrangement(NamedTuple):
    """The games of a block. sittings: the player of each seat, by game."""

    kind: Kind
    sittings: tuple[Sitting, ...]


def arrange(
    game: str,
    seat_roles: Sequence[str],
    players: Sequence[Entrant],
    objective: ObjectiveKind = "win",
) -> Arrangement:
    """The games of a block of these players.

    game        its name, for errors
    seat_roles  the role of each seat
    objective   with "return", players who can take every seat are also seated with themselves
    Raises: PlayerError for a number of players that the game cannot seat, and for players whose
    roles leave a seat empty.
    """
    _check_number(game, seat_roles, players, objective)
    number, seats = len(players), len(seat_roles)
    if seats == 1:
        return Arrangement("alone", ((0,), (1,)))
    candidates = _candidates(game, seat_roles, players)
    if objective == "return" and all(len(able) == number for able in candidates.values()):
        return Arrangement("partners", _short_enough(game, players, _partners(number, seats)))
    if len(candidates) > 1:
        return _by_role(game, seat_roles, players, candidates, objective)
    kind: Kind = "turns" if number == seats else "copies" if number < seats else "groups"
    found = (
        alone_among(0, 1, seats) + alone_among(1, 0, seats)
        if number == 2 and kind == "copies"
        else turns(number, seats)
    )
    return Arrangement(kind, _short_enough(game, players, found))


def _check_number(
    game: str, seat_roles: Sequence[str], players: Sequence[Entrant], objective: ObjectiveKind
) -> None:
    named, seats = len(players), len(seat_roles)
    if named < 2:
        label = players[0].label
        raise PlayerError(
            f"{label} is alone; expected two players or more, or `arena evaluate {label}`"
        )
    if named == 2:
        return
    if seats == 1:
        raise PlayerError(
            f"{game} has one seat, and {named} players were named; expected two. `arena evaluate` "
            "shows more of them side by side"
        )
    if seats == 2 and len(set(seat_roles)) == 1 and objective != "return":
        raise PlayerError(
            f"{game} has 2 seats, and {named} players were named; expected two. `arena "
            "tournament` plays every two of them"
        )


def _candidates(
    game: str, seat_roles: Sequence[str], players: Sequence[Entrant]
) -> dict[str, list[int]]:
    """Role -> the players that can play it, in the order of the seats.

    Raises: PlayerError when a role has none, and for a player that can play none.
    """
    candidates = {
        role: [index for index, player in enumerate(players) if player.plays(role)]
        for role in seat_roles
    }
    seated = {index for able in candidates.values() for index in able}
    if all(candidates.values()) and len(seated) == len(players):
        return candidates
    plays = " and ".join(f"{player.label} plays {player.role or 'any role'}" for player in players)
    seats = [f"{_count(seat_roles.count(role))} {role}" for role in candidates]
    raise PlayerError(f"{plays}; {game} seats {' and '.join(seats)}: name a player of each role")


def _count(number: int) -> str:
    return "one" if number == 1 else str(number)


def _by_role(
    game: str,
    seat_roles: Sequence[str],
    players: Sequence[Entrant],
    candidates: Mapping[str, Sequence[int]],
    objective: ObjectiveKind,
) -> Arrangement:
    """One player for each role, in every combination; its copies fill the seats of the role.

    Two players of a game of two seats only meet each other, unless returns are compared: where both
    can play both roles, they change seats in turn.
    """
    roles, length = list(candidates), prod(len(able) for able in candidates.values())
    games = (
        tuple(chosen[roles.index(role)] for role in seat_roles)
        for chosen in product(*candidates.values())
    )
    if len(players) > 2 or len(seat_roles) > 2 or objective == "return":
        found = tuple(games) if length <= MOST_GAMES else None
        return Arrangement("roles", _short_enough(game, players, found))
    meetings = tuple(sitting for sitting in games if len(set(sitting)) == 2)
    return Arrangement("turns" if len(meetings) == 2 else "fixed", meetings)


def _partners(players: int, seats: int) -> tuple[Sitting, ...] | None:
    """Each player with itself, and one of it with copies of each other player, in every seat.

    At a table of two, a player among copies of another is the same game as the reverse.
    """
    pairs = list(combinations(range(players), 2))
    if players + len(pairs) * seats * min(2, seats - 1) > MOST_GAMES:
        return None
    selves = tuple((player,) * seats for player in range(players))
    crossed = [
        sitting
        for a, b in pairs
        for sitting in alone_among(a, b, seats) + (alone_among(b, a, seats) if seats > 2 else ())
    ]
    return (*selves, *crossed)


def _short_enough(
    game: str, players: Sequence[Entrant], found: tuple[Sitting, ...] | None
) -> tuple[Sitting, ...]:
    """The design that was found. Raises: PlayerError where there is none."""
    if found is None or len(found) > MOST_GAMES:
        raise PlayerError(
            f"{len(players)} players in {game}: no balanced plan of at most {MOST_GAMES} games was "
            "found; name fewer players"
        )
    return found
