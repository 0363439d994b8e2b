"""The rules for a job: what to do next, from what is wanted and what was seen. Pure.

A job is a training of a population or a match that was requested. One table serves both.
"""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from arena.data.ending import Ending
from arena.league.operations import Kind, OperationState
from arena.league.supervised import ENDED, Desired

Action = Literal["none", "start", "stop", "kill", "delete"]
Disk = Literal["ok", "soft", "hard"]
How = Literal["finished", "left", "quit", "broke"]
Reason = Literal[
    "config",
    "cuda_oom",
    "oom_killed",
    "killed",
    "game",
    "crashed",
    "held",
    "lost",
    "disk",
    "queue",
    "edit",
    "delete",
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a job.

    desired  what was requested last, None before any request
    state    the state that was recorded last
    """

    desired: Desired | None
    state: str


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended, and why.

    how      "finished": its work is done; "left": it saved and goes on when it is started again,
             with reason "held" once another process has ended; "quit": it saved, because another
             program asked it, or a training that it needs, to stop; "broke": by a fault
    reason   why, as a word for programs
    message  why, for people
    lasting  a new start would end the same way
    """

    how: How
    reason: Reason | None = None
    message: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one job.

    running  this service's own process works on it
    ready    that process has reported that it works
    outside  pid of another process that works on it, None when there is none
    leaving  a request that ends it is not done yet
    asked_s  seconds since its process was asked to stop, None when it was not asked
    grace_s  how long that may take
    edited   there are edits that its process does not know
    wait_s   seconds until it may be started again, after it ended by itself
    ends     how often its process ended by itself since its last progress
    held     why its process could not work while another process does; it tries again
    end      how its process ended since the last look, None when it did not
    """

    running: bool = False
    ready: bool = False
    outside: int | None = None
    leaving: bool = False
    asked_s: float | None = None
    grace_s: float = 0.0
    edited: bool = False
    wait_s: float = 0.0
    ends: int = 0
    held: str = ""
    end: End | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """What the machine has left for a job.

    place         there is room among the jobs of its kind
    disk          "ok", "soft" (nothing new starts) or "hard" (everything stops)
    max_restarts  how often its process may end by itself without progress in between
    """

    place: bool = True
    disk: Disk = "ok"
    max_restarts: int = 5


@dataclass(frozen=True, slots=True)
class Ruling:
    """What to do about a job.

    action   for its process
    state    to be recorded
    reason   why, as a word for programs
    message  why, for people
    settle   what is desired from now on; None to leave it as it is
    """

    action: Action
    state: str
    reason: Reason | None = None
    message: str = ""
    settle: Desired | None = None


def decide(wanted: Wanted, seen: Seen, room: Room) -> Ruling | None:
    """The next step, None to leave everything as it is."""
    if seen.end is not None:
        after = _after_end(wanted.desired, seen.end, seen, room)
        if after is not None:
            return after
    if seen.running:
        return _while_running(wanted.desired, seen, room)
    if wanted.desired is None or (wanted.state in ENDED and wanted.desired != "deleted"):
        return None
    if wanted.desired == "running":
        return _to_start(seen, room)
    return _to_rest(wanted.desired, wanted.state, seen)


def _after_end(desired: Desired | None, end: End, seen: Seen, room: Room) -> Ruling | None:
    """What the end of its process means, None where the job is as if it had not run."""
    if end.how == "finished":
        if seen.edited:
            again = "reached its stop, and was edited meanwhile: starts again"
            return Ruling("none", "starting", "edit", again)
        return Ruling("none", "finished", None, end.message, settle="stopped")
    if end.how == "quit":
        settle: Desired | None = "stopped" if desired == "running" else None
        return Ruling("none", "stopped", None, end.message, settle)
    if end.how == "left" or desired != "running":
        return None
    if end.lasting:
        return Ruling("none", "failed", end.reason, end.message)
    if seen.ends > room.max_restarts:
        often = f"{seen.ends} times in a row without progress; the last: {end.message}"
        return Ruling("none", "failed", end.reason, often)
    return Ruling("none", "recovering", end.reason, end.message)


def _to_rest(desired: Desired, state: str, seen: Seen) -> Ruling | None:
    if seen.outside is not None:
        # It is asked to stop only once per operation: afterwards a person may train it by hand
        # again.
        return Ruling(
            "stop" if seen.leaving and seen.asked_s is None else "none",
            "stopping" if seen.leaving or desired == "deleted" else "running",
            "held",
            f"held by process {seen.outside}, which this service did not start",
        )
    if desired == "deleted":
        return Ruling("delete", "deleting", "delete", "its rows and files are being removed")
    if desired == "stopped" and state in ("created", "stopped"):
        return None
    return Ruling(
        "none", desired, None, "saved, its processes are gone" if desired == "paused" else ""
    )


def _while_running(desired: Desired | None, seen: Seen, room: Room) -> Ruling:
    if desired == "running" and seen.asked_s is None and room.disk != "hard":
        if seen.edited:
            return Ruling(
                "stop", "starting", "edit", "saves, and starts again with what was edited"
            )
        if seen.ready:
            return Ruling("none", "running")
        if seen.ends:
            return Ruling("none", "recovering", "crashed", "its processes start again")
        return Ruling("none", "starting", None, "its processes start")
    reason, message = _why_stopping(desired, room.disk)
    if seen.asked_s is None:
        return Ruling("stop", "stopping", reason, message)
    if seen.asked_s > seen.grace_s:
        return Ruling("kill", "stopping", reason, f"killed: not done after {seen.grace_s:.0f} s")
    return Ruling("none", "stopping", reason, message)


def _why_stopping(desired: Desired | None, disk: Disk) -> tuple[Reason | None, str]:
    if desired == "running":
        return (
            ("disk", "too little free space: saves and waits")
            if disk == "hard"
            else ("edit", "saves, and starts again with what was edited")
        )
    return ("delete" if desired == "deleted" else None), "saves"


def _to_start(seen: Seen, room: Room) -> Ruling:
    if seen.outside is not None:
        return Ruling(
            "none", "starting", "held", f"held by process {seen.outside}: waits until that ends"
        )
    if room.disk != "ok":
        return Ruling("none", "queued", "disk", "waits for free space")
    if seen.wait_s > 0 and seen.ends:
        ended = f"ended by itself {seen.ends} times; starts again soon"
        return Ruling("none", "recovering", "crashed", ended)
    if seen.wait_s > 0:
        return Ruling("none", "starting", "held", f"{seen.held}: tries again soon")
    if not room.place:
        return Ruling("none", "queued", "queue", "waits for its turn")
    return Ruling("start", "recovering" if seen.ends else "starting", None, "its processes start")


def outcome(kind: Kind, state: str, seen: Seen) -> OperationState:
    """The state of an operation, from the recorded state of its population.

    A deletion sets its own state when it ends.
    """
    at_rest = not seen.running and seen.outside is None
    match kind:
        case "delete":
            return "RUNNING"
        case "start" | "resume":
            done: dict[str, OperationState] = {
                "running": "SUCCEEDED",
                "finished": "SUCCEEDED",
                "failed": "FAILED",
                "queued": "PENDING",
            }
            return done.get(state, "RUNNING")
        case _:
            return (
                "SUCCEEDED"
                if at_rest and state in ("stopped", "paused", "created", "finished", "failed")
                else "RUNNING"
            )


# --- why a trainer ended --------------------------------------------------------------------------

USAGE = 2


def why_it_ended(
    code: int, output: Sequence[str], ending: Ending | None = None, *, out_of_memory: bool = False
) -> End:
    """The reason, from the exit code (negative for a signal) and what the process has left.

    output  the last lines that it wrote
    ending  the error that ended it, None without one
    """
    text = "\n".join(output)
    last = next(
        (line.strip() for line in reversed(output) if line.startswith("error")),
        output[-1].strip() if output else "it wrote nothing",
    )
    if "CUDA out of memory" in text:
        return End(
            "broke",
            "cuda_oom",
            f"{last}; lower learning.batch_steps, sampling.environments or the number of members",
        )
    if code == -signal.SIGKILL and out_of_memory:
        return End(
            "broke",
            "oom_killed",
            (
                "killed, because memory ran out; lower sampling.environments, the number of "
                "members or of workers"
            ),
        )
    if code < 0:
        return End("broke", "killed", f"killed by {signal.Signals(-code).name}")
    if code == USAGE:
        return End("broke", "config", last, lasting=True)
    if ending is None:
        return End("broke", "crashed", last)
    if ending.cause == "held":
        return End("left", "held", last)
    if ending.cause == "stopped":
        return End("quit", None, last)
    return End("broke", ending.cause, last, lasting=ending.lasting)


def backoff_s(ends: int, first_s: float, longest_s: float, jitter: float) -> float:
    """Seconds to wait before the next start: they double with every end, from first_s to longest_s.

    jitter  in [0, 1); it adds up to a quarter, so that many trainers do not start at one moment
    """
    return float(min(longest_s, first_s * 2 ** max(0, ends - 1)) * (1 + jitter / 4))
