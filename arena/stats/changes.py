"""How the strength of a group changed, from ratings of its members' snapshots over frames.

Frames are split into stretches. A rating is the sum of a level of its member, a level of its
stretch, what ratings leave unexplained, and noise of known covariance (a two-way random-effects
meta-analysis). Differences between the newest stretch and each earlier one are estimated within
members, so it does not matter which of them were measured when, and no member was chosen for its
rating. Their intervals hold for all stretches at once, so that the most telling may be reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular, svd

Floats = NDArray[np.float64]
LEVEL = 0.95
DRAWS = 4_000
FEW, MOST = 4, 8
"""Up to FEW snapshots of a member have a stretch each; no more than MOST stretches are made."""
LEAST_FREEDOM = 4
"""Student's t of fewer degrees of freedom would hide every change."""
MOST_SNAPSHOTS = 600


@dataclass(frozen=True, slots=True)
class LevelChanges:
    """The newest level of a group minus each earlier one.

    frames   [w] how long before the newest stretch each earlier one lies, in frames, longest first
    values   [w] the changes since then
    errors   [w] their standard errors
    quantile  with 95 % all true changes are within quantile * error of their values at once
    centres  [w + 1] mean frames of the stretches, the newest last
    levels   [w + 1] the mean strength of the members at each stretch
    """

    frames: Floats
    values: Floats
    errors: Floats
    quantile: float
    centres: Floats
    levels: Floats

    @property
    def lows(self) -> Floats:
        """[w] lower ends of the changes, which hold at once."""
        return self.values - self.quantile * self.errors

    @property
    def highs(self) -> Floats:
        """[w] upper ends of the changes, which hold at once."""
        return self.values + self.quantile * self.errors


def level_changes(
    members: Sequence[str],
    frames: Sequence[int],
    values: Floats,
    covariance: Floats,
    *,
    among: int = 1,
) -> LevelChanges | None:
    """The changes of a group.

    None where no member was rated in two stretches, and where nothing is known of the noise.

    members     [k] whose snapshot it is
    frames      [k] when it was made, on the member's clock
    values      [k] ratings
    covariance  [k, k] of their errors
    among       number of groups of which the intervals hold together (Bonferroni)
    """
    names = np.unique(np.asarray(members), return_inverse=True)[1]
    when = np.asarray(frames, dtype=np.float64)
    kept = _thinned(names, when)
    stretch = _stretches(names[kept], when[kept])
    joined = _joined(names[kept], stretch)
    if not len(joined) or not np.trace(covariance) > 0:
        return None
    kept, stretch = kept[joined], stretch[joined]
    return _changes(
        names[kept], when[kept], stretch, values[kept], covariance[np.ix_(kept, kept)], among
    )


def _changes(
    names: NDArray[np.intp],
    when: Floats,
    stretch: NDArray[np.intp],
    values: Floats,
    covariance: Floats,
    among: int,
) -> LevelChanges:
    """As `level_changes`, of joined snapshots in their stretches."""
    at = np.unique(stretch, return_inverse=True)[1]
    last = int(at.max())
    design = _design(np.unique(names, return_inverse=True)[1], at)
    number = design.shape[1] - last
    found, doubt, freedom = _fitted(design, _slopes(names, when, at), values, covariance)
    centres = np.array([when[at == one].mean() for one in range(last + 1)])
    drops, doubt = found[number:], doubt[number:, number:]
    return LevelChanges(
        centres[-1] - centres[:-1],
        -drops,
        np.sqrt(np.diag(doubt)),
        _quantile(doubt, freedom, 1 - (1 - LEVEL) / among),
        centres,
        found[:number].mean() + np.append(drops, 0.0),
    )


def _design(owner: NDArray[np.intp], at: NDArray[np.intp]) -> Floats:
    """[k, members + w] the terms of each snapshot: its member, and its stretch but the newest.

    owner  [k] number of its member
    at     [k] number of its stretch
    """
    number, last = int(owner.max()) + 1, int(at.max())
    design = np.zeros((len(owner), number + last))
    design[np.arange(len(owner)), owner] = 1.0
    earlier = np.flatnonzero(at < last)
    design[earlier, number + at[earlier]] = 1.0
    return design


