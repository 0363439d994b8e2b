"""The sink of a training's results: rows go to the league, curves to the metrics folder.

It also counts evaluation games, so that the display can show ratings during training.
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
from arena.stats.bradley_terry import PairResult, Rating
from arena.stats.win_matrix import fit_matrix, win_matrix
from pbt.matchmaking.seats import RANDOM
from pbt.records import (
    Event,
    GameRecord,
    PlayerRef,
    RoundRecord,
    SnapshotRecord,
    WiringCertificate,
    is_voided,
)

RECENT_EVENTS = 50
REMEMBERED_GAMES = 20_000


log = logging.getLogger("arena.training.sink")


class TrainingSink:
    """The RunSink of `arena train`.

    lags           member -> mean policy lag of its newest update, in versions of the weights
    warning        why something is not stored at the moment; None when everything is
    snapshots      all snapshots of the population, oldest first
    recent_events  the newest events, for the display
    """

    def __init__(self, writer: LeagueWriter, metrics: MetricsWriter) -> None:
        self._writer, self._metrics = writer, metrics
        self._results: dict[tuple[PlayerRef, PlayerRef], list[int]] = defaultdict(lambda: [0, 0, 0])
        # Member -> (frames, time) of its newest point.
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
        """Count a game for `ratings`, if it is an evaluation game of two seats."""
        if len(record.seats) != 2 or record.greedy or is_voided(record.end_reason):
            return
        first, second = record.seats
        if first.player != second.player:
            outcome = 1 + (first.place > second.place) - (first.place < second.place)
            self._results[(first.player, second.player)][outcome] += 1

    def remember(self, league: League, population: str) -> None:
        """Count the newest stored evaluation games, so that a resumed training shows ratings at
        once.
        """
        for record in newest_evaluations(league, population, REMEMBERED_GAMES):
            self.tally(record)

    def ratings(self) -> dict[str, Rating[PlayerRef]]:
        """Snapshot id -> rating, from the evaluation games counted so far.

        It is for the display; the league's standings count all games.
        """
        results = [
            PairResult(a, b, wins, draws, losses)
            for (a, b), (wins, draws, losses) in self._results.items()
        ]
        return {
            rating.player.name: rating
            for rating in fit_matrix(win_matrix(results), RANDOM)
            if rating.player.kind == "snapshot"
        }

    def round(self, record: RoundRecord) -> None:
        self._writer.round(record)

    def snapshot(self, record: SnapshotRecord) -> None:
        self.snapshots.append(record)
        self._writer.snapshot(record)

    def certificate(self, record: WiringCertificate) -> None:
        self._writer.certificate(record)

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
        """The rows that the league has, as JSON-able values for a checkpoint.

        A resume takes back exactly the rows that came later; `arena.training.incarnation` reads it.
        The head of the chain stands for all rows; `arena verify` looks for it in the chain.
        """
        incarnation, events = self._writer.position
        return {
            "head": self._writer.head(),
            "incarnation": incarnation,
            "events": events,
            "snapshots": [record.snapshot_id for record in self.snapshots],
        }

    @property
    def backlog(self) -> int:
        """Number of rows that wait for the league."""
        return self._writer.backlog

    @property
    def trouble(self) -> str | None:
        """Why results are not stored at the moment; None when they are."""
        return self._writer.trouble or self.warning

    def flush(self) -> None:
        """Make the curves readable; called every second.

        Raises: PbtError when the league has refused a row for good.
        """
        self._flush_curves()
        self._writer.refuse_if_stopped()

    def drain(self, timeout_s: float) -> None:
        """Wait until the league has all rows. Raises: PbtError when it takes longer."""
        self._flush_curves()
        self._writer.drain(timeout_s)

    def _flush_curves(self) -> None:
        """Write the curves. A full disk stops no training: the points wait for room."""
        try:
            self._metrics.flush()
        except OSError as error:
            self.warning = f"curves are not written: {error}"
