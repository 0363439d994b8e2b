"""A worker process's share of the crank: while one group of tables waits for its actions the
next one is stepped.
"""

import time
from collections.abc import Sequence

from pbt.errors import EngineError
from pbt.inference.client import Inference
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.transport.board import Row
from pbt.transport.messages import ActionsReady, RolloutPermit, WorkerMessage

# Nobody hears from a process that waits, so it does not wait longer than this at a time.
_LONGEST_WAIT_S = 0.1


class Sampler:
    """Turns the groups of one process.

    A turn plays the answers of one group only, and the next turn asks for that group's next actions
    before it plays those of another: groups that were answered together would else be stepped
    together and then wait together, for ever.

    With one group and an inference that answers at once, a turn is that of `RolloutWorker`, in the
    same order. Seconds go to the row: `simulate_s` (seating, stepping, taking actions), `infer_s`
    (asking: acting itself where inference is local), `wait_s`.

    hold      start nothing new; what was asked is still taken and played
    stalled   the last turn found nothing to do: every group waits for permits, for games, or is
              held
    """

    def __init__(self, groups: Sequence[RolloutWorker], inference: Inference, row: Row) -> None:
        self.groups = tuple(groups)
        self.hold = False
        self.stalled = False
        self._inference, self._row = inference, row
        # By group: answers that have come and are not played yet, those of the group that was
        # answered first in front.
        self._answers: dict[int, list[ActionsReady]] = {}
        # policy -> generation, by group: to be told once it is at rest
        self._deferred: list[dict[int, int]] = [{} for _ in self.groups]
        self._since_s = 0.0

    def turn(self, timeout_s: float) -> list[WorkerMessage]:
        """Start every group that waits for no answer and has the slots, then play answers; wait
        for them only when no group could be started.
        """
        self._since_s = time.monotonic()
        self._row.enter("simulating")
        started, asked = [], 0
        if not self.hold:
            for index, group in enumerate(self.groups):
                if not self._waits(index) and group.can_turn:
                    asked += self._start(index)
                    started.append(index)
        messages = self._play(0.0 if started else timeout_s, started)
        self.stalled = (
            not (asked or messages or any(self.groups[index].waiting for index in started))
            and self.at_rest()
        )
        return messages

    def drain(self, timeout_s: float) -> list[WorkerMessage]:
        """Take what was asked, start nothing. Whether that brought the groups to rest within the
        time, `at_rest` says.
        """
        deadline_s = time.monotonic() + timeout_s
        messages: list[WorkerMessage] = []
        while not self.at_rest() and (left_s := deadline_s - time.monotonic()) > 0:
            self._since_s = time.monotonic()
            messages += self._play(left_s, [])
        return messages

    def at_rest(self) -> bool:
        """No group waits for an answer: a cut may be made."""
        return not any(self._waits(index) for index in range(len(self.groups)))

    def regenerate(self, policy: int, generation: int) -> None:
        """The policy's weights were replaced. Each group learns it as soon as it waits for no
        answer, before it asks or seats anybody.
        """
        for index in range(len(self.groups)):
            self._deferred[index][policy] = generation
            self._settle(index)

    def permit(self, permit: RolloutPermit) -> None:
        """A slot comes back from a learner, to the group that owns it. Raises: EngineError when
        none does.
        """
        for group in self.groups:
            if permit.slot in group.share.slots[permit.role]:
                group.permit(permit)
                return
        raise EngineError(
            f"slot {permit.slot} of role {permit.role} came back to a worker that does not own it"
        )

    def _start(self, index: int) -> int:
        """Ask for the actions of a group's rows; returns the number of requests."""
        requests = self.groups[index].requests()
        self._lap("simulate_s")
        for request in requests:
            self._row.enter("inferring")
            self._inference.send(index, request)
        self._lap("infer_s")
        return len(requests)

    def _play(self, timeout_s: float, started: Sequence[int]) -> list[WorkerMessage]:
        """Let one group take its answers and go on; groups just started do so too, since
        openings are played unasked.
        """
        self._poll(0.0 if self._answers else min(timeout_s, _LONGEST_WAIT_S))
        answered = next(iter(self._answers), None)
        touched = [*started]
        if answered is not None:
            for ready in self._answers.pop(answered):
                self.groups[answered].receive(ready)
            touched = list(dict.fromkeys([answered, *started]))
        messages: list[WorkerMessage] = []
        for index in touched:
            messages += self.groups[index].advance()
            self._settle(index)
        self._lap("simulate_s")
        return messages

    def _poll(self, timeout_s: float) -> None:
        if timeout_s:
            self._row.enter("waiting")
        for index, ready in self._inference.poll(timeout_s):
            self._answers.setdefault(index, []).append(ready)
        self._lap("wait_s")
        self._row.enter("simulating")

    def _waits(self, index: int) -> bool:
        """The group has rows that were asked for and not played yet."""
        return index in self._answers or self._inference.outstanding(index) > 0

    def _settle(self, index: int) -> None:
        """Tell a group at rest of the generations that began meanwhile."""
        if self._deferred[index] and not self._waits(index):
            deferred, self._deferred[index] = self._deferred[index], {}
            for policy, generation in deferred.items():
                self.groups[index].regenerate(policy, generation)

    def _lap(self, column: str) -> None:
        """The time since the last call went to this column."""
        now_s = time.monotonic()
        self._row.add(column, now_s - self._since_s)
        self._since_s = now_s
