"""Ratings of games of two seats: Bradley-Terry with ties and an advantage of the first seat.

The model and its penalty are those of `arena.stats.davidson`. On the scale of Elo, two players d
apart without a seat's advantage win and lose as 10 ** (d / 400) : 1, ties left out of account. The
anchor's rating is 0; without an anchor, the mean of all players is 0. Every fit uses all games, so
the order of the games changes nothing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

P = TypeVar("P", bound=Hashable)

ELO_PER_NAT = 400.0 / math.log(10.0)
NORMAL_975 = 1.959963984540054
BEST_MIN_GAMES = 30


@dataclass(frozen=True, slots=True)
class PairResult(Generic[P]):
    """Results of one player against another.

    A game of three or more yields several pairs; the numbers are then weights, not counts.

    a       a player
    b       its opponent
    wins    games that `a` won
    draws   games that were drawn
    losses  games that `a` lost
    """

    a: P
    b: P
    wins: float
    draws: float
    losses: float


@dataclass(frozen=True, slots=True)
class Rating(Generic[P]):
    """The rating of one player, relative to the anchor, or to the mean of the rated players.

    player  the player
    elo     its rating; None when no chain of games connects the player to the anchor
    low     lower end of the rating's 95 % interval, None as `elo`
    high    upper end of the rating's 95 % interval, None as `elo`
    games   sum of the player's results, in games or weights
    """

    player: P
    elo: float | None
    low: float | None
    high: float | None
    games: float

    @property
    def connected(self) -> bool:
        return self.elo is not None


def rated_group(labels: NDArray[np.int32], anchor: int | None) -> NDArray[np.bool_]:
    """[players] whether a player is rated: the anchor's group, or without one the largest group.

    labels  [players] the group of each player: games connect the players of a group
    anchor  index of the anchor
    """
    rated: NDArray[np.bool_] = labels == (
        np.argmax(np.bincount(labels)) if anchor is None else labels[anchor]
    )
    return rated


def best_first(ratings: Sequence[Rating[P]]) -> list[Rating[P]]:
    """The ratings, best first, players without a rating last."""
    return sorted(
        ratings,
        key=lambda rating: (math.inf if rating.elo is None else -rating.elo, str(rating.player)),
    )
