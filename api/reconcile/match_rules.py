"""The rules for a requested match: what to do next, decided from its facts. Pure."""

from dataclasses import dataclass
from typing import Literal

from api.reconcile.training_rules import Disk
from arena.league.match_requests import MatchRequestState

Action = Literal["none", "start", "stop", "kill"]
DONE, USAGE, SPOILED, INTERRUPTED = 0, 2, 4, 130
"""Exit codes of `arena.programs.match`."""


@dataclass(frozen=True, slots=True)
class MatchFacts:
    """What is known of one match request.

    cancelled  it was cancelled
    running    this service's own process plays it
    outside    a process of an earlier service still plays it
    asked_s    seconds since its process was asked to stop, None when it was not asked
    grace_s    how long that may take
    wait_s     seconds until it may be started again, after it ended by itself
    place      there is room among the matches that are played
    disk       "ok", "soft" (nothing new starts) or "hard" (everything stops)
    """

    cancelled: bool
    running: bool
    outside: bool
    asked_s: float | None
    grace_s: float
    wait_s: float
    place: bool
    disk: Disk


@dataclass(frozen=True, slots=True)
class MatchDecision:
    """What to do about a match request.

    action   for its process
    state    to be recorded
    message  for people
    """

    action: Action
    state: MatchRequestState
    message: str = ""


def decide_match(facts: MatchFacts) -> MatchDecision:
    """The next step of a match request that is not over."""
    if facts.running:
        return _while_running(facts)
    if facts.outside:
        return MatchDecision("none", "RUNNING", "the process of an earlier service saves")
    if facts.cancelled:
        return MatchDecision("none", "STOPPED", "cancelled; its games stay")
    if facts.disk != "ok":
        return MatchDecision("none", "PENDING", "waits for free space")
    if facts.wait_s > 0:
        return MatchDecision("none", "RUNNING", "its process ended by itself and starts again")
    if not facts.place:
        return MatchDecision("none", "PENDING", "waits for its turn")
    return MatchDecision("start", "RUNNING", "its process starts")


def _while_running(facts: MatchFacts) -> MatchDecision:
    if not facts.cancelled and facts.disk != "hard" and facts.asked_s is None:
        return MatchDecision("none", "RUNNING", "plays")
    message = (
        "is being cancelled"
        if facts.cancelled
        else "too little free space: keeps what it has, and waits"
    )
    if facts.asked_s is None:
        return MatchDecision("stop", "RUNNING", message)
    return MatchDecision("kill" if facts.asked_s > facts.grace_s else "none", "RUNNING", message)


def state_after(code: int, *, cancelled: bool, tries_left: bool) -> MatchRequestState:
    """The state of a match request whose process ended. code: its exit code; negative: a signal."""
    if code == DONE:
        return "SUCCEEDED"
    if code in (USAGE, SPOILED):
        return "FAILED"
    if cancelled:
        return "STOPPED"
    if code == INTERRUPTED:
        return "PENDING"
    return "RUNNING" if tries_left else "FAILED"
