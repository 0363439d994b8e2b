"""Games with processes of their own play at the same time.

All that are ready begin their move before the worker waits for the first one.
"""

from collections.abc import Mapping

import numpy as np

from pbt.envs.contract import Overlapping, SeatTurn
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, SeatPlan
from pbt.transport.slab import Slab, role_layout
from tests.pbt.sampling.test_spoiled_games import ROLE, Faulty

TABLES = 3


class Beginning(Faulty):
    """Writes down what is asked of it."""

    def __init__(
        self, calls: list[tuple[str, int, dict[int, tuple[int, ...]]]], number: int
    ) -> None:
        super().__init__(lambda game: None)
        self._calls, self._number = calls, number

    def begin(self, actions: Mapping[int, tuple[int, ...]]) -> None:
        self._calls.append(("begin", self._number, dict(actions)))

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._calls.append(("step", self._number, dict(actions)))
        return super().step(actions)


def test_all_tables_begin_before_one_is_waited_for() -> None:
    calls: list[tuple[str, int, dict[int, tuple[int, ...]]]] = []
    numbers, counts = iter(range(TABLES)), iter(range(1000))
    slab = Slab(role_layout(ROLE, ("reward",), 2, 0), 8 * TABLES)
    server = PolicyServer([slab], 1)
    server.attach(0, ScriptedPolicy(lambda seen, mask, uniforms: np.ones((len(mask), 1), np.int64)))

    def next_game(table: int) -> GamePlan:
        count = next(counts)
        return GamePlan(
            count,
            "training",
            count,
            (SeatPlan(PlayerRef("member", "m0"), 0, 0, False),),
            ("n", count),
        )

    worker = RolloutWorker(
        lambda: Beginning(calls, next(numbers)),
        Partition.whole(TABLES, [8 * TABLES]),
        [slab],
        GamesFrom(next_game),
        1,
    )
    assert all(isinstance(table.game, Overlapping) for table in worker.tables)
    for _ in range(4):
        calls.clear()
        for request in worker.requests():
            worker.receive(server.serve(request))
        worker.advance()
        assert calls == [
            (call, number, {0: (1,)}) for call in ("begin", "step") for number in range(TABLES)
        ]
