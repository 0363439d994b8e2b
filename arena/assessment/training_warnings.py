"""Warnings about a population, in words. Pure."""

from arena.data.status import STALE_AFTER_S, Moment, RunStatus, age_s, failures, refusals
from arena.league.supervised import Supervised

DROPPED_SHARE = 0.05
"""Every run drops some rows; a larger share than this costs speed that is worth a warning."""

LATE_START_S = 120.0
"""On a busy machine the processes of a large population take a minute to start."""


def warnings(row: Supervised, status: RunStatus | None, now: Moment) -> list[str]:
    """What is wrong with a population and its members, one sentence each.

    status  the newest status that its trainer wrote
    """
    texts = of_start(row, now)
    if status is None:
        return texts
    texts += failures(status.members) + refusals(status.members)
    if row.state == "running" and not status.ended:
        texts += of_trainer(status, now)
    return texts


def of_start(row: Supervised, now: Moment) -> list[str]:
    """What is wrong with the starts of its trainer."""
    texts = []
    if row.restarts and row.state != "failed":
        texts.append(f"its trainer ended by itself before a new checkpoint: {_times(row.restarts)}")
    if (
        row.state in ("starting", "recovering")
        and row.reason != "held"
        and (waited_s := now.wall_s - row.since) > LATE_START_S
    ):
        texts.append(
            f"its trainer has been starting for {waited_s:.0f} s and does not train yet; its "
            "log may say why"
        )
    return texts


def of_trainer(status: RunStatus, now: Moment) -> list[str]:
    """What is wrong with the processes of a training that runs, and with what it stores."""
    texts = []
    if (silent_s := age_s(status, now, running=True)) > STALE_AFTER_S:
        texts.append(silent_text(silent_s))
    if status.trouble is not None:
        texts.append(status.trouble)
    texts += [f"{process.name} is down" for process in status.processes if process.state == "down"]
    texts += [
        f"{process.name} was started again {_times(process.restarts)}"
        for process in status.processes
        if process.restarts
    ]
    dropped = sum(status.rows.dropped.values())
    if dropped > DROPPED_SHARE * status.rows.produced:
        reasons = ", ".join(
            f"{count} {reason}" for reason, count in sorted(status.rows.dropped.items()) if count
        )
        texts.append(
            f"{dropped / status.rows.produced:.0%} of the rows were dropped: {reasons}".replace(
                "%", " %"
            )
        )
    return texts


def silent_text(seconds: float) -> str:
    """What is said of a trainer that writes no status."""
    return f"its trainer has reported nothing for {seconds:.0f} s"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
