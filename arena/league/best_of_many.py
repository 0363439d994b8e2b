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
from arena.league.fresh_matches import headline_matches
from arena.league.rating_models import ANCHOR
from arena.league.ratings import RatingTable, Standing, best_standing, is_provisional
from arena.league.returns import ReturnTable, return_candidates
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.stats.curves import shrink_along_curves
from arena.stats.selection import (
    Floats,
    may_be_best,
    means_with_covariance,
    simultaneous_lower_end,
)
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef, SnapshotRecord

FRAMES_PER_DISTANCE = 1e6
DRAWS = 5_000


@dataclass(frozen=True, slots=True)
class BestOfMany:
    """What may be claimed of the best candidate of a table.

    candidates      how many snapshots could have been chosen
    low             with 95 % the best of them is at least this strong, in the table's unit; None
                    where the model gives no joint uncertainty
    low_of          label of the candidate whose lower end that is; None as `low`
    own_low         the lower end of `@best` itself that holds for all candidates at once; None as
                    `low`
    may_be_best     how many of them may be the best, None as `low`
    may_be_untrained  whether an untrained one is among these, None as `low`
    may_be_random   whether `random` may be the best of all, None as `low`, and where it has no
                    value in the table, as in tables of returns
    fresh           numbers of the fresh matches of the best with `random` that make its headline
                    (`arena.league.fresh_matches`), by the objective of the table
    """

    candidates: int
    low: float | None
    low_of: str | None
    own_low: float | None
    may_be_best: int | None
    may_be_untrained: bool | None
    may_be_random: bool | None
    fresh: tuple[int, ...]


def best_of_many(
    league: League, population: str, table: RatingTable, role: str | None = None
) -> BestOfMany:
    """What may be claimed of `@best` of a population. Raises: PlayerError.

    role  only candidates that play this role; None: any
    """
    candidates = [
        row for row in table.rows if could_be_best(row) and role in (None, _record(row).role)
    ]
    best = best_standing(candidates)
    found = None if best is None else best.player
    fresh = _fresh_matches(league, found, table.objective)
    if table.rated.joint is None or best is None:
        return no_claim(len(candidates), fresh)
    joint = table.rated.joint()
    place = {player: at for at, player in enumerate(joint.players)}
    snapshots = {row.player: row.snapshot for row in candidates if row.snapshot is not None}
    everyone = [place[player] for player in snapshots]
    everyone += [place[ANCHOR]] if ANCHOR in place else []
    estimates = joint.values[everyone], joint.covariance[np.ix_(everyone, everyone)]
    kept = list(snapshots.values())
    return claim_of(league, population, kept, estimates, kept.index(snapshots[best.player]), fresh)


def best_return_of_many(
    league: League, population: str, table: ReturnTable, role: str | None = None
) -> BestOfMany:
    """What may be claimed of `@best` where returns count. Arguments as of `best_of_many`.

    Raises: PlayerError.
    """
    candidates = return_candidates(table.rows, role)
    if not candidates:
        return no_claim(0, ())
    ids = [row.snapshot.record.snapshot_id for row in candidates]
    fresh = _fresh_matches(league, PlayerRef("snapshot", ids[0]), "return")
    estimates = means_with_covariance([table.games[one] for one in ids])
    kept = [row.snapshot for row in candidates]
    return claim_of(league, population, kept, estimates, 0, fresh)


def no_claim(candidates: int, fresh: tuple[int, ...]) -> BestOfMany:
    """Only how many candidates there are, and the fresh matches, are known."""
    return BestOfMany(candidates, None, None, None, None, None, None, fresh)


def claim_of(
    league: League,
    population: str,
    candidates: Sequence[StoredSnapshot],
    estimates: tuple[Floats, Floats],
    best: int,
    fresh: tuple[int, ...],
) -> BestOfMany:
    """What may be claimed of the best of these candidates.

    estimates  ([k] strengths, [k, k] their covariance) of the candidates, and behind them those of
               `random` where it has any
    best       index of the candidate that was chosen
    """
    number = len(candidates)
    order = sorted(
        range(number),
        key=lambda at: (candidates[at].record.frames, candidates[at].record.snapshot_id),
    )
    made = list_snapshots(league, population, superseded=True)
    records = {stored.record.snapshot_id: stored.record for stored in made}
    walk = walks([candidates[at].record for at in order], records)
    values, covariance = estimates
    rng = np.random.default_rng(0)
    inside = may_be_best(values, covariance, rng, DRAWS)
    curves = _along_curves(values[order], covariance[np.ix_(order, order)], *walk)
    lower = simultaneous_lower_end(*curves, rng, DRAWS)
    untrained = [at for at, one in enumerate(candidates) if one.record.frames == 0]
    return BestOfMany(
        number,
        lower.low,
        candidates[order[lower.chosen]].label,
        float(lower.lows[order.index(best)]),
        int(inside[:number].sum()),
        bool(inside[untrained].any()),
        bool(inside[number:].any()) if len(values) > number else None,
        fresh,
    )


def _along_curves(
    values: Floats, covariance: Floats, parents: Sequence[int | None], distances: Sequence[float]
) -> tuple[Floats, Floats]:
    """(values, covariance), shrunk where the ratings allow it."""
    try:
        shrunk = shrink_along_curves(values, covariance, parents, distances)
    except EngineError:
        # Players whose ratings are known only together cannot be told apart by their curves.
        return values, covariance
    return shrunk.values, shrunk.covariance


def _fresh_matches(
    league: League, best: PlayerRef | None, objective: ObjectiveKind
) -> tuple[int, ...]:
    """As `BestOfMany.fresh`."""
    if best is None:
        return ()
    return tuple(match.id for match in headline_matches(league, best, objective))


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
