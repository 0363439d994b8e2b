"""Strengths by margin, by weighted least squares, with the doubt about their variances."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from arena.stats.margin_units import Floats
from arena.stats.margin_variance import Met, pseudo_inverse, strengths


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted strengths.

    values      [k] strengths
    covariance  [k, k] their covariance
    weight      [pairs] the weights of the fit
    freedom     [k] degrees of freedom of the variances on the diagonal
    """

    values: Floats
    covariance: Floats
    weight: Floats
    freedom: Floats

    def half_width(self, i: int) -> float | None:
        """Of the 95 % interval of strength i; None where its variance is not known."""
        if not math.isfinite(self.freedom[i]):
            return 0.0 if self.covariance.any() else None
        return float(stdtrit(self.freedom[i], 0.975)) * math.sqrt(self.covariance[i, i])


def fit_strengths(met: Met, tau2: float, anchor: int | None) -> Fit:
    """Weighted least squares, with Satterthwaite's degrees of freedom.

    The variance V of a strength depends on tau^2 and on the variances m of both kinds of units.
    freedom = 2 V^2 / ((dV / dtau^2)^2 Var tau^2 + sum (dV / dm)^2 Var m), Var m = 2 m^2 / its
    degrees of freedom, Var tau^2 from the restricted information 1/2 tr PP (Harville 1977). It
    counts also where tau^2 is estimated as 0: that the games do not show a misfit does not show
    that there is none.
    """
    error = met.margins.error
    known = bool(np.all(error + tau2 > 0))
    weight = 1 / (error + tau2) if known else met.margins.number
    values, covariance = strengths(met, weight), pseudo_inverse(met, weight)
    move = np.eye(met.players)
    if anchor is not None:
        values = values - values[anchor]
        move[:, anchor] -= 1.0
    spread = move @ covariance
    anchored = spread @ move.T
    if not known:
        return Fit(values, np.zeros_like(anchored), weight, np.full(met.players, math.inf))

    doubt = np.zeros(met.players)
    for part, freedom_of_kind in zip(met.margins.parts, met.margins.freedom, strict=True):
        if part.any():
            by_noise = _moved(spread, met.laplacian(weight**2 * part))
            doubt += 2 * by_noise**2 / freedom_of_kind
    if met.freedom:
        squared = covariance @ met.laplacian(weight**2)
        cubed = covariance @ met.laplacian(weight**3)
        information = float(weight @ weight - 2 * np.trace(cubed) + np.sum(squared * squared.T)) / 2
        doubt += _moved(spread, met.laplacian(weight**2)) ** 2 / information
    freedom = np.full(met.players, math.inf)
    freedom[doubt > 0] = 2 * np.diag(anchored)[doubt > 0] ** 2 / doubt[doubt > 0]
    return Fit(values, anchored, weight, freedom)


def _moved(spread: Floats, laplacian: Floats) -> Floats:
    """[k] the slope of each variance, diag(spread laplacian spread')."""
    slope: Floats = np.sum((spread @ laplacian) * spread, axis=1)
    return slope


def explained_share(met: Met, fit: Fit, tau2: float, *, misfit: bool) -> float | None:
    """R^2 as in `MarginRatings.explained`.

    misfit  whether the margins show that ratings do not explain all of them
    """
    own = np.diag(fit.covariance)
    noise = own[met.first] + own[met.second] - 2 * fit.covariance[met.first, met.second]
    signal = max(0.0, float(np.mean(met.differences(fit.values) ** 2 - noise)))
    if not met.freedom or (signal == 0.0 and not misfit):
        return None
    return signal / (signal + tau2) if tau2 else 1.0
