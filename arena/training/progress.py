"""What a running training looks like from outside, as plain data: one `Progress` per look."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.training.sink import TrainingSink
from pbt.population.scores import Objective
from pbt.runtime.engine import Engine, ProcessStatus

RATE_WINDOW_S = 10.0
RATINGS_EVERY_S = 5.0
DOWN = "down"


@dataclass(frozen=True)
class MemberProgress:
    """objective: what PBT ranks, over `games` games; rating: of its newest rated snapshot, Elo
    above "random" with its 95 % interval.
    """

    name: str
    role: str
    frames: int
    frames_per_s: float
    objective: float
    games: int
    rating: tuple[float, float, float] | None
    copies: int
    last_event: str
    finished: bool
    failed: bool = False


@dataclass(frozen=True)
class Progress:
    """elapsed_s: of this start; eta_s: None until the speed is known.

    closing   (games over, games planned) of the evaluation at the end, None before it and where
              there is none
    ahead     games that evaluation will have, while somebody still learns; 0 afterwards
    trouble   what keeps results from being kept, None when nothing does
    restarts  in words, which processes are down or were started again; None when none
    ranked_by  what the members' objective is: "wins", or in games of one seat "return"
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
    ranked_by: Objective = "wins"
    ahead: int = 0

    @property
    def share(self) -> float:
        return min(1.0, self.frames / self.target_frames)


class ProgressMeter:
    """Measures speeds over the last seconds and refits ratings now and then."""

    def __init__(self, engine: Engine, sink: TrainingSink) -> None:
        self._engine, self._sink = engine, sink
        self._started = time.monotonic()
        self._marks: deque[tuple[float, dict[str, int]]] = deque()
        self._ratings: Mapping[str, tuple[float, float, float]] = {}
        self._rated = -RATINGS_EVERY_S

    def read(self, *, refit: bool = False) -> Progress:
        """Take a look. refit: rate from all games seen so far, however short ago that was done."""
        now, engine = time.monotonic(), self._engine
        frames = engine.clocks()
        self._marks.append((now, frames))
        while len(self._marks) > 2 and now - self._marks[1][0] > RATE_WINDOW_S:
            self._marks.popleft()
        if refit or now - self._rated >= RATINGS_EVERY_S:
            self._rated = now
            self._ratings = self._rate()
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
            ranked_by=engine.controller.window.objective,
            ahead=0 if engine.controller.finished else closing[1],
        )

    def _member(self, name: str, frames: int, rate: float) -> MemberProgress:
        controller = self._engine.controller
        member, score = controller.members[name], controller.window.score(name)
        rating = self._ratings.get(name)
        return MemberProgress(
            name,
            member.role,
            frames,
            rate,
            score.objective,
            score.games,
            rating,
            member.copies,
            member.last_event,
            member.finished,
            member.failed,
        )

    def _rate(self) -> dict[str, tuple[float, float, float]]:
        """Member -> the rating of its newest snapshot that has one."""
        ratings, newest = self._sink.ratings(), {}
        for snapshot in self._sink.snapshots:
            rating = ratings.get(snapshot.snapshot_id)
            if (
                rating is not None
                and rating.elo is not None
                and rating.low is not None
                and rating.high is not None
            ):
                newest[snapshot.member] = (rating.elo, rating.low, rating.high)
        return newest


def restarts_text(processes: Sequence[ProcessStatus]) -> str | None:
    """ "down: worker-0; restarted: worker-0 twice"; None when every process lives its first
    life.
    """
    down = ", ".join(process.name for process in processes if process.state == DOWN)
    again = ", ".join(
        f"{process.name} {times(process.restarts)}" for process in processes if process.restarts
    )
    return "; ".join([f"down: {down}"] * bool(down) + [f"restarted: {again}"] * bool(again)) or None


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
