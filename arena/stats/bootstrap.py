"""Confidence intervals for games of three or more players, by block bootstrap (Künsch 1989).

A block is one seed, played until every player sat in every seat. It is the unit of evidence, as a
pair is for two players. Blocks are resampled whole: the scores within a game add up to a constant,
and the games of a block share seed and players, so neither may be drawn on its own.
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
    games      [blocks] games in the block, above 0
    rng        draws the blocks
    resamples  how often as many blocks as there are are drawn

    The ends are quantiles of the resampled means, moved outwards as far as Student's t is wider
    than the normal distribution (Hesterberg 2015, "expanded percentile"): drawing from n blocks
    makes the variance of means too small by (n - 1) / n. Fewer than 10 blocks, and scores that are
    all alike, get Wilson's interval over blocks, which is wide but never empty.
    Raises: EngineError on other shapes and on scores outside [0, 1].
    """
    _check_totals(totals, games)
    blocks, kinds = totals.shape
    mean = np.clip(totals.sum(0) / games.sum(), 0.0, 1.0)
    low, high = mean.copy(), mean.copy()
    per_game = totals / games[:, None]
    alike = np.ptp(per_game, axis=0) < 1e-12
    if blocks >= MIN_BLOCKS and not alike.all():
        drawn = _resampled(totals, games, rng, resamples)
        tail = float(ndtr(stdtrit(blocks - 1, 0.025) * math.sqrt(blocks / (blocks - 1))))
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    for kind in range(kinds):
        if blocks < MIN_BLOCKS or alike[kind]:
            low[kind], high[kind] = wilson_interval(float(mean[kind]), blocks)
    return mean, np.minimum(np.clip(low, 0.0, 1.0), mean), np.maximum(np.clip(high, 0.0, 1.0), mean)


def _check_totals(totals: NDArray[np.float64], games: NDArray[np.float64]) -> None:
    if (
        games.shape != totals.shape[:1]
        or len(totals) == 0
        or not np.all(games > 0)
        or not np.all((totals >= 0) & (totals <= games[:, None] + 1e-9))
    ):
        raise EngineError(
            f"totals {totals.shape}, games {games.shape}: expected a row per block, at least "
            "one, and scores in [0, 1] per game"
        )


def _resampled(
    totals: NDArray[np.float64],
    games: NDArray[np.float64],
    rng: np.random.Generator,
    resamples: int,
) -> NDArray[np.float64]:
    """[resamples, k] means of as many blocks as there are, drawn with replacement."""
    blocks = len(games)
    chunk = max(1, _CHUNK_CELLS // blocks)
    means = []
    for start in range(0, resamples, chunk):
        times = rng.multinomial(
            blocks, np.full(blocks, 1 / blocks), size=min(chunk, resamples - start)
        )
        means.append((times @ totals) / (times @ games)[:, None])
    return np.concatenate(means)
