"""The rules for a population: what to do next, from what is wanted and what is known. Pure."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from arena.league.supervised import ENDED, Desired

Action = Literal["none", "start", "stop", "kill", "delete"]
Disk = Literal["ok", "soft", "hard"]
Reason = Literal[
    "config",
    "cuda_oom",
    "oom_killed",
    "killed",
    "game",
    "crashed",
    "held",
    "disk",
    "queue",
    "edit",
    "delete",
]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one population.

    running  this service's own trainer is alive
    ready    that trainer has reported that it trains
    outside  pid of another process that trains the population, None when there is none
    leaving  an operation that ends the training is not done yet
    asked_s  seconds since its trainer was asked to stop, None when it was not asked
    grace_s  how long that may take
    edited   there are edits that the running trainer does not know
    wait_s   seconds until it may be started again, after it ended by itself
    ends     how often its trainer ended by itself since its last new checkpoint
    place    there is room among the populations that train
    disk     "ok", "soft" (nothing new starts) or "hard" (everything stops)
    """

    running: bool
    ready: bool
    outside: int | None
    leaving: bool
    asked_s: float | None
    grace_s: float
    edited: bool
    wait_s: float
    ends: int
    place: bool
    disk: Disk


@dataclass(frozen=True, slots=True)
class Ruling:
    """What to do about a population.

    action   for its trainer
    state    to be recorded
    reason   why, as a word for programs
    message  why, for people
    """

    action: Action
    state: str
    reason: Reason | None = None
    message: str = ""


def decide(desired: Desired | None, state: str, facts: Facts) -> Ruling | None:
    """The next step, None to leave everything as it is. state: as it was recorded last."""
    if facts.running:
        return _while_running(desired, facts)
    if desired is None or (state in ENDED and desired != "deleted"):
        return None
    if desired == "running":
        return _to_start(facts)
    if facts.outside is not None:
        # It is asked to stop only once per operation: afterwards a person may train it by hand
        # again.
        state = "stopping" if facts.leaving or desired == "deleted" else "running"
        return Ruling(
            "none",
            state,
            "held",
            f"process {facts.outside} trains it, which this service did not start",
        )
    if desired == "deleted":
        return Ruling("delete", "deleting", "delete", "its rows and files are being removed")
    if desired == "stopped" and state in ("created", "stopped"):
        return None
    return Ruling(
        "none", desired, None, "saved, its processes are gone" if desired == "paused" else ""
    )


def _while_running(desired: Desired | None, facts: Facts) -> Ruling:
    if desired == "running" and facts.asked_s is None and facts.disk != "hard":
        if facts.edited:
            return Ruling(
                "stop", "starting", "edit", "saves, and starts again with what was edited"
            )
        if facts.ready:
            return Ruling("none", "running")
        if facts.ends:
            return Ruling("none", "recovering", "crashed", "its processes start again")
        return Ruling("none", "starting", None, "its processes start")
    reason, message = _why_stopping(desired, facts)
    if facts.asked_s is None:
        return Ruling("stop", "stopping", reason, message)
    if facts.asked_s > facts.grace_s:
        return Ruling("kill", "stopping", reason, f"killed: not done after {facts.grace_s:.0f} s")
    return Ruling("none", "stopping", reason, message)


def _why_stopping(desired: Desired | None, facts: Facts) -> tuple[Reason | None, str]:
    if desired == "running":
        return (
            ("disk", "too little free space: saves and waits")
            if facts.disk == "hard"
            else ("edit", "saves, and starts again with what was edited")
        )
    return ("delete" if desired == "deleted" else None), "saves"


def _to_start(facts: Facts) -> Ruling:
    if facts.outside is not None:
        return Ruling(
            "none", "starting", "held", f"waits for process {facts.outside}, which still trains it"
        )
    if facts.disk != "ok":
        return Ruling("none", "queued", "disk", "waits for free space")
    if facts.wait_s > 0:
        return Ruling(
            "none",
            "recovering",
            "crashed",
            f"ended by itself {facts.ends} times; starts again soon",
        )
    if not facts.place:
        return Ruling("none", "queued", "queue", "waits until another population stops")
    return Ruling("start", "recovering" if facts.ends else "starting", None, "its processes start")


# --- why a trainer ended --------------------------------------------------------------------------

USAGE = 2
ALL_FAILED = "every member failed"


@dataclass(frozen=True, slots=True)
class End:
    """Why a trainer ended.

    reason   as a word for programs
    message  for people
    lasting  a new start would end the same way
    """

    reason: Reason
    message: str
    lasting: bool = False


def why_it_ended(code: int, output: Sequence[str], *, out_of_memory: bool = False) -> End:
    """The reason, from the exit code (negative for a signal) and the last lines of the output."""
    text = "\n".join(output)
    last = next(
        (line.strip() for line in reversed(output) if line.startswith("error")),
        output[-1].strip() if output else "it wrote nothing",
    )
    if "CUDA out of memory" in text:
        return End(
            "cuda_oom",
            f"{last}; lower learning.batch_steps, sampling.environments or the number of members",
        )
    if code == -signal.SIGKILL and out_of_memory:
        return End(
            "oom_killed",
            (
                "killed, because memory ran out; lower sampling.environments, the number of "
                "members or of workers"
            ),
        )
    if code < 0:
        return End("killed", f"killed by {signal.Signals(-code).name}")
    if code == USAGE:
        return End("config", last, lasting=True)
    if ALL_FAILED in text:
        # Each start of it saves, so that a new one would be tried for ever.
        return End("crashed", last, lasting=True)
    if any(error in text for error in ("EnvError", "EnvCrash", "NumberError")):
        return End("game", last)
    return End("crashed", last)


def backoff_s(ends: int, first_s: float, longest_s: float, jitter: float) -> float:
    """Seconds to wait before the next start: they double with every end, from first_s to longest_s.

    jitter  in [0, 1); it adds up to a quarter, so that many trainers do not start at one moment
    """
    return float(min(longest_s, first_s * 2 ** max(0, ends - 1)) * (1 + jitter / 4))
