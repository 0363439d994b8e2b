"""Simulates how well the best of 100 snapshots is told, and how well its strength is.

    python -m bench.best_of --leagues 2000 --json bench/results/best_of.json

Four members have 25 snapshots each; three of them copy the first one halfway. Every snapshot plays
10 pairs with `random` and 4 pairs with each of 6 others. Three kinds of leagues:
  equals  all snapshots are 100 Elo above `random`
  rising  strength grows along each curve, towards 600 Elo, with a random walk on top
  circle  rock, paper, scissors: mixed strategies that walk about, of which none beats `random`
Leagues are run a hundred at a time. A hundred that the file already has is not run again, so a
program that was stopped goes on where it was; every league has a random stream of its own.

Reported for each kind, means over leagues (truth: the rating that endless games of the same plan
would give; fresh games: the Elo of the true score against their opponent):
  today           the snapshot with the greatest lower end, and its rating: bias, coverage, width
  fresh random    200 pairs of that snapshot with `random`, never used for choosing
  fresh middle    200 pairs of it with the snapshot of median rating
  simultaneous    the simultaneous lower end, without fresh games: how often the truth of the
                  chosen is above it, and how far below that truth it lies
  curves          the same of ratings shrunk along the curves; bias of the chosen's posterior mean
  may be best     how often the set holds the truly best, its size, how often it holds `random`
"""

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.curves import shrink_along_curves
from arena.stats.meetings import Meetings
from arena.stats.rating_fit import RatingFit, fit_meetings
from arena.stats.score import MatchGame, elo_of_score, match_statistics
from arena.stats.selection import fresh_headline, may_be_best, simultaneous_lower_end

Floats = NDArray[np.float64]
MEMBERS, LENGTH, COPIED_AT = 4, 25, 12
SNAPSHOTS = MEMBERS * LENGTH
RANDOM = SNAPSHOTS
PAIRS_WITH_RANDOM, OTHERS, PAIRS_WITH_OTHERS = 10, 6, 4
FRESH_PAIRS, FRESH_TIMES, ENDLESS = 200, 10, 2e4
CHUNK, SEED, DRAWS = 100, 27, 4000
KINDS = ("equals", "rising", "circle")
ROCK_PAPER_SCISSORS = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])


