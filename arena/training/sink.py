"""The sink of a training's results: rows go to the league, curves to the metrics folder.

It also counts evaluation games, so that the display can show strengths during training.
"""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Mapping

from arena.data.metrics import MetricsWriter
from arena.league.compaction import Settled
from arena.league.database import League
from arena.league.game_rows import newest_evaluations
from arena.league.writer import LeagueWriter
from arena.training.strengths import CountedGames, Strength
from pbt.objective import ObjectiveKind
from pbt.records import Event, GameRecord, RoundRecord, SnapshotRecord, WiringCertificate
from pbt.saved import SavedLeague
from pbt.transport.messages import GamesOver

RECENT_EVENTS = 50
MOST_WARNINGS = 20
REMEMBERED_GAMES = 20_000


log = logging.getLogger("arena.training.sink")


class TrainingSink:
    """The RunSink of `arena train`.

    lags           member -> mean policy lag of its newest update, in versions of the weights
    warning        why something is not stored at the moment; None when everything is
    snapshots      all snapshots of the population, oldest first
    warnings       the first warnings that are of no single member, for the display
    recent_events  the newest events, for the display
    """

    def __init__(self, writer: LeagueWriter, metrics: MetricsWriter) -> None:
        self._writer, self._metrics = writer, metrics
        self._counted = CountedGames()
        # The newest answer of `strengths`, and what it was asked of.
        self._strengths: dict[str, Strength] = {}
        self._asked: tuple[ObjectiveKind, int, int] | None = None
        # Member -> (frames, time) of its newest point.
        self._clocks: dict[str, tuple[int, float]] = {}
        self.lags: dict[str, float] = {}
        self.warning: str | None = None
        self.snapshots: list[SnapshotRecord] = []
        self.warnings: list[str] = []
        self.recent_events: deque[Event] = deque(maxlen=RECENT_EVENTS)

    def training_games(self, games: GamesOver, first: int) -> None:
        self._writer.training_games(games, first)

    def game(self, record: GameRecord) -> None:
        self._writer.game(record)
        if record.kind == "evaluation":
            self._counted.count(record)

    def remember(self, league: League, population: str) -> None:
        """Count the newest stored evaluation games, so that a resumed training shows strengths at
        once.
        """
        for record in newest_evaluations(league, population, REMEMBERED_GAMES):
            self._counted.count(record)

    def strengths(self, objective: ObjectiveKind) -> dict[str, Strength]:
        """Member -> the strength of its newest snapshot that has one, from all games so far.

        Raises: EngineError when the fit does not converge.
        """
        names: dict[str, list[str]] = defaultdict(list)
        for snapshot in self.snapshots:
            names[snapshot.member].append(snapshot.snapshot_id)
        asked = objective, self._counted.games, len(self.snapshots)
        if asked != self._asked:
            self._strengths = self._counted.strengths(objective, names)
            self._asked = asked
        return self._strengths

    def round(self, record: RoundRecord) -> None:
        self._writer.round(record)

    def snapshot(self, record: SnapshotRecord) -> None:
        self.snapshots.append(record)
        self._writer.snapshot(record)

    def certificate(self, record: WiringCertificate) -> None:
        self._writer.certificate(record)

    def event(self, event: Event) -> None:
        self.recent_events.append(event)
        if event.kind == "warning" and event.member is None and len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(event.text)
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

    def known(self) -> SavedLeague:
        """The rows that the league has, for a checkpoint.

        A resume takes back exactly the rows that came later; `arena.training.incarnation` reads it.
        The head of the chain stands for all rows; `arena verify` looks for it in the chain.
        """
        incarnation, events = self._writer.position
        snapshots = [record.snapshot_id for record in self.snapshots]
        return SavedLeague(incarnation, events, snapshots, self._writer.head())

    def settle(self, settled: Settled) -> None:
        """Tells the league what no resume can take back any more, so that it may be folded."""
        self._writer.settle(settled)

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
