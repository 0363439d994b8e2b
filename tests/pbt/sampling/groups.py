"""Groups of tables for tests of the sampler, and an inference that keeps answers back."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pbt.inference.client import LocalInference
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.sampler import Sampler
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GamePlan,
    RolloutPermit,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.process_board import ProcessBoard, Row
from pbt.transport.slab import Slab
from tests.pbt.inference.serving import MAKE_GAME, MEMBERS, load, model_of

POLICIES = 3


def games(members: int = MEMBERS, openings: int = 3) -> GamesFrom:
    """Members against each other and a frozen player, with openings of different lengths."""
    counts: Counter[int] = Counter()

    def next_game(table: int) -> GamePlan:
        counts[table] += 1
        count = counts[table]
        policies = [(count + table) % members, (count * (table + 1)) % (members + 1)]
        seats = tuple(
            SeatPlan(PlayerRef("member", f"m{policy}"), policy, 0, policy < members)
            for policy in policies
        )
        return GamePlan(
            count,
            "training",
            31 * table + count,
            seats,
            ("noise", table, count),
            (table + count) % (openings + 1),
            table,
        )

    return GamesFrom(next_game)


def networks(slab: Slab) -> PolicyServer:
    server = PolicyServer([slab], POLICIES)
    for policy in range(POLICIES):
        server.attach(policy, NetworkPolicy(model_of(policy), f"m{policy}"))
    return server


def groups_of(
    slab: Slab, tables: Sequence[int], source: GamesFrom, make_game: Callable[[], Any] = MAKE_GAME
) -> list[RolloutWorker]:
    """One worker per entry of `tables`, with that many tables; all get equally many slots."""
    each, first, made = slab.slots // len(tables), 0, []
    for index, count in enumerate(tables):
        share = Partition(
            tuple(range(first, first + count)), (range(index * each, (index + 1) * each),)
        )
        made.append(RolloutWorker(make_game, share, [slab], source, 1))
        first += count
    return made


def no_row() -> Row:
    return ProcessBoard(1).row(0)


def give_back(sampler: Sampler, messages: Sequence[WorkerMessage]) -> None:
    for message in messages:
        if isinstance(message, SlotFull):
            sampler.permit(RolloutPermit(message.role, message.slot))


class Hesitant(LocalInference):
    """Keeps answers back until `let(n)` gives the n-th of those that wait."""

    def __init__(self, server: PolicyServer) -> None:
        super().__init__(server, load)
        self.kept: list[tuple[int, ActionsReady]] = []
        self._let: list[tuple[int, ActionsReady]] = []

    def send(self, group: int, requests: Sequence[ActionRequest]) -> None:
        super().send(group, requests)
        self.kept += self._ready
        self._ready = []

    def let(self, number: int) -> None:
        self._let.append(self.kept.pop(number % len(self.kept)))

    def let_all(self) -> None:
        while self.kept:
            self.let(0)

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        let, self._let = self._let, []
        return let

    def outstanding(self, group: int) -> int:
        return sum(asker == group for asker, _ in (*self.kept, *self._let))
