"""The win matrix: the results of every player against every other one."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import P, PairResult
from arena.stats.meetings import Meetings
from arena.stats.score import Tally
from pbt.errors import EngineError


@dataclass(frozen=True, slots=True)
class WinMatrix(Generic[P]):
    """The results of n players against each other.

    players  [n] the players of the rows and columns
    wins     [n, n] games that the row won against the column
    draws    [n, n] drawn games, symmetric
    """

    players: tuple[P, ...]
    wins: NDArray[np.float64]
    draws: NDArray[np.float64]

    @property
    def games(self) -> NDArray[np.float64]:
        return self.wins + self.wins.T + self.draws

    @property
    def score(self) -> NDArray[np.float64]:
        """[n, n] score of the row against the column, (W + D/2) / N; 0.5 where they never met."""
        games = self.games
        return np.where(
            games > 0, (self.wins + self.draws / 2) / np.where(games > 0, games, 1.0), 0.5
        )

    def rows(self) -> list["WinRow[P]"]:
        """Each player's results, in the order of `players`."""
        index = {player: i for i, player in enumerate(self.players)}
        return [WinRow(self, index, i) for i in range(len(self.players))]


class WinRow(Mapping[P, Tally]):
    """One player's results, by the opponents that it met.

    A result is counted when it is requested, because among many players most pairs never are.
    """

    def __init__(self, matrix: WinMatrix[P], index: Mapping[P, int], row: int) -> None:
        self._players, self._index = matrix.players, index
        self._wins, self._draws, self._losses = (
            matrix.wins[row],
            matrix.draws[row],
            matrix.wins[:, row],
        )
        self._met = np.flatnonzero(self._wins + self._draws + self._losses)

    @property
    def total(self) -> Tally:
        """The results against all opponents together."""
        return Tally(int(self._wins.sum()), int(self._draws.sum()), int(self._losses.sum()))

    def __getitem__(self, player: P) -> Tally:
        at = self._index[player]
        results = Tally(int(self._wins[at]), int(self._draws[at]), int(self._losses[at]))
        if not results.games:
            raise KeyError(player)
        return results

    def __iter__(self) -> Iterator[P]:
        return (self._players[at] for at in self._met)

    def __len__(self) -> int:
        return len(self._met)


def win_matrix(
    results: Iterable[PairResult[P]], players: Sequence[P] | None = None
) -> WinMatrix[P]:
    """The win matrix of these results. Results with players that are not shown are left out.

    players  the players to show, in this order; None: all, in the order of their first result
    Raises: EngineError on negative or non-finite counts and on a player against itself.
    """
    rows = list(results)
    shown = tuple(
        dict.fromkeys(player for row in rows for player in (row.a, row.b))
        if players is None
        else players
    )
    index = {player: i for i, player in enumerate(shown)}
    wins, draws = np.zeros((len(shown), len(shown))), np.zeros((len(shown), len(shown)))
    for row in rows:
        if row.a == row.b or not all(
            math.isfinite(part) and part >= 0 for part in (row.wins, row.draws, row.losses)
        ):
            raise EngineError(f"result {row}: expected two players and finite counts of at least 0")
        if row.a in index and row.b in index:
            i, j = index[row.a], index[row.b]
            wins[i, j] += row.wins
            wins[j, i] += row.losses
            draws[i, j] += row.draws
            draws[j, i] += row.draws
    return WinMatrix(shown, wins, draws)


def meetings_of(matrix: WinMatrix[P]) -> Meetings:
    """The games of a matrix, for a fit that does not know the order of seats."""
    first, second = np.nonzero(np.triu(matrix.games, 1))
    single = np.zeros((len(first), 2, 3))
    single[:, 0] = np.stack(
        [matrix.wins[first, second], matrix.draws[first, second], matrix.wins[second, first]],
        axis=1,
    )
    return Meetings(first, second, np.zeros((len(first), 3, 3)), single)
