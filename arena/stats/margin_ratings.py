"""Ratings of a game whose objective is the margin: the zero-sum return of a player.

A unit is the mean margin of a seed pair, or the margin of a game outside a pair
(`arena.stats.margin_units`). The mean margin of a pair of players is
mean_ij = theta_i - theta_j + u_ij + e_ij (`arena.stats.margin_variance`), theta by weighted least
squares with w = 1 / (tau^2 + Var e_ij), as in network meta-analysis with random effects
(DerSimonian & Laird 1986; Rücker 2012). 1 / Var e_ij sums n_ij / s_ij^2 over both kinds of units.
Ratings are in units of the margin; the anchor's is 0.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc, stdtrit

from arena.stats.bradley_terry import P
from arena.stats.margin_fit import Fit, explained_share, fit_strengths
from arena.stats.margin_units import (
    Floats,
    MarginResult,
    Noise,
    Summed,
    Units,
    mean_margins,
    summed,
)
from arena.stats.margin_variance import Met, misfit_variance, strengths

# Below this share, one number per player does not describe the margins.
LEAST_EXPLAINED = 0.8
# Of the misfit test; chance alone often makes a small share of small margins.
MISFIT_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class PanelMargin:
    """The mean margin of a player against the reference panel: all other rated players, equally
    weighted.

    value  where the player did not meet a member, that member counts with what ratings expect
    low    lower end of the 95 % interval, None as in `MarginRating`
    high   upper end of the 95 % interval, None as `low`
    met    how many members of the panel the player met
    """

    value: float
    low: float | None
    high: float | None
    met: int


@dataclass(frozen=True, slots=True)
class MarginRating(Generic[P]):
    """The rating of one player, in units of the margin.

    player  the player
    value   its rating; None when no chain of games connects it to the anchor
    low     lower end of the 95 % interval of the difference to the anchor (without an anchor, to
            the mean); None as `value`, and where the games do not show how much margins vary
    high    upper end of the interval, None as `low`
    units   number of units that it played
    panel   its margin against the reference panel; None as `value`
    """

    player: P
    value: float | None
    low: float | None
    high: float | None
    units: int
    panel: PanelMargin | None


@dataclass(frozen=True, slots=True)
class Misfit:
    """Whether differences of ratings explain the margins up to noise.

    q        sum w (y - fit)^2 at tau = 0; chi^2 with `freedom` if they do
    freedom  degrees of freedom: pairs that met, less players, plus 1
    p        the chance of such a q if they do
    """

    q: float
    freedom: int
    p: float


@dataclass(frozen=True, slots=True)
class MarginRatings(Generic[P]):
    """The ratings of a game of margins.

    ratings     best first by `ranked_by`, players without a rating last
    players     [k] the rated players
    values      [k] their ratings
    covariance  [k, k] covariance of `values`; zeros in row and column of the anchor
    deviations  standard deviations of a seed pair and of a single game, pooled over all pairs of
                players; None for a kind without units, 0 where margins never vary
    tau         standard deviation of u: what a true mean margin has beyond its players' difference
    explained   R^2: share of the mean square of true mean margins that differences of ratings
                explain, S / (S + tau^2), S = mean of (fit^2 - Var fit) over the pairs that met.
                None where it cannot be told: no pairs beyond a tree of the players, or S of 0
                without a misfit that is more than chance
    misfit      the test of tau = 0; None where no degrees of freedom are left, or margins never
                vary
    ranked_by   "rating"; "panel" where `explained` is below 0.8 and the misfit is more than chance
                (p < 0.05): then the players are ranked by their mean margin against the panel
    """

    ratings: tuple[MarginRating[P], ...]
    players: tuple[P, ...]
    values: Floats
    covariance: Floats
    deviations: tuple[float | None, float | None]
    tau: float
    explained: float | None
    misfit: Misfit | None
    ranked_by: Literal["rating", "panel"]


def fit_margins(results: Iterable[MarginResult[P]], anchor: P | None) -> MarginRatings[P]:
    """The ratings of all players.

    anchor  the player whose rating is 0. None: the largest group of players that games connect is
            rated, and its mean is 0
    Raises: EngineError on a player against itself, and on numbers that no units have.
    """
    sums = summed(results)
    units = sums.units
    players, met = _connected(sums, anchor)
    if not players:
        return _without_ratings(units)
    tau2 = misfit_variance(met)
    fit = fit_strengths(met, tau2, None if anchor is None else players.index(anchor))
    misfit = _misfit(met)
    # Without noise, whatever ratings do not explain is misfit.
    shown = tau2 > 0 and (misfit is None or misfit.p < MISFIT_LEVEL)
    explained = explained_share(met, fit, tau2, misfit=shown)
    little = shown and explained is not None and explained < LEAST_EXPLAINED
    ranked_by: Literal["rating", "panel"] = "panel" if little else "rating"
    panels = [_panel(met, tau2, fit, i) for i in range(len(players))]
    return MarginRatings(
        ratings=_in_order(players, units, fit, panels, ranked_by),
        players=tuple(players),
        values=fit.values,
        covariance=fit.covariance,
        deviations=_deviations(sums, met.margins.kinds),
        tau=math.sqrt(tau2),
        explained=explained,
        misfit=misfit,
        ranked_by=ranked_by,
    )


def _without_ratings(units: dict[P, int]) -> MarginRatings[P]:
    """No player is rated."""
    unrated = tuple(MarginRating(one, None, None, None, units[one], None) for one in units)
    none = np.zeros(0)
    return MarginRatings(
        unrated, (), none, np.zeros((0, 0)), (None, None), 0.0, None, None, "rating"
    )


def _deviations(sums: Summed[P], kinds: tuple[Noise, Noise]) -> tuple[float | None, float | None]:
    """As `MarginRatings.deviations`."""
    pair, single = (
        math.sqrt(noise.pooled) if units.number.any() else None
        for units, noise in zip((sums.pairs, sums.singles), kinds, strict=True)
    )
    return pair, single


def _connected(sums: Summed[P], anchor: P | None) -> tuple[list[P], Met]:
    """(rated players, their pairs by index in them)."""
    players = list(sums.units)
    place = {player: i for i, player in enumerate(players)}
    first = np.array([place[a] for a, _ in sums.couples], dtype=np.intp)
    second = np.array([place[b] for _, b in sums.couples], dtype=np.intp)
    inside = np.zeros(len(players), dtype=bool)
    if players and (anchor is None or anchor in place):
        graph = coo_array((np.ones(len(first)), (first, second)), shape=(len(players),) * 2)
        labels = connected_components(graph, directed=False)[1]
        inside = labels == (
            np.argmax(np.bincount(labels)) if anchor is None else labels[place[anchor]]
        )
    kept = inside[first]
    index = np.cumsum(inside) - 1
    pairs, singles = (
        Units(units.number[kept], units.mean[kept], units.squares[kept])
        for units in (sums.pairs, sums.singles)
    )
    met = Met(
        index[first[kept]], index[second[kept]], mean_margins(pairs, singles), int(inside.sum())
    )
    return [player for player in players if inside[place[player]]], met


def _misfit(met: Met) -> Misfit | None:
    if not met.freedom or not met.margins.error.any():
        return None
    weight = 1 / met.margins.error
    q = float(weight @ (met.mean - met.differences(strengths(met, weight))) ** 2)
    return Misfit(q, met.freedom, float(chdtrc(met.freedom, q)))


def _panel(met: Met, tau2: float, fit: Fit, i: int) -> PanelMargin:
    """The mean margin of player i against the panel.

    The estimate is linear in the mean margins of the pairs: its coefficients are those of the
    ratings, for members that the player did not meet, plus 1 / members for each pair that it
    played. The interval is of the true mean margin, which has u of each pair in it.
    """
    size = met.players - 1
    played = (met.first == i) | (met.second == i)
    sign = np.where(met.first == i, 1.0, -1.0)
    unmet = np.arange(met.players) != i
    unmet[np.where(met.first == i, met.second, met.first)[played]] = False
    wanted = np.where(unmet, -1.0, 0.0)
    wanted[i] = unmet.sum()
    by_rating = fit.weight * met.differences(fit.covariance @ wanted) / size
    direct = np.where(played, sign, 0.0) / size
    value = float(direct @ met.mean + wanted @ fit.values / size)
    # By kind of unit; with how well the variances of the kinds are known.
    parts = met.margins.parts @ (by_rating + direct) ** 2
    of_games = float(parts.sum())
    variance = of_games + tau2 * (float(by_rating @ by_rating) + float(unmet.sum()) / size**2)
    if variance <= 0.0:
        return PanelMargin(value, None, None, int(played.sum()))
    freedom = (
        of_games**2 / float(np.sum(parts**2 / met.margins.freedom)) if of_games else met.freedom
    )
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(variance)
    return PanelMargin(value, value - half, value + half, int(played.sum()))


def _in_order(
    players: Sequence[P],
    units: dict[P, int],
    fit: Fit,
    panels: Sequence[PanelMargin],
    ranked_by: Literal["rating", "panel"],
) -> tuple[MarginRating[P], ...]:
    """All ratings, best first, players without a rating last."""
    rated = []
    for i, player in enumerate(players):
        value, half = float(fit.values[i]), fit.half_width(i)
        low, high = (None, None) if half is None else (value - half, value + half)
        rated.append(MarginRating(player, value, low, high, units[player], panels[i]))
    inside = set(players)
    rated += [
        MarginRating(one, None, None, None, units[one], None) for one in units if one not in inside
    ]

    def place(one: MarginRating[P]) -> tuple[float, str]:
        if one.value is None:
            return math.inf, str(one.player)
        measured = one.panel.value if ranked_by == "panel" and one.panel else one.value
        return -measured, str(one.player)

    return tuple(sorted(rated, key=place))
