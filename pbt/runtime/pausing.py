"""Rest: workers stop between two turns, learners finish the batches that they have gathered.

Checkpoints are taken and configurations edited only while a run rests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pbt.errors import EngineError
from pbt.processes.watched_time import WatchedTime
from pbt.runtime.control import Go, Pause, Paused
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.process_group import ProcessGroup

REST_TIMEOUT_S = 60.0


class Rest:
    """Brings the processes of a run to rest, and lets them go on.

    answers  worker -> what it said when it came to rest
    """

    def __init__(
        self,
        processes: ProcessGroup,
        scheduler: LearnerScheduler,
        turn_s: float,
        turn: Callable[[], None],
        produced: Callable[[], int],
    ) -> None:
        """Connect it.

        turn_s    how long a worker's turn may take
        turn      one turn of the main loop
        produced  rows so far: while they grow, a rollout goes on
        """
        self._processes, self._scheduler = processes, scheduler
        self._limit_s, self._turn, self._produced = REST_TIMEOUT_S + turn_s, turn, produced
        self.answers: dict[str, Paused] = {}
        # The number of the newest attempt, which the answers to it repeat.
        self._attempt = 0

    def answered(self, name: str, message: Paused) -> None:
        """Keep a worker's answer, unless it is one to an earlier attempt."""
        if message.rest == self._attempt:
            self.answers[name] = message

    @property
    def complete(self) -> bool:
        """Whether every worker has answered and no learner has anything to do."""
        answered = self.answers.keys() >= set(self._processes.workers())
        return answered and self._scheduler.idle

    @contextmanager
    def held(self) -> Iterator[None]:
        """See `Engine.at_rest`."""
        if self._scheduler.resting:
            yield
            return
        self._scheduler.resting = True
        self._attempt += 1
        try:
            if self._processes.children or not self._scheduler.idle:
                self._come_to_rest()
            yield
        finally:
            self._scheduler.resting = False
            self.answers.clear()
            # Workers that have not answered yet hear it too: they will answer, and go on.
            if self._processes.plane_is_ready:
                self._processes.tell_workers(Go())

    def _come_to_rest(self) -> None:
        """Wait for the end of a rollout, and for the learners before the workers.

        The last updates of learners change the states of the workers.

        A process that dies meanwhile is started again as always, and asked to rest like the others.
        """
        watched, asked, rows = WatchedTime(), set[int](), self._produced()
        while not self.complete:
            # A worker hears its first Go when all of the plane is ready. A Pause sent before that
            # would be undone by it.
            between = self._scheduler.pacing.between_rollouts
            if between and self._scheduler.idle and self._processes.plane_is_ready:
                for name in self._processes.workers():
                    if (pid := self._processes.children[name].pid) not in asked:
                        asked.add(pid)
                        self._processes.send(name, Pause(self._attempt))
            self._turn()
            if not between and (produced := self._produced()) > rows:
                watched, rows = WatchedTime(), produced
            if watched.look() > self._limit_s:
                moving = sorted(set(self._processes.workers()) - self.answers.keys())
                raise EngineError(
                    f"the run did not come to rest within {self._limit_s:.0f} s: "
                    f"{', '.join(moving or ['a learner'])} still at work"
                )
