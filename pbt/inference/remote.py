"""Inference in another process: the worker's side and the policy server's side.

The two sides talk by queues that do not survive the death of a partner, so when one process of the
sampling plane (all workers and policy servers together) dies, all of them are restarted.
"""

import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from pbt.errors import EngineError
from pbt.inference.batching import MAX_WAIT_S, Key, RequestQueues
from pbt.inference.frozen import LoadPolicy, Seated
from pbt.inference.policy_server import PolicyServer
from pbt.inference.requests import (
    Attach,
    Detach,
    Incoming,
    pack_attach,
    pack_detach,
    pack_replies,
    pack_request,
    split_request,
    unpack,
    unpack_replies,
)
from pbt.records import PlayerRef
from pbt.transport.fifo import Fifo
from pbt.transport.messages import ActionRequest, ActionsReady, joined
from pbt.transport.process_board import Row

# Nothing in a healthy sampling plane takes this long. A process that waits longer raises and ends,
# and the sampling plane is restarted.
DEADLINE_S = 30.0


def server_of_member(policy: int, servers: int) -> int:
    """Number of the server that acts for a live member."""
    return policy % servers


def server_of_player(player: PlayerRef, role: int, servers: int) -> int:
    """Number of the server that acts for a frozen player.

    It is the same for all workers, so that the player is loaded once.
    """
    return zlib.crc32(f"{player.kind} {player.name} {role}".encode()) % servers


