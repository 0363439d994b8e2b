"""Whether the ratings' intervals hold the truth as often as they say, in simulated leagues.

    python -m bench.rating_coverage --leagues 2000 --json coverage.json

Each cell is a kind of league whose strengths are known. Leagues of it are drawn, rated by
`arena.stats.rating_fit`, and the 95 % intervals are held against the truth: those of differences to
the anchor, and those between players that are neighbours in strength. Leagues are fitted many at a
time (`bench.rating_batches`), and the first five of each cell also one at a time. Cells:

  SEAT-TIES-dense    eight players 100 Elo apart, all against all, 20 seed pairs and 10 single games
                     of each two. SEAT is the advantage of the first seat in Elo, or `rising`: from
                     0 at the anchor to 300 at the best. TIES is the chance that equals tie
  SEAT-TIES-sparse   the same players in a circle: each meets its four neighbours, in 4 seed pairs
                     and 2 single games
  shared-*           as 100-0-dense, but the two games of a seed pair depend on each other: `luck`
                     favours the same seat in both, `matchup` the same player
  strong-*           a ladder in steps of 250 or 260 Elo up to a player at +1000 or +1300, each rung
                     against the next and `random`, and the same player against `random` alone

The seed of every league stands in this file: it is SEED, the place of the cell, and the number of
the league. The file is written after every cell, and the same call goes on from there. Exit code 1
when a floor is missed: among dense cells a mean coverage in [0.945, 0.955] and none above 0.96; no
cell below 0.94; the bias of strong players at most a quarter of their standard error.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.meetings import Meetings
from arena.stats.rating_fit import fit_meetings
from bench.rating_batch_fits import Fits, bounded
from bench.rating_batches import Leagues
from bench.simulated_leagues import Cell, cells, drawn, losses
from bench.throughput import hardware
from pbt.files import write_whole

SEED = 27_11_2026
MEAN, LEAST, DENSEST, BIAS, APART = (0.945, 0.955), 0.94, 0.96, 0.25, 0.1
CHUNK, CHECKED = 250, 5


# --- what is counted ------------------------------------------------------------------------------


def compared(cell: Cell) -> list[tuple[int, int]]:
    """(player, reference): the differences to the anchor, then those between neighbours."""
    players = range(len(cell.strength))
    between = [] if cell.strong else [(top, top - 1) for top in players[2:]]
    return [(player, 0) for player in players[1:]] + between


def measured(cell: Cell, place: int, leagues: int, checked: int = CHECKED) -> dict[str, Any]:
    """The tallies of one cell.

    place    of the cell among all, which is part of the seed
    checked  how many leagues are also rated one at a time, by `arena.stats.rating_fit`
    """
    wanted, parts, apart = compared(cell), [], 0.0
    for begin in range(0, leagues, CHUNK):
        numbers = range(begin, min(begin + CHUNK, leagues))
        games = [drawn(cell, np.random.default_rng([SEED, place, number])) for number in numbers]
        fits = Fits(Leagues.of(games, len(cell.strength)))
        part = intervals(fits, wanted)
        parts.append((*part, fits.slope))
        fair = range(max(0, min(checked - begin, len(games))))
        apart = max([apart, *(difference(games[k], wanted, part[0][:, :, k]) for k in fair)])
    columns = zip(*parts, strict=True)
    ends, is_open, slopes = (np.concatenate(column, axis=-1) for column in columns)
    ratings = ends[1, : len(cell.strength) - 1]
    return {
        "leagues": leagues,
        "anchor": tallied(cell, wanted, ends, is_open, at_anchor=True),
        **(
            {}
            if cell.strong
            else {"between": tallied(cell, wanted, ends, is_open, at_anchor=False)}
        ),
        "players": [off(cell, at + 1, elo) for at, elo in enumerate(ratings)],
        "slope_kept": float((slopes != 0).mean()),
        "losses_of_best": losses(cell),
        "apart_from_one_at_a_time": apart,
    }


def intervals(fits: Fits, wanted: Sequence[tuple[int, int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """([3, differences, L] low, difference and high, in Elo; [2, differences, L] open ends)."""
    ends = fits.intervals(wanted) * ELO_PER_NAT
    is_open = np.empty((2, len(wanted), ends.shape[2]), dtype=bool)
    for column, (player, reference) in enumerate(wanted):
        above, below = bounded(fits.games, reference)
        is_open[:, column] = ~below[:, player], ~above[:, player]
    return ends, is_open


def difference(
    games: Meetings, wanted: Sequence[tuple[int, int]], ends: NDArray[np.float64]
) -> float:
    """How far intervals of one league, [3, differences], are from those of `RatingFit`, in Elo."""
    fit = fit_meetings(range(1 + max(player for player, _ in wanted)), games, 0)
    if fit is None:
        raise SystemExit("a league without ratings")
    apart = []
    for pair, (low, elo, high) in zip(wanted, ends.T, strict=True):
        row = fit.difference(*pair)
        apart.append(abs(row.elo - elo))
        apart += [abs(row.low - low)] if row.low is not None else []
        apart += [abs(row.high - high)] if row.high is not None else []
    return float(max(apart))


def tallied(
    cell: Cell,
    wanted: Sequence[tuple[int, int]],
    ends: NDArray[np.float64],
    is_open: NDArray[np.bool_],
    *,
    at_anchor: bool,
) -> dict[str, Any]:
    """Coverage of one kind of differences, misses below and above, and widths in Elo."""
    columns = [at for at, (_, reference) in enumerate(wanted) if (reference == 0) == at_anchor]
    truth = np.array(
        [cell.strength[wanted[at][0]] - cell.strength[wanted[at][1]] for at in columns]
    )
    low, _, high = ends[:, columns]
    open_low, open_high = is_open[:, columns]
    below = ((truth[:, None] > high) & ~open_high).mean(axis=1)
    above = ((truth[:, None] < low) & ~open_low).mean(axis=1)
    closed = ~(open_low | open_high)
    return {
        "coverage": float(1 - np.mean(below + above)),
        "interval_below_truth": float(below.mean()),
        "interval_above_truth": float(above.mean()),
        "by_difference": (1 - below - above).round(4).tolist(),
        "median_width": float(np.median((high - low)[closed])) if closed.any() else None,
        "open_ends": float(is_open[:, columns].mean()),
    }


def off(cell: Cell, player: int, elo: NDArray[np.float64] | Sequence[float]) -> dict[str, float]:
    """How far the estimates of a player are from the truth."""
    bias, deviation = float(np.mean(elo)) - cell.strength[player], float(np.std(elo, ddof=1))
    return {
        "truth": cell.strength[player],
        "bias": bias,
        "deviation": deviation,
        "bias_in_errors": bias / deviation,
    }


def summary(results: dict[str, Any]) -> dict[str, float]:
    """What all cells come to: coverages, and the largest bias of a strong player."""
    dense, all_kinds, bias = [], [], [0.0]
    for cell in (cell for cell in cells() if cell.name in results):
        result = results[cell.name]
        if cell.strong:
            bias += [abs(result["players"][-1]["bias_in_errors"])] * (result["losses_of_best"] >= 5)
            continue
        kinds = [result[kind]["coverage"] for kind in ("anchor", "between")]
        all_kinds += kinds
        dense += kinds if cell.dense else []
    found = {"strong_bias_in_errors": max(bias)}
    if dense:
        found |= {
            "dense_mean": float(np.mean(dense)),
            "dense_least": min(dense),
            "dense_greatest": max(dense),
        }
    return found | ({"least": min(all_kinds)} if all_kinds else {})


def missed(results: dict[str, Any]) -> list[str]:
    """The floors that these results miss, one line each."""
    found = summary(results)
    lines = [
        f"{name}: {result['apart_from_one_at_a_time']:.3f} Elo from fits of one league at a time"
        for name, result in results.items()
        if result["apart_from_one_at_a_time"] > APART
    ]
    if not MEAN[0] <= found.get("dense_mean", MEAN[0]) <= MEAN[1]:
        lines.append(f"mean coverage of dense cells {found['dense_mean']:.4f}, expected {MEAN}")
    if found.get("dense_greatest", 0.0) > DENSEST:
        lines.append(f"coverage of a dense cell {found['dense_greatest']:.4f}, at most {DENSEST}")
    if found.get("least", 1.0) < LEAST:
        lines.append(f"coverage of a cell {found['least']:.4f}, at least {LEAST}")
    if (bias := found["strong_bias_in_errors"]) > BIAS:
        lines.append(f"bias of a strong player {bias:.2f} standard errors, at most {BIAS}")
    return lines


# --- the program ----------------------------------------------------------------------------------


def earlier(path: Path | None, plan: dict[str, Any]) -> dict[str, Any]:
    """Cells of a call that was cut off. Raises: SystemExit when the file is of another plan."""
    if path is None or not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["plan"] != plan:
        raise SystemExit(
            f"{path}: found cells of another plan, {stored['plan']}; expected {plan}; "
            "name another file with --json, or remove this one"
        )
    return dict(stored["cells"])


def shown(name: str, result: dict[str, Any]) -> str:
    """One line for a cell."""
    parts = [
        f"{kind} {part['coverage']:.4f} (-{part['interval_below_truth']:.4f} "
        f"+{part['interval_above_truth']:.4f}, width {part['median_width'] or math.nan:.0f}, "
        f"open {part['open_ends']:.3f})"
        for kind in ("anchor", "between")
        if (part := result.get(kind))
    ]
    best = result["players"][-1]
    return (
        f"{name:24s} {'; '.join(parts)}; slope kept {result['slope_kept']:.3f}; best off by "
        f"{best['bias']:+.1f}, {best['bias_in_errors']:+.3f} errors"
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--leagues", type=int, default=2000, help="of each cell")
    parser.add_argument("--only", default="", help="cells whose names hold this")
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def main() -> int:
    """Returns 1 when a floor is missed."""
    options = parsed()
    plan = {"seed": SEED, "leagues": options.leagues}
    results = earlier(options.json, plan)
    for place, cell in enumerate(cells()):
        if options.only in cell.name and cell.name not in results:
            results[cell.name] = measured(cell, place, options.leagues)
            if options.json is not None:
                stored = {
                    "plan": plan,
                    "measured_on": hardware(),
                    "summary": summary(results),
                    "cells": results,
                }
                write_whole(options.json, json.dumps(stored, indent=1) + "\n")
            print(shown(cell.name, results[cell.name]), flush=True)
    broken = missed(results)
    print("\n".join(broken) or "no floor is missed")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
