"""What a match says: score with its 95 % interval, Elo, and what makes either doubtful. No number
here is ever nan or infinite.

The unit of evidence is the seed pair: two games from one seed with the seats swapped. What the seed
or the first move gives in one game of a pair it takes in the other, so pairs spread less than games
do; their five possible sums are the pentanomial of engine testing.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtrit

from arena.stats.bradley_terry import ELO_PER_NAT, NORMAL_975
from pbt.errors import EngineError

MIN_PAIRS = 10
_UNSEEN_PAIRS = 0.25
# Van den Bergh, "Comments on normalized Elo": what (score - 1/2) / (standard deviation of a game)
# is multiplied by.
NORMALISED_ELO = 800.0 / math.log(10.0)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """mean ± t(0.975, n - 1) sqrt(variance / n); None for fewer than two different values."""
    # Equal returns say nothing of how much they vary.
    if len(set(values)) < 2:
        return None
    half = (
        float(stdtrit(len(values) - 1, 0.975)) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    )
    return float(np.mean(values)) - half, float(np.mean(values)) + half


@dataclass(frozen=True, slots=True)
class MatchGame:
    """One game from A's side. points: 1 won, 0.5 drawn, 0 lost;  a_first: A held seat 0;  pair:
    None for a game that belongs to none.
    """

    points: float
    a_first: bool
    pair: int | None
    trajectory_hash: str


@dataclass(frozen=True, slots=True)
class Tally:
    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """(W + D/2) / N; 0.5 of nothing."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


@dataclass(frozen=True, slots=True)
class MatchStatistics:
    """Of A, in fractions of 1.

    low, high          95 % interval of the score, inside [0, 1]
    interval           "pairs": over pairs; "games": over games (few pairs, pairs that are all
                       alike, or no pairs)
    elo_low, elo_high  of low and high; None where that end of the score is 0 or 1, so that the Elo
                       difference has no bound there
    nelo, ...          normalised Elo with its 95 % interval; None below 10 pairs (games, where
                       nothing is paired), or when all are alike
    los                likelihood of superiority: how sure the results make it that A is the
                       stronger one, by the normal law
    pair_counts        pairs by A's points in them: 0, 0.5, 1, 1.5, 2; None without pairs
    even_pairs         of those worth 1: (each side won once, both games drawn)
    as_first, as_second  A's games in seat 0, and in another
    left_out           games of unfinished pairs, in none of the numbers
    """

    total: Tally
    score: float
    low: float
    high: float
    interval: Literal["pairs", "games"]
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    nelo: float | None
    nelo_low: float | None
    nelo_high: float | None
    los: float
    pair_counts: tuple[int, int, int, int, int] | None
    even_pairs: tuple[int, int] | None
    as_first: Tally
    as_second: Tally
    distinct: int
    left_out: int

    @property
    def first_against_second(self) -> Tally:
        """Of whoever held the first seat: what the seat is worth."""
        first, second = self.as_first, self.as_second
        return Tally(
            first.wins + second.losses, first.draws + second.draws, first.losses + second.wins
        )

    @property
    def verdict(self) -> str:
        if self.low > 0.5:
            return "A is stronger"
        return "B is stronger" if self.high < 0.5 else "not decided"

    @property
    def elo_text(self) -> str:
        """Such as "+30.5 ± 22.6", "+133.1 [+96.0, +175.9]", or "above +166" where a side scored
        everything the interval can tell apart.
        """
        if self.elo_low is None and self.elo_high is None:
            return "not known"
        if self.elo_high is None:
            return f"above {self.elo_low:+.0f}"
        if self.elo_low is None:
            return f"below {self.elo_high:+.0f}"
        assert self.elo is not None
        return with_interval(self.elo, self.elo_low, self.elo_high)