def _thinned(names: NDArray[np.intp], when: Floats) -> NDArray[np.intp]:
    """At most MOST_SNAPSHOTS places, in the order of frames, evenly spread for each member."""
    order = np.argsort(when, kind="stable")
    if len(order) <= MOST_SNAPSHOTS:
        return order
    each = max(2, MOST_SNAPSHOTS // (names.max() + 1))
    kept = np.zeros(len(order), dtype=bool)
    for name in range(names.max() + 1):
        own = order[names[order] == name]
        if len(own):
            kept[own[np.unique(np.linspace(0, len(own) - 1, each).round().astype(int))]] = True
    return order[kept[order]]


def _stretches(names: NDArray[np.intp], when: Floats) -> NDArray[np.intp]:
    """[k] the stretch of each snapshot: as many snapshots in each, equal frames in the same one."""
    if not len(when):
        return np.zeros(0, dtype=np.intp)
    counts = np.bincount(names)[np.unique(names)]
    each = int(np.median(counts))
    # Few members need several snapshots in a stretch to show what ratings leave unexplained.
    few = each <= FEW and len(counts) > 1
    number = each if few else min(MOST, max(2, each * min(3, len(counts)) // 3))
    rank = np.searchsorted(when, when, side="left")
    stretches: NDArray[np.intp] = number * rank // len(when)
    return stretches


def _joined(names: NDArray[np.intp], stretch: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places that chains of members and stretches join with the newest stretch of two or more.

    A member that was rated in one stretch only says nothing of a change.
    """
    met: dict[int, set[int]] = {}
    for name, one in zip(names.tolist(), stretch.tolist(), strict=True):
        met.setdefault(name, set()).add(one)
    met = {name: own for name, own in met.items() if len(own) > 1}
    if not met:
        return np.zeros(0, dtype=np.intp)
    reached = {max(max(own) for own in met.values())}
    while grown := set().union(*(own for own in met.values() if own & reached)) - reached:
        reached |= grown
    inside = [name in met and bool(met[name] & reached) for name in names.tolist()]
    return np.flatnonzero(inside)


def _slopes(names: NDArray[np.intp], when: Floats, at: NDArray[np.intp]) -> Floats:
    """[k, w + 1] frames from the middle of a member's snapshots in a stretch, by stretch."""
    slopes = np.zeros((len(at), int(at.max()) + 1))
    for name, one in set(zip(names.tolist(), at.tolist(), strict=True)):
        own = (names == name) & (at == one)
        slopes[own, one] = when[own] - when[own].mean()
    return slopes / max(1.0, float(np.abs(slopes).max()))


def _fitted(
    design: Floats, slopes: Floats, values: Floats, covariance: Floats
) -> tuple[Floats, Floats, int]:
    """(coefficients, their covariance, degrees of freedom; 0 where the ratings show none).

    Growth inside a stretch, along `slopes`, is no variance that noise leaves unexplained, where the
    ratings are enough to tell the two apart.
    """
    # Copies have one strength, so their ratings may have no independent errors.
    floor = 1e-8 * float(np.trace(covariance)) / len(values) + 1e-12
    covariance = covariance + floor * np.eye(len(values))
    extra, freedom = _unexplained(np.hstack([design, slopes]), values, covariance)
    if freedom == 0:
        extra, freedom = _unexplained(design, values, covariance)
    found, doubt = _solved(design, values, covariance + extra * np.eye(len(values)))
    return found, doubt, max(freedom, LEAST_FREEDOM) if freedom > 0 else 0


def _unexplained(terms: Floats, values: Floats, covariance: Floats) -> tuple[float, int]:
    """(variance of a rating that neither the terms nor noise explain, its degrees of freedom).

    By the method of moments (DerSimonian and Laird 1986): r' P r is n - rank + variance * trace(P)
    in the mean.
    """
    root = cholesky(covariance, lower=True)
    turn, sizes, _ = svd(solve_triangular(root, terms, lower=True), full_matrices=False)
    basis = turn[:, sizes > 1e-9 * sizes[0]]
    freedom = len(values) - basis.shape[1]
    if freedom == 0:
        return 0.0, 0
    white = solve_triangular(root, values, lower=True)
    residue = float(white @ white - (basis.T @ white) @ (basis.T @ white))
    inverse = solve_triangular(root, np.eye(len(values)), lower=True)
    trace = float((inverse**2).sum() - ((basis.T @ inverse) ** 2).sum())
    return max(0.0, (residue - freedom) / trace), freedom


def _solved(design: Floats, values: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """(coefficients, their covariance) of generalised least squares."""
    weighted = cho_solve(cho_factor(covariance, lower=True), design)
    doubt: Floats = np.asarray(np.linalg.inv(design.T @ weighted), dtype=np.float64)
    return doubt @ (weighted.T @ values), doubt


def _quantile(doubt: Floats, freedom: int, level: float) -> float:
    """The quantile of the greatest of all standardised errors, drawn from one seed.

    freedom  of Student's t, 0 for the normal distribution
    """
    rng = np.random.default_rng(0)
    variance, turn = np.linalg.eigh(doubt)
    root = turn * np.sqrt(np.maximum(variance, 0.0))
    error = np.sqrt(np.diag(doubt))
    drawn = np.abs(rng.standard_normal((DRAWS, len(doubt))) @ root.T) / error
    greatest = drawn.max(axis=1)
    if freedom:
        greatest = greatest / np.sqrt(rng.chisquare(freedom, DRAWS) / freedom)
    return float(np.quantile(greatest, level))
