"""The contract of pacings: tables and learners take turns, and none of them waits for ever.

Each kind is driven by chance in a small model of workers and a learner, and then paces real runs.
"""

import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.runtime.control import PlayTurns
from pbt.runtime.pacing import Asynchronous, Pacing, Rounds
from tests.pbt.runtime.placing import Running, placed

STEPS = 4
KINDS: dict[str, Callable[[], Pacing]] = {
    "async": Asynchronous,
    "sync": lambda: Rounds(STEPS, "synchronous"),
    "hts": lambda: Rounds(STEPS, "one round behind", overlaps=True),
}
WORKERS = ("worker 0", "worker 1", "worker 2")


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class PacedWork:
    """Workers that play as they were told, and a learner that trains what they played.

    left    by worker, turns that it may still play; None: without end
    played  turns of all workers that are not trained yet
    """

    pacing: Pacing
    left: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(WORKERS, 0))
    played: int = 0
    trained: int = 0

    def main(self, *, hold: bool = False, busy: bool = False) -> None:
        """A turn of the main process."""
        if not self.pacing.between_rollouts:
            return
        if self.played and not busy:
            self.trained, self.played = self.trained + self.played, 0
        play = self.pacing.next(WORKERS, hold=hold, busy=busy)
        if play is not None:
            self.left = dict.fromkeys(WORKERS, play.turns)

    def work(self, worker: str, *, lacks_slots: bool = False) -> None:
        """A turn of a worker, if it may play one. Without slots it ends its rollout."""
        left = self.left[worker]
        if left == 0 or (left is None and lacks_slots):
            return
        self.played += not lacks_slots
        self.left[worker] = None if left is None else 0 if lacks_slots else left - 1
        if self.left[worker] == 0:
            self.pacing.played(worker)

    def any_order(self, random_: random.Random, turns: int, *, hold: bool) -> None:
        for _ in range(turns):
            self.main(hold=hold, busy=random_.random() < 0.5)
            for worker in random_.sample(WORKERS, 2):
                self.work(worker, lacks_slots=random_.random() < 0.1)


@pytest.mark.parametrize("seed", range(20))
def test_tables_play_and_learners_train_whatever_comes_first(kind: str, seed: int) -> None:
    model, random_ = PacedWork(KINDS[kind]()), random.Random(seed)
    for _ in range(5):
        trained = model.trained
        model.any_order(random_, 100, hold=False)
        assert model.trained > trained


def test_while_it_holds_no_new_turn_begins_and_then_they_go_on(kind: str) -> None:
    model, random_ = PacedWork(KINDS[kind]()), random.Random(1)
    model.any_order(random_, 10, hold=False)
    model.any_order(random_, 40 * STEPS, hold=True)
    played = model.trained + model.played
    model.any_order(random_, 40, hold=True)
    assert model.trained + model.played == played and model.pacing.between_rollouts
    model.any_order(random_, 40, hold=False)
    assert model.trained + model.played > played


def test_workers_that_begin_anew_are_told_again(kind: str) -> None:
    model, random_ = PacedWork(KINDS[kind]()), random.Random(2)
    model.any_order(random_, 3, hold=False)
    model.left = dict.fromkeys(WORKERS, 0)
    model.pacing.restart()
    assert model.pacing.between_rollouts
    trained = model.trained
    model.any_order(random_, 100, hold=False)
    assert model.trained > trained


def test_nothing_is_played_while_a_synchronous_learner_trains() -> None:
    pacing = Rounds(STEPS, "synchronous")
    assert pacing.next(WORKERS, hold=False, busy=True) is None
    assert pacing.next(WORKERS, hold=False, busy=False) == PlayTurns(STEPS)
    for worker in WORKERS:
        assert not pacing.between_rollouts
        with pytest.raises(EngineError, match=f"{WORKERS[-1]} still play"):
            pacing.next(WORKERS, hold=False, busy=False)
        pacing.played(worker)
    assert pacing.between_rollouts
    assert pacing.next(WORKERS, hold=False, busy=True) is None


# --- real runs of the synchronous one; other tests run the asynchronous one -----------------------

TABLES = 12
SLOW = [pytest.param(placement, marks=pytest.mark.slow) for placement in ("inline", "central")]


def without_pbt(placement: str, frames: int) -> RunConfig:
    """One member; all decisions of a game at the same time; a batch is what a rollout fills."""
    return placed(
        placement,
        "rock_paper_scissors",
        frames,
        population={"members": 1},
        sampling={"environments": TABLES, "rollout_steps": STEPS, "opening_plies": 0},
        learning={"batch_steps": 2 * TABLES * STEPS},
        matchmaking={"past_share": 0.0},
        evaluation={"share": 0.0, "final_games": 0},
        pbt={"enabled": False},
        runtime={"sync": "sync"},
    )


@pytest.mark.parametrize("placement", ["inline", SLOW[1]])
def test_an_asynchronous_run_goes_on_in_step_survives_the_death_of_a_worker_and_ends(
    placement: str, tmp_path: Path
) -> None:
    free, config = (
        placed(placement, "tictactoe", 900, runtime={"sync": sync}) for sync in ("async", "sync")
    )
    with Running(free, tmp_path).start() as run:
        run.until(lambda: run.engine.rows_trained > 200)
        cut = run.cut()
    with Running(config, tmp_path) as run:
        run.engine.restore(cut)
        run.account()
        run.until(lambda: run.engine.rows_trained > 400)
        os.kill(run.pid("worker-0"), signal.SIGKILL)
        run.until(lambda: run.engine.rows_trained > 600)
        run.cut()
        run.finish()
        assert run.restarts()["worker-0"] == 1


def test_a_serial_run_ends_with_the_same_weights_however_often_it_was_stopped(
    tmp_path: Path,
) -> None:
    config = placed("serial", "tictactoe", 900, runtime={"sync": "sync"})
    with Running(config, tmp_path / "whole").start() as run:
        run.finish()
        whole = run.engine.weights_digest()
    with Running(config, tmp_path / "parts").start() as run:
        run.until(lambda: run.engine.rows_trained > 300)
        cut = run.cut()
    with Running(config, tmp_path / "parts") as run:
        run.engine.restore(cut)
        run.finish()
        assert run.engine.weights_digest() == whole


@pytest.mark.slow
def test_tables_wait_for_a_learner_that_was_killed(tmp_path: Path) -> None:
    """While it starts again its batches wait; they are trained before the next rollout."""
    config = without_pbt("central", 4000)
    with Running(config, tmp_path).start() as run:
        run.until(lambda: run.engine.rows_trained > 1000)
        os.kill(run.pid("learner-0"), signal.SIGKILL)
        run.finish()
        assert run.restarts()["learner-0"] == 1
    assert {values["lag_max"] for _, _, values in run.sink.points} == {0}


@pytest.mark.parametrize("placement", ["serial", *SLOW])
def test_where_slots_fill_in_a_rollout_synchronous_rows_have_no_lag(
    placement: str, tmp_path: Path
) -> None:
    with Running(without_pbt(placement, 6000), tmp_path).start() as run:
        run.finish()
    lags = [values["lag_max"] for _, _, values in run.sink.points]
    assert len(lags) > 10 and set(lags) == {0}
