"""A run that cannot go on says so at every turn, also while a checkpoint is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.memory import MemorySink, NoControl
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EnvError
from pbt.runtime.control import GameError, Ready
from pbt.runtime.parallel import ParallelEngine
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "sampling": {"environments": 4, "rollout_steps": 4},
        "learning": {"batch_steps": 32},
        "model": {"hidden": [4]},
    }
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ParallelEngine]:
    config = resolve(CONFIG, 2, cuda=False)
    engine = ParallelEngine(
        config, registry.spec("tictactoe"), MemorySink(), FileSnapshotStore(tmp_path), NoControl()
    )
    yield engine
    engine.close()


def test_what_a_process_says_after_it_was_buried_changes_nothing(engine: ParallelEngine) -> None:
    engine._route("worker-1", Ready())


def test_a_fatal_error_is_not_lost_in_a_checkpoint(
    engine: ParallelEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = [("worker-0", GameError("the same line", "it went wrong"))] * 2
    monkeypatch.setattr(engine._processes, "hear", lambda timeout_s: iter(heard))
    monkeypatch.setattr(engine._domains, "start_due", lambda: None)
    for _ in range(3):
        with pytest.raises(EnvError, match="it went wrong"):
            engine.run(lambda: None)
