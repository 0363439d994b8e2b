"""Whether the printed advantage of the first seat holds the truth as often as it says.

    python -m bench.seat_advantage --leagues 2000 --json bench/results/seat_advantage.json

The leagues are those of `bench.rating_coverage` in which eight players met, with the same seeds.
`arena league` prints two 95 % intervals (`arena.stats.rating_fit.SeatAdvantage`), and both are held
against the truth:

  at the best   the advantage between two players as strong as the one with the highest rating,
                from the model with gamma1. The truth is that at the true strength of that player
  overall       printed where gamma1 is not told from 0: gamma0 of the model without gamma1. The
                truth is what endless games of the same plan would give that model
  without the   what was printed before for the strength of the best: gamma0 alone where gamma1 is
  doubt         not told from 0, else the first of these

Leagues where gamma1 cannot be fitted say that the games do not tell the advantage at the best; they
are counted as open, and left out of the coverage. Exit code 1 when the coverage at the best is
below 0.94 in some cell.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.meetings import Meetings
from bench.rating_batch_fits import Fits
from bench.rating_batches import Leagues, most_likely
from bench.rating_coverage import SEED
from bench.simulated_leagues import Cell, cells, chances, drawn
from bench.throughput import hardware
from pbt.files import write_whole

LEAST, ENDLESS, CHUNK = 0.94, 1e4, 250


def measured(cell: Cell, place: int, leagues: int) -> dict[str, float]:
    """The figures of one cell. place: of the cell among all, which is part of the seed."""
    parts = []
    for begin in range(0, leagues, CHUNK):
        numbers = range(begin, min(begin + CHUNK, leagues))
        games = [drawn(cell, np.random.default_rng([SEED, place, number])) for number in numbers]
        fits = Fits(Leagues.of(games, len(cell.strength)))
        best, value, half = fits.seat_at_best()
        parts.append((best, value, half, *fits.level_seat()))
    best, value, half, level, level_half = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    truth = (cell.seat + cell.slope * np.array(cell.strength)[best]) / ELO_PER_NAT
    kept, fitted = np.isnan(level), ~np.isnan(value)
    before = np.where(kept, np.abs(value - truth) <= half, np.abs(level - truth) <= level_half)
    overall = endless(cell) / ELO_PER_NAT
    return {
        "leagues": leagues,
        "slope_kept": float(kept.mean()),
        "at_best": coverage(value, half, truth, fitted),
        "at_best_width": width(half[fitted]),
        "at_best_open": float(1 - fitted.mean()),
        "at_best_bias": float(np.mean((value - truth)[fitted]) * ELO_PER_NAT),
        "overall": coverage(level, level_half, np.full(leagues, overall), ~kept),
        "overall_width": width(level_half[~kept]),
        "without_the_doubt": float(before.mean()),
    }


def coverage(
    value: NDArray[np.float64],
    half: NDArray[np.float64],
    truth: NDArray[np.float64],
    counted: NDArray[np.bool_],
) -> float:
    """How often value -+ half holds the truth, of those that are counted; 1 where none is."""
    held = (np.abs(value - truth) <= half)[counted]
    return float(held.mean()) if len(held) else 1.0


def width(half: NDArray[np.float64]) -> float:
    """The median width of intervals, in Elo; 0 for none."""
    return float(np.median(2 * half)) * ELO_PER_NAT if len(half) else 0.0


def endless(cell: Cell) -> float:
    """gamma0 of the model without gamma1 after endless games of the cell, in Elo."""
    first, second = np.array(cell.met, dtype=np.intp).T
    number = ENDLESS * (cell.pairs + cell.singles / 2)
    games = Meetings(first, second, np.zeros((len(first), 3, 3)), number * chances(cell))
    league = Leagues.of([games], len(cell.strength))
    beta, _ = most_likely(league, np.zeros((1, league.size)), np.zeros(1))
    return float(beta[0, len(cell.strength) - 1]) * ELO_PER_NAT


def summary(results: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The extremes of cells; of "overall" where at least a tenth of the leagues print it."""
    at_best = [found["at_best"] for found in results.values()]
    overall = [found["overall"] for found in results.values() if found["slope_kept"] < 0.9]
    return {
        "at_best_least": min(at_best),
        "at_best_greatest": max(at_best),
        "at_best_most_open": max(found["at_best_open"] for found in results.values()),
        "overall_least": min(overall, default=1.0),
        "overall_greatest": max(overall, default=1.0),
        "without_the_doubt_least": min(found["without_the_doubt"] for found in results.values()),
    }


def main() -> int:
    """Returns 1 when a floor is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--leagues", type=int, default=2000, help="of each cell")
    parser.add_argument("--only", default="", help="cells whose names hold this")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    results = {}
    for place, cell in enumerate(cells()):
        if options.only not in cell.name or cell.strong:
            continue
        results[cell.name] = found = measured(cell, place, options.leagues)
        print(cell.name, ", ".join(f"{name} {one:.4g}" for name, one in found.items()), flush=True)
    extremes = summary(results)
    if options.json is not None:
        stored = {
            "plan": {"seed": SEED, "leagues": options.leagues},
            "measured_on": hardware(),
            "summary": extremes,
            "cells": results,
        }
        write_whole(options.json, json.dumps(stored, indent=1) + "\n")
    print(f"least coverage at the best {extremes['at_best_least']:.4f}, floor {LEAST}")
    return int(extremes["at_best_least"] < LEAST)


if __name__ == "__main__":
    sys.exit(main())
