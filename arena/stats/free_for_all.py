"""Statistics of games at larger tables: mean places, wins, and scores of every two players.

A player may hold several seats of a game: it then counts with the mean over its seats, so that one
player among copies of another is measured as each of the copies is. A game in which a player does
not sit says nothing about it. Each number has a 95 % interval over blocks of games
(`arena.stats.bootstrap`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from arena.stats.bootstrap import mean_intervals
from arena.stats.bradley_terry import P
from arena.stats.ranks import mid_ranks, rank_span
from arena.stats.score import whole_groups
from pbt.errors import EngineError


@dataclass(frozen=True, slots=True)
class RankedGame(Generic[P]):
    """The result of one game.

    players  by seat; a player may hold several
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
    mean_place  1 is best; tied seats share the mean of the places that they take
    first       fraction of games that a seat of the player won; winners divide a game evenly
    places      [seats] its games by place; tied seats are spread evenly over their places, and
                several seats of the player count as one game
    """

    player: P
    mean_place: Measure
    first: Measure
    places: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FreeForAll(Generic[P]):
    """The statistics of games at larger tables.

    standings  players, best mean place first
    score      [players, players] in the order of `standings`: how often a seat of the row came
               before a seat of the column in the same game; a tie is half, the diagonal is 0.5, and
               it is nan where the two never met
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

    def in_order(self, players: Sequence[P]) -> "FreeForAll[P]":
        """The same with its players in this order. Raises: ValueError for a player it has not."""
        now = [row.player for row in self.standings]
        order = [now.index(player) for player in players]
        square = np.ix_(order, order)
        return replace(
            self,
            standings=tuple(self.standings[i] for i in order),
            score=self.score[square],
            low=self.low[square],
            high=self.high[square],
        )


def free_for_all(
    games: Sequence[RankedGame[P]], seed: int = 0, block_games: int | None = None
) -> FreeForAll[P]:
    """The statistics of these games.

    Only whole blocks are counted, as soon as there is one; before that, every game is a block of
    its own.

    games        all with equally many seats
    seed         of the bootstrap: equal games in equal order give equal intervals
    block_games  how many games a whole block has; None: as many as players
    Raises: EngineError without games, with fewer than two players in all of them, and for a game
    with another number of seats or of places.
    """
    players = _players(games)
    numbered = ((game.block, game) for game in games)
    blocks = whole_groups(numbered, block_games or len(players), "block") or [[g] for g in games]
    n, seats = len(players), len(games[0].players)
    scores, weights = (
        np.array(rows) for rows in zip(*(_block(block, players) for block in blocks), strict=True)
    )
    ends = _intervals(scores, weights, seed)
    histogram = np.sum([_histogram(game, players) for block in blocks for game in block], axis=0)
    order = np.argsort(ends[0][:n], kind="stable")
    standings = tuple(_standing(players[i], i, n, seats, ends, histogram[i]) for i in order)
    score, score_low, score_high = (
        end[2 * n :].reshape(n, n)[np.ix_(order, order)] for end in ends
    )
    for matrix in (score, score_low, score_high):
        np.fill_diagonal(matrix, 0.5)
    counted = sum(len(block) for block in blocks)
    return FreeForAll(
        standings,
        score,
        score_low,
        score_high,
        games=counted,
        blocks=len(blocks),
        left_out=len(games) - counted,
    )


def _players(games: Sequence[RankedGame[P]]) -> tuple[P, ...]:
    """The players of all these games. Raises: EngineError as `free_for_all`."""
    if not games:
        raise EngineError("a match without a finished game has no places; expected at least one")
    seats = len(games[0].players)
    players = tuple(dict.fromkeys(player for game in games for player in game.players))
    if len(players) < 2:
        raise EngineError(f"{games[0]}: expected at least two players")
    for game in games:
        if len(game.players) != seats or len(game.places) != seats:
            raise EngineError(f"{game}: expected {seats} players, and a place for each of them")
    return players


def _intervals(
    scores: NDArray[np.float64], weights: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """As `mean_intervals`; nan for a score without games.

    scores   [blocks, k] sums over the games of a block
    weights  [blocks, k] games of the block that have the score
    """
    known = weights.sum(0) > 0
    ends = mean_intervals(scores[:, known], weights[:, known], np.random.default_rng(seed))
    low, mean, high = np.full((3, len(known)), np.nan)
    mean[known], low[known], high[known] = ends
    return mean, low, high


def _standing(
    player: P,
    i: int,
    players: int,
    seats: int,
    ends: Sequence[NDArray[np.float64]],
    histogram: NDArray[np.float64],
) -> PlayerPlaces[P]:
    """How player number i did.

    ends       (mean, low, high): places as 0 for the best to 1 for the last, then wins
    histogram  [seats] its games by place
    """
    return PlayerPlaces(
        player,
        Measure(*(1 + (seats - 1) * float(end[i]) for end in ends)),
        Measure(*(float(end[players + i]) for end in ends)),
        tuple(histogram.tolist()),
    )


def _block(
    block: Sequence[RankedGame[P]], players: Sequence[P]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(scores, games that have each score) of a block, both [n + n + n * n] for n players.

    The scores are places, wins, and row before column. A place counts 0 for the best to 1 for the
    last.
    """
    n = len(players)
    scores, weights = np.zeros(2 * n + n * n), np.zeros(2 * n + n * n)
    for game in block:
        share = _share(game, players)
        places = np.array(game.places, dtype=np.int64)
        last = max(1, len(places) - 1)
        place = share @ ((mid_ranks(places) - 1) / last)
        first = share @ ((places == places.min()) / np.sum(places == places.min()))
        before = (places[:, None] < places[None, :]) + (places[:, None] == places[None, :]) / 2
        sits = share.sum(1) > 0.5
        met = sits[:, None] & sits[None, :]
        scores += np.concatenate([place, first, (share @ before @ share.T * met).ravel()])
        weights += np.concatenate([sits, sits, met.ravel()])
    return scores, weights


def _share(game: RankedGame[P], players: Sequence[P]) -> NDArray[np.float64]:
    """[players, seats] 1 / (number of its seats) in the seats of a player, else 0."""
    at = {player: index for index, player in enumerate(players)}
    held = np.zeros((len(players), len(game.players)))
    held[[at[player] for player in game.players], range(len(game.players))] = 1.0
    share: NDArray[np.float64] = held / np.maximum(1.0, held.sum(1, keepdims=True))
    return share


def _histogram(game: RankedGame[P], players: Sequence[P]) -> NDArray[np.float64]:
    """[players, seats] the game by place of each player, spread evenly over the places of a tie."""
    places = np.array(game.places, dtype=np.int64)
    best, worst = rank_span(places)
    each = np.arange(1, len(places) + 1)
    inside = (each >= best[:, None]) & (each <= worst[:, None])
    share: NDArray[np.float64] = _share(game, players) @ (inside / inside.sum(1, keepdims=True))
    return share
