"""Policy lag follows from the rows: a learner whose batches are held back reads by how many."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.algorithms.batch import Batch
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn
from pbt.learning.batcher import gather
from pbt.runtime.assembly import assemble
from pbt.runtime.build import build_engine
from pbt.snapshots import FileSnapshotStore
from pbt.transport.messages import SlotFull

STEPS, TABLES = 4, 6


class InStep:
    """One seat, and games as long as a slot.

    All tables fill their slots in the same turn, so the same weights acted for a whole batch.
    """

    roles = (Role("player", spaces.Box(0.0, float(STEPS), (1,), np.float32), spaces.Discrete(3)),)
    seat_names, seat_roles, reward_terms = ("player",), (0,), ("reward",)

    def reset(self, seed: int) -> list[SeatTurn]:
        self._step = 0
        return [SeatTurn(0, np.zeros(1, np.float32), None, (0.0,), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._step += 1
        return [
            SeatTurn(
                0,
                np.full(1, self._step, np.float32),
                None,
                (float(actions[0][0]),),
                terminated=self._step == STEPS,
            )
        ]

    def outcome(self) -> Outcome:
        return Outcome((0,))

    def close(self) -> None:
        pass


@pytest.mark.parametrize("held", [0, 1, 3])
def test_a_learner_that_is_so_many_batches_behind_reads_exactly_that_lag(held: int) -> None:
    config = RunConfig.model_validate(
        {
            "env": {"name": "in_step"},
            "population": {"members": 1},
            "evaluation": {"share": 0.0},
            "pbt": {"enabled": False},
            "sampling": {"environments": TABLES, "rollout_steps": STEPS},
            "model": {"hidden": [8]},
            "learning": {"batch_steps": TABLES * STEPS, "epochs": 2, "minibatches": 2},
        }
    )
    spec = EnvSpec("in_step", InStep, chance=False, replayable=True, winners="none")
    population = assemble(config, spec, MemorySink(), MemoryStore())
    (local,), worker = population.learners, population.worker
    batcher = population.scheduler.pipelines[local.name].batcher
    behind: deque[Batch] = deque()
    read: list[tuple[float, int]] = []
    while len(read) < 12:
        for request in worker.requests():
            worker.receive(population.server.serve(request))
        for message in worker.advance():
            if isinstance(message, SlotFull):
                batcher.add(message, 0)
        if (taken := batcher.take()) is not None:
            behind.append(gather(population.slabs[0], np.array([full.slot for full in taken])))
            for permit in batcher.permits(taken):
                worker.permit(permit)
        if len(behind) > held:
            stats = local.learner.update(behind.popleft())
            local.publish()
            assert stats.rows == TABLES * STEPS
            read.append((stats.lag_mean, stats.lag_max))
    # The first batches were acted before anything was learned.
    assert read == [(min(index, held), min(index, held)) for index in range(len(read))]


def test_no_row_is_trained_on_that_is_older_than_allowed_however_many_batches_wait(
    tmp_path: Path,
) -> None:
    """All tables fill their slots in the same turn, which makes three batches."""
    config = RunConfig.model_validate(
        {
            "env": {"name": "in_step"},
            "stop_at_frames": 300,
            "population": {"members": 1},
            "evaluation": {"share": 0.0, "final_games": 0},
            "pbt": {"enabled": False},
            "sampling": {"environments": TABLES, "rollout_steps": STEPS},
            "model": {"hidden": [8]},
            "learning": {"batch_steps": TABLES * STEPS // 3, "max_lag": 1},
            "runtime": {"placement": "serial"},
        }
    )
    spec = EnvSpec("in_step", InStep, chance=False, replayable=True, winners="none")
    sink, store = MemorySink(), FileSnapshotStore(tmp_path)
    engine = build_engine(config, spec, sink, store, NoControl())
    engine.controller.start()
    assert engine.run(lambda: None)
    assert max(values["lag_max"] for _, _, values in sink.points) == 1
    assert engine.dropped()["stale"] > 0
