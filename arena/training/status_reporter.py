"""Writes `status.json` and the telemetry of a running training.

The training's loop calls `StatusReporter.report` once a second (`arena.training.train`). `arena
status` and the service read what it writes.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import replace

from arena.data.output import keep_small
from arena.data.paths import PopulationPaths
from arena.data.status import MemberRow, Moment, ProcessRow, RowCounts, RunStatus, write_status
from arena.data.telemetry import TelemetryWriter
from arena.training.live_edits import LiveEdits
from arena.training.sink import TrainingSink
from pbt.population.members import Member
from pbt.runtime.engine import Engine, ProcessStatus

TELEMETRY_EVERY_S = 10.0

log = logging.getLogger("arena.training.status_reporter")


class StatusReporter:
    """Writes `status.json` and the telemetry of one start of a population.

    A disk that refuses them does not stop the training: the log says so once.
    """

    def __init__(
        self,
        name: str,
        paths: PopulationPaths,
        engine: Engine,
        sink: TrainingSink,
        telemetry: TelemetryWriter,
        edits: LiveEdits,
        now: Callable[[], Moment] = Moment.now,
    ) -> None:
        self._name, self._path, self._engine, self._sink = name, paths.status, engine, sink
        self._logs = paths.logs
        self._telemetry, self._edits, self._now = telemetry, edits, now
        self._started = now()
        self._told_s = 0.0
        self._refused = False
        self._last: RunStatus | None = None

    def report(self, ended: str = "") -> RunStatus:
        """Read the engine and write what is due. ended: on the last look, how the run ended."""
        self._last = self.read(ended)
        self._write(self._last)
        keep_small(self._logs)
        return self._last

    def give_up(self, ended: str) -> None:
        """Write the last status once more, with the reason why the run broke."""
        if self._last is not None:
            self._write(self._stamped(replace(self._last, ended=ended)))

    def _write(self, status: RunStatus) -> None:
        try:
            write_status(self._path, status)
            if status.ended or status.ran_s - self._told_s >= TELEMETRY_EVERY_S:
                self._told_s = status.ran_s
                self._telemetry.point(status)
            self._refused = False
        except OSError as error:
            if not self._refused:
                log.warning("status and telemetry could not be written: %s", error)
            self._refused = True

    def read(self, ended: str = "") -> RunStatus:
        """The status of the engine now."""
        engine = self._engine
        processes = tuple(_process_row(process) for process in engine.processes())
        members = tuple(self._member_row(name, frames) for name, frames in engine.clocks().items())
        rows = RowCounts(
            engine.rows_produced(),
            engine.rows_trained,
            engine.rows_standing(),
            dict(engine.dropped()),
        )
        status = RunStatus(
            population=self._name,
            pid=os.getpid(),
            placement=engine.config.runtime.placement,
            started_at=self._started.wall_s,
            written_at=self._started.wall_s,
            ended=ended,
            processes=processes,
            members=members,
            rows=rows,
            edits_taken=self._edits.taken,
            edits_refused=self._edits.refused,
            trouble=self._sink.trouble,
            ranked_by=engine.controller.window.objective,
            wiring=engine.controller.certifier.summary,
        )
        return self._stamped(status)

    def _stamped(self, status: RunStatus) -> RunStatus:
        now = self._now()
        ran_s = now.steady_s - self._started.steady_s
        return replace(status, written_at=now.wall_s, steady_s=now.steady_s, ran_s=ran_s)

    def _member_row(self, name: str, frames: int) -> MemberRow:
        controller = self._engine.controller
        member, score = controller.members[name], controller.window.mean(name)
        return MemberRow(
            name,
            frames,
            self._sink.lags.get(name),
            member_state(member),
            score.objective if score.games else None,
            member.updates,
            member.refused_updates,
            member.failure,
        )


def _process_row(process: ProcessStatus) -> ProcessRow:
    rounded = {
        "rate": round(process.rate, 1),
        "beat_age_s": round(process.beat_age_s, 3),
        "stage_s": {stage: round(seconds, 3) for stage, seconds in process.stage_s.items()},
    }
    return ProcessRow(**{**vars(process), **rounded})


def member_state(member: Member) -> str:
    """The member's state: "learning", "finished" or "failed"."""
    return "failed" if member.failed else "finished" if member.finished else "learning"
