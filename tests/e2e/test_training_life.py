"""The life of a training from the command line: stopped, held, looked at; two at once in one data
directory.
"""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.trainings import (
    answer,
    arena,
    assert_gone,
    children,
    config,
    end_all,
    finished,
    wait_for_checkpoints,
)

RAISING = """
import itertools
import numpy as np
from gymnasium import Env, spaces

steps = itertools.count()

class Raising(Env):
    observation_space, action_space = spaces.Box(0.0, 1.0, (1,)), spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        played = next(steps)
        if played > 400:
            raise RuntimeError("the dice fell off the table")
        return np.zeros(1, np.float32), 0.0, played % 10 == 0, False, {}

def make():
    return Raising()
"""


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    yield
    end_all()


@pytest.mark.parametrize("placement", ["inline", pytest.param("central", marks=pytest.mark.slow)])
def test_ctrl_c_saves_and_resume_goes_on(placement: str, tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a", placement=placement))
    wait_for_checkpoints(tmp_path, "a", 3)
    started = children(process.pid)
    assert bool(started) == (placement != "serial")
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    assert code == 0 and "stopped and saved" in errors and "arena train --resume a" in errors
    assert_gone(started)
    # Where its time and its rows went is the last that is said.
    assert f"placement {placement}" in errors and "rows: " in errors and "simulating" in errors
    # The first start may have come further than the stop that is asked for now.
    assert answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=2000")["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "inline"])
def test_ctrl_c_twice_stops_now_and_leaves_no_process(placement: str, tmp_path: Path) -> None:
    process = arena(
        tmp_path,
        "train",
        config(tmp_path, "a", placement=placement),
        "--set",
        "checkpoints.every_s=0.05",
    )
    wait_for_checkpoints(tmp_path, "a", 2)
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    # The first may have been answered before the second came.
    assert code == 130 or (code == 0 and "stopped and saved" in errors), errors
    assert (code == 130) == (
        "what came after the last checkpoint is lost. Go on with: arena train --resume a" in errors
    ), errors
    assert_gone(started)
    assert answer(tmp_path, "status", "a")["state"] in {"interrupted", "stopped and saved"}
    assert answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1000")["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "central"])
def test_a_game_that_raises_ends_the_run_with_its_reason(placement: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(RAISING)
    path = config(tmp_path, "a", env="./bad.py:make", placement=placement)
    code, _, errors = finished(arena(tmp_path, "train", path))
    assert (
        code == 1
        and "the dice fell off the table" in errors
        and "Traceback" not in errors.splitlines()[0]
    )
    seen = answer(tmp_path, "status", "a")
    assert not seen["running"] and seen["state"].startswith("failed: EnvError")


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "central"])
def test_status_and_telemetry_tell_what_a_run_does(placement: str, tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a", placement=placement))
    wait_for_checkpoints(tmp_path, "a", 3)
    deadline = time.monotonic() + 60
    while not (seen := answer(tmp_path, "status", "a"))["processes"] or not all(
        member["frames"] for member in seen["members"]
    ):
        assert time.monotonic() < deadline, seen
    assert (
        seen["running"]
        and seen["pid"] == process.pid
        and seen["placement"] == placement
        and not seen["stale"]
    )
    assert [member["name"] for member in seen["members"]] == ["m0", "m1"]
    roles = {role.split()[0] for row in seen["processes"] for role in row["roles"]}
    assert {"worker", "learner"} <= roles and {row["pid"] for row in seen["processes"]} <= {
        process.pid,
        *children(process.pid),
    }
    code, out, _ = finished(arena(tmp_path, "status", "a"))
    assert code == 0 and out.startswith(
        f"a is running (process {process.pid}), placement {placement}"
    )
    process.kill()
    process.communicate()
    assert answer(tmp_path, "status", "a")["state"] == "killed"
    result = answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1000")
    rows = result["rows"]
    assert rows["produced"] == rows["trained"] + rows["standing"] + sum(rows["dropped"].values())
    assert answer(tmp_path, "status", "a")["state"] == "finished"
    code, out, _ = finished(arena(tmp_path, "metrics", "a", "--telemetry"))
    assert (
        code == 0
        and out.startswith("incarnation,t,elapsed_s,frames,restarts,rows_produced")
        and len(out.splitlines()) >= 2
    )


@pytest.mark.slow
def test_a_second_trainer_is_refused_with_the_holders_pid_and_stop_ends_the_first(
    tmp_path: Path,
) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a"))
    wait_for_checkpoints(tmp_path, "a", 1)
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a"))
    assert code == 1 and f"process {process.pid}" in errors and "arena stop a" in errors
    code, _, errors = finished(arena(tmp_path, "stop", "a"))
    assert code == 0 and str(process.pid) in errors
    assert finished(process)[0] == 0


@pytest.mark.slow
def test_two_trainings_at_once_share_one_league(tmp_path: Path) -> None:
    processes = [
        arena(tmp_path, "train", config(tmp_path, name, frames=1500), "--json")
        for name in ("a", "b")
    ]
    for process in processes:
        code, out, errors = finished(process)
        assert code == 0 and json.loads(out)["finished"], errors


@pytest.mark.slow
@pytest.mark.parametrize("env", ["hide_and_seek", "memory", "leduc_holdem"])
def test_every_kind_of_game_trains_to_its_stop(tmp_path: Path, env: str) -> None:
    code, out, errors = finished(
        arena(tmp_path, "train", config(tmp_path, "a", frames=1000, env=env), "--json")
    )
    assert code == 0, errors
    result = json.loads(out)
    assert result["finished"] and all(member["frames"] >= 1000 for member in result["members"])
    code, _, errors = finished(arena(tmp_path, "verify", "a"))
    assert code == 0, errors
