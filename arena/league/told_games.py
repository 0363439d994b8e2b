"""Training games become those of a block as a training tells them: in columns.

No record is made of a game on the way, since a quick training ends thousands of games a second.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.league.blocks import (
    NONE,
    BlockColumns,
    coded,
    coded_players,
    refuse_numbers,
    refuse_returns,
)
from pbt.records import PlayerRef
from pbt.transport.messages import GamesOver


class ToldGames(NamedTuple):
    """Training games that ended well. first: the number of the first one; the others follow it."""

    first: int
    games: GamesOver

    @property
    def size(self) -> int:
        """Number of games."""
        return len(self.games.tables)


def columns_of_told(told: Sequence[ToldGames], id_of: Callable[[PlayerRef], int]) -> BlockColumns:
    """The columns of games, at least one, in the order in which they are told.

    id_of  the id of a player in the league
    Raises: EngineError on a number that does not fit into a key, and on a return that is no number.
    Hashes are hexadecimal, as workers tell them.
    """
    every, sizes = [one.games for one in told], [one.size for one in told]
    numbers = np.concatenate([np.arange(one.first, one.first + one.size) for one in told])
    refuse_numbers(numbers)
    reasons, words = coded(chain.from_iterable(one.reasons for one in every))
    games = {
        "environment": _joined(one.tables for one in every),
        "count": _joined(one.counts for one in every),
        "number": numbers,
        "seed": _joined(one.seeds for one in every),
        "steps": _joined(one.steps for one in every),
        "frames": _joined(one.frames for one in every),
        "opening_plies": _joined(one.openings for one in every),
        "greedy": np.zeros(len(numbers), np.int64),
        "pair": np.full(len(numbers), NONE),
        "reason": reasons,
        "seated": np.repeat([one.seats for one in every], sizes),
    }
    lineups = (one.lineups[which] for one in every for which in one.lineup)
    seated = list(chain.from_iterable(lineups))
    players, ids = coded_players(seated, id_of)
    live = np.fromiter((seat.player.kind == "member" for seat in seated), np.bool_, len(seated))
    seats = {
        "generation": _joined(one.generations for one in every),
        "version_start": np.where(live, _joined(one.first_versions for one in every), 0),
        "version_end": _joined(one.last_versions for one in every),
        "place": _joined(one.places for one in every),
        "player": players,
    }
    returns = _joined((one.returns for one in every), np.float64)
    refuse_returns(returns, games)
    points = (one.points or (np.nan,) * len(one.returns) for one in every)
    hashes = [bytes.fromhex(text) for one in every for text in one.hashes]
    return BlockColumns(games, seats, returns, _joined(points, np.float64), words, ids, hashes, [])


def _joined(parts: Iterable[Sequence[float]], dtype: type = np.int64) -> NDArray[Any]:
    """One column of those of several messages."""
    return np.array(list(chain.from_iterable(parts)), dtype)
