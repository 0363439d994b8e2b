"""A cache of the results of every two players: evaluation games that were counted are not reread.

It serves callers that ask repeatedly, such as the rating tables of the service.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

MAX_KEPT = 1024
"""Most starts of populations that are cached; the least recently requested is evicted first."""

Range = tuple[int, int]
"""First and last possible key of games."""

# The ranges of keys, one for each start of a population and for each match, so that only their
# evaluation games are read.
CHOSEN = """
FROM json_each(:ranges) r
JOIN games g INDEXED BY ix_games_evaluation
    ON g.id BETWEEN json_extract(r.value, '$[0]') AND json_extract(r.value, '$[1]') AND g.kind = 1
    AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
"""
# A unit is a seed pair, whose two games have the seats swapped, or else one game. Both orders of
# two players are one pair; outcomes and margins are those of the player of the smaller number.
_PAIRS = text(f"""
WITH met AS (
    SELECT g.id, g.match_id, g.pair, MIN(a.player_id, b.player_id) AS first,
        MAX(a.player_id, b.player_id) AS second, a.player_id < b.player_id AS in_order,
        CASE WHEN a.place = b.place THEN 1 WHEN (a.place < b.place) = (a.player_id < b.player_id)
            THEN 0 ELSE 2 END AS outcome,
        (a.returns - b.returns) / 2 * CASE WHEN a.player_id < b.player_id THEN 1 ELSE -1 END
            AS margin
    {CHOSEN} CROSS JOIN game_seats a ON a.game_id = g.id AND a.seat = 0
    CROSS JOIN game_seats b ON b.game_id = g.id AND b.seat = 1
    WHERE a.player_id <> b.player_id
), marked AS (
    SELECT *, pair IS NOT NULL AND COUNT(*) OVER of_pair = 2 AND SUM(in_order) OVER of_pair = 1
        AS whole
    FROM met WINDOW of_pair AS (PARTITION BY match_id, pair, first, second)
), units AS (
    SELECT first, second, AVG(margin) AS margin,
        CASE WHEN whole THEN 3 * MAX(outcome * in_order) + MAX(outcome * (1 - in_order))
            ELSE 9 + 3 * (1 - MAX(in_order)) + MAX(outcome) END AS cell
    FROM marked GROUP BY first, second, whole, match_id, CASE WHEN whole THEN pair ELSE id END
)
SELECT first, second, cell, COUNT(*), SUM(margin), SUM(margin * margin)
FROM units GROUP BY first, second, cell
""")  # noqa: S608  # no part comes from outside
_NEWEST = text(
    "SELECT MAX(id) FROM games INDEXED BY ix_games_evaluation WHERE kind = 1 AND id BETWEEN "
    ":first AND :last"
)

_PAIRED, _CELLS = 9, 15


@dataclass(frozen=True, slots=True)
class Totals:
    """The results of every two players, each two once, in the order of their numbers.

    A unit is a seed pair, whose two games have the seats swapped, or else one game.

    first    [pairs] numbers of the players with the smaller number
    second   [pairs] numbers of their opponents
    cells    [pairs, 15] units by their outcomes, as `Meetings` of these players orders them:
             first the 9 of seed pairs, then the 6 of single games
    margins  [pairs, 2, 2] sums of y and y squared, first over the seed pairs, then over the single
             games, where y is half of what `first` returned more than `second`, in the mean over
             the unit's games
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    cells: NDArray[np.float64]
    margins: NDArray[np.float64]

    @property
    def paired(self) -> NDArray[np.float64]:
        """[pairs, 3, 3] as in `arena.stats.meetings.Meetings`."""
        return self.cells[:, :_PAIRED].reshape(-1, 3, 3)

    @property
    def single(self) -> NDArray[np.float64]:
        """[pairs, 2, 3] as in `arena.stats.meetings.Meetings`."""
        return self.cells[:, _PAIRED:].reshape(-1, 2, 3)


@dataclass(frozen=True, slots=True)
class Source:
    """The games of one start of a population, or of one match.

    keys      the first and the last possible key
    grows_as  (the start, the newest start of its population): while this stays equal, games are
              only added, with greater keys. None where games may also change
    """

    keys: Range
    grows_as: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    """The totals of one start, up to a game.

    newest_start  the newest start of its population when this was counted
    through       key of the last game that was counted
    totals        the counts
    """

    newest_start: int
    through: int
    totals: Totals


class PairTotals:
    """The cache. Several threads may use it; two that count the same games get the same totals."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Counted] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, connection: Connection, sources: Sequence[Source]) -> Totals:
        """The totals of these sources, of the games that the connection sees."""
        growing = {
            source.grows_as: source.keys for source in sources if source.grows_as is not None
        }
        at_once = _read(connection, [source.keys for source in sources if source.grows_as is None])
        return _added(
            [
                at_once,
                *(
                    self._grown(connection, start, newest, keys)
                    for (start, newest), keys in growing.items()
                ),
            ]
        )

    def _grown(self, connection: Connection, start: int, newest_start: int, keys: Range) -> Totals:
        first, last = keys
        newest = connection.execute(_NEWEST, {"first": first, "last": last}).scalar() or first - 1
        cached = self._kept.get(start)
        # Totals through a later game were counted by a connection with a newer view than this one.
        if cached is None or cached.newest_start != newest_start or cached.through > newest:
            cached = _Counted(newest_start, first - 1, _read(connection, ()))
        if newest > cached.through:
            cached = _Counted(
                newest_start,
                newest,
                _added([cached.totals, _read(connection, [(cached.through + 1, newest)])]),
            )
        self._keep(start, cached)
        return cached.totals

    def _keep(self, start: int, counted: _Counted) -> None:
        with self._lock:
            self._kept[start] = counted
            self._kept.move_to_end(start)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


def _read(connection: Connection, ranges: Sequence[Range]) -> Totals:
    found = connection.execute(_PAIRS, {"ranges": json.dumps(ranges)}).all() if ranges else ()
    read = np.fromiter(chain.from_iterable(found), np.float64, 6 * len(found)).reshape(-1, 6)
    cells = np.zeros((len(read), _CELLS))
    rows, cell = np.arange(len(read)), read[:, 2].astype(np.intp)
    cells[rows, cell] = read[:, 3]
    margins = np.zeros((len(read), 2, 2))
    margins[rows, (cell >= _PAIRED).astype(np.intp)] = read[:, 4:]
    first, second = read[:, :2].astype(np.int64).T
    return _added([Totals(first, second, cells, margins)])


def _added(parts: Sequence[Totals]) -> Totals:
    """The sums of these totals. Their order changes no count, and a margin by rounding only."""
    keys = np.concatenate([part.first << 32 | part.second for part in parts])
    pairs, places = np.unique(keys, return_inverse=True)
    cells, margins = np.zeros((len(pairs), _CELLS)), np.zeros((len(pairs), 2, 2))
    np.add.at(cells, places, np.concatenate([part.cells for part in parts]))
    np.add.at(margins, places, np.concatenate([part.margins for part in parts]))
    return Totals(pairs >> 32, pairs & 0xFFFFFFFF, cells, margins)