def match_statistics(games: Sequence[MatchGame]) -> MatchStatistics:
    """Whole pairs only, as soon as there is one; without any, the games as they are. Raises:
    EngineError without games.
    """
    if not games:
        raise EngineError("a match without a finished game has no score; expected at least one")
    pairs = _whole_pairs(games)
    counted = [game for pair in pairs for game in pair] or list(games)
    total = tally(game.points for game in counted)
    sums = [round(2 * sum(game.points for game in pair)) for pair in pairs]
    pair_counts = (
        (sums.count(0), sums.count(1), sums.count(2), sums.count(3), sums.count(4))
        if pairs
        else None
    )
    drawn = sum(all(game.points == 0.5 for game in pair) for pair in pairs)
    # The games of a pair are not independent: no more is known of them than their number.
    effective = total.games if pairs else effective_games(total)
    low, high, interval = _interval(total.score, effective, pair_counts)
    nelo, nelo_low, nelo_high = normalised_elo(
        pair_counts or (total.losses, total.draws, total.wins)
    ) or (None, None, None)
    return MatchStatistics(
        total=total,
        score=total.score,
        low=low,
        high=high,
        interval=interval,
        elo=elo_of_score(total.score),
        elo_low=elo_of_score(low),
        elo_high=elo_of_score(high),
        nelo=nelo,
        nelo_low=nelo_low,
        nelo_high=nelo_high,
        los=superiority(pair_counts)
        if pair_counts and interval == "pairs"
        else float(ndtr((total.score - 0.5) * 2 * math.sqrt(effective))),
        pair_counts=pair_counts,
        even_pairs=(sums.count(2) - drawn, drawn) if pairs else None,
        as_first=tally(game.points for game in counted if game.a_first),
        as_second=tally(game.points for game in counted if not game.a_first),
        distinct=len({game.trajectory_hash for game in counted}),
        left_out=len(games) - len(counted),
    )


def tally(points: Iterable[float]) -> Tally:
    """Raises: EngineError on anything but 0, 0.5 and 1."""
    counts = {1.0: 0, 0.5: 0, 0.0: 0}
    for value in points:
        if value not in counts:
            raise EngineError(f"points of a game = {value}: expected 0, 0.5 or 1")
        counts[value] += 1
    return Tally(counts[1.0], counts[0.5], counts[0.0])


def pair_interval(pair_counts: Sequence[int]) -> tuple[float, float]:
    """Wilson's interval with the design effect of pairs, counted by points (0, 0.5, 1, 1.5, 2): n
    are worth n score (1 - score) / variance games.

    A quarter of a pair all lost and of one all won are counted into the variance, so that what was
    seen once or never has one. Simulated coverage is 94 to 96 % from 100 pairs on at scores of 0.5
    to 0.75, and 93 to 98 % up to 0.99, where a mean with its standard error has as little as 86 %.
    """
    number, score, _ = _moments(pair_counts)
    _, mean, variance = _moments(
        (pair_counts[0] + _UNSEEN_PAIRS, *pair_counts[1:-1], pair_counts[-1] + _UNSEEN_PAIRS)
    )
    return wilson_interval(score, number * mean * (1 - mean) / variance)


def normalised_elo(counts: Sequence[int]) -> tuple[float, float, float] | None:
    """(nElo, low, high), 95 %: t = (mean - 1/2) / standard deviation of a game, times 800 / ln 10;
    how easily the better side is told.

    counts  of games lost, drawn, won (3) or of pairs by points (5), lowest first. A pair's
            deviation is that of a game over sqrt 2.
    Var t = (1 - t skewness + t^2 (kurtosis - 1) / 4) / (n - 1) (delta method, as fishtest, dividing
    by n: 93.9 % in the worst case of 100 pairs).
    Taking the deviation for known, as fastchess does, leaves out all but the 1: at a score of 0.75
    such intervals cover 84 %.
    None for fewer than 10, or when all are alike.
    """
    number, mean, variance = _moments(counts)
    if number < MIN_PAIRS or variance <= 0.0:
        return None
    deviation = math.sqrt(variance)
    standard = (np.linspace(0.0, 1.0, len(counts)) - mean) / deviation
    weights = np.asarray(counts, dtype=np.float64) / number
    skewness, kurtosis = float(weights @ standard**3), float(weights @ standard**4)
    t = (mean - 0.5) / deviation
    half = float(stdtrit(number - 1, 0.975)) * math.sqrt(
        max(0.0, 1 - t * skewness + t**2 * (kurtosis - 1) / 4) / (number - 1)
    )
    unit = NORMALISED_ELO / math.sqrt((len(counts) - 1) / 2)
    return unit * t, unit * (t - half), unit * (t + half)


