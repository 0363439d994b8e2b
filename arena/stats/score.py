"""Statistics of a match of two players: score with its 95 % interval, Elo, signs of doubt.

The unit of evidence is the seed pair: two games from one seed with the seats swapped. An advantage
from the seed or the first move helps each side once, so pairs vary less than games do. The five
possible sums of a pair are the pentanomial of chess engine testing. No number here is ever nan or
infinite.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from scipy.special import ndtr

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.intervals import wilson_interval, with_interval
from arena.stats.normalised_elo import UNSEEN, normalised_elo, score_moments
from pbt.errors import EngineError

G = TypeVar("G")

MIN_PAIRS = 10


@dataclass(frozen=True, slots=True)
class MatchGame:
    """The result of one game, from A's side.

    points           1 won, 0.5 drawn, 0 lost
    a_first          whether A held seat 0
    pair             number of the seed pair, None for a game that belongs to no pair
    trajectory_hash  hash of the moves: equal games have equal hashes
    margin           half of how much more A returned; A's return where returns sum to 0
    """

    points: float
    a_first: bool
    pair: int | None
    trajectory_hash: str
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of games by result, from one player's side.

    wins    games won
    draws   games drawn
    losses  games lost
    """

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """(W + D/2) / N; 0.5 without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


@dataclass(frozen=True, slots=True)
class MatchStatistics:
    """The statistics of a match, from A's side.

    total        all games that were counted
    score        A's score, in [0, 1]
    low          lower end of the score's 95 % interval, in [0, 1]
    high         upper end of the score's 95 % interval, in [0, 1]
    interval     "pairs": computed over pairs; "games": computed over games, because there are no
                 pairs, too few, or pairs that are all alike; "sequence": holds at any stop
                 (`arena.stats.anytime`)
    elo          Elo difference of the score; None for a score of 0 or 1
    elo_low      Elo difference of low; None where low is 0, so that Elo has no lower bound
    elo_high     Elo difference of high; None where high is 1, so that Elo has no upper bound
    nelo         normalised Elo; None for fewer than 50 pairs (games, where none are paired), when
                 all are alike, and where the interval is a sequence
    nelo_low     lower end of its 95 % interval, None as `nelo`, or where it has no bound
    nelo_high    upper end of its 95 % interval, None as `nelo`, or where it has no bound
    los          likelihood of superiority: the probability that A is stronger, by the normal
                 approximation; None where the interval is a sequence, since it is for a fixed
                 number of games
    pair_counts  pairs by A's points in them: 0, 0.5, 1, 1.5, 2; None without pairs
    even_pairs   of the pairs worth 1: (each side won once, both games drawn)
    as_first     A's games in seat 0
    as_second    A's games in another seat
    distinct     how many different games were played, by their hashes
    left_out     games of unfinished pairs, which no number counts
    """

    total: Tally
    score: float
    low: float
    high: float
    interval: Literal["pairs", "games", "sequence"]
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    nelo: float | None
    nelo_low: float | None
    nelo_high: float | None
    los: float | None
    pair_counts: tuple[int, int, int, int, int] | None
    even_pairs: tuple[int, int] | None
    as_first: Tally
    as_second: Tally
    distinct: int
    left_out: int

    @property
    def first_against_second(self) -> Tally:
        """The results of the player in the first seat, which show what the seat is worth."""
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
        """Elo for people, such as "+30.5 ± 22.6" or "+133.1 [+96.0, +175.9]".

        "above +166" stands where the upper end has no bound, "not known" where neither has one.
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
    """The statistics of these games. Raises: EngineError without games.

    Only whole pairs are counted, as soon as there is one; before that, every game is counted.
    """
    if not games:
        raise EngineError("a match without a finished game has no score; expected at least one")
    pairs = whole_groups(((game.pair, game) for game in games), 2, "pair")
    counted = [game for pair in pairs for game in pair] or list(games)
    total = tally(game.points for game in counted)
    sums = [round(2 * sum(game.points for game in pair)) for pair in pairs]
    pair_counts = _by_points(sums) if pairs else None
    # The games of a pair are not independent, so they are worth no more than their number.
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
        even_pairs=_even_pairs(pairs, sums.count(2)) if pairs else None,
        as_first=tally(game.points for game in counted if game.a_first),
        as_second=tally(game.points for game in counted if not game.a_first),
        distinct=len({game.trajectory_hash for game in counted}),
        left_out=len(games) - len(counted),
    )


