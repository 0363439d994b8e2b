"""Confidence intervals for games of three or more players, by block bootstrap (Künsch 1989).

A block is one seed, played until every player sat in every seat that it can take. It is the unit of
evidence, as a pair is for two players. Blocks are resampled whole: the scores within a game add up
to a constant, and the games of a block share seed and players, so neither may be drawn on its own.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from arena.stats.intervals import wilson_interval
from pbt.errors import EngineError

MIN_BLOCKS = 10
RESAMPLES = 4000
_CHUNK_CELLS = 4_000_000


def mean_intervals(
    totals: NDArray[np.float64],
    games: NDArray[np.float64],
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(mean per game, low, high), [k] each, with 95 % intervals inside [0, 1].

    totals     [blocks, k] sums of k scores over the games of a block, each in [0, 1] per game
    games      [blocks] games in the block, above 0; or [blocks, k] those with the score, perhaps 0
    rng        draws the blocks
    resamples  how often as many blocks as there are are drawn

    The ends are quantiles of the resampled means, moved outwards as far as Student's t is wider
    than the normal distribution (Hesterberg 2015, "expanded percentile"): drawing from n blocks
    makes the variance of means too small by (n - 1) / n. Fewer than 10 blocks, and scores that are
    all alike, get Wilson's interval over blocks, which is wide but never empty.
    Raises: EngineError on other shapes, on scores outside [0, 1], and on a score without games.
    """
    weights = games if games.ndim == 2 else games[:, None]
    _check_totals(totals, games, weights)
    mean = np.clip(totals.sum(0) / weights.sum(0), 0.0, 1.0)
    low, high = mean.copy(), mean.copy()
    blocks = np.broadcast_to((weights > 0).sum(0), mean.shape)
    per_game = np.divide(
        totals, weights, out=np.broadcast_to(mean, totals.shape).copy(), where=weights > 0
    )
    alike = np.ptp(per_game, axis=0) < 1e-12
    varied = (blocks >= MIN_BLOCKS) & ~alike
    drawn = _resampled(totals, weights, rng, resamples) if varied.any() else totals[:0]
    for number in np.unique(blocks[varied]).tolist():
        same = varied & (blocks == number)
        tail = float(ndtr(stdtrit(number - 1, 0.025) * math.sqrt(number / (number - 1))))
        low[same], high[same] = np.nanquantile(drawn[:, same], [tail, 1 - tail], axis=0)
    for kind in np.flatnonzero(~varied).tolist():
        low[kind], high[kind] = wilson_interval(float(mean[kind]), int(blocks[kind]))
    return mean, np.minimum(np.clip(low, 0.0, 1.0), mean), np.maximum(np.clip(high, 0.0, 1.0), mean)


def _check_totals(
    totals: NDArray[np.float64], games: NDArray[np.float64], weights: NDArray[np.float64]
) -> None:
    if (
        games.shape not in (totals.shape, totals.shape[:1])
        or len(totals) == 0
        or not np.all(weights >= 0)
        or not np.all(weights.sum(0 if games.ndim == 2 else 1) > 0)
        or not np.all((totals >= 0) & (totals <= weights + 1e-9))
    ):
        raise EngineError(
            f"totals {totals.shape}, games {games.shape}: expected a row per block, at least "
            "one, and scores in [0, 1] per game"
        )


def _resampled(
    totals: NDArray[np.float64],
    weights: NDArray[np.float64],
    rng: np.random.Generator,
    resamples: int,
) -> NDArray[np.float64]:
    """[resamples, k] means of as many blocks as there are, drawn with replacement.

    weights  [blocks, k or 1] games; a mean of no games is nan
    """
    blocks = len(weights)
    chunk = max(1, _CHUNK_CELLS // blocks)
    means = []
    for start in range(0, resamples, chunk):
        times = rng.multinomial(
            blocks, np.full(blocks, 1 / blocks), size=min(chunk, resamples - start)
        )
        drawn = np.broadcast_to(times @ weights, (len(times), totals.shape[1]))
        means.append(
            np.divide(times @ totals, drawn, out=np.full(drawn.shape, np.nan), where=drawn > 0)
        )
    return np.concatenate(means)
