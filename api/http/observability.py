"""Logs that programs can read, and the metrics that Prometheus collects."""

import logging
import sys
from collections import Counter
from collections.abc import Iterable

import prometheus_client
import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram

from arena.data.status import RunStatus


class Observed:
    """The service's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._states: set[str] = set()
        # Population -> the gauges of its members, processes and reasons that have a value.
        self._told: dict[str, set[tuple[Gauge, str]]] = {}
        self.requests = Histogram(
            "arena_http_request_seconds",
            "Answered requests",
            ["route", "method", "status"],
            registry=registry,
        )
        self.streams = Gauge("arena_sse_clients", "Open event streams", registry=registry)
        self.populations = Gauge(
            "arena_populations", "Populations by state", ["state"], registry=registry
        )
        frames = "Frames of the members that it has"
        self.frames = Gauge("arena_env_frames", frames, ["population"], registry=registry)
        trained = "Rows trained on, since the population began"
        self.rows = Gauge("arena_rows_trained", trained, ["population"], registry=registry)
        unused = "Rows made for nothing, since the population began"
        self.dropped = Gauge(
            "arena_rows_dropped", unused, ["population", "reason"], registry=registry
        )
        restarts = "Restarts of each process of the running training"
        self.worker_restarts = Gauge(
            "arena_worker_restarts", restarts, ["population", "process"], registry=registry
        )
        ends = "Trainers that ended by themselves"
        self.trainer_ends = prometheus_client.Counter(
            "arena_trainer_ends", ends, ["reason"], registry=registry
        )
        age = "Age of the newest checkpoint"
        self.checkpoint_age = Gauge(
            "arena_checkpoint_age_seconds", age, ["population"], registry=registry
        )
        log = "The league's write-ahead log"
        self.wal_bytes = Gauge("arena_db_wal_bytes", log, registry=registry)
        free = "Free space where the data lie"
        self.free_bytes = Gauge("arena_disk_free_bytes", free, registry=registry)
        self._of_members(registry)

    def _of_members(self, registry: CollectorRegistry) -> None:
        """Make the gauges that every member has."""
        lag = "Mean lag of each member's newest update"
        self.lag = Gauge(
            "arena_policy_lag_versions", lag, ["population", "member"], registry=registry
        )
        taken = "Optimiser steps of each member, since the population began"
        self.updates = Gauge("arena_updates", taken, ["population", "member"], registry=registry)
        refused = "Steps refused because a loss or a gradient was not finite"
        self.updates_refused = Gauge(
            "arena_updates_refused", refused, ["population", "member"], registry=registry
        )

    def count(self, states: Iterable[str]) -> None:
        """Set the number of populations in each state. states: one for each population.

        A state that no population has any more is set to 0 and not removed, so that Prometheus
        always finds its series.
        """
        counts = Counter(states)
        self._states |= counts.keys()
        for state in self._states:
            self.populations.labels(state).set(counts[state])

    def training(self, population: str, status: RunStatus) -> None:
        """Set the gauges of a training to its newest status; remove those that it no longer has."""
        values: dict[tuple[Gauge, str], float] = {
            (self.dropped, reason): count for reason, count in status.rows.dropped.items()
        }
        values |= {
            (self.lag, member.name): member.lag
            for member in status.members
            if member.lag is not None
        }
        for member in status.members:
            if member.updates or member.refused_updates:
                values[self.updates, member.name] = member.updates
                values[self.updates_refused, member.name] = member.refused_updates
        values |= {
            (self.worker_restarts, process.name): process.restarts for process in status.processes
        }
        for (gauge, name), value in values.items():
            gauge.labels(population, name).set(value)
        for gauge, name in self._told.get(population, set()) - values.keys():
            gauge.remove(population, name)
        self._told[population] = set(values)
        self.frames.labels(population).set(sum(member.frames for member in status.members))
        self.rows.labels(population).set(status.rows.trained)

    def forget(self, population: str) -> None:
        """Remove every gauge of a population that was deleted."""
        self._told.pop(population, None)
        for gauge in (
            self.frames,
            self.rows,
            self.dropped,
            self.lag,
            self.updates,
            self.updates_refused,
            self.worker_restarts,
            self.checkpoint_age,
        ):
            gauge.remove_by_labels({"population": population})


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
