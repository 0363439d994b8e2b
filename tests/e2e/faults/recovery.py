"""When is a fault over? When every member that learns has consumed frames again, twice: the
first time could be of rows from before the fault.
"""

import time
from collections.abc import Mapping

from arena.data.status import RunStatus
from tests.e2e.faults.running import START_LIMIT_S, Run

# How soon it is over is a timing, and shown by bench/faults.py on a machine with nothing else to
# do; tests only ask that it is, also on one whose two cores are shared with other work: two updates
# of four members are 4 096 rows, of which such a machine makes a hundred a second.
RECOVERED_WITHIN_S = 180.0
GROWTHS = 2


class Growth:
    """Counts, per learning member, the looks at the status that showed more frames than the look
    before.
    """

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._growths: dict[str, int] = {}
        self._looked_at = -1.0

    def look(self, status: RunStatus) -> None:
        if status.written_at == self._looked_at:
            return
        self._looked_at = status.written_at
        learning = {
            member.name: member.frames for member in status.members if member.state == "learning"
        }
        for name, frames in learning.items():
            grew = name in self._frames and frames > self._frames[name]
            self._growths[name] = self._growths.get(name, 0) + grew
        self._growths = {name: count for name, count in self._growths.items() if name in learning}
        self._frames = learning

    @property
    def done(self) -> bool:
        return bool(self._growths) and min(self._growths.values()) >= GROWTHS


def pids(status: RunStatus) -> dict[str, int]:
    return {process.name: process.pid for process in status.processes}


def growing(
    run: Run,
    since_s: float,
    limit_s: float,
    unlike: Mapping[str, int] | None = None,
    victim: str | None = None,
) -> float:
    """Seconds from since_s (time.monotonic) until every learning member's frames have grown;
    AssertionError after limit_s.

    unlike: names and pids from before the fault; growth counts from the moment when a process was
    put in the place of one of them, namely of victim
    """
    growth = Growth()
    replaced = unlike is None

    def seen() -> float | None:
        nonlocal replaced
        status = run.status()
        if status is None:
            return None
        replaced = replaced or _replaced(pids(status), unlike or {}, victim)
        if replaced:
            growth.look(status)
        return time.monotonic() - since_s if growth.done else None

    left_s = limit_s - (time.monotonic() - since_s)
    place = f", with {victim or 'some process'} replaced" if unlike is not None else ""
    return run.until(
        seen, max(0.0, left_s), f"every member's frames to grow within {limit_s:g} s{place}"
    )


def start_growing(run: Run) -> float:
    """After a start, or whenever it is no fault that is waited for."""
    return growing(run, time.monotonic(), START_LIMIT_S)


def _replaced(now: Mapping[str, int], before: Mapping[str, int], victim: str | None) -> bool:
    names = before if victim is None else (victim,)
    return any(now.get(name, 0) not in (0, before[name]) for name in names)
