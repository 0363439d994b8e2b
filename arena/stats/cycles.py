"""Cycles in a win matrix (A beats B beats C beats A), which no rating can express.

The module finds significant cycles and measures how much of all results is cyclic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import betainc, chdtrc

from arena.stats.bradley_terry import P
from arena.stats.rating_fit import fit_meetings
from arena.stats.win_matrix import WinMatrix, meetings_of

CYCLE_LEVEL = 0.01


@dataclass(frozen=True, slots=True)
class Cycle(Generic[P]):
    """Three players of which each beats the next: a beats b, b beats c, c beats a.

    a  the player of the cycle that stands first in the matrix
    b  the player that a beats
    c  the player that b beats
    p  the largest of the three p-values, corrected for all pairs that were tested
    """

    a: P
    b: P
    c: P
    p: float


@dataclass(frozen=True, slots=True)
class CyclicShare:
    """How much of the results is cyclic.

    share  fraction in [0, 1] of the variance of the log-odds (or of true mean margins) between
           players that no ratings explain; what chance adds to it is subtracted
    p      probability that chance alone makes as much; where p is not small, share says nothing
    """

    share: float
    p: float


def superior(matrix: WinMatrix[P]) -> NDArray[np.float64]:
    """[n, n] corrected p-values of "the row is not better than the column", by exact sign test.

    A p-value is P(at least the row's wins | a fair coin decides each decided game). It is corrected
    by Holm 1979 over both directions of all pairs that met: the chance of even one wrong pair among
    those called significant is below the level, however the pairs depend on each other.
    """
    met = (matrix.games > 0) & ~np.eye(len(matrix.players), dtype=bool)
    lost = matrix.wins.T
    p = np.where(matrix.wins > 0, betainc(np.maximum(matrix.wins, 1e-300), lost + 1, 0.5), 1.0)
    return corrected(p, met)


def corrected(p: NDArray[np.float64], met: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[n, n] the p-values of pairs that met, corrected by Holm 1979; 1 for all others."""
    own = p[met]
    order = np.argsort(own)
    steps = own[order] * (len(own) - np.arange(len(own)))
    own[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    p_values = np.ones(met.shape)
    p_values[met] = own
    return p_values


def significant_cycles(matrix: WinMatrix[P], level: float = CYCLE_LEVEL) -> list[Cycle[P]]:
    """Every three players of which each beats the next, the most certain cycle first.

    The chance that even one of them is not a cycle is below `level`.
    """
    return cycles_among(matrix.players, superior(matrix), level)


def cycles_among(players: Sequence[P], p: NDArray[np.float64], level: float) -> list[Cycle[P]]:
    """As `significant_cycles`. p: [n, n] corrected p-values of "the row is not better"."""
    beats, cycles = p < level, []
    for a in range(len(p)):
        # A cycle is listed once, beginning with the player that stands first in the matrix.
        beaten, beating = (
            np.flatnonzero(others[a + 1 :]) + a + 1 for others in (beats[a], beats[:, a])
        )
        for i, j in np.argwhere(beats[np.ix_(beaten, beating)]):
            b, c = beaten[i], beating[j]
            worst = float(max(p[a, b], p[b, c], p[c, a]))
            cycles.append(Cycle(players[a], players[b], players[c], worst))
    return sorted(cycles, key=lambda cycle: cycle.p)


def cyclic_share(matrix: WinMatrix[P]) -> CyclicShare:
    """The part of the pairwise log-odds that no rating differences explain.

    It is the curl and the harmonic flow of the Hodge decomposition (Jiang, Lim, Yao, Ye 2011), by
    least squares, with every pair weighted by the inverse variance of its log-odds. Chance alone
    makes each part as large as its degrees of freedom on average, so these are subtracted. p comes
    from the residual, which chance makes chi-squared.
    """
    first, second = np.nonzero(np.triu(matrix.games, 1))
    if not len(first):
        return CyclicShare(0.0, 1.0)
    flow, weight = _log_odds(matrix, first, second)
    players = len(matrix.players)
    parts = int(connected_components(matrix.games, directed=False)[0])
    laplacian = np.zeros((players, players))
    np.add.at(laplacian, (first, second), -weight)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    divergence = np.bincount(first, weight * flow, players) - np.bincount(
        second, weight * flow, players
    )
    strength = np.linalg.lstsq(laplacian, divergence, rcond=None)[0]
    residual = float(weight @ (flow - strength[first] + strength[second]) ** 2)
    explained = float(weight @ (strength[first] - strength[second]) ** 2)
    freedom = len(first) - (players - parts)
    if freedom == 0:
        return CyclicShare(0.0, 1.0)
    cyclic, transitive = max(0.0, residual - freedom), max(0.0, explained - (players - parts))
    return CyclicShare(
        cyclic / (cyclic + transitive) if cyclic > 0 else 0.0, float(chdtrc(freedom, residual))
    )


def _log_odds(
    matrix: WinMatrix[P], first: NDArray[np.intp], second: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(log-odds of first against second, inverse of their variance), [pairs] each.

    One virtual game, with the result that the ratings expect, is added to each pair. It keeps a
    100-0 finite. A virtual draw would pull it towards 0 and make a cycle of a strong, an average
    and a weak player.
    """
    # Beyond odds of e ** 30 to 1, one minus the expectation would be lost in rounding.
    expected = np.clip(_expected(matrix, first, second), 1e-13, 1 - 1e-13)
    wins, draws, games = (
        matrix.wins[first, second] + expected,
        matrix.draws[first, second],
        matrix.games[first, second] + 1,
    )
    losses = matrix.wins[second, first] + 1 - expected
    win, loss = (wins + draws / 2) / games, (losses + draws / 2) / games
    variance = (wins * loss**2 + losses * win**2 + draws * ((win - loss) / 2) ** 2) / games**2
    return np.log(win) - np.log(loss), (win * loss) ** 2 / variance


def _expected(
    matrix: WinMatrix[P], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.float64]:
    """[pairs] the score of first against second that the ratings expect.

    Each connected part of the matrix is fitted on its own.
    """
    labels = connected_components(matrix.games, directed=False)[1]
    expected = np.full(len(first), 0.5)
    for part in np.unique(labels[first]):
        inside = np.flatnonzero(labels == part)
        square = np.ix_(inside, inside)
        alone = WinMatrix(tuple(inside.tolist()), matrix.wins[square], matrix.draws[square])
        fit = fit_meetings(alone.players, meetings_of(alone), int(inside[0]), seated=False)
        if fit is not None:
            elo = np.zeros(len(labels))
            elo[inside] = fit.elo
            pairs = labels[first] == part
            expected[pairs] = fit.score(elo[first[pairs]] - elo[second[pairs]])
    return expected
