"""Where a training's results go: rows to the league, curves to the metrics folder, and a running
tally of evaluation games for the display.
"""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from arena.data.metrics import MetricsWriter
from arena.league.database import League
from arena.league.game_rows import newest_evaluations
from arena.league.writer import LeagueWriter
from arena.stats.bradley_terry import PairResult, Rating, fit
from pbt.matchmaking.seats import RANDOM
from pbt.records import Event, GameRecord, PlayerRef, RoundRecord, SnapshotRecord, is_voided

RECENT_EVENTS = 50
REMEMBERED_GAMES = 20_000


log = logging.getLogger("arena.training.sink")


class TrainingSink:
    """The RunSink of `arena train`.

    snapshots  every one of the population, oldest first;  recent_events: the newest, for people
    lags       mean policy lag of each member's newest update, in versions of the weights
    """

    def __init__(self, writer: LeagueWriter, metrics: MetricsWriter) -> None:
        self._writer, self._metrics = writer, metrics
        self._results: dict[tuple[PlayerRef, PlayerRef], list[int]] = defaultdict(lambda: [0, 0, 0])
        # member -> (frames, when) of its newest point
        self._clocks: dict[str, tuple[int, float]] = {}
        self.lags: dict[str, float] = {}
        self.warning: str | None = None
        self.snapshots: list[SnapshotRecord] = []
        self.recent_events: deque[Event] = deque(maxlen=RECENT_EVENTS)

    def game(self, record: GameRecord) -> None:
        self._writer.game(record)
        if record.kind == "evaluation":
            self.tally(record)

    def tally(self, record: GameRecord) -> None:
        """Count an evaluation game of two seats for `ratings`."""
        if len(record.seats) != 2 or record.greedy or is_voided(record.end_reason):
            return
        first, second = record.seats
        if first.player != second.player:
            outcome = 1 + (first.place > second.place) - (first.place < second.place)
            self._results[(first.player, second.player)][outcome] += 1

    def remember(self, league: League, population: str) -> None:
        """Count the newest stored evaluation games as well, so that a resumed training shows
        ratings at once.
        """
        for record in newest_evaluations(league, population, REMEMBERED_GAMES):
            self.tally(record)

    def ratings(self) -> dict[str, Rating[PlayerRef]]:
        """Snapshot id -> rating, from the evaluation games seen so far; for the display, the
        league's standings count them all.
        """
        results = [
            PairResult(a, b, wins, draws, losses)
            for (a, b), (wins, draws, losses) in self._results.items()
        ]
        return {
            rating.player.name: rating
            for rating in fit(results, RANDOM)
            if rating.player.kind == "snapshot"
        }

    def round(self, record: RoundRecord) -> None:
        self._writer.round(record)

    def snapshot(self, record: SnapshotRecord) -> None:
        self.snapshots.append(record)
        self._writer.snapshot(record)

    def event(self, event: Event) -> None:
        self.recent_events.append(event)
        level = logging.WARNING if event.kind == "warning" else logging.INFO
        log.log(
            level,
            "%s",
            event.text,
            extra={"kind": event.kind, "member": event.member, "frames": event.frames},
        )
        self._writer.event(event)

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        now, (earlier, then) = time.monotonic(), self._clocks.get(member, (frames, 0.0))
        self._clocks[member] = (frames, now)
        if "lag_mean" in values:
            self.lags[member] = values["lag_mean"]
        speed = {"frames_per_s": (frames - earlier) / (now - then)} if frames > earlier else {}
        self._metrics.series(member, frames, {**values, **speed})

    def known(self) -> dict[str, Any]:
        """For a checkpoint, so that a resume takes back exactly what came later; JSON-able,
        `arena.training.train` reads it.
        """
        incarnation, events = self._writer.position
        return {
            "incarnation": incarnation,
            "events": events,
            "snapshots": [record.snapshot_id for record in self.snapshots],
        }

    @property
    def backlog(self) -> int:
        return self._writer.backlog

    @property
    def trouble(self) -> str | None:
        """What keeps results from being kept, in words; None when nothing does."""
        return self._writer.trouble or self.warning

    def flush(self) -> None:
        """Make the curves readable; due every second. Raises: PbtError when the league refused a
        row for good.
        """
        self._flush_curves()
        self._writer.refuse_if_stopped()

    def drain(self, timeout_s: float) -> None:
        self._flush_curves()
        self._writer.drain(timeout_s)

    def _flush_curves(self) -> None:
        """A full disk stops no training: points wait for room."""
        try:
            self._metrics.flush()
        except OSError as error:
            self.warning = f"curves are not written: {error}"