def superiority(counts: Sequence[int]) -> float:
    """LOS = Phi((mean - 1/2) / standard error), of counts as in `normalised_elo`; all alike: 0,
    0.5 or 1.
    """
    number, mean, variance = _moments(counts)
    if variance <= 0.0:
        return 0.5 if mean == 0.5 else float(mean > 0.5)
    return float(ndtr((mean - 0.5) / math.sqrt(variance / number)))


def effective_games(total: Tally) -> float:
    """How many games without draws would make the score as certain: n times the variance of such a
    game over that of one of these.

    The design effect in Wilson's interval (Korn & Graubard 1998; Dean & Pagano 2015). One more win
    and one more loss are counted, so that few decided games, or none, do not make it certain.
    """
    wins, losses = total.wins + 1, total.losses + 1
    games = wins + total.draws + losses
    score = (wins + total.draws / 2) / games
    return total.games * score * (1 - score) / ((wins + total.draws / 4) / games - score**2)


def wilson_interval(score: float, games: float) -> tuple[float, float]:
    """Wilson 1927, with 95 %: never empty, inside [0, 1], also for a score of 0 or 1. For games
    with draws see `effective_games`.
    """
    z2 = NORMAL_975**2
    middle = (score + z2 / (2 * games)) / (1 + z2 / games)
    half = (
        NORMAL_975 * math.sqrt(score * (1 - score) / games + z2 / (4 * games**2)) / (1 + z2 / games)
    )
    return (0.0 if score == 0.0 else max(0.0, middle - half)), (
        1.0 if score == 1.0 else min(1.0, middle + half)
    )


def with_interval(value: float, low: float, high: float) -> str:
    """Elo with its interval: "+0.0 ± 48.0", or, where its ends are not equally far at the
    precision printed, "+133.1 [+96.0, +175.9]".
    """
    below, above = f"{value - low:.1f}", f"{high - value:.1f}"
    # "+ 0.0" makes 0 of a negative zero.
    return (
        f"{value + 0.0:+.1f} ± {above}"
        if below == above
        else f"{value + 0.0:+.1f} [{low:+.1f}, {high:+.1f}]"
    )


def elo_of_score(score: float) -> float | None:
    """Elo difference at which this score is expected; None for 0 and 1, which no finite
    difference explains.
    """
    return ELO_PER_NAT * math.log(score / (1 - score)) if 0.0 < score < 1.0 else None


def _whole_pairs(games: Sequence[MatchGame]) -> list[list[MatchGame]]:
    by_pair: dict[int, list[MatchGame]] = defaultdict(list)
    for game in games:
        if game.pair is not None:
            by_pair[game.pair].append(game)
    crowded = [pair for pair, found in by_pair.items() if len(found) > 2]
    if crowded:
        raise EngineError(f"pair {crowded[0]} has {len(by_pair[crowded[0]])} games; expected 2")
    return [found for _, found in sorted(by_pair.items()) if len(found) == 2]


def _moments(counts: Sequence[float]) -> tuple[float, float, float]:
    """(number, mean, variance) of scores 0 ... 1 in equal steps; Raises: EngineError without
    any.
    """
    number = sum(counts)
    if number <= 0 or min(counts) < 0:
        raise EngineError(f"counts {tuple(counts)}: expected none below 0, and at least one above")
    scores, weights = (
        np.linspace(0.0, 1.0, len(counts)),
        np.asarray(counts, dtype=np.float64) / number,
    )
    mean = float(weights @ scores)
    return number, mean, float(weights @ (scores - mean) ** 2)


def _interval(
    score: float, games: float, pair_counts: Sequence[int] | None
) -> tuple[float, float, Literal["pairs", "games"]]:
    if pair_counts and sum(pair_counts) >= MIN_PAIRS and max(pair_counts) < sum(pair_counts):
        return *pair_interval(pair_counts), "pairs"
    return *wilson_interval(score, games), "games"
