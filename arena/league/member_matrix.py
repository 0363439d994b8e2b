"""The matrix of the members of a population at a moment, and how it changed between two moments.

A moment is a number of frames: each member is there as its newest snapshots of at most as many
frames that have played. Players that do not learn, such as `random`, are the same at every moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arena.league.database import League
from arena.league.known_results import KnownResults, known_results
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
from arena.stats.strengths import strengths_of
from arena.stats.win_matrix import WinMatrix
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class MatrixSide:
    """A row and column of a matrix of members.

    name       of the member, or of a player that does not learn
    kind       "member", "scripted" or "guest"
    role       that it plays, None where it plays any
    snapshots  those that stand for a member, least trained first; none of another player
    """

    name: str
    kind: Literal["member", "scripted", "guest"]
    role: str | None
    snapshots: Sequence[StoredSnapshot]


@dataclass(frozen=True, slots=True)
class MemberMatrix:
    """The matrix of the members at a moment.

    objective  what it counts
    frames     of the moment
    recent     newest snapshots that played stand for a member; 0: all up to the moment
    sides      rows and columns, strongest first
    strengths  of the sides, by `arena.stats.strengths`
    results    of every two sides that met, by their numbers: each two once, the stronger as the
               row, but where returns count, once for each of the two and for a side with itself
    cycles     every three sides of which each beats the next, the most certain first
    """

    objective: ObjectiveKind
    frames: int
    recent: int
    sides: Sequence[MatrixSide]
    strengths: Sequence[float]
    results: Sequence[GroupResult]
    cycles: Sequence[Cycle[str]]


@dataclass(frozen=True, slots=True)
class MatrixChange:
    """Two matrices of one population, and what changed.

    before   the earlier matrix
    after    the later one
    changes  of every two sides that met at both moments and of which one has other snapshots at
             the later one, by their numbers in `after.sides`, as `MemberMatrix.results`
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
    return newest, _matrix(known, newest if frames is None else frames, recent)


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
    after = _matrix(known, known.newest_frames if last is None else last, recent)
    sides = after.sides
    # In the order of the later moment, so that the rows of both are the same sides.
    before = _matrix(known, first, recent, [side.name for side in sides])
    early = {side.name: side for side in before.sides}
    earlier = {
        (before.sides[one.row].name, before.sides[one.column].name): one for one in before.results
    }
    same = {
        side.name
        for side in sides
        if side.name in early and early[side.name].snapshots == side.snapshots
    }
    pairs = [
        (earlier[names], one)
        for one in after.results
        if (names := (sides[one.row].name, sides[one.column].name)) in earlier
        and not same.issuperset(names)
    ]
    return known.newest_frames, MatrixChange(before, after, changes(pairs))


def _matrix(
    known: KnownResults, frames: int, recent: int, order: Sequence[str] | None = None
) -> MemberMatrix:
    """The matrix of a moment. order: names of the sides; None: strongest first."""
    sides = _sides(known, frames, recent)
    groups = _groups(known, sides)
    strengths = strengths_of(groups, len(sides), known.objective)
    if order is None:
        ranks = sorted(range(len(sides)), key=lambda at: -strengths[at])
    else:
        ranks = sorted(range(len(sides)), key=lambda at: order.index(sides[at].name))
    sides = [sides[at] for at in ranks]
    groups = _groups(known, sides)
    return MemberMatrix(
        known.objective,
        frames,
        recent,
        sides,
        [float(strengths[at]) for at in ranks],
        group_results(groups, known.objective),
        _cycles(known.objective, [side.name for side in sides], groups),
    )


def _sides(known: KnownResults, frames: int, recent: int) -> list[MatrixSide]:
    """The sides at a moment; a member without a snapshot then is left out."""
    found, played = [], {player.name for player in known.players}
    for member in known.members:
        there = [stored for stored in member.snapshots if stored.record.frames <= frames]
        # A snapshot that was just taken has no games yet, so its row would be empty.
        there = [one for one in there if one.record.snapshot_id in played] or there[-1:]
        if there:
            kept = there[-recent:] if recent else there
            found.append(MatrixSide(member.name, "member", member.role, kept))
    return found + [MatrixSide(name, known.kind_of(name), None, []) for name in known.others]


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
