"""What a webhook tells of: the end of a training, its failure, a standstill, a new best snapshot.

Each function looks at one population, notes in its `Outgoing` what was seen, and returns what is to
be told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from api.notify.stored import EventName, Outgoing
from api.reconcile.trainer_process import LONGEST_LOOK_S
from api.reconcile.trainings import newest_status
from arena.data.paths import PopulationPaths
from arena.league.best import best_of_each_role
from arena.league.database import League
from arena.league.service_events import ServiceEvent
from arena.league.summaries import newest_game
from arena.league.supervised import Supervised
from pbt.processes.watched_time import WatchedTime

ENDS: tuple[EventName, ...] = ("finished", "failed")
WITH_TRAINER = ("starting", "running", "recovering")


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to be told.

    event    its kind
    details  more about it, as the documentation says
    """

    event: EventName
    details: dict[str, Any]


def ends(outgoing: Outgoing, events: Sequence[ServiceEvent], frames: int) -> list[Happening]:
    """Trainings that ended, by the events of the service.

    events  of the population, behind those that are done, oldest first
    frames  of all members together, as the trainer reported last
    """
    found = []
    for event in events:
        state = event.payload.get("state")
        if state is not None:
            if state in ENDS and state != outgoing.state:
                told = {key: event.payload.get(key) for key in ("reason", "message")}
                found.append(Happening(state, {**told, "frames": frames}))
            outgoing.state = state
        outgoing.after = event.id
    return found


def frames_of(paths: PopulationPaths) -> int:
    """Frames of all members together, as the trainer reported last."""
    status = newest_status(paths)
    return 0 if status is None else sum(member.frames for member in status.members)


@dataclass
class Standstill:
    """Whether a training makes no progress, by the time that this service watched it.

    seen     the progress at the last look
    watched  since it changed
    """

    seen: list[int] = field(default_factory=list)
    watched: WatchedTime = field(default_factory=lambda: WatchedTime(LONGEST_LOOK_S))

    def look(
        self, outgoing: Outgoing, row: Supervised, progress: list[int], limit_s: float
    ) -> list[Happening]:
        """A standstill, told once until there is progress.

        progress  numbers of which one grows while the training does something
        limit_s   for so long nothing may change
        """
        if row.state not in WITH_TRAINER or row.reason == "held" or progress != self.seen:
            self.seen, self.watched = progress, WatchedTime(LONGEST_LOOK_S)
            if outgoing.stalled not in (None, progress):
                outgoing.stalled = None
            return []
        seconds = self.watched.look()
        if seconds < limit_s or outgoing.stalled == progress:
            return []
        outgoing.stalled = progress
        details = {"seconds": round(seconds), "state": row.state, "message": row.message}
        return [Happening("stalled", {**details, "frames": progress[0]})]


def progress_of(league: League, name: str, paths: PopulationPaths) -> list[int]:
    """Frames and rows that the trainer reported, and games that the league has.

    The games grow also in the evaluation at the end, where no member trains.
    """
    status = newest_status(paths)
    produced = 0 if status is None else status.rows.produced
    return [frames_of(paths), produced, newest_game(league, name)]


def new_bests(league: League, name: str, outgoing: Outgoing) -> list[Happening]:
    """Snapshots that are the best of their role for the first time since the webhook was set.

    Those that are the best at the first look are not told.
    """
    found = best_of_each_role(league, name)
    first, known = outgoing.best is None, outgoing.best or []
    new = {role: one for role, one in found.items() if one.record.snapshot_id not in known}
    outgoing.best = [*known, *(one.record.snapshot_id for one in new.values())]
    if first:
        return []
    return [
        Happening(
            "best",
            {
                "role": role,
                "player": one.label,
                "snapshot": one.record.snapshot_id,
                "frames": one.record.frames,
            },
        )
        for role, one in new.items()
    ]
