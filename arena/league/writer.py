"""The league's writer: callers hand over records at once, and a thread commits them in order.

A process has one writer. A commit takes the records of COMMIT_EVERY_S, or COMMIT_GAMES games,
whichever comes first, so that no game waits longer than a second. An error that may pass (a locked
database, a full disk) does not stop the writer: it tries the same rows again, with a growing pause,
until they are stored. Meanwhile `trouble` says what is wrong, and `backlog` grows. A row that can
never be stored stops the writer; from then on every call raises an error that says why.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Self

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from arena.league.blocks import BLOCK_GAMES
from arena.league.chain import chain_head
from arena.league.compaction import Folding, Settled
from arena.league.database import League, immediate
from arena.league.entries import Entry, Told, entry
from arena.league.league_file import LeagueError
from arena.league.matches import Match
from arena.league.populations import Incarnation
from arena.league.store import Given, RowStore
from arena.league.told_games import ToldGames
from pbt.errors import EngineError, PbtError
from pbt.records import Event, GameRecord, RoundRecord, SnapshotRecord, WiringCertificate
from pbt.transport.messages import GamesOver

COMMIT_EVERY_S = 0.75
COMMIT_GAMES = BLOCK_GAMES
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
# After an error a resume takes back what was stored after the last checkpoint.
DRAIN_TIMEOUT_S, FAILED_DRAIN_TIMEOUT_S = 30.0, 5.0

log = logging.getLogger("arena.league.writer")


class LeagueWriter:
    """Writes the rows of one incarnation, or of one match. Several threads may call it.

    Every call except `drain` and `close` returns at once. Every call raises PbtError once a row was
    refused for good, because no later row could be stored in order.

    league      the league, open for writing
    source      the incarnation or match that the rows belong to
    on_trouble  called from the writer's thread: with what is wrong when a commit fails, and with
                None when one succeeds again
    folding     None: a training folds its population's oldest games at the default limits
    trouble     what keeps rows from being committed now, None when nothing does
    """

    def __init__(
        self,
        league: League,
        source: Incarnation | Match,
        *,
        on_trouble: Callable[[str | None], None] | None = None,
        folding: Folding | None = None,
    ) -> None:
        if league.read_only:
            raise PbtError(f"league {league.path} is open for reading only")
        self.trouble: str | None = None
        self._league, self._on_trouble = league, on_trouble
        self._training, self._source_id = isinstance(source, Incarnation), source.id
        self._folding = folding or (
            Folding(source.population_id) if isinstance(source, Incarnation) else None
        )
        self._store = RowStore(source)
        self._waiting: deque[Given] = deque()
        # Games and entries that were handed over, those that are committed, and entries alone.
        self._given = self._committed = self._entries = self._committed_entries = self._events = 0
        self._closing = False
        self._refusal: Exception | None = None
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._stop_retrying = threading.Event()
        self._connection: Connection | None = None
        self._returns = 0
        self._thread = threading.Thread(target=self._run, name="league-writer", daemon=True)
        self._thread.start()

    def game(self, record: GameRecord) -> None:
        self._hand_over(record, 1)

    def training_games(self, games: GamesOver, first: int) -> None:
        """Training games that ended well. first: number of the first one."""
        if not self._training:
            raise EngineError("training games in a match: only games of a match belong there")
        told = ToldGames(first, games)
        self._hand_over(told, told.size)

    def _hand_over(self, games: GameRecord | ToldGames, count: int) -> None:
        self.refuse_if_stopped()
        with self._changed:
            self._waiting.append(games)
            self._given += count
            full = self._given - self._committed >= COMMIT_GAMES
        if full and not self._wake.is_set():
            self._wake.set()

    def round(self, record: RoundRecord) -> None:
        """Raises: ValueError when a number in it is nan or infinite."""
        self._give(record)

    def snapshot(self, record: SnapshotRecord) -> None:
        self._give(record)

    def event(self, event: Event) -> None:
        self._give(event)

    def certificate(self, record: WiringCertificate) -> None:
        self._give(record)

    def _give(self, record: Told) -> None:
        if not self._training:
            raise EngineError(f"a {type(record).__name__} in a match: only games belong there")
        self.refuse_if_stopped()
        with self._changed:
            self._waiting.append(entry(record, self._events))
            self._given += 1
            self._entries += 1
            self._events += isinstance(record, Event)

    @property
    def position(self) -> tuple[int, int]:
        """(incarnation id, events handed over in it), by which a checkpoint knows its events."""
        return self._source_id, self._events

    def settle(self, settled: Settled) -> None:
        """Tells what no resume can take back any more, so that it may be folded."""
        if self._folding is not None:
            self._folding.settled = settled

    def head(self) -> str:
        """The head of the chain, in hexadecimal, with everything that is committed."""
        return chain_head(self._league, self._store.owner)[1]

    @property
    def backlog(self) -> int:
        """How many games were handed over and are not committed yet."""
        with self._changed:
            return self._given - self._committed - (self._entries - self._committed_entries)

    def refuse_if_stopped(self) -> None:
        """Raises: PbtError that names the fault of a row when one was refused for good."""
        if self._refusal is not None:
            raise PbtError(
                f"league {self._league.path}: {_words(self._refusal)}; nothing more is "
                "stored: please report it"
            ) from self._refusal

    def drain(self, timeout_s: float) -> None:
        """Returns when everything handed over before this call is committed.

        Raises: PbtError that says why when that takes longer, or never happens.
        """
        self._wake.set()
        with self._changed:
            target = self._given
            done = self._changed.wait_for(self._settled(target), timeout_s)
            if self._committed >= target:
                return
            missing = target - self._committed
        self.refuse_if_stopped()
        why = self.trouble or (
            "it is still writing" if done is False else "its thread ended; see the traceback above"
        )
        raise PbtError(
            f"league {self._league.path}: {missing} rows were not committed within "
            f"{timeout_s:g} s: {why}"
        )

    def _settled(self, target: int) -> Callable[[], bool]:
        return lambda: (
            self._committed >= target or self._refusal is not None or not self._thread.is_alive()
        )

    def close(self, timeout_s: float = DRAIN_TIMEOUT_S) -> None:
        """Drains, then ends the thread.

        Raises: PbtError when rows could not be committed; the thread ends then as well.
        """
        try:
            if self._thread.is_alive() or self._refusal is not None:
                self.drain(timeout_s)
        finally:
            self._closing = True
            self._stop_retrying.set()
            self._wake.set()
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Close it. An error of the block is the one that is raised, and this one is logged."""
        try:
            self.close(DRAIN_TIMEOUT_S if failure[0] is None else FAILED_DRAIN_TIMEOUT_S)
        except PbtError as error:
            if failure[0] is None:
                raise
            log.warning("%s", error)

    def _run(self) -> None:
        try:
            while not self._closing:
                self._wake.wait(COMMIT_EVERY_S)
                self._wake.clear()
                self._commit_waiting()
        except Exception as error:  # noqa: BLE001  # the next call that hands over a row raises it
            try:
                self._tell(_words(error))
            finally:
                self._refusal = error
        finally:
            self._disconnect()
            with self._changed:
                self._changed.notify_all()

    def _commit_waiting(self) -> None:
        while self._waiting and not self._closing:
            batch, size = self._next_batch()
            if not self._retry(partial(self._commit, batch)):
                return
            with self._changed:
                self._committed += size
                self._committed_entries += sum(isinstance(item, Entry) for item in batch)
                self._changed.notify_all()
            if self._folding is not None:
                self._folding.added(self._store.training_games)
                self._fold()

    def _next_batch(self) -> tuple[list[Given], int]:
        """(what waits, up to COMMIT_GAMES or one message; how many games and entries that is)."""
        batch = [self._waiting.popleft()]
        size = _size(batch[0])
        while self._waiting and size + _size(self._waiting[0]) <= COMMIT_GAMES:
            batch.append(self._waiting.popleft())
            size += _size(batch[-1])
        return batch, size

    def _commit(self, batch: list[Given]) -> None:
        connection = self._connected()
        try:
            with immediate(connection):
                self._store.write(connection, batch)
        except BaseException:
            self._store.rolled_back()
            raise
        self._store.committed()

    def _fold(self) -> None:
        """Folds one chunk after a commit.

        An error is named and the chunk waits for the next time, because new rows must not wait.
        """
        assert self._folding is not None
        try:
            self._folding.step(self._connected())
        except (SQLAlchemyError, LeagueError) as error:
            self._disconnect()
            self._tell(f"folding old games: {_words(error)}")

    def _retry(self, action: Callable[[], object]) -> bool:
        """Repeats an action until it succeeds; False when the writer was closed before that.

        Raises: an error that repetition cannot mend.
        """
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                action()
            except (OperationalError, LeagueError) as error:
                self._disconnect()
                self._tell(_words(error))
            else:
                self._tell(None)
                return True
            if self._stop_retrying.wait(pause_s):
                return False
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _tell(self, trouble: str | None) -> None:
        if trouble == self.trouble:
            return
        self.trouble = trouble
        if self._on_trouble is not None:
            self._on_trouble(trouble)

    def _connected(self) -> Connection:
        if (returns := self._league.refuse_if_away()) != self._returns:
            self._disconnect()
            self._returns = returns
        if self._connection is None:
            self._connection = self._league.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _size(given: Given) -> int:
    return given.size if isinstance(given, ToldGames) else 1


def _words(error: Exception) -> str:
    if isinstance(error, DBAPIError):
        return str(error.orig)
    return str(error) if isinstance(error, LeagueError) else f"{type(error).__name__}: {error}"
