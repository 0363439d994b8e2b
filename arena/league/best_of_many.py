"""What a rating table says of `@best` although it was chosen among many.

The highest of many ratings flatters. Three answers stand beside it: fresh games, which were played
after the choice and never count in a rating; a lower end that holds for all candidates at once,
after shrinking ratings along the members' curves (`arena.stats.curves`); and how many candidates
may be the best (`arena.stats.selection`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arena.league.database import League
from arena.league.matches import newest_fresh_match
from arena.league.rating_models import ANCHOR
from arena.league.ratings import RatingTable, Standing, best_standing, is_provisional
from arena.league.stored_snapshots import list_snapshots
from arena.stats.curves import shrink_along_curves
from arena.stats.selection import may_be_best, simultaneous_lower_end
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind
from pbt.records import SnapshotRecord

FRAMES_PER_DISTANCE = 1e6
DRAWS = 5_000


@dataclass(frozen=True, slots=True)
class BestOfMany:
    """What may be claimed of the best candidate of a table.

    candidates      how many snapshots could have been chosen
    low             with 95 % the best of them is at least this strong, in the table's unit; None
                    where the model gives no joint uncertainty
    may_be_best     how many of them may be the best, None as `low`
    may_be_random   whether `random` may be the best of all, None as `low`
    fresh           number of the newest finished match of the best against `random` with games
                    that no rating counts, by the objective of the table; None without one
    """

    candidates: int
    low: float | None
    may_be_best: int | None
    may_be_random: bool | None
    fresh: int | None


def best_of_many(
    league: League, population: str, table: RatingTable, role: str | None = None
) -> BestOfMany:
    """What may be claimed of `@best` of a population. Raises: PlayerError.

    role  only candidates that play this role; None: any
    """
    candidates = [
        row for row in table.rows if could_be_best(row) and role in (None, _record(row).role)
    ]
    fresh = _fresh_match(league, best_standing(candidates), table.objective)
    if table.rated.joint is None or not candidates:
        return BestOfMany(len(candidates), None, None, None, fresh)
    joint = table.rated.joint()
    place = {player: at for at, player in enumerate(joint.players)}
    rows = sorted(candidates, key=lambda row: (_record(row).frames, row.player.name))
    chosen = [place[row.player] for row in rows]
    values, covariance = joint.values[chosen], joint.covariance[np.ix_(chosen, chosen)]
    made = list_snapshots(league, population, superseded=True)
    records = {stored.record.snapshot_id: stored.record for stored in made}
    parents, distances = walks([_record(row) for row in rows], records)
    try:
        shrunk = shrink_along_curves(values, covariance, parents, distances)
        values, covariance = shrunk.values, shrunk.covariance
    except EngineError:
        # Players whose ratings are known only together cannot be told apart by their curves.
        pass
    rng = np.random.default_rng(0)
    everyone = [*chosen, *([place[ANCHOR]] if ANCHOR in place else [])]
    inside = may_be_best(
        joint.values[everyone], joint.covariance[np.ix_(everyone, everyone)], rng, DRAWS
    )
    return BestOfMany(
        len(candidates),
        simultaneous_lower_end(values, covariance, rng, DRAWS).low,
        int(inside[: len(chosen)].sum()),
        bool(inside[len(chosen) :].any()),
        fresh,
    )


def _fresh_match(league: League, best: Standing | None, objective: ObjectiveKind) -> int | None:
    """As `BestOfMany.fresh`."""
    if best is None:
        return None
    match = newest_fresh_match(league, best.player, ANCHOR, objective)
    return None if match is None else match.id


def could_be_best(row: Standing) -> bool:
    """Whether `@best` may be this player."""
    return row.snapshot is not None and not row.snapshot.weights_removed and not is_provisional(row)


def _record(row: Standing) -> SnapshotRecord:
    assert row.snapshot is not None
    return row.snapshot.record


def walks(
    candidates: Sequence[SnapshotRecord], records: Mapping[str, SnapshotRecord]
) -> tuple[list[int | None], list[float]]:
    """(parents, distances) of `shrink_along_curves`, with millions of frames as distance.

    candidates  by frames, fewest first; one whose parents are later ones begins a tree of its own
    records     all snapshots of the population by id
    """
    place = {record.snapshot_id: at for at, record in enumerate(candidates)}
    parents: list[int | None] = []
    distances: list[float] = []
    for at, record in enumerate(candidates):
        frames, child = 0, record
        while (parent := records.get(child.parent_id or "")) is not None:
            # A copy goes on from its donor's weights; each member has a clock of its own.
            frames += child.frames - parent.frames if child.member == parent.member else 0
            child = parent
            if place.get(child.snapshot_id, at) < at:
                break
        ancestor = place.get(child.snapshot_id, at)
        parents.append(ancestor if ancestor < at else None)
        distances.append(max(0.0, frames / FRAMES_PER_DISTANCE))
    return parents, distances
