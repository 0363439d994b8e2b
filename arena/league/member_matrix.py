"""The matrix of the members of a population at a moment, and how it changed between two moments.

A moment is a number of frames: each member is there as its newest snapshots of at most as many
frames. Players that do not learn, such as `random`, are the same at every moment.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arena.league.database import League
from arena.league.known_results import KnownResults, known_results
from arena.league.ratings import population_table
from arena.league.returns import return_table
from arena.league.stored_snapshots import StoredSnapshot
from arena.stats.cycles import Cycle, significant_cycles
from arena.stats.differences import ResultChange, changes
from arena.stats.group_results import (
    GroupResult,
    Numbers,
    PairResults,
    group_margins,
    group_results,
    grouped,
)
from arena.stats.margin_cycles import margin_cycles
from arena.stats.win_matrix import WinMatrix
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class SideRating:
    """The rating of a snapshot or of another player, in the unit of its population's table.

    value  the rating, or the mean return of a game
    low    lower end of its 95 % interval, None where it has no bound
    high   upper end of its 95 % interval, None where it has no bound
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MatrixSide:
    """A row and column of a matrix of members.

    name       of the member, or of a player that does not learn
    kind       "member", "scripted" or "guest"
    role       that it plays, None where it plays any
    snapshots  those that stand for a member, least trained first; none of another player
    rating     of the newest of them, or of the other player; None without one
    """

    name: str
    kind: Literal["member", "scripted", "guest"]
    role: str | None
    snapshots: Sequence[StoredSnapshot]
    rating: SideRating | None


@dataclass(frozen=True, slots=True)
class MemberMatrix:
    """The matrix of the members at a moment.

    objective  what it counts
    frames     of the moment
    recent     newest snapshots that stand for a member; 0: all up to the moment
    sides      rows and columns, strongest first
    results    of every two sides that met, by their numbers: each two once, the stronger as the
               row, but where returns count, once for each of the two and for a side with itself
    cycles     every three sides of which each beats the next, the most certain first
    """

    objective: ObjectiveKind
    frames: int
    recent: int
    sides: Sequence[MatrixSide]
    results: Sequence[GroupResult]
    cycles: Sequence[Cycle[str]]


@dataclass(frozen=True, slots=True)
class MatrixChange:
    """Two matrices of one population, and what changed.

    before   the earlier matrix
    after    the later one
    changes  of every two sides that met at both moments, by their numbers in `after.sides`, as
             `MemberMatrix.results`
    """

    before: MemberMatrix
    after: MemberMatrix
    changes: Sequence[ResultChange]


def member_matrix(
    league: League, population: str, frames: int | None = None, recent: int = 1
) -> tuple[int, MemberMatrix]:
    """(frames of the snapshot that was trained most, the matrix).

    frames  of the moment; None: now
    recent  how many newest snapshots stand for a member; 0: all up to the moment
    Raises: PlayerError.
    """
    known = known_results(league, population)
    newest = known.newest_frames
    frames = newest if frames is None else frames
    sides = _sides(known, _ratings(league, population, known), frames, recent)
    return newest, _matrix(known, sides, frames, recent)


def matrix_change(
    league: League, population: str, first: int, last: int | None = None, recent: int = 1
) -> tuple[int, MatrixChange]:
    """(frames of the snapshot that was trained most, what changed between two moments).

    first   frames of the earlier moment
    last    frames of the later one; None: now
    recent  as in `member_matrix`
    Raises: PlayerError.
    """
    known = known_results(league, population)
    last = known.newest_frames if last is None else last
    ratings = _ratings(league, population, known)
    sides = _sides(known, ratings, last, recent)
    # In the order of the later moment, so that the numbers of both are the same.
    place = {side.name: number for number, side in enumerate(sides)}
    early = sorted(
        _sides(known, ratings, first, recent), key=lambda side: place.get(side.name, len(place))
    )
    before, after = _matrix(known, early, first, recent), _matrix(known, sides, last, recent)
    earlier = {(early[one.row].name, early[one.column].name): one for one in before.results}
    pairs = [
        (earlier[names], one)
        for one in after.results
        if (names := (sides[one.row].name, sides[one.column].name)) in earlier
    ]
    return known.newest_frames, MatrixChange(before, after, changes(pairs))


def _sides(
    known: KnownResults, ratings: Mapping[str, SideRating], frames: int, recent: int
) -> list[MatrixSide]:
    """The sides at a moment, strongest first; a member without a snapshot then is left out."""
    found = []
    for member in known.members:
        there = [stored for stored in member.snapshots if stored.record.frames <= frames]
        if there:
            newest = ratings.get(there[-1].record.snapshot_id)
            kept = there[-recent:] if recent else there
            found.append(MatrixSide(member.name, "member", member.role, kept, newest))
    found += [
        MatrixSide(name, known.kind_of(name), None, [], ratings.get(name)) for name in known.others
    ]
    return sorted(
        found, key=lambda side: -side.rating.value if side.rating is not None else math.inf
    )


def _ratings(league: League, population: str, known: KnownResults) -> dict[str, SideRating]:
    """Id of a snapshot, or name of another player -> its rating in the table of the population."""
    if known.objective == "return":
        return {
            row.snapshot.record.snapshot_id: SideRating(row.mean, row.low, row.high)
            for row in return_table(league, population).rows
        }
    return {
        row.player.name: SideRating(row.rating, row.low, row.high)
        for row in population_table(league, population).rows
        if row.rating is not None
    }


def _matrix(
    known: KnownResults, sides: Sequence[MatrixSide], frames: int, recent: int
) -> MemberMatrix:
    groups = _groups(known, sides)
    found = group_results(groups, known.objective)
    cycles = _cycles(known.objective, [side.name for side in sides], groups)
    return MemberMatrix(known.objective, frames, recent, sides, found, cycles)


def _groups(known: KnownResults, sides: Sequence[MatrixSide]) -> PairResults:
    """The results of every two sides: each two once, but where returns count."""
    of_player = np.full(len(known.players), -1, dtype=np.intp)
    others = known.others
    number = {
        player.name: at for at, player in enumerate(known.players) if player.kind == "snapshot"
    }
    for place, side in enumerate(sides):
        if side.kind == "member":
            ids = [stored.record.snapshot_id for stored in side.snapshots]
            of_player[[number[each] for each in ids if each in number]] = place
        else:
            of_player[others[side.name]] = place
    results = known.sides
    rows: Numbers = of_player[results.first]
    columns: Numbers = of_player[results.second]
    if known.objective != "return":
        rows = np.where(rows < columns, rows, -1)
    return grouped(results, rows, columns)


def _cycles(
    objective: ObjectiveKind, names: Sequence[str], groups: PairResults
) -> list[Cycle[str]]:
    if objective == "return":
        return []
    if objective == "margin":
        found = margin_cycles(range(len(names)), group_margins(groups))
        return [Cycle(names[one.a], names[one.b], names[one.c], one.p) for one in found]
    wins, draws = np.zeros((2, len(names), len(names)))
    ends = (groups.first, groups.second)
    wins[ends], draws[ends], wins[ends[::-1]] = groups.outcomes.T
    draws[ends[::-1]] = draws[ends]
    return significant_cycles(WinMatrix(tuple(names), wins, draws))
