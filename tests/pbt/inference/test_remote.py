"""A policy service keeps apart what each worker means by a policy number.

Both ends are in one process here.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from pbt.errors import EngineError
from pbt.inference.policy_server import HostedPolicy, PolicyServer, ScriptedPolicy
from pbt.inference.remote import PolicyService, RemoteInference, server_of_member, server_of_player
from pbt.inference.requests import MAX_ROWS
from pbt.records import PlayerRef
from pbt.transport.fifo import Fifo, make_fifo
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
)
from pbt.transport.process_board import ProcessBoard
from pbt.transport.slab import Slab
from tests.pbt.inference.serving import (
    LAYOUT,
)


class Ends:
    """A service and two workers' ends of it.

    Policy 0 is live and its action is 0; the action of a frozen player is the number in its name.
    """

    def __init__(self, frozen_slots: int = 3, deadline_s: float = 0.05, slots: int = 8) -> None:
        self.slab = Slab(LAYOUT, slots)
        self.server = PolicyServer([self.slab], 1 + frozen_slots)
        self.server.attach(0, self._named(0))
        self.loaded: list[str] = []
        self.fifos: list[Fifo] = [make_fifo("sockets", 1 << 20) for _ in range(3)]
        requests, *replies = self.fifos
        self.service = PolicyService(
            self.server,
            requests,
            dict(enumerate(replies)),
            self._load,
            range(1, 1 + frozen_slots),
            ProcessBoard(1).row(0),
        )
        self.ends = [
            RemoteInference(source, 1, [requests], fifo, deadline_s=deadline_s)
            for source, fifo in enumerate(replies)
        ]

    def _load(self, player: PlayerRef, role: int) -> HostedPolicy:
        self.loaded.append(player.name)
        return self._named(int(player.name))

    def _named(self, number: int) -> ScriptedPolicy:
        return ScriptedPolicy(lambda seen, mask, uniforms: np.full((len(mask), 1), number))

    def serve_all(self) -> list[int]:
        """Rows of every forward until nothing is left."""
        rows = []
        while served := self.service.step(0.05):
            rows.append(served)
        return rows

    def actions(self, ready: ActionsReady) -> list[int]:
        found: list[int] = self.slab.column["actions"][ready.slots, ready.rows, 0].tolist()
        return found


@pytest.fixture
def ends() -> Iterator[Ends]:
    built = Ends()
    yield built
    for fifo in built.fifos:
        fifo.close()


def request_of(policy: int, slots: list[int], *, greedy: bool = False) -> ActionRequest:
    unsigned = np.zeros(len(slots), np.uint64)
    return ActionRequest(
        policy,
        0,
        np.array(slots, np.int64),
        np.zeros(len(slots), np.int64),
        unsigned,
        unsigned,
        greedy,
    )


def player(number: int) -> PlayerRef:
    return PlayerRef("snapshot", str(number))


def test_workers_number_frozen_players_as_they_like(ends: Ends) -> None:
    one, other = ends.ends
    one.attach_player(1, player(5), 0)
    one.attach_player(2, player(6), 0)
    other.attach_player(1, player(6), 0)
    one.send(0, [request_of(1, [0, 1])])
    one.send(0, [request_of(2, [2])])
    other.send(0, [request_of(1, [3, 4])])
    other.send(1, [request_of(0, [5])])
    assert sorted(ends.serve_all()) == [1, 2, 3], (
        "both workers' rows of one player are acted on together"
    )
    assert ends.loaded == ["5", "6"], "loaded once for both"
    first = {ready.policy: ready for _, ready in one.poll(1.0)}
    second = dict(other.poll(1.0))
    assert ends.actions(first[1]) == [5, 5] and ends.actions(first[2]) == [6]
    assert (
        second[0].policy == 1
        and ends.actions(second[0]) == [6, 6]
        and ends.actions(second[1]) == [0]
    )
    assert one.outstanding(0) == other.outstanding(0) == other.outstanding(1) == 0


def test_greedy_rows_are_acted_on_apart(ends: Ends) -> None:
    one, other = ends.ends
    one.send(0, [request_of(0, [0, 1], greedy=True)])
    other.send(0, [request_of(0, [2])])
    assert sorted(ends.serve_all()) == [1, 2]


def test_a_frozen_player_stays_until_the_last_worker_lets_it_go(ends: Ends) -> None:
    one, other = ends.ends
    one.attach_player(1, player(5), 0)
    other.attach_player(2, player(5), 0)
    one.detach(1)
    other.send(0, [request_of(2, [0])])
    ends.serve_all()
    ((_, ready),) = other.poll(1.0)
    assert ends.actions(ready) == [5] and ends.loaded == ["5"]
    other.detach(2)
    for number in (1, 2, 3):
        one.attach_player(number, player(10 + number), 0)
    one.send(0, [request_of(3, [1])])
    ends.serve_all()
    ((_, ready),) = one.poll(1.0)
    assert ends.actions(ready) == [13] and ends.loaded == ["5", "11", "12", "13"]
    one.attach_player(4, player(14), 0)
    with pytest.raises(
        EngineError, match="3 frozen players are attached, and 14 finds no policy slot"
    ):
        ends.service.step(1.0)


def test_a_policy_number_can_be_given_to_somebody_else(ends: Ends) -> None:
    """The old player still answers the requests that were sent before."""
    one, _ = ends.ends
    one.attach_player(1, player(5), 0)
    one.send(0, [request_of(1, [0])])
    ends.serve_all()
    one.detach(1)
    one.attach_player(1, player(6), 0)
    one.send(0, [request_of(1, [1])])
    ends.serve_all()
    assert [ends.actions(ready) for _, ready in one.poll(1.0)] == [[5], [6]]


def test_whoever_is_not_introduced_is_refused(ends: Ends) -> None:
    one, other = ends.ends
    one.attach_player(1, player(5), 0)
    other._server[1] = 0
    other.send(0, [request_of(1, [0, 1])])
    with pytest.raises(
        EngineError,
        match="worker 1 asked policy 1 for 2 actions, but attached no player to that policy",
    ):
        ends.service.step(1.0)
    one.attach_player(1, player(6), 0)
    with pytest.raises(
        EngineError, match="worker 0 attached 6 as policy 1, which is another player already"
    ):
        ends.service.step(1.0)


def test_long_requests_come_back_in_parts(ends: Ends) -> None:
    one, _ = ends.ends
    count = 2 * MAX_ROWS + 10
    one.send(3, [request_of(0, [0] * count)])
    assert one.outstanding(3) == 3
    assert sum(ends.serve_all()) == count
    answers: list[Any] = []
    while one.outstanding(3):
        answers += one.poll(1.0)
    assert [group for group, _ in answers] == [3] * 3 and sum(
        len(ready.slots) for _, ready in answers
    ) == count


def test_a_silent_server_is_named(ends: Ends) -> None:
    one, _ = ends.ends
    assert one.poll(10.0) == [], "nothing is outstanding: no wait"
    one.send(0, [request_of(0, [0])])
    one.send(0, [request_of(0, [1], greedy=True)])
    assert one.poll(0.01) == [], "not yet"
    with pytest.raises(
        EngineError,
        match=(
            r"worker 0: no policy server answered for 0.05 s; 2 requests wait, for the "
            r"policies \[0\]"
        ),
    ):
        one.poll(0.1)


def test_an_answer_to_nobody_is_named(ends: Ends) -> None:
    one, other = ends.ends
    one.send(0, [request_of(0, [0])])
    other._source, other._sent = 0, 7
    other.send(0, [request_of(0, [1])])
    ends.serve_all()
    with pytest.raises(EngineError, match="worker 0: got an answer to request 7, which is not"):
        one.poll(1.0)


def test_every_policy_has_one_server() -> None:
    assert [server_of_member(policy, 3) for policy in range(5)] == [0, 1, 2, 0, 1]
    places = Counter(server_of_player(player(number), 0, 3) for number in range(300))
    assert set(places) == {0, 1, 2} and min(places.values()) > 70
    assert {server_of_player(player(9), 0, 3) for _ in range(3)} == {
        server_of_player(PlayerRef("snapshot", "9"), 0, 3)
    }
    fifos = [make_fifo("sockets", 1 << 17) for _ in range(3)]
    inference = RemoteInference(0, 5, fifos[:2], fifos[2])
    inference.send(0, [request_of(3, [0])])
    inference.attach_player(5, player(1), 0)
    inference.send(0, [request_of(5, [0])])
    at = server_of_player(player(1), 0, 2)
    assert [len(fifo.get_many(0)) for fifo in fifos[:2]] == [
        2 if at == 0 else 0,
        1 if at == 0 else 3,
    ]
    for fifo in fifos:
        fifo.close()


def test_an_answer_can_be_delayed(ends: Ends) -> None:
    torch.set_num_threads(1)
    requests, replies, _ = ends.fifos
    row = ProcessBoard(1).row(0)
    service = PolicyService(
        ends.server, requests, {0: replies}, ends._load, range(1, 2), row, delay_s=0.02
    )
    ends.ends[0].send(0, [request_of(0, [0])])
    assert service.step(1.0) == 1
    assert row.read()["infer_s"] >= 0.02
