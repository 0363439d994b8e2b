"""A training on matches of Doom under faults: engines, the processes of matches and workers killed and stopped at random moments."""

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from arena.paths import league_path
from tests.e2e.faults import processes
from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.league_log import voided_games
from tests.e2e.faults.recovery import RECOVERED_WITHIN_S, growing
from tests.e2e.faults.running import START_LIMIT_S, Run
from tests.e2e.faults.strikes import current, engines, kill, signal_to

pytestmark = pytest.mark.slow

MATCHES, PLAYERS = 4, 2
# The shipped file with small networks, short games and short periods.
SETTINGS = (
    "stop_at_frames=1_000_000_000",
    "env.options.max_tics=100",
    "env.options.deadline_s=2.0",
    "population.members=2",
    f"sampling.environments={MATCHES}",
    "sampling.rollout_steps=16",
    "model.hidden=[64]",
    "model.gru_size=64",
    "learning.batch_steps=128",
    "pbt.period_frames=5_000",
    "pbt.warmup_frames=5_000",
    "pbt.min_games=10",
    "snapshots.every_frames=5_000",
    "evaluation.share=0.1",
    "evaluation.final_games=0",
    "checkpoints.every_s=2",
    "runtime.max_restarts=1000",
)
STRIKES = ("kill engine", "stop engine", "kill match", "stop match", "kill worker", "stop engine", "kill engine")


@pytest.fixture
def run(tmp_path: Path, repository: Path) -> Iterator[Run]:
    made = Run(tmp_path / "run", (repository / "configs" / "doom_duel.toml").read_text(encoding="utf-8"))
    try:
        yield made
    finally:
        made.close()


def matches(run: Run) -> list[int]:
    """The pids of the processes of matches: parents of engines."""
    return sorted({psutil.Process(pid).ppid() for pid in engines(run)})


def strike(run: Run, fault: str, rng: random.Random) -> None:
    everything = MATCHES * PLAYERS
    run.until(lambda: len(engines(run)) == everything or None, START_LIMIT_S, f"{everything} engines")
    if fault == "kill worker":
        kill(run, "worker", rng)
        return
    voided, workers = voided_games(league_path(run.data)), {process.name: process.pid for process in current(run).processes}
    verb, kind = fault.split()
    victim = rng.choice(engines(run) if kind == "engine" else matches(run))
    signal_to(victim, signal.SIGKILL if verb == "kill" else signal.SIGSTOP)
    run.until(lambda: not processes.alive(victim) or None, RECOVERED_WITHIN_S, f"the end of what {fault} struck")
    run.until(lambda: voided_games(league_path(run.data)) > voided or None, RECOVERED_WITHIN_S, "its game to be voided")
    run.until(lambda: len(engines(run)) == everything or None, RECOVERED_WITHIN_S, "another match in its place")
    growing(run, time.monotonic(), RECOVERED_WITHIN_S)
    # It cost a match, not a worker.
    assert {process.name: process.pid for process in current(run).processes} == workers


@pytest.mark.timeout(900)
def test_a_training_of_duels_survives_faults_at_random_moments(run: Run) -> None:
    rng = random.Random("matches")
    run.start(*SETTINGS)
    for fault in STRIKES:
        strike(run, fault, rng)
    assert run.stop() == 0, run.errors()
    wrong = {check: problems for check, problems in ended_well(run).items() if problems}
    assert not wrong, wrong
