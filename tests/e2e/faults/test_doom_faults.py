"""A training on Doom under faults: its engines, its workers and everything else killed and
stopped at random moments.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults.campaign import campaign, ended_well, on_faulty_game, schedule
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S
from tests.e2e.faults.running import Run
from tests.e2e.faults.strikes import current

pytestmark = pytest.mark.slow

KILLS, OTHERS, SECONDS, FREEZE_S = 1, 1, 30.0, 5.0
# The shipped file with small networks and short periods. A start of an engine and a step take
# milliseconds: four seconds are long.
SETTINGS = (
    "stop_at_frames=1_000_000_000",
    "sampling.environments=8",
    "sampling.rollout_steps=16",
    "model.hidden=[64]",
    "model.gru_size=64",
    "learning.batch_steps=128",
    "pbt.period_frames=5_000",
    "pbt.warmup_frames=5_000",
    "pbt.min_games=10",
    "snapshots.every_frames=5_000",
    "evaluation.share=0.1",
    "checkpoints.every_s=2",
    "env.name=./faulty_game.py:make_doom",
    "env.timeout_s=4",
    "runtime.silent_after_s=4",
    "runtime.max_restarts=1000",
)


@pytest.fixture
def run(tmp_path: Path, repository: Path) -> Iterator[Run]:
    made = on_faulty_game(
        Run(
            tmp_path / "run",
            (repository / "configs" / "doom_basic.toml").read_text(encoding="utf-8"),
        )
    )
    try:
        yield made
    finally:
        made.close()


@pytest.mark.timeout(900)
def test_a_doom_training_survives_many_faults_at_random_moments(run: Run) -> None:
    rng = random.Random("inline")
    run.start(*SETTINGS, "runtime.placement=inline")
    faults = schedule(current(run).placement, KILLS, OTHERS, rng, engines=True)
    strikes = campaign(
        run, faults, rng, seconds=SECONDS, freeze_s=FREEZE_S, tell=print, limit_s=RECOVERED_WITHIN_S
    )
    assert sorted(strike.fault for strike in strikes) == sorted(faults)
    assert run.stop() == 0, run.errors()
    wrong = {check: problems for check, problems in ended_well(run).items() if problems}
    assert not wrong, wrong
