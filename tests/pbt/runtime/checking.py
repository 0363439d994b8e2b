"""A serial engine that compares every batch with what really happened.

It keeps which policy was asked for each row, when, and under which generation.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.algorithms.batch import Batch
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.envs.contract import EnvSpec
from pbt.learning.batcher import gather
from pbt.runtime.assembly import assemble
from pbt.runtime.local_learner import LocalLearner
from pbt.runtime.serial import SerialEngine
from pbt.sampling.sources import GameSource
from pbt.seeding import seat_key
from pbt.transport.messages import ActionRequest, ActionsReady, GamePlan, SlotFull

Origin = tuple[int, int, int, int]


@dataclass
class Asked:
    """What the server was asked for, by slot and row of one role.

    generation  the member's at that time
    first       whether it is the seat's first decision of its game
    """

    key: NDArray[np.uint64]
    step: NDArray[np.int64]
    policy: NDArray[np.int64]
    generation: NDArray[np.int64]
    first: NDArray[np.bool_]


@dataclass(frozen=True)
class Overheard:
    """A planner whose plans are looked at."""

    planner: GameSource
    look: Callable[[int, GamePlan], None]

    def next_games(self, tables: Sequence[int], /) -> Sequence[GamePlan | None]:
        plans = self.planner.next_games(tables)
        for table, plan in zip(tables, plans, strict=True):
            if plan is not None:
                self.look(table, plan)
        return plans

    def game_over(self, plan: GamePlan, /) -> None:
        self.planner.game_over(plan)


class CheckedEngine:
    """A serial engine that checks every batch on its way from the batcher to the learner.

    batches          of every member, checked
    trained          origin of every row that reached a learner
    seated_finished  seats in training games taken by members that were finished already
    free             the fewest free slots at any time, by role
    """

    def __init__(self, config: RunConfig, spec: EnvSpec | None = None) -> None:
        self.config = config
        self.sink, self.store = MemorySink(), MemoryStore()
        self.population = assemble(
            config, spec or registry.spec(config.env.name), self.sink, self.store
        )
        self.engine = SerialEngine(self.population, self.sink, NoControl())
        self.batches = {local.name: 0 for local in self.population.learners}
        self.trained: set[Origin] = set()
        self.seated_finished = Counter[str]()
        self.expected: list[tuple[str, float]] = []
        self.free = [slab.slots for slab in self.population.slabs]
        self._asked = [
            self._nothing_asked((slab.slots, slab.layout.rollout_steps))
            for slab in self.population.slabs
        ]
        self._keys: set[int] = set()
        self._plans: dict[tuple[int, int], GamePlan] = {}
        self._watch()
        self.population.controller.start()

    def finish(self) -> None:
        assert self.engine.run(self._look)
        assert not any(self.population.scheduler.waiting().values()), (
            "finished members keep no slots"
        )

    def check_batch(self, local: LocalLearner, batch: Batch, taken: list[SlotFull]) -> None:
        """Everything that must be true of a batch."""
        member = self.population.controller.members[local.name]
        column, asked = self.population.slabs[local.role].column, self._asked[local.role]
        slots = np.array([full.slot for full in taken])
        valid: NDArray[np.bool_] = column["valid"][slots]
        assert not member.finished, "a finished member learns nothing"
        assert np.array_equal(batch.valid.numpy().T, valid) and valid.any()
        assert (column["policy"][slots][valid] == member.policy).all() and (
            asked.policy[slots][valid] == member.policy
        ).all()
        assert {full.generation for full in taken} == {member.generation}
        assert (asked.generation[slots][valid] == member.generation).all(), (
            "a row of replaced weights"
        )
        assert (column["version"][slots][valid] <= local.learner.version).all() and (
            column["version"][slots][valid] >= 0
        ).all()
        assert np.array_equal(
            column["episode_start"][slots][:, :-1][valid], asked.first[slots][valid]
        ), "an episode starts at its first decision"
        origins = column["origin"][slots][valid]
        assert np.array_equal(origins[:, 3], asked.step[slots][valid])
        for origin, key in zip(origins.tolist(), asked.key[slots][valid].tolist(), strict=True):
            self._check_origin(tuple(origin), key, member.policy)
        self.batches[local.name] += 1

    def _check_plan(self, plan: GamePlan) -> None:
        members = self.population.controller.members
        for seat in plan.seats:
            if seat.player.kind == "member":
                member = members[seat.player.name]
                assert seat.learning != member.finished and seat[1:3] == (
                    member.policy,
                    member.generation,
                )
                self.seated_finished[member.name] += member.finished
            else:
                assert not seat.learning and seat.policy >= len(members)
        assert any(seat.learning for seat in plan.seats) == (plan.kind == "training")

    def _check_origin(self, origin: Origin, key: int, policy: int) -> None:
        table, count, seat, _ = origin
        plan = self._plans[table, count]
        assert (
            plan.kind == "training"
            and plan.seats[seat].policy == policy
            and plan.seats[seat].learning
        )
        assert seat_key(self.config.seed, *plan.noise, seat) == key
        assert origin not in self.trained, "a row is trained on once"
        self.trained.add(origin)

    def _watch(self) -> None:
        """Listen between planner and worker, worker and server, batchers and learners."""
        population = self.population
        serve_all = population.server.serve_all

        def served(requests: Sequence[ActionRequest]) -> list[ActionsReady]:
            for request in requests:
                self._note(request)
            return serve_all(requests)

        population.worker._games = Overheard(population.planner, self._plan)
        population.server.serve_all = served  # type: ignore[method-assign]
        for local in population.learners:
            self._watch_batcher(local)

    def _plan(self, table: int, plan: GamePlan) -> None:
        self._plans[table, plan.game_count] = plan
        self._check_plan(plan)

    def _watch_batcher(self, local: LocalLearner) -> None:
        batcher = self.population.scheduler.pipelines[local.name].batcher
        take = batcher.take

        def taken() -> list[SlotFull] | None:
            found = take()
            if found is not None:
                slab = self.population.slabs[local.role]
                self.check_batch(
                    local, gather(slab, np.array([full.slot for full in found])), found
                )
            return found

        batcher.take = taken  # type: ignore[method-assign]

    def _note(self, request: ActionRequest) -> None:
        members = self.population.controller.members
        generations = {member.policy: member.generation for member in members.values()}
        asked, at = self._asked[request.role], (request.slots, request.rows)
        keys = request.keys.tolist()
        asked.key[at], asked.step[at], asked.policy[at] = (
            request.keys,
            request.steps,
            request.policy,
        )
        asked.generation[at] = generations.get(request.policy, -1)
        asked.first[at] = [key not in self._keys for key in keys]
        self._keys.update(keys)

    def _look(self) -> None:
        fillers = self.population.worker.fillers
        self.free = [
            min(least, filler.pool.free) for least, filler in zip(self.free, fillers, strict=True)
        ]

    @staticmethod
    def _nothing_asked(shape: tuple[int, int]) -> Asked:
        def whole(dtype: Any, fill: int) -> NDArray[Any]:
            return np.full(shape, fill, dtype)

        return Asked(
            whole(np.uint64, 0),
            whole(np.int64, -1),
            whole(np.int64, -1),
            whole(np.int64, -1),
            whole(np.bool_, 0),
        )
