"""When a policy server runs which policy: one queue per policy, pure; time is passed in.

A queue is due when it holds as many rows as arrive for it during one forward pass, or when its
oldest row waited for one forward pass. Under load the batch therefore grows to what the server can
bear; without load nobody waits for company that does not come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pbt.inference.requests import Incoming
from pbt.transport.messages import ActionRequest

MAX_WAIT_S = 0.3e-3
# Weight of the newest observation in the running means.
_NEWEST = 0.1


class Key(NamedTuple):
    """What rows must share to be acted on together."""

    policy: int
    role: int
    greedy: bool


@dataclass(slots=True)
class _Queue:
    """taken_s: when it was emptied last, negative for never. arrived, interval_s: running means
    of rows taken at once and of seconds between.
    """

    incoming: list[Incoming] = field(default_factory=list)
    rows: int = 0
    oldest_s: float = 0.0
    taken_s: float = -1.0
    arrived: float = 0.0
    interval_s: float = 0.0


class RequestQueues:
    """Requests that wait, by (policy, role, greedy); within one in the order of their arrival."""

    def __init__(self, max_wait_s: float = MAX_WAIT_S) -> None:
        self._max_wait_s = max_wait_s
        self._queues: dict[Key, _Queue] = {}
        # Those that hold something, the one whose oldest request came first in front.
        self._waiting: dict[Key, _Queue] = {}
        self._forward_s = 0.0

    @property
    def rows(self) -> int:
        """All rows that wait."""
        return sum(queue.rows for queue in self._waiting.values())

    @property
    def patience_s(self) -> float:
        """How long a row may wait for company."""
        return max(self._max_wait_s, self._forward_s)

    def target(self, key: Key) -> int:
        """Rows that arrive for this queue during one forward pass, by what was seen so far; 0
        before anything was.
        """
        queue = self._queues.get(key)
        return (
            round(queue.arrived * self._forward_s / queue.interval_s)
            if queue is not None and queue.interval_s
            else 0
        )

    def add(self, incoming: Incoming, now_s: float) -> None:
        """A request arrived."""
        request = incoming.request
        key = Key(request.policy, request.role, request.greedy)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue()
        if not queue.incoming:
            queue.oldest_s = now_s
            self._waiting[key] = queue
        queue.incoming.append(incoming)
        queue.rows += len(request.slots)

    def due(self, now_s: float) -> list[Key]:
        """Queues to be served now, the longest waiting first."""
        return [
            key
            for key, queue in self._waiting.items()
            if now_s >= queue.oldest_s + self.patience_s or queue.rows >= self.target(key)
        ]

    def wait_s(self, now_s: float) -> float:
        """Seconds until something is due if nothing arrives; infinite while nothing waits."""
        if not self._waiting:
            return float("inf")
        if self.due(now_s):
            return 0.0
        return next(iter(self._waiting.values())).oldest_s + self.patience_s - now_s

    def take(self, key: Key, now_s: float) -> list[Incoming]:
        """Everything that waits in one queue, oldest first."""
        queue = self._waiting.pop(key)
        incoming, queue.incoming = queue.incoming, []
        if queue.taken_s >= 0:
            queue.arrived = _mean(queue.arrived, queue.rows)
            queue.interval_s = _mean(queue.interval_s, now_s - queue.taken_s)
        queue.rows, queue.taken_s = 0, now_s
        return incoming

    def served(self, seconds: float) -> None:
        """One forward pass took so long."""
        self._forward_s = _mean(self._forward_s, seconds)

    def forget(self, policy: int) -> None:
        """The policy is detached; nothing of it waits any more."""
        assert all(key.policy != policy for key in self._waiting)
        self._queues = {key: queue for key, queue in self._queues.items() if key.policy != policy}


def _mean(mean: float, newest: float) -> float:
    """The running mean with one more observation; the first one stands for all before it."""
    return mean + _NEWEST * (newest - mean) if mean else newest


def merge(incoming: Sequence[Incoming]) -> ActionRequest:
    """One request for the rows of several that share a queue, in order."""
    if len(incoming) == 1:
        return incoming[0].request
    requests = [one.request for one in incoming]
    return requests[0]._replace(
        slots=np.concatenate([request.slots for request in requests]),
        rows=np.concatenate([request.rows for request in requests]),
        keys=np.concatenate([request.keys for request in requests]),
        steps=np.concatenate([request.steps for request in requests]),
    )
