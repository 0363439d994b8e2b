"""A bench for made-up games: it compares every row of a batch with what happened."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pbt.inference.policy_server import PolicyServer
from pbt.learning.batcher import Batcher, gather
from pbt.records import PlayerRef
from pbt.runtime.blueprint import shared_slots, slots_needed
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import (
    ActionRequest,
    GameEnd,
    GamePlan,
    GamesOver,
    RolloutPermit,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.slab import Slab, role_layout
from tests.pbt.sampling.made_up import (
    GAMES_PER_TABLE,
    MEMBERS,
    POLICIES,
    STATE,
    MadeUpGame,
    NamesItself,
    check,
    check_fingerprints,
)


def shares_of(tables: int, seat_roles: tuple[int, ...], shares: int) -> list[Partition]:
    """One partition that has everything, or several whose workers may run out of slots."""
    roles = range(max(seat_roles) + 1)
    if shares == 1:
        return [
            Partition.whole(
                tables,
                [slots_needed(tables * seat_roles.count(role), MEMBERS, 2) for role in roles],
            )
        ]
    parts, starts = [], [0 for _ in roles]
    for index in range(shares):
        own = tuple(range(index, tables, shares))
        counts = [
            shared_slots(len(own) * seat_roles.count(role), MEMBERS, 2, 1, shares) for role in roles
        ]
        parts.append(
            Partition(
                own,
                tuple(
                    range(start, start + count) for start, count in zip(starts, counts, strict=True)
                ),
            )
        )
        starts = [start + count for start, count in zip(starts, counts, strict=True)]
    return parts


def server_of(slabs: Sequence[Slab]) -> PolicyServer:
    """One policy table per role: policy = role * POLICIES + p, p < MEMBERS learns."""
    server = PolicyServer(slabs, POLICIES * len(slabs))
    for role, slab in enumerate(slabs):
        for p in range(POLICIES):
            named: Any = NamesItself(p, slab.layout.actions.width)
            server.attach(role * POLICIES + p, named)
    return server


class Bench:
    """Workers, a server, batchers, and a random planner.

    shares     number of workers
    piecemeal  answers come one by one, some of them turns later
    """

    def __init__(
        self,
        seed: int,
        seat_roles: tuple[int, ...],
        tables: int,
        rollout_steps: int,
        raising: float,
        shares: int = 1,
        *,
        piecemeal: bool = False,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.seat_roles, self.counts, self.generation = seat_roles, [0] * tables, Counter[int]()
        game = MadeUpGame(seat_roles, 0.0)
        layouts = [
            role_layout(role, game.reward_terms, rollout_steps, STATE) for role in game.roles
        ]
        parts = shares_of(tables, seat_roles, shares)
        self.slabs = [
            Slab(layout, parts[-1].slots[role].stop) for role, layout in enumerate(layouts)
        ]
        self.server = server_of(self.slabs)
        self.batchers = {
            role * POLICIES + p: Batcher(slab, role, 2)
            for role, slab in enumerate(self.slabs)
            for p in range(MEMBERS)
        }
        rules: dict[str, Any] = {"equal_errors": 10**9, "patience_s": 0.0}
        games = GamesFrom(self.plan)
        self.workers = [
            RolloutWorker(
                lambda: MadeUpGame(seat_roles, raising), part, self.slabs, games, 1, **rules
            )
            for part in parts
        ]
        self._piecemeal, self._asked = piecemeal, [list[ActionRequest]() for _ in parts]
        self.trained = 0

    def plan(self, table: int) -> GamePlan:
        self.counts[table] += 1
        seats = []
        for role in self.seat_roles:
            p = int(self.rng.integers(POLICIES))
            policy, learning = role * POLICIES + p, p < MEMBERS and self.rng.random() < 0.9
            kind = "member" if p < MEMBERS else "snapshot"
            seats.append(
                SeatPlan(PlayerRef(kind, str(p)), policy, self.generation[policy], learning)
            )  # type: ignore[arg-type]
        count = self.counts[table]
        return GamePlan(
            count,
            "training",
            table * GAMES_PER_TABLE + count,
            tuple(seats),
            ("noise", table, count),
        )

    def turn(self) -> None:
        messages = [message for index in range(len(self.workers)) for message in self.play(index)]
        # A copy may overtake the slots that are on their way to the learner.
        if self.rng.random() < 0.05:
            messages += self.copy_over(int(self.rng.choice(list(self.batchers))))
        self.route(messages)

    def rest(self) -> None:
        """Deliver all requests, answers and messages that are outstanding."""
        self.route(
            [
                message
                for index in range(len(self.workers))
                for message in self.play(index, drain=True)
            ]
        )

    def route(self, messages: list[WorkerMessage]) -> None:
        """Give slots to the batchers, check their batches, and release the slots."""
        for message in messages:
            if isinstance(message, SlotFull):
                self.permit(
                    self.batchers[message.policy].add(message, self.generation[message.policy])
                )
            else:
                assert isinstance(message, GameEnd | GamesOver)
        for policy, batcher in self.batchers.items():
            while (taken := batcher.take()) is not None:
                assert {full.generation for full in taken} == {self.generation[policy]}
                slots = np.array([full.slot for full in taken])
                batch = gather(self.slabs[policy // POLICIES], slots)
                check(batch, policy % POLICIES)
                check_fingerprints(batch, self.slabs[policy // POLICIES], slots, policy)
                self.trained += int(batch.valid.sum())
                self.permit(batcher.permits(taken))
        assert len(self.workers) == 1 or any(worker.can_turn for worker in self.workers), (
            "all stand still, and no batch is complete"
        )

    def play(self, index: int, *, drain: bool = False) -> list[WorkerMessage]:
        """One turn of one worker. drain: send no requests, only take outstanding answers."""
        worker, asked = self.workers[index], self._asked[index]
        assert worker.asking.outstanding == sum(len(request.slots) for request in asked)
        if not drain and (worker.can_turn or len(self.workers) == 1):
            asked += worker.requests()
        if self._piecemeal:
            self.rng.shuffle(asked)  # type: ignore[arg-type]
        messages: list[WorkerMessage] = []
        while asked and (drain or not self._piecemeal or self.rng.random() < 0.7):
            worker.receive(self.server.serve(asked.pop(0)))
            messages += worker.advance() if self._piecemeal else []
        return messages + worker.advance()

    def permit(self, permits: list[RolloutPermit]) -> None:
        for permit in permits:
            next(
                worker for worker in self.workers if permit.slot in worker.share.slots[permit.role]
            ).permit(permit)

    def copy_over(self, policy: int) -> list[WorkerMessage]:
        messages = [
            message
            for index in range(len(self.workers))
            for message in self.play(index, drain=True)
        ]
        self.generation[policy] += 1
        for worker in self.workers:
            worker.regenerate(policy, self.generation[policy])
        self.permit(self.batchers[policy].discard("generation"))
        return messages

    def reseat(self, plan: GamePlan) -> GamePlan:
        """The plan itself, since policies have the same numbers in every bench."""
        return plan

    def gone(self, plan: GamePlan) -> str:
        """No member leaves a bench."""
        return ""

    def unaccounted(self) -> int:
        fillers = [filler for worker in self.workers for filler in worker.fillers]
        produced = sum(filler.produced for filler in fillers)
        dropped = sum(sum(part.dropped.values()) for part in (*fillers, *self.batchers.values()))
        standing = sum(worker.rows_standing() for worker in self.workers)
        queued = sum(
            int(self.slabs[policy // POLICIES].column["valid"][slot].sum())
            for policy, b in self.batchers.items()
            for slot in b.waiting
        )
        return produced - self.trained - dropped - standing - queued
