"""Assessments of the populations of a league, for callers that ask again and again."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from arena.assessment.answer import Assessment
from arena.assessment.assess import assess
from arena.assessment.league_strengths import read_strengths
from arena.assessment.pbt_actions import PbtActions, actions_stamp, read_actions
from arena.assessment.read import read_history
from arena.assessment.records import StrengthHistory
from arena.data.paths import population_paths
from arena.data.status import AT_REST
from arena.league.database import League
from arena.league.populations import find_population
from arena.league.supervised import Supervised, get_supervised
from pbt.errors import EngineError, PbtError

log = logging.getLogger("arena.assessment")

Revision = tuple[tuple[Any, ...], ...]

FRESH_S, FRESH_AT_REST_S = 1.0, 5.0
"""Within this time an assessment is given again, of a population that trains or that is at rest."""
LOOK_EVERY_S = 2.0
"""Within this time no look at the league is taken for new games."""
PAUSES = 10
"""Between two fits of ratings passes this many times as long as one took."""

# The newest rated game of each start and of each match of its game, and what becomes of snapshots.
_REVISION = text("""
SELECT 'i', i.id, 0, (SELECT MAX(g.id) FROM games g
    WHERE kind = 1 AND g.id >= i.id << 36 AND g.id < (i.id + 1) << 36)
FROM incarnations i WHERE i.population_id = :population_id
UNION ALL
SELECT 'm', m.id, m.finished_at, (SELECT MAX(g.id) FROM games g
    WHERE g.id >= (1 << 62) + (m.id << 36) AND g.id < (1 << 62) + ((m.id + 1) << 36))
FROM matches m WHERE m.env_name = :env_name
UNION ALL
SELECT 's', COUNT(*), SUM(is_anchor), SUM(weights_removed)
FROM snapshots WHERE population_id = :population_id
""")


@dataclass(slots=True)
class _Kept:
    """What is kept of one population. Times are on the clock of the process.

    strengths  as they were read
    revision   of the league when they were read; None before the first time
    looked_s   when the revision was compared last
    read_s     when they were read
    took_s     how long that took
    reading    whether the thread is to read them again, or does so
    actions    of PBT, and their stamp
    made       the newest assessment
    made_s     when it was made
    row        what the service knew of the population then
    source     what it was made from
    lock       held while an assessment is made
    """

    strengths: StrengthHistory | None = None
    revision: Revision | None = None
    looked_s: float = 0.0
    read_s: float = 0.0
    took_s: float = 0.0
    reading: bool = False
    actions: tuple[Any, PbtActions] | None = None
    made: Assessment | None = None
    made_s: float = 0.0
    row: Supervised | None = None
    source: tuple[Any, ...] = ()
    lock: threading.Lock = field(default_factory=threading.Lock)


class Assessor:
    """Assesses populations, and keeps what is costly. Several threads may use it.

    Strengths are fitted when a population is asked for the first time, and afterwards where games
    came, so seldom that fits take a tenth of the time at most. An assessment is given again for
    some seconds, and for as long as a population is at rest and nothing of it changed.
    """

    def __init__(
        self,
        league: League,
        data: Path,
        *,
        background: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """background: fit again in a thread, and give the earlier answer meanwhile."""
        self._league, self._data, self._clock = league, data, clock
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "assessor") if background else None

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def assess(self, name: str, row: Supervised | None = None) -> Assessment:
        """The assessment of a population. Raises: PlayerError.

        row  what the service knows of it, where the caller has read it
        """
        with self._lock:
            kept = self._kept.setdefault(name, _Kept())
        try:
            with kept.lock:
                return self._assessed(row or get_supervised(self._league, name), kept)
        except BaseException:
            with self._lock:
                self._kept.pop(name, None)
            raise

    def strengths(self, name: str) -> StrengthHistory | None:
        """The strengths behind the newest assessment; None without one, or where none were read."""
        with self._lock:
            kept = self._kept.get(name)
        return None if kept is None else kept.strengths

    def known(self, name: str) -> bool:
        """Whether its strengths were read before, so that an assessment comes quickly."""
        with self._lock:
            return name in self._kept and self._kept[name].revision is not None

    def _assessed(self, row: Supervised, kept: _Kept) -> Assessment:
        name, now, rests = row.name, self._clock(), row.state in AT_REST
        fresh_s = FRESH_AT_REST_S if rests else FRESH_S
        if kept.made is not None and kept.row == row and now - kept.made_s < fresh_s:
            return kept.made
        self._refresh(name, kept)
        paths = population_paths(self._data, name)
        with self._league.read() as connection:
            population_id = int(find_population(connection, name).id)
            stamp = actions_stamp(connection, population_id)
            if kept.actions is None or kept.actions[0] != stamp:
                kept.actions = stamp, read_actions(connection, population_id)
        strengths, (_, actions) = kept.strengths, kept.actions
        source = kept.read_s, stamp, row, *map(_written, (paths.config, paths.status))
        if kept.made is None or not rests or kept.source != source:
            kept.made = assess(read_history(self._league, paths, row, strengths, actions))
        kept.made_s, kept.row, kept.source = now, row, source
        return kept.made

    def _refresh(self, name: str, kept: _Kept) -> None:
        """Read the strengths where games came since, unless that was done a short while ago."""
        now = self._clock()
        if kept.revision is None:
            self._read(name, kept)
        elif now - kept.looked_s >= LOOK_EVERY_S and now - kept.read_s >= PAUSES * kept.took_s:
            kept.looked_s = now
            if self._revision(name) == kept.revision or kept.reading:
                return
            if self._pool is None:
                self._read(name, kept)
            else:
                kept.reading = True
                self._pool.submit(self._read_in_background, name, kept)

    def _read(self, name: str, kept: _Kept) -> None:
        """Fit the strengths anew. Where a fit does not converge, the earlier ones stand."""
        began = self._clock()
        revision = self._revision(name)
        with suppress(EngineError):
            kept.strengths = strengths = read_strengths(self._league, name)
            for role in strengths.roles:
                role.changes  # noqa: B018  # it is computed here, and kept
        kept.revision, kept.looked_s, kept.read_s = revision, began, self._clock()
        kept.took_s = kept.read_s - began

    def _read_in_background(self, name: str, kept: _Kept) -> None:
        try:
            self._read(name, kept)
        except PbtError as error:
            log.debug("no strengths of %s: %s", name, error)
        finally:
            kept.reading = False

    def _revision(self, name: str) -> Revision:
        with self._league.read() as connection:
            row = find_population(connection, name)
            of = {"population_id": row.id, "env_name": row.env_name}
            return tuple(tuple(one) for one in connection.execute(_REVISION, of))


def _written(path: Path) -> int:
    """When a file was written, 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
