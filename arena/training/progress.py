"""The progress of a running training, as plain data for displays: one `Progress` per look."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arena.assessment.answer import Assessment
from arena.training.sink import TrainingSink
from arena.training.strengths import Strength
from pbt.objective import ObjectiveKind
from pbt.runtime.engine import Engine, ProcessStatus

RATE_WINDOW_S = 10.0
RATINGS_EVERY_S = 10.0
# A fit takes longer the more snapshots there are. Between two fits passes this many times as long
# as one took: on a small machine the time is that of games, and half a per cent of it is enough.
RATING_PAUSES = 200
DOWN = "down"


@dataclass(frozen=True)
class MemberProgress:
    """The progress of one member.

    name             of the member
    role             that it plays
    frames           on its clock
    frames_per_s     over the last seconds
    objective        the value that PBT ranks
    games            number of games that the objective is taken over
    rating           the strength of its newest snapshot that has one; None before any
    copies           how often it copied another member
    last_event       the newest event in words
    finished         it has reached its stop
    failed           its learner failed for good
    updates          optimiser steps that were taken since the population began
    refused_updates  steps that were not taken, because a loss or a gradient was not finite
    failure          why it failed; "" while it has not
    """

    name: str
    role: str
    frames: int
    frames_per_s: float
    objective: float
    games: int
    rating: Strength | None
    copies: int
    last_event: str
    finished: bool
    failed: bool = False
    updates: int = 0
    refused_updates: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Progress:
    """The progress of a population.

    elapsed_s         since this start of it
    frames            of all members, each counted up to its stop
    target_frames     frames of all members at their stop
    frames_per_s      of all members, over the last seconds
    eta_s             until the target; None until the speed is known
    training_games    number of training games so far
    evaluation_games  number of evaluation games so far
    members           one by one
    closing           (games over, games planned) of the evaluation at the end; None before it, and
                      where there is none
    trouble           why results are not stored at the moment; None when they are
    restarts          the processes that are down or were started again, in words; None for none
    ranked_by         the objective by which PBT ranks
    ahead             games that the evaluation at the end will have; 0 once it has begun
    wiring            what the parts of the run do not agree on (`pbt.population.certifier`), in
                      words; None when all agree
    warnings          about the run and its games, since this start of it, oldest first
    assessment        what may be said of the population; None before the first look
    """

    elapsed_s: float
    frames: int
    target_frames: int
    frames_per_s: float
    eta_s: float | None
    training_games: int
    evaluation_games: int
    members: tuple[MemberProgress, ...]
    closing: tuple[int, int] | None
    trouble: str | None
    restarts: str | None = None
    ranked_by: ObjectiveKind = "win"
    ahead: int = 0
    wiring: str | None = None
    warnings: tuple[str, ...] = ()
    assessment: Assessment | None = None

    @property
    def share(self) -> float:
        """Frames as a share of the target, at most 1."""
        return min(1.0, self.frames / self.target_frames)


class ProgressMeter:
    """Reads an engine's progress, measures speeds over the last seconds, refits and assesses."""

    def __init__(
        self, engine: Engine, sink: TrainingSink, assess: Callable[[], Assessment | None]
    ) -> None:
        """assess: gives what may be said of the population now; None while it cannot be read"""
        self._engine, self._sink, self._assess = engine, sink, assess
        self._assessment: Assessment | None = None
        self._started = time.monotonic()
        self._marks: deque[tuple[float, dict[str, int]]] = deque()
        self._strengths: Mapping[str, Strength] = {}
        self._rated_by: ObjectiveKind | None = None
        self._rate_from = -math.inf

    def read(self, *, refit: bool = False) -> Progress:
        """The progress now. refit: rate from all games so far, even if that was just done."""
        now, engine = time.monotonic(), self._engine
        ranked_by = engine.controller.window.objective
        frames = engine.clocks()
        self._marks.append((now, frames))
        while len(self._marks) > 2 and now - self._marks[1][0] > RATE_WINDOW_S:
            self._marks.popleft()
        if refit or now >= self._rate_from or ranked_by != self._rated_by:
            self._strengths, self._rated_by = self._sink.strengths(ranked_by), ranked_by
            self._assessment = self._assess() or self._assessment
            took_s = time.monotonic() - now
            self._rate_from = now + max(RATINGS_EVERY_S, RATING_PAUSES * took_s)
        since, earlier = self._marks[0]
        seconds = max(now - since, 1e-9)
        rates = {name: (count - earlier[name]) / seconds for name, count in frames.items()}
        stop, total = engine.config.stop_at_frames, sum(rates.values())
        done, target = sum(min(count, stop) for count in frames.values()), stop * len(frames)
        closing = engine.closing()
        return Progress(
            elapsed_s=now - self._started,
            frames=done,
            target_frames=target,
            frames_per_s=total,
            eta_s=(target - done) / total if total > 0 else None,
            training_games=engine.games["training"],
            evaluation_games=engine.games["evaluation"],
            members=tuple(self._member(name, frames[name], rates[name]) for name in frames),
            closing=closing
            if engine.controller.finished and engine.config.evaluation.final_games
            else None,
            trouble=self._sink.trouble,
            restarts=restarts_text(engine.processes()),
            ranked_by=ranked_by,
            ahead=0 if engine.controller.finished else closing[1],
            wiring=engine.controller.certifier.summary,
            warnings=tuple(self._sink.warnings),
            assessment=self._assessment,
        )

    def _member(self, name: str, frames: int, rate: float) -> MemberProgress:
        controller = self._engine.controller
        member, score = controller.members[name], controller.window.mean(name)
        return MemberProgress(
            name,
            member.role,
            frames,
            rate,
            score.objective,
            score.games,
            self._strengths.get(name),
            member.copies,
            member.last_event,
            member.finished,
            member.failed,
            member.updates,
            member.refused_updates,
            member.failure,
        )


def restarts_text(processes: Sequence[ProcessStatus]) -> str | None:
    """Text such as "down: worker-0; restarted: worker-0 twice"; None when no process restarted."""
    down = ", ".join(process.name for process in processes if process.state == DOWN)
    again = ", ".join(
        f"{process.name} {times(process.restarts)}" for process in processes if process.restarts
    )
    return "; ".join([f"down: {down}"] * bool(down) + [f"restarted: {again}"] * bool(again)) or None


def times(count: int) -> str:
    """A count in words: "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