@dataclass(frozen=True, slots=True)
class League:
    """A league whose truth is known. Index 100 is `random`.

    win      [101, 101] probability that the row wins a game against the column
    draw     [101, 101] probability of a draw
    pairs    [101, 101] number of pairs that are played, symmetric
    parents  [100] index of the snapshot that a snapshot was trained on from
    """

    win: Floats
    draw: Floats
    pairs: Floats
    parents: tuple[int | None, ...]

    def score(self, i: int, j: int) -> float:
        return float(self.win[i, j] + self.draw[i, j] / 2)

    def outcomes(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """[pairs, 3] probabilities that `first` wins, draws and loses, in either seat."""
        found = np.stack([self.win, self.draw, self.win.T], axis=-1)[first, second]
        return np.asarray(found / found.sum(1, keepdims=True))


def league(kind: str, rng: np.random.Generator) -> League:
    """A league of one kind."""
    parents = tuple(_parent(i) for i in range(SNAPSHOTS))
    pairs = np.zeros((SNAPSHOTS + 1, SNAPSHOTS + 1))
    pairs[RANDOM, :RANDOM] = pairs[:RANDOM, RANDOM] = PAIRS_WITH_RANDOM
    for i in range(SNAPSHOTS):
        others = rng.choice(SNAPSHOTS - 1, OTHERS, replace=False)
        for j in np.where(others >= i, others + 1, others):
            pairs[i, j] += PAIRS_WITH_OTHERS
            pairs[j, i] += PAIRS_WITH_OTHERS
    if kind == "circle":
        logits = _walk(parents, 0.15 * rng.standard_normal((SNAPSHOTS, 3)))
        chosen = np.vstack([softmax(logits, axis=1), np.full(3, 1 / 3)])
        return League(chosen @ ROCK_PAPER_SCISSORS @ chosen.T, chosen @ chosen.T, pairs, parents)
    elo = np.full(SNAPSHOTS + 1, 100.0)
    if kind == "rising":
        age = np.arange(SNAPSHOTS) % LENGTH / (LENGTH - 1)
        elo[:RANDOM] = 600 * (1 - np.exp(-3 * age)) / (1 - math.exp(-3))
        elo[:RANDOM] += _walk(parents, 12 * rng.standard_normal((SNAPSHOTS, 1)))[:, 0]
    elo[RANDOM] = 0.0
    win = expit((elo[:, None] - elo[None, :]) / ELO_PER_NAT)
    return League(win, np.zeros_like(win), pairs, parents)


def _parent(i: int) -> int | None:
    """The snapshot before in the same curve; of the one that copied, one of the first member."""
    member, age = divmod(i, LENGTH)
    if age == 0:
        return None
    return i - 1 if member == 0 or age != COPIED_AT else COPIED_AT - 1


def _walk(parents: tuple[int | None, ...], steps: Floats) -> Floats:
    """Sums of steps from each root."""
    walked = steps.copy()
    for i, parent in enumerate(parents):
        walked[i] = 0.0 if parent is None else walked[parent] + steps[i]
    return walked


def endless(truth_of: League) -> Floats:
    """[100] the ratings that endless games of the plan would give; `random` is 0."""
    first, second = np.nonzero(np.triu(truth_of.pairs))
    number = ENDLESS * truth_of.pairs[first, second]
    outcomes = truth_of.outcomes(first, second)
    paired = number[:, None, None] * outcomes[:, :, None] * outcomes[:, None, :]
    return fitted(Meetings(first, second, paired, np.zeros((len(first), 2, 3)))).elo[:RANDOM]


def played(truth_of: League, rng: np.random.Generator) -> Meetings:
    """The games of the plan: every seed once in each order of seats, neither of which is better."""
    first, second = np.nonzero(np.triu(truth_of.pairs))
    number = np.rint(truth_of.pairs[first, second]).astype(np.int64)
    outcomes = truth_of.outcomes(first, second)
    joint = (outcomes[:, :, None] * outcomes[:, None, :]).reshape(-1, 9)
    paired = rng.multinomial(number, joint).reshape(-1, 3, 3).astype(float)
    return Meetings(first, second, paired, np.zeros((len(first), 2, 3)))


def fitted(games: Meetings) -> RatingFit[int]:
    """The fit of all snapshots and `random`, as `arena league` makes it."""
    fit = fit_meetings(range(SNAPSHOTS + 1), games, RANDOM)
    assert fit is not None
    return fit


def one_league(kind: str, rng: np.random.Generator) -> dict[str, float]:
    """The figures of one league."""
    truth_of = league(kind, rng)
    truth = endless(truth_of)
    fit = fitted(played(truth_of, rng))
    elo, covariance = fit.elo[:RANDOM], fit.covariance[:RANDOM, :RANDOM]
    rows = [row for row in fit.differences(RANDOM) if row.player != RANDOM]
    best = max(rows, key=lambda row: -math.inf if row.low is None else row.low)
    chosen = best.player
    low = -math.inf if best.low is None else best.low
    high = math.inf if best.high is None else best.high
    figures = {
        "today: bias": elo[chosen] - truth[chosen],
        "today: covered": low <= truth[chosen] <= high,
        "today: width": high - low if math.isfinite(high - low) else math.nan,
        "chosen below the best": truth.max() - truth[chosen],
    }
    middle = int(np.argsort(elo)[SNAPSHOTS // 2])
    for name, opponent in (("fresh random", RANDOM), ("fresh middle", middle)):
        if opponent != chosen:
            figures |= _fresh(name, truth_of, chosen, opponent, rng)
    figures |= _without_fresh("simultaneous", elo, covariance, truth, rng)
    curves = shrink_along_curves(
        elo, covariance, truth_of.parents, [0.0 if p is None else 1.0 for p in truth_of.parents]
    )
    figures |= _without_fresh("curves", curves.values, curves.covariance, truth, rng)
    whole = np.zeros((SNAPSHOTS + 1, SNAPSHOTS + 1))
    whole[:RANDOM, :RANDOM] = covariance
    inside = may_be_best(np.append(elo, 0.0), whole, rng, DRAWS)
    figures |= {
        "may be best: holds the best": inside[int(np.argmax(np.append(truth, 0.0)))],
        "may be best: size": inside.sum(),
        "may be best: holds random": inside[RANDOM],
    }
    return {name: float(value) for name, value in figures.items()}


def _fresh(
    name: str, truth_of: League, chosen: int, opponent: int, rng: np.random.Generator
) -> dict[str, float]:
    """The headline from fresh games, several times."""
    law = truth_of.win[chosen, opponent], truth_of.draw[chosen, opponent], 0.0
    law = (*law[:2], 1 - law[0] - law[1])
    truth = elo_of_score(truth_of.score(chosen, opponent))
    assert truth is not None
    found: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(FRESH_TIMES):
        points = rng.choice([1.0, 0.5, 0.0], size=(FRESH_PAIRS, 2), p=law)
        games = [
            MatchGame(float(points[pair, seat]), seat == 0, pair, "")
            for pair in range(FRESH_PAIRS)
            for seat in range(2)
        ]
        headline = fresh_headline(match_statistics(games))
        low = -math.inf if headline.low is None else headline.low
        high = math.inf if headline.high is None else headline.high
        found[f"{name}: covered"].append(low <= truth <= high)
        found[f"{name}: below"].append(truth < low)
        if headline.elo is not None:
            found[f"{name}: bias"].append(headline.elo - truth)
            found[f"{name}: width"].append(high - low if high < math.inf else math.nan)
    return {key: float(np.nanmean(values)) for key, values in found.items()}


def _without_fresh(
    name: str, values: Floats, covariance: Floats, truth: Floats, rng: np.random.Generator
) -> dict[str, float]:
    """The simultaneous lower end, and the estimate of its candidate."""
    end = simultaneous_lower_end(values, covariance, rng, DRAWS)
    return {
        f"{name}: covered": end.low <= truth[end.chosen],
        f"{name}: below the truth by": truth[end.chosen] - end.low,
        f"{name}: bias": values[end.chosen] - truth[end.chosen],
        f"{name}: quantile": end.quantile,
        f"{name}: chosen below the best": truth.max() - truth[end.chosen],
    }


def one_chunk(kind: str, chunk: int, leagues: int) -> dict[str, list[float]]:
    """Of each figure: its mean, its mean square and its number over these leagues."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for index in range(chunk * CHUNK, chunk * CHUNK + leagues):
        rng = np.random.default_rng([SEED, KINDS.index(kind), index])
        for name, value in one_league(kind, rng).items():
            if not math.isnan(value):
                values[name].append(value)
    return {
        name: [float(np.mean(row)), float(np.mean(np.square(row))), len(row)]
        for name, row in values.items()
    }


def summary(chunks: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """Of each figure: its mean over all leagues, with the standard error."""
    names = dict.fromkeys(name for chunk in chunks.values() for name in chunk)
    figures = {}
    for name in names:
        rows = np.array([chunk[name] for chunk in chunks.values() if name in chunk])
        number = rows[:, 2].sum()
        mean, square = (rows[:, :2] * rows[:, [2]]).sum(0) / number
        error = math.sqrt(max(0.0, square - mean**2) / number)
        figures[name] = {"mean": float(mean), "error": error}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--leagues", type=int, default=2000, help="of each kind, in hundreds")
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args()
    raw: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    raw.setdefault("chunks", {kind: {} for kind in KINDS})
    raw |= {"seed": SEED, "leagues_per_chunk": CHUNK}
    for chunk in range(math.ceil(options.leagues / CHUNK)):
        for kind in KINDS:
            if str(chunk) in raw["chunks"][kind]:
                continue
            started_s = time.monotonic()
            raw["chunks"][kind][str(chunk)] = one_chunk(kind, chunk, CHUNK)
            raw["summary"] = {one: summary(raw["chunks"][one]) for one in KINDS}
            options.json.write_text(json.dumps(raw, indent=1) + "\n")
            print(f"{kind} {chunk}: {time.monotonic() - started_s:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
