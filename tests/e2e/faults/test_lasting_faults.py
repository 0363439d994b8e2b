"""What happens when a fault of a training does not stop, and when a training is ended in the midst
of something. Faults at random moments are a campaign of hours: `bench/faults.py`.
"""

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.stored_history import list_events
from tests.e2e.faults.campaign import assert_ended_well, small_run
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import NAME, Run
from tests.e2e.faults.strikes import arm, choose, current, signal_to

pytestmark = pytest.mark.slow


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """The parameter is the placement."""
    made = small_run(tmp_path / "run", request.param, members=4)
    try:
        yield made
    finally:
        made.close()


def failed(run: Run) -> set[str]:
    return {member.name for member in current(run).members if member.state == "failed"}


def start_or_resume(run: Run) -> None:
    """As a person would after a kill: a training killed before it wrote its configuration was
    never begun.
    """
    if run.paths.config.exists():
        run.resume()
    else:
        run.start()


def kill_as_soon_as_it_lives(run: Run, name: str, enough: Callable[[], bool]) -> None:
    """SIGKILL a process and whatever takes its place, before that has done anything."""
    killed = {0}

    def step() -> bool | None:
        pid = next((process.pid for process in current(run).processes if process.name == name), 0)
        if pid not in killed:
            killed.add(pid)
            signal_to(pid, signal.SIGKILL)
        return enough() or None

    run.until(step, 60.0, "an end to the restarts")
    assert len(killed) > 2, "it was started again before that"


@pytest.mark.parametrize("run", ["central"], indirect=True)
def test_members_of_a_learner_that_dies_too_often_fail_and_the_others_go_on(run: Run) -> None:
    run.start("runtime.learners=2", "runtime.max_restarts=1")
    start_growing(run)
    name, _ = choose(current(run), "learner", random.Random(0))
    roles = next(process.roles for process in current(run).processes if process.name == name)
    members = {word for role in roles for word in role.split()[1:]}
    assert members and len(members) < 4, roles
    kill_as_soon_as_it_lives(run, name, lambda: failed(run) == members)
    start_growing(run)
    assert run.stop() == 0
    with open_league(league_path(run.data), read_only=True) as league:
        assert {
            stored.event.member
            for stored in list_events(league, NAME)
            if stored.event.kind == "failed"
        } == members
    assert_ended_well(run)
    run.resume()
    start_growing(run)
    assert not failed(run), "a resume gives failed members another chance"
    assert run.stop() == 0
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["inline"], indirect=True)
def test_a_sampling_plane_that_dies_too_often_ends_the_run_with_the_reason(run: Run) -> None:
    run.start("runtime.max_restarts=1")
    start_growing(run)
    name, _ = choose(current(run), "worker", random.Random(0))
    assert run.main is not None
    main = run.main
    kill_as_soon_as_it_lives(run, name, lambda: main.poll() is not None)
    assert run.wait() == 1
    assert "SIGKILL" in run.errors() and "in a row" in run.errors(), run.errors()
    assert_ended_well(run)
    run.resume()
    start_growing(run)
    assert run.stop() == 0
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["central"], indirect=True)
def test_a_game_that_always_hangs_ends_the_run_with_the_reason(run: Run) -> None:
    run.start("runtime.max_restarts=2", "env.timeout_s=2.0", "runtime.silent_after_s=3.0")
    start_growing(run)
    arm(run, "hang", "always")
    assert run.wait() == 1
    assert "env.timeout_s" in run.errors(), run.errors()
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["central"], indirect=True)
def test_a_training_killed_while_it_starts_can_be_resumed(run: Run) -> None:
    moments = random.Random(0)
    for _ in range(3):
        start_or_resume(run)
        time.sleep(moments.uniform(0.1, 8.0))  # the moment of the kill is the test's input
        assert run.main is not None and run.main.poll() is None, run.report()
        run.main.kill()
        run.main.wait()
        left = run.left_behind()
        assert not left, left
    start_or_resume(run)
    start_growing(run)
    assert run.stop() == 0
    assert_ended_well(run)


@pytest.mark.parametrize("run", ["inline"], indirect=True)
def test_a_signal_to_the_whole_group_is_one_to_the_main_process(run: Run) -> None:
    run.start()
    start_growing(run)
    before = run.newest_checkpoint()
    run.signal_group(signal.SIGHUP)
    assert run.wait() == 0, run.errors()
    after = run.newest_checkpoint()
    assert before is not None and after is not None and after.number > before.number
    with open_league(league_path(run.data), read_only=True) as league:
        assert not [
            stored.event.text
            for stored in list_events(league, NAME)
            if stored.event.kind == "restart"
        ]
    assert_ended_well(run)
