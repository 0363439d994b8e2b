"""A cut is the whole population: equal runs are equal bit for bit, and a resumed run equals the one that was never interrupted."""

import pytest

from pbt.checkpoints import Checkpoint, read_newest, write_checkpoint
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.population.memory import MemorySink, MemoryStore, NoControl
from pbt.runtime.assembly import assemble
from pbt.runtime.cut import restore_cut, take_cut, weights_digest
from pbt.runtime.serial import SerialEngine

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "connect_four"},
        "stop_at_frames": 2_000,
        "sampling": {"environments": 16, "rollout_steps": 8},
        "model": {"core": "gru", "gru_size": 16, "hidden": [16]},
        "learning": {"batch_steps": 128, "epochs": 2, "minibatches": 2},
        "pbt": {"period_frames": 400, "warmup_frames": 400, "min_games": 5, "copy_gap": 0.0, "mutation_probability": 0.5},
        "matchmaking": {"past_share": 0.3, "past_window": 4},
        "snapshots": {"every_frames": 500},
        "evaluation": {"share": 0.2, "final_games": 4},
    }
)


class Run:
    def __init__(self, store: MemoryStore | None = None) -> None:
        self.sink, self.store = MemorySink(), store or MemoryStore()
        self.population = assemble(CONFIG, registry.spec("connect_four"), self.sink, self.store)
        self.engine = SerialEngine(self.population, self.sink, self.store, NoControl())

    def finish(self) -> None:
        assert self.engine.run(lambda: None)

    def rows_standing(self) -> int:
        parked = sum(f.rows.count_valid(slot, 0, row) for f in self.population.worker.fillers for slot, row in f.pool.parked())
        queued = sum(int(self.population.slabs[t.role].column["valid"][slot].sum()) for t in self.population.trainees for slot in t.batcher.waiting)
        return parked + queued


def uninterrupted() -> Run:
    run = Run()
    run.population.controller.start()
    run.finish()
    return run


@pytest.fixture(scope="module")
def reference() -> Run:
    return uninterrupted()


def test_equal_configs_and_seeds_give_equal_weights_and_games(reference: Run) -> None:
    again = uninterrupted()
    assert weights_digest(again.population) == weights_digest(reference.population)
    assert again.sink.games == reference.sink.games
    assert again.sink.rounds == reference.sink.rounds
    assert any(record.directive.copy_from for record in reference.sink.rounds), "the test needs copies inside"


def test_every_row_is_trained_dropped_with_a_reason_or_still_standing(reference: Run) -> None:
    produced = sum(filler.produced for filler in reference.population.worker.fillers)
    assert produced == reference.engine.rows_trained + sum(reference.engine.dropped().values()) + reference.rows_standing()
    assert reference.engine.dropped()["generation"] > 0


@pytest.mark.parametrize("turns", [1, 7, 40, 111, 150, 230])
def test_a_resumed_run_equals_the_uninterrupted_one(reference: Run, turns: int, tmp_path) -> None:
    first = Run()
    first.population.controller.start()
    for _ in range(turns):
        first.engine.turn()
    write_checkpoint(tmp_path, take_cut(first.engine, 1), keep=2)
    games = len(first.sink.games)
    # What happens after the cut must leave no trace in it.
    for _ in range(25):
        first.engine.turn()
    second = Run(first.store)
    checkpoint, damaged = read_newest(tmp_path)
    assert not damaged and restore_cut(second.engine, checkpoint) == 0
    second.finish()
    assert weights_digest(second.population) == weights_digest(reference.population)
    assert first.sink.games[:games] + second.sink.games == reference.sink.games


def test_a_cut_survives_the_disk_unchanged(tmp_path) -> None:
    run = Run()
    run.population.controller.start()
    for _ in range(30):
        run.engine.turn()
    cut = take_cut(run.engine, 3)
    write_checkpoint(tmp_path, cut, keep=2)
    loaded, _ = read_newest(tmp_path)
    assert isinstance(loaded, Checkpoint) and loaded.number == 3
    assert {name: sorted(part) for name, part in loaded.tensors.items()} == {name: sorted(part) for name, part in cut.tensors.items()}
