"""Trainings on Doom from outside: they end, save, go on where they were, and leave no engine,
shared memory or file behind.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from pbt.checkpoint.folders import checkpoint_folders
from tests.e2e.faults import processes
from tests.e2e.faults.campaign import assert_ended_well, voided
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import NAME, START_LIMIT_S, Run
from tests.e2e.faults.strikes import kill_main

# The shipped file, made small: these tests ask that it runs, not that it learns.
SMALL = (
    "sampling.environments=8",
    "sampling.rollout_steps=16",
    "model.hidden=[64]",
    "model.gru_size=64",
    "learning.batch_steps=128",
    "population.members=1",
    "pbt.enabled=false",
    "snapshots.every_frames=2_000",
    "evaluation.final_games=4",
)
ENDLESS = ("stop_at_frames=1_000_000_000", "checkpoints.every_s=1")
# Tics: four updates.
STOP = 2_000
SHORT = f"stop_at_frames={STOP}"

MakeRun = Callable[[str], Run]


@pytest.fixture
def make_run(tmp_path: Path, repository: Path) -> Iterator[MakeRun]:
    """A run of the configuration in a folder of that name; not started."""
    made: list[Run] = []

    def make(folder: str) -> Run:
        made.append(
            Run(
                tmp_path / folder,
                (repository / "configs" / "doom_basic.toml").read_text(encoding="utf-8"),
            )
        )
        return made[-1]

    try:
        yield make
    finally:
        for run in made:
            run.close()


def engines(run: Run) -> list[int]:
    return [pid for pid in processes.of_run(run.mark, run.pid) if processes.is_engine(pid)]


def newest_curves(run: Run) -> dict[str, float]:
    """Of its last update."""
    lines = [
        json.loads(line)
        for line in (run.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    newest: dict[str, float] = [line for line in lines if "policy_loss" in line][-1]
    return newest


def test_a_training_ends_and_leaves_nothing_behind(make_run: MakeRun) -> None:
    run = make_run("run")
    run.start(*SMALL, SHORT, "runtime.placement=inline")
    run.until(lambda: len(engines(run)) == 8 or None, START_LIMIT_S, "an engine per table")
    assert run.wait() == 0, run.errors()
    report = run.output()
    assert report["finished"] and report["frames"] >= STOP
    assert report["training_games"] > 0 and report["evaluation_games"] >= 4
    assert voided(run) == 0
    assert_ended_well(run)


@pytest.mark.slow
@pytest.mark.parametrize("word", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"])
def test_both_precisions_train(make_run: MakeRun, word: str) -> None:
    run = make_run("run")
    run.start(
        *SMALL,
        SHORT,
        "runtime.placement=serial",
        f"runtime.precision={word}",
        "evaluation.final_games=0",
    )
    assert run.wait() == 0, run.errors()
    curves = newest_curves(run)
    assert math.isfinite(curves["policy_loss"]) and math.isfinite(curves["value_loss"]), curves
    assert curves["skipped_steps"] == 0
    # On policy, in one process: the log-probabilities it acted with are those it trains on.
    assert abs(curves["kl"]) < 1e-2
    assert_ended_well(run)


@pytest.mark.slow
def test_a_killed_training_goes_on_with_the_same_clocks(make_run: MakeRun) -> None:
    run = make_run("run")
    run.start(*SMALL, *ENDLESS, "runtime.placement=central")
    start_growing(run)
    run.until(run.newest_checkpoint, 30.0, "a first checkpoint")
    kill_main(run)
    assert run.stop() == 0, run.errors()
    assert voided(run) == 0, "open games are replayed, not voided"
    assert_ended_well(run)


def history(run: Run) -> list[tuple[object, ...]]:
    """What was played, in order."""
    with open_league(league_path(run.data), read_only=True) as league:
        games = [game.record for game in population_games(league, NAME, GameFilter())]
    return [
        (
            game.number,
            game.seed,
            game.steps,
            game.trajectory_hash,
            [seat.returns for seat in game.seats],
        )
        for game in games
    ]


@pytest.mark.slow
def test_a_serial_training_that_was_killed_ends_with_the_weights_of_one_that_was_not(
    make_run: MakeRun,
) -> None:
    undisturbed, killed = make_run("undisturbed"), make_run("killed")
    settings = (*SMALL, "stop_at_frames=12_000", "runtime.placement=serial")
    undisturbed.start(*settings)
    assert undisturbed.wait() == 0, undisturbed.errors()
    killed.start(*settings, "checkpoints.every_s=0.5")
    killed.until(
        lambda: len(checkpoint_folders(killed.paths.checkpoints)) > 1 or None,
        60.0,
        "two checkpoints",
    )
    assert killed.main is not None
    killed.main.kill()
    killed.main.wait()
    left = killed.left_behind()
    assert not left, left
    killed.resume()
    assert killed.wait() == 0, killed.errors()
    assert killed.output()["weights_sha256"] == undisturbed.output()["weights_sha256"]
    assert history(killed) == history(undisturbed)
    assert_ended_well(killed)
