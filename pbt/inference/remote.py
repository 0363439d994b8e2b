"""Acting in another process: the worker's side (RemoteInference) and the policy server's
(PolicyService).

Both die together: a queue between them is not made for a partner that disappears.
"""

import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence

from pbt.errors import EngineError
from pbt.inference.batching import MAX_WAIT_S, Key, RequestQueues, merge
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
from pbt.transport.board import Row
from pbt.transport.fifo import Fifo
from pbt.transport.messages import ActionRequest, ActionsReady

# Nothing in a healthy sampling plane takes so long; who notices dies, and the plane is restarted.
DEADLINE_S = 30.0


def server_of_member(policy: int, servers: int) -> int:
    """Which of the servers acts for a live member."""
    return policy % servers


def server_of_player(player: PlayerRef, role: int, servers: int) -> int:
    """Which of the servers acts for a frozen player: the same one for every worker, so that it
    is loaded once.
    """
    return zlib.crc32(f"{player.kind} {player.name} {role}".encode()) % servers


class RemoteInference:
    """A worker's end: requests go to the server of their policy, answers come back through the
    worker's own queue.
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
        """source: the worker's number, as the servers know it; members: of the policies 0 ..
        members - 1 all are live; requests: one per server.
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

    def send(self, group: int, request: ActionRequest) -> None:
        server = self._server[request.policy]
        for part in split_request(request):
            number = self._sent % 2**32
            self._sent += 1
            self._pending[number] = (group, part)
            self._outstanding[group] += 1
            self._requests[server].put(pack_request(self._source, number, part), self._deadline_s)

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        """Raises: EngineError when requests are outstanding and no server has answered anything
        for `deadline_s` of waiting.
        """
        if not self._pending:
            return []
        started = time.monotonic()
        messages = self._replies.get_many(timeout_s)
        if not messages:
            # Only time spent here counts: a process that was stopped for an hour has not been
            # waiting.
            self._silent_s += min(time.monotonic() - started, timeout_s)
            if self._silent_s > self._deadline_s:
                raise EngineError(
                    f"worker {self._source}: no policy server answered for "
                    f"{self._deadline_s:g} s; {self._waiting_for()}"
                )
            return []
        self._silent_s = 0.0
        return [
            self._answer(number, version)
            for message in messages
            for number, version in unpack_replies(message)
        ]

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

    def _answer(self, number: int, version: int) -> tuple[int, ActionsReady]:
        if number not in self._pending:
            raise EngineError(
                f"worker {self._source}: request {number} was answered, but not asked; "
                f"{self._waiting_for()}"
            )
        group, request = self._pending.pop(number)
        self._outstanding[group] -= 1
        return group, ActionsReady(
            request.policy, request.role, request.slots, request.rows, version
        )

    def _waiting_for(self) -> str:
        policies = sorted({request.policy for _, request in self._pending.values()})
        return f"{len(self._pending)} requests wait, for the policies {policies}"


class PolicyService:
    """A server's end: takes requests of all workers, acts for those of one policy together, and
    says so to each worker.
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
        """server: the live members it acts for are attached, under the numbers by which the workers
        know them.

        replies  by source;  frozen: the server's policy slots for frozen players, behind the
                 members', enough for those of all sources together
        delay_s  every answer comes so much later (to measure what hides it)
        """
        self._server, self._requests, self._replies, self._load = server, requests, replies, load
        self._row, self._delay_s = row, delay_s
        self._queues = RequestQueues(max_wait_s)
        self._members = frozen.start
        self._unassigned = list(reversed(frozen))
        # Which frozen player a source means by a policy; and where a player sits, for how many
        # sources.
        self._meant: dict[tuple[int, int], Seated] = {}
        self._policies: dict[Seated, int] = {}
        self._users: Counter[Seated] = Counter()

    def step(self, timeout_s: float) -> int:
        """Take what has arrived (waiting at most so long while nothing is due), then act for one
        policy. Returns the rows served.
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
        ready = self._server.serve(merge(incoming))
        if self._delay_s:
            time.sleep(self._delay_s)
        answers: dict[int, list[tuple[int, int]]] = {}
        for source, number, _ in incoming:
            answers.setdefault(source, []).append((number, ready.version))
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
        """Sources number frozen players as they like; live members have the same number
        everywhere.
        """
        source, _, request = incoming
        if request.policy < self._members:
            return incoming
        seated = self._meant.get((source, request.policy))
        if seated is None:
            raise EngineError(
                f"worker {source} asked policy {request.policy} for {len(request.slots)} "
                "actions but did not say who that is"
            )
        return incoming._replace(request=request._replace(policy=self._policies[seated]))

    def _attach(self, attach: Attach) -> None:
        seated = (attach.player, attach.role)
        if (attach.source, attach.policy) in self._meant:
            raise EngineError(
                f"worker {attach.source} attached {attach.player.name} as policy "
                f"{attach.policy}, which is somebody else already"
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
