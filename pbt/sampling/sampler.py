"""The sampler steps one group of tables of its process while another group waits for actions."""

import time
from collections.abc import Sequence
from math import inf

from pbt.errors import EngineError
from pbt.inference.client import Inference
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.transport.messages import ActionsReady, RolloutPermit, WorkerMessage
from pbt.transport.process_board import Row

# A process that waits for actions sends nothing and takes no orders meanwhile, so it never waits
# longer than this at once.
_LONGEST_WAIT_S = 0.1


class Sampler:
    """Runs the groups of one process in turns.

    A group is a RolloutWorker with some of the process's tables. It steps their games and writes
    the observations into slots. A turn returns its messages, of which `SlotFull` names a slot whose
    rows a learner may train on.

    A turn plays the answers of one group only. The next turn requests that group's next actions
    before it plays the answers of another group. Otherwise groups that were answered together would
    from then on step together and wait together.

    With one group and an inference that answers at once, a turn is `requests`, `receive` for each
    of them, and `advance`. The row of the process board gets the seconds spent
    on `simulate_s` (seating, stepping, taking actions), on `infer_s` (sending requests, which is
    acting itself where inference is local) and on `wait_s`.

    stalled  the last turn found nothing to do: every group waits for slot releases or for games, or
             has played its turns
    """

    def __init__(self, groups: Sequence[RolloutWorker], inference: Inference, row: Row) -> None:
        self.groups = tuple(groups)
        self.stalled = False
        # By group, the turns that it may still begin.
        self._left = [inf for _ in self.groups]
        self._inference, self._row = inference, row
        # Answers by group that have come and are not played yet; the group that was answered first
        # comes first.
        self._answers: dict[int, list[ActionsReady]] = {}
        # By group: policy -> generation that the group gets once it is at rest.
        self._deferred: list[dict[int, int]] = [{} for _ in self.groups]
        # Whether the last turn played answers.
        self._answered = False
        self._since_s = 0.0

    def play(self, turns: int | None) -> None:
        """Let every group play so many turns from now on; None: without end.

        0: nothing new is requested. The answers that are due are still taken and played.
        """
        self._left = [inf if turns is None else turns for _ in self.groups]
        self.stalled = False

    def turn(self, timeout_s: float) -> list[WorkerMessage]:
        """Start every group with turns left and slots that waits for no answer, then play answers.

        Waits for answers, up to `timeout_s`, only when no group could be started and some are due.
        """
        self._since_s = time.monotonic()
        self._row.enter("simulating")
        started, requests = [], 0
        for index, group in enumerate(self.groups):
            if self._left[index] and not self._waits(index) and group.can_turn:
                self._left[index] -= 1
                requests += self._start(index)
                started.append(index)
        patience_s = 0.0 if requests else timeout_s
        messages = self._play(0.0 if started or self.at_rest() else timeout_s, started, patience_s)
        self.stalled = (
            not (
                requests
                or messages
                or self._answered
                or any(len(self.groups[index].asking.waiting) for index in started)
            )
            and self.at_rest()
        )
        return messages

    @property
    def played(self) -> bool:
        """Every group has played its turns, or can play no more before it gets slots or games."""
        return self.stalled or (not any(self._left) and self.at_rest())

    def drain(self, timeout_s: float) -> list[WorkerMessage]:
        """Play the answers that are due and start nothing, until all groups rest or time is up.

        `at_rest` says afterwards which of the two it was.
        """
        deadline_s = time.monotonic() + timeout_s
        messages: list[WorkerMessage] = []
        while not self.at_rest() and (left_s := deadline_s - time.monotonic()) > 0:
            self._since_s = time.monotonic()
            messages += self._play(left_s, [], left_s)
        return messages

    def at_rest(self) -> bool:
        """No group waits for an answer or a game, so the checkpoint state may be taken."""
        return not any(
            self._waits(index) or group.group.late for index, group in enumerate(self.groups)
        )

    def regenerate(self, policy: int, generation: int) -> None:
        """The policy's weights were replaced.

        Each group is told as soon as it waits for no answer, before its next requests and games.
        """
        for index in range(len(self.groups)):
            self._deferred[index][policy] = generation
            self._settle(index)

    def permit(self, permit: RolloutPermit) -> None:
        """Give a slot that a learner released back to the group that owns it.

        Raises EngineError when none does.
        """
        for group in self.groups:
            if permit.slot in group.share.slots[permit.role]:
                group.permit(permit)
                return
        raise EngineError(
            f"slot {permit.slot} of role {permit.role} was released to a worker that does not own "
            "it; a bug worth reporting"
        )

    def _start(self, index: int) -> int:
        """Request the actions of a group's rows; returns the number of requests."""
        requests = self.groups[index].requests()
        self._lap("simulate_s")
        self._row.enter("inferring")
        self._inference.send(index, requests)
        self._lap("infer_s")
        return len(requests)

    def _play(
        self, timeout_s: float, started: Sequence[int], patience_s: float
    ) -> list[WorkerMessage]:
        """Let one group take its answers and step its tables.

        The groups in `started` step theirs as well, since openings need no answers; and those with
        games that were late take what is done.

        timeout_s   how long to wait for answers
        patience_s  how long to wait for late games, where no answer has come
        """
        self._poll(0.0 if self._answers else min(timeout_s, _LONGEST_WAIT_S))
        answered = next(iter(self._answers), None)
        self._answered = answered is not None
        touched = [*started]
        if answered is not None:
            for ready in self._answers.pop(answered):
                self.groups[answered].receive(ready)
            touched = list(dict.fromkeys([answered, *started]))
        late = [index for index, group in enumerate(self.groups) if group.group.late]
        patience_s = min(patience_s, _LONGEST_WAIT_S) if answered is None else 0.0
        messages: list[WorkerMessage] = []
        for index in dict.fromkeys([*touched, *late]):
            messages += self.groups[index].advance(patience_s)
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
        """The group has requested actions that are not played yet."""
        return index in self._answers or self._inference.outstanding(index) > 0

    def _settle(self, index: int) -> None:
        """Tell a group, if it is at rest, of the generations that began meanwhile."""
        if self._deferred[index] and not self._waits(index):
            deferred, self._deferred[index] = self._deferred[index], {}
            for policy, generation in deferred.items():
                self.groups[index].regenerate(policy, generation)

    def _lap(self, column: str) -> None:
        """Add the time since the last call to this column."""
        now_s = time.monotonic()
        self._row.add(column, now_s - self._since_s)
        self._since_s = now_s
