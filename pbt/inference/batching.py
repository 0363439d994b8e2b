"""Dynamic batching: decides which policy a server runs next, and with which requests.

Every policy has a queue. A queue is due when it holds as many rows as arrive for it during one
forward pass, or when its oldest row has waited for one forward pass. So batches grow under load,
and without load no request waits for others that do not come. Nothing here reads a clock: callers
pass the time.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from pbt.inference.requests import Incoming

# A row may wait this long for others, even where a forward pass is shorter.
MAX_WAIT_S = 0.3e-3
# Weight of the newest observation in the running means.
_NEWEST = 0.1


class Key(NamedTuple):
    """Rows are acted on together when they share all of this."""

    policy: int
    role: int
    greedy: bool


@dataclass(slots=True)
class _Queue:
    """Requests of one key that wait, and how fast they have arrived so far.

    incoming    the requests, oldest first
    rows        their number of rows
    oldest_s    when the oldest one arrived
    taken_s     when the queue was last emptied, negative = never
    arrived     running mean of the rows that were taken at once
    interval_s  running mean of the seconds between two takes
    """

    incoming: list[Incoming] = field(default_factory=list)
    rows: int = 0
    oldest_s: float = 0.0
    taken_s: float = -1.0
    arrived: float = 0.0
    interval_s: float = 0.0


class RequestQueues:
    """The requests that wait: one queue per (policy, role, greedy), in order of arrival."""

    def __init__(self, max_wait_s: float = MAX_WAIT_S) -> None:
        self._max_wait_s = max_wait_s
        self._queues: dict[Key, _Queue] = {}
        # The queues that hold something; the one with the oldest request comes first.
        self._waiting: dict[Key, _Queue] = {}
        self._forward_s = 0.0

    @property
    def rows(self) -> int:
        """Number of rows that wait, in all queues."""
        return sum(queue.rows for queue in self._waiting.values())

    @property
    def patience_s(self) -> float:
        """How long a row may wait for others to join its batch."""
        return max(self._max_wait_s, self._forward_s)

    def target(self, key: Key) -> int:
        """How many rows arrive for this queue during one forward pass, 0 before that is known."""
        queue = self._queues.get(key)
        return (
            round(queue.arrived * self._forward_s / queue.interval_s)
            if queue is not None and queue.interval_s
            else 0
        )

    def add(self, incoming: Incoming, now_s: float) -> None:
        """Queue a request that has arrived."""
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
        """Keys of the queues to serve now, the longest waiting first."""
        return [
            key
            for key, queue in self._waiting.items()
            if now_s >= queue.oldest_s + self.patience_s or queue.rows >= self.target(key)
        ]

    def wait_s(self, now_s: float) -> float:
        """Seconds until a queue is due if no request arrives; infinite while none waits."""
        if not self._waiting:
            return float("inf")
        if self.due(now_s):
            return 0.0
        return next(iter(self._waiting.values())).oldest_s + self.patience_s - now_s

    def take(self, key: Key, now_s: float) -> list[Incoming]:
        """Empty one queue; returns its requests, oldest first."""
        queue = self._waiting.pop(key)
        incoming, queue.incoming = queue.incoming, []
        if queue.taken_s >= 0:
            queue.arrived = _mean(queue.arrived, queue.rows)
            queue.interval_s = _mean(queue.interval_s, now_s - queue.taken_s)
        queue.rows, queue.taken_s = 0, now_s
        return incoming

    def served(self, seconds: float) -> None:
        """Note how long one forward pass took."""
        self._forward_s = _mean(self._forward_s, seconds)

    def forget(self, policy: int) -> None:
        """Drop the queues of a detached policy; none of its requests may wait any more."""
        assert all(key.policy != policy for key in self._waiting)
        self._queues = {key: queue for key, queue in self._queues.items() if key.policy != policy}


def _mean(mean: float, newest: float) -> float:
    """The running mean with one more observation; the first observation is the mean itself."""
    return mean + _NEWEST * (newest - mean) if mean else newest
