"""Logs that programs can read, and the metrics that Prometheus collects."""

import collections
import logging
import platform
import sys
from collections.abc import Iterable, Mapping

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
)

from arena.data.status import RunStatus
from arena.league.best_rating import BestRating
from arena.league.new_games import GameCounts
from pbt import __version__


class Rising:
    """Counters of what a training counts since its population began, as Prometheus wants them.

    They begin at 0 with the service, and never fall: a training that went back to a checkpoint
    counts from there again. Else Prometheus would take the lower count for a new start and add all
    of it.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Counter, tuple[str, ...]], float] = {}

    def see(self, counter: Counter, labels: tuple[str, ...], now: float) -> None:
        """Add what was counted since the last look; a count that is seen first adds nothing."""
        before = self._seen.get((counter, labels), now)
        counter.labels(*labels).inc(max(0.0, now - before))
        self._seen[counter, labels] = now

    def keep_only(self, population: str, kept: Iterable[tuple[Counter, tuple[str, ...]]]) -> None:
        """Remove all other series of a population."""
        there = set(kept)
        for counter, labels in [key for key in self._seen if key[1][0] == population]:
            if (counter, labels) not in there:
                del self._seen[counter, labels]
                counter.remove(*labels)


class Observed:
    """The service's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._states: set[str] = set()
        self._rising = Rising()
        ProcessCollector(registry=registry)
        build = "The version of the program"
        Info("arena_build", build, registry=registry).info(
            {"version": __version__, "python": platform.python_version()}
        )
        self.requests = Histogram(
            "arena_http_request_seconds",
            "Answered requests",
            ["route", "method", "status"],
            registry=registry,
        )
        self.streams = Gauge("arena_sse_clients", "Open event streams", registry=registry)
        ready = "1 while /readyz says ok, else 0"
        self.ready = Gauge("arena_ready", ready, registry=registry)
        log = "The league's write-ahead log"
        self.wal_bytes = Gauge("arena_db_wal_bytes", log, registry=registry)
        free = "Free space where the data lie"
        self.free_bytes = Gauge("arena_disk_free_bytes", free, registry=registry)
        asked = "Matches asked of the service that are not over, by state"
        self.evaluations = Gauge("arena_evaluations", asked, ["state"], registry=registry)
        self._of_populations(registry)
        self._of_trainings(registry)
        self._of_members(registry)

    def _of_populations(self, registry: CollectorRegistry) -> None:
        """Make what every population has."""
        self.populations = Gauge(
            "arena_populations", "Populations by state", ["state"], registry=registry
        )
        now = "1 for the state that a population is in"
        self.state = Gauge(
            "arena_population_state", now, ["population", "state"], registry=registry
        )
        age = "Age of the newest checkpoint, by the time that stands in it"
        self.checkpoint_age = Gauge(
            "arena_checkpoint_age_seconds", age, ["population"], registry=registry
        )
        best = "Rating of the best snapshot of each role, in the unit of the objective"
        self.best = Gauge(
            "arena_best_rating", best, ["population", "role", "objective"], registry=registry
        )
        low = "Lower end of the 95 % interval of that rating"
        self.best_low = Gauge(
            "arena_best_rating_low", low, ["population", "role", "objective"], registry=registry
        )

    def _of_trainings(self, registry: CollectorRegistry) -> None:
        """Make what is counted of every training."""
        trained = "Rows that were trained on"
        self.rows = Counter("arena_rows_trained", trained, ["population"], registry=registry)
        unused = "Rows that were made for nothing, by reason"
        self.dropped = Counter(
            "arena_rows_dropped", unused, ["population", "reason"], registry=registry
        )
        played = "Games of a training that count, by kind: training or evaluation"
        self.games = Counter("arena_games", played, ["population", "kind"], registry=registry)
        voided = "Games of a training that count for nothing, since a part failed in them"
        self.voided = Counter("arena_games_voided", voided, ["population"], registry=registry)
        restarts = "Restarts of each process of a training"
        self.worker_restarts = Counter(
            "arena_worker_restarts", restarts, ["population", "process"], registry=registry
        )
        ends = "Trainers that ended by themselves"
        self.trainer_ends = Counter("arena_trainer_ends", ends, ["reason"], registry=registry)

    def _of_members(self, registry: CollectorRegistry) -> None:
        """Make what every member has."""
        trained = "Frames that each member trained"
        self.frames = Counter(
            "arena_env_frames", trained, ["population", "member"], registry=registry
        )
        clock = "Frames of each member since it began: its clock"
        self.clock = Gauge(
            "arena_member_frames", clock, ["population", "member"], registry=registry
        )
        lag = "Mean lag of each member's newest update"
        self.lag = Gauge(
            "arena_policy_lag_versions", lag, ["population", "member"], registry=registry
        )
        taken = "Optimiser steps of each member"
        self.updates = Counter("arena_updates", taken, ["population", "member"], registry=registry)
        refused = "Steps refused because a loss or a gradient was not finite"
        self.updates_refused = Counter(
            "arena_updates_refused", refused, ["population", "member"], registry=registry
        )

    def count(self, states: Mapping[str, str]) -> None:
        """Set the state of every population, and how many are in each. states: by name.

        A state that no population has any more is counted as 0 and not removed, so that Prometheus
        always finds its series.
        """
        counts = collections.Counter(states.values())
        self._states |= counts.keys()
        for state in self._states:
            self.populations.labels(state).set(counts[state])
        self.state.clear()
        for population, state in states.items():
            self.state.labels(population, state).set(1)

    def waiting(self, states: Iterable[str]) -> None:
        """Set how many matches and other jobs wait and run. states: one for each that is open."""
        counts = collections.Counter(states)
        for state in ("PENDING", "RUNNING"):
            self.evaluations.labels(state.lower()).set(counts[state])

    def training(self, population: str, status: RunStatus) -> None:
        """Take a training's newest status; remove the series of what it no longer has."""
        one = (population,)
        counts: dict[tuple[Counter, tuple[str, ...]], float] = {
            (self.rows, one): status.rows.trained,
            **{
                (self.dropped, (*one, reason)): count
                for reason, count in status.rows.dropped.items()
            },
            **{
                (self.worker_restarts, (*one, process.name)): process.restarts
                for process in status.processes
            },
        }
        for gauge in (self.clock, self.lag):
            gauge.remove_by_labels({"population": population})
        for member in status.members:
            labels = (*one, member.name)
            counts[self.frames, labels] = member.frames
            counts[self.updates, labels] = member.updates
            counts[self.updates_refused, labels] = member.refused_updates
            self.clock.labels(*labels).set(member.frames)
            if member.lag is not None:
                self.lag.labels(*labels).set(member.lag)
        for (counter, counted), now in counts.items():
            self._rising.see(counter, counted, now)
        self._rising.keep_only(population, counts)

    def played(self, population: str, games: GameCounts) -> None:
        """Add games that a training has stored since the last look."""
        self.games.labels(population, "training").inc(games.training)
        self.games.labels(population, "evaluation").inc(games.evaluation)
        self.voided.labels(population).inc(games.voided)

    def rated(self, population: str, best: Iterable[BestRating]) -> None:
        """Set the rating of the best of each role of a population."""
        for gauge in (self.best, self.best_low):
            gauge.remove_by_labels({"population": population})
        for one in best:
            labels = (population, one.role, one.objective)
            self.best.labels(*labels).set(one.rating)
            if one.low is not None:
                self.best_low.labels(*labels).set(one.low)

    def forget(self, population: str) -> None:
        """Remove every series of a population that was deleted."""
        self._rising.keep_only(population, ())
        of_population = (
            self.state,
            self.checkpoint_age,
            self.best,
            self.best_low,
            self.clock,
            self.lag,
        )
        for metric in (*of_population, self.games, self.voided):
            metric.remove_by_labels({"population": population})


def log_to_stderr(form: str, level: int = logging.INFO) -> None:
    """Send all logs to stderr, those of other libraries, too.

    form  "json", one object per line, or "console"
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    last: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta
    ]
    if form == "json":
        last += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # Plain tracebacks: others print the local variables of every frame, and these hold tokens.
        last += [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=last)
    )
    root = logging.getLogger()
    root.handlers, root.level = [handler], level
    for talkative in ("alembic", "uvicorn"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