def tally(points: Iterable[float]) -> Tally:
    """Counts games by points. Raises: EngineError on points other than 0, 0.5 and 1."""
    counts = {1.0: 0, 0.5: 0, 0.0: 0}
    for value in points:
        if value not in counts:
            raise EngineError(f"points of a game = {value}: expected 0, 0.5 or 1")
        counts[value] += 1
    return Tally(counts[1.0], counts[0.5], counts[0.0])


def pair_interval(pair_counts: Sequence[int]) -> tuple[float, float]:
    """(low, high), 95 %: Wilson's interval with the design effect of pairs.

    pair_counts  pairs by points: 0, 0.5, 1, 1.5, 2

    Simulated coverage is 94 to 96 % from 100 pairs on at scores of 0.5 to 0.75, and 93 to 98 % up
    to 0.99, where a mean with its standard error covers as little as 86 %.
    """
    return wilson_interval(score_moments(pair_counts)[1], effective_pairs(pair_counts))


def effective_pairs(pair_counts: Sequence[int]) -> float:
    """How many independent games without draws would make the score as certain as these pairs.

    n pairs are worth n score (1 - score) / variance games. A quarter of a lost pair and a quarter
    of a won pair are added to score and variance, so that outcomes seen once or never have a
    variance as well.
    """
    number, mean, variance = score_moments(
        (pair_counts[0] + UNSEEN, *pair_counts[1:-1], pair_counts[-1] + UNSEEN)
    )
    return (number - 2 * UNSEEN) * mean * (1 - mean) / variance


def superiority(counts: Sequence[int]) -> float:
    """LOS = Phi((mean - 1/2) / standard error), of counts as in `normalised_elo`.

    It is 0, 0.5 or 1 when all counts are alike.
    """
    number, mean, variance = score_moments(counts)
    if variance <= 0.0:
        return 0.5 if mean == 0.5 else float(mean > 0.5)
    return float(ndtr((mean - 0.5) / math.sqrt(variance / number)))


def effective_games(total: Tally) -> float:
    """How many games without draws would make the score as certain as these games do.

    It is n times the variance of a game without draws over the variance of these games: the design
    effect in Wilson's interval (Korn & Graubard 1998; Dean & Pagano 2015). One more win and one
    more loss are counted, so that few decided games, or none, do not make the score certain.
    """
    wins, losses = total.wins + 1, total.losses + 1
    games = wins + total.draws + losses
    score = (wins + total.draws / 2) / games
    return total.games * score * (1 - score) / ((wins + total.draws / 4) / games - score**2)


def elo_of_score(score: float) -> float | None:
    """The Elo difference that makes this score the expected one; None for 0 and 1.

    No finite difference explains those two.
    """
    return ELO_PER_NAT * math.log(score / (1 - score)) if 0.0 < score < 1.0 else None


def whole_groups(games: Iterable[tuple[int | None, G]], size: int, name: str) -> list[list[G]]:
    """The groups of games that are complete, by their numbers.

    games  (number of its group, game); None for a game that belongs to no group
    size   how many games a complete group has
    name   what a group is called in an error
    Raises: EngineError when a group has more games.
    """
    groups: dict[int, list[G]] = defaultdict(list)
    for number, game in games:
        if number is not None:
            groups[number].append(game)
    for number, group in groups.items():
        if len(group) > size:
            raise EngineError(f"{name} {number} has {len(group)} games; expected {size}")
    return [group for _, group in sorted(groups.items()) if len(group) == size]


def _by_points(sums: Sequence[int]) -> tuple[int, int, int, int, int]:
    """How many pairs have 0, 0.5, 1, 1.5 and 2 points. sums: twice the points of each pair."""
    return sums.count(0), sums.count(1), sums.count(2), sums.count(3), sums.count(4)


def _even_pairs(pairs: Sequence[Sequence[MatchGame]], even: int) -> tuple[int, int]:
    """Of the `even` pairs worth 1 point: (each side won once, both games drawn)."""
    drawn = sum(all(game.points == 0.5 for game in pair) for pair in pairs)
    return even - drawn, drawn


def _interval(
    score: float, games: float, pair_counts: Sequence[int] | None
) -> tuple[float, float, Literal["pairs", "games"]]:
    if pair_counts and sum(pair_counts) >= MIN_PAIRS and max(pair_counts) < sum(pair_counts):
        return *pair_interval(pair_counts), "pairs"
    return *wilson_interval(score, games), "games"