class RemoteInference:
    """The worker's side: it sends requests to the server that hosts their policy.

    All servers answer through the worker's own queue.
    """

    def __init__(
        self,
        source: int,
        members: int,
        requests: Sequence[Fifo],
        replies: Fifo,
        *,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """source: number by which the servers know this worker.

        members     number of live members, which are the policies 0 to members - 1
        requests    one queue per server
        replies     the worker's own queue
        deadline_s  longest silence of all servers while a request is outstanding
        """
        self._source, self._requests, self._replies, self._deadline_s = (
            source,
            tuple(requests),
            replies,
            deadline_s,
        )
        self._server = {
            policy: server_of_member(policy, len(requests)) for policy in range(members)
        }
        self._pending: dict[int, tuple[int, ActionRequest]] = {}
        self._outstanding: Counter[int] = Counter()
        self._sent = 0
        self._silent_s = 0.0

    def send(self, group: int, requests: Sequence[ActionRequest]) -> None:
        for part in chain.from_iterable(map(split_request, requests)):
            server = self._server[part.policy]
            number = self._sent % 2**32
            self._sent += 1
            self._pending[number] = (group, part)
            self._outstanding[group] += 1
            self._requests[server].put(pack_request(self._source, number, part), self._deadline_s)

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        """See Inference. Raises EngineError after `deadline_s` of waiting without any answer."""
        if not self._pending:
            return []
        started = time.monotonic()
        messages = self._replies.get_many(timeout_s)
        if not messages:
            # Only time spent in this call counts. A process that was stopped for an hour did not
            # wait an hour for the servers.
            self._silent_s += min(time.monotonic() - started, timeout_s)
            if self._silent_s > self._deadline_s:
                raise EngineError(
                    f"worker {self._source}: no policy server answered for "
                    f"{self._deadline_s:g} s; {self._waiting_for()}"
                )
            return []
        self._silent_s = 0.0
        return [self._answer(*reply) for message in messages for reply in unpack_replies(message)]

    def outstanding(self, group: int) -> int:
        return self._outstanding[group]

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None:
        server = self._server[policy] = server_of_player(player, role, len(self._requests))
        self._requests[server].put(
            pack_attach(Attach(self._source, policy, player, role)), self._deadline_s
        )

    def detach(self, policy: int) -> None:
        self._requests[self._server.pop(policy)].put(
            pack_detach(Detach(self._source, policy)), self._deadline_s
        )

    def _answer(self, number: int, version: int, weights: int) -> tuple[int, ActionsReady]:
        if number not in self._pending:
            raise EngineError(
                f"worker {self._source}: got an answer to request {number}, which is not "
                f"outstanding; {self._waiting_for()}"
            )
        group, request = self._pending.pop(number)
        self._outstanding[group] -= 1
        return group, ActionsReady(
            request.policy, request.role, request.slots, request.rows, version, weights
        )

    def _waiting_for(self) -> str:
        policies = sorted({request.policy for _, request in self._pending.values()})
        return f"{len(self._pending)} requests wait, for the policies {policies}"


class PolicyService:
    """The server's side: it takes the requests of all workers and answers them.

    Requests for one policy are acted on together.
    """

    def __init__(
        self,
        server: PolicyServer,
        requests: Fifo,
        replies: Mapping[int, Fifo],
        load: LoadPolicy,
        frozen: range,
        row: Row,
        *,
        max_wait_s: float = MAX_WAIT_S,
        delay_s: float = 0.0,
    ) -> None:
        """server: hosts its live members already, under the numbers that the workers use.

        requests    the server's queue
        replies     the queue of every worker, by the worker's number (source)
        load        loads a frozen player
        frozen      policy slots for frozen players, after the members' slots; they must suffice for
                    the players of all sources together
        row         the server's row of the process board
        max_wait_s  see MAX_WAIT_S
        delay_s     delay of every answer, for measuring how well the workers hide it
        """
        self._server, self._requests, self._replies, self._load = server, requests, replies, load
        self._row, self._delay_s = row, delay_s
        self._queues = RequestQueues(max_wait_s)
        self._members = frozen.start
        self._unassigned = list(reversed(frozen))
        # (source, policy as this source numbers it) -> the frozen player; each player's policy here
        # and how many (source, policy) pairs use it.
        self._meant: dict[tuple[int, int], Seated] = {}
        self._policies: dict[Seated, int] = {}
        self._users: Counter[Seated] = Counter()

    def step(self, timeout_s: float) -> int:
        """Take the messages that have arrived, then act for one policy. Returns the rows served.

        Waits up to `timeout_s` for messages while no policy is due.
        """
        self._collect(timeout_s)
        due = self._queues.due(time.monotonic())
        return self._serve(due[0]) if due else 0

    def _collect(self, timeout_s: float) -> None:
        started = time.monotonic()
        wait_s = min(timeout_s, self._queues.wait_s(started))
        if wait_s > 0:
            self._row.enter("waiting")
        messages = self._requests.get_many(wait_s)
        now_s = time.monotonic()
        self._row.add("wait_s", now_s - started)
        for message in messages:
            arrived = unpack(message)
            if isinstance(arrived, Incoming):
                self._queues.add(self._translated(arrived), now_s)
            elif isinstance(arrived, Attach):
                self._attach(arrived)
            else:
                self._detach(arrived)
        self._row.set("queue", self._queues.rows)

    def _serve(self, key: Key) -> int:
        self._row.enter("inferring")
        started = time.monotonic()
        incoming = self._queues.take(key, started)
        ready = self._server.serve(joined([one.request for one in incoming]))
        if self._delay_s:
            time.sleep(self._delay_s)
        answers: dict[int, list[tuple[int, int, int]]] = {}
        for source, number, _ in incoming:
            answers.setdefault(source, []).append((number, ready.version, ready.weights))
        for source, answered in answers.items():
            self._replies[source].put(pack_replies(answered), DEADLINE_S)
        seconds = time.monotonic() - started
        self._queues.served(seconds)
        rows = len(ready.slots)
        for column, amount in (
            ("infer_s", seconds),
            ("rows_served", rows),
            ("forwards", 1),
            ("requests", len(incoming)),
        ):
            self._row.add(column, amount)
        return rows

    def _translated(self, incoming: Incoming) -> Incoming:
        """The request with this server's number of its policy.

        Every source numbers frozen players its own way; live members have one number everywhere.
        """
        source, _, request = incoming
        if request.policy < self._members:
            return incoming
        seated = self._meant.get((source, request.policy))
        if seated is None:
            raise EngineError(
                f"worker {source} asked policy {request.policy} for {len(request.slots)} "
                "actions, but attached no player to that policy; a bug worth reporting"
            )
        return incoming._replace(request=request._replace(policy=self._policies[seated]))

    def _attach(self, attach: Attach) -> None:
        seated = (attach.player, attach.role)
        if (attach.source, attach.policy) in self._meant:
            raise EngineError(
                f"worker {attach.source} attached {attach.player.name} as policy "
                f"{attach.policy}, which is another player already; a bug worth reporting"
            )
        if seated not in self._policies:
            if not self._unassigned:
                raise EngineError(
                    f"{len(self._policies)} frozen players are attached, and "
                    f"{attach.player.name} finds no policy slot left"
                )
            policy = self._unassigned.pop()
            self._server.attach(policy, self._load(*seated))
            self._policies[seated] = policy
        self._meant[attach.source, attach.policy] = seated
        self._users[seated] += 1

    def _detach(self, detach: Detach) -> None:
        seated = self._meant.pop((detach.source, detach.policy))
        self._users[seated] -= 1
        if not self._users[seated]:
            del self._users[seated]
            policy = self._policies.pop(seated)
            self._server.detach(policy)
            self._queues.forget(policy)
            self._unassigned.append(policy)
