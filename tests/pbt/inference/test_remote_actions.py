"""Actions from another process equal, bit for bit, those of a server in this process."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from pbt.inference.frozen import FrozenPool
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.inference.remote import RemoteInference
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.sampler import Sampler
from pbt.sampling.slots import Partition
from pbt.seeding import generator
from pbt.transport.fifo import fifo_kinds
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GamePlan,
    GamesOver,
    RolloutPermit,
    SeatPlan,
    SlotFull,
)
from pbt.transport.slab import Slab
from tests.pbt.inference.serving import (
    FROZEN,
    FROZEN_PLAYERS,
    LAYOUT,
    MAKE_GAME,
    MEMBERS,
    Plane,
    load,
    plane,
    state_of,
)

TABLES, SLOTS, SEATS = 12, 200, 2
ACTED = ("actions", "log_prob", "value", "version")


class Compared(RemoteInference):
    """Compares every answer with that of a server in this process for the same rows and weights."""

    def __init__(self, shared: Plane) -> None:
        super().__init__(0, MEMBERS, [shared.requests], shared.replies)
        self._shared, self._private = shared.slab, Slab(LAYOUT, shared.slots)
        self._local = PolicyServer([self._private], FROZEN.stop)
        for policy, published in enumerate(shared.published):
            self._local.attach(
                policy, NetworkPolicy(load(PlayerRef("snapshot", "98"), 0).model, "m0", published)
            )  # type: ignore[union-attr]
        self.rows: Counter[int] = Counter()
        self.versions: Counter[int] = Counter()
        self.players: Counter[PlayerRef] = Counter()

    def send(self, group: int, requests: Sequence[ActionRequest]) -> None:
        for request in requests:
            for name, column in self._private.column.items():
                column[request.slots] = self._shared.column[name][request.slots]
            self._local.serve(request)
        super().send(group, requests)

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        answers = super().poll(timeout_s)
        for _, ready in answers:
            at = (ready.slots, ready.rows)
            for name in ACTED:
                assert np.array_equal(
                    self._shared.column[name][at], self._private.column[name][at], equal_nan=True
                ), name
            assert np.array_equal(
                self._shared.column["live_state"][ready.slots],
                self._private.column["live_state"][ready.slots],
            )
            self.rows[ready.policy] += len(ready.slots)
            self.versions[ready.version] += len(ready.slots)
        return answers

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None:
        super().attach_player(policy, player, role)
        self._local.attach(policy, load(player, role))
        self.players[player] += 1

    def detach(self, policy: int) -> None:
        super().detach(policy)
        self._local.detach(policy)


class Games:
    """Seats a live member, a frozen player or both, drawn for every game."""

    def __init__(self, frozen: FrozenPool) -> None:
        self._frozen, self._counts = frozen, Counter[int]()

    def next_games(self, tables: Sequence[int]) -> list[GamePlan | None]:
        return [self.next_game(table) for table in tables]

    def next_game(self, table: int) -> GamePlan | None:
        rng = generator(1, "game", table, self._counts[table])
        everybody = [
            *(PlayerRef("member", f"m{policy}") for policy in range(MEMBERS)),
            *FROZEN_PLAYERS,
        ]
        players = [everybody[int(rng.integers(len(everybody)))] for _ in range(SEATS)]
        policies = self._frozen.acquire(
            [(player, 0) for player in players if player.kind != "member"]
        )
        if policies is None:
            return None
        self._counts[table] += 1
        free = iter(policies)
        seats = [
            SeatPlan(p, int(p.name[1]), 0, True)
            if p.kind == "member"
            else SeatPlan(p, next(free), 0, False)
            for p in players
        ]
        count = self._counts[table]
        return GamePlan(count, "training", count, tuple(seats), ("noise", table, count))

    def game_over(self, plan: GamePlan) -> None:
        self._frozen.release(
            [(seat.player, 0) for seat in plan.seats if seat.player.kind != "member"]
        )


@pytest.mark.parametrize("kind", fifo_kinds())
def test_rows_from_another_process_carry_the_right_actions(kind: str) -> None:
    with plane(kind, SLOTS) as shared:
        inference = Compared(shared)
        frozen = FrozenPool(inference, FROZEN.start, len(FROZEN))
        worker = RolloutWorker(
            MAKE_GAME, Partition.whole(TABLES, [SLOTS]), [shared.slab], Games(frozen), 1
        )
        sampler = Sampler([worker], inference, shared.board.row(0))
        ended, full = 0, 0
        while ended < 200:
            if sampler.at_rest() and ended > 100:
                shared.published[1].publish(state_of(7), 5)
            for message in sampler.turn(10.0):
                if isinstance(message, GamesOver):
                    ended += len(message.tables)
                else:
                    assert isinstance(message, SlotFull)
                    column = shared.slab.column
                    valid = column["valid"][message.slot]
                    assert (column["policy"][message.slot][valid] == message.policy).all()
                    full += 1
                    sampler.permit(RolloutPermit(message.role, message.slot))
        sampler.drain(10.0)
        assert sampler.at_rest() and not worker.in_motion
    assert set(inference.rows) == {0, 1, *FROZEN} and full > 20
    assert set(inference.versions) == {0, 5}
    assert set(inference.players) == set(FROZEN_PLAYERS) and sum(
        inference.players.values()
    ) > 2 * len(FROZEN_PLAYERS), "evicted and brought back"
    check_board(shared, inference)


def check_board(shared: Plane, inference: Compared) -> None:
    """Both processes counted what they did and how long it took."""
    served, sampled = shared.board.row(1).read(), shared.board.row(0).read()
    assert (
        served["rows_served"] == sum(inference.rows.values())
        and served["requests"] == served["forwards"] > 50
    )
    assert (
        min(
            served["infer_s"],
            served["wait_s"],
            sampled["simulate_s"],
            sampled["infer_s"],
            sampled["wait_s"],
        )
        > 0
    )
