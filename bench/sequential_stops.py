"""Simulates matches that a sequential test stops: how long they are, and what their intervals hold.

    python -m bench.sequential_stops --runs 2000 --json bench/results/sequential_stops.json

Each case is a window of a test, a true strength (that of elo0, of elo1, or halfway), and a law of
the units: pairs of games without draws, pairs with half of the games drawn, or margins, normal or
skewed. The ratio is looked at after every pair. A case that the file already has is not run again,
so a program that was stopped goes on where it was. Every case has a random stream of its own, so
the order of the cases changes nothing.

Reported for each case:
  games      games to the stop: mean, its standard error, median, the 95 % quantile
  accepted   share of the runs that accepted H1
  sequence   share of the runs whose confidence sequence holds the truth at the stop; median width
  ordinary   the same of the interval for a fixed number of games
  leaning    mean of the score (of a margin in deviations) at the stop, less the truth
Games are pairs times two.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import stdtrit

from arena.stats.anytime import margin_sequence, score_sequence
from arena.stats.normalised_elo import NORMALISED_ELO
from arena.stats.score import pair_interval
from arena.stats.sprt import Sprt, log_likelihood_ratio, margin_likelihood_ratio

Floats = NDArray[np.float64]
WINDOWS = ((0.0, 10.0), (0.0, 20.0), (0.0, 50.0), (0.0, 100.0))
TRUTHS = ("elo0", "middle", "elo1")
LAWS = ("no draws", "half drawn", "normal margins", "skewed margins")
SEED, BLOCK_UNITS = 27, 10_000
POINTS = np.linspace(0.0, 1.0, 5)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Runs at their stops.

    pairs  [runs] number of pairs
    h1     [runs] whether H1 was accepted
    sums   [runs, k] counts by points, or number, sum and sum of squares of margins
    """

    pairs: Floats
    h1: NDArray[np.bool_]
    sums: Floats


def pair_law(nelo: float, draws: float) -> Floats:
    """[5] probabilities of the points of a pair of independent games of this normalised Elo."""

    def surplus(score: float) -> float:
        return score - 0.5 - nelo / NORMALISED_ELO * math.sqrt(score * (1 - score) - draws / 4)

    win = float(brentq(surplus, draws / 2 + 1e-9, 1 - draws / 2 - 1e-9)) - draws / 2
    game = np.array([1 - win - draws, draws, win])
    return np.convolve(game, game)


def stopped(
    test: Sprt,
    runs: int,
    terms: Callable[[int], Floats],
    ratio: Callable[[Floats], Floats],
) -> Stopped:
    """Plays all runs to their stops.

    terms  what so many units add to the sums of their runs, [units, k]
    ratio  the log-likelihood ratio of sums
    """
    open_runs = np.arange(runs)
    sums = np.zeros((runs, terms(1).shape[1]))
    pairs, h1 = np.zeros(runs), np.zeros(runs, dtype=bool)
    while number := len(open_runs):
        # Many units at a time, because a call of the ratio costs as much as a hundred units.
        block = max(1, BLOCK_UNITS // number)
        added = terms(number * block).reshape(number, block, -1)
        after = sums[open_runs][:, None] + np.cumsum(added, axis=1)
        llr = ratio(after)
        decided = (llr >= test.upper) | (llr <= test.lower)
        ended = decided.any(axis=1)
        last = np.where(ended, decided.argmax(axis=1), block - 1)
        sums[open_runs] = after[np.arange(number), last]
        pairs[open_runs] += last + 1
        h1[open_runs] = llr[np.arange(number), last] >= test.upper
        open_runs = open_runs[~ended]
    return Stopped(pairs, h1, sums)


def one_case(
    window: tuple[float, float], truth: str, law: str, runs: int, seed: int
) -> dict[str, Any]:
    """The figures of a case."""
    test = Sprt(*window, model="margin" if "margins" in law else "normalised")
    nelo = {"elo0": test.elo0, "middle": (test.elo0 + test.elo1) / 2, "elo1": test.elo1}[truth]
    rng = np.random.default_rng(seed)
    if test.model == "margin":
        return _margins(test, nelo, law, runs, rng)
    pairs = pair_law(nelo, 0.5 if law == "half drawn" else 0.0)
    ends = stopped(
        test,
        runs,
        lambda number: rng.multinomial(1, pairs, size=number).astype(np.float64),
        lambda sums: log_likelihood_ratio(sums, test.elo0, test.elo1),
    )
    counts = [[round(cell) for cell in row] for row in ends.sums]
    return figures(
        ends,
        float(pairs @ POINTS),
        ends.sums @ POINTS / ends.pairs,
        [score_sequence(row, test.window(2)) for row in counts],
        [pair_interval(row) for row in counts],
    )


def _margins(
    test: Sprt, nelo: float, law: str, runs: int, rng: np.random.Generator
) -> dict[str, Any]:
    """The figures of a case whose units are margins with a deviation of 1."""
    mean = math.sqrt(2) * nelo / NORMALISED_ELO

    def terms(number: int) -> Floats:
        noise = rng.standard_normal(number)
        if law == "skewed margins":
            noise = rng.standard_exponential(number) - 1
        return np.stack([np.ones(number), mean + noise, (mean + noise) ** 2], axis=1)

    ends = stopped(
        test, runs, terms, lambda sums: margin_likelihood_ratio(sums, test.elo0, test.elo1, 2)
    )
    number, total, squares = ends.sums.T
    found = total / number
    deviation = np.sqrt(squares / number - found**2)
    half = stdtrit(number - 1, 0.975) * deviation / np.sqrt(number - 1)
    unbounded = (-math.inf, math.inf)
    sequences = [
        margin_sequence(int(n), float(m), float(s), test.window(2)) or unbounded
        for n, m, s in zip(number, found, deviation, strict=True)
    ]
    ordinary = list(zip((found - half).tolist(), (found + half).tolist(), strict=True))
    return figures(ends, mean, found, sequences, ordinary)


def figures(
    ends: Stopped,
    truth: float,
    found: Floats,
    sequences: list[tuple[float, float]],
    ordinary: list[tuple[float, float]],
) -> dict[str, Any]:
    """The reported figures. found: [runs] the estimates at the stops."""
    games = 2 * ends.pairs
    return {
        "games": {
            "mean": float(games.mean()),
            "error": float(games.std(ddof=1) / math.sqrt(len(games))),
            "median": float(np.median(games)),
            "q95": float(np.quantile(games, 0.95)),
        },
        "accepted": float(ends.h1.mean()),
        "sequence": _covered(sequences, truth),
        "ordinary": _covered(ordinary, truth),
        "leaning": float(found.mean() - truth),
    }


def _covered(intervals: list[tuple[float, float]], truth: float) -> dict[str, float]:
    low, high = np.array(intervals).T
    return {
        "held": float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.median(high - low)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args()
    raw = json.loads(options.json.read_text()) if options.json.exists() else {"cases": {}}
    raw |= {"runs": options.runs, "seed": SEED, "alpha": 0.05, "beta": 0.05}
    for index, (window, truth, law) in enumerate(product(WINDOWS, TRUTHS, LAWS)):
        name = f"{window[0]:g},{window[1]:g} {truth} {law}"
        if name in raw["cases"]:
            continue
        started_s = time.monotonic()
        raw["cases"][name] = one_case(window, truth, law, options.runs, SEED + 1000 * index)
        options.json.write_text(json.dumps(raw, indent=1) + "\n")
        games = raw["cases"][name]["games"]["mean"]
        print(f"{name}: {games:.0f} games, {time.monotonic() - started_s:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
