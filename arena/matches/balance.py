"""Balanced designs: which players share a table, so that all meet and sit equally often.

A design is developed cyclically: a base block names a player for each seat, and adding 1, 2, ...
(modulo the number of players) to all its numbers gives the other games. Every player then sits in
every seat once for each base block. Every two players meet equally often if each difference from 1
to n - 1 stands equally often in the base blocks: they are a difference family (Bose 1939, "On the
construction of balanced incomplete block designs"). Here base blocks may be equal.
"""

from functools import cache
from itertools import combinations
from math import comb, gcd

from pbt.seeding import integer

Sitting = tuple[int, ...]
"""The player of each seat, by number."""

MOST_GAMES = 1_000
"""The longest design that is made."""
_STEPS, _STEPS_OF_A_TRY = 4_000, 250


def turns(players: int, seats: int) -> tuple[Sitting, ...] | None:
    """The smallest design known for these numbers; None where each has more than MOST_GAMES games.

    Each game seats every player as often as the seats allow, and a group of the players once more.
    Every player sits in every seat equally often, and every two players meet equally often.
    """
    whole, left = divmod(seats, players)
    everyone = tuple(range(players)) * whole
    all_groups = comb(players, left) * (seats if left else players)
    groups = _difference_family(players, left, min(all_groups, MOST_GAMES) // players)
    if groups is not None:
        return tuple(
            tuple((player + turn) % players for player in everyone + group)
            for group in groups
            for turn in range(players)
        )
    if all_groups > MOST_GAMES:
        return None
    return tuple(
        rotated(everyone + group, turn)
        for group in combinations(range(players), left)
        for turn in range(seats)
    )


def rotated(sitting: Sitting, turn: int) -> Sitting:
    """The same players, each `turn` seats further back."""
    return tuple(sitting[(seat + turn) % len(sitting)] for seat in range(len(sitting)))


def alone_among(one: int, others: int, seats: int) -> tuple[Sitting, ...]:
    """Player `one` in each seat in turn, copies of player `others` in the other seats."""
    return tuple(
        tuple(one if seat == turn else others for seat in range(seats)) for turn in range(seats)
    )


@cache
def _difference_family(players: int, size: int, most: int) -> tuple[Sitting, ...] | None:
    """Base blocks of this size whose differences are balanced; None where no search finds any.

    most  the highest number of base blocks

    The search draws its steps from keyed numbers, so that every version finds the same design.
    """
    if size < 2:
        return (tuple(range(size)),)
    least = (players - 1) // gcd(players - 1, size * (size - 1))
    for number in range(least, most + 1, least):
        if (found := _search(players, size, number)) is not None:
            return found
    return None


def _search(players: int, size: int, number: int) -> tuple[Sitting, ...] | None:
    """Base blocks with balanced differences, by steps that never make the balance worse."""
    wanted = number * size * (size - 1) // (players - 1)
    groups: list[list[int]] = []
    off = 0
    for step in range(_STEPS):
        if step % _STEPS_OF_A_TRY == 0:
            groups = [_start(players, size, number, step, group) for group in range(number)]
            off = _imbalance(groups, players, wanted)
        if off == 0:
            return tuple(map(tuple, groups))
        drawn = integer(0, "difference family", players, size, number, step)
        drawn, group = divmod(drawn, number)
        drawn, place = divmod(drawn, size - 1)
        changed = [*groups[group]]
        changed[1 + place] = 1 + drawn % (players - 1)
        if len(set(changed)) < size:
            continue
        tried = [*groups[:group], changed, *groups[group + 1 :]]
        if (now := _imbalance(tried, players, wanted)) <= off:
            groups, off = tried, now
    return None


def _start(players: int, size: int, number: int, step: int, group: int) -> list[int]:
    """A base block that begins with player 0, drawn at random."""
    key = ("base block", players, size, number, step, group)
    others = sorted(range(1, players), key=lambda player: integer(0, *key, player))
    return [0, *sorted(others[: size - 1])]


def _imbalance(groups: list[list[int]], players: int, wanted: int) -> int:
    """Sum over all differences of (how often it stands there - wanted) squared."""
    counts = [0] * players
    for group in groups:
        for a in group:
            for b in group:
                counts[(b - a) % players] += 1
    return sum((count - wanted) ** 2 for count in counts[1:])
