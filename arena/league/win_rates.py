"""Win rates of the members of a population over frames, against one opponent.

A member's snapshots are put into blocks of frames, so that each block has games enough to say
something. Where margins or returns count, the rates are mean margins or mean returns.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from arena.league.database import League
from arena.league.known_results import KnownMember, KnownResults, known_results
from arena.league.snapshot_names import find_snapshot
from arena.league.stored_snapshots import StoredSnapshot
from arena.stats.group_results import GroupResult, Numbers, PairResults, group_results, grouped
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind

OTHERS: Literal["others"] = "others"
ITSELF: Literal["itself"] = "itself"
MOST_BLOCKS = 24
"""Most blocks of a member, where a caller does not choose their width."""

Mask = NDArray[np.bool_]
OpponentKind = Literal["others", "itself", "member", "snapshot", "scripted", "guest"]


@dataclass(frozen=True, slots=True)
class Opponent:
    """An opponent that win rates can be against.

    name   "others": all other members; "itself": the member's own earlier snapshots, or where
           returns count, itself in all seats; else a member, a player, or the label of a snapshot
    kind   what the name stands for
    games  counted games of the members against it
    """

    name: str
    kind: OpponentKind
    games: int


@dataclass(frozen=True, slots=True)
class RateBlock:
    """The results of a member's snapshots of a range of frames against one opponent.

    first      frames at which the block begins
    last       frames before which it ends
    frames     of the snapshots, in the mean over the games
    snapshots  number of snapshots that played
    result     what they got
    """

    first: int
    last: int
    frames: float
    snapshots: int
    result: GroupResult


@dataclass(frozen=True, slots=True)
class WinRates:
    """Win rates over frames.

    objective     what they count
    against       the opponent, None where no game was played
    block_frames  width of a block
    opponents     those that there are, but for snapshots
    members       (a member, its blocks by frames), in order
    """

    objective: ObjectiveKind
    against: Opponent | None
    block_frames: int
    opponents: Sequence[Opponent]
    members: Sequence[tuple[KnownMember, Sequence[RateBlock]]]


def win_rates(
    league: League, population: str, against: str | None = None, block_frames: int | None = None
) -> WinRates:
    """The win rates of the members over frames.

    against       name of an opponent; None: `random`, or another that there is
    block_frames  width of the blocks; None: so that a member has at most MOST_BLOCKS
    Raises: PlayerError for an unknown population or opponent.
    """
    known = known_results(league, population)
    sides, width = known.sides, block_frames or block_width(known.newest_frames)
    opponents = _opponents(known, sides)
    chosen = next(iter(opponents), None)
    met = np.zeros(len(sides), dtype=np.bool_)
    if against is not None:
        chosen, met = _named(league, population, known, sides, against)
    elif chosen is not None:
        met = _against(known, sides, chosen.kind, chosen.name)
    blocks = known.newest_frames // width + 1
    row = known.owner[sides.first] * blocks + known.frames[sides.first] // width
    row = np.where(met & known.learned(sides), row, -1)
    members = [
        (member, list(_blocks(known, sides, row, number * blocks, blocks, width)))
        for number, member in enumerate(known.members)
    ]
    return WinRates(known.objective, chosen, width, opponents, members)


def block_width(frames: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that parts 0 to `frames` into at most MOST_BLOCKS."""
    least = max(1.0, (frames + 1) / MOST_BLOCKS)
    unit: int = 10 ** math.floor(math.log10(least))
    return next(step * unit for step in (1, 2, 5, 10) if step * unit >= least)


def _blocks(
    known: KnownResults, sides: PairResults, rows: Numbers, first: int, blocks: int, width: int
) -> Iterator[RateBlock]:
    """The blocks of one member, whose rows are `first` and the following."""
    # One member at a time: a game of two members then counts once in what says how margins vary.
    own = np.where((rows >= first) & (rows < first + blocks), rows, -1)
    one_column = np.full(len(sides), first + blocks, dtype=np.intp)
    for result in group_results(grouped(sides, own, one_column), known.objective):
        inside = own == result.row
        games, players = known.games_of(sides)[inside], sides.first[inside]
        begin = (result.row - first) * width
        frames = float(np.average(known.frames[players], weights=games))
        yield RateBlock(begin, begin + width, frames, len(np.unique(players)), result)


def _opponents(known: KnownResults, sides: PairResults) -> list[Opponent]:
    """The opponents that the members have met, `random` first, but for snapshots."""
    named: list[tuple[OpponentKind, str]] = sorted(
        ((known.kind_of(name), name) for name in known.others),
        key=lambda one: (one != ("scripted", "random"), one[0] == "guest", one[1]),
    )
    named += [(OTHERS, OTHERS), (ITSELF, ITSELF)]
    named += [("member", member.name) for member in known.members]
    found = [
        _opponent(known, sides, kind, name, _against(known, sides, kind, name))
        for kind, name in named
    ]
    return [one for one in found if one.games]


def _opponent(
    known: KnownResults, sides: PairResults, kind: OpponentKind, name: str, met: Mask
) -> Opponent:
    return Opponent(name, kind, int(known.games_of(sides)[met & known.learned(sides)].sum()))


def _named(
    league: League, population: str, known: KnownResults, sides: PairResults, name: str
) -> tuple[Opponent, Mask]:
    """The opponent of this name, and which results are against it. Raises: PlayerError."""
    kind: OpponentKind
    if name == OTHERS:
        kind = OTHERS
    elif name == ITSELF:
        kind = ITSELF
    elif name in known.others:
        kind = known.kind_of(name)
    elif any(name == member.name for member in known.members):
        kind = "member"
    else:
        stored = _snapshot(league, population, known, name)
        met = _against(known, sides, "snapshot", stored.record.snapshot_id)
        return _opponent(known, sides, "snapshot", stored.label, met), met
    met = _against(known, sides, kind, name)
    return _opponent(known, sides, kind, name, met), met


def _snapshot(league: League, population: str, known: KnownResults, name: str) -> StoredSnapshot:
    """The snapshot of this name, which may leave out its population. Raises: PlayerError."""
    members = [member.name for member in known.members]
    if not ("/" in name or "@" in name or re.fullmatch("[0-9a-f]{4,64}", name)):
        there = ", ".join([*known.others, OTHERS, ITSELF, *members[:3]])
        raise PlayerError(
            f"no opponent {name!r} in {population}; expected one of {there}, another member or a "
            "snapshot such as m0@1.2M"
        )
    own = name.partition("@")[0] in members
    return find_snapshot(league, f"{population}/{name}" if own else name, playable=False)


def _against(known: KnownResults, sides: PairResults, kind: OpponentKind, name: str) -> Mask:
    """[results] whether the second is this opponent of the first. name: of a snapshot, its id."""
    own, other = known.owner[sides.first], known.owner[sides.second]
    met: Mask
    if kind == OTHERS:
        met = (other >= 0) & (other != own)
    elif kind == ITSELF and known.objective == "return":
        met = sides.first == sides.second
    elif kind == ITSELF:
        met = (other == own) & (known.frames[sides.second] < known.frames[sides.first])
    elif kind == "member":
        number = [member.name for member in known.members].index(name)
        met = (other == number) & (own != number)
    elif kind == "snapshot":
        met = sides.second == known.number_of(name)
    else:
        met = sides.second == known.others[name]
    return met
