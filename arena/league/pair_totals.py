"""A cache of the results of every two players: evaluation games that were counted are not reread.

It serves callers that ask repeatedly, such as the rating tables of the service.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
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
# Both orders of two players are one pair; wins are counted for the player of the smaller number.
_PAIRS = text(f"""
SELECT MIN(a.player_id, b.player_id) AS first, MAX(a.player_id, b.player_id) AS second,
    SUM(CASE WHEN a.player_id < b.player_id THEN a.place < b.place ELSE b.place < a.place END)
        AS wins,
    SUM(a.place = b.place) AS draws, COUNT(*) AS games
{CHOSEN} CROSS JOIN game_seats a ON a.game_id = g.id AND a.seat = 0
CROSS JOIN game_seats b ON b.game_id = g.id AND b.seat = 1
WHERE a.player_id <> b.player_id GROUP BY 1, 2
""")
_NEWEST = text(
    "SELECT MAX(id) FROM games INDEXED BY ix_games_evaluation WHERE kind = 1 AND id BETWEEN "
    ":first AND :last"
)

Totals = NDArray[np.int64]
"""[pairs, 5] two players' numbers, the smaller first, the first one's wins, draws, common games.

Each pair stands once.
"""


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
    rows = connection.execute(_PAIRS, {"ranges": json.dumps(ranges)}).all() if ranges else ()
    return np.fromiter(chain.from_iterable(rows), np.int64, 5 * len(rows)).reshape(-1, 5)


def _added(parts: Iterable[Totals]) -> Totals:
    rows = np.concatenate(list(parts))
    pairs, places = np.unique(rows[:, 0] << 32 | rows[:, 1], return_inverse=True)
    sums = np.zeros((len(pairs), 3), np.int64)
    np.add.at(sums, places, rows[:, 2:])
    return np.column_stack((pairs >> 32, pairs & 0xFFFFFFFF, sums))
