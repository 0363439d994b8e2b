"""What is not well with a population, in words. Pure."""

from arena.data.status import STALE_AFTER_S, RunStatus
from arena.league.supervised import Supervised

DROPPED_SHARE = 0.05
"""Rows that were made for nothing are part of every run; above it they cost speed that somebody
may want back.
"""

LATE_START_S = 120.0
"""Processes of a large population take a minute, on a machine that is busy."""


def warnings(row: Supervised, status: RunStatus | None, now: float) -> list[str]:
    """status: written by its trainer, or the last one;  now: seconds since 1970."""
    found = []
    if row.restarts and row.state != "failed":
        found.append(f"its trainer ended by itself before a new checkpoint: {_times(row.restarts)}")
    if (
        row.state in ("starting", "recovering")
        and row.reason != "held"
        and (waited_s := now - row.since) > LATE_START_S
    ):
        found.append(
            f"its trainer has been starting for {waited_s:.0f} s and does not train yet; its "
            "log may say why"
        )
    if status is None:
        return found
    found += [
        f"{member.name} failed, and learns no more"
        for member in status.members
        if member.state == "failed"
    ]
    if row.state == "running" and not status.ended:
        found += _of_trainer(status, now)
    return found


def _of_trainer(status: RunStatus, now: float) -> list[str]:
    found = []
    if (silent_s := now - status.written_at) > STALE_AFTER_S:
        found.append(f"its trainer has told nothing for {silent_s:.0f} s")
    if status.trouble is not None:
        found.append(status.trouble)
    found += [f"{process.name} is down" for process in status.processes if process.state == "down"]
    found += [
        f"{process.name} was started again {_times(process.restarts)}"
        for process in status.processes
        if process.restarts
    ]
    dropped = sum(status.rows.dropped.values())
    if dropped > DROPPED_SHARE * status.rows.produced:
        reasons = ", ".join(
            f"{count} {reason}" for reason, count in sorted(status.rows.dropped.items()) if count
        )
        found.append(
            f"{dropped / status.rows.produced:.0%} of the rows were dropped: {reasons}".replace(
                "%", " %"
            )
        )
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
