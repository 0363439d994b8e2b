"""Statistics of a match of three or more players: mean places, wins, and pairwise scores.

Each number has a 95 % interval over blocks of games (`arena.stats.bootstrap`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from arena.stats.bootstrap import mean_intervals
from arena.stats.bradley_terry import P
from arena.stats.score import whole_groups
from pbt.errors import EngineError


@dataclass(frozen=True, slots=True)
class RankedGame(Generic[P]):
    """The result of one game.

    players  different players, by seat
    places   [seats] smaller is better, equal places are a tie
    block    number of the block, None for a game that belongs to no block
    """

    players: tuple[P, ...]
    places: tuple[int, ...]
    block: int | None


@dataclass(frozen=True, slots=True)
class Measure:
    """A value with its 95 % interval.

    value  the estimate
    low    lower end of the interval
    high   upper end of the interval
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PlayerPlaces(Generic[P]):
    """How one player did.

    player      the player
    mean_place  1 is best; tied players share the mean of the places that they take
    first       fraction of games won; several winners of a game divide it evenly
    places      [players] games by place; tied players are spread evenly over their places
    """

    player: P
    mean_place: Measure
    first: Measure
    places: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FreeForAll(Generic[P]):
    """The statistics of a match of three or more players.

    standings  players, best mean place first
    score      [players, players] in the order of `standings`: fraction of games in which the row
               came before the column; a tie is half, the diagonal is 0.5
    low        [players, players] lower ends of the 95 % intervals of `score`
    high       [players, players] upper ends of the 95 % intervals of `score`
    games      games that were counted
    blocks     blocks that were counted
    left_out   games of unfinished blocks, which no number counts
    """

    standings: tuple[PlayerPlaces[P], ...]
    score: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    games: int
    blocks: int
    left_out: int


def free_for_all(games: Sequence[RankedGame[P]], seed: int = 0) -> FreeForAll[P]:
    """The statistics of these games.

    A whole block has as many games as players. Only whole blocks are counted, as soon as there is
    one; before that, every game is a block of its own.

    games  all by the same players
    seed   of the bootstrap: equal games in equal order give equal intervals
    Raises: EngineError without games, with fewer than two players, or when the games were not all
    played by the same players.
    """
    players = _players(games)
    numbered = ((game.block, game) for game in games)
    blocks = whole_groups(numbered, len(players), "block") or [[game] for game in games]
    counted = np.array([len(block) for block in blocks], dtype=np.float64)
    n = len(players)
    place, first, before = (
        np.array(rows) for rows in zip(*(_scores(block, players) for block in blocks), strict=True)
    )
    totals = np.concatenate([place, first, before.reshape(len(blocks), n * n)], axis=1)
    mean, low, high = mean_intervals(totals, counted, np.random.default_rng(seed))
    histogram = np.sum([_histogram(game, players) for block in blocks for game in block], axis=0)
    order = np.argsort(mean[:n], kind="stable")
    standings = tuple(_standing(players, i, (mean, low, high), histogram[i]) for i in order)
    score, score_low, score_high = (
        end[2 * n :].reshape(n, n)[np.ix_(order, order)] for end in (mean, low, high)
    )
    for matrix in (score, score_low, score_high):
        np.fill_diagonal(matrix, 0.5)
    total = int(counted.sum())
    return FreeForAll(
        standings,
        score,
        score_low,
        score_high,
        games=total,
        blocks=len(blocks),
        left_out=len(games) - total,
    )


def _players(games: Sequence[RankedGame[P]]) -> tuple[P, ...]:
    """The players of all these games. Raises: EngineError as `free_for_all`."""
    if not games:
        raise EngineError("a match without a finished game has no places; expected at least one")
    players = games[0].players
    if len(players) < 2:
        raise EngineError(f"{games[0]}: expected at least two players")
    for game in games:
        if (
            len(set(game.players)) != len(game.players)
            or set(game.players) != set(players)
            or len(game.places) != len(players)
        ):
            raise EngineError(f"{game}: expected a place for each of {sorted(map(str, players))}")
    return players


def _standing(
    players: Sequence[P],
    i: int,
    ends: Sequence[NDArray[np.float64]],
    histogram: NDArray[np.float64],
) -> PlayerPlaces[P]:
    """How player i did.

    ends       (mean, low, high): places as 0 for the best to 1 for the last, then wins
    histogram  [players] its games by place
    """
    n = len(players)
    return PlayerPlaces(
        players[i],
        Measure(*(1 + (n - 1) * float(end[i]) for end in ends)),
        Measure(*(float(end[n + i]) for end in ends)),
        tuple(histogram.tolist()),
    )


def _scores(
    block: Sequence[RankedGame[P]], players: Sequence[P]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the games of a block: (places, [n]; wins, [n]; row before column, [n, n]).

    A place counts 0 for the best to 1 for the last.
    """
    n = len(players)
    place, first, before = np.zeros(n), np.zeros(n), np.zeros((n, n))
    for game in block:
        own = _places(game, players)
        place += (rankdata(own) - 1) / (n - 1)
        first += (own == own.min()) / np.sum(own == own.min())
        before += (own[:, None] < own[None, :]) + (own[:, None] == own[None, :]) / 2
    return place, first, before


def _histogram(game: RankedGame[P], players: Sequence[P]) -> NDArray[np.float64]:
    """[players, places] 1 for the place of a player, spread evenly over the places of a tie."""
    own = _places(game, players)
    best, worst = rankdata(own, "min").astype(int), rankdata(own, "max").astype(int)
    places = np.arange(1, len(own) + 1)
    inside = (places >= best[:, None]) & (places <= worst[:, None])
    share: NDArray[np.float64] = inside / inside.sum(1, keepdims=True)
    return share


def _places(game: RankedGame[P], players: Sequence[P]) -> NDArray[np.int64]:
    """[players] places in the order of `players`."""
    place_of = dict(zip(game.players, game.places, strict=True))
    return np.array([place_of[player] for player in players], dtype=np.int64)
