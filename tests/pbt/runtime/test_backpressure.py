"""A league that does not answer: training stands still, says why, and goes on when it answers."""

import pytest

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import PbtError
from pbt.runtime import backpressure as backlog
from pbt.runtime.assembly import assemble
from pbt.runtime.serial import SerialEngine

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "stop_at_frames": 500,
        "population": {"members": 2},
        "sampling": {"environments": 4, "rollout_steps": 4},
        "model": {"hidden": [8]},
        "learning": {"batch_steps": 32},
        "evaluation": {"final_games": 0},
    }
)


class StuckSink(MemorySink):
    """Commits nothing for the first `refusals` drains."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.refusals, self.taken = refusals, 0

    @property
    def backlog(self) -> int:  # type: ignore[override]  # a plain attribute in the base
        return len(self.games) - self.taken

    def drain(self, timeout_s: float) -> None:
        if self.refusals:
            self.refusals -= 1
            raise PbtError("database is locked")
        self.taken = len(self.games)


def engine(sink: MemorySink) -> SerialEngine:
    population = assemble(CONFIG, registry.spec("tictactoe"), sink, MemoryStore())
    population.controller.start()
    return SerialEngine(population, sink, NoControl())


def test_training_pauses_until_the_league_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_BACKLOG_GAMES", 20)
    sink = StuckSink(refusals=3)
    running, standing_still = engine(sink), []
    running.run(lambda: standing_still.append(sink.backlog))
    assert sink.refusals == 0 and max(standing_still) < 60
    assert running.done


def test_a_league_that_never_answers_ends_the_training_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backlog, "MAX_BACKLOG_GAMES", 20)
    monkeypatch.setattr(backlog, "PAUSE_TIMEOUT_S", 0.0)
    with pytest.raises(PbtError, match=r"finished games wait for the league.*database is locked"):
        engine(StuckSink(refusals=10**9)).run(lambda: None)
