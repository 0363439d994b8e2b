"""Each kind of process killed once, one stopped, and a game that raises, hangs and ends its process, all in one training per placement.

The long forms are in test_fault_campaign.py, and `python -m bench.faults` runs the full set.
"""

import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults import processes
from tests.e2e.faults.campaign import ended_well, small_run, voided
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import NAME, Run
from tests.e2e.faults.strikes import KINDS, arm, current, freeze, kill, misbehave

# Shorter than the defaults, which are meant for slow games and busy machines.
TIMEOUT_S, SILENT_AFTER_S = 2.0, 3.0
# Other tests keep the cores busy meanwhile; the 15 seconds that are promised are measured by the long forms.
LIMIT_S = 40.0


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """The parameter is the placement."""
    workers = 2 if request.param == "inline" else 1
    made = small_run(tmp_path / "run", request.param, workers=workers, timeout_s=TIMEOUT_S, silent_after_s=SILENT_AFTER_S)
    try:
        made.start()
        yield made
    finally:
        made.close()


def assert_ended_well(run: Run) -> None:
    wrong = {check: problems for check, problems in ended_well(run).items() if problems}
    assert not wrong, wrong


@pytest.mark.parametrize("run", ["serial"], indirect=True)
def test_a_killed_training_in_one_process_is_resumed(run: Run) -> None:
    current(run)
    kill(run, "main", random.Random(0))
    assert run.stop() == 0
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["inline", "central"], indirect=True)
def test_a_training_survives_each_fault_once(run: Run) -> None:
    rng = random.Random(0)
    placement = current(run).placement
    misbehave(run, "raise", LIMIT_S)
    for kind in KINDS[placement]:
        kill(run, kind, rng, LIMIT_S)
    freeze(run, "worker", 0.0, rng, LIMIT_S)
    misbehave(run, "hang", LIMIT_S)
    misbehave(run, "exit", LIMIT_S)
    assert run.stop() == 0, run.errors()
    assert run.output()["finished"] is False
    assert voided(run) > 0, "a game that raised is stored as voided"
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["inline"], indirect=True)
def test_a_game_that_always_raises_ends_the_run_with_its_traceback(run: Run) -> None:
    current(run)
    arm(run, "raise", "always")
    assert run.wait() == 1
    assert "faulty_game.py" in run.errors() and "the board caught fire" in run.errors()
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["central"], indirect=True)
def test_a_game_that_always_hangs_is_restarted_and_then_ends_the_run_with_the_reason(run: Run) -> None:
    current(run)
    assert run.stop() == 0
    run.resume("runtime.max_restarts=1")
    start_growing(run)
    arm(run, "hang", "always")
    assert run.wait() == 1
    assert "env.timeout_s" in run.errors(), run.errors()
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["inline", "central"], indirect=True)
def test_a_training_that_reaches_its_stop_leaves_nothing(run: Run) -> None:
    current(run)
    shown = run.arena("status", NAME, "--json")
    assert shown.returncode == 0, shown.stderr
    look = json.loads(shown.stdout)
    assert look["running"] and look["pid"] == run.pid and {row["name"] for row in look["processes"]} == {row.name for row in current(run).processes}
    run.signal_group(signal.SIGINT)
    assert run.wait() == 0, run.errors()
    frames = max(member.frames for member in current(run).members)
    run.resume(f"stop_at_frames={frames + 1000}")
    assert run.wait() == 0
    assert run.output()["finished"] is True
    assert processes.marked(run.mark) == []
    assert_ended_well(run)
