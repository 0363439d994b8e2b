"""There are enough slots for all live seats, part-filled batches and waiting batches.

Hardly fewer would do.
"""

from collections.abc import Mapping, Sequence

import gymnasium
import numpy as np
import pytest

from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EngineError
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.learning.batcher import Batcher
from pbt.records import PlayerRef
from pbt.runtime.blueprint import slots_needed
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, SeatPlan, SlotFull
from pbt.transport.slab import Slab, role_layout

T, TABLES, MEMBERS, BATCH_SLOTS = 4, 5, 3, 4
FROZEN = MEMBERS
ROLE = Role("player", gymnasium.spaces.Box(0, 100, (1,), np.float32), gymnasium.spaces.Discrete(2))
UNSEATED = -1
ENDLESS = 10_000


class AsLongAsToldGame:
    """The seed says after how many steps the game ends."""

    roles, reward_terms, seat_roles, seat_names = (ROLE,), ("reward",), (0,), ("player",)

    def reset(self, seed: int) -> list[SeatTurn]:
        self._left = seed
        return [SeatTurn(0, np.zeros(1), None, (0.0,), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._left -= 1
        return [SeatTurn(0, np.zeros(1), None, (0.0,), terminated=self._left == 0)]

    def outcome(self) -> Outcome:
        return Outcome((0,))

    def close(self) -> None:
        pass


class Worst:
    """Seats every table as a scene says.

    scene  (policy, length of the game) by table
    used   the most slots that were away from the pool at the same time
    """

    def __init__(self, slots: int) -> None:
        self.slab = Slab(role_layout(ROLE, ("reward",), T, 0), slots)
        self.server = PolicyServer([self.slab], MEMBERS + 1)
        for policy in range(MEMBERS + 1):
            self.server.attach(
                policy,
                ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), 1), np.int64)),
            )
        self.batchers = [Batcher(self.slab, 0, BATCH_SLOTS) for _ in range(MEMBERS)]
        self.scene: dict[int, tuple[int, int]] = {}
        self.worker = RolloutWorker(
            AsLongAsToldGame,
            Partition.whole(TABLES, [slots]),
            [self.slab],
            GamesFrom(self._plan),
            1,
        )
        self.used = 0

    def _plan(self, table: int) -> GamePlan | None:
        policy, length = self.scene.pop(table, (UNSEATED, 0))
        if policy == UNSEATED:
            return None
        seat = SeatPlan(PlayerRef("member", f"m{policy}"), policy, 0, policy < MEMBERS)
        return GamePlan(0, "training", length, (seat,), ("noise", table))

    def play(self, scene: Sequence[tuple[int, int]], turns: int) -> None:
        self.scene = dict(enumerate(scene))
        for _ in range(turns):
            for request in self.worker.requests():
                self.worker.receive(self.server.serve(request))
            messages = self.worker.advance()
            self.used = max(self.used, self.slab.slots - self.worker.fillers[0].pool.free)
            for message in messages:
                if isinstance(message, SlotFull):
                    self._train(message)

    def _train(self, full: SlotFull) -> None:
        self.batchers[full.policy].add(full, 0)
        taken = self.batchers[full.policy].take()
        for permit in self.batchers[full.policy].permits(taken or ()):
            self.worker.permit(permit)


def worst_case(slots: int, last: int) -> Worst:
    """Every member's batch lacks one slot, and has a PARKED slot for every table.

    Then all tables are seated by `last` at once.
    """
    worst = Worst(slots)
    for policy in range(MEMBERS):
        filling = [(policy, T)] * (BATCH_SLOTS - 1) + [(UNSEATED, 0)] * (TABLES - BATCH_SLOTS + 1)
        worst.play(filling, T + 1)
        worst.play([(policy, 1)] * TABLES, 2)
    worst.play([(last, ENDLESS)] * TABLES, T + 1)
    return worst


@pytest.mark.parametrize("last", [FROZEN, 0])
def test_trap_slots_suffice(last: int) -> None:
    """In the worst case all seats are frozen, or the slots of all seats are full in one turn."""
    needed = slots_needed(TABLES, MEMBERS, BATCH_SLOTS)
    worst = worst_case(needed, last)
    assert worst.used == TABLES * (MEMBERS + 1) + MEMBERS * (BATCH_SLOTS - 1)
    # To spare at most: a seat's slot each, and the one that completes each batch.
    assert needed - worst.used <= TABLES + MEMBERS
    worst_case(worst.used, last)
    with pytest.raises(EngineError, match="no free slot left"):
        worst_case(worst.used - 1, last)
