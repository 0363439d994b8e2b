"""The counted games of two seats from which ratings are fitted, by players, seats and seed pairs.

The counts are all that a rating needs of the games, so a league of millions of games costs no more
than one of few.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import P
from pbt.errors import EngineError

Counts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Meetings:
    """The games of every two players that met, each two players once.

    The two games of one seed with the seats swapped are a seed pair. Outcomes are those of
    `first[p]`, in the order win, draw, loss, in all counts.

    first   [pairs] indices into a list of players
    second  [pairs] indices of their opponents
    paired  [pairs, 3, 3] seed pairs, by the outcome of the game in which `first` has the first
            seat, and by the outcome of the game in which `second` has it
    single  [pairs, 2, 3] games outside seed pairs: row 0 holds games in which `first` has the first
            seat, row 1 those in which `second` has it
    Raises: EngineError on other shapes, on negative or non-finite counts, on a player against
    itself, and on two players that are listed twice.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    paired: Counts
    single: Counts

    def __post_init__(self) -> None:
        pairs = len(self.first)
        shapes = (self.second.shape, self.paired.shape, self.single.shape)
        expected = ((pairs,), (pairs, 3, 3), (pairs, 2, 3))
        if shapes != expected:
            raise EngineError(f"meetings of {pairs} pairs: found {shapes}, expected {expected}")
        for counts in (self.paired, self.single):
            if not np.all(np.isfinite(counts) & (counts >= 0)):
                raise EngineError("meetings: expected finite counts of at least 0")
        ends = np.sort(np.stack([self.first, self.second]), axis=0)
        if np.any(ends[0] == ends[1]) or len(np.unique(ends, axis=1).T) < pairs:
            raise EngineError("meetings: expected two different players, and each two only once")

    @property
    def games(self) -> Counts:
        """[pairs] games of the two."""
        games: Counts = 2 * self.paired.sum((1, 2)) + self.single.sum((1, 2))
        return games

    @property
    def outcomes(self) -> Counts:
        """[pairs, 3] games that `first` won, drew and lost, in either seat."""
        outcomes: Counts = self.paired.sum(1) + self.paired.sum(2) + self.single.sum(1)
        return outcomes

    def among(self, inside: NDArray[np.bool_]) -> "Meetings":
        """The meetings of some of the players, with indices into the list of these players.

        inside  [players] whether a player stays
        """
        kept = inside[self.first] & inside[self.second] & (self.games > 0)
        place = np.cumsum(inside) - 1
        return Meetings(
            place[self.first[kept]],
            place[self.second[kept]],
            self.paired[kept],
            self.single[kept],
        )


def seated_games(
    outcomes: Mapping[tuple[P, P], Sequence[float]],
) -> tuple[tuple[P, ...], Meetings]:
    """(players, their games); every game counts as one outside seed pairs.

    outcomes  (player in the first seat, player in the second) -> games that the player in the first
              seat won, drew and lost
    """
    players = tuple(dict.fromkeys(player for seats in outcomes for player in seats))
    index = {player: i for i, player in enumerate(players)}
    single: dict[tuple[int, int], Counts] = defaultdict(lambda: np.zeros((2, 3)))
    for (first, second), counts in outcomes.items():
        i, j = index[first], index[second]
        single[min(i, j), max(i, j)][int(i > j)] += counts[::-1] if i > j else counts
    ends = np.array(list(single), dtype=np.intp).reshape(-1, 2)
    games = np.array(list(single.values())).reshape(-1, 2, 3)
    return players, Meetings(ends[:, 0], ends[:, 1], np.zeros((len(ends), 3, 3)), games)


@dataclass(frozen=True)
class Cells:
    """The games by the player in the first seat and the player in the second.

    first   [cells] indices of the players that have the first seat
    second  [cells] indices of the players that have the second seat
    counts  [cells, 3] games that `first` won, drew and lost
    one     [pairs] cells of one game of the seed pairs of two players
    other   [pairs] cells of the other game
    joint   [pairs, 3, 3] seed pairs, by the outcomes for the player in the first seat of either
            game, each in the order win, draw, loss
    players number of players
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    counts: Counts
    one: NDArray[np.intp]
    other: NDArray[np.intp]
    joint: Counts
    players: int

    @property
    def games(self) -> Counts:
        """[cells] games."""
        games: Counts = self.counts.sum(1)
        return games

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """[2 * cells] all first players, then all second players."""
        return np.concatenate([self.first, self.second])

    @cached_property
    def squares(self) -> NDArray[np.intp]:
        """[4 * cells] places in a flat [players, players] matrix.

        They are those of each first player with itself, of each second player with itself, of
        first and second, and of second and first.
        """
        rows = np.concatenate([self.ends, self.ends]) * self.players
        places: NDArray[np.intp] = rows + np.concatenate([self.ends, self.second, self.first])
        return places


def seated_cells(meetings: Meetings, players: int) -> Cells:
    """The games by seats."""
    counts = np.empty((len(meetings.first), 2, 3))
    counts[:, 0] = meetings.paired.sum(2) + meetings.single[:, 0]
    counts[:, 1] = (meetings.paired.sum(1) + meetings.single[:, 1])[:, ::-1]
    first = np.stack([meetings.first, meetings.second], axis=1).ravel()
    second = np.stack([meetings.second, meetings.first], axis=1).ravel()
    played = counts.sum(2).ravel() > 0
    place = (np.cumsum(played) - 1).reshape(-1, 2)
    linked = meetings.paired.sum((1, 2)) > 0
    return Cells(
        first[played],
        second[played],
        counts.reshape(-1, 3)[played],
        place[linked, 0],
        place[linked, 1],
        meetings.paired[linked][:, :, ::-1],
        players,
    )


def unseated_cells(meetings: Meetings, players: int) -> Cells:
    """The games of each two players together, where the order of seats is not known.

    Every game is evidence of its own then.
    """
    none = np.empty(0, dtype=np.intp)
    return Cells(
        meetings.first,
        meetings.second,
        meetings.outcomes,
        none,
        none,
        np.empty((0, 3, 3)),
        players,
    )
