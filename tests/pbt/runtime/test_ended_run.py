"""A run that cannot go on says so as often as it is asked, also by somebody who only wanted a checkpoint."""

from pathlib import Path

import pytest

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EnvError
from pbt.population.memory import MemorySink, NoControl
from pbt.runtime.control import GameError
from pbt.runtime.parallel import ParallelEngine
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore

CONFIG = RunConfig.model_validate(
    {"env": {"name": "tictactoe"}, "sampling": {"environments": 4, "rollout_steps": 4}, "learning": {"batch_steps": 32}, "model": {"hidden": [4]}}
)


def test_a_fatal_error_is_not_lost_in_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = resolve(CONFIG, 2, cuda=False)
    engine = ParallelEngine(config, registry.spec("tictactoe"), MemorySink(), FileSnapshotStore(tmp_path), NoControl())
    heard = [("worker-0", GameError("the same line", "it went wrong"))] * 2
    monkeypatch.setattr(engine._crew, "hear", lambda timeout_s: iter(heard))
    monkeypatch.setattr(engine, "_start_due", lambda: None)
    try:
        for _ in range(3):
            with pytest.raises(EnvError, match="it went wrong"):
                engine.run(lambda: None)
    finally:
        engine.close()
